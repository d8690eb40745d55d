// codegen/take_condition.cpp – updates that are made only where a condition holds
#include "codegen/take_condition.h"

#include "codegen/nest_walk.h"

namespace ricci::codegen {

Value take_condition(Kernel& kernel, const std::optional<Axis>& lane) {
    if (kernel.body || kernel.writes.size() != 1) return nullptr;
    Store& write = kernel.writes[0];
    const auto* select = std::get_if<Operate>(&write.value->term);
    if (!write.combine || select == nullptr || select->op != Op::select) return nullptr;
    const Value condition = select->args[0];
    const auto* rest = std::get_if<Constant>(&select->args[2]->term);
    const Value nothing = identity(*write.combine, write.value->dtype);
    if (rest == nullptr || *rest != std::get<Constant>(nothing->term)) return nullptr;
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

}  // namespace ricci::codegen
