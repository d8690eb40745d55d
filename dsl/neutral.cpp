// dsl/neutral.cpp – values that a reduction or an update does not notice
#include "dsl/neutral.h"

#include <cmath>

#include "base/error.h"

namespace ricci {
namespace {

Expr number(Context& context, std::int64_t value, DType dtype) {
    if (dtype == DType::boolean) return context.literal(value != 0, dtype);
    if (is_complex(dtype)) return context.literal(std::complex<double>(double(value)), dtype);
    if (is_floating(dtype)) return context.literal(double(value), dtype);
    return context.literal(value, dtype);
}

std::int64_t least(DType dtype) {
    const auto bits = 8 * static_cast<int>(size_bytes(dtype));
    return is_signed(dtype) ? INT64_MIN >> (64 - bits) : 0;
}
std::int64_t greatest(DType dtype) {
    if (dtype == DType::boolean) return 1;
    if (is_signed(dtype)) return ~least(dtype);
    // u64's greatest value is held as its bit pattern.
    return dtype == DType::u64 ? -1 : (1LL << (8 * size_bytes(dtype))) - 1;
}

}  // namespace

Expr identity(Context& context, Reducer reducer, DType dtype) {
    if (reducer == Reducer::sum) return number(context, 0, dtype);
    if (reducer == Reducer::prod) return number(context, 1, dtype);
    RICCI_ASSERT(reducer == Reducer::max || reducer == Reducer::min, "an identity is asked for");
    const bool is_max = reducer == Reducer::max;
    if (is_floating(dtype)) return context.literal(is_max ? -HUGE_VAL : HUGE_VAL, dtype);
    return dtype == DType::boolean
               ? context.literal(!is_max, dtype)
               : context.literal(is_max ? least(dtype) : greatest(dtype), dtype);
}

Expr neutral(Context& context, Assign op, DType dtype) {
    if (op == Assign::mul) return identity(context, Reducer::prod, dtype);
    if (op == Assign::max) return identity(context, Reducer::max, dtype);
    if (op == Assign::min) return identity(context, Reducer::min, dtype);
    // x + -0.0 is x for every x, -0.0 among them.
    return is_floating(dtype) ? context.literal(-0.0, dtype) : number(context, 0, dtype);
}

}  // namespace ricci
