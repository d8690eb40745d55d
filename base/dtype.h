// base/dtype.h – element types: names, sizes, kinds, promotion
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ricci {

/// The types of the language. `none` marks terms of a program that is not bound yet.
enum class DType : std::uint8_t {
    none,
    boolean,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f16,
    bf16,
    f32,
    f64,
    c64,
    c128
};

/// `f32`, `bool`, ...
[[nodiscard]] std::string_view name(DType dtype) noexcept;
/// The type of that name, or nothing.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name) noexcept;
/// Bytes of one element; 0 for `none`.
[[nodiscard]] std::size_t size_bytes(DType dtype) noexcept;

[[nodiscard]] bool is_floating(DType dtype) noexcept;
[[nodiscard]] bool is_integer(DType dtype) noexcept;  ///< signed or unsigned, not bool
[[nodiscard]] bool is_signed(DType dtype) noexcept;
[[nodiscard]] bool is_complex(DType dtype) noexcept;
/// Stored as sixteen bits and computed with as f32.
[[nodiscard]] constexpr bool is_half(DType dtype) noexcept {
    return dtype == DType::f16 || dtype == DType::bf16;
}

/// The type of the real and imaginary parts of a complex type.
[[nodiscard]] DType component(DType complex) noexcept;

/// The type that an operation of two array elements has, by the Python array API's table; an
/// integer with a floating type gives the floating type. Nothing where the table has no entry (u64
/// with a signed integer).
[[nodiscard]] std::optional<DType> promote(DType a, DType b) noexcept;

}  // namespace ricci
