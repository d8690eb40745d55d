// dsl/gather_check.cpp – equations that find out whether data keeps to what a program relies on
//
// A subscript s with bounds [low, high) is inside at all points when the least of
// min(s - low, high-1 - s) over them is not negative: one pass over the data, which is compiled and
// cut into tasks like any other reduction.
//
// The points of a target are distinct when each finds its own number where it wrote it: every point
// writes its number at its target, in order, then reads it again.
#include "dsl/gather_check.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "base/text.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/leave_out_index.h"
#include "dsl/prove.h"
#include "dsl/safe_condition.h"

namespace ricci {
namespace {

/// Data beyond this is refused where the subscript could leave 64 bits.
constexpr std::int64_t greatest_limit = std::int64_t{1} << 61;

bool is_data(Expr e) {
    return std::holds_alternative<Access>(e->term) || std::holds_alternative<Cast>(e->term);
}

/// The comparison that says the same with its sides exchanged.
Op mirrored(Op op) {
    if (op == Op::lt) return Op::gt;
    if (op == Op::le) return Op::ge;
    if (op == Op::gt) return Op::lt;
    return op == Op::ge ? Op::le : op;
}

/// The data that the value of a typed subscript is made of.
std::vector<Expr> data_leaves(Expr subscript) {
    std::vector<Expr> leaves;
    std::set<const Node*> seen;
    std::vector<Expr> stack{subscript};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(&*e).second) continue;
        const auto* apply = std::get_if<Apply>(&e->term);
        if (is_data(e)) {
            leaves.push_back(e);
        } else if (apply && info(apply->op).type != TypeRule::boolean) {
            const std::size_t first = apply->op == Op::select ? 1 : 0;
            stack.insert(stack.end(), apply->args.begin() + std::ptrdiff_t(first),
                         apply->args.end());
        }
    }
    return leaves;
}

/// Whether evaluating the term reads at a place that is data itself.
bool reads_at_data(Expr e) {
    return contains(e, [](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        return access && std::ranges::any_of(access->at, [](Expr at) {
                   return contains(
                       at, [](Expr inner) { return std::holds_alternative<Access>(inner->term); });
               });
    });
}

}  // namespace

Expr GatherChecks::integer(std::int64_t value) const {
    return program_.context->literal(value, DType::i64);
}

Expr GatherChecks::operate(Op op, Expr a, Expr b) const {
    return program_.context->apply(op, {a, b}, DType::i64);
}

/// Whether one of the checks finds what is to be checked inside at every point: that needs no
/// second look.
bool GatherChecks::is_covered(const BoundCheck& check,
                              const std::vector<BoundCheck>& checks) const {
    return std::ranges::any_of(checks, [&](const BoundCheck& other) {
        return other.kind == BoundCheck::Kind::inside && check.kind == other.kind &&
               !other.condition && other.low >= check.low && other.high <= check.high &&
               has_values_of(other.at.front(), check.at.front());
    });
}

/// Whether a term has all values of the other one: it is the same, perhaps over other indices,
/// whose ranges are no smaller.
bool GatherChecks::has_values_of(Expr wide, Expr narrow) const {
    const std::vector<IndexId> from = free_indices(wide);
    const std::vector<IndexId> to = free_indices(narrow);
    if (from.size() != to.size()) return false;
    ExprMap<Expr> renamed;
    for (std::size_t n = 0; n < from.size(); ++n) {
        const BoundIndex& all = bound_.at(from[n]);
        const BoundIndex& some = bound_.at(to[n]);
        if (all.lower > some.lower || all.upper < some.upper) return false;
        const auto value = [&](IndexId id) {
            return program_.context->intern(IndexValue{id}, DType::i64);
        };
        renamed.emplace(value(from[n]), value(to[n]));
    }
    return substitute(*program_.context, wide, renamed) == narrow;
}

/// Whether the guard compares the subscript itself, but for a constant, with two numbers that keep
/// it inside: `t-J[n] >= 0 && t-J[n] < 16`. Where the difference leaves 64 bits, too, it is the
/// same one: both conjuncts must compare the same term.
bool GatherChecks::is_kept_inside(Expr guard, Expr subscript, const GatherSite& site) const {
    constexpr std::int64_t far = std::int64_t{1} << 40;
    struct Ends {
        bool has_low = false;
        bool has_high = false;
    };
    std::map<std::int64_t, Ends> by_distance;  // from what is compared to the subscript
    const auto note = [&](Op op, Expr compared, Expr with) {
        const auto number = linear_form(with);
        const auto apart = linear_form(integer_difference(*program_.context, subscript, compared));
        if (!number || !number->parts.empty() || !apart || !apart->parts.empty() ||
            std::max(std::abs(number->constant), std::abs(apart->constant)) > far)
            return;
        const std::int64_t at = number->constant + apart->constant;
        Ends& ends = by_distance[apart->constant];
        ends.has_low |= (op == Op::ge && at >= site.low) || (op == Op::gt && at + 1 >= site.low) ||
                        (op == Op::eq && at >= site.low);
        ends.has_high |= (op == Op::lt && at <= site.high) || (op == Op::le && at < site.high) ||
                         (op == Op::eq && at < site.high);
    };
    for (const Expr conjunct : conjuncts(guard))
        for (const Comparison& each : comparisons(conjunct)) {
            if (each.left->dtype != DType::i64 || each.right->dtype != DType::i64) continue;
            note(each.op, each.left, each.right);
            note(mirrored(each.op), each.right, each.left);
        }
    return std::ranges::any_of(
        by_distance, [](const auto& each) { return each.second.has_low && each.second.has_high; });
}

void GatherChecks::add_inside(const GatherSite& site, const std::vector<IndexId>& domain,
                              Span statement) {
    Context& context = *program_.context;
    const Expr subscript =
        typing_.convert(typing_.type(site.subscript, Integers::subscripts).term, DType::i64);
    const bool is_empty =
        std::ranges::any_of(domain, [&](IndexId id) { return bound_.at(id).extent() == 0; });
    if (is_empty) return;
    const auto range = integer_range(bound_.indices, subscript);
    if (range && range->low >= site.low && range->high < site.high) return;
    const Expr guard =
        site.guard ? typing_.truth(typing_.type(site.guard, Integers::subscripts).term) : Expr();
    if (is_kept_inside(guard, subscript, site)) return;
    BoundCheck check{.kind = BoundCheck::Kind::inside,
                     .verdict = {},
                     .tensor = site.tensor,
                     .dimension = site.dimension,
                     .is_write = site.is_write,
                     .at = {subscript},
                     .indices = {},
                     .condition = guard ? safe_condition(bound_, domain, guard) : Expr(),
                     .low = site.low,
                     .high = site.high,
                     .otherwise = diagnosis(site.written, statement)};
    if (is_covered(check, bound_.checks)) return;
    // Other indices matter only as far as the condition leaves some value of them. It is safe to
    // evaluate already: what is left of comparisons may stand behind parts that read data.
    const std::vector<IndexId> named = free_indices(subscript);
    for (const IndexId id : domain)
        if (check.condition && !has_index(named, id) &&
            has_index(free_indices(check.condition), id))
            check.condition =
                leave_out_index(bound_, check.condition, id).value_or(check.condition);
    std::vector<Expr> roots{subscript};
    if (check.condition) roots.push_back(check.condition);
    std::set<IndexId> used;
    for (Expr root : roots)
        for (IndexId id : free_indices(root)) used.insert(id);
    for (IndexId id : domain)
        if (used.contains(id)) check.indices.push_back(id);
    if (const Expr verdict = narrow_verdict(subscript, site)) {
        add(std::move(check), verdict);
        return;
    }
    const auto minus = [&](Expr a, Expr b) {
        return operate(Op::add, a, context.apply(Op::neg, {b}, DType::i64));
    };
    Expr verdict = minus(integer(site.high - 1), subscript);
    verdict =
        operate(Op::min, site.low == 0 ? subscript : minus(subscript, integer(site.low)), verdict);
    if (!range)
        for (Expr part : huge_values(subscript)) verdict = operate(Op::min, verdict, part);
    add(std::move(check), verdict);
}

/// The same in the type of the data, which has twice the lanes: of a plain element s of i32,
/// min(s, high-1 - s) is negative where s is outside of [0, high), whether or not it wraps. Nothing
/// for other subscripts.
Expr GatherChecks::narrow_verdict(Expr subscript, const GatherSite& site) const {
    Context& context = *program_.context;
    const auto* cast = std::get_if<Cast>(&subscript->term);
    if (cast == nullptr || cast->a->dtype != DType::i32 ||
        !std::holds_alternative<Access>(cast->a->term) || site.low != 0 ||
        site.high - 1 > std::numeric_limits<std::int32_t>::max())
        return {};
    const auto apply = [&](Op op, std::vector<Expr> args) {
        return context.apply(op, std::move(args), DType::i32);
    };
    const Expr last = context.literal(site.high - 1, DType::i32);
    return apply(Op::min, {cast->a, apply(Op::add, {last, apply(Op::neg, {cast->a})})});
}

/// Terms that are negative where data is so large that the subscript could leave 64 bits.
std::vector<Expr> GatherChecks::huge_values(Expr subscript) const {
    std::int64_t limit = greatest_limit;
    while (limit > 1 && !integer_range(bound_.indices, subscript, limit)) limit /= 2;
    std::vector<Expr> terms;
    for (Expr leaf : data_leaves(subscript)) {
        if (leaf->dtype != DType::i64) leaf = typing_.convert(leaf, DType::i64);
        terms.push_back(operate(Op::add, integer(limit), leaf));
        terms.push_back(
            operate(Op::add, integer(limit), program_.context->apply(Op::neg, {leaf}, DType::i64)));
    }
    return terms;
}

void GatherChecks::add_distinct(const BoundEquation& equation, Span statement) {
    Context& context = *program_.context;
    // A subscript that is an index of its own tells the points along it apart.
    std::vector<IndexId> indices = equation.indices;
    std::vector<Expr> at;
    Shape shape;
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const auto* value = std::get_if<IndexValue>(&equation.at[d]->term);
        const auto is_elsewhere = [&](IndexId id) {
            for (std::size_t other = 0; other < equation.at.size(); ++other) {
                const std::vector<IndexId> found = free_indices(equation.at[other]);
                if (other != d && std::ranges::find(found, id) != found.end()) return true;
            }
            return false;
        };
        if (value && !is_elsewhere(value->index)) {
            std::erase(indices, value->index);
        } else {
            at.push_back(equation.at[d]);
            shape.push_back(bound_.at(equation.target).shape[d]);
        }
    }
    const TensorId numbers = add_tensor("numbers", std::move(shape));
    bound_.tensors[position(numbers)].is_partial = true;
    BoundEquation write;
    write.target = numbers;
    write.at = at;
    write.indices = indices;
    write.value = point_number(indices);
    write.is_injective = false;
    bound_.equations.push_back(std::move(write));
    const Expr found = context.access(numbers, at, DType::i64);
    const Expr is_own = context.apply(Op::eq, {found, point_number(indices)}, DType::boolean);
    BoundCheck check{.kind = BoundCheck::Kind::distinct,
                     .verdict = {},
                     .tensor = equation.target,
                     .dimension = 0,
                     .is_write = true,
                     .at = at,
                     .indices = indices,
                     .condition = Expr(),
                     .low = 0,
                     .high = 0,
                     .otherwise = diagnosis(Expr(), statement)};
    add(std::move(check), context.apply(Op::select, {is_own, integer(0), integer(-1)}, DType::i64));
}

void GatherChecks::add_has_points(BoundEquation verdict, const Diagnosis& otherwise) {
    BoundCheck check{.kind = BoundCheck::Kind::has_points,
                     .verdict = verdict.target,
                     .tensor = verdict.target,
                     .dimension = 0,
                     .is_write = false,
                     .at = {verdict.value},
                     .indices = {},
                     .condition = Expr(),
                     .low = 0,
                     .high = 0,
                     .otherwise = otherwise};
    const auto range = integer_range(bound_.indices, verdict.value);
    bool is_sure = range && range->low >= 0;
    if (verdict.reduction) {
        check.indices = verdict.reduction->indices;
        check.condition = verdict.reduction->condition;
        for (IndexId id : check.indices) is_sure |= bound_.at(id).extent() == 0;
    }
    if (is_sure) return;
    bound_.equations.push_back(std::move(verdict));
    bound_.checks.push_back(std::move(check));
}

/// The row-major number of a point of the indices.
Expr GatherChecks::point_number(const std::vector<IndexId>& indices) const {
    Context& context = *program_.context;
    Expr number = integer(0);
    for (IndexId id : indices) {
        const BoundIndex& range = bound_.at(id);
        const Expr value = context.intern(IndexValue{id}, DType::i64);
        number = operate(Op::mul, number, integer(range.extent()));
        number = context.apply(Op::add, {number, value, integer(-range.lower)}, DType::i64);
    }
    return number;
}

TensorId GatherChecks::add_tensor(std::string name, Shape shape) {
    BoundTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = DType::i64;
    tensor.strides = row_major_strides(shape);
    tensor.shape = std::move(shape);
    tensor.role = Role::temporary;
    bound_.tensors.push_back(std::move(tensor));
    return TensorId{static_cast<std::uint32_t>(bound_.tensors.size() - 1)};
}

/// Adds the check and the equation of its verdict, which is negative where it fails at a point.
void GatherChecks::add(BoundCheck check, Expr verdict) {
    check.verdict = add_tensor("verdict", {});
    BoundEquation equation;
    equation.target = check.verdict;
    equation.value = verdict;
    if (!check.indices.empty()) {
        equation.reduction = Reduction{.reducer = Reducer::min,
                                       .indices = check.indices,
                                       .condition = check.condition,
                                       .accumulator = verdict->dtype};
    } else {
        verdict = typing_.convert(verdict, DType::i64);
        equation.value = check.condition
                             ? program_.context->apply(
                                   Op::select, {check.condition, verdict, integer(0)}, DType::i64)
                             : verdict;
    }
    bound_.equations.push_back(std::move(equation));
    bound_.checks.push_back(std::move(check));
}

Diagnosis GatherChecks::diagnosis(Expr written, Span statement) const {
    if (written) {
        const auto found = labels_.find(written);
        if (found != labels_.end()) return found->second;
    }
    Diagnosis result{.kind = ErrorKind::range, .message = {}, .source = program_.source};
    if (!statement.is_empty()) result.labels.push_back({statement, ""});
    return result;
}

void GatherChecks::hoist() {
    std::set<TensorId> own;  // verdicts, and what leads to them
    for (const BoundCheck& check : bound_.checks) own.insert(check.verdict);
    std::vector<BoundEquation>& list = bound_.equations;
    for (std::size_t n = 0; n < list.size(); ++n) {
        const bool writes_numbers = bound_.at(list[n].target).is_partial;
        if (!own.contains(list[n].target) && !writes_numbers) continue;
        std::vector<Expr> roots{list[n].value};
        if (list[n].reduction && list[n].reduction->condition)
            roots.push_back(list[n].reduction->condition);
        roots.insert(roots.end(), list[n].at.begin(), list[n].at.end());
        std::set<TensorId> read;
        bool is_guarded_by_checks = writes_numbers;
        for (Expr root : roots) {
            is_guarded_by_checks |= reads_at_data(root);
            for (TensorId id : tensors_read(root)) read.insert(id);
        }
        std::size_t to = n;
        while (to > 0 && !read.contains(list[to - 1].target) &&
               !(is_guarded_by_checks && own.contains(list[to - 1].target)))
            --to;
        std::rotate(list.begin() + std::ptrdiff_t(to), list.begin() + std::ptrdiff_t(n),
                    list.begin() + std::ptrdiff_t(n) + 1);
    }
    // Checks are told of in the order in which they fail.
    std::vector<BoundCheck> ordered;
    std::set<TensorId> covered;
    for (const BoundEquation& equation : list)
        for (BoundCheck& check : bound_.checks) {
            if (check.verdict != equation.target) continue;
            if (is_covered(check, ordered))
                covered.insert(check.verdict);
            else
                ordered.push_back(std::move(check));
        }
    std::erase_if(list, [&](const BoundEquation& each) { return covered.contains(each.target); });
    bound_.checks = std::move(ordered);
}

}  // namespace ricci
