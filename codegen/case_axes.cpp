// codegen/case_axes.cpp – short axes of which written terms tell the places apart
#include "codegen/case_axes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/fold_indices.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Whether arithmetic on the axis alone decides something: `t == 3`, or `t % 3` of few places.
bool tells_places(const Value& value, const Axis& axis) {
    constexpr std::int64_t few_places = 4;
    const auto* operate = std::get_if<Operate>(&value->term);
    if (operate == nullptr) return false;
    const bool divides = operate->op == Op::mod || operate->op == Op::floordiv;
    if (operate->op != Op::eq && !(divides && axis.extent <= few_places)) return false;
    const std::optional<AffineForm> left = affine(operate->args[0]);
    const std::optional<AffineForm> right = affine(operate->args[1]);
    if (!left || !right) return false;
    const AffineForm difference = *left + -1 * *right;
    return difference.terms.size() == 1 && difference.coefficient(axis.var) != 0;
}

/// A free axis of few places that terms tell apart, if there is one.
std::optional<Axis> find_case_axis(const Kernel& kernel) {
    std::optional<Axis> found;
    for_each_node(written_values(kernel), [&](const Value& value) {
        for (const Axis& axis : kernel.free)
            if (axis.extent > 1 && axis.extent * std::ssize(kernel.writes) <= most_case_places &&
                tells_places(value, axis))
                found = axis;
    });
    return found;
}

/// A sum without the zeros of terms that are left out; of -0 alone it is -0.
Value without_zeros(const Value& value) {
    const auto* sum = std::get_if<Operate>(&value->term);
    if (sum == nullptr || sum->op != Op::add || !is_floating(value->dtype)) return value;
    std::vector<Value> terms;
    for (const Value& arg : sum->args) {
        const Value term = without_zeros(arg);
        const auto* number = std::get_if<Constant>(&term->term);
        if (number == nullptr || number->real != 0) terms.push_back(term);
    }
    if (terms.empty()) return make_number(value->dtype, 0);
    return terms.size() == 1 ? terms[0] : make_operation(Op::add, std::move(terms), value->dtype);
}

Kernel written_out(const Kernel& kernel, const Axis& axis) {
    Kernel result = kernel;
    std::erase(result.free, axis);
    result.writes.clear();
    std::vector<Value> same;  // at all places
    for_each_node(written_values(kernel), [&](const Value& value) {
        if (!depends_on(value, axis.var)) same.push_back(value);
    });
    for (std::int64_t place = 0; place < axis.extent; ++place) {
        Substitution here;
        here.replace(axis.var, form(place));
        for (const Value& value : same) here.replace(value, value);
        for (Store write : kernel.writes) {
            write.at = here(write.at);
            write.value = here(write.value);
            result.writes.push_back(std::move(write));
        }
    }
    (void)fold_indices(result);
    for (Store& write : result.writes) write.value = without_zeros(write.value);
    return result;
}

double cycles_of(const Kernel& kernel, const Target& target) {
    return choose_lanes(kernel, target).cycles;
}

}  // namespace

void write_out_cases(Kernel& kernel, const Target& target) {
    if (kernel.body || kernel.has_meeting_writes() || !kernel.conditions.is_empty()) return;
    Kernel best = kernel;
    while (const std::optional<Axis> axis = find_case_axis(best)) best = written_out(best, *axis);
    if (best.writes.size() == kernel.writes.size()) return;
    if (target.forced == Forced::rewritings || cycles_of(best, target) < cycles_of(kernel, target))
        kernel = std::move(best);
}

}  // namespace ricci::codegen
