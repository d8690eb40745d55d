// codegen/simplify_nest.cpp – the pass `simplify`: constant bounds, single iterations, few divisors
#include <algorithm>

#include "base/integer.h"
#include "base/match.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

/// The constant terms of a bound as one; further equal terms once.
LoopBound folded(const LoopBound& bound, bool is_lower) {
    LoopBound result;
    std::optional<std::int64_t> constant;
    for (const BoundTerm& term : bound) {
        if (!term.form.is_constant()) {
            const bool is_known = std::ranges::any_of(result, [&](const BoundTerm& other) {
                return other.form == term.form && other.divisor == term.divisor;
            });
            if (!is_known) result.push_back(term);
            continue;
        }
        const std::int64_t value = is_lower ? ceil_div(term.form.constant, term.divisor)
                                            : floor_div(term.form.constant, term.divisor);
        if (!constant) constant = value;
        constant = is_lower ? std::max(*constant, value) : std::min(*constant, value);
    }
    if (constant) result.insert(result.begin(), {form(*constant), 1});
    return result;
}

std::optional<std::int64_t> constant(const LoopBound& bound) {
    if (bound.size() != 1 || !bound[0].form.is_constant()) return std::nullopt;
    return bound[0].form.constant;
}

Body simplified(Body body);

/// The rest of a body after a variable became a form.
void rename_rest(std::vector<Stmt>& rest, VarId var, AffineForm to) {
    Substitution renaming;
    renaming.replace(var, std::move(to));
    substitute(rest, renaming);
}

/// Whether the term has the variable, and is a number at each value of it.
bool depends_on_alone(const Value& term, VarId var) {
    bool is_alone = true;
    bool is_any = false;
    for_each_node({term}, [&](const Value& node) {
        if (const auto* value = std::get_if<VarValue>(&node->term)) {
            is_alone &= value->form.terms.size() == 1 && value->form.terms[0].var == var;
            is_any = true;
        }
        is_alone &= !std::holds_alternative<Load>(node->term) &&
                    !std::holds_alternative<LetValue>(node->term);
    });
    return is_alone && is_any;
}
/// Whether each point of the loop divides integers by another number: written out, by a constant,
/// which takes lanes a shift or a product. By a number known later they divide one by one.
bool chooses_divisors(const Loop& loop) {
    bool is_any = false;
    for_each_value(loop.body, [&](const Value& value) {
        for_each_node({value}, [&](const Value& node) {
            const auto* operate = std::get_if<Operate>(&node->term);
            is_any |= operate != nullptr && is_integer(node->dtype) &&
                      (operate->op == Op::floordiv || operate->op == Op::mod) &&
                      depends_on_alone(operate->args[1], loop.var);
        });
    });
    return is_any;
}

void add_loop(Body& out, Loop loop) {
    // The one constant of a vector loop's upper bound is its number of lanes.
    loop.lower = folded(loop.lower, true);
    if (loop.bind != Bind::vector) loop.upper = folded(loop.upper, false);
    const auto lower = constant(loop.lower);
    const auto upper = constant(loop.upper);
    const bool is_launch =
        loop.bind == Bind::parallel || loop.bind == Bind::block || loop.bind == Bind::thread;
    if (lower && upper && !is_launch) {
        if (*upper <= *lower) return;
        if (*lower + loop.step >= *upper && loop.bind != Bind::vector) {
            rename_rest(loop.body, loop.var, form(*lower));
            append(out, simplified(std::move(loop.body)));
            return;
        }
    }
    constexpr std::int64_t few = 4;
    if (loop.bind == Bind::serial && lower == 0 && upper && *upper <= few && loop.step == 1 &&
        chooses_divisors(loop))
        loop.bind = Bind::unroll;
    loop.body = simplified(std::move(loop.body));
    if (!loop.body.empty() || is_launch) out.push_back({std::move(loop)});
}

/// The outcome of a comparison of two integer constants.
std::optional<bool> outcome(const Value& condition) {
    const auto* operate = std::get_if<Operate>(&condition->term);
    if (operate == nullptr || operate->args.size() != 2) return std::nullopt;
    const auto* a = std::get_if<Constant>(&operate->args[0]->term);
    const auto* b = std::get_if<Constant>(&operate->args[1]->term);
    if (a == nullptr || b == nullptr || !is_integer(operate->args[0]->dtype)) return std::nullopt;
    if (operate->op == Op::eq) return a->integer == b->integer;
    if (operate->op == Op::lt) return a->integer < b->integer;
    if (operate->op == Op::ge) return a->integer >= b->integer;
    return std::nullopt;
}

void add_guard(Body& out, Guard guard) {
    if (const std::optional<bool> holds = outcome(guard.condition)) {
        if (*holds) append(out, simplified(std::move(guard.body)));
        return;
    }
    guard.body = simplified(std::move(guard.body));
    if (!guard.body.empty()) out.push_back({std::move(guard)});
}

/// What a LetVar is when it needs no division.
std::optional<AffineForm> plain_form(const LetVar& let) {
    if (let.form.is_constant()) {
        const std::int64_t quotient = floor_div(let.form.constant, let.divisor);
        return form(let.modulus == 0 ? quotient
                                     : quotient - floor_div(quotient, let.modulus) * let.modulus);
    }
    if (let.modulus == 1) return form(0);
    if (let.divisor == 1 && let.modulus == 0) return let.form;
    return std::nullopt;
}

Body simplified(Body body) {
    Body out;
    for (std::size_t i = 0; i < body.size(); ++i) {
        if (const auto* let = std::get_if<LetVar>(&body[i].node)) {
            if (auto plain = plain_form(*let)) {
                Body rest(std::make_move_iterator(body.begin() + std::ptrdiff_t(i) + 1),
                          std::make_move_iterator(body.end()));
                rename_rest(rest, let->var, std::move(*plain));
                append(out, simplified(std::move(rest)));
                return out;
            }
        }
        match(
            std::move(body[i].node), [&](Loop&& loop) { add_loop(out, std::move(loop)); },
            [&](Guard&& guard) { add_guard(out, std::move(guard)); },
            [&](auto&& other) { out.push_back({std::forward<decltype(other)>(other)}); });
    }
    return out;
}

}  // namespace

Nest simplify(Nest nest, const Target&) {
    nest.body = simplified(std::move(nest.body));
    return nest;
}

}  // namespace ricci::codegen
