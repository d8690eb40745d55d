// codegen/flip_axes.cpp – axes that are walked backwards, run from their end
#include "codegen/flip_axes.h"

#include <algorithm>
#include <vector>

namespace ricci::codegen {

namespace {

bool has_step(const std::vector<Touch>& all, const Axis& axis, std::int64_t step) {
    return std::ranges::any_of(
        all, [&](const Touch& touch) { return touch.address.coefficient(axis.var) == step; });
}
bool is_backwards(const std::vector<Touch>& all, const Axis& axis) {
    return axis.extent > 1 && has_step(all, axis, -1) && !has_step(all, axis, 1);
}
/// Sums over windows, `x[t-m]*w[2*m]`, are packed and read in the order of their points.
bool is_backwards_alone(const std::vector<Touch>& all, const Axis& axis) {
    return is_backwards(all, axis) && std::ranges::all_of(all, [&](const Touch& touch) {
               const std::int64_t step = touch.address.coefficient(axis.var);
               return step == 0 || step == -1;
           });
}

}  // namespace

void flip_axes(Kernel& kernel) {
    // Places of extremes are the first ones in order.
    if (kernel.is_arg_reduction()) return;
    const std::vector<Touch> all = touches(kernel);
    Substitution flipped;
    bool is_any = false;
    const auto flip = [&](const Axis& axis) {
        flipped.replace(axis.var, form(axis.extent - 1) + form(axis.var, -1));
        is_any = true;
    };
    for (const Axis& axis : kernel.free)
        if (!kernel.collides(axis.var) && is_backwards(all, axis)) flip(axis);
    for (const Axis& axis : kernel.reduced)
        if (is_backwards_alone(all, axis)) flip(axis);
    if (is_any) substitute(kernel, flipped);
}

}  // namespace ricci::codegen
