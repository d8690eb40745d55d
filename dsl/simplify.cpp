// dsl/simplify.cpp – the simplification rules, and their application to a fixed point
#include "dsl/simplify.h"

#include <algorithm>
#include <cmath>

#include "base/match.h"
#include "dsl/extent.h"
#include "dsl/integer_facts.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// No term needs nearly as many; the bound keeps two rules that undo each other from hanging.
constexpr int max_rounds = 32;

// --- what is known of terms ----------------------------------------------------------------------

bool is_comparison(Op op) { return info(op).precedence == Precedence::comparison; }

bool compare(Op op, double x, double y) {
    if (op == Op::eq) return x == y;
    if (op == Op::ne) return x != y;
    if (op == Op::lt) return x < y;
    if (op == Op::le) return x <= y;
    return op == Op::gt ? x > y : x >= y;
}

/// The comparison that holds where the given one does not, NaN aside.
Op negated(Op op) {
    if (op == Op::eq) return Op::ne;
    if (op == Op::ne) return Op::eq;
    if (op == Op::lt) return Op::ge;
    if (op == Op::le) return Op::gt;
    return op == Op::gt ? Op::le : Op::lt;
}

std::optional<double> real_literal(Expr e) {
    if (!is_literal(e)) return std::nullopt;
    return match(
        std::get<Literal>(e->term).value, [](bool) { return std::optional<double>(); },
        [](std::int64_t v) {
            const bool exact = v > -(1LL << 53) && v < (1LL << 53);
            return exact ? std::optional(static_cast<double>(v)) : std::nullopt;
        },
        [](double v) { return std::optional(v); },
        [](const std::complex<double>&) { return std::optional<double>(); });
}

std::optional<bool> truth_literal(Expr e) {
    if (!is_literal(e)) return std::nullopt;
    const auto* value = std::get_if<bool>(&std::get<Literal>(e->term).value);
    return value ? std::optional(*value) : std::nullopt;
}

// --- rules ---------------------------------------------------------------------------------------

/// What a rule sees: the node and its operation. A rule returns the empty term when it does not
/// fit.
struct Site {
    const Program& program;
    Context& context;
    const SimplifyOptions& options;
    IntegerTerms& integers;
    Expr whole;
    const Apply& apply;

    [[nodiscard]] Expr arg(std::size_t n) const { return apply.args[n]; }
    [[nodiscard]] DType dtype() const { return whole->dtype; }
    /// Whether an operand may vanish although the others may then have another type: bound terms
    /// have one type, derivatives get theirs from the cotangent.
    [[nodiscard]] bool may_drop_operands() const {
        return options.is_derivative || dtype() != DType::none;
    }
    [[nodiscard]] Expr zero() const {
        return is_floating(dtype()) ? context.literal(0.0, dtype())
                                    : context.literal(std::int64_t{0}, dtype());
    }
    [[nodiscard]] Expr one() const {
        return is_floating(dtype()) ? context.literal(1.0, dtype())
                                    : context.literal(std::int64_t{1}, dtype());
    }
    [[nodiscard]] Expr truth(bool value) const { return context.literal(value, dtype()); }
    [[nodiscard]] Expr make(Op op, std::vector<Expr> args) const {
        return context.apply(op, std::move(args), dtype());
    }
};

Expr inside(Expr e) { return std::get<Apply>(e->term).args.front(); }

/// `i + 1 - 1 + k`: integer terms in affine order.
Expr collect_integers(const Site& site) {
    if (!site.integers.contains(site.whole)) return {};
    const auto form = linear_form(site.whole);
    if (!form) return {};
    const Expr collected = to_expr(site.context, *form);
    return collected->dtype == site.dtype() ? collected : Expr();
}

/// x + x = 2*x, which is exact.
Expr double_pairs(const Site& site) {
    std::vector<Expr> args = site.apply.args;
    for (auto a = args.begin(); a != args.end(); ++a) {
        if (is_literal(*a) || std::ranges::count(args, *a) != 2) continue;
        const auto b = std::find(a + 1, args.end(), *a);
        const Expr two = is_floating(site.dtype())
                             ? site.context.literal(2.0, site.dtype())
                             : site.context.literal(std::int64_t{2}, site.dtype());
        *a = site.make(Op::mul, {two, *a});
        args.erase(b);
        return args.size() == 1 ? args.front() : site.make(Op::add, args);
    }
    return {};
}

/// c ? a : 0 and c ? b : 0 are added where c holds.
Expr merge_choices(const Site& site) {
    const std::vector<Expr>* first = nullptr;
    std::vector<Expr> terms;
    for (const Expr e : site.apply.args) {
        if (!is_apply(e, Op::select)) return {};
        const auto& args = std::get<Apply>(e->term).args;
        if (first == nullptr) first = &args;
        if (args[0] != first->front() || args[2] != first->back()) return {};
        terms.push_back(args[1]);
    }
    if (!is_literal(first->back(), 0)) return {};
    return site.make(Op::select, {first->front(), site.make(Op::add, terms), first->back()});
}

/// (-a)*b = -(a*b), and so for negative literals.
Expr pull_signs_of_product(const Site& site) {
    bool negative = false;
    bool changed = false;
    std::vector<Expr> args = site.apply.args;
    for (Expr& e : args) {
        const auto value = real_literal(e);
        const bool is_negative_literal = value && std::signbit(*value) && !std::isnan(*value);
        if (!is_apply(e, Op::neg) && !is_negative_literal) continue;
        e = is_negative_literal ? site.make(Op::neg, {e}) : inside(e);
        negative = !negative;
        changed = true;
    }
    if (!changed) return {};
    const Expr product = site.make(Op::mul, args);
    return negative ? site.make(Op::neg, {product}) : product;
}

/// 0*x = 0 in derivatives; for integers always.
Expr annihilate(const Site& site) {
    const bool has_zero =
        std::ranges::any_of(site.apply.args, [](Expr e) { return is_literal(e, 0); });
    if (!has_zero) return {};
    return site.options.is_derivative || site.integers.contains(site.whole) ? site.zero() : Expr();
}

Expr drop_zero_terms(const Site& site) {
    if (!site.options.is_derivative) return {};
    std::vector<Expr> args = site.apply.args;
    std::erase_if(args, [](Expr e) { return is_literal(e, 0); });
    if (args.size() == site.apply.args.size()) return {};
    if (args.empty()) return site.zero();
    return args.size() == 1 ? args.front() : site.make(Op::add, args);
}

Expr drop_one_factors(const Site& site) {
    if (!site.may_drop_operands()) return {};
    std::vector<Expr> args = site.apply.args;
    std::erase_if(args, [](Expr e) { return is_literal(e, 1); });
    if (args.size() == site.apply.args.size()) return {};
    if (args.empty()) return site.one();
    return args.size() == 1 ? args.front() : site.make(Op::mul, args);
}

Expr negate_zero(const Site& site) {
    return site.options.is_derivative && is_literal(site.arg(0), 0) ? site.zero() : Expr();
}

Expr pull_signs_of_quotient(const Site& site) {
    const bool above = is_apply(site.arg(0), Op::neg);
    const bool below = is_apply(site.arg(1), Op::neg);
    if (!above && !below) return {};
    const Expr quotient = site.make(Op::div, {above ? inside(site.arg(0)) : site.arg(0),
                                              below ? inside(site.arg(1)) : site.arg(1)});
    return above != below ? site.make(Op::neg, {quotient}) : quotient;
}

Expr divide_by_one(const Site& site) {
    return site.may_drop_operands() && is_literal(site.arg(1), 1) ? site.arg(0) : Expr();
}

Expr divide_zero(const Site& site) {
    return site.options.is_derivative && is_literal(site.arg(0), 0) ? site.zero() : Expr();
}

Expr divide_integers_by_one(const Site& site) {
    if (!is_literal(site.arg(1), 1) || !site.integers.contains(site.whole)) return {};
    return site.apply.op == Op::floordiv ? site.arg(0) : site.zero();
}

Expr first_power(const Site& site) {
    const bool is_one = is_literal(site.arg(1), 1);
    const bool keeps_type = site.integers.contains(site.arg(1)) || site.may_drop_operands();
    return is_one && keeps_type ? site.arg(0) : Expr();
}

Expr zeroth_power(const Site& site) {
    return site.may_drop_operands() && is_literal(site.arg(1), 0) ? site.one() : Expr();
}

Expr even_power_of_negative(const Site& site) {
    if (!is_apply(site.arg(0), Op::neg) || !is_literal(site.arg(1))) return {};
    const auto exponent = real_literal(site.arg(1));
    if (!exponent || std::fmod(*exponent, 2.0) != 0.0) return {};
    return site.make(Op::pow, {inside(site.arg(0)), site.arg(1)});
}

Expr even_function_of_negative(const Site& site) {
    return is_apply(site.arg(0), Op::neg) ? site.make(site.apply.op, {inside(site.arg(0))})
                                          : Expr();
}

Expr select_equal(const Site& site) { return site.arg(1) == site.arg(2) ? site.arg(1) : Expr(); }

Expr select_decided(const Site& site) {
    const auto decided = truth_literal(site.arg(0));
    if (!decided || !site.may_drop_operands()) return {};
    return site.arg(*decided ? 1 : 2);
}

/// c ? (c ? a : b) : d, where the inner choice is already made.
Expr select_again(const Site& site) {
    for (std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
        const Expr e = site.arg(branch);
        if (!is_apply(e, Op::select) || inside(e) != site.arg(0) || !site.may_drop_operands())
            continue;
        std::vector<Expr> args = site.apply.args;
        args[branch] = std::get<Apply>(e->term).args[branch];
        return site.make(Op::select, args);
    }
    return {};
}

Expr select_negated(const Site& site) {
    if (!is_apply(site.arg(0), Op::logical_not)) return {};
    return site.make(Op::select, {inside(site.arg(0)), site.arg(2), site.arg(1)});
}

Expr decided_comparison(const Site& site) {
    const Expr a = site.arg(0);
    const Expr b = site.arg(1);
    if (site.integers.contains(a) && site.integers.contains(b)) {
        const auto decided = decide_comparison(site.program, site.apply.op, a, b);
        return decided ? site.truth(*decided) : Expr();
    }
    const auto x = real_literal(a);
    const auto y = real_literal(b);
    if (!x || !y) return {};
    return site.truth(compare(site.apply.op, *x, *y));
}

/// Whether the term is a bool, so that it may stand where `&&` or `||` stood.
bool is_boolean(Expr e) {
    if (e->dtype != DType::none) return e->dtype == DType::boolean;
    const auto* apply = std::get_if<Apply>(&e->term);
    return truth_literal(e) || (apply && info(apply->op).type == TypeRule::boolean);
}

Expr decide_and_or(const Site& site) {
    const bool is_and = site.apply.op == Op::logical_and;
    if (site.arg(0) == site.arg(1) && is_boolean(site.arg(0))) return site.arg(0);
    for (std::size_t n : {std::size_t{0}, std::size_t{1}}) {
        const auto decided = truth_literal(site.arg(n));
        if (!decided) continue;
        if (*decided != is_and) return site.truth(*decided);
        if (is_boolean(site.arg(1 - n))) return site.arg(1 - n);
    }
    return {};
}

Expr decide_not(const Site& site) {
    const Expr a = site.arg(0);
    if (const auto decided = truth_literal(a)) return site.truth(!*decided);
    if (is_apply(a, Op::logical_not) && is_boolean(inside(a))) return inside(a);
    const auto* apply = std::get_if<Apply>(&a->term);
    if (!apply || !is_comparison(apply->op)) return {};
    if (apply->op == Op::eq) return site.make(Op::ne, apply->args);
    if (apply->op == Op::ne) return site.make(Op::eq, apply->args);
    // !(a < b) is a >= b only where neither can be NaN.
    const bool ordered =
        std::ranges::all_of(apply->args, [&](Expr e) { return site.integers.contains(e); });
    if (!ordered) return {};
    return site.make(negated(apply->op), apply->args);
}

struct Rule {
    Op op;
    Expr (*rewrite)(const Site& site);
};

// clang-format off
constexpr Rule rules[] = {
    {Op::add,         collect_integers},           // i + 1 - 1       ->  i
    {Op::add,         drop_zero_terms},            // x + 0           ->  x           (derivative)
    {Op::add,         double_pairs},               // x + x           ->  2*x
    {Op::add,         merge_choices},              // c?a:0 + c?b:0   ->  c ? a + b : 0
    {Op::neg,         collect_integers},           // -(i - 1)        ->  1 - i
    {Op::neg,         negate_zero},                // -0              ->  0           (derivative)
    {Op::mul,         collect_integers},           // 2*(i + 1)       ->  2*i + 2
    {Op::mul,         annihilate},                 // 0*x             ->  0           (derivative)
    {Op::mul,         drop_one_factors},           // 1.0*x           ->  x           (one type)
    {Op::mul,         pull_signs_of_product},      // (-a)*b          ->  -(a*b)
    {Op::div,         divide_zero},                // 0/x             ->  0           (derivative)
    {Op::div,         divide_by_one},              // x/1             ->  x           (one type)
    {Op::div,         pull_signs_of_quotient},     // (-a)/b          ->  -(a/b)
    {Op::floordiv,    divide_integers_by_one},     // i // 1          ->  i
    {Op::mod,         divide_integers_by_one},     // i % 1           ->  0
    {Op::pow,         first_power},                // x^1             ->  x
    {Op::pow,         zeroth_power},               // x^0             ->  1           (one type)
    {Op::pow,         even_power_of_negative},     // (-x)^2          ->  x^2
    {Op::abs,         even_function_of_negative},  // abs(-x)         ->  abs(x)
    {Op::abs2,        even_function_of_negative},  // abs2(-x)        ->  abs2(x)
    {Op::select,      select_equal},               // c ? a : a       ->  a
    {Op::select,      select_decided},             // true ? a : b    ->  a           (one type)
    {Op::select,      select_again},               // c ? (c?a:b) : d ->  c ? a : d   (one type)
    {Op::select,      select_negated},             // !c ? a : b      ->  c ? b : a
    {Op::eq,          decided_comparison},
    {Op::ne,          decided_comparison},
    {Op::lt,          decided_comparison},          // i < size(A, 0)  ->  true, in that range
    {Op::le,          decided_comparison},
    {Op::gt,          decided_comparison},
    {Op::ge,          decided_comparison},
    {Op::logical_and, decide_and_or},              // true && c       ->  c
    {Op::logical_or,  decide_and_or},              // true || c       ->  true
    {Op::logical_not, decide_not},                 // !(a == b)       ->  a != b
};
// clang-format on

// --- application ---------------------------------------------------------------------------------

class Simplifier {
  public:
    Simplifier(const Program& program, const SimplifyOptions& options)
        : program_(program), context_(*program.context), options_(options) {}

    Expr run(Expr root) {
        for (int round = 0; round < max_rounds; ++round) {
            const Expr next = rewrite(context_, root, [&](Expr e) { return fixed_point(e); });
            if (next == root) break;
            root = next;
        }
        return root;
    }

    /// A subscript: every part is an integer there.
    Expr subscript(Expr e) const {
        const auto form = linear_form(e);
        const Expr collected = form ? to_expr(context_, *form) : e;
        return collected->dtype == e->dtype ? collected : e;
    }

  private:
    Expr fixed_point(Expr e) {
        for (int round = 0; round < max_rounds; ++round) {
            const Expr next = step(e);
            if (next == e) break;
            e = next;
        }
        (void)integers_.contains(e);  // bottom-up: no later question goes deep
        return e;
    }

    Expr step(Expr e) {
        if (const auto* apply = std::get_if<Apply>(&e->term)) {
            const Site site{program_, context_, options_, integers_, e, *apply};
            for (const Rule& rule : rules)
                if (rule.op == apply->op)
                    if (const Expr next = rule.rewrite(site); next && next != e) return next;
        } else if (const auto* access = std::get_if<Access>(&e->term)) {
            std::vector<Expr> at;
            for (Expr s : access->at) at.push_back(subscript(s));
            return context_.access(access->tensor, std::move(at), e->dtype);
        } else if (const auto* reduce = std::get_if<Reduce>(&e->term)) {
            const bool is_zero = reduce->reducer == Reducer::sum && options_.is_derivative &&
                                 (is_literal(reduce->body, 0) ||
                                  (reduce->condition && truth_literal(reduce->condition) == false));
            if (is_zero)
                return is_floating(e->dtype) ? context_.literal(0.0, e->dtype)
                                             : context_.literal(std::int64_t{0}, e->dtype);
        }
        return e;
    }

    const Program& program_;
    Context& context_;
    SimplifyOptions options_;
    IntegerTerms integers_;
};

std::optional<bool> decide(const Program& program, Expr condition) {
    return truth_literal(simplify(program, condition));
}

}  // namespace

Expr simplify(const Program& program, Expr e, const SimplifyOptions& options) {
    return Simplifier(program, options).run(e);
}

Program simplify(Program program, const SimplifyOptions& options) {
    Simplifier simplifier(program, options);
    for (Equation& equation : program.equations) {
        for (Expr& e : equation.at) e = simplifier.subscript(e);
        equation.value = simplifier.run(equation.value);
    }
    return program;
}

bool is_always_true(const Program& program, Expr condition) {
    return decide(program, condition) == true;
}

bool is_always_false(const Program& program, Expr condition) {
    return decide(program, condition) == false;
}

}  // namespace ricci
