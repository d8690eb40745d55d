// codegen/group.h – equations to kernels: what is inlined, what is fused
//
// Two rewritings, both over the canonical equations in order:
//   inline  a pointwise equation whose value is cheap or read once is written out where it is read;
//   fuse    a pointwise equation over the points of an earlier group joins it: the epilogue of a
//           reduction (bias, activation, scaling), or a further output of one pass over memory, as
//           where both read an array at the same points and write at the same places.
// Neither moves a read across an update of the tensor it reads, and no group reads an element that
// another of its points writes.
#pragma once

#include <optional>
#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// What one kernel computes: for all points of `indices`, perhaps a reduction, then every write.
struct Group {
    std::vector<IndexId> indices;  ///< free, outermost first
    std::optional<Reduction> reduction;
    Expr value;                         ///< what is reduced; empty without a reduction
    Expr result;                        ///< the node that stands for the reduced value in `writes`
    std::vector<BoundEquation> writes;  ///< pointwise, over `indices`, in order
};

/// The groups of a program, in an order that can be executed. Makes new terms in its context.
[[nodiscard]] std::vector<Group> group(const BoundProgram& program);

/// The tensor whose memory a version lives in: the first of its chain of updates.
[[nodiscard]] TensorId storage(const BoundProgram& program, TensorId tensor);

/// Whether an equation's subscripts name every element of its target exactly once.
[[nodiscard]] bool covers_target(const BoundProgram& program, const BoundEquation& equation);

}  // namespace ricci::codegen
