// codegen/latest_versions.cpp – reads of tensors whose values later equations complete
#include "codegen/latest_versions.h"

#include "dsl/walk.h"

namespace ricci::codegen {

void LatestVersions::rename(BoundProgram& program, BoundEquation& equation) const {
    if (latest_.empty()) return;
    const auto apply = [&](Expr& e) {
        if (!e) return;
        e = rewrite(*program.context, e, [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            const auto found = access ? latest_.find(access->tensor) : latest_.end();
            return found == latest_.end()
                       ? node
                       : program.context->access(found->second, access->at, node->dtype);
        });
    };
    apply(equation.value);
    for (Expr& subscript : equation.at) apply(subscript);
    if (equation.reduction) apply(equation.reduction->condition);
    if (equation.reduction) apply(equation.reduction->carry);
    std::optional<TensorId>& previous = program.tensors[position(equation.target)].previous;
    if (!previous) return;
    if (const auto found = latest_.find(*previous); found != latest_.end())
        previous = found->second;
}

}  // namespace ricci::codegen
