// codegen/nest_ranges.h – what the integers of a nest can be where they stand
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>

#include "codegen/integer_ranges.h"

namespace ricci::codegen {

/// The values of integer terms, by the bounds of the loops and the names that were entered: a pass
/// enters each loop and name before what is inside or behind it.
class NestRanges {
  public:
    /// Loads from these registers of i64 give what i32 holds.
    std::set<BufferId> narrow_registers;

    void enter(const Loop& loop);
    void enter(const LetVar& let);
    void enter(const LetBound& let);
    void enter(const Let& let);

    [[nodiscard]] std::optional<IndexRange> of(const AffineForm& form) const;
    /// Of an integer of any type.
    [[nodiscard]] std::optional<IndexRange> of(const Value& value) const;

  private:
    std::unordered_map<VarId, IndexRange> vars_;
    std::unordered_map<std::uint32_t, IndexRange> lets_;
};

}  // namespace ricci::codegen
