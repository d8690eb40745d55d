// codegen/copied_results.cpp – results of a product that stand apart, through an array of their own
#include "codegen/copied_results.h"

#include <algorithm>

#include "codegen/nest_build.h"
#include "codegen/pack.h"

namespace ricci::codegen {

namespace {

/// Cycles of an element that is stored and then moved to its place by squares: 2.4 million take
/// 0.5 ms.
constexpr double copied = 1.2;
/// Of one that is scattered, at least, to an array that the second-level cache holds, or to a
/// larger one: of 3x3 kernels of 512 to 512 channels each took 5.3; 2x2 kernels with stride 2 of
/// 128x32x8x8 to 64 channels took 0.49 ms, 0.38 with copies (Zen 4).
constexpr double scattered_near = 2.6;
constexpr double scattered_far = 5;
constexpr double step_cycles = 500;
/// Of the cycles of the product, at least.
constexpr double least_gain = 0.01;

bool pays(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    if (choice.flattened || !kernel.slices.empty() || !kernel.needed_where.empty() ||
        kernel.is_arg_reduction() || kernel.has_meeting_writes() || kernel.joint_kernels > 1)
        return false;
    if (write_cycles(kernel, choice.contraction.lane) <= copied) return false;
    if (target.forced == Forced::rewritings) return true;
    const auto results = double(points(kernel.free));
    const bool is_far = results * double(size_bytes(kernel.body->dtype)) > double(target.l2_bytes);
    const double scattered = is_far ? scattered_far : scattered_near;
    return results * (scattered - copied) > step_cycles + least_gain * choice.cycles;
}

}  // namespace

double cycles_with_copied_results(const Kernel& kernel, const ContractionChoice& choice,
                                  const Target& target) {
    if (!pays(kernel, choice, target)) return choice.cycles;
    const double saved = write_cycles(kernel, choice.contraction.lane) - copied;
    return choice.cycles - saved * double(points(kernel.free)) + step_cycles;
}

std::optional<CopiedResults> with_copied_results(const Kernel& kernel,
                                                 const ContractionChoice& choice,
                                                 PlanBuilder& builder) {
    if (!pays(kernel, choice, builder.target())) return std::nullopt;
    const Contraction& c = choice.contraction;
    CopiedResults result{.product = kernel, .copy = {}};
    Kernel& product = result.product;
    product.nest.name += "_results";
    std::ranges::stable_sort(product.free, {}, [&](const Axis& axis) {
        const bool is_of_batch = std::ranges::find(c.batch, axis) != c.batch.end();
        return is_of_batch ? 0 : axis != c.lane ? 1 : 2;
    });
    const AffineForm at = reduced_point(product.free);
    const DType dtype = kernel.body->dtype;
    const std::size_t place = builder.temporary(product.nest.name, dtype, points(product.free));
    product.writes = {Store{.buffer = product.argument(builder.plan(), place, true),
                            .at = {at},
                            .value = make_let_value(0, dtype),
                            .combine = std::nullopt}};
    result.copy = kernel.step_beside(kernel.nest.name);
    Kernel& copy = result.copy;
    copy.free = kernel.free;
    copy.writes = kernel.writes;
    const BufferId from = copy.argument(builder.plan(), place, false);
    Substitution to;
    to.replace_let(0, make_load(copy.nest, from, {at}));
    for (Store& write : copy.writes) write.value = to(write.value);
    return result;
}

}  // namespace ricci::codegen
