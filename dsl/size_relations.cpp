// dsl/size_relations.cpp – which formulas of sizes are equal whenever a program may run
#include "dsl/size_relations.h"

#include <utility>

#include "dsl/extent.h"

namespace ricci {

SizeRelations::SizeRelations(const Program& program) {
    for (TensorId id : program.arguments) {
        const Tensor& tensor = program.at(id);
        for (std::size_t d = 0; d < tensor.shape.size(); ++d)
            learn(program.context->size(id, int(d)), tensor.shape[d]);
    }
    for (const Requirement& requirement : program.requirements)
        if (requirement.kind == Requirement::Kind::equal) learn(requirement.a, requirement.b);
}

bool SizeRelations::are_equal(Expr a, Expr b) const {
    if (a == b || stated_.contains({a->id, b->id})) return true;
    auto form = difference(a, b);
    return form && reduce(*form) && form->parts.empty() && form->constant == 0;
}

std::optional<SizeRelations::Form> SizeRelations::difference(Expr a, Expr b) {
    const auto left = linear_form(a);
    const auto right = linear_form(b);
    if (!left || !right) return std::nullopt;
    const auto form = [](const LinearForm& linear) {
        Form made{linear.constant, {}};
        for (const auto& part : linear.parts) made.parts[part.atom->id] = part.coefficient;
        return made;
    };
    Form result = form(*left);
    return add(result, form(*right), -1) ? std::optional(result) : std::nullopt;
}

bool SizeRelations::add(Form& form, const Form& other, std::int64_t factor) {
    const auto add_scaled = [&](std::int64_t& to, std::int64_t value) {
        std::int64_t scaled = 0;
        return !__builtin_mul_overflow(value, factor, &scaled) &&
               !__builtin_add_overflow(to, scaled, &to);
    };
    if (!add_scaled(form.constant, other.constant)) return false;
    for (const auto& [node, coefficient] : other.parts) {
        std::int64_t& to = form.parts[node];
        if (!add_scaled(to, coefficient)) return false;
        if (to == 0) form.parts.erase(node);
    }
    return true;
}

bool SizeRelations::reduce(Form& form) const {
    const auto parts = form.parts;  // solutions hold no solved nodes: one pass suffices
    for (const auto& [node, coefficient] : parts) {
        const auto solution = solutions_.find(node);
        if (solution == solutions_.end()) continue;
        form.parts.erase(node);
        if (!add(form, solution->second, coefficient)) return false;
    }
    return true;
}

void SizeRelations::learn(Expr a, Expr b) {
    stated_.emplace(a->id, b->id);
    auto relation = difference(a, b);
    if (!relation || !reduce(*relation)) return;
    // 0 = c*node + rest, c = ±1: node = -c*rest. The latest node is solved for: a cotangent's size
    // rather than an argument's.
    auto solved = relation->parts.rbegin();
    while (solved != relation->parts.rend() && solved->second != 1 && solved->second != -1)
        ++solved;
    if (solved == relation->parts.rend()) return;
    const auto [node, coefficient] = *solved;
    relation->parts.erase(node);
    Form solution;
    if (!add(solution, *relation, -coefficient)) return;
    const auto users = users_.extract(node);
    if (!users.empty())
        for (const std::uint32_t other : users.mapped()) {
            Form& form = solutions_.at(other);
            const auto use = form.parts.find(node);
            if (use == form.parts.end()) continue;
            const std::int64_t factor = use->second;
            form.parts.erase(use);
            if (!add(form, solution, factor)) return;
            for (const auto& part : solution.parts) users_[part.first].insert(other);
        }
    for (const auto& part : solution.parts) users_[part.first].insert(node);
    solutions_.emplace(node, std::move(solution));
}

}  // namespace ricci
