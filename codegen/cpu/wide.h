// codegen/cpu/wide.h – LLVM values with operators, so that formulas read as mathematics
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "base/dtype.h"

namespace llvm {
class IRBuilderBase;
class LLVMContext;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace ricci::codegen::cpu {

/// The type of one element in memory (bool: a byte; half precision: its bits) and in a register
/// (bool: one bit).
/// Throws: `internal` for the types that are not supported yet.
[[nodiscard]] llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);
[[nodiscard]] llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);

/// A scalar or a vector being computed: everything works on both alike. Operators emit the
/// floating or the integer instruction as the type says (integers are signed); a number next to a
/// Wide becomes a constant of its type. Comparisons give `i1` lanes and are false for NaN, but for
/// `!=`.
class Wide {
  public:
    Wide(llvm::IRBuilderBase& ir, llvm::Value* value) : ir_(&ir), value_(value) {}

    [[nodiscard]] llvm::Value* value() const noexcept { return value_; }
    [[nodiscard]] llvm::IRBuilderBase& ir() const noexcept { return *ir_; }
    [[nodiscard]] llvm::Type* type() const noexcept;
    [[nodiscard]] bool is_floating() const noexcept;
    [[nodiscard]] bool is_double() const noexcept;
    [[nodiscard]] unsigned lanes() const noexcept;  ///< 0 for a scalar

    /// A constant of this value's type and lanes.
    [[nodiscard]] Wide number(double number) const;
    [[nodiscard]] Wide integer(std::int64_t number) const;
    /// This value's bits as integers of the same width, or such integers as this floating type.
    [[nodiscard]] Wide as_integer() const;
    [[nodiscard]] Wide as_floating() const;

    Wide& operator+=(Wide b);
    Wide& operator*=(Wide b);

  private:
    llvm::IRBuilderBase* ir_;
    llvm::Value* value_;
};

Wide operator+(Wide a, Wide b);
Wide operator-(Wide a, Wide b);
Wide operator*(Wide a, Wide b);
Wide operator/(Wide a, Wide b);  ///< floating only
Wide operator-(Wide a);
Wide operator+(Wide a, double b);
Wide operator-(Wide a, double b);
Wide operator*(Wide a, double b);
Wide operator+(double a, Wide b);
Wide operator-(double a, Wide b);
Wide operator*(double a, Wide b);
Wide operator/(double a, Wide b);
Wide operator&(Wide a, Wide b);
Wide operator|(Wide a, Wide b);
Wide operator^(Wide a, Wide b);
Wide operator!(Wide a);  ///< every bit inverted
Wide operator<<(Wide a, int bits);
Wide shift_right(Wide a, int bits);             ///< filling with zeros
Wide shift_right_arithmetic(Wide a, int bits);  ///< filling with the sign
Wide operator<(Wide a, Wide b);
Wide operator<=(Wide a, Wide b);
Wide operator>(Wide a, Wide b);
Wide operator>=(Wide a, Wide b);
Wide operator==(Wide a, Wide b);
Wide operator!=(Wide a, Wide b);
Wide operator<(Wide a, double b);
Wide operator<=(Wide a, double b);
Wide operator>(Wide a, double b);
Wide operator>=(Wide a, double b);
Wide operator==(Wide a, double b);
Wide operator!=(Wide a, double b);

Wide select(Wide condition, Wide yes, Wide no);
/// The floating value, whose users do not look into how it came about.
Wide fence(Wide a);
Wide is_nan(Wide a);
/// `a * b + c`: one rounding where the target has fma, two elsewhere.
Wide multiply_add(Wide a, Wide b, Wide c);
Wide multiply_add(Wide a, double b, Wide c);
Wide multiply_add(Wide a, Wide b, double c);
/// `a * b + c` with one rounding everywhere: a library call where the target has no fma.
Wide fused_multiply_add(Wide a, Wide b, Wide c);
/// The low bits of an integer, in the type of `like`.
Wide truncate_integer(Wide a, Wide like);
Wide abs(Wide a);
Wide copy_sign(Wide magnitude, Wide sign);
Wide sqrt(Wide a);
Wide floor(Wide a);
Wide ceil(Wide a);
Wide trunc(Wide a);
Wide round_even(Wide a);
/// Says that what is emitted into the module runs on a target with AVX-512.
void allow_avx512(llvm::Module& module);
/// Whether AVX-512's instructions below are there for values of this type.
[[nodiscard]] bool has_avx512(Wide a);
/// `y * 2^floor(n)`, rounded once, for `n` of the floating type of `y`. Wants `has_avx512`.
Wide scale(Wide y, Wide n);
/// `a` with its magnitude cut to `most`, a number; of NaN `most`. Wants `has_avx512`.
Wide limit_magnitude(Wide a, Wide most);
/// Elements of a table that registers hold.
constexpr unsigned table_size = 16;
/// The elements of the table that the low 4 bits of integers say: f32 for integers of 32 bits, f64
/// for those of 64. Wants `has_avx512` of f32 or f64.
Wide look_up(const std::array<double, table_size>& table, Wide index);
/// `a` where it is NaN, else `b`.
Wide nan_of(Wide a, Wide b);
/// The larger or smaller of two; the second where one is NaN: one instruction on x86.
Wide quick_max(Wide a, Wide b);
Wide quick_min(Wide a, Wide b);
/// The larger or smaller of two; NaN where one is NaN.
Wide nan_max(Wide a, Wide b);
Wide nan_min(Wide a, Wide b);

/// A constant of the type and lanes of `like` that takes no register where there are few: without
/// AVX-512 it is read from memory.
Wide number_in_memory(Wide like, double number);

/// `c0 + c1*x + c2*x^2 + …` by Horner's rule; more coefficients than registers have room for
/// are read from memory.
Wide polynomial(Wide x, std::initializer_list<double> coefficients);
/// The same by Estrin's scheme (D. E. Knuth, The Art of Computer Programming, vol. 2, section
/// 4.6.4): sums of neighbours, of neighbours of these with x^2, and so on; the last three by
/// Horner's rule, which saves a product and takes no longer. Horner's rule for all has fewer
/// products and rounds its last sum alone, but each of its sums waits for the one before.
Wide polynomial_by_pairs(Wide x, std::initializer_list<double> coefficients);

}  // namespace ricci::codegen::cpu
