// tests/codegen/rows_of_lanes_test.cpp – far lanes that read and write rows; cases written out
#include <string>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

std::string plan_text(const std::string& text, const Signature& signature) {
    check_values(text, signature);
    return str(codegen::plan(bound(text, signature), example_target(64)));
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* determinant =
    "d[n] := A[n,0,0]*(A[n,1,1]*A[n,2,2] - A[n,1,2]*A[n,2,1]) - A[n,0,1]*(A[n,1,0]*A[n,2,2] - "
    "A[n,1,2]*A[n,2,0]) + A[n,0,2]*(A[n,1,0]*A[n,2,1] - A[n,1,1]*A[n,2,0])";

TEST_CASE("what lanes read side by side is read as rows") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::bf16, DType::u8})
        for (const std::int64_t n : {16, 40, 133}) {
            const std::string plan = plan_text(determinant, {{"A", array({n, 3, 3}, dtype)}});
            CHECK(contains(plan, "unroll q in 0..9\n"));
            CHECK(contains(plan, "row["));
        }
}

TEST_CASE("rows are not read where lanes are near, elements few or far between") {
    const auto is_read = [](const std::string& text, const Shape& shape) {
        return contains(plan_text(text, {{"A", array(shape)}}), "row[");
    };
    const std::string six = "d[n] := exp(A[n,0]*A[n,1] + A[n,2]*A[n,3] + A[n,4]*A[n,5])";
    CHECK(is_read(six, {80, 7}));
    CHECK(is_read("d[n] := exp(A[n,0]*A[n,2] + A[n,4]*A[n,6] + A[n,8]*A[n,10])", {80, 11}));
    CHECK(!is_read("d[n] := exp(A[n,0]*A[n,1] + A[n,2]*A[n,3])", {80, 4}));
    CHECK(!is_read("d[n] := exp(A[n,0]*A[n,1] + A[n,2])", {80, 5}));
    CHECK(!is_read("d[n] := exp(A[n,0]*A[n,4] + A[n,8]*A[n,12])", {80, 20}));
    CHECK(!is_read("d[n] := exp(A[n,0]*A[n,10] + A[n,20]*A[n,33])", {80, 40}));
}

TEST_CASE("a choice reads where it is taken alone") {
    // Row 0 has nothing before it.
    const std::string plan = plan_text(
        "d[n] := exp(A[n,0]*A[n,1] + A[n,2]*A[n,3] + A[n,4]) + A[pad(n-1),5] where n in 0:80",
        {{"A", array({80, 6})}});
    CHECK(contains(plan, "row["));
    CHECK(contains(plan, "unroll q in 0..5\n"));
}

TEST_CASE("places that a term tells apart are written out, what they share once") {
    const std::string gates =
        "dG[n,t,k] := (t == 0 ? exp(x[n,k])*x[n,k] : 0.0) + (t == 2 ? exp(x[n,k]) : 0.0) "
        "+ (t == 3 ? -x[n,k] : 0.0) where t in 0:4";
    const std::string plan = plan_text(gates, {{"x", array({20, 64})}});
    CHECK(!contains(plan, "select"));
    CHECK(contains(plan, "let %1 = x[64*n + k0 + l]\n"));
    CHECK(contains(plan, "let %2 = exp(%1)\n"));
    CHECK(contains(plan, "let %4 = 0.0\n"));
    CHECK(contains(plan, "dG[256*n + k0 + l + 64] = %4\n"));
    // Both of two axes.
    const std::string all = plan_text(
        "Y[n,i,j] := (i == 0 && j == 1 ? exp(x[n]) : 0.0) + "
        "(i == 1 && j == 0 ? exp(x[n])*x[n] : 0.0) "
        "where i in 0:2, j in 0:3",
        {{"x", array({100})}});
    CHECK(!contains(all, "select"));
    CHECK(contains(all, "unroll q in 0..6\n"));
}

TEST_CASE("turns of few places are written out in one kernel") {
    const std::string plan =
        plan_text("c[n,i] := a[n,(i+1)%3]*b[n,(i+2)%3] - a[n,(i+2)%3]*b[n,(i+1)%3] where i in 0:3",
                  {{"a", array({100, 3})}, {"b", array({100, 3})}});
    CHECK(!contains(plan, "_behind"));
}

TEST_CASE("places stay where there are many, or lanes along them are worth more") {
    CHECK(contains(plan_text("Y[n,c] := c == 2 ? x[n] : 0.0 where c in 0:16", {{"x", array({64})}}),
                   "select"));
    CHECK(contains(
        plan_text("Y[t,k] := t == 2 ? exp(x[k]) : 0.0 where t in 0:40", {{"x", array({64})}}),
        "select"));
}

TEST_CASE("small problems of a batch are summed in lanes over it") {
    const auto takes_rows = [](const std::string& text, const Signature& signature) {
        return contains(plan_text(text, signature), "points between those of neighbouring lanes");
    };
    for (const std::int64_t n : {3, 4, 5})
        CHECK(takes_rows("Y[n,i] := R[n,i,j]*x[n,j]",
                         {{"R", array({100, n, n})}, {"x", array({100, n})}}));
    CHECK(takes_rows("Y[n,i] := R[n,i,j]*x[n,j]",
                     {{"R", array({90, 3, 3}, DType::f64)}, {"x", array({90, 3}, DType::f64)}}));
    CHECK(takes_rows("Y[n,i] := max[j](R[n,i,j] + x[n,j])",
                     {{"R", array({90, 3, 3})}, {"x", array({90, 3})}}));
    CHECK(takes_rows("Y[n,i] += R[n,i,j]*x[n,j]",
                     {{"Y", array({90, 3})}, {"R", array({90, 3, 3})}, {"x", array({90, 3})}}));
    CHECK(!takes_rows("Y[n,i] := R[n,i,j]*x[n,j]",
                      {{"R", array({100, 16, 16})}, {"x", array({100, 16})}}));
}

TEST_CASE("what is left of squares is a narrow square") {
    for (const std::int64_t n : {3, 5, 9, 15, 19, 31})
        for (const DType dtype : {DType::f32, DType::f64, DType::i16, DType::u8}) {
            const Signature wide = {{"X", array({100, n}, dtype)}};
            CHECK(contains(plan_text("Y[j,n] := X[n,j]", wide), "unroll p in 0.."));
            (void)plan_text("Y[n,j] := X[j,n]", {{"X", array({n, 100}, dtype)}});
        }
}

TEST_CASE("stores whose places are data go where these say, beside rows that are transposed") {
    for (const std::int64_t n : {16, 40})
        for (const DType dtype : {DType::f32, DType::f64, DType::i16}) {
            const Signature arrays = {{"A", array({n, 8}, dtype)},
                                      {"B", array({n, 8}, dtype)},
                                      {"C", array({8, n}, dtype)}};
            // An output is stored: its elements are data.
            const BoundProgram program = ricci::bind(
                canonicalise(
                    parse_program("J[k] := 7 - 2*k where k in 0:8; A[n,k+J[k]] = B[n,k] + C[k,n]")),
                arrays, {"J", "A"});
            CHECK(interpreted_difference(program, arrays, example_target(64)).empty());
            CHECK(compiled_difference(program, arrays).empty());
            check_values("A[n,k] = A[n,k]*B[n,k] + C[k,n]", arrays);
        }
}

TEST_CASE("places of extremes of short rows are found in lanes over the rows") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u8})
        for (const std::int64_t n : {5, 8, 13})
            CHECK(contains(plan_text("s[n] := argmax[i](X[n,i])", {{"X", array({75, n}, dtype)}}),
                           "unroll i in 0.."));
}

TEST_CASE("elements of any size two to four apart are read and written as vectors") {
    for (const DType dtype :
         {DType::u8, DType::i16, DType::f16, DType::bf16, DType::boolean, DType::f32, DType::i64})
        for (const std::int64_t channels : {2, 3, 4})
            for (const std::int64_t columns : {16, 37}) {
                const Signature last = {{"A", array({3, columns, channels}, dtype)}};
                check_values("v[c,y,x] := A[y,x,c]", last);
                check_values("v[y,x] := f32(A[y,x,0])*0.5 + f32(A[y,x,1])", last);
                check_values("v[y,x,c] := A[c,y,x]", {{"A", array({channels, 3, columns}, dtype)}});
            }
}

}  // namespace
