// codegen/flatten.cpp – two free axes of a contraction walked as one
#include "codegen/flatten.h"

#include <algorithm>
#include <optional>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Elements from one point of `outer` to the next, in steps of `inner`; 0: there is no such number.
std::int64_t pitch_of(const Kernel& kernel, const Axis& outer, const Axis& inner) {
    const auto moves = [&](const AffineForm& form) {
        return form.coefficient(outer.var) != 0 || form.coefficient(inner.var) != 0;
    };
    const Conditions& conditions = kernel.conditions;
    if (conditions.rest || std::ranges::any_of(conditions.at_least_zero, moves) ||
        std::ranges::any_of(conditions.equal_zero, moves))
        return 0;
    std::optional<std::int64_t> pitch;
    bool is_one = true;
    for_each_node({kernel.body}, [&](const Value& value) {
        if (const auto* var = std::get_if<VarValue>(&value->term)) is_one &= !moves(var->form);
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || !moves(load->at.affine)) return;
        const std::int64_t step = load->at.affine.coefficient(inner.var);
        const std::int64_t row = load->at.affine.coefficient(outer.var);
        is_one &= step != 0 && row % step == 0 && pitch.value_or(row / step) == row / step;
        if (is_one) pitch = row / step;
    });
    return is_one && pitch && *pitch >= inner.extent ? *pitch : 0;
}

Flattened flatten(const Kernel& kernel, const Axis& outer, const Axis& inner, std::int64_t pitch) {
    Flattened result{.kernel = kernel,
                     .flat = {},
                     .outer = outer,
                     .inner = inner,
                     .pitch = pitch,
                     .writes = kernel.writes};
    Kernel& over = result.kernel;
    const std::string name = over.nest.at(outer.var).name + over.nest.at(inner.var).name;
    result.flat = {over.nest.add(Var{name}), pitch * (outer.extent - 1) + inner.extent};
    std::erase(over.free, outer);
    std::ranges::replace(over.free, inner, result.flat);
    Substitution along;
    along.replace(outer.var, form(0)).replace(inner.var, form(result.flat.var));
    over.body = along(over.body);
    for (Store& write : over.writes) {
        write.at = along(write.at);
        write.value = along(write.value);
    }
    return result;
}

}  // namespace

std::vector<Flattened> flattenings(const Kernel& kernel) {
    std::vector<Flattened> all;
    if (!kernel.body || kernel.has_meeting_writes()) return all;
    for (const Axis& outer : kernel.free)
        for (const Axis& inner : kernel.free)
            if (const std::int64_t pitch = outer == inner ? 0 : pitch_of(kernel, outer, inner))
                all.push_back(flatten(kernel, outer, inner, pitch));
    return all;
}

}  // namespace ricci::codegen
