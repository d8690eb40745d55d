// codegen/gpu/lower_contraction.cpp – whether a kernel runs in tiles, and in which
#include <algorithm>

#include "codegen/gpu/contraction_nest.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/numbering.h"
#include "codegen/gpu/tiled_contraction.h"

namespace ricci::codegen::gpu {

namespace {

/// Below this many reduced points in all, tiles do not pay for their code.
constexpr double least_points = 65536;
/// Rows or columns: with fewer most of a tile would be thrown away.
constexpr std::int64_t least_side = 8;

/// The row-major place of a point of a contraction's results, columns innermost.
AffineForm place_of_results(const Contraction& c, const std::optional<Axis>& chunk) {
    std::vector<Axis> axes;
    if (chunk) axes.push_back(*chunk);
    for (const auto* group : {&c.batch, &c.rows, &c.columns})
        axes.insert(axes.end(), group->begin(), group->end());
    axes.push_back(c.lane);
    return row_major(axes);
}

/// Chunks of the reduced points into a temporary, then their total.
void add_in_two_levels(Kernel kernel, Contraction c, const TileChoice& choice,
                       PlanBuilder& builder) {
    const std::int64_t results = points(kernel.free);
    const DType dtype = kernel.body->dtype;
    const std::size_t place =
        builder.temporary(kernel.nest.name + "_partial", dtype, choice.chunks * results);
    Kernel total = kernel;
    const Axis sum{total.nest.add(Var{"chunk"}), choice.chunks};
    total.reduced = {sum};
    total.conditions = {};
    const BufferId partials = total.argument(builder.plan(), place, false);
    total.body = make_load(total.nest, partials, {place_of_results(c, sum)});

    Kernel& partial = kernel;
    partial.nest.name += "_partial";
    const Axis chunk{partial.nest.add(Var{"chunk"}), choice.chunks};
    partial.writes = {Store{.buffer = partial.argument(builder.plan(), place, true),
                            .at = {place_of_results(c, chunk)},
                            .value = make_let_value(0, dtype),
                            .combine = std::nullopt}};
    add_contraction(std::move(partial), std::move(c), choice, chunk, builder);
    lower(std::move(total), builder, Splitting::done);
}

}  // namespace

void lower_tiled_contraction(TiledContraction tiled, const TileChoice& choice,
                             PlanBuilder& builder) {
    if (choice.chunks > 1)
        add_in_two_levels(std::move(tiled.kernel), std::move(tiled.contraction), choice, builder);
    else
        add_contraction(std::move(tiled.kernel), std::move(tiled.contraction), choice, std::nullopt,
                        builder);
}

bool lower_contraction(const Kernel& kernel, PlanBuilder& builder, Splitting splitting) {
    if (double(points(kernel.free)) * double(points(kernel.reduced)) < least_points) return false;
    std::optional<TiledContraction> tiled = find_tiled_contraction(kernel);
    if (!tiled) return false;
    const TileProblem problem = describe(*tiled, builder.target(), splitting);
    if (std::min(problem.rows, problem.columns) < least_side) return false;
    std::optional<TileChoice> choice = choose_tile(problem, builder.target().gpu);
    if (!choice) return false;
    pack_operands(*tiled, *choice, builder);
    // What is packed may go in another tile, or further ahead.
    if (const auto packed =
            choose_tile(describe(*tiled, builder.target(), splitting), builder.target().gpu))
        choice = packed;
    lower_tiled_contraction(std::move(*tiled), *choice, builder);
    return true;
}

}  // namespace ricci::codegen::gpu
