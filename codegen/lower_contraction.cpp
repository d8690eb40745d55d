// codegen/lower_contraction.cpp – whether a reduction of two operands is tiled, and how
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>

#include "codegen/choose_contraction.h"
#include "codegen/contiguous_copies.h"
#include "codegen/contraction_tiles.h"
#include "codegen/copied_columns.h"
#include "codegen/copied_results.h"
#include "codegen/fold_indices.h"
#include "codegen/left_out_zeros.h"
#include "codegen/lower.h"
#include "codegen/needed_points.h"
#include "codegen/nest_build.h"
#include "codegen/padded_factors.h"
#include "codegen/tile.h"
#include "codegen/tile_products.h"
#include "codegen/tuned_contraction.h"

namespace ricci::codegen {

namespace {

/// The kernel with the conditions that say nothing of the reduced points, as those of a triangular
/// result, as a choice between the sum and that of no points. Nothing without such conditions, or
/// where they keep reads in bounds.
std::optional<Kernel> with_masked_results(const Kernel& kernel) {
    const auto is_of_results = [&](const AffineForm& form) {
        return std::ranges::none_of(
            kernel.reduced, [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
    };
    std::vector<AffineForm> taken;
    std::ranges::copy_if(kernel.conditions.at_least_zero, std::back_inserter(taken), is_of_results);
    if (taken.empty() || without_large(taken) != taken || kernel.is_arg_reduction() ||
        !is_inside_everywhere(kernel, kernel.body))
        return std::nullopt;
    Kernel masked = kernel;
    std::erase_if(masked.conditions.at_least_zero, is_of_results);
    masked.needed_where.insert(masked.needed_where.end(), taken.begin(), taken.end());
    const DType dtype = kernel.result_dtype();
    Substitution to;
    to.replace_let(0, make_operation(Op::select,
                                     {all_hold(taken, Substitution{}), make_let_value(0, dtype),
                                      identity(*kernel.reducer, dtype)},
                                     dtype));
    for (Store& write : masked.writes) write.value = to(write.value);
    return masked;
}

/// The kernel with that reduced axis innermost along which rows stand side by side: a line of them
/// is used up before the next. Nothing where it is innermost, where there is none, or where columns
/// gain from another order: those that share lines from point to point, or runs of their own. With
/// `sum[o,u,v]` in this order, the gradient of a 3x3 convolution of 16x14x14x256, channels last,
/// took 65 ms, now 30 (Zen 4).
std::optional<Kernel> with_runs_of_rows(const Kernel& kernel, const Contraction& contraction) {
    constexpr std::int64_t least_apart = 32;  // elements: two lines of f32
    constexpr std::int64_t least_run = 16;
    const auto is_contiguous = [](const Operand& operand, const Axis& axis) {
        const auto* load = std::get_if<Load>(&operand.term->term);
        return load != nullptr && load->at.affine.coefficient(axis.var) == 1;
    };
    // Lines that serve several points, or follow each other:
    // `dB[g,f,b,c] := A[d,e,g,a]*dC[a,b,c,d,e,f]` of 16 and 24 reads a line for each e, 22 ms,
    // not 31.
    const auto shares_lines = [&](const Operand& columns) {
        if (!is_contiguous(columns, contraction.lane)) return false;
        const auto& load = std::get<Load>(columns.term->term);
        return std::ranges::any_of(kernel.reduced, [&](const Axis& axis) {
            const std::int64_t step = std::abs(load.at.affine.coefficient(axis.var));
            return step > 0 && step < std::max(contraction.lane.extent, least_apart);
        });
    };
    if (std::ranges::any_of(contraction.column_operands, shares_lines)) return std::nullopt;
    const auto is_run = [&](const Axis& axis) {
        return std::ranges::any_of(contraction.row_operands,
                                   [&](const Operand& rows) { return is_contiguous(rows, axis); });
    };
    const auto run = std::ranges::find_if(kernel.reduced, is_run);
    if (run == kernel.reduced.end() || is_run(kernel.reduced.back())) return std::nullopt;
    // Panels are packed in runs of their own: `dB[e,c] := A[d,b,e,a]*dC[a,b,c,d]` of 72 each takes
    // 77 ms, in runs of a, 85.
    for (const Axis& axis : kernel.reduced)
        if (axis != *run && axis.extent >= least_run &&
            std::ranges::any_of(contraction.column_operands, [&](const Operand& columns) {
                return is_contiguous(columns, axis);
            }))
            return std::nullopt;
    Kernel ordered = kernel;
    const auto place = std::ranges::find(ordered.reduced, *run);
    std::rotate(place, place + 1, ordered.reduced.end());
    return ordered;
}

/// Kernels that together do what one does.
struct Parts {
    std::vector<Kernel> kernels;
    double cycles = std::numeric_limits<double>::infinity();
};

/// The columns of whole tiles, and the rest in tiles of its own: where a last tile that is mostly
/// idle, or narrow ones all along, would take longer. Nothing where one kernel is as good.
Parts split_columns(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    constexpr double step_cycles = 500;
    constexpr double least_saved = 0.03;
    const Axis& lane = choice.contraction.lane;
    const std::int64_t lanes = choice.tile.lanes;
    if (target.forced == Forced::tiles || kernel.has_meeting_writes()) return {};
    if (choice.flattened || !kernel.conditions.is_empty() || !kernel.slices.empty()) return {};
    if (choice.pairing == Pairing::pairs || lane.extent <= lanes) return {};
    const auto axis = std::size_t(std::ranges::find(kernel.free, lane) - kernel.free.begin());
    Parts best;
    double least =
        (1 - least_saved) * cycles_with_copied_results(kernel, choice, target) - step_cycles;
    const std::int64_t most =
        most_vectors(choice.contraction, is_half_vector(kernel, lanes, target));
    for (std::int64_t vectors = 1; vectors <= most; ++vectors) {
        const std::int64_t whole = lane.extent / (vectors * lanes) * (vectors * lanes);
        if (whole == 0 || whole == lane.extent) continue;
        std::vector<Kernel> parts{slice(kernel, axis, 0, whole, ""),
                                  slice(kernel, axis, whole, lane.extent, "_rest")};
        double cycles = 0;
        for (const Kernel& part : parts) {
            const auto found = choose_contraction(part, target);
            cycles += std::min(found ? found->cycles : std::numeric_limits<double>::infinity(),
                               choose_lanes(part, target).cycles);
        }
        if (cycles >= least) continue;
        least = cycles;
        best = {std::move(parts), cycles + step_cycles};
    }
    return best;
}

/// The cheapest way to split columns, also where lanes would have run along another axis because
/// of what is left over.
Parts split_columns_of_any(const Kernel& kernel, const ContractionChoice& choice,
                           const Target& target) {
    constexpr double least_of_flattened = 0.9;  // which leaves little idle by itself
    Parts best = split_columns(kernel, choice, target);
    // A 3x3 convolution of 8x128x28x28 took 17.0 ms in parts that saved less, 16.6 whole (Zen 4).
    constexpr double least_saved_elsewhere = 0.01;
    const double whole = choice.flattened ? least_of_flattened * choice.cycles
                                          : (1 - least_saved_elsewhere) *
                                                cycles_with_copied_results(kernel, choice, target);
    for (const Axis& axis : kernel.free) {
        const bool is_contiguous = std::ranges::all_of(kernel.writes, [&](const Store& write) {
            return write.at.affine.coefficient(axis.var) == 1;
        });
        if (axis == choice.contraction.lane || !is_contiguous) continue;
        const auto other = choose_contraction(kernel, target, axis);
        if (!other) continue;
        Parts parts = split_columns(kernel, *other, target);
        if (parts.cycles < std::min(best.cycles, whole)) best = std::move(parts);
    }
    return best;
}

/// A product that is the same as long as one factor is finite, and the kernel as it is where that
/// is not. `cycles` are those of the kernel as it is, in its best way, tiles or not. False, and
/// nothing done, where there is none.
bool lower_if_finite(const Kernel& kernel, const std::optional<ContractionChoice>& choice,
                     double cycles, PlanBuilder& builder, Splitting splitting) {
    const auto lower_both = [&](Kernel product, std::size_t count, bool is_careful) {
        builder.begin_condition(count, true);
        lower(std::move(product), builder, splitting);
        builder.end_condition();
        builder.begin_condition(count, false);
        if (choice) {
            ContractionChoice otherwise = *choice;
            otherwise.is_careful = is_careful;
            lower_tiles(kernel, std::move(otherwise), builder, {});
        } else {
            lower(kernel, builder, Splitting::done);
        }
        builder.end_condition();
    };
    // The kernel as it is, without tiles, comes here again.
    if (!choice && splitting == Splitting::done) return false;
    if (auto padded = with_padded_factor(kernel, choice, cycles, builder)) {
        for (Kernel& copy : padded->copies) lower(std::move(copy), builder);
        lower_both(std::move(padded->product), *padded->count, true);
        return true;
    }
    if (!choice || choice->cycles > cycles) return false;
    if (auto left = with_zeros_left_out(kernel, *choice, builder)) {
        lower_both(std::move(left->product), left->count, choice->is_careful);
        return true;
    }
    return false;
}

/// The same with operands copied so that lanes read them where they stand. False, and nothing done,
/// where that does not take fewer cycles than `limit`.
bool lower_in_copied_lanes(const Kernel& kernel, double limit, PlanBuilder& builder,
                           Splitting splitting) {
    if (builder.target().forced == Forced::tiles) return false;
    auto copied = with_contiguous_lanes(kernel, limit, builder);
    if (!copied) return false;
    for (Kernel& copy : copied->copies) lower(std::move(copy), builder);
    lower(std::move(copied->kernel), builder, splitting);
    return true;
}

/// As sums along contiguous rows of copied operands. False, and nothing done, where tiles are
/// cheaper.
bool lower_in_copied_rows(const Kernel& kernel, const ContractionChoice& choice,
                          PlanBuilder& builder) {
    if (builder.target().forced == Forced::tiles) return false;
    auto rows = with_contiguous_rows(kernel, choice.cycles, builder);
    if (!rows) return false;
    for (Kernel& copy : rows->copies) lower(std::move(copy), builder);
    lower_row_reduction(std::move(rows->kernel), rows->lanes, builder);
    return true;
}

/// With the columns of a slice copied in the order of the result. False, and nothing done, where
/// that does not take fewer cycles than `limit`.
bool lower_with_copied_columns(const Kernel& kernel, double limit, PlanBuilder& builder) {
    auto copied = with_copied_columns(kernel, limit, builder);
    if (!copied) return false;
    builder.begin_slices(points(copied->product.slices));
    lower(std::move(copied->copy), builder);
    lower(std::move(copied->product), builder, Splitting::done);
    builder.end_slices();
    return true;
}

/// As products of the target's tiles. False, and nothing done, where there are none, or where
/// others take fewer cycles.
bool lower_as_tiled_product(const Kernel& kernel, double others, PlanBuilder& builder,
                            Splitting splitting) {
    auto product = find_tiled_product(kernel, builder.target());
    if (!product) return false;
    if (builder.target().forced != Forced::tiles && product->cycles >= others) return false;
    if (splitting != Splitting::allowed ||
        !lower_in_two_levels(kernel, product->tiles, product->cycles, builder))
        lower_tiled_product(kernel, std::move(*product), builder);
    return true;
}

/// In the tiles of the choice, or in those that a tuner finds.
void lower_in_tiles(const Kernel& kernel, ContractionChoice choice, const LanePlan& otherwise,
                    PlanBuilder& builder) {
    if (!builder.tunings() || !kernel.slices.empty()) {
        lower_tiles(kernel, std::move(choice), builder, {});
        return;
    }
    TunedContraction tuned = tuned_contraction(kernel, choice, otherwise, builder);
    builder.begin_choice(std::move(tuned.record));
    lower_tiles(kernel, std::move(tuned.choice), builder, {std::move(tuned.said)});
    builder.end_choice();
}

/// Lowers a kernel of which tiles are the best way; of their forms the cheapest.
void lower_by_choice(const Kernel& kernel, const ContractionChoice& choice,
                     const LanePlan& otherwise, PlanBuilder& builder, Splitting splitting) {
    if (splitting == Splitting::allowed &&
        lower_in_two_levels(kernel, choice.tiles, choice.cycles, builder,
                            chunks_in_cache(kernel, choice, builder.target())))
        return;
    if (lower_in_copied_rows(kernel, choice, builder)) return;
    Parts parts = split_columns_of_any(kernel, choice, builder.target());
    const double least = std::min(choice.cycles, parts.cycles);
    if (lower_with_copied_columns(kernel, least, builder)) return;
    if (lower_in_copied_lanes(kernel, least, builder, splitting)) return;
    if (!parts.kernels.empty()) {
        for (Kernel& part : parts.kernels) lower(std::move(part), builder, splitting);
        return;
    }
    if (auto results = with_copied_results(kernel, choice, builder)) {
        lower(std::move(results->product), builder, splitting);
        lower(std::move(results->copy), builder);
        return;
    }
    lower_in_tiles(kernel, choice, otherwise, builder);
}

}  // namespace

bool lower_contraction(const Kernel& written, const LanePlan& otherwise, PlanBuilder& builder,
                       Splitting splitting) {
    const Target& target = builder.target();
    if (target.forced == Forced::reduced_lanes || target.forced == Forced::free_lanes ||
        target.forced == Forced::scalar)
        return false;
    std::optional<ContractionChoice> choice = choose_contraction(written, target);
    std::optional<Kernel> masked;
    if (!choice) masked = with_masked_results(written);
    if (masked) choice = choose_contraction(*masked, target);
    std::optional<Kernel> ordered;
    if (choice) ordered = with_runs_of_rows(masked ? *masked : written, choice->contraction);
    if (auto found = ordered ? choose_contraction(*ordered, target) : std::nullopt)
        choice = std::move(found);
    else
        ordered.reset();
    const Kernel& kernel = ordered ? *ordered : masked ? *masked : written;
    // A product with few columns may have its lanes where the other plan has them: they are read
    // where they stand, and what little is written far apart costs less than packing.
    if (otherwise.axis && !otherwise.is_reduced_axis) {
        auto other = choose_contraction(kernel, target, otherwise.axis);
        if (other && (!choice || other->cycles < choice->cycles)) choice = std::move(other);
    }
    const double others = std::min(otherwise.cycles, choice ? choice->cycles : otherwise.cycles);
    if (lower_as_tiled_product(kernel, others, builder, splitting)) return true;
    if (auto padded = with_padded_rows(kernel, others, builder)) {
        for (Kernel& copy : padded->copies) lower(std::move(copy), builder);
        lower(std::move(padded->product), builder, splitting);
        return true;
    }
    const bool is_forced = target.forced == Forced::tiles && choice.has_value();
    if ((choice || !masked) &&
        lower_if_finite(kernel, choice, is_forced ? choice->cycles : others, builder, splitting))
        return true;
    if (!choice || (!is_forced && choice->cycles >= otherwise.cycles))
        return lower_in_copied_lanes(kernel, otherwise.cycles, builder, splitting);
    lower_by_choice(kernel, *choice, otherwise, builder, splitting);
    return true;
}

}  // namespace ricci::codegen
