// runtime/checks.cpp – checks of a program that stand between the steps of its plan
#include "runtime/checks.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "dsl/walk.h"
#include "runtime/elementwise.h"
#include "runtime/overlap.h"
#include "runtime/reference.h"

namespace ricci::runtime {
namespace {

/// The tensors that a check reads.
std::set<TensorId> data_of(const BoundCheck& check) {
    std::set<TensorId> found;
    std::vector<Expr> roots = check.at;
    if (check.condition) roots.push_back(check.condition);
    for (Expr root : roots)
        for (TensorId id : tensors_read(root)) found.insert(id);
    return found;
}

/// The program up to the check, for what the check reads alone. Earlier checks have passed.
BoundProgram part_before(const BoundProgram& program, const BoundCheck& check) {
    BoundProgram part = program;
    part.checks.clear();
    const auto end = std::ranges::find(part.equations, check.verdict, &BoundEquation::target);
    part.equations.erase(end, part.equations.end());
    part.outputs.clear();
    for (TensorId id : data_of(check))
        if (std::ranges::find(program.arguments, id) == program.arguments.end())
            part.outputs.push_back(id);
    std::set<TensorId> needed(part.outputs.begin(), part.outputs.end());
    for (std::size_t n = part.equations.size(); n-- > 0;) {
        const BoundEquation& equation = part.equations[n];
        if (!needed.contains(equation.target)) {
            part.equations.erase(part.equations.begin() + std::ptrdiff_t(n));
            continue;
        }
        if (const auto previous = part.at(equation.target).previous) needed.insert(*previous);
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        if (equation.reduction && equation.reduction->condition)
            roots.push_back(equation.reduction->condition);
        for (Expr root : roots)
            for (TensorId id : tensors_read(root)) needed.insert(id);
    }
    return part;
}

}  // namespace

void raise_failed_check(const BoundProgram& program, std::size_t number,
                        std::span<const Array* const> arguments, const RunProgram& run) {
    const BoundCheck& check = program.checks.at(number);
    std::vector<std::pair<TensorId, Array>> values;
    const std::set<TensorId> data = data_of(check);
    for (std::size_t n = 0; n < program.arguments.size(); ++n)
        if (data.contains(program.arguments[n]))
            values.emplace_back(program.arguments[n], *arguments[n]);
    const BoundProgram part = part_before(program, check);
    if (!part.outputs.empty()) {
        const UpdatedCopies apart = copy_updated(updated_arguments(part), arguments);
        const std::vector<Array> outputs = run(part, apart.arguments);
        for (std::size_t n = 0; n < outputs.size(); ++n)
            values.emplace_back(part.outputs[n], outputs[n]);
    }
    raise_failed_check(program, check, values);
}

bool writes_before_checks(const codegen::Plan& plan, const Slots& slots) {
    if (plan.checks.empty()) return false;
    for (std::size_t s = 0; s <= plan.checks.back().after; ++s) {
        const codegen::Step& step = plan.steps[s];
        const codegen::Nest& nest = plan.nests[step.nest];
        for (std::size_t i = 0; i < step.buffers.size(); ++i)
            if (nest.buffers[i].is_written &&
                slots.buffers[step.buffers[i]].kind == Slot::Kind::updated)
                return true;
    }
    return false;
}

UpdatedCopies copy_updated(const std::vector<std::size_t>& updated,
                           std::span<const Array* const> arguments) {
    UpdatedCopies result;
    auto& [memory, copies, given] = result;
    copies.reserve(updated.size());
    given.assign(arguments.begin(), arguments.end());
    for (const std::size_t u : updated) {
        // Kernels know the strides, which may be negative: a copy has them too.
        const Array& original = *arguments[u];
        std::int64_t before = 0;
        std::int64_t behind = 0;
        for (std::size_t d = 0; d < original.shape().size(); ++d) {
            const std::int64_t reach =
                std::max<std::int64_t>(original.shape()[d] - 1, 0) * original.strides()[d];
            (reach < 0 ? before : behind) += std::abs(reach);
        }
        memory.emplace_back(original.dtype(), Shape{before + 1 + behind});
        char* const first = static_cast<char*>(memory.back().data()) +
                            before * static_cast<std::int64_t>(size_bytes(original.dtype()));
        copies.push_back(
            Array::view(first, original.dtype(), original.shape(), original.strides()));
        assign(copies.back(), original);
        given[u] = &copies.back();
    }
    return result;
}

std::vector<Array> run_on_copies(
    const Slots& slots, std::span<const Array* const> arguments,
    const std::function<std::vector<Array>(std::span<const Array* const>)>& run) {
    const UpdatedCopies apart = copy_updated(slots.updated, arguments);
    const std::vector<Array>& copies = apart.copies;
    std::vector<Array> outputs = run(apart.arguments);
    for (std::size_t n = 0; n < copies.size(); ++n) assign(*arguments[slots.updated[n]], copies[n]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (slots.output_arguments[i] >= 0)
            outputs[i] = *arguments[static_cast<std::size_t>(slots.output_arguments[i])];
    return outputs;
}

}  // namespace ricci::runtime
