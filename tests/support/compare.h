// tests/support/compare.h – compares arrays with estimates of the reference evaluator
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dsl/bound.h"
#include "runtime/array.h"
#include "runtime/reference.h"

namespace ricci::tests {

/// What a comparison of elements found. Totals of several comparisons add up.
struct Comparison {
    std::size_t compared = 0;
    std::size_t skipped = 0;  ///< elements whose bound is infinite: nothing can be said
    double worst = 0;         ///< the largest error, in bounds; more than 1 is a failure
    std::string failure;      ///< the first element that fails: place, both values, bound

    [[nodiscard]] bool holds() const noexcept { return failure.empty(); }
    Comparison& operator+=(const Comparison& other);
};

/// Every element within `slack` times its bound of the reference's value; NaN where it has NaN.
[[nodiscard]] Comparison compare(const Array& found, const runtime::Estimate& expected,
                                 double slack = 4);

/// The first element that is another one than the reference's, also where there is no bound:
/// infinities and NaN have to be the same, numbers up to `tolerance` of them and `least`. Empty
/// when there is none.
[[nodiscard]] std::string first_difference(const Array& found, const Array& expected,
                                           double tolerance, double least);

/// Arguments for a bound program, in its order: arrays uniform in [-1.5, 1.5), scalars likewise but
/// for those that the signature gives a value. An argument of one name gets the same values in
/// every program.
[[nodiscard]] std::vector<Array> random_arguments(const BoundProgram& program,
                                                  const Signature& signature, std::uint64_t seed);

}  // namespace ricci::tests
