// codegen/carried_factors.cpp – factors of sums up to each point that a walk carries on
#include "codegen/carried_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "codegen/reads_inside.h"
#include "dsl/affine_form.h"
#include "dsl/leave_out_index.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

bool has(Expr e, IndexId id) { return has_index(free_indices(e), id); }

/// What is rounded to f32 or f64, if anything: a walk computes with it as it was. Conversions that
/// round to integers, wrap or saturate are no such.
Expr before_rounding(Expr e) {
    while (const auto* cast = std::get_if<Cast>(&e->term)) {
        const bool is_rounding =
            (e->dtype == DType::f32 || e->dtype == DType::f64) && is_floating(cast->a->dtype);
        if (!is_rounding) break;
        e = cast->a;
    }
    return e;
}

bool is_finite_literal(Expr e) {
    const auto* literal = std::get_if<Literal>(&e->term);
    const auto* real = literal ? std::get_if<double>(&literal->value) : nullptr;
    return literal != nullptr &&
           (std::holds_alternative<std::int64_t>(literal->value) || (real && std::isfinite(*real)));
}

/// `a - b` as a and b.
std::optional<std::pair<Expr, Expr>> difference(Expr e) {
    if (!is_apply(e, Op::add)) return std::nullopt;
    const std::vector<Expr>& args = std::get<Apply>(e->term).args;
    if (args.size() != 2 || is_apply(args[0], Op::neg) == is_apply(args[1], Op::neg))
        return std::nullopt;
    const std::size_t n = is_apply(args[0], Op::neg) ? 0 : 1;
    return std::pair(args[1 - n], std::get<Apply>(args[n]->term).args[0]);
}

/// Of `isfinite(m) ? m : 0` the maximum m.
std::optional<Expr> finite_maximum(Expr e) {
    if (!is_apply(e, Op::select)) return std::nullopt;
    const std::vector<Expr>& args = std::get<Apply>(e->term).args;
    const bool tests =
        is_apply(args[0], Op::isfinite) && std::get<Apply>(args[0]->term).args[0] == args[1];
    return tests && is_literal(args[2], 0) ? std::optional(args[1]) : std::nullopt;
}

/// Where results go beyond the points that there are, nothing joins, but factors would go on.
bool goes_beyond(const BoundProgram& program, const Prefix& prefix) {
    const BoundIndex& p = program.at(prefix.reduced);
    const BoundIndex& r = program.at(prefix.result);
    return prefix.is_suffix ? r.lower + prefix.shift < p.lower
                            : r.upper - 1 + prefix.shift >= p.upper;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> taken_points(const BoundProgram& program,
                                                   const Prefix& prefix) {
    const BoundIndex& p = program.at(prefix.reduced);
    const BoundIndex& r = program.at(prefix.result);
    const std::int64_t least = r.lower + prefix.shift;
    const std::int64_t most = r.upper - 1 + prefix.shift;
    return prefix.is_suffix ? std::pair(std::max(p.lower, least), p.upper - 1)
                            : std::pair(p.lower, std::min(p.upper - 1, most));
}

void CarriedFactors::note(const BoundEquation& equation) {
    if (!equation.reduction || equation.op != Assign::define || !equation.is_injective) return;
    const Reduction& reduction = *equation.reduction;
    const bool is_known = reduction.reducer == Reducer::prod || reduction.reducer == Reducer::max;
    if (is_known && reduction.indices.size() == 1 && reduction.condition &&
        !is_complex(reduction.accumulator) &&
        reduction.accumulator == program_.at(equation.target).dtype)
        reductions_.emplace(equation.target, equation);
}

std::optional<Carry> CarriedFactors::carry_of(Expr factor, const PrefixSum& sum) {
    if (!has(factor, sum.prefix.reduced) || !has(factor, sum.prefix.result)) return std::nullopt;
    std::optional<Carry> carry;
    if (const std::optional<Running> product = running(factor, Reducer::prod))
        carry = of_product(*product, sum);
    else if (is_apply(before_rounding(factor), Op::pow))
        carry = of_power(factor, sum);
    else if (is_apply(before_rounding(factor), Op::exp))
        carry = of_exponential(factor, sum);
    return carry && is_inside(*carry, sum) ? carry : std::nullopt;
}

std::optional<CarriedFactors::Running> CarriedFactors::running(Expr e, Reducer reducer) {
    const auto* access = std::get_if<Access>(&e->term);
    const auto found = access ? reductions_.find(access->tensor) : reductions_.end();
    if (found == reductions_.end()) return std::nullopt;
    const BoundEquation& equation = found->second;
    const Reduction& reduction = *equation.reduction;
    const std::optional<EquationMaker::Numbers> at = make_.indices_at(equation, *access);
    if (reduction.reducer != reducer || reduction.accumulator != e->dtype || !at)
        return std::nullopt;
    Running result{
        .body = make_.with(equation.value, *at), .index = reduction.indices[0], .bounds = {}};
    for (const Expr each : conjuncts(make_.with(reduction.condition, *at))) {
        const std::optional<Prefix> bound = as_prefix(each, reduction.indices);
        if (!bound) return std::nullopt;
        result.bounds.push_back(*bound);
    }
    return result;
}

/// The factor u that joins along with a point p: there is one more for each r. Of `u > p && u <= r`
/// and points `p <= r` the newest point p = r has none of its own, and what carries on to p is the
/// factor u = p; of `u >= p && u <= r` it has that one, too; of `u > r && u <= p` and points
/// `p >= r`, which are met backwards, none, and what carries on to p is u = p + 1. In general these
/// are `own` and u = p + `offset`.
std::optional<Carry> CarriedFactors::of_product(const Running& product, const PrefixSum& sum) {
    const Prefix& prefix = sum.prefix;
    if (product.bounds.size() != 2 || !is_free(product.body, sum)) return std::nullopt;
    const bool is_first = product.bounds[0].result == prefix.reduced;
    const Prefix& of_point = product.bounds[is_first ? 0 : 1];
    const Prefix& of_result = product.bounds[is_first ? 1 : 0];
    if (of_point.result != prefix.reduced || of_result.result != prefix.result ||
        of_result.is_suffix != prefix.is_suffix || of_point.is_suffix == prefix.is_suffix)
        return std::nullopt;
    const BoundIndex& p = program_.at(prefix.reduced);
    const BoundIndex& u = program_.at(product.index);
    const std::int64_t own = prefix.is_suffix ? of_point.shift - of_result.shift + prefix.shift + 1
                                              : of_result.shift - prefix.shift - of_point.shift + 1;
    if (own != 0 && own != 1) return std::nullopt;
    const std::int64_t offset =
        prefix.is_suffix ? of_point.shift + 1 - own : of_point.shift - 1 + own;
    const auto [first, last] = taken_points(program_, prefix);
    const bool has_first = prefix.is_suffix || own == 1;
    const bool has_last = !prefix.is_suffix || own == 1;
    if (u.lower > first + offset + (has_first ? 0 : 1) ||
        u.upper <= last + offset - (has_last ? 0 : 1))
        return std::nullopt;
    const bool has_more =
        prefix.is_suffix ? u.lower < p.lower + offset : u.upper > p.upper + offset;
    if (has_more && goes_beyond(program_, prefix)) return std::nullopt;
    const Expr value = moved(product.body, product.index, prefix.reduced, offset);
    return Carry{.value = value, .own = own == 1 ? value : Expr(), .outer = {}, .is_rate = false};
}

std::optional<Carry> CarriedFactors::of_power(Expr factor, const PrefixSum& sum) {
    const Expr power = before_rounding(factor);
    const auto& apply = std::get<Apply>(power->term);
    const Expr base = apply.args[0];
    const std::optional<Steps> exponent = steps_of(apply.args[1], sum);
    const bool wraps =
        is_integer(factor->dtype) && factor->dtype != sum.equation.reduction->accumulator;
    if (!exponent || exponent->step != 1 || exponent->own < 0 || !is_free(base, sum) || wraps)
        return std::nullopt;
    Context& context = make_.context();
    const DType type = rate_type(factor);
    Carry carry{.value = context.cast(base, type), .own = {}, .outer = {}, .is_rate = true};
    if (exponent->own > 0) {
        const DType of_exponent = apply.args[1]->dtype;
        const Number own =
            is_integer(of_exponent) ? Number(exponent->own) : Number(double(exponent->own));
        carry.own = context.cast(
            context.apply(Op::pow, {base, context.literal(own, of_exponent)}, base->dtype), type);
    }
    return carry;
}

std::optional<Carry> CarriedFactors::of_exponential(Expr factor, const PrefixSum& sum) {
    const Expr exponent = std::get<Apply>(before_rounding(factor)->term).args[0];
    if (const auto sides = difference(exponent))
        if (auto carry = of_difference(factor, sides->first, sides->second, sum)) return carry;
    // A number for each step, times what is free of both.
    Product product = factors_.factors_of(exponent, {sum.prefix.reduced, sum.prefix.result}, {});
    std::optional<Steps> steps;
    for (auto each = product.factors.begin(); each != product.factors.end();) {
        if (is_free(*each, sum)) {
            ++each;
            continue;
        }
        const std::optional<Steps> found = steps_of(*each, sum);
        if (!found || steps) return std::nullopt;
        steps = found;
        each = product.factors.erase(each);
    }
    if (!steps) return std::nullopt;
    Context& context = make_.context();
    const DType type = rate_type(factor);
    const auto exponential = [&](std::int64_t number) {
        Product times{.is_negative = product.is_negative,
                      .factors = {context.literal(Number(double(number)), type)}};
        for (const Expr e : product.factors) times.factors.push_back(context.cast(e, type));
        for (const Expr e : product.divisors) times.divisors.push_back(context.cast(e, type));
        return context.apply(Op::exp, {factors_.term(times, type)}, type);
    };
    // Of no steps the exponential is 1, but for NaN, infinite numbers and divisors of 0.
    const bool is_one = steps->own == 0 && product.divisors.empty() &&
                        std::ranges::all_of(product.factors, is_finite_literal);
    return Carry{.value = exponential(steps->step),
                 .own = is_one ? Expr() : exponential(steps->own),
                 .outer = {},
                 .is_rate = true};
}

/// `exp(x - m)`: with m the maximum up to the newest point, it falls as points join.
std::optional<Carry> CarriedFactors::of_difference(Expr factor, Expr element, Expr greatest,
                                                   const PrefixSum& sum) {
    const Prefix& prefix = sum.prefix;
    const std::optional<Expr> maximum = finite_maximum(greatest);
    const std::optional<Running> of = maximum ? running(*maximum, Reducer::max) : std::nullopt;
    if (!of || of->bounds.size() != 1) return std::nullopt;
    const Prefix& bound = of->bounds[0];
    const bool is_of_points = bound.result == prefix.result;  // x moves with points, m with results
    const IndexId of_element = is_of_points ? prefix.reduced : prefix.result;
    const IndexId of_maximum = is_of_points ? prefix.result : prefix.reduced;
    const bool is_same = is_of_points
                             ? bound.is_suffix == prefix.is_suffix && bound.shift == prefix.shift
                             : bound.is_suffix != prefix.is_suffix && bound.shift == -prefix.shift;
    if (bound.result != of_maximum || !is_same || has(element, of_maximum) ||
        has(greatest, of_element) || moved(of->body, of->index, of_element, 0) != element ||
        goes_beyond(program_, prefix))
        return std::nullopt;
    Context& context = make_.context();
    const DType type = greatest->dtype;
    // The maximum of fewer points, and of these and one more, as a point joins.
    const std::int64_t shift = is_of_points ? -prefix.shift : 0;
    const std::int64_t before = prefix.is_suffix ? shift + 1 : shift - 1;
    const auto at = [&](Expr e, std::int64_t by) {
        return moved(e, of_maximum, prefix.reduced, by);
    };
    const std::int64_t of_fewer = is_of_points ? before : shift;
    const std::int64_t of_more = is_of_points ? shift : before;
    const Expr negative = context.apply(Op::neg, {at(greatest, of_more)}, type);
    const Expr fall = context.apply(Op::add, {at(greatest, of_fewer), negative}, type);
    // Above 0 where the one more is infinite, and where none is finite yet: then nothing that
    // counts stands before.
    const Expr most = context.literal(Number(type == DType::f64 ? 709.0 : 88.0), type);
    const Expr value = context.apply(Op::exp, {context.apply(Op::min, {fall, most}, type)}, type);
    const Expr is_finite = std::get<Apply>(greatest->term).args[0];
    Carry carry{.value = context.cast(make_.choose(at(is_finite, of_fewer), value,
                                                   context.literal(Number(1.0), type)),
                                      factor->dtype),
                .own = {},
                .outer = {},
                .is_rate = false};
    if (is_of_points)
        carry.own = moved(factor, prefix.result, prefix.reduced, -prefix.shift);
    else
        carry.outer = moved(factor, prefix.reduced, prefix.result, prefix.shift);
    return carry;
}

std::optional<CarriedFactors::Steps> CarriedFactors::steps_of(Expr e, const PrefixSum& sum) const {
    const Prefix& prefix = sum.prefix;
    Variables variables({prefix.reduced, prefix.result});
    const auto* cast = std::get_if<Cast>(&e->term);
    // Numbers of steps are exact in f32 and f64, or what follows is rounded alike.
    const bool is_counted = cast != nullptr && is_integer(cast->a->dtype) &&
                            (e->dtype == DType::f32 || e->dtype == DType::f64);
    const std::optional<affine::Form> form = affine_form(is_counted ? cast->a : e, variables);
    if (!form || variables.size() != 2 || form->at(0) != -form->at(1) || form->at(0) == 0 ||
        std::abs(form->at(0)) > 1 || std::abs(form->constant) > most_prefix_shift ||
        goes_beyond(program_, prefix))
        return std::nullopt;
    const std::int64_t of_result = form->at(1);
    return Steps{.step = prefix.is_suffix ? -of_result : of_result,
                 .own = form->constant - of_result * prefix.shift};
}

DType CarriedFactors::rate_type(Expr factor) {
    return is_floating(factor->dtype) ? DType::f64 : factor->dtype;
}

Expr CarriedFactors::moved(Expr e, IndexId index, IndexId to, std::int64_t by) {
    EquationMaker::Numbers numbers;
    const Expr place = make_.value(to);
    numbers.emplace(std::uint32_t(index), by == 0 ? place : make_.add(place, make_.integer(by)));
    return make_.with(e, numbers);
}

bool CarriedFactors::is_free(Expr e, const PrefixSum& sum) const {
    return !has(e, sum.prefix.reduced) && !has(e, sum.prefix.result);
}

bool CarriedFactors::is_inside(const Carry& carry, const PrefixSum& sum) {
    const Prefix& prefix = sum.prefix;
    const BoundIndex& p = program_.at(prefix.reduced);
    std::vector<IndexId> domain = sum.equation.indices;
    for (const IndexId id : sum.equation.reduction->indices) domain.push_back(id);
    const Expr condition = sum.condition;
    const Expr point = make_.value(prefix.reduced);
    // The first point that is met carries nothing on.
    const Expr is_carried = prefix.is_suffix
                                ? make_.compare(Op::lt, point, make_.integer(p.upper - 1))
                                : make_.compare(Op::gt, point, make_.integer(p.lower));
    if (!reads_inside(program_, domain, make_.both(condition, is_carried), carry.value) ||
        (carry.own && !reads_inside(program_, domain, condition, carry.own)))
        return false;
    if (!carry.outer) return true;
    const std::optional<Expr> exists = leave_out_index(program_, condition, prefix.reduced);
    return exists && reads_inside(program_, domain, *exists, carry.outer);
}

}  // namespace ricci::codegen
