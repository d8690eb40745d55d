// codegen/cuda/ranges.h – which values the variables of a nest can have
#pragma once

#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen::cuda {

/// All values lie in [low, high] and are multiples of `multiple` (0: all are 0).
struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t multiple = 1;

    /// As a 32-bit integer.
    [[nodiscard]] bool is_narrow() const noexcept;
};

/// Ranges of all variables of a nest, from its bounds. Ends beyond 2^62 are taken as 2^62.
class Ranges {
  public:
    explicit Ranges(const Nest& nest);

    [[nodiscard]] const Range& at(VarId var) const { return vars_.at(std::size_t(var)); }
    [[nodiscard]] Range of(const AffineForm& form) const;
    /// Of ceil(form / divisor) or floor(form / divisor).
    [[nodiscard]] Range of(const BoundTerm& term, bool is_lower) const;
    [[nodiscard]] Range of(const LoopBound& bound, bool is_lower) const;
    /// Whether no sum of some of the form's terms leaves 32 bits: `slack` may still be added.
    [[nodiscard]] bool is_narrow(const AffineForm& form, std::int64_t slack = 0) const;

  private:
    void visit(const Body& body);
    void visit(const Loop& loop);
    void visit(const LetVar& let);

    std::vector<Range> vars_;
};

}  // namespace ricci::codegen::cuda
