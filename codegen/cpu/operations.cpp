// codegen/cpu/operations.cpp – the table of operations as LLVM instructions
#include "codegen/cpu/operations.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/half.h"
#include "codegen/cpu/math.h"

namespace ricci::codegen::cpu {

namespace {

Wide as_vector_of(llvm::Type* element, Wide like) {
    if (like.lanes() != 0) element = llvm::FixedVectorType::get(element, like.lanes());
    return {like.ir(), llvm::Constant::getNullValue(element)};
}

bool is_unsigned(DType dtype) {
    return dtype == DType::boolean || (is_integer(dtype) && !is_signed(dtype));
}

Wide less(DType dtype, Wide a, Wide b) {
    if (!is_unsigned(dtype)) return a < b;
    return {a.ir(), a.ir().CreateICmpULT(a.value(), b.value())};
}
Wide less_equal(DType dtype, Wide a, Wide b) {
    if (!is_unsigned(dtype)) return a <= b;
    return {a.ir(), a.ir().CreateICmpULE(a.value(), b.value())};
}
Wide larger(DType dtype, Wide a, Wide b) {
    return is_floating(dtype) ? nan_max(a, b) : select(less(dtype, b, a), a, b);
}
Wide smaller(DType dtype, Wide a, Wide b) {
    return is_floating(dtype) ? nan_min(a, b) : select(less(dtype, a, b), a, b);
}

struct QuotientRemainder {
    Wide quotient, remainder;
};

/// Both rounded down; by zero both are 0, and the least integer divided by -1 wraps: neither traps.
/// Magnitudes are divided, by 1 at least. Selecting another divisor instead would not do: of a
/// constant vector with a 0 in one lane LLVM 19 takes the whole quotient to be undefined, on
/// whichever side of a select it stands (InstSimplify, threadBinOpOverSelect).
QuotientRemainder divide_integers(DType dtype, Wide a, Wide b) {
    auto& ir = a.ir();
    const Wide zero = a.integer(0);
    const auto magnitude = [&](Wide x) {
        if (is_unsigned(dtype)) return x;
        return Wide(ir, ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x.value(), ir.getFalse()));
    };
    const Wide size = magnitude(a);
    const Wide divisor(ir, ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, magnitude(b).value(),
                                                    a.integer(1).value()));
    const Wide whole(ir, ir.CreateUDiv(size.value(), divisor.value()));
    const Wide rest = size - whole * divisor;
    if (is_unsigned(dtype)) return {select(b == zero, zero, whole), select(b == zero, zero, rest)};
    const Wide is_below = (a ^ b) < zero;
    const Wide quotient =
        select(is_below, -select(rest != zero, whole + a.integer(1), whole), whole);
    return {select(b == zero, zero, quotient), select(b == zero, zero, a - quotient * b)};
}

/// The floor of the exact quotient: that of the rounded one may be one too large. What an fma
/// leaves of a has the right sign, or is NaN where there is no such quotient.
Wide divide_floor(Wide a, Wide b) {
    const Wide ratio = a / b;
    const Wide whole = floor(ratio);
    const Wide rest = fused_multiply_add(-whole, b, a);
    const Wide is_above = (rest != 0.0) & (rest == rest) & ((rest < 0.0) ^ (b < 0.0));
    // Beyond this every number is whole, and what is left may have any sign.
    const Wide is_small = abs(ratio) < (a.is_double() ? 0x1p53 : 0x1p24);
    const Wide is_below_zero =
        (abs(b) == HUGE_VAL) & (a != 0.0) & ((a < 0.0) ^ (b < 0.0)) & (abs(a) < HUGE_VAL);
    return select(is_below_zero, a.number(-1), select(is_above & is_small, whole - 1.0, whole));
}
/// a less b times that, with the sign of b.
Wide remainder_floor(Wide a, Wide b) {
    auto& ir = a.ir();
    const Wide rest(ir, ir.CreateFRem(a.value(), b.value()));
    const Wide is_opposite = (rest != 0.0) & (rest == rest) & ((rest < 0.0) ^ (b < 0.0));
    return select(is_opposite, rest + b, rest);
}

/// By squaring; wraps. Of a negative exponent, 1 over the power, rounded towards 0.
Wide integer_power(DType dtype, Wide base, Wide exponent) {
    const Wide zero = base.integer(0);
    const Wide one = base.integer(1);
    Wide result = one;
    Wide factor = base;
    for (unsigned bit = 0; bit < base.type()->getScalarSizeInBits(); ++bit) {
        const Wide is_set = (shift_right(exponent, int(bit)) & one) != zero;
        result = select(is_set, result * factor, result);
        factor = factor * factor;
    }
    if (is_unsigned(dtype)) return result;
    // 1 and -1 are their own inverses: their powers are right for any bits of the exponent.
    const Wide is_unit = (base == one) | (base == -one);
    return select((exponent < zero) & !is_unit, zero, result);
}

/// The operands of one operation, all of type `dtype` (but for the condition of a selection).
struct Operands {
    DType dtype;
    std::span<const Wide> args;
    Wide a = args[0];
    Wide b = args.size() > 1 ? args[1] : args[0];
    Wide c = args.size() > 2 ? args[2] : args[0];
};

/// `step` from the first operand over all others.
template <class Step>
Wide chain(const Operands& x, Step step) {
    Wide result = x.a;
    for (const Wide& each : x.args.subspan(1)) result = step(result, each);
    return result;
}

Wide add(const Operands& x) {
    const bool is_bool = x.dtype == DType::boolean;
    return chain(x, [&](Wide a, Wide b) { return is_bool ? a | b : a + b; });
}
Wide multiply(const Operands& x) {
    const bool is_bool = x.dtype == DType::boolean;
    return chain(x, [&](Wide a, Wide b) { return is_bool ? a & b : a * b; });
}
Wide maximum(const Operands& x) {
    return chain(x, [&](Wide a, Wide b) { return larger(x.dtype, b, a); });
}
Wide minimum(const Operands& x) {
    return chain(x, [&](Wide a, Wide b) { return smaller(x.dtype, b, a); });
}
Wide clamp(const Operands& x) { return smaller(x.dtype, larger(x.dtype, x.a, x.b), x.c); }

Wide sign(const Operands& x) {
    // A zero keeps its sign, NaN stays NaN.
    const Wide one = is_floating(x.dtype) ? copy_sign(x.a.number(1), x.a) : x.a.integer(1);
    if (is_unsigned(x.dtype)) return select(x.a == 0.0, x.a, one);
    if (is_floating(x.dtype)) return select((x.a > 0.0) | (x.a < 0.0), one, x.a);
    return select(x.a == 0.0, x.a, select(x.a < 0.0, -one, one));
}
Wide integer_abs(const Operands& x) {
    return is_unsigned(x.dtype) ? x.a : select(x.a < 0.0, -x.a, x.a);
}

/// Behind a fence: where LLVM 19 looks for a cheaper negation of a multiply-add whose addend is a
/// choice, it deletes a node that it goes on to use (TargetLowering::getNegatedExpression).
Wide choice(const Operands& x) { return fence(select(x.a, x.b, x.c)); }

// `x < 0 ? 0 : x` and not a maximum: NaN stays NaN.
Wide relu(const Operands& x) { return select(x.a < 0.0, x.a.number(0), x.a); }
Wide integer_relu(const Operands& x) { return larger(x.dtype, x.a, x.a.integer(0)); }
Wide leaky_relu(const Operands& x) {
    const Wide slope = x.args.size() > 1 ? x.b : x.a.number(0.01);
    return select(x.a < 0.0, x.a * slope, x.a);
}

/// How an operation is emitted for floating operands and for integers and bool.
struct Row {
    Op op{};
    Wide (*floating)(const Operands&) = nullptr;
    Wide (*integer)(const Operands&) = nullptr;
    bool is_long = false;  ///< a floating one takes a dozen instructions or more
};
constexpr auto none = nullptr;
using X = const Operands&;

// clang-format off
const Row rows[] = {
    {Op::add,         add,      add},
    {Op::mul,         multiply, multiply},
    {Op::neg,         [](X x) { return -x.a; },      [](X x) { return -x.a; }},
    {Op::div,         [](X x) { return x.a / x.b; }},
    {Op::floordiv,    [](X x) { return divide_floor(x.a, x.b); },
                      [](X x) { return divide_integers(x.dtype, x.a, x.b).quotient; }},
    {Op::mod,         [](X x) { return remainder_floor(x.a, x.b); },
                      [](X x) { return divide_integers(x.dtype, x.a, x.b).remainder; }},
    {Op::pow,         [](X x) { return pow(x.a, x.b); },
                      [](X x) { return integer_power(x.dtype, x.a, x.b); }, true},
    {Op::eq,          [](X x) { return x.a == x.b; }, [](X x) { return x.a == x.b; }},
    {Op::ne,          [](X x) { return x.a != x.b; }, [](X x) { return x.a != x.b; }},
    {Op::lt,          [](X x) { return x.a < x.b; },  [](X x) { return less(x.dtype, x.a, x.b); }},
    {Op::le,          [](X x) { return x.a <= x.b; },
                      [](X x) { return less_equal(x.dtype, x.a, x.b); }},
    {Op::gt,          [](X x) { return x.a > x.b; },  [](X x) { return less(x.dtype, x.b, x.a); }},
    {Op::ge,          [](X x) { return x.a >= x.b; },
                      [](X x) { return less_equal(x.dtype, x.b, x.a); }},
    {Op::logical_and, nullptr,  [](X x) { return x.a & x.b; }},
    {Op::logical_or,  nullptr,  [](X x) { return x.a | x.b; }},
    {Op::logical_not, nullptr,  [](X x) { return !x.a; }},
    {Op::select,      [](X x) { return choice(x); },
                      [](X x) { return select(x.a, x.b, x.c); }},
    {Op::abs,         [](X x) { return abs(x.a); },  integer_abs},
    {Op::abs2,        [](X x) { return x.a * x.a; }, [](X x) { return x.a * x.a; }},
    {Op::sign,        sign,     sign},
    {Op::min,         minimum,  minimum},
    {Op::max,         maximum,  maximum},
    {Op::clamp,       clamp,    clamp},
    {Op::fma,         [](X x) { return multiply_add(x.a, x.b, x.c); },
                      [](X x) { return x.a * x.b + x.c; }},
    {Op::relu,        relu,     integer_relu},
    {Op::leaky_relu,  leaky_relu},
    {Op::floor,       [](X x) { return floor(x.a); },      [](X x) { return x.a; }},
    {Op::ceil,        [](X x) { return ceil(x.a); },       [](X x) { return x.a; }},
    {Op::round,       [](X x) { return round_even(x.a); }, [](X x) { return x.a; }},
    {Op::trunc,       [](X x) { return trunc(x.a); },      [](X x) { return x.a; }},
    {Op::real,        [](X x) { return x.a; },             [](X x) { return x.a; }},
    {Op::conj,        [](X x) { return x.a; },             [](X x) { return x.a; }},
    {Op::imag,        [](X x) { return x.a.number(0); },   [](X x) { return x.a.integer(0); }},
    {Op::angle,       [](X x) { return select(x.a < 0.0, x.a.number(M_PI), x.a - x.a); }},
    {Op::isnan,       [](X x) { return is_nan(x.a); },
                      [](X x) { return x.a != x.a; }},
    {Op::isinf,       [](X x) { return abs(x.a) == HUGE_VAL; },
                      [](X x) { return x.a != x.a; }},
    {Op::isfinite,    [](X x) { return abs(x.a) < HUGE_VAL; },
                      [](X x) { return x.a == x.a; }},
    {Op::exp,         [](X x) { return exp(x.a); }, none, true},
    {Op::expm1,       [](X x) { return expm1(x.a); }, none, true},
    {Op::log,         [](X x) { return log(x.a); }, none, true},
    {Op::log1p,       [](X x) { return log1p(x.a); }, none, true},
    {Op::log2,        [](X x) { return log2(x.a); }, none, true},
    {Op::log10,       [](X x) { return log10(x.a); }, none, true},
    {Op::sqrt,        [](X x) { return sqrt(x.a); }},
    {Op::rsqrt,       [](X x) { return 1.0 / sqrt(x.a); }},
    {Op::cbrt,        [](X x) { return cbrt(x.a); }, none, true},
    {Op::sin,         [](X x) { return sin(x.a); }, none, true},
    {Op::cos,         [](X x) { return cos(x.a); }, none, true},
    {Op::tan,         [](X x) { return tan(x.a); }, none, true},
    {Op::asin,        [](X x) { return asin(x.a); }, none, true},
    {Op::acos,        [](X x) { return acos(x.a); }, none, true},
    {Op::atan,        [](X x) { return atan(x.a); }, none, true},
    {Op::atan2,       [](X x) { return atan2(x.a, x.b); }, none, true},
    {Op::sinh,        [](X x) { return sinh(x.a); }, none, true},
    {Op::cosh,        [](X x) { return cosh(x.a); }, none, true},
    {Op::tanh,        [](X x) { return tanh(x.a); }, none, true},
    {Op::asinh,       [](X x) { return asinh(x.a); }, none, true},
    {Op::acosh,       [](X x) { return acosh(x.a); }, none, true},
    {Op::atanh,       [](X x) { return atanh(x.a); }, none, true},
    {Op::erf,         [](X x) { return erf(x.a); }, none, true},
    {Op::erfc,        [](X x) { return erfc(x.a); }, none, true},
    {Op::gamma,       [](X x) { return gamma(x.a); }, none, true},
    {Op::lgamma,      [](X x) { return lgamma(x.a); }, none, true},
    {Op::digamma,     [](X x) { return digamma(x.a); }, none, true},
    {Op::hypot,       [](X x) { return hypot(x.a, x.b); }, none, true},
    {Op::sigmoid,     [](X x) { return sigmoid(x.a); }, none, true},
    {Op::softplus,    [](X x) { return softplus(x.a); }, none, true},
    {Op::silu,        [](X x) { return silu(x.a); }, none, true},
    {Op::gelu,        [](X x) { return gelu(x.a); }, none, true},
};
// clang-format on

}  // namespace

bool is_long(Op op, DType dtype) {
    if (is_registered(op)) return true;
    const auto* const row = std::ranges::find(rows, op, &Row::op);
    return row != std::end(rows) && row->is_long && is_floating(dtype);
}

Wide operation(Op op, DType dtype, std::span<const Wide> args) {
    if (const ScalarFunction* function = registered(op)) return registered_call(*function, args);
    const auto* const row = std::ranges::find(rows, op, &Row::op);
    auto* const emit = row == std::end(rows) ? nullptr
                       : is_floating(dtype)  ? row->floating
                                             : row->integer;
    if (!emit) {
        throw Error(
            {.kind = ErrorKind::type,
             .message = format("`{}` of {} is not supported yet", info(op).name, name(dtype))});
    }
    return emit({.dtype = dtype, .args = args});
}

Wide called_operation(Op op, DType dtype, std::span<const Wide> args) {
    auto& ir = args[0].ir();
    llvm::Module& module = *ir.GetInsertBlock()->getModule();
    const std::string symbol = format("{}.{}x{}", info(op).name, name(dtype), args[0].lanes());
    llvm::Function* function = module.getFunction(symbol);
    if (!function) {
        const std::vector<llvm::Type*> types(args.size(), args[0].type());
        function = llvm::Function::Create(llvm::FunctionType::get(args[0].type(), types, false),
                                          llvm::Function::InternalLinkage, symbol, module);
        function->setDoesNotThrow();
        const llvm::IRBuilderBase::InsertPointGuard keep(ir);
        ir.SetInsertPoint(llvm::BasicBlock::Create(ir.getContext(), "start", function));
        std::vector<Wide> parameters;
        for (llvm::Argument& argument : function->args()) parameters.emplace_back(ir, &argument);
        ir.CreateRet(operation(op, dtype, parameters).value());
    }
    std::vector<llvm::Value*> values;
    for (const Wide& arg : args) values.push_back(arg.value());
    return {ir, ir.CreateCall(function, values)};
}

Wide floor_divide(Wide a, std::int64_t divisor) {
    if (divisor == 1) return a;
    if (std::has_single_bit(std::uint64_t(divisor))) {
        return shift_right_arithmetic(a, std::countr_zero(std::uint64_t(divisor)));
    }
    const Wide quotient(a.ir(), a.ir().CreateSDiv(a.value(), a.integer(divisor).value()));
    const Wide rest = a - quotient * a.integer(divisor);
    return quotient + shift_right_arithmetic(rest, int(a.type()->getScalarSizeInBits()) - 1);
}

Wide natural_quotient(Wide a, std::int64_t divisor) {
    return {a.ir(), a.ir().CreateUDiv(a.value(), a.integer(divisor).value())};
}

Wide natural_remainder(Wide a, std::int64_t divisor) {
    return {a.ir(), a.ir().CreateURem(a.value(), a.integer(divisor).value())};
}

namespace {

/// The integer at the nearest end of the type `to` where it lies beyond, in its own type.
Wide clamped_integer(Wide a, DType from, DType to) {
    if (from == DType::boolean) return a;
    const unsigned bits = a.type()->getScalarSizeInBits();
    const auto to_bits = unsigned(8 * size_bytes(to));
    const auto constant = [&](const llvm::APInt& number) {
        return Wide(a.ir(), llvm::ConstantInt::get(a.type(), number));
    };
    const bool loses_sign = is_signed(from) && !is_signed(to);
    if (loses_sign) a = select(a < a.integer(0), a.integer(0), a);
    const unsigned own = is_signed(from) ? bits - 1 : bits;
    const unsigned kept = is_signed(to) ? to_bits - 1 : to_bits;
    if (own > kept) a = smaller(from, a, constant(llvm::APInt::getLowBitsSet(bits, kept)));
    if (own > kept && is_signed(from) && is_signed(to))
        a = larger(from, a, constant(llvm::APInt::getHighBitsSet(bits, bits - kept)));
    return a;
}

/// A floating number without its fraction, as an element of the type: beyond its ends the nearest
/// one, of NaN 0. LLVM's own such conversion of a vector is one of each lane after the other:
/// 12.6 million to i32 took 10.3 ms, these operations 2.7 (`ricci bench --threads 1
/// "Y[i] := i32(X[i])" X=12582912:f32`).
Wide saturated(Wide a, DType to, llvm::Type* type) {
    auto& ir = a.ir();
    const auto bits = unsigned(8 * size_bytes(to));
    const int kept = int(bits) - (is_signed(to) ? 1 : 0);
    const Wide least = a.number(is_signed(to) ? -std::ldexp(1.0, kept) : 0);
    const Wide inside = select(a > least, a, least);
    const Wide whole(ir, is_signed(to) ? ir.CreateFPToSI(inside.value(), type)
                                       : ir.CreateFPToUI(inside.value(), type));
    const Wide greatest(
        ir, llvm::ConstantInt::get(type, llvm::APInt::getLowBitsSet(bits, unsigned(kept))));
    const Wide result = select(a >= std::ldexp(1.0, kept), greatest, whole);
    return is_signed(to) ? select(a != a, result.integer(0), result) : result;
}

}  // namespace

Wide convert(Wide a, DType from, DType to) {
    if (from == to) return a;
    if (is_half(from)) return convert(widened_half(a, from), DType::f32, to);
    if (is_half(to)) return rounded_half(a, from, to);
    auto& ir = a.ir();
    llvm::Type* type = as_vector_of(register_type(ir.getContext(), to), a).type();
    if (to == DType::boolean) return a != (a.is_floating() ? a.number(0) : a.integer(0));
    if (is_floating(to)) {
        if (is_floating(from)) return {ir, ir.CreateFPCast(a.value(), type)};
        return {ir, is_unsigned(from) ? ir.CreateUIToFP(a.value(), type)
                                      : ir.CreateSIToFP(a.value(), type)};
    }
    if (is_floating(from)) return saturated(a, to, type);
    return low_bits(clamped_integer(a, from, to), from, to);
}

Wide low_bits(Wide a, DType from, DType to) {
    auto& ir = a.ir();
    llvm::Type* type = as_vector_of(register_type(ir.getContext(), to), a).type();
    return {ir, ir.CreateIntCast(a.value(), type, from != DType::boolean && is_signed(from))};
}

Wide combine(Reducer reducer, DType dtype, Wide old, Wide value) {
    if (is_half(dtype)) {
        const Wide both =
            combine(reducer, DType::f32, widened_half(old, dtype), widened_half(value, dtype));
        return rounded_half(both, DType::f32, dtype);
    }
    const bool is_bool = dtype == DType::boolean;
    switch (reducer) {
        case Reducer::sum:  return is_bool ? old | value : old + value;
        case Reducer::prod: return is_bool ? old & value : old * value;
        // The new value first: then the test for NaN is not on the path from one step to the next.
        case Reducer::max:       return larger(dtype, value, old);
        case Reducer::min:       return smaller(dtype, value, old);
        case Reducer::any:       return old | value;
        case Reducer::all:       return old & value;
        case Reducer::mean:
        case Reducer::count:
        case Reducer::argmax:
        case Reducer::argmin:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    throw Error({.message = format("a store cannot combine by `{}`", name(reducer))});
}

Wide identity(Reducer reducer, DType dtype, Wide like) {
    if (is_half(dtype)) {
        const Wide wide = identity(reducer, DType::f32, widened_half(like, dtype));
        return rounded_half(wide, DType::f32, dtype);
    }
    const auto least = [&](bool is_largest) {
        if (is_floating(dtype)) return like.number(is_largest ? HUGE_VAL : -HUGE_VAL);
        const unsigned bits = like.type()->getScalarSizeInBits();
        const llvm::APInt low = is_unsigned(dtype) ? llvm::APInt::getMinValue(bits)
                                                   : llvm::APInt::getSignedMinValue(bits);
        const llvm::APInt high = is_unsigned(dtype) ? llvm::APInt::getMaxValue(bits)
                                                    : llvm::APInt::getSignedMaxValue(bits);
        return Wide(like.ir(), llvm::ConstantInt::get(like.type(), is_largest ? high : low));
    };
    switch (reducer) {
        case Reducer::max:       return least(false);
        case Reducer::min:       return least(true);
        case Reducer::prod:
        case Reducer::all:       return like.is_floating() ? like.number(1) : like.integer(1);
        case Reducer::sum:
        case Reducer::mean:
        case Reducer::any:
        case Reducer::count:
        case Reducer::argmax:
        case Reducer::argmin:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    // x + -0 is x for every x, +0 included.
    return like.is_floating() ? like.number(-0.0) : like.integer(0);
}

Wide fold(Reducer reducer, DType dtype, Wide lanes) {
    auto& ir = lanes.ir();
    Wide rest = lanes;
    while (rest.lanes() > 1) {
        const auto half = int(rest.lanes() / 2);
        llvm::SmallVector<int> low;
        llvm::SmallVector<int> high;
        for (int i = 0; i < half; ++i) {
            low.push_back(i);
            high.push_back(half + i);
        }
        rest = combine(reducer, dtype, {ir, ir.CreateShuffleVector(rest.value(), low)},
                       {ir, ir.CreateShuffleVector(rest.value(), high)});
    }
    return {ir, ir.CreateExtractElement(rest.value(), std::uint64_t{0})};
}

}  // namespace ricci::codegen::cpu
