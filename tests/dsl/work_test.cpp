// tests/dsl/work_test.cpp – what a program has to do at the least
#include "dsl/work.h"

#include <doctest/doctest.h>

#include "dsl/canonical.h"

namespace ricci::tests {
namespace {

Work work(const char* text, const Signature& signature) {
    return work_of(ricci::bind(canonicalise(parse_program(text)), signature));
}
ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

TEST_CASE("a multiplication and an addition are two operations, a choice is none") {
    CHECK(
        work("C[i,j] := A[i,k]*B[k,j]", {{"A", array({2, 3})}, {"B", array({3, 5})}}).operations ==
        2 * 2 * 3 * 5);
    CHECK(work("y[i] := a[i] > 0 ? a[i] : 0", {{"a", array({4})}}).operations == 0);
    CHECK(work("y[i] := a[pad(i-1,1)]*f[k]", {{"a", array({4})}, {"f", array({3})}}).operations ==
          2 * 6 * 3);
}

TEST_CASE("finding places is no work on values") {
    const Signature gather = {{"A", array({4})}, {"J", array({10}, DType::i64)}};
    CHECK(work("y[i] := A[J[i]]", gather).operations == 0);
    CHECK(work("y[i] := A[wrap(2*i-1)] where i in 0:9", {{"A", array({4})}}).operations == 0);
}

}  // namespace
}  // namespace ricci::tests
