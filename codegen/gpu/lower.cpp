// codegen/gpu/lower.cpp – the choice of a strategy on a GPU
#include "codegen/gpu/lower.h"

#include <algorithm>

namespace ricci::codegen::gpu {

namespace {

/// How much longer a kernel takes that has too few threads to keep all multiprocessors busy.
double idle(std::int64_t threads, const Target& target) {
    return std::max(1.0, double(target.gpu.multiprocessors) * 1024 / double(threads));
}

void lower_reduction(Kernel kernel, PlanBuilder& builder, Splitting splitting) {
    if (lower_contraction(kernel, builder, splitting)) return;
    const RowShape rows = row_shape(kernel, builder.target());
    const ColumnShape columns = column_shape(kernel, builder.target());
    const bool may_split = splitting == Splitting::allowed;
    const auto cost = [&](double slots, std::int64_t blocks, std::int64_t block) {
        if (may_split && wants_two_levels(kernel, blocks, builder.target())) return slots;
        return slots * idle(blocks * block, builder.target());
    };
    const bool by_rows = !kernel.colliding.empty() ||
                         cost(rows.slots, rows.blocks, rows.block) <
                             cost(columns.slots, columns.blocks, columns.columns * columns.rows);
    if (may_split && lower_in_two_levels(kernel, by_rows ? rows.blocks : columns.blocks, builder))
        return;
    if (by_rows)
        lower_row_reduction(std::move(kernel), rows, builder);
    else
        lower_strided_reduction(std::move(kernel), columns, builder);
}

}  // namespace

void lower(Kernel kernel, PlanBuilder& builder, Splitting splitting) {
    std::optional<LibraryCall> call;
    if (splitting == Splitting::allowed && !kernel.carry) call = recognise(kernel);
    const std::size_t first = builder.plan().steps.size();
    merge_axes(kernel);
    if (points(kernel.free) == 0) return;
    if (kernel.carry)
        lower_walk(std::move(kernel), builder);
    else if (kernel.body)
        lower_reduction(std::move(kernel), builder, splitting);
    else if (!lower_transposed(kernel, builder))
        lower_pointwise(std::move(kernel), builder);
    if (call) builder.add_library_call(std::move(*call), first);
}

}  // namespace ricci::codegen::gpu
