// codegen/contraction_choice.cpp – what follows from the tiles of a contraction
#include "codegen/contraction_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "codegen/cache_lines.h"
#include "codegen/nan_makers.h"
#include "codegen/pair_products.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// What a product of pairs takes, in multiply-adds. One instruction: Zen 5 does 1.85 in the time of
/// one multiply-add of f32. Two: a product of pairs of i16 and a sum.
double operations_of_pair(const Kernel& kernel, const Target& target) {
    constexpr double of_one = 1.08;
    constexpr double of_two = 2;
    const bool is_one = kernel.body->dtype != DType::i32 || target.has_integer_dot;
    return is_one ? of_one : of_two;
}

}  // namespace

bool is_some_packed(const std::vector<Reading>& readings) {
    return std::ranges::find(readings, Reading::packed) != readings.end();
}

bool has_fused_sums(const Kernel& kernel, const Target& target) {
    return target.has_fma && kernel.reducer == Reducer::sum && is_floating(kernel.body->dtype);
}

bool compares_fused_sums(const Kernel& kernel, const Contraction& contraction,
                         const Target& target) {
    return (kernel.reducer == Reducer::max || kernel.reducer == Reducer::min) &&
           is_floating(kernel.body->dtype) && is_operation(contraction.body, Op::add) &&
           adds_where_it_compares(target);
}

bool packs_single_elements(const Kernel& kernel, const std::vector<Operand>& operands,
                           const std::vector<Reading>& readings, const Axis& along) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const auto* load = std::get_if<Load>(&operands[i].term->term);
        if (readings[i] != Reading::packed || load == nullptr) continue;
        const auto is_near = [&](const Axis& axis) {
            return std::abs(load->at.affine.coefficient(axis.var)) == 1;
        };
        if (!is_near(along) && std::ranges::none_of(kernel.reduced, is_near) &&
            std::ranges::any_of(kernel.free, is_near))
            return true;
    }
    return false;
}

bool are_conditions_of_batch(const Kernel& kernel, const Contraction& contraction) {
    const auto is_of_batch = [&](const AffineForm& form) {
        const auto stays = [&](const std::vector<Axis>& axes) {
            return std::ranges::all_of(
                axes, [&](const Axis& axis) { return form.coefficient(axis.var) == 0; });
        };
        return stays(contraction.rows) && stays(contraction.columns) && stays({contraction.lane});
    };
    return std::ranges::all_of(kernel.conditions.at_least_zero, is_of_batch) &&
           std::ranges::all_of(kernel.conditions.equal_zero, is_of_batch);
}

bool has_conditional_rows(const Kernel& kernel, const ContractionChoice& choice) {
    constexpr std::int64_t few_points = 8;
    return std::ranges::any_of(kernel.conditions.at_least_zero, [&](const AffineForm& form) {
        return form.coefficient(choice.row_axis.var) != 0 &&
               std::ranges::any_of(kernel.reduced, [&](const Axis& axis) {
                   return axis.extent > few_points && form.coefficient(axis.var) != 0;
               });
    });
}

DType panel_dtype(const Kernel& kernel, const ContractionChoice& choice) {
    if (choice.pairing == Pairing::none) return kernel.body->dtype;
    return kernel.body->dtype == DType::i32 ? DType::i16 : DType::bf16;
}

bool is_half_vector(const Kernel& kernel, std::int64_t lanes, const Target& target) {
    return has_half_units(target) && 2 * lanes <= codegen::lanes(kernel, target);
}

bool counts_one_operation(const Kernel& kernel, const Target& target) {
    return has_short_vectors(target) && !has_half_units(target) && has_fused_sums(kernel, target) &&
           is_operation(kernel.body, Op::mul);
}

double vector_cycles(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    constexpr double of_half = 0.53;  // more instructions for the same
    const double operations =
        choice.pairing == Pairing::pairs
            ? operations_of_pair(kernel, target) / 2
            : std::max(1.0, choice.contraction.body_cost - 2 -
                                (counts_one_operation(kernel, target) ? 1 : 0));
    return operations / 2 * (is_half_vector(kernel, choice.tile.lanes, target) ? of_half : 1);
}

std::vector<Directive> tile_directives(const Kernel& kernel, const ContractionChoice& choice) {
    const auto name = [&](const Axis& axis) { return kernel.nest.at(axis.var).name; };
    const TileShape& tile = choice.tile;
    std::vector<Directive> directives;
    if (const auto& f = choice.flattened)
        directives.push_back({"flatten",
                              name(f->flat),
                              {f->outer.extent, f->inner.extent, f->pitch},
                              "rows, columns, from row to row: lanes run on through all rows"});
    directives.push_back({"tile", name(choice.row_axis), {tile.rows}, "rows of accumulators"});
    for (const Axis& axis : choice.whole_rows)
        directives.push_back({"tile", name(axis), {axis.extent}, "rows of accumulators, all"});
    directives.push_back({"tile",
                          name(choice.contraction.lane),
                          {tile.vectors, tile.lanes},
                          "vectors of lanes; contiguous in the result"});
    if (choice.pairing == Pairing::pairs)
        directives.push_back(
            {"pair",
             name(kernel.reduced.back()),
             {2},
             format("points of one instruction on {}", ricci::name(panel_dtype(kernel, choice)))});
    return directives;
}

std::int64_t chunks_in_cache(const Kernel& kernel, const ContractionChoice& choice,
                             const Target& target) {
    // Of a chunk, for each row of a tile, whose results are written and added up.
    constexpr double least_of_chunk = 64;
    // Of a chunk of operands in place; chunks of 20000x128 by 20000x128, at 250, gained nothing.
    constexpr double least_of_chunk_in_place = 256;
    const Contraction& c = choice.contraction;
    const auto depth = double(points(kernel.reduced));
    const double bytes = depth * double(size_bytes(panel_dtype(kernel, choice)));
    const auto chunks_of = [&](double elements, double chunks_held) {
        return std::ceil(chunks_held * elements * bytes / double(target.l2_bytes));
    };
    if (!is_some_packed(choice.rows) && !is_some_packed(choice.columns)) {
        const double width =
            double(points(c.rows)) + double(points(c.columns)) * double(c.lane.extent);
        // A chunk and the next one, which is asked for, take half of the cache.
        const double all = chunks_of(width, 4);
        if (chunks_of(width, 1) > 1 && all * least_of_chunk_in_place <= depth)
            return std::int64_t(all);
    }
    const double chunks = chunks_of(double(choice.tile.columns()), 2);
    const bool is_shared = points(c.rows) > 4 * choice.tile.rows;
    const bool is_worth = chunks * double(choice.tile.rows) * least_of_chunk <= depth;
    return is_shared && is_worth ? std::int64_t(chunks) : 1;
}

}  // namespace ricci::codegen
