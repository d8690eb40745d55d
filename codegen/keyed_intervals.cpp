// codegen/keyed_intervals.cpp – sums over the points in whose intervals an element lies
#include "codegen/keyed_intervals.h"

#include <algorithm>

#include "codegen/data_intervals.h"
#include "codegen/keyed_values.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Fewer points are looked at by each element, and all points by the elements of shorter axes: that
/// runs in lanes.
constexpr std::int64_t least_points = 8;
constexpr std::int64_t least_elements = 256;

/// What a term has of the index, where it is a sum of the index and of terms without it: -1, 0, 1.
int coefficient(Expr e, IndexId index) {
    if (const auto* value = std::get_if<IndexValue>(&e->term)) return value->index == index ? 1 : 0;
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || (apply->op != Op::add && apply->op != Op::neg)) return 0;
    int sum = 0;
    for (Expr arg : apply->args) sum += coefficient(arg, index);
    return apply->op == Op::neg ? -sum : sum;
}

/// Whether what the term reads moves with the index.
bool moves_data(Expr e, IndexId index) {
    return std::ranges::any_of(postorder({e}), [&](Expr node) {
        return std::holds_alternative<Access>(node->term) && mentions(node, index);
    });
}

/// Whether the comparison bounds the index from below (1) or above (-1) by data of other indices.
int bound_of(Expr condition, IndexId index) {
    const auto* apply = std::get_if<Apply>(&condition->term);
    if (apply == nullptr || apply->args.size() != 2 || tensors_read(condition).empty()) return 0;
    const bool is_least = apply->op == Op::ge || apply->op == Op::gt;
    if (!is_least && apply->op != Op::le && apply->op != Op::lt) return 0;
    const int sign = coefficient(apply->args[0], index) - coefficient(apply->args[1], index);
    return moves_data(condition, index) ? 0 : is_least ? sign : -sign;
}

/// Whether rows of the points are read for elements of intervals, `W[e,i]`: lanes go along these.
bool reads_along(const BoundEquation& equation, const std::vector<IndexId>& points) {
    const std::vector<Expr> all = conjuncts(equation.reduction->condition);
    const auto is_element = [&](Expr subscript) {
        const auto* value = std::get_if<IndexValue>(&subscript->term);
        return value && has_index(equation.indices, value->index) &&
               std::ranges::any_of(all,
                                   [&](Expr each) { return bound_of(each, value->index) != 0; });
    };
    return std::ranges::any_of(postorder({equation.value}), [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (!access || access->at.empty()) return false;
        const auto* last = std::get_if<IndexValue>(&access->at.back()->term);
        return last && has_index(points, last->index) &&
               std::ranges::any_of(access->at, is_element);
    });
}

/// Where an update changes anything, as its value or its sum says; empty: everywhere.
Expr condition_of(const BoundEquation& update) {
    if (update.reduction) return update.reduction->condition;
    return is_apply(update.value, Op::select) ? std::get<Apply>(update.value->term).args[0]
                                              : Expr();
}

}  // namespace

std::vector<IndexId> moving_intervals(const BoundProgram& program,
                                      const std::vector<IndexId>& points, Expr condition,
                                      const std::vector<IndexId>& elements) {
    if (!condition) return {};
    const std::vector<Expr> all = conjuncts(condition);
    std::vector<Expr> bounds;
    std::int64_t all_elements = 1;
    for (const IndexId index : elements) {
        if (program.at(index).extent() < least_interval_extent) continue;
        const auto is_bound = [&](int sign) {
            return [&, sign](Expr each) { return bound_of(each, index) == sign; };
        };
        if (std::ranges::none_of(all, is_bound(1)) || std::ranges::none_of(all, is_bound(-1)))
            continue;
        all_elements *= program.at(index).extent();
        for (Expr each : all)
            if (bound_of(each, index) != 0) bounds.push_back(each);
    }
    if (all_elements < least_elements) return {};
    std::vector<IndexId> found;
    std::int64_t count = 1;
    for (const IndexId id : points) {
        if (std::ranges::none_of(
                bounds, [&](Expr each) { return mentions(each, id) && bound_of(each, id) == 0; }))
            continue;
        found.push_back(id);
        count *= program.at(id).extent();
    }
    return count < least_points ? std::vector<IndexId>() : found;
}

std::vector<IndexId> points_of_intervals(const BoundProgram& program,
                                         const BoundEquation& equation) {
    if (!equation.reduction || !equation.reduction->condition) return {};
    const std::vector<IndexId> points = moving_intervals(
        program, equation.reduction->indices, equation.reduction->condition, equation.indices);
    return reads_along(equation, points) ? std::vector<IndexId>() : points;
}

double updates_by(const BoundProgram& program, const BoundEquation& update) {
    const std::vector<IndexId> moving =
        moving_intervals(program, update.indices, condition_of(update), update.indices);
    double updates = 1;
    for (const IndexId id : update.indices)
        if (std::ranges::find(moving, id) == moving.end())
            updates *= double(program.at(id).extent());
    return updates;
}

bool updates_intervals(const BoundProgram& program, const BoundEquation& equation) {
    if (equation.op == Assign::define || equation.op == Assign::set) return false;
    std::vector<IndexId> elements;
    std::vector<IndexId> points = equation.indices;
    for (Expr subscript : equation.at)
        if (const auto* value = std::get_if<IndexValue>(&subscript->term)) {
            elements.push_back(value->index);
            std::erase(points, value->index);
        }
    return !moving_intervals(program, points, condition_of(equation), elements).empty();
}

}  // namespace ricci::codegen
