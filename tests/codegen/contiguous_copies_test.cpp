// tests/codegen/contiguous_copies_test.cpp – lanes along what is summed, or along an index of
// the batch, in copies of what stands otherwise
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// The schedules on vectors of 16 lanes, after checks of the values on others, too.
std::string schedules(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    for (const int vector_bytes : {16, 32, 64})
        CHECK(interpreted_difference(program, signature, example_target(vector_bytes)) == "");
    CHECK(compiled_difference(program, signature) == "");
    std::string all;
    for (const codegen::Schedule& schedule : codegen::plan(program, example_target(64)).schedules)
        all += str(schedule);
    return all;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("few long sums of two operands run in lanes along the sums, rows side by side") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t depth : {784, 611}) {
            const Signature signature = {{"A", array({64, depth}, dtype)},
                                         {"B", array({10, depth}, dtype)}};
            CHECK(contains(schedules("C[i,j] := A[i,k]*B[j,k]", signature),
                           "results that share loads"));
            CHECK(contains(schedules("C[i,j] := max[k](A[i,k] - B[j,k])", signature),
                           "results that share loads"));
        }
    CHECK(contains(schedules("C[i,j] := tanh(sum[k]((A[i,k] - B[j,k])^2) + 1)",
                             {{"A", array({64, 784})}, {"B", array({10, 784})}}),
                   "results that share loads"));
    CHECK(
        contains(schedules("C[i,j] += A[i,k]*B[j,k]",
                           {{"C", array({6, 4})}, {"A", array({6, 500})}, {"B", array({4, 500})}}),
                 "results that share loads"));
    CHECK(contains(
        schedules("C[b,i,j] := A[b,i,k]*B[j,k]*W[j,k]",
                  {{"A", array({3, 8, 400})}, {"B", array({6, 400})}, {"W", array({6, 400})}}),
        "results that share loads"));
}

TEST_CASE("an operand that is not contiguous along the sums is copied") {
    const std::string plan =
        schedules("C[i,j] := A[i,k]*B[k,j]", {{"A", array({64, 784})}, {"B", array({784, 10})}});
    CHECK(contains(plan, "k0_C_rows: pointwise"));
    CHECK(contains(plan, "results that share loads"));
    CHECK(contains(schedules("C[i,j] := A[i,k]*B[k,j]", {{"A", array({60, 700}, DType::f64)},
                                                         {"B", array({700, 6}, DType::f64)}}),
                   "results that share loads"));
}

TEST_CASE("lanes run along an index of the batch that operands stand along, others are copied") {
    const auto copies = [](const std::string& text, const Signature& signature) {
        const std::string plan = schedules(text, signature);
        return contains(plan, "_rows: pointwise") && contains(plan, "vector z ");
    };
    CHECK(copies("C[b,a,z,c] := A[a,b,k,z]*B[z,k,c]",
                 {{"A", array({12, 41, 29, 53})}, {"B", array({53, 29, 3})}}));
    // A result that stands along it, too.
    CHECK(copies("A[a,b,k,z] := C[b,a,z,c]*B[z,k,c]",
                 {{"C", array({41, 12, 53, 3})}, {"B", array({53, 29, 3})}}));
    CHECK(
        copies("A[a,b,k,z] := max[c](C[b,a,z,c] + B[z,k,c])",
               {{"C", array({41, 12, 53, 3}, DType::f64)}, {"B", array({53, 29, 3}, DType::f64)}}));
    // Of matrices that stand one after the other nothing is copied.
    CHECK_FALSE(copies("C[z,a,c] := A[z,a,k]*B[z,k,c]",
                       {{"A", array({53, 41, 29})}, {"B", array({53, 29, 13})}}));
}

TEST_CASE("prime numbers of rows are side by side in two parts") {
    const std::string plan =
        schedules("C[i,j] := A[i,k]*B[j,k]", {{"A", array({37, 300})}, {"B", array({2, 300})}});
    CHECK(contains(plan, "results that share loads"));
    CHECK(contains(plan, "C_rest: row reduction"));
}

}  // namespace
}  // namespace ricci::tests
