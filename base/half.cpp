// base/half.cpp – rounding to sixteen bits and back
#include "base/half.h"

#include <cmath>

namespace ricci {
namespace {

/// The float next to the value that has a last bit of 1 where the value itself is none: rounding it
/// again, to fewer bits, is as rounding the value once.
std::uint32_t odd_float(double value) noexcept {
    const auto nearest = static_cast<float>(value);
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::isnan(value) || static_cast<double>(nearest) == value || (bits & 1U) != 0) return bits;
    const bool is_beyond = std::abs(static_cast<double>(nearest)) > std::abs(value);
    return is_beyond ? bits - 1 : bits + 1;
}

/// `bits` without the lowest `count`, rounded to nearest even.
std::uint32_t rounded(std::uint32_t bits, unsigned count) noexcept {
    const std::uint32_t half = std::uint32_t{1} << (count - 1);
    const std::uint32_t is_odd = (bits >> count) & 1U;
    return (bits + half - 1 + is_odd) >> count;
}

std::uint16_t f16_bits(std::uint32_t bits) noexcept {
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    std::uint32_t result = 0;
    if (magnitude > 0x7f800000U) {
        result = 0x7e00U;
    } else if (magnitude >= 0x47800000U) {  // 2^16
        result = 0x7c00U;
    } else if (magnitude >= 0x38800000U) {  // 2^-14, the least normal number
        result = rounded(magnitude - 0x38000000U, 13);
    } else if (magnitude >= 0x33000000U) {  // 2^-25, half the least number
        const std::uint32_t fraction = (magnitude & 0x7fffffU) | 0x800000U;
        result = rounded(fraction, 126 - (magnitude >> 23U));
    }
    return static_cast<std::uint16_t>(sign | result);
}

}  // namespace

Float16::Float16(double value) noexcept : bits_(f16_bits(odd_float(value))) {}

Float16::operator float() const noexcept {
    const std::uint32_t sign = (std::uint32_t{bits_} & 0x8000U) << 16U;
    const std::uint32_t magnitude = bits_ & 0x7fffU;
    if (magnitude >= 0x7c00U)
        return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
    if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13U) + 0x38000000U));
    const float denormal = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -denormal : denormal;
}

BFloat16::BFloat16(double value) noexcept {
    const std::uint32_t bits = odd_float(value);
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    bits_ = static_cast<std::uint16_t>(is_nan ? (bits >> 16U) | 0x40U : rounded(bits, 16));
}

}  // namespace ricci
