// dsl/complex_form.cpp – functions of complex terms, written out in real and imaginary parts
#include "dsl/complex_form.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

/// Integer exponents up to this one are multiplied out.
constexpr double max_expanded_exponent = 64;

class Former {
  public:
    Former(Context& context, DType real) : context_(context), real_(real) {}

    // --- real terms ---
    Expr number(double value) { return context_.literal(value, real_); }
    Expr of(Op op, Expr a) { return context_.apply(op, {a}, real_); }
    Expr of(Op op, Expr a, Expr b) { return context_.apply(op, {a, b}, real_); }
    Expr test(Op op, Expr a, Expr b) { return context_.apply(op, {a, b}, DType::boolean); }
    Expr choose(Expr condition, Expr yes, Expr no) {
        return context_.apply(Op::select, {condition, yes, no}, real_);
    }
    Expr add(Expr a, Expr b) { return !a ? b : !b ? a : of(Op::add, a, b); }
    Expr neg(Expr a) { return a ? of(Op::neg, a) : a; }
    Expr sub(Expr a, Expr b) { return add(a, neg(b)); }
    /// 0 where a factor is.
    Expr mul(Expr a, Expr b) { return a && b ? of(Op::mul, a, b) : Expr(); }
    Expr full(Expr a) { return a ? a : number(0); }

    // --- complex ones ---
    Parts sum(Parts a, Parts b) { return {add(a.re, b.re), add(a.im, b.im)}; }
    Parts product(Parts a, Parts b) {
        return {sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
    }
    Parts scaled(Parts a, Expr by) { return {mul(a.re, by), mul(a.im, by)}; }
    Parts quotient(Parts a, Parts b);
    Parts power(Parts a, Parts b);
    Parts whole_power(Parts a, int exponent);
    Expr abs(Parts a) { return a.im ? of(Op::hypot, a.re, a.im) : of(Op::abs, a.re); }
    Expr angle(Parts a) { return a.im ? of(Op::atan2, a.im, a.re) : of(Op::angle, a.re); }
    Parts exp(Parts a) {
        const Expr size = of(Op::exp, a.re);
        return {mul(size, of(Op::cos, full(a.im))), mul(size, of(Op::sin, full(a.im)))};
    }
    Parts log(Parts a) { return {of(Op::log, abs(a)), angle(a)}; }
    Parts sqrt(Parts a);
    /// (sin x cosh y, cos x sinh y) and the like.
    Parts crossed(Op first, Op second, Op third, Op fourth, Parts a) {
        const Expr im = full(a.im);
        return {mul(of(first, a.re), of(second, im)), mul(of(third, a.re), of(fourth, im))};
    }
    Parts tanh(Parts a);
    Parts times_i(Parts a) { return {neg(full(a.im)), a.re}; }
    Parts over_i(Parts a) { return {full(a.im), neg(a.re)}; }
    Parts one() { return {number(1), {}}; }
    Parts expm1(Parts a);
    Parts sigmoid(Parts a) { return quotient(one(), sum(one(), exp({neg(a.re), neg(a.im)}))); }
    Parts sign(Parts a);
    /// A test of both parts.
    Parts tested(Op joint, Op each, Parts a) {
        const auto of_part = [&](Expr part) {
            return context_.apply(each, {part}, DType::boolean);
        };
        return {context_.apply(joint, {of_part(a.re), of_part(full(a.im))}, DType::boolean), {}};
    }
    Parts compared(Op joint, Op each, Parts a, Parts b) {
        return {context_.apply(joint, {test(each, a.re, b.re), test(each, full(a.im), full(b.im))},
                               DType::boolean),
                {}};
    }

  private:
    Context& context_;
    DType real_;
};

/// R. Smith's: by the larger part of the divisor, so that nothing overflows in between.
Parts Former::quotient(Parts a, Parts b) {
    if (!b.im) return {of(Op::div, a.re, b.re), a.im ? of(Op::div, a.im, b.re) : Expr()};
    const Expr by_real = test(Op::ge, of(Op::abs, b.re), of(Op::abs, b.im));
    const Expr large = choose(by_real, b.re, b.im);
    const Expr small = choose(by_real, b.im, b.re);
    const Expr ratio = of(Op::div, small, large);
    const Expr whole = add(large, mul(small, ratio));
    const Expr im = full(a.im);
    const Expr first = choose(by_real, a.re, im);
    const Expr second = choose(by_real, im, a.re);
    const Expr re = of(Op::div, add(first, mul(second, ratio)), whole);
    const Expr turned = of(Op::div, sub(second, mul(first, ratio)), whole);
    return {re, choose(by_real, turned, neg(turned))};
}

Parts Former::whole_power(Parts a, int exponent) {
    if (exponent < 0) return quotient(one(), whole_power(a, -exponent));
    if (exponent == 0) return one();
    if (exponent % 2 == 1) return exponent == 1 ? a : product(whole_power(a, exponent - 1), a);
    const Parts root = whole_power(a, exponent / 2);
    return product(root, root);
}

Parts Former::power(Parts a, Parts b) {
    if (!b.im && is_literal(b.re)) {
        const auto* exponent = std::get_if<double>(&std::get<Literal>(b.re->term).value);
        if (exponent && *exponent == std::floor(*exponent) &&
            std::abs(*exponent) <= max_expanded_exponent)
            return whole_power(a, static_cast<int>(*exponent));
        if (exponent && *exponent == 0.5) return sqrt(a);
    }
    // 0 to a power is 1 or 0, without a logarithm.
    const Parts found = exp(product(b, log(a)));
    const Expr is_zero = test(Op::eq, abs(a), number(0));
    const Expr of_zero = choose(test(Op::eq, abs(b), number(0)), number(1),
                                choose(test(Op::gt, b.re, number(0)), number(0), found.re));
    return {choose(is_zero, of_zero, found.re), choose(is_zero, number(0), found.im)};
}

/// The root with a real part that is not negative.
Parts Former::sqrt(Parts a) {
    const Expr size = of(Op::abs, a.re);
    const Expr root = of(Op::sqrt, mul(number(0.5), add(size, abs(a))));
    const Expr im = full(a.im);
    const Expr is_zero = test(Op::eq, root, number(0));
    const Expr other =
        choose(is_zero, number(0), of(Op::div, mul(number(0.5), of(Op::abs, im)), root));
    const Expr is_right = test(Op::ge, a.re, number(0));
    const Expr above = choose(is_right, other, root);
    // The sign of im, of -0 too.
    const Expr is_below = test(Op::lt, of(Op::atan2, im, number(-1)), number(0));
    return {choose(is_right, root, other), choose(is_below, neg(above), above)};
}

/// With t = tanh(re), u = tan(im): (t(1 + u^2) + i u(1 - t^2)) / (1 + t^2 u^2).
Parts Former::tanh(Parts a) {
    if (!a.im) return {of(Op::tanh, a.re), {}};
    const Expr t = of(Op::tanh, a.re);
    const Expr u = of(Op::tan, a.im);
    const Expr tt = mul(t, t);
    const Expr uu = mul(u, u);
    const Expr whole = add(number(1), mul(tt, uu));
    const Expr c = of(Op::cosh, a.re);
    // 1 - t^2 is 1/cosh^2.
    return {of(Op::div, mul(t, add(number(1), uu)), whole),
            of(Op::div, of(Op::div, of(Op::div, u, c), c), whole)};
}

/// cos y - 1 is -2 sin^2(y/2).
Parts Former::expm1(Parts a) {
    const Expr im = full(a.im);
    const Expr s = of(Op::sin, mul(number(0.5), im));
    return {sub(mul(of(Op::expm1, a.re), of(Op::cos, im)), mul(number(2), mul(s, s))), exp(a).im};
}

/// x/|x|, or 0.
Parts Former::sign(Parts a) {
    const Expr size = abs(a);
    const Expr by = choose(test(Op::eq, size, number(0)), number(1), size);
    return {of(Op::div, a.re, by), of(Op::div, full(a.im), by)};
}

using Args = const std::vector<Parts>&;
struct Row {
    Op op;
    Parts (*form)(Former& f, Args x);
};

template <Parts (Former::*step)(Parts, Parts)>
Parts chain(Former& f, Args x) {
    Parts all = x[0];
    for (std::size_t n = 1; n < x.size(); ++n) all = (f.*step)(all, x[n]);
    return all;
}

// clang-format off
const Row rows[] = {
    {Op::add,      chain<&Former::sum>},
    {Op::mul,      chain<&Former::product>},
    {Op::neg,      [](Former& f, Args x) { return Parts{f.neg(x[0].re), f.neg(x[0].im)}; }},
    {Op::div,      [](Former& f, Args x) { return f.quotient(x[0], x[1]); }},
    {Op::pow,      [](Former& f, Args x) { return f.power(x[0], x[1]); }},
    {Op::fma,      [](Former& f, Args x) { return f.sum(f.product(x[0], x[1]), x[2]); }},
    {Op::real,     [](Former&, Args x) { return Parts{x[0].re, {}}; }},
    {Op::imag,     [](Former& f, Args x) { return Parts{f.full(x[0].im), {}}; }},
    {Op::conj,     [](Former& f, Args x) { return Parts{x[0].re, f.neg(x[0].im)}; }},
    {Op::abs,      [](Former& f, Args x) { return Parts{f.abs(x[0]), {}}; }},
    {Op::abs2,     [](Former& f, Args x) {
                       return Parts{f.add(f.mul(x[0].re, x[0].re), f.mul(x[0].im, x[0].im)), {}};
                   }},
    {Op::angle,    [](Former& f, Args x) { return Parts{f.angle(x[0]), {}}; }},
    {Op::exp,      [](Former& f, Args x) { return f.exp(x[0]); }},
    {Op::expm1,    [](Former& f, Args x) { return f.expm1(x[0]); }},
    {Op::log,      [](Former& f, Args x) { return f.log(x[0]); }},
    {Op::log1p,    [](Former& f, Args x) { return f.log(f.sum(f.one(), x[0])); }},
    {Op::log2,     [](Former& f, Args x) {
                       return f.scaled(f.log(x[0]), f.number(std::numbers::log2e));
                   }},
    {Op::log10,    [](Former& f, Args x) {
                       return f.scaled(f.log(x[0]), f.number(std::numbers::log10e));
                   }},
    {Op::sqrt,     [](Former& f, Args x) { return f.sqrt(x[0]); }},
    {Op::rsqrt,    [](Former& f, Args x) { return f.quotient(f.one(), f.sqrt(x[0])); }},
    {Op::sin,      [](Former& f, Args x) {
                       return f.crossed(Op::sin, Op::cosh, Op::cos, Op::sinh, x[0]);
                   }},
    {Op::cos,      [](Former& f, Args x) {
                       const Parts turned =
                           f.crossed(Op::cos, Op::cosh, Op::sin, Op::sinh, x[0]);
                       return Parts{turned.re, f.neg(turned.im)};
                   }},
    {Op::tan,      [](Former& f, Args x) { return f.over_i(f.tanh(f.times_i(x[0]))); }},
    {Op::sinh,     [](Former& f, Args x) {
                       return f.crossed(Op::sinh, Op::cos, Op::cosh, Op::sin, x[0]);
                   }},
    {Op::cosh,     [](Former& f, Args x) {
                       return f.crossed(Op::cosh, Op::cos, Op::sinh, Op::sin, x[0]);
                   }},
    {Op::tanh,     [](Former& f, Args x) { return f.tanh(x[0]); }},
    {Op::sigmoid,  [](Former& f, Args x) { return f.sigmoid(x[0]); }},
    {Op::silu,     [](Former& f, Args x) { return f.product(x[0], f.sigmoid(x[0])); }},
    {Op::sign,     [](Former& f, Args x) { return f.sign(x[0]); }},
    {Op::isnan,    [](Former& f, Args x) { return f.tested(Op::logical_or, Op::isnan, x[0]); }},
    {Op::isinf,    [](Former& f, Args x) { return f.tested(Op::logical_or, Op::isinf, x[0]); }},
    {Op::isfinite, [](Former& f, Args x) {
                       return f.tested(Op::logical_and, Op::isfinite, x[0]);
                   }},
    {Op::eq,       [](Former& f, Args x) {
                       return f.compared(Op::logical_and, Op::eq, x[0], x[1]);
                   }},
    {Op::ne,       [](Former& f, Args x) {
                       return f.compared(Op::logical_or, Op::ne, x[0], x[1]);
                   }},
};
// clang-format on

const Row* find(Op op) {
    const auto* row = std::ranges::find(rows, op, &Row::op);
    return row == std::end(rows) ? nullptr : row;
}

}  // namespace

bool has_complex_form(Op op) noexcept { return op == Op::select || find(op) != nullptr; }

Parts complex_form(Context& context, Op op, const std::vector<Parts>& args, DType real) {
    const Row* row = find(op);
    RICCI_ASSERT(row != nullptr, format("`{}` has no complex form", info(op).name));
    Former former(context, real);
    return row->form(former, args);
}

}  // namespace ricci
