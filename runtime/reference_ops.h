// runtime/reference_ops.h – what every operation means, on one scalar at a time
#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "dsl/ops.h"

namespace ricci::runtime {

/// A value of any type, and how far a correct evaluation may be from it.
struct Scalar {
    double real = 0;           ///< floating types
    std::int64_t integer = 0;  ///< integers and bool; u64 by its bits
    double bound = 0;          ///< absolute; infinite: anything may be correct
};

/// The value rounded to `type` (f32: to float) or wrapped (i8 …).
[[nodiscard]] Scalar round_to(DType type, Scalar value);
/// What becomes of integers that the new type cannot hold.
enum class Narrowing : std::uint8_t {
    saturates,  ///< as `i8(…)`: the nearest end of the type
    wraps,      ///< as storing: the low bits
};
/// The value of type `from` in type `to`: floating to integer saturates, NaN gives 0.
[[nodiscard]] Scalar convert_scalar(Scalar value, DType from, DType to,
                                    Narrowing narrowing = Narrowing::saturates);

/// `op(args)` rounded to `type`. `operand_type` is the type of the operands (of the branches, for
/// `select`). Bounds are not looked at.
[[nodiscard]] Scalar operate(Op op, DType operand_type, DType type, std::span<const Scalar> args);

/// The same with a bound: of the operands' bounds carried through, and of the rounding of a
/// correct implementation (4 to 8 units in the last place for functions). First-order running error
/// analysis; the operands' part is found by moving each operand to both ends of its interval.
[[nodiscard]] Scalar operate_with_bound(Op op, DType operand_type, DType type,
                                        std::span<const Scalar> args);
[[nodiscard]] Scalar convert_with_bound(Scalar value, DType from, DType to,
                                        Narrowing narrowing = Narrowing::saturates);

/// Half the distance from 1 to the next number of a floating type; 0 for other types.
[[nodiscard]] double unit_roundoff(DType type) noexcept;

}  // namespace ricci::runtime
