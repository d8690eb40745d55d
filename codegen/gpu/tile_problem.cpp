// codegen/gpu/tile_problem.cpp – a contraction as the estimate of its tiles sees it
#include <algorithm>

#include "codegen/gpu/stage_operand.h"
#include "codegen/gpu/tiled_contraction.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t samples = 1024;

/// The share of reduced points that satisfy the affine conditions, from a fixed sample.
double counted_share(const Kernel& kernel) {
    const Conditions& conditions = kernel.conditions;
    if (conditions.is_empty()) return 1;
    std::uint64_t state = 1;
    std::int64_t counted = 0;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        Substitution point;
        for (const auto* axes : {&kernel.free, &kernel.reduced})
            for (const Axis& axis : *axes) {
                state = state * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's MMIX
                point.replace(axis.var,
                              form(std::int64_t((state >> 33) % std::uint64_t(axis.extent))));
            }
        counted +=
            std::ranges::all_of(conditions.at_least_zero,
                                [&](const AffineForm& f) { return point(f).constant >= 0; }) &&
            std::ranges::all_of(conditions.equal_zero,
                                [&](const AffineForm& f) { return point(f).constant == 0; });
    }
    return double(counted) / double(samples);
}

std::int64_t words(DType dtype) {
    return std::max<std::int64_t>(1, std::int64_t(size_bytes(dtype)) / 4);
}

/// How an operand is staged, as far as all tiles agree.
struct Staging {
    bool is_asynchronous = false;
    bool is_matrix = false;  ///< walks its rows or columns as one, and the reduced points
};

Staging staging_of(const Kernel& kernel, const Contraction& c, const Operand& operand) {
    // The narrowest and the shallowest of all tiles.
    constexpr std::int64_t width = 16;
    constexpr std::int64_t step = 8;
    std::vector<Axis> across = operand.has_rows ? c.rows : c.columns;
    if (!operand.has_rows) across.push_back(c.lane);
    const StagedTerm staged{operand.term, operand.has_rows ? c.row_condition : c.column_condition};
    const std::vector<Value> terms = {staged.term, staged.condition};
    const std::vector<Axis> own = joined(terms, across);
    const std::vector<Axis> depth = joined(terms, kernel.reduced);
    const auto is_one = [](const std::vector<Axis>& axes) {
        return std::ranges::count_if(axes, [](const Axis& axis) { return axis.extent != 1; }) <= 1;
    };
    return {choose_way(kernel.nest, staged, own, width, depth, step).is_asynchronous,
            is_one(own) && is_one(depth)};
}

}  // namespace

TileProblem describe(const TiledContraction& tiled, const Target& target, Splitting splitting) {
    const Kernel& kernel = tiled.kernel;
    const Contraction& c = tiled.contraction;
    TileProblem problem;
    problem.batch = points(c.batch);
    problem.rows = points(c.rows);
    problem.columns = points(c.columns) * c.lane.extent;
    problem.depth = points(kernel.reduced);
    problem.element_words = words(kernel.body->dtype);
    Substitution staged;
    problem.row_words = problem.column_words = 0;
    problem.staging = 2;
    for (const auto* list : {&c.row_operands, &c.column_operands})
        for (const Operand& operand : *list) {
            const std::int64_t size = words(operand.term->dtype);
            const bool has_rows = operand.has_rows;
            (has_rows ? problem.row_words : problem.column_words) += size;
            staged.replace(operand.term, make_let_value(0, operand.term->dtype));
            const Staging staging = staging_of(kernel, c, operand);
            problem.is_matrix &= staging.is_matrix;
            if (staging.is_asynchronous) continue;
            (has_rows ? problem.fetched_row_words : problem.fetched_column_words) += size;
            problem.staging = std::max(problem.staging, 3 + cost({operand.term}));
        }
    for (const Operand& operand : c.held) {
        staged.replace(operand.term, make_let_value(0, operand.term->dtype));
        (operand.has_rows && operand.has_columns ? problem.held_words
         : operand.has_rows                      ? problem.held_row_words
                            : problem.held_column_words) += words(operand.term->dtype);
    }
    // A product that is added is one operation.
    const bool is_fused = kernel.reducer == Reducer::sum && is_operation(c.body, Op::mul) &&
                          is_floating(kernel.body->dtype);
    problem.operations = std::max(1.0, cost({staged(c.body)}) + (is_fused ? 0 : 1));
    // A mask is staged like an operand, and makes the operations of a line depend on it.
    if (c.row_condition) ++problem.row_words, ++problem.fetched_row_words;
    if (c.column_condition) ++problem.column_words, ++problem.fetched_column_words;
    if (c.row_condition || c.column_condition) problem.operations *= 1.2, problem.staging += 12;
    if (problem.element_words == 2) problem.operations *= 2;
    problem.counted = counted_share(kernel);
    problem.untiled_slots =
        std::min(row_shape(kernel, target).slots, column_shape(kernel, target).slots);
    problem.may_split = splitting == Splitting::allowed;
    return problem;
}

}  // namespace ricci::codegen::gpu
