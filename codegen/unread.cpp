// codegen/unread.cpp – equations whose results nobody reads
#include "codegen/unread.h"

#include <algorithm>
#include <set>
#include <vector>

#include "dsl/walk.h"

namespace ricci::codegen {

BoundProgram without_unread(BoundProgram program) {
    std::set<TensorId> read(program.outputs.begin(), program.outputs.end());
    const auto note = [&](Expr e) {
        if (!e) return;
        for (const TensorId tensor : tensors_read(e)) read.insert(tensor);
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
        for (const Expr subscript : each->at) note(subscript);
        note(each->value);
        if (each->reduction) note(each->reduction->condition);
        if (target.previous) read.insert(*target.previous);
        kept.push_back(std::move(*each));
    }
    std::ranges::reverse(kept);
    program.equations = std::move(kept);
    return program;
}

}  // namespace ricci::codegen
