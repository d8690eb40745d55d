// runtime/element.h – from a dtype to the C++ type of its elements
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"
#include "base/half.h"
#include "base/text.h"

namespace ricci::runtime {

/// A type as a value: `with_element(dtype, [&]<class T>(Element<T>) { … })`.
template <class T>
struct Element {
    using Type = T;
};

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class T>
inline constexpr bool is_complex_number = false;
template <class T>
inline constexpr bool is_complex_number<std::complex<T>> = true;

/// Calls `visit` with the element type of a real `dtype`.
/// Throws: `type` for complex types.
template <class F>
decltype(auto) with_element(DType dtype, F&& visit) {
    switch (dtype) {
        case DType::boolean: return visit(Element<bool>{});
        case DType::i8:      return visit(Element<std::int8_t>{});
        case DType::i16:     return visit(Element<std::int16_t>{});
        case DType::i32:     return visit(Element<std::int32_t>{});
        case DType::i64:     return visit(Element<std::int64_t>{});
        case DType::u8:      return visit(Element<std::uint8_t>{});
        case DType::u16:     return visit(Element<std::uint16_t>{});
        case DType::u32:     return visit(Element<std::uint32_t>{});
        case DType::u64:     return visit(Element<std::uint64_t>{});
        case DType::f16:     return visit(Element<Float16>{});
        case DType::bf16:    return visit(Element<BFloat16>{});
        case DType::f32:     return visit(Element<float>{});
        case DType::f64:     return visit(Element<double>{});
        case DType::none:
        case DType::c64:
        case DType::c128:    break;
    }
    throw Error(
        {.kind = ErrorKind::type,
         .message = format("a number of type {} has two parts", name(dtype)),
         .hint = "read its elements as std::complex, as in span<const std::complex<float>>()"});
}

/// The same for every `dtype`.
template <class F>
decltype(auto) with_any_element(DType dtype, F&& visit) {
    if (dtype == DType::c64) return visit(Element<std::complex<float>>{});
    if (dtype == DType::c128) return visit(Element<std::complex<double>>{});
    return with_element(dtype, visit);
}

/// A value in another type: floating to integer rounds towards zero, what an integer type cannot
/// hold becomes its nearest end (NaN: 0), to bool is "not zero".
template <class To, class From>
[[nodiscard]] To convert(From value) noexcept {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (is_complex_number<To> && is_complex_number<From>) {
        return To(convert<typename To::value_type>(value.real()),
                  convert<typename To::value_type>(value.imag()));
    } else if constexpr (is_complex_number<To>) {
        return To(convert<typename To::value_type>(value));
    } else if constexpr (is_complex_number<From>) {
        if constexpr (std::is_same_v<To, bool>)
            return value != From{};
        else
            return convert<To>(value.real());
    } else if constexpr (is_half<From>) {
        return convert<To>(static_cast<float>(value));
    } else if constexpr (std::is_same_v<To, bool>) {
        return value != From{};
    } else if constexpr (std::floating_point<From> && std::integral<To>) {
        // The limits are compared as powers of two, which a floating type holds exactly.
        constexpr auto half = std::numeric_limits<To>::max() / 2 + 1;
        constexpr From above = static_cast<From>(half) * From{2};
        constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
        if (std::isnan(value)) return To{};
        if (value >= above) return std::numeric_limits<To>::max();
        if (value <= lowest) return std::numeric_limits<To>::min();
        return static_cast<To>(value);
    } else if constexpr (std::integral<From> && std::integral<To> && !std::is_same_v<From, bool>) {
        if (std::cmp_greater(value, std::numeric_limits<To>::max()))
            return std::numeric_limits<To>::max();
        if (std::cmp_less(value, std::numeric_limits<To>::min()))
            return std::numeric_limits<To>::min();
        return static_cast<To>(value);
    } else {
        return static_cast<To>(value);
    }
}

/// A value as an element of an array: integers keep their low bits in a narrower integer type, all
/// else as `convert`.
template <class To, class From>
[[nodiscard]] To stored(From value) noexcept {
    if constexpr (std::integral<From> && std::integral<To> && !std::is_same_v<To, bool>)
        return static_cast<To>(value);
    else
        return convert<To>(value);
}

}  // namespace ricci::runtime
