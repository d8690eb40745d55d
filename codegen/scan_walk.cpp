// codegen/scan_walk.cpp – reductions up to each point, as a walk over the points
#include "codegen/scan_walk.h"

#include <cstdlib>

#include "codegen/fold_indices.h"
#include "codegen/kernel_work.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Sums of larger constants and of extents may leave 64 bits.
constexpr std::int64_t most_constant = std::int64_t{1} << 62;

bool moves(const AffineForm& form, const Axis& axis) { return form.coefficient(axis.var) != 0; }

/// Every other condition than the one that relates the two axes.
Value other_conditions(const Conditions& conditions, const AffineForm& prefix) {
    Value all;
    const auto add = [&](const Value& test) {
        all = all ? make_operation(Op::logical_and, {all, test}, DType::boolean) : test;
    };
    const auto compare = [](Op op, const AffineForm& form) {
        return make_operation(op, {make_index(form), make_integer(0)}, DType::boolean);
    };
    for (const AffineForm& form : conditions.at_least_zero)
        if (form != prefix) add(compare(Op::ge, form));
    for (const AffineForm& form : conditions.equal_zero) add(compare(Op::eq, form));
    if (conditions.rest) add(conditions.rest);
    return all;
}

/// The value where the condition holds.
Value where_holds(const Value& value, const AffineForm& prefix) {
    if (!value) return nullptr;
    Substitution taken;
    for_each_node({value}, [&](const Value& node) {
        if (affine_test(node) == AffineTest{prefix})
            taken.replace(node, make_number(DType::boolean, 1));
    });
    return taken(value);
}

}  // namespace

std::optional<ScanWalk> find_walk(const Kernel& kernel, std::int64_t least) {
    if (!kernel.body || kernel.reduced.size() != 1 || kernel.arg_place || kernel.value_let ||
        kernel.has_meeting_writes())
        return std::nullopt;
    const Axis& points = kernel.reduced[0];
    for (const AffineForm& prefix : kernel.conditions.at_least_zero) {
        const std::int64_t of_point = prefix.coefficient(points.var);
        if (prefix.terms.size() != 2 || std::abs(of_point) != 1 ||
            prefix.constant > most_constant || prefix.constant < -most_constant)
            continue;
        const AffineForm::Term& other = prefix.terms[prefix.terms[0].var == points.var ? 1 : 0];
        const auto results = std::ranges::find(kernel.free, other.var, &Axis::var);
        if (results == kernel.free.end() || std::abs(other.coefficient) != 1) continue;
        ScanWalk walk{.results = *results,
                      .points = points,
                      .has_results_backwards = other.coefficient < 0,
                      .has_points_backwards = of_point > 0,
                      .value = where_holds(kernel.body, prefix),
                      .test = where_holds(other_conditions(kernel.conditions, prefix), prefix)};
        // In places of the walk the condition is p + shift - q >= 0.
        walk.shift = prefix.constant +
                     (walk.has_results_backwards ? -(walk.results.extent - 1) : 0) +
                     (walk.has_points_backwards ? walk.points.extent - 1 : 0);
        walk.shift = std::clamp(walk.shift, -walk.results.extent, points.extent);
        if (walk.results.extent < least || walk.taken() < least) continue;
        const auto is_of_results = [&](const Value& value) {
            return value && depends_on(value, walk.results.var);
        };
        if (is_of_results(walk.value) || is_of_results(walk.test) ||
            moves(kernel.arg_index, walk.results))
            continue;
        return walk;
    }
    return std::nullopt;
}

Work work_of(const Kernel& kernel, const ScanWalk& walk) {
    Kernel met = kernel;
    met.conditions = {};
    Kernel results = met;
    std::erase(met.free, walk.results);
    met.reduced[0].extent = walk.taken();
    met.writes.clear();
    results.body = nullptr;
    results.reduced.clear();
    Work work = codegen::work_of(kernel);
    work.operations = codegen::work_of(met).operations + codegen::work_of(results).operations;
    return work;
}

}  // namespace ricci::codegen
