// codegen/known_conditions.h – values where some conditions are known to hold
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "codegen/equal_values.h"

namespace ricci::codegen {

/// Gives equal terms the same node, with all that they are made of.
class EqualTerms {
  public:
    /// Lets that stand for their values, by number. Set before their terms are asked for.
    std::unordered_map<std::uint32_t, Value> lets;

    Value operator()(const Value& value);

  private:
    EqualValues equal_;
    std::unordered_map<Value, Value> known_;
};

/// Takes terms to what they are where conditions hold: conjunctions without these, and choices by
/// nothing else as what they choose.
class KnownConditions {
  public:
    /// `holds`: nodes that `equal` gave.
    KnownConditions(std::set<Value> holds, EqualTerms& equal)
        : holds_(std::move(holds)), equal_(equal) {}

    Value operator()(const Value& value);

  private:
    std::set<Value> holds_;
    EqualTerms& equal_;
    std::unordered_map<Value, Value> known_;
};
/// Whether the value is the constant `true`.
[[nodiscard]] bool is_true(const Value& value);

}  // namespace ricci::codegen
