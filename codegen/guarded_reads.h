// codegen/guarded_reads.h – reads of padded arrays: an element where conditions hold, else a number
//
//   x-1 >= 0 ? X[max(x-1, 0)] : 0
//
// is X[x-1] in masked lanes, as its place is affine wherever the conditions hold: lanes that they
// exclude read nothing.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

struct GuardedRead {
    std::vector<Value> conditions;  ///< all must hold; each may be evaluated anywhere
    Value load;                     ///< as it is written, in bounds everywhere
    AffineForm at;                  ///< the place of `load` where the conditions hold
    Value otherwise;                ///< a constant
};

/// A choice between an element and a constant, if the conditions make its place affine.
[[nodiscard]] std::optional<GuardedRead> guarded_read(const Value& value);

/// Whether a guarded read in the value has a condition that lanes along an axis decide and, if one
/// is given, another axis, too.
[[nodiscard]] bool has_masks(const Value& value, VarId lane,
                             std::optional<VarId> other = std::nullopt);

/// A guarded read with those of its conditions that say nothing of its place as `rewrite` has them.
[[nodiscard]] Value with_other_conditions(const Value& read,
                                          const std::function<Value(const Value&)>& rewrite);

/// Makes guarded reads of the loads that a choice makes affine,
///
///     x-1 >= 0 ? X[max(x-1, 0)]*W[max(x-1, 0)] : 0
///
/// where several of them, or more than a load, are chosen together.
void guard_reads(Kernel& kernel);

/// The kernel as masked lanes see it: guarded reads as reads at their affine places, which may lie
/// outside of the array. For estimates.
[[nodiscard]] Kernel with_plain_reads(const Kernel& kernel);

/// The kernel without its guarded reads: constants stand for them.
[[nodiscard]] Kernel without_guarded_reads(const Kernel& kernel);
[[nodiscard]] Value without_guarded_reads(const Value& value);

}  // namespace ricci::codegen
