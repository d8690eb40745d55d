// codegen/integer_ranges.h – what integer terms can be, by the types and constants they are made of
//
// Sums and indices are numbers of 64 bits, of which a vector holds half as many as of f32. What
// their ranges keep within 32 bits is computed there (`narrow_integers`, `narrow_sums`).
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "codegen/fold_indices.h"
#include "codegen/nest.h"

namespace ricci::codegen {

/// The values of a type, if i32 holds all of them.
[[nodiscard]] std::optional<IndexRange> range_of(DType dtype);
/// Whether all values of a range are ones of a type of at most 32 bits.
[[nodiscard]] bool is_within(const std::optional<IndexRange>& range, DType dtype);

/// A range of which no sum or product of two overflows 64 bits; nothing of wider ones.
[[nodiscard]] std::optional<IndexRange> known(IndexRange range);

/// Whether operands and a result that fit 32 bits give the same there.
[[nodiscard]] bool has_narrow_form(Op op);

/// The values of an operation whose result is of a type, by those of its operands.
[[nodiscard]] std::optional<IndexRange> range_of(
    const Operate& operate, DType dtype,
    const std::function<std::optional<IndexRange>(const Value&)>& of);
/// The one value of a number; nothing of u64 that i64 does not hold.
[[nodiscard]] std::optional<IndexRange> range_of(const Constant& constant, DType dtype);
/// The values of a conversion to a type, by those of its operand.
[[nodiscard]] std::optional<IndexRange> range_of(const Convert& convert, DType dtype,
                                                 const std::optional<IndexRange>& operand);
/// The values of terms without indices, each node looked at once.
class TermRanges {
  public:
    [[nodiscard]] std::optional<IndexRange> of(const Value& value);

  private:
    std::unordered_map<Value, std::optional<IndexRange>> known_;
};

}  // namespace ricci::codegen
