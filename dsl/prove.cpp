// dsl/prove.cpp – proofs over the domain of a bound equation: accesses in bounds, targets injective
#include "dsl/prove.h"

#include <algorithm>

#include "affine/system.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

using affine::Form;
using affine::System;

__extension__ using Wide = __int128;  // holds any sum of products that a form can have

/// What an integer term can be, inclusive.
struct Interval {
    Wide low, high;

    [[nodiscard]] bool fits() const { return low >= INT64_MIN && high <= INT64_MAX; }
};

Wide floor_divide(Wide a, Wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

Interval sum(const std::vector<Interval>& parts) {
    Interval total{0, 0};
    for (const Interval& part : parts) total = {total.low + part.low, total.high + part.high};
    return total;
}

Interval product(const Interval& a, const Interval& b) {
    const auto [low, high] =
        std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return {low, high};
}

/// `e // c` and `e % c` by a positive number; nothing for any other divisor.
std::optional<Interval> quotient(Op op, const Interval& e, const Interval& divisor) {
    if (divisor.low != divisor.high || divisor.low <= 0) return std::nullopt;
    const Wide c = divisor.low;
    const Interval q{floor_divide(e.low, c), floor_divide(e.high, c)};
    if (op == Op::floordiv) return q;
    if (q.low != q.high) return Interval{0, c - 1};
    return Interval{e.low - c * q.low, e.high - c * q.high};
}

/// What an integer or a bool of that type can be.
std::optional<Interval> all_values(DType dtype) {
    if (dtype == DType::boolean) return Interval{0, 1};
    if (!is_integer(dtype)) return std::nullopt;
    const Wide values = Wide{1} << (8 * size_bytes(dtype));
    return is_signed(dtype) ? Interval{-values / 2, values / 2 - 1} : Interval{0, values - 1};
}

Interval overlap(const Interval& a, const Interval& b) {
    return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Interval absolute(const Interval& a) {
    const bool has_zero = a.low <= 0 && a.high >= 0;
    return {has_zero ? 0 : std::max(a.low, -a.high), std::max(-a.low, a.high)};
}

std::optional<Interval> operation(Op op, const std::vector<Interval>& args) {
    // Of functions that grow with each operand.
    const auto of_ends = [&](auto function) {
        std::vector<Wide> low;
        std::vector<Wide> high;
        for (const Interval& arg : args) {
            low.push_back(arg.low);
            high.push_back(arg.high);
        }
        return Interval{function(low), function(high)};
    };
    if (op == Op::add) return sum(args);
    if (op == Op::neg) return Interval{-args[0].high, -args[0].low};
    if (op == Op::mul) {
        Interval total = args[0];
        for (std::size_t n = 1; n < args.size() && total.fits(); ++n)
            total = product(total, args[n]);
        return total;
    }
    if (op == Op::floordiv || op == Op::mod) return quotient(op, args[0], args[1]);
    if (op == Op::min) return of_ends([](const auto& v) { return std::min(v[0], v[1]); });
    if (op == Op::max) return of_ends([](const auto& v) { return std::max(v[0], v[1]); });
    if (op == Op::clamp)
        return of_ends([](const auto& v) { return std::min(std::max(v[0], v[1]), v[2]); });
    if (op == Op::abs) return absolute(args[0]);
    if (op == Op::select)
        return Interval{std::min(args[1].low, args[2].low), std::max(args[1].high, args[2].high)};
    return std::nullopt;
}

/// The values of one node from those of its operands.
std::optional<Interval> node_interval(Expr e, const std::vector<BoundIndex>& indices,
                                      const ExprMap<std::optional<Interval>>& known,
                                      std::int64_t data_limit) {
    if (const auto* literal = std::get_if<Literal>(&e->term)) {
        const auto* number = std::get_if<std::int64_t>(&literal->value);
        return number ? std::optional(Interval{*number, *number}) : all_values(e->dtype);
    }
    if (const auto* index = std::get_if<IndexValue>(&e->term)) {
        const BoundIndex& range = indices.at(position(index->index));
        return Interval{range.lower, range.upper - 1};
    }
    if (std::holds_alternative<Access>(e->term)) {
        const auto all = all_values(e->dtype);
        return all ? std::optional(overlap(*all, {-Wide{data_limit} - 1, Wide{data_limit}}))
                   : std::nullopt;
    }
    if (const auto* cast = std::get_if<Cast>(&e->term)) {
        const auto all = all_values(e->dtype);
        const auto& inner = known.at(cast->a);
        if (!all || !inner) return all;
        // What does not fit is brought to the ends, or anywhere.
        const bool fits = inner->low >= all->low && inner->high <= all->high;
        return fits ? inner : all;
    }
    const auto* apply = std::get_if<Apply>(&e->term);
    if (!apply) return std::nullopt;
    if (info(apply->op).type == TypeRule::boolean) return Interval{0, 1};
    std::vector<Interval> args;
    for (std::size_t n = 0; n < apply->args.size(); ++n) {
        const auto& arg = known.at(apply->args[n]);
        if (!arg && (apply->op != Op::select || n != 0)) return std::nullopt;
        args.push_back(arg.value_or(Interval{0, 1}));
    }
    return operation(apply->op, args);
}

/// The values of an integer term over the box of its indices, elements of arrays being of at most
/// `data_limit` in magnitude. Nothing when that is not known, or when some part of it leaves 64
/// bits: kernels compute in wrapping i64, proofs in exact integers.
std::optional<Interval> interval(Expr root, const std::vector<BoundIndex>& indices,
                                 std::int64_t data_limit = INT64_MAX) {
    ExprMap<std::optional<Interval>> known;
    for (Expr e : postorder({root})) {
        auto value = node_interval(e, indices, known, data_limit);
        if (value && !value->fits()) value.reset();
        known.emplace(e, value);
    }
    return known.at(root);
}

/// Whether a comparison means the same in 64 bits as in exact integers.
bool is_exact(const Comparison& comparison, const std::vector<BoundIndex>& indices) {
    return interval(comparison.left, indices) && interval(comparison.right, indices);
}

bool is_empty_domain(const std::vector<BoundIndex>& indices, const std::vector<IndexId>& domain) {
    return std::ranges::any_of(domain,
                               [&](IndexId id) { return indices.at(position(id)).extent() == 0; });
}

void add_ranges(System& system, const Variables& variables,
                const std::vector<BoundIndex>& indices) {
    for (std::size_t v = 0; v < variables.size(); ++v)
        if (const auto index = variables.index(v)) {
            const BoundIndex& range = indices.at(position(*index));
            system.in_range(v, range.lower, range.upper);
        }
}

}  // namespace

SubscriptBounds prove_in_bounds(const std::vector<BoundIndex>& indices,
                                const std::vector<IndexId>& domain, Expr condition, Expr subscript,
                                std::int64_t extent) {
    SubscriptBounds result;
    if (is_empty_domain(indices, domain)) {
        result.in_bounds = true;
        return result;
    }
    Variables variables(Variables::Atoms::quotients);
    const auto form = affine_form(subscript, variables);
    const auto box = interval(subscript, indices);
    result.is_affine = form && box;
    if (!box) return result;
    result.low = static_cast<std::int64_t>(box->low);
    result.high = static_cast<std::int64_t>(box->high);
    result.in_bounds = result.low >= 0 && result.high < extent;
    if (result.in_bounds || !result.is_affine) return result;

    // The box does not tell: use what relates the variables.
    System system;
    for (Expr conjunct : conjuncts(condition))
        for (const Comparison& comparison : comparisons(conjunct))
            if (is_exact(comparison, indices)) (void)add_comparison(system, comparison, variables);
    variables.define(system);
    add_ranges(system, variables, indices);
    Form below;  // extent - 1 - form
    if (__builtin_sub_overflow(extent - 1, form->constant, &below.constant)) return result;
    for (std::int64_t coefficient : form->coefficients) {
        if (coefficient == INT64_MIN) return result;
        below.coefficients.push_back(-coefficient);
    }
    result.in_bounds = affine::implies(system, *form) && affine::implies(system, below);
    return result;
}

std::optional<IntegerRange> integer_range(const std::vector<BoundIndex>& indices, Expr e,
                                          std::int64_t data_limit) {
    const auto box = interval(e, indices, data_limit);
    if (!box) return std::nullopt;
    return IntegerRange{static_cast<std::int64_t>(box->low), static_cast<std::int64_t>(box->high)};
}

bool prove_injective(const std::vector<BoundIndex>& indices, const std::vector<IndexId>& domain,
                     const std::vector<Expr>& at) {
    std::vector<IndexId> open;  // indices with more than one value
    for (IndexId id : domain) {
        const std::int64_t extent = indices.at(position(id)).extent();
        if (extent == 0) return true;
        if (extent > 1) open.push_back(id);
    }
    // Plain subscripts settle their index at once.
    std::erase_if(open, [&](IndexId id) {
        return std::ranges::any_of(at, [&](Expr e) {
            const auto* value = std::get_if<IndexValue>(&e->term);
            return value && value->index == id;
        });
    });
    if (open.empty()) return true;
    // Two points x, y with equal subscripts and x_j > y_j for one j: none may exist.
    Variables variables(domain);
    const std::size_t count = domain.size();
    System system;
    system.variables = 2 * count;
    for (std::size_t v = 0; v < count; ++v) {
        const BoundIndex& range = indices.at(position(domain[v]));
        system.in_range(v, range.lower, range.upper);
        system.in_range(count + v, range.lower, range.upper);
    }
    for (Expr e : at) {
        const auto form = affine_form(e, variables);
        if (!form || variables.size() != count) return false;
        Form difference;
        difference.coefficients.resize(2 * count);
        for (std::size_t v = 0; v < count; ++v) {
            difference.coefficients[v] = form->at(v);
            difference.coefficients[count + v] = -form->at(v);
        }
        system.equal_zero(difference);
    }
    for (std::size_t v = 0; v < count; ++v) {
        System apart = system;
        Form more{-1, std::vector<std::int64_t>(2 * count)};
        more.coefficients[v] = 1;
        more.coefficients[count + v] = -1;
        apart.at_least_zero(more);
        if (!affine::is_empty(apart)) return false;
    }
    return true;
}

}  // namespace ricci
