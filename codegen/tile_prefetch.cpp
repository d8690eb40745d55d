// codegen/tile_prefetch.cpp – what a tile of a contraction reads soon, asked for ahead
#include "codegen/tile_prefetch.h"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile_blocks.h"

namespace ricci::codegen {

namespace {

/// Of a tile's sums, between a request and the load. Of columns half, all and 1.3 times as many
/// were as good, of rows 1.3 and 2.7 times.
double cycles_ahead(const Kernel& kernel, const Target& target) {
    return counts_one_operation(kernel, target) ? 96 : 192;
}

/// Whether an operand is so much larger than the second-level cache that hardware fetches less in
/// time.
bool is_far(const Kernel& kernel, const Load& load, VarId lane, const Target& target) {
    const Buffer& buffer = kernel.nest.at(load.buffer);
    return !load.at.computed && load.at.affine.coefficient(lane) == 1 &&
           buffer.elements * std::int64_t(size_bytes(buffer.dtype)) > 4 * target.l2_bytes;
}

bool is_worth_asking(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    constexpr std::int64_t least_rows = 4;
    return choice.rows_of_tile() >= least_rows &&
           2 * bytes_of_tile(kernel, choice) > double(target.l1_bytes);
}

/// A run some reduced points later.
struct LaterRun {
    std::size_t loop = 0;  ///< the innermost one that comes to other lines: in its body they are
                           ///< asked for, for all loops inside of it
    AffineForm first;
    std::int64_t elements = 0;
};

/// The run at least so many points later, along the innermost loop that is long enough for it.
std::optional<LaterRun> later_run(const TileRun& run, std::int64_t bytes, double points_ahead,
                                  const std::vector<AxisRange>& loops) {
    std::optional<LaterRun> later;
    Substitution then;
    std::int64_t span = 0;
    std::int64_t points = 1;  // of the loops inside
    for (std::size_t i = loops.size(); i-- > 0;) {
        const Axis& axis = loops[i].axis;
        const std::int64_t step = run.first.coefficient(axis.var);
        if (!later && 4 * std::abs(step) * bytes >= line_bytes)
            later = LaterRun{i, {}, run.elements + span};
        const auto turns = std::int64_t(std::ceil(points_ahead / double(points)));
        if (later && axis.extent >= 2 * turns) {
            then.replace(axis.var, form(axis.var) + form(turns));
            later->first = then(run.first);
            return later;
        }
        if (!later) {
            then.replace(axis.var, form(step < 0 ? axis.extent - 1 : 0));
            span += std::abs(step) * (axis.extent - 1);
        }
        points *= axis.extent;
    }
    return std::nullopt;
}

/// Elements from the start of a line to the place, at most, if arrays start at lines.
std::int64_t most_before(const AffineForm& place, std::int64_t line) {
    std::int64_t step = line;
    for (const AffineForm::Term& term : place.terms) step = std::gcd(step, term.coefficient);
    return line - step + (place.constant - step * floor_div(place.constant, step));
}

}  // namespace

Body prefetch_far(Kernel& kernel, const SideInPlace& side, const Substitution& next,
                  const Target& target) {
    Body body;
    for (const Source& source : side.sources) {
        if (source.panels) continue;
        for_each_node({source.term}, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr || !is_far(kernel, *load, side.along.var, target)) return;
            AffineForm first = next(load->at.affine);
            const auto bytes = std::int64_t(size_bytes(kernel.nest.at(load->buffer).dtype));
            const std::int64_t touched = most_before(first, line_bytes / bytes) + side.elements;
            append(body, prefetch_lines(kernel.nest, load->buffer, {std::move(first)}, touched, 2));
        });
    }
    return body;
}

Body prefetch_product(Kernel& kernel, const std::vector<Axis>& batch, const SideInPlace& columns,
                      const SideInPlace& rows, const Substitution& here, const Target& target) {
    if (batch.empty()) return {};
    std::int64_t bytes = 0;  // of a product
    for (const SideInPlace* side : {&columns, &rows})
        for (const Source& source : side->sources)
            for_each_node({source.term}, [&](const Value& value) {
                const auto* load = std::get_if<Load>(&value->term);
                if (source.panels || load == nullptr) return;
                const Buffer& buffer = kernel.nest.at(load->buffer);
                bytes += buffer.elements * std::int64_t(size_bytes(buffer.dtype)) / points(batch);
            });
    if (2 * bytes > target.l2_bytes) return {};
    Substitution next = here;
    const VarId last = batch.back().var;
    next.replace(last, form(last) + form(1));
    Body body = prefetch_far(kernel, columns, next, target);
    append(body, prefetch_far(kernel, rows, next, target));
    return body;
}

void add_run(std::vector<TileRun>& runs, const Source& source, const AffineForm& tile,
             const AffineForm& depth, const Substitution& first, const Axis& along) {
    const auto* load = std::get_if<Load>(&source.term->term);
    if (const auto& panels = source.panels) {
        if (panels->point_step > 1)
            runs.push_back({source.buffer, panels->at(tile, depth, form(0)),
                            panels->element_step * panels->point_step, true});
    } else if (load != nullptr && !load->at.computed &&
               load->at.affine.coefficient(along.var) == 1) {
        runs.push_back({load->buffer, first(load->at.affine), along.extent});
    }
}

void prefetch_ahead(Kernel& kernel, const ContractionChoice& choice,
                    const std::vector<TileRun>& runs, const std::vector<AxisRange>& loops,
                    const Target& target, std::vector<Body>& requests) {
    if (!is_worth_asking(kernel, choice, target)) return;
    const double cycles_of_point =
        tile_cycles(kernel, choice, target) / double(points(kernel.reduced));
    for (const TileRun& run : runs) {
        // Hardware follows panels; of short vectors each request takes the place of one load among
        // few sums. Zen 4 with AVX2, with and without: 3x3, stride 2, of 8x64x57x57 to 64 channels
        // 5.4 and 4.6 ms, its gradient by the weights 5.7 and 4.9.
        if (run.is_packed && has_short_vectors(target)) continue;
        const auto bytes = std::int64_t(size_bytes(kernel.nest.at(run.buffer).dtype));
        const auto later =
            later_run(run, bytes, cycles_ahead(kernel, target) / cycles_of_point, loops);
        if (later)
            append(requests[later->loop + 1],
                   prefetch_lines(kernel.nest, run.buffer, {later->first}, later->elements, 1));
    }
}

}  // namespace ricci::codegen
