// codegen/busy_units.cpp – sums that units for multiplications make while others are busy
#include "codegen/busy_units.h"

#include <algorithm>

#include "codegen/contraction_choice.h"
#include "codegen/nan_makers.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

bool multiplies_in_sums(const Kernel& kernel, const Target& target) {
    const bool has_units_for_sums =
        target.cpu.starts_with("znver") && adds_where_it_compares(target);
    if (!has_units_for_sums || !has_fused_sums(kernel, target)) return false;
    int additions = 1;  // that of the sum
    int multiplications = 0;
    bool is_simple = !is_operation(kernel.body, Op::mul);
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr || operate->op == Op::neg) return;
        const bool is_fused = std::ranges::any_of(
            operate->args, [](const Value& arg) { return is_operation(arg, Op::mul); });
        if (operate->op == Op::mul)
            ++multiplications;
        else if (operate->op == Op::max || operate->op == Op::min ||
                 (operate->op == Op::add && !is_fused))
            ++additions;
        else if (operate->op != Op::add && operate->op != Op::abs)
            is_simple = false;
    });
    return is_simple && additions > multiplications + 1;
}

}  // namespace ricci::codegen
