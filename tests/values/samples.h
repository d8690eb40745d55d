// tests/values/samples.h – arrays of every type with the numbers that matter, and both evaluators
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/function.h"

namespace ricci::tests {

inline constexpr std::array real_types = {
    DType::boolean, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
    DType::u32,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

__extension__ using Wide = __int128;

[[nodiscard]] Wide least(DType integer);
[[nodiscard]] Wide greatest(DType integer);
/// The low bits of a number, as a number of the type.
[[nodiscard]] Wide low_bits(Wide value, DType integer);
/// The element of an array of integers or bool, row-major.
[[nodiscard]] Wide whole(const Array& array, std::int64_t place);

/// The ends of the type, numbers around 0, and some between; of floating types also infinities and
/// NaN. Odd many, so that vectors have a rest.
[[nodiscard]] Array edge_values(DType dtype);
/// Numbers of moderate size without NaN.
[[nodiscard]] Array small_values(DType dtype, std::int64_t count);

/// The outputs of a program by compiled code, which must be those of the reference: integers and
/// bool to the bit, floating numbers within their bounds.
[[nodiscard]] std::vector<Array> run_both(const std::string& program, const Arguments& arguments,
                                          const std::vector<std::string>& outputs);
/// The result alone.
[[nodiscard]] Array run_both(const std::string& program, const Arguments& arguments);

/// The type of the result, without running anything.
[[nodiscard]] DType type_of(const std::string& program, const Arguments& arguments);

}  // namespace ricci::tests
