// codegen/small_powers.cpp – the pass `powers`: powers whose exponents are small integers
//
// `x[i]^p` of an index p takes a logarithm and an exponential wherever p is no constant: the
// gradient by the coefficients of a polynomial, `dc[p] := dy[i]*x[i]^p`, a hundred times as long as
// the polynomial, whose powers are written out. Where bounds keep p small, its bits choose among
// the squares: x^p = x^(p%2) * (x^2)^(p//2%2) * ….
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/match.h"
#include "codegen/nest_build.h"
#include "codegen/nest_ranges.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

class SmallPowers {
  public:
    explicit SmallPowers(const Body& body) : next_let_(next_let(body)) {}

    Body rewritten(Body body) {
        Body out;
        for (Stmt& stmt : body) {
            match(
                stmt.node,
                [&](Loop& loop) {
                    ranges_.enter(loop);
                    loop.body = rewritten(std::move(loop.body));
                },
                [&](Guard& guard) { guard.body = rewritten(std::move(guard.body)); },
                [&](LetVar& let) { ranges_.enter(let); },
                [&](LetBound& let) { ranges_.enter(let); },
                [&](Let& let) {
                    ranges_.enter(let);
                    let.value = rewritten(out, let.value);
                },
                [&](Store& store) { store.value = rewritten(out, store.value); }, [](auto&) {});
            out.push_back(std::move(stmt));
        }
        return out;
    }

  private:
    /// The value without such powers; what their products share is named in `before`. A power in
    /// the base of another one stays.
    Value rewritten(Body& before, const Value& value) {
        Substitution to;
        bool is_any = false;
        for_each_node({value}, [&](const Value& node) {
            const auto* operate = std::get_if<Operate>(&node->term);
            if (operate == nullptr || operate->op != Op::pow || !is_real(node->dtype)) return;
            // From one integer to another, values may change.
            Value exponent = operate->args[1];
            while (const auto* convert = std::get_if<Convert>(&exponent->term)) {
                if (is_integer(exponent->dtype)) break;
                exponent = convert->a;
            }
            const auto range = is_integer(exponent->dtype) ? ranges_.of(exponent) : std::nullopt;
            if (!range || range->low < -most_multiplied_exponent ||
                range->high > most_multiplied_exponent)
                return;
            to.replace(node, power(operate->args[0], exponent, *range));
            is_any = true;
        });
        return is_any ? share(before, {to(value)}, next_let_)[0] : value;
    }
    static bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

    static Value power(const Value& base, const Value& exponent, const IndexRange& range) {
        const DType integer = exponent->dtype;
        const DType dtype = base->dtype;
        const Value zero = make_integer(0, integer);
        const Value one = make_number(dtype, 1);
        const Value is_below = make_operation(Op::lt, {exponent, zero}, DType::boolean);
        Value size = exponent;
        if (range.low < 0) {
            const Value negated = make_operation(Op::neg, {exponent}, integer);
            size = make_operation(Op::select, {is_below, negated, exponent}, integer);
        }
        Value result = one;
        Value square = base;
        const std::int64_t most = std::max(-range.low, range.high);
        for (std::int64_t bit = 1; bit <= most; bit *= 2) {
            if (bit > 1) square = make_operation(Op::mul, {square, square}, dtype);
            const Value bits =
                make_operation(Op::floordiv, {size, make_integer(bit, integer)}, integer);
            const Value place = make_operation(Op::mod, {bits, make_integer(2, integer)}, integer);
            const Value is_set =
                make_operation(Op::eq, {place, make_integer(1, integer)}, DType::boolean);
            const Value product =
                bit == 1 ? square : make_operation(Op::mul, {result, square}, dtype);
            result = make_operation(Op::select, {is_set, product, result}, dtype);
        }
        if (range.low >= 0) return result;
        const Value inverse = make_operation(Op::div, {one, result}, dtype);
        return make_operation(Op::select, {is_below, inverse, result}, dtype);
    }

    NestRanges ranges_;
    std::uint32_t next_let_;
};

}  // namespace

Nest small_powers(Nest nest, const Target& target) {
    if (target.is_plain) return nest;
    SmallPowers powers(nest.body);
    nest.body = powers.rewritten(std::move(nest.body));
    return nest;
}

}  // namespace ricci::codegen
