// codegen/deinterleave.h – a copy of an operand whose lanes stand a few elements apart
//
// The copy holds the elements that the operand reads, in the order of memory, but those of each
// residue of their place together: lanes `step` elements apart become neighbours. Unlike panels it
// holds each element once, however many columns share it, as those of a strided convolution do.
#pragma once

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// An operand's elements, residue by residue.
struct Deinterleaved {
    std::size_t place = 0;      ///< the plan buffer
    std::int64_t first = 0;     ///< the element of the operand's buffer that is copied to 0
    std::int64_t step = 1;      ///< residues
    std::int64_t elements = 0;  ///< of one residue, with what the last tile reads beyond

    /// Where an element of the operand's buffer is in the copy: its quotient by the step, among the
    /// elements of its residue. Names both in `body`.
    [[nodiscard]] AffineForm at(Nest& nest, Body& body, const AffineForm& element) const;
};

/// From the first element that a load of an affine place reads to the last one: what is copied, but
/// for the end of the last vectors. 0 where conditions exclude all that is in bounds.
[[nodiscard]] std::int64_t span_of_load(const Kernel& kernel, const Load& load);

/// Adds the step that copies the elements that the load reads, some, for lanes along an axis in
/// tiles of so many columns.
[[nodiscard]] Deinterleaved deinterleave(const Kernel& kernel, const Load& load, const Axis& lane,
                                         std::int64_t columns, const std::string& name,
                                         PlanBuilder& builder);

}  // namespace ricci::codegen
