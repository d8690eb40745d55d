// runtime/reference_reduce.h – combines the terms of one reduction, for the reference evaluator
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "dsl/ops.h"
#include "runtime/reference_ops.h"

namespace ricci::runtime {

/// A sum in double whose rounding errors are added back at the end (Neumaier's method): the order
/// of the terms hardly matters.
class CompensatedSum {
  public:
    void add(double x) noexcept;
    [[nodiscard]] double value() const noexcept;

  private:
    double sum_ = 0;
    double lost_ = 0;
};

/// Combines terms in the order given, in the type of the accumulator. No term at all gives the
/// identity of the reducer; argmax and argmin then give the lowest i64, which no index has.
class Accumulator {
  public:
    /// `term_type` is the type of the terms: the accumulator's own but for argmax and argmin.
    Accumulator(Reducer reducer, DType type, DType term_type, bool with_bounds);

    /// `index` is the value of the reduced index, for argmax and argmin.
    void add(const Scalar& term, std::int64_t index);
    [[nodiscard]] Scalar result() const;

  private:
    [[nodiscard]] Scalar identity() const;
    [[nodiscard]] Scalar extreme(double value) const;
    void add_to_sum(const Scalar& term);
    void combine(Op op, const Scalar& term);
    void compete(const Scalar& term, std::int64_t index);
    [[nodiscard]] bool is_better(const Scalar& term, const Scalar& best) const;
    [[nodiscard]] bool is_close_call() const;

    Reducer reducer_;
    DType type_;
    DType term_type_;
    bool with_bounds_;
    Scalar value_;
    std::size_t count_ = 0;
    CompensatedSum sum_;
    double magnitudes_ = 0;           ///< of the terms of a sum
    std::vector<Scalar> candidates_;  ///< of argmax and argmin
    std::size_t best_ = 0;
};

}  // namespace ricci::runtime
