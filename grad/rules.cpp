// grad/rules.cpp – derivatives of the operations, one row each
//
// Conventions where a function has no derivative (docs/language.md, gradients): relu'(0) = 0,
// abs'(0) = 0, norm'(0) = 0, clamp' = 1 on the closed interval, half each where the operands of a
// binary max or min are equal, d(x^y)/dy = 0 at x = 0.
#include "grad/rules.h"

#include <algorithm>
#include <complex>
#include <numbers>
#include <span>

#include "base/error.h"
#include "dsl/scalar_function.h"
#include "dsl/walk.h"
#include "grad/formula.h"

namespace ricci::grad {

namespace {

/// What a row sees: the operands, the result and its cotangent, and the operand in question.
struct Site {
    Context& context;
    const Step& step;
    std::size_t operand;

    [[nodiscard]] Formula arg(std::size_t n) const { return {context, step.apply.args[n]}; }
    [[nodiscard]] Formula x() const { return arg(0); }
    [[nodiscard]] Formula y() const { return {context, step.y}; }
    [[nodiscard]] Formula d() const { return {context, step.d.value}; }
    /// The result where an array holds it, otherwise the operand.
    [[nodiscard]] Formula saved_or_x() const {
        return std::holds_alternative<Access>(step.y->term) ? y() : x();
    }
};

/// A row's answer: `value`, and where it holds.
struct Pulled {
    Pulled(Formula d) : value(d.expr()) {}  // NOLINT(google-explicit-constructor)
    Pulled(Formula where, Formula d) : guard(where.expr()), value(d.expr()) {}
    Pulled() = default;  ///< no dependence
    Expr guard;
    Expr value;
};

using S = const Site&;
using P = Pulled;

Formula exp(Formula x) { return x.apply(Op::exp); }
Formula rsqrt(Formula x) { return x.apply(Op::rsqrt); }
Formula square(Formula x) { return x.apply(Op::pow, x.integer(2)); }

Formula erf_slope(Formula x) { return 2 * std::numbers::inv_sqrtpi * exp(-square(x)); }

/// The product of the other factors and the cotangent.
P pull_product(S s) {
    std::vector<Expr> factors{s.step.d.value};
    for (std::size_t n = 0; n < s.step.apply.args.size(); ++n) {
        if (n != s.operand) factors.push_back(s.step.apply.args[n]);
    }
    return Formula(s.context, s.context.apply(Op::mul, std::move(factors)));
}

P pull_quotient(S s) {
    if (s.operand == 0) return s.d() / s.arg(1);
    return -(s.d() * s.y() / s.arg(1));
}

P pull_root(S s) {
    const Formula d = 0.5 * s.d() / s.y();
    return s.step.is_norm ? P(s.y() != 0, d) : P(d);
}

P pull_power(S s) {
    const Formula x = s.arg(0);
    const Formula p = s.arg(1);
    if (s.operand == 1) return {x != 0, s.d() * s.y() * x.apply(Op::log)};
    if (!is_literal(p.expr())) {
        // At p = 0 it is 0, and changes with p.
        return {p != 0 || x != 0, s.d() * p * x.apply(Op::pow, p - 1)};
    }
    if (is_literal(p.expr(), 0)) return {};
    if (is_literal(p.expr(), 1)) return s.d();
    if (is_literal(p.expr(), 2)) return 2 * x * s.d();
    const Number exponent = std::get<Literal>(p.expr()->term).value;
    if (const auto* real = std::get_if<double>(&exponent)) {
        return p * x.apply(Op::pow, p.literal(*real - 1)) * s.d();
    }
    return p * x.apply(Op::pow, p - 1) * s.d();
}

P pull_select(S s) {
    if (s.operand == 0) return {};
    return s.operand == 1 ? P(s.x(), s.d()) : P(!s.x(), s.d());
}

/// The operand that wins takes the cotangent; at equality each takes half.
P pull_extremum(S s) {
    const Formula mine = s.arg(s.operand);
    const Formula other = s.arg(1 - s.operand);
    const Formula wins = s.step.apply.op == Op::max ? mine >= other : mine <= other;
    return {wins, (mine == other).choose(0.5 * s.d(), s.d())};
}

/// min(max(x, lower), upper): where the bounds are crossed, the upper one holds.
P pull_clamp(S s) {
    const Formula lower = s.arg(1);
    const Formula upper = s.arg(2);
    if (s.operand == 0) return {s.x() >= lower && s.x() <= upper, s.d()};
    if (s.operand == 1) return {s.x() < lower && lower <= upper, s.d()};
    return {s.x() > upper || lower > upper, s.d()};
}

P pull_leaky_relu(S s) {
    if (s.operand == 1) return {s.x() <= 0, s.d() * s.x()};
    const bool has_slope = s.step.apply.args.size() == 2;
    const Formula slope = has_slope ? s.arg(1) : s.d().literal(0.01);
    return (s.x() > 0).choose(s.d(), slope * s.d());
}

P pull_gelu(S s) {
    const Formula x = s.x();
    const Formula below = 0.5 * ((std::numbers::sqrt2 / 2 * x).apply(Op::erf) + 1);
    return s.d() * (below + std::numbers::inv_sqrtpi * (std::numbers::sqrt2 / 2) * x *
                                exp(-(0.5 * square(x))));
}

P pull_silu(S s) { return s.d() * (s.y() + s.x().apply(Op::sigmoid) * (1 - s.y())); }

P pull_fma(S s) { return s.operand == 2 ? P(s.d()) : P(s.d() * s.arg(1 - s.operand)); }

P pull_atan2(S s) {
    const Formula norm = square(s.arg(0)) + square(s.arg(1));
    return s.operand == 0 ? s.d() * s.arg(1) / norm : -(s.d() * s.arg(0) / norm);
}

P pull_hypot(S s) { return {s.y() != 0, s.d() * s.arg(s.operand) / s.y()}; }

P pull_modulus(S s) {
    if (s.operand == 0) return s.d();
    return -(s.d() * s.arg(0).apply(Op::floordiv, s.arg(1)));
}

// --- functions of complex numbers that have no complex derivative --------------------------------
// What they give is real, and so is what its cotangent counts. They are linear over the real
// numbers alone, so that tangents go by rows of their own, which are written below the cotangents'.

Formula real(Formula x) { return x.apply(Op::real); }
Formula conj(Formula x) { return x.apply(Op::conj); }
Formula times_minus_i(S s, Formula x) {
    return Formula(s.context, s.context.literal(std::complex<double>(0, -1))) * x;
}

P pull_real(S s) {
    if (!s.step.is_complex) return s.d();
    return real(s.d());
}

P pull_imag(S s) {
    if (!s.step.is_complex) return {};
    return times_minus_i(s, real(s.d()));
}

P pull_conj(S s) {
    if (!s.step.is_complex) return s.d();
    return conj(s.d());
}

P pull_abs(S s) {
    if (!s.step.is_complex) return s.d() * s.x().apply(Op::sign);
    return real(s.d()) * conj(s.x().apply(Op::sign));
}

P pull_abs2(S s) {
    if (!s.step.is_complex) return 2 * s.x() * s.d();
    return 2 * conj(s.x()) * real(s.d());
}

P pull_angle(S s) {
    if (!s.step.is_complex) return {};
    return {s.x() != 0, times_minus_i(s, real(s.d()) * conj(s.x()) / s.x().apply(Op::abs2))};
}

/// x/|x| turns as x does.
P pull_sign(S s) {
    if (!s.step.is_complex) return {};
    const Formula across = s.d() - conj(s.d()) * square(conj(s.y()));
    return {s.x() != 0, 0.5 * across / s.x().apply(Op::abs)};
}

P push_imag(S s) {
    if (!s.step.is_complex) return {};
    return s.d().apply(Op::imag);
}

P push_abs(S s) {
    if (!s.step.is_complex) return pull_abs(s);
    return real(conj(s.x().apply(Op::sign)) * s.d());
}

P push_abs2(S s) {
    if (!s.step.is_complex) return pull_abs2(s);
    return 2 * real(conj(s.x()) * s.d());
}

P push_angle(S s) {
    if (!s.step.is_complex) return {};
    return {s.x() != 0, (s.d() / s.x()).apply(Op::imag)};
}

P push_sign(S s) {
    if (!s.step.is_complex) return {};
    const Formula across = s.d() - conj(s.d()) * square(s.y());
    return {s.x() != 0, 0.5 * across / s.x().apply(Op::abs)};
}

/// The row of an operation; `pull` is null where `dependence` is not smooth. A derivative that is a
/// factor is the same for cotangents and tangents: `push` is set for the others alone.
struct Rule {
    Op op{};
    Dependence dependence{};
    P (*pull)(S) = nullptr;
    P (*push)(S) = nullptr;
};

using enum Dependence;

// clang-format off
constexpr Rule table[] = {
    // arithmetic
    {Op::add,         smooth,   [](S s) -> P { return s.d(); }},
    {Op::mul,         smooth,   pull_product},
    {Op::neg,         smooth,   [](S s) -> P { return -s.d(); }},
    {Op::div,         smooth,   pull_quotient},
    {Op::floordiv,    constant, nullptr},
    {Op::mod,         smooth,   pull_modulus},
    {Op::pow,         smooth,   pull_power},
    // comparison and logic
    {Op::eq,          constant, nullptr},
    {Op::ne,          constant, nullptr},
    {Op::lt,          constant, nullptr},
    {Op::le,          constant, nullptr},
    {Op::gt,          constant, nullptr},
    {Op::ge,          constant, nullptr},
    {Op::logical_and, constant, nullptr},
    {Op::logical_or,  constant, nullptr},
    {Op::logical_not, constant, nullptr},
    {Op::select,      smooth,   pull_select},
    // functions
    {Op::exp,         smooth,   [](S s) -> P { return s.d() * s.y(); }},
    {Op::expm1,       smooth,   [](S s) -> P { return s.d() * (s.y() + 1); }},
    {Op::log,         smooth,   [](S s) -> P { return s.d() / s.x(); }},
    {Op::log1p,       smooth,   [](S s) -> P { return s.d() / (s.x() + 1); }},
    {Op::log2,        smooth,   [](S s) -> P { return s.d() / (std::numbers::ln2 * s.x()); }},
    {Op::log10,       smooth,   [](S s) -> P { return s.d() / (std::numbers::ln10 * s.x()); }},
    {Op::sqrt,        smooth,   pull_root},
    {Op::rsqrt,       smooth,   [](S s) -> P { return -0.5 * s.d() * s.y() / s.x(); }},
    {Op::cbrt,        smooth,   [](S s) -> P { return s.d() / (3 * square(s.y())); }},
    {Op::sin,         smooth,   [](S s) -> P { return s.d() * s.x().apply(Op::cos); }},
    {Op::cos,         smooth,   [](S s) -> P { return -(s.d() * s.x().apply(Op::sin)); }},
    {Op::tan,         smooth,   [](S s) -> P { return s.d() * (square(s.y()) + 1); }},
    {Op::asin,        smooth,   [](S s) -> P { return s.d() * rsqrt(1 - square(s.x())); }},
    {Op::acos,        smooth,   [](S s) -> P { return -(s.d() * rsqrt(1 - square(s.x()))); }},
    {Op::atan,        smooth,   [](S s) -> P { return s.d() / (square(s.x()) + 1); }},
    {Op::atan2,       smooth,   pull_atan2},
    {Op::sinh,        smooth,   [](S s) -> P { return s.d() * s.x().apply(Op::cosh); }},
    {Op::cosh,        smooth,   [](S s) -> P { return s.d() * s.x().apply(Op::sinh); }},
    {Op::tanh,        smooth,   [](S s) -> P { return s.d() * (1 - square(s.y())); }},
    {Op::asinh,       smooth,   [](S s) -> P { return s.d() * rsqrt(square(s.x()) + 1); }},
    {Op::acosh,       smooth,   [](S s) -> P { return s.d() * rsqrt(square(s.x()) - 1); }},
    {Op::atanh,       smooth,   [](S s) -> P { return s.d() / (1 - square(s.x())); }},
    {Op::erf,         smooth,   [](S s) -> P { return s.d() * erf_slope(s.x()); }},
    {Op::erfc,        smooth,   [](S s) -> P { return -(s.d() * erf_slope(s.x())); }},
    {Op::gamma,       smooth,   [](S s) -> P { return s.d() * s.y() * s.x().apply(Op::digamma); }},
    {Op::lgamma,      smooth,   [](S s) -> P { return s.d() * s.x().apply(Op::digamma); }},
    {Op::digamma,     unknown,  nullptr},
    {Op::sigmoid,     smooth,   [](S s) -> P { return s.d() * s.y() * (1 - s.y()); }},
    {Op::softplus,    smooth,   [](S s) -> P { return s.d() * s.x().apply(Op::sigmoid); }},
    {Op::relu,        smooth,   [](S s) -> P { return {s.saved_or_x() > 0, s.d()}; }},
    {Op::leaky_relu,  smooth,   pull_leaky_relu},
    {Op::gelu,        smooth,   pull_gelu},
    {Op::silu,        smooth,   pull_silu},
    {Op::abs,         smooth,   pull_abs, push_abs},
    {Op::abs2,        smooth,   pull_abs2, push_abs2},
    {Op::sign,        smooth,   pull_sign, push_sign},
    {Op::floor,       constant, nullptr},
    {Op::ceil,        constant, nullptr},
    {Op::round,       constant, nullptr},
    {Op::trunc,       constant, nullptr},
    {Op::min,         smooth,   pull_extremum},
    {Op::max,         smooth,   pull_extremum},
    {Op::hypot,       smooth,   pull_hypot},
    {Op::fma,         smooth,   pull_fma},
    {Op::clamp,       smooth,   pull_clamp},
    {Op::isnan,       constant, nullptr},
    {Op::isinf,       constant, nullptr},
    {Op::isfinite,    constant, nullptr},
    {Op::real,        smooth,   pull_real},
    {Op::imag,        smooth,   pull_imag, push_imag},
    {Op::conj,        smooth,   pull_conj},
    {Op::angle,       smooth,   pull_angle, push_angle},
};
// clang-format on

constexpr bool is_in_order() {
    for (std::size_t n = 0; n < std::size(table); ++n) {
        if (std::size_t(table[n].op) != n) return false;
        if ((table[n].dependence == smooth) != (table[n].pull != nullptr)) return false;
    }
    return std::size(table) == std::size_t(Op::angle) + 1;
}
static_assert(is_in_order(), "row n of the table is operation n, with a rule where it is smooth");

}  // namespace

Dependence dependence(Op op) noexcept {
    if (const ScalarFunction* function = registered(op))
        return function->derivatives.empty() ? unknown : smooth;
    return table[std::size_t(op)].dependence;
}

bool is_norm(const Program& program, const Apply& apply) {
    if (apply.op != Op::sqrt) return false;
    const auto* access = std::get_if<Access>(&apply.args.front()->term);
    if (access == nullptr) return false;
    return std::ranges::any_of(program.equations, [&](const Equation& equation) {
        const auto* reduce = std::get_if<Reduce>(&equation.value->term);
        return equation.target == access->tensor && equation.op == Assign::define && reduce &&
               reduce->reducer == Reducer::sum && is_apply(reduce->body, Op::abs2);
    });
}

namespace {

enum class Mode : std::uint8_t { reverse, forward };

Cotangent differentiate(Context& context, const Step& step, std::size_t operand, Mode mode) {
    if (const ScalarFunction* function = registered(step.apply.op)) {
        const Expr slope = derivative(context, *function, operand, step.apply.args);
        return {.guard = step.d.guard, .value = context.mul(step.d.value, slope)};
    }
    const Rule& rule = table[std::size_t(step.apply.op)];
    RICCI_ASSERT(rule.pull != nullptr, "only smooth operations have derivatives");
    const bool is_forward = mode == Mode::forward && rule.push != nullptr;
    const auto row = is_forward ? rule.push : rule.pull;
    const Pulled found = row({.context = context, .step = step, .operand = operand});
    if (!found.value) return {};
    // What is known where a cotangent arrives holds inside; what a tangent needs, it needs inside.
    const Expr guard = mode == Mode::forward ? context.logical_and(found.guard, step.d.guard)
                                             : context.logical_and(step.d.guard, found.guard);
    return {.guard = guard, .value = found.value};
}

}  // namespace

Cotangent pull_back(Context& context, const Step& step, std::size_t operand) {
    return differentiate(context, step, operand, Mode::reverse);
}

Tangent push_forward(Context& context, const Step& step, std::size_t operand) {
    return differentiate(context, step, operand, Mode::forward);
}

}  // namespace ricci::grad
