// codegen/named_values.cpp – values that are the same at many points, computed before their loops
#include "codegen/named_values.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/nest_walk.h"

namespace ricci::codegen {

Body NamedValues::add(Kernel& kernel, const std::function<bool(const Value&)>& is_chosen) {
    Body body;
    std::unordered_set<const ValueNode*> seen;
    for (const auto& [value, name] : named_) seen.insert(value.get());
    const std::function<void(const Value&)> visit = [&](const Value& node) {
        if (!node || !seen.insert(node.get()).second) return;
        if (!is_chosen(node)) {
            for (const Value& operand : operands(node)) visit(operand);
            return;
        }
        if (operands(node).empty() && !std::holds_alternative<Load>(node->term)) return;
        Substitution named;
        replace_in(named);
        const std::vector<Value> value = share(body, {named(node)}, kernel.next_let);
        body.push_back(make_let(kernel.next_let, value[0]));
        named_.emplace_back(node, make_let_value(kernel.next_let++, node->dtype));
    };
    visit(kernel.body);
    for (const Store& write : kernel.writes) {
        visit(write.value);
        visit(write.at.computed);
    }
    return body;
}

void NamedValues::replace_in(Substitution& here) const {
    for (const auto& [value, name] : named_) here.replace(value, name);
}

bool is_even(const Kernel& kernel, const Value& root) {
    bool is_even = is_inside_everywhere(kernel, root);
    for_each_node({root}, [&](const Value& node) {
        if (const auto* load = std::get_if<Load>(&node->term))
            is_even &= load->at.affine.is_constant() && !kernel.nest.at(load->buffer).is_written;
        if (const auto* var = std::get_if<VarValue>(&node->term))
            is_even &= var->form.is_constant();
        is_even &= !std::holds_alternative<LetValue>(node->term);
    });
    return is_even;
}

bool is_even_along(const Kernel& kernel, const Value& root, const std::vector<VarId>& axes) {
    bool is_even = is_inside_everywhere(kernel, root) &&
                   std::ranges::none_of(axes, [&](VarId axis) { return depends_on(root, axis); });
    for_each_node({root}, [&](const Value& node) {
        if (const auto* load = std::get_if<Load>(&node->term))
            is_even &= !kernel.nest.at(load->buffer).is_written;
    });
    return is_even;
}

}  // namespace ricci::codegen
