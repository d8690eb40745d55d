// tests/codegen/equal_nests_test.cpp – which kernels of a plan are one
#include "codegen/equal_nests.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codegen/nest_build.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using Firsts = std::vector<std::size_t>;

Firsts firsts_of(const std::string& text, const Signature& signature) {
    return first_equals(codegen::plan(bound(text, signature), example_target(32)).nests);
}

/// to[task] = number.
Nest fill(double number, DType dtype = DType::f32) {
    Nest nest;
    nest.name = "fill";
    const BufferId to =
        nest.add(Buffer{.name = "to", .dtype = dtype, .elements = 4, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    nest.body = {{Loop{.var = task,
                       .lower = bound(form(0)),
                       .upper = bound(form(4)),
                       .bind = Bind::parallel,
                       .body = {make_store(to, {form(task)}, make_number(dtype, number))}}}};
    return nest;
}

}  // namespace

TEST_CASE("layers of equal shapes are equal kernels, whatever their axes are called") {
    const Signature square = {{"X", array({64, 64})},
                              {"V", array({64, 64})},
                              {"W", array({64, 64})},
                              {"Z", array({64, 64})}};
    // Arrays of the caller's, which the first reads and the last may write, begin anywhere.
    CHECK(firsts_of("A[i,j] := max(0, X[i,k]*V[k,j]) ; B[n,o] := max(0, A[n,m]*W[m,o]) ;"
                    "C[i,o] := max(0, B[i,k]*Z[k,o]) ; D[i,j] := max(0, C[i,k]*V[k,j])",
                    square) == Firsts{0, 1, 1, 3});
    CHECK(firsts_of("A[i,j] := max(0, X[i,k]*V[k,j]) ; B[n,o] := max(0, A[n,m]*W[m,o]) ;"
                    "C[i,o] := max(1, B[i,k]*Z[k,o]) ; D[i,j] := max(0, C[i,k]*V[k,j])",
                    square) == Firsts{0, 1, 2, 3});
}

TEST_CASE("kernels that differ in a number, a type or their memory are not equal") {
    CHECK(first_equals(std::vector{fill(1), fill(2), fill(1)}) == Firsts{0, 1, 0});
    CHECK(first_equals(std::vector{fill(0.0), fill(-0.0)}) == Firsts{0, 1});
    CHECK(first_equals(std::vector{fill(1), fill(1, DType::f64)}) == Firsts{0, 1});
    Nest unaligned = fill(1);
    unaligned.buffers[0].alignment = 4;
    Nest reversed = fill(1);
    reversed.buffers[0].first = -3;
    Nest larger = fill(1);
    larger.buffers[0].elements = 8;
    CHECK(first_equals(std::vector{fill(1), unaligned, reversed, larger, unaligned}) ==
          Firsts{0, 1, 2, 3, 1});
    CHECK(first_equals({}).empty());
}

}  // namespace ricci::tests
