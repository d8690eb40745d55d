// codegen/unread.cpp – equations whose results nobody reads
#include "codegen/unread.h"

#include <algorithm>
#include <set>
#include <vector>

#include "dsl/walk.h"

namespace ricci::codegen {

std::set<TensorId> tensors_read(const BoundEquation& equation) {
    std::vector<Expr> terms = equation.at;
    terms.push_back(equation.value);
    if (equation.reduction && equation.reduction->condition)
        terms.push_back(equation.reduction->condition);
    if (equation.reduction && equation.reduction->carry) terms.push_back(equation.reduction->carry);
    std::set<TensorId> found;
    for (const Expr term : terms)
        for (const TensorId tensor : ricci::tensors_read(term)) found.insert(tensor);
    return found;
}

BoundProgram without_unread(BoundProgram program) {
    std::set<TensorId> read(program.outputs.begin(), program.outputs.end());
    const auto note = [&](Expr e) {
        if (!e) return;
        for (const TensorId tensor : ricci::tensors_read(e)) read.insert(tensor);
    };
    for (const BoundCheck& check : program.checks) {
        read.insert(check.verdict);
        note(check.condition);
        for (const Expr subscript : check.at) note(subscript);
    }
    std::vector<BoundEquation> kept;
    for (auto each = program.equations.rbegin(); each != program.equations.rend(); ++each) {
        const BoundTensor& target = program.at(each->target);
        const bool is_temporary = target.role == Role::temporary && !target.previous;
        if (is_temporary && !read.contains(each->target)) continue;
        read.merge(tensors_read(*each));
        if (target.previous) read.insert(*target.previous);
        kept.push_back(std::move(*each));
    }
    std::ranges::reverse(kept);
    program.equations = std::move(kept);
    return program;
}

}  // namespace ricci::codegen
