// codegen/flip_axes.cpp – axes that are walked backwards, run from their end
#include "codegen/flip_axes.h"

#include <algorithm>
#include <vector>

namespace ricci::codegen {

namespace {

bool is_backwards(const std::vector<Touch>& all, const Axis& axis) {
    const auto has_step = [&](std::int64_t step) {
        return std::ranges::any_of(
            all, [&](const Touch& touch) { return touch.address.coefficient(axis.var) == step; });
    };
    return axis.extent > 1 && has_step(-1) && !has_step(1);
}

}  // namespace

void flip_axes(Kernel& kernel) {
    // Places of extremes are the first ones in order.
    if (kernel.is_arg_reduction()) return;
    const std::vector<Touch> all = touches(kernel);
    Substitution flipped;
    bool is_any = false;
    for (const std::vector<Axis>& axes : {kernel.free, kernel.reduced})
        for (const Axis& axis : axes) {
            if (kernel.collides(axis.var) || !is_backwards(all, axis)) continue;
            flipped.replace(axis.var, form(axis.extent - 1) + form(axis.var, -1));
            is_any = true;
        }
    if (is_any) substitute(kernel, flipped);
}

}  // namespace ricci::codegen
