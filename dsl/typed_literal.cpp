// dsl/typed_literal.cpp – literals of a type: what a number becomes there
#include "dsl/typed_literal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/half.h"
#include "base/match.h"

namespace ricci {
namespace {

__extension__ using Wide = __int128;

constexpr Wide one = 1;

Wide least(DType dtype) {
    return is_signed(dtype) ? -(one << (8 * size_bytes(dtype) - 1)) : Wide{0};
}
Wide greatest(DType dtype) {
    return (one << (8 * size_bytes(dtype) - (is_signed(dtype) ? 1 : 0))) - 1;
}

/// The value of a literal of an integer type or bool.
Wide whole_value(Expr literal) {
    return match(
        std::get<Literal>(literal->term).value, [](bool v) { return Wide{v}; },
        [&](std::int64_t v) {
            return literal->dtype == DType::u64 ? Wide{static_cast<std::uint64_t>(v)} : Wide{v};
        },
        [](double) -> Wide { RICCI_ASSERT(false, "a floating literal of an integer type"); },
        [](const std::complex<double>&) -> Wide {
            RICCI_ASSERT(false, "a complex literal of an integer type");
        });
}

/// u64 is kept by its bits.
Expr whole_literal(Context& context, Wide value, DType dtype) {
    return context.literal(static_cast<std::int64_t>(value), dtype);
}

bool is_floating_literal(Expr literal) {
    return std::holds_alternative<double>(std::get<Literal>(literal->term).value);
}

double rounded(double value, DType dtype) {
    if (dtype == DType::f32) return static_cast<double>(static_cast<float>(value));
    if (dtype == DType::f16) return static_cast<double>(Float16(value));
    if (dtype == DType::bf16) return static_cast<double>(BFloat16(value));
    return value;
}

}  // namespace

double real_value(Expr literal) {
    const Number& number = std::get<Literal>(literal->term).value;
    if (const auto* value = std::get_if<double>(&number)) return *value;
    if (const auto* value = std::get_if<std::complex<double>>(&number)) return value->real();
    return static_cast<double>(whole_value(literal));
}

Expr saturated_literal(Context& context, Expr literal, DType dtype) {
    if (is_floating(dtype)) return context.literal(rounded(real_value(literal), dtype), dtype);
    RICCI_ASSERT(is_integer(dtype), "literals are converted to numbers");
    const Wide low = least(dtype);
    const Wide high = greatest(dtype);
    if (!is_floating_literal(literal))
        return whole_literal(context, std::clamp(whole_value(literal), low, high), dtype);
    const double value = std::trunc(real_value(literal));
    if (std::isnan(value)) return whole_literal(context, 0, dtype);
    if (value >= static_cast<double>(high)) return whole_literal(context, high, dtype);
    if (value <= static_cast<double>(low)) return whole_literal(context, low, dtype);
    return whole_literal(context, static_cast<Wide>(value), dtype);
}

std::optional<Expr> fitted_literal(Context& context, Expr literal, DType dtype, bool is_modular) {
    Wide value = whole_value(literal);
    const Wide high = greatest(dtype);
    const Wide low = is_modular && !is_signed(dtype) ? -high : least(dtype);
    if (value < low || value > high) return std::nullopt;
    if (value < 0 && !is_signed(dtype)) value += high + 1;
    return whole_literal(context, value, dtype);
}

void drop_ones(std::vector<Expr>& factors) {
    const auto is_one = [](Expr e) {
        const auto* literal = std::get_if<Literal>(&e->term);
        const auto* value = literal ? std::get_if<double>(&literal->value) : nullptr;
        return value && *value == 1;
    };
    const bool all = std::ranges::all_of(factors, is_one);
    factors.erase(std::remove_if(factors.begin() + (all ? 1 : 0), factors.end(), is_one),
                  factors.end());
}

}  // namespace ricci
