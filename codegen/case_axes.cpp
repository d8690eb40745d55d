// codegen/case_axes.cpp – short axes of which written terms tell the places apart
#include "codegen/case_axes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/fold_indices.h"
#include "codegen/kernel_places.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Whether arithmetic on the axis alone decides something: `t == 3`, or `t >= 1` and `t % 3` of few
/// places.
bool tells_places(const Value& value, const Axis& axis) {
    constexpr std::int64_t few_places = 4;
    const auto* operate = std::get_if<Operate>(&value->term);
    if (operate == nullptr) return false;
    const bool is_of_few = operate->op == Op::mod || operate->op == Op::floordiv ||
                           info(operate->op).precedence == Precedence::comparison;
    if (operate->op != Op::eq && !(is_of_few && axis.extent <= few_places)) return false;
    const std::optional<AffineForm> left = affine(operate->args[0]);
    const std::optional<AffineForm> right = affine(operate->args[1]);
    if (!left || !right) return false;
    const AffineForm difference = *left + -1 * *right;
    return difference.terms.size() == 1 && difference.coefficient(axis.var) != 0;
}

/// Whether conditions choose points along the axis.
bool is_chosen_by(const Axis& axis, const Conditions& conditions) {
    const auto moves = [&](const AffineForm& form) { return form.coefficient(axis.var) != 0; };
    return std::ranges::any_of(conditions.at_least_zero, moves) ||
           std::ranges::any_of(conditions.equal_zero, moves) ||
           (conditions.rest && depends_on(conditions.rest, axis.var));
}

/// What joins the points of a reduction in any order; nothing of others.
std::optional<Op> joining(const Kernel& kernel) {
    if (kernel.reducer == Reducer::sum) return Op::add;
    if (kernel.reducer == Reducer::prod) return Op::mul;
    if (kernel.reducer == Reducer::max) return Op::max;
    if (kernel.reducer == Reducer::min) return Op::min;
    return std::nullopt;
}

/// An axis of few places that terms tell apart, if there is one: reduced, or free where nothing is.
std::optional<Axis> find_case_axis(const Kernel& kernel) {
    std::optional<Axis> found;
    const std::int64_t most =
        most_case_places / std::max<std::int64_t>(1, std::ssize(kernel.writes));
    for_each_node(kernel.body ? std::vector{kernel.body} : written_values(kernel),
                  [&](const Value& value) {
                      for (const Axis& axis : kernel.body ? kernel.reduced : kernel.free)
                          if (axis.extent > 1 && axis.extent <= most && tells_places(value, axis) &&
                              !is_chosen_by(axis, kernel.conditions))
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

/// The term of each place, joined.
Kernel joined_terms(const Kernel& kernel, const Axis& axis) {
    Kernel result = kernel;
    std::erase(result.reduced, axis);
    result.body = nullptr;
    for (std::int64_t place = 0; place < axis.extent; ++place) {
        Substitution here;
        here.replace(axis.var, form(place));
        const Value term = here(kernel.body);
        result.body =
            result.body ? make_operation(*joining(kernel), {result.body, term}, term->dtype) : term;
    }
    (void)fold_indices(result);
    return result;
}

/// A write for each place.
Kernel written_out(const Kernel& kernel, const Axis& axis) {
    if (kernel.body) return joined_terms(kernel, axis);
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
    if (kernel.body) {
        // Products have panels, in which terms are computed once.
        if (!joining(kernel) || kernel.carry || is_rows_against_columns(kernel)) return;
    } else if (kernel.has_meeting_writes() || !kernel.conditions.is_empty()) {
        return;
    }
    Kernel best = kernel;
    while (const std::optional<Axis> axis = find_case_axis(best)) best = written_out(best, *axis);
    if (best.writes.size() == kernel.writes.size() && best.body == kernel.body) return;
    if (target.forced == Forced::rewritings || cycles_of(best, target) < cycles_of(kernel, target))
        kernel = std::move(best);
}

}  // namespace ricci::codegen
