// base/half.h – numbers of sixteen bits: f16 (IEEE binary16) and bf16 (the upper half of an f32)
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace ricci {

/// A number of type f16. Made from any number by rounding once, to nearest even; computed with as a
/// float.
class Float16 {
  public:
    Float16() = default;
    explicit Float16(double value) noexcept;
    template <std::integral T>
    explicit Float16(T value) noexcept : Float16(static_cast<double>(value)) {}
    static constexpr Float16 from_bits(std::uint16_t bits) noexcept {
        Float16 result;
        result.bits_ = bits;
        return result;
    }
    [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }
    explicit operator float() const noexcept;
    explicit operator double() const noexcept { return static_cast<double>(float{*this}); }
    template <std::integral T>
    explicit operator T() const noexcept {
        return static_cast<T>(float{*this});
    }
    /// Of values: zeros are equal, NaN is not.
    bool operator==(Float16 other) const noexcept { return float{*this} == float{other}; }

  private:
    std::uint16_t bits_ = 0;
};

/// A number of type bf16, likewise.
class BFloat16 {
  public:
    BFloat16() = default;
    explicit BFloat16(double value) noexcept;
    template <std::integral T>
    explicit BFloat16(T value) noexcept : BFloat16(static_cast<double>(value)) {}
    static constexpr BFloat16 from_bits(std::uint16_t bits) noexcept {
        BFloat16 result;
        result.bits_ = bits;
        return result;
    }
    [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }
    explicit operator float() const noexcept {
        return std::bit_cast<float>(std::uint32_t{bits_} << 16U);
    }
    explicit operator double() const noexcept { return static_cast<double>(float{*this}); }
    template <std::integral T>
    explicit operator T() const noexcept {
        return static_cast<T>(float{*this});
    }
    bool operator==(BFloat16 other) const noexcept { return float{*this} == float{other}; }

  private:
    std::uint16_t bits_ = 0;
};

}  // namespace ricci
