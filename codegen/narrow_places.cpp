// codegen/narrow_places.cpp – places of extremal elements in the narrowest type that holds them
#include "codegen/narrow_places.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

DType narrowest(const BoundIndex& index) {
    const auto holds = [&](std::int64_t low, std::int64_t high) {
        return index.lower >= low && index.upper - 1 <= high;
    };
    if (holds(std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()))
        return DType::i8;
    if (holds(std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()))
        return DType::i16;
    if (holds(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()))
        return DType::i32;
    return DType::i64;
}

/// Every term of an equation.
template <class Do>
void for_each_term(BoundEquation& equation, const Do& apply) {
    const auto each = [&](Expr& e) {
        if (e) apply(e);
    };
    each(equation.value);
    for (Expr& subscript : equation.at) each(subscript);
    if (equation.reduction) each(equation.reduction->condition);
    if (equation.reduction) each(equation.reduction->carry);
}

/// The tensors that somebody but equations sees, and those of several versions.
std::set<TensorId> seen_elsewhere(const BoundProgram& program) {
    std::set<TensorId> seen(program.outputs.begin(), program.outputs.end());
    for (std::size_t t = 0; t < program.tensors.size(); ++t)
        if (program.tensors[t].previous) {
            seen.insert(TensorId(t));
            seen.insert(*program.tensors[t].previous);
        }
    const auto add = [&](Expr e) {
        if (!e) return;
        for (const Expr node : postorder({e}))
            if (const auto* access = std::get_if<Access>(&node->term)) seen.insert(access->tensor);
    };
    for (const BoundCheck& check : program.checks) {
        seen.insert(check.verdict);
        add(check.condition);
        for (const Expr subscript : check.at) add(subscript);
    }
    return seen;
}

}  // namespace

BoundProgram with_narrow_places(BoundProgram program) {
    const std::set<TensorId> seen = seen_elsewhere(program);
    std::set<TensorId> narrow;
    for (const BoundEquation& equation : program.equations) {
        if (!equation.reduction || seen.contains(equation.target)) continue;
        const Reducer reducer = equation.reduction->reducer;
        if (reducer != Reducer::argmax && reducer != Reducer::argmin) continue;
        BoundTensor& tensor = program.tensors[position(equation.target)];
        const DType type = narrowest(program.at(equation.reduction->indices.front()));
        if (tensor.dtype != DType::i64 || type == DType::i64) continue;
        tensor.dtype = type;
        narrow.insert(equation.target);
    }
    if (narrow.empty()) return program;
    Context& context = *program.context;
    for (BoundEquation& equation : program.equations)
        for_each_term(equation, [&](Expr& e) {
            e = rewrite(context, e, [&](Expr node) {
                const auto* access = std::get_if<Access>(&node->term);
                if (access == nullptr || node->dtype != DType::i64) return node;
                if (!narrow.contains(access->tensor)) return node;
                const Expr stored =
                    context.access(access->tensor, access->at, program.at(access->tensor).dtype);
                return context.cast(stored, DType::i64);
            });
        });
    return program;
}

}  // namespace ricci::codegen
