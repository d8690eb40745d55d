// codegen/cpu/operations.h – the table of operations as LLVM instructions
#pragma once

#include <span>

#include "base/target.h"
#include "codegen/cpu/wide.h"
#include "dsl/ops.h"

namespace ricci::codegen::cpu {

/// The operation on operands of one type (`select`: a bool, then two of that type), all scalars or
/// all vectors of equal lanes. `dtype` is the operands' type.
/// Throws: `internal` where the table of operations has no such instance.
[[nodiscard]] Wide operation(Op op, DType dtype, std::span<const Wide> args);

/// Whether the operation is so long that repeating it many times costs noticeable compile time.
[[nodiscard]] bool is_long(Op op, DType dtype);
/// The same as `operation`, as a function of the module, made on first use, and a call.
[[nodiscard]] Wide called_operation(Op op, DType dtype, std::span<const Wide> args);

/// `a` in another type: to floating rounds, to an integer saturates (NaN gives 0), to bool is
/// `!= 0`.
[[nodiscard]] Wide convert(Wide a, DType from, DType to);
/// The low bits of an integer, as another integer type; `from` says how it is extended.
[[nodiscard]] Wide low_bits(Wide a, DType from, DType to);

/// The quotient by a positive constant, rounded down.
[[nodiscard]] Wide floor_divide(Wide a, std::int64_t divisor);
/// That of what is not negative, in a third of the operations, and what is left.
[[nodiscard]] Wide natural_quotient(Wide a, std::int64_t divisor);
[[nodiscard]] Wide natural_remainder(Wide a, std::int64_t divisor);

/// What a store with `combine` keeps: `old` combined with `value` by sum, prod, max or min.
[[nodiscard]] Wide combine(Reducer reducer, DType dtype, Wide old, Wide value);
/// The element that changes nothing, of the type and lanes of `like`.
[[nodiscard]] Wide identity(Reducer reducer, DType dtype, Wide like);
/// All lanes combined into a scalar, by halves: ((0,4),(2,6)),((1,5),(3,7)) for eight lanes.
[[nodiscard]] Wide fold(Reducer reducer, DType dtype, Wide lanes);

}  // namespace ricci::codegen::cpu
