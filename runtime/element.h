// runtime/element.h – from a dtype to the C++ type of its elements
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"

namespace ricci::runtime {

/// A type as a value: `with_element(dtype, [&]<class T>(Element<T>) { … })`.
template <class T>
struct Element {
    using Type = T;
};

/// Calls `visit` with the element type of `dtype`.
/// Throws: `type` for a type whose values Ricci cannot hold yet.
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
        case DType::f32:     return visit(Element<float>{});
        case DType::f64:     return visit(Element<double>{});
        case DType::none:
        case DType::f16:
        case DType::bf16:
        case DType::c64:
        case DType::c128:    break;
    }
    throw Error({.kind = ErrorKind::type,
                 .message = format("values of type {} are not supported yet", name(dtype)),
                 .hint = "convert to f32 or f64"});
}

/// A value in another type: floating to integer rounds towards zero and saturates (NaN: 0), integer
/// to integer wraps, to bool is "not zero".
template <class To, class From>
[[nodiscard]] To convert(From value) noexcept {
    if constexpr (std::is_same_v<To, bool>) {
        return value != From{};
    } else if constexpr (std::floating_point<From> && std::integral<To>) {
        // The limits are compared as powers of two, which a floating type holds exactly.
        constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
        constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
        if (std::isnan(value)) return To{};
        if (value >= above) return std::numeric_limits<To>::max();
        if (value <= lowest) return std::numeric_limits<To>::min();
        return static_cast<To>(value);
    } else {
        return static_cast<To>(value);
    }
}

}  // namespace ricci::runtime
