// codegen/take_condition.cpp – updates that are made only where a condition holds
#include "codegen/take_condition.h"

#include <cstddef>

#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

const Operate* choice_of(const Store& write) {
    const auto* select = std::get_if<Operate>(&write.value->term);
    return write.combine && select != nullptr && select->op == Op::select ? select : nullptr;
}

/// Whether an update by that value changes nothing.
bool is_nothing(const Store& write, const Value& value) {
    const auto* constant = std::get_if<Constant>(&value->term);
    const Value nothing = identity(*write.combine, write.value->dtype);
    return constant != nullptr && *constant == std::get<Constant>(nothing->term);
}

}  // namespace

Value condition_of(const Store& store) {
    const Operate* const select = choice_of(store);
    return select != nullptr && is_nothing(store, select->args[2]) ? select->args[0] : nullptr;
}

Value take_condition(Kernel& kernel, const std::optional<Axis>& lane) {
    if (kernel.body || kernel.writes.size() != 1) return nullptr;
    Store& write = kernel.writes[0];
    const Operate* const select = choice_of(write);
    const Value condition = condition_of(write);
    if (!condition) return nullptr;
    if (lane && depends_on(condition, lane->var)) return nullptr;
    Substitution holds;
    for_each_node({select->args[1], write.at.computed}, [&](const Value& node) {
        const auto* inner = std::get_if<Operate>(&node->term);
        if (inner != nullptr && inner->op == Op::select && inner->args[0] == condition)
            holds.replace(node, inner->args[1]);
    });
    write.value = holds(select->args[1]);
    write.at = holds(write.at);
    return condition;
}

Alternatives take_alternatives(Kernel& kernel) {
    const std::vector<Store> all = kernel.writes;
    const Operate* const last = all.empty() ? nullptr : choice_of(all.back());
    if (kernel.body || last == nullptr) return {};
    Alternatives result;
    for (std::size_t w = 0; w + 1 < all.size(); ++w) {
        const Operate* const select = choice_of(all[w]);
        if (select == nullptr || select->args[0] != last->args[0] || all[w].at.computed ||
            !is_nothing(all[w], select->args[1]))
            return {};
        result.otherwise.push_back(all[w]);
        result.otherwise.back().value = select->args[2];
    }
    kernel.writes = {all.back()};
    result.condition = take_condition(kernel, std::nullopt);
    if (result.condition) return result;
    kernel.writes = all;
    return {};
}

}  // namespace ricci::codegen
