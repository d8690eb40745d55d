// tests/codegen/repeated_broadcasts_test.cpp – what all lanes take, broadcast anew for each vector
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "runtime/executor.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t rows = 90;
constexpr std::int64_t columns = 128;
constexpr std::int64_t depth = 24;

Signature arguments(DType dtype) {
    return {{"A", array({rows, depth}, dtype)},
            {"B", array({depth, columns}, dtype)},
            {"C", array({rows, columns}, dtype)},
            {"P", array({rows * columns}, dtype)},
            {"Q", array({200}, dtype)}};
}

BoundProgram program_of(const std::string& text, DType dtype) {
    return bound(text, named(text, arguments(dtype)));
}

std::string plan_of(const std::string& text, DType dtype = DType::f32, int unit_bytes = 32) {
    Target target = example_target(64);
    target.unit_bytes = unit_bytes;
    return str(codegen::plan(program_of(text, dtype), target));
}

bool is_anew(const std::string& plan) { return plan.find("broadcast anew") != std::string::npos; }

/// Programs with something that all lanes share, as they are used at f32 and f64.
const std::vector<std::string>& programs() {
    static const std::vector<std::string> all = {
        "D[i,j] := (A[i,k] - B[k,j])^2",
        "D[i,j] := (B[k,j] - A[i,k])^2",
        "D[i,k] := 2*(A[i,k] - B[k,j])*C[i,j]",
        "D[k,j] := -2*(A[i,k] - B[k,j])*C[i,j]",
        "D[i,j] := abs(A[i,k] - B[k,j])",
        "D[i,j] := max[k](A[i,k] + B[k,j])",
        "D[i,j] := min[k](B[k,j] - A[i,k])",
        "D[i,j] := max[k](A[i,k] - B[k,j])",
        "D[i,j] := max[k](abs(A[i,k] - B[k,j]))",
        "D[i,j] := A[i,k]*(A[i,k] - B[k,j])^2",
        "D[i,j] := (A[i,k] - B[k,j])*(A[i,k] + B[k,j])*(A[i,k] - 2)",
        "D[i,j] := (A[i,k] - B[k,j])*(0.5*A[i,k] - B[k,j])",
        "D[i,j] := prod[k](A[i,k] - B[k,j])",
        "D[i,j] := sum[k](A[i,k]*(A[i,k] - 2)*(B[k,j] - A[i,k])*(B[k,j]*B[k,j] + 1))",
        "D[i,j] := sum[k]((A[i,k] - B[k,j])*max(A[i,k] - B[k,j], 0))",
        "D[i,j] := sum[k]((A[i,k] - B[k,j])*((A[i,k] - B[k,j])*B[k,j] + 1))",
        "s[i] := sum[j]((Q[j] - P[i])*exp(Q[j] - P[i]))",
        "D[i,j] := (A[i,k] - B[k,j])^2/(1 + (A[i,k] - B[k,j])^2)",
        "D[i,j] := sum[k](A[i,k] + B[k,j])",
        "D[i,j] := sum[k](sqrt(1 + (A[i,k]*B[k,j])^2))",
        "s[i] := abs(P[i] - Q[j])",
        "s[i] := exp(-(Q[j] - P[i])^2)*Q[j]",
        "s[i] := max[j](P[i] - Q[j])",
        "s[i] := (Q[j] - P[i])*(Q[j] + 1)",
    };
    return all;
}

TEST_CASE("where units take two turns for a vector, what all lanes share is broadcast anew") {
    for (const char* text :
         {"D[i,j] := (A[i,k] - B[k,j])^2", "D[i,j] := (B[k,j] - A[i,k])^2",
          "D[i,k] := 2*(A[i,k] - B[k,j])*C[i,j]", "D[i,j] := abs(A[i,k] - B[k,j])",
          "D[i,j] := max[k](A[i,k] + B[k,j])", "s[i] := exp(-(Q[j] - P[i])^2)*Q[j]"}) {
        CAPTURE(text);
        CHECK(is_anew(plan_of(text)));
        CHECK(is_anew(plan_of(text, DType::f64)));
        CHECK_FALSE(is_anew(plan_of(text, DType::f32, 64)));
        CHECK_FALSE(is_anew(plan_of(text, DType::f16)));
    }
}

TEST_CASE("multiply-adds alone, and what no operand in memory can be, are broadcast once") {
    for (const char* text :
         {"D[i,j] := A[i,k]*B[k,j]", "D[i,j] := -A[i,k]*B[k,j]*2",
          "D[i,j] := max[k](A[i,k] - B[k,j])", "D[i,j] := exp(A[i,k])*exp(-B[k,j]^2)"}) {
        const std::string plan = plan_of(text);
        CAPTURE(plan);
        CHECK_FALSE(is_anew(plan));
    }
}

TEST_CASE("differences are turned where no sign counts but that of a zero that is added up") {
    const auto has = [](const std::string& text, const std::string& part) {
        const std::string plan = plan_of(text);
        CAPTURE(plan);
        CHECK(plan.find(part) != std::string::npos);
    };
    has("D[i,j] := (A[i,k] - B[k,j])^2", "= line[l] - A[");
    has("D[i,j] := (B[k,j] - A[i,k])^2", "= line[l] - A[");
    has("D[i,j] := abs(A[i,k] - B[k,j])", "sum= abs(line[16*u + l] - A[");
    has("D[i,j] := max[k](A[i,k] - B[k,j])", "- line[");
    has("s[i] := exp(-(Q[j] - P[i])^2)", "P[i0 + 16*u + l] - Q[j]");
    has("s[i] := exp(Q[j] - P[i])", "Q[j] - P[i0 + 16*u + l]");
}

TEST_CASE("values with broadcasts anew are those of the reference, compiled too") {
    for (const std::string& text : programs())
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(text);
            const Signature signature = named(text, arguments(dtype));
            check_values(text, signature);
            Target here = runtime::target();
            here.unit_bytes = here.vector_bytes / 2;
            CHECK(compiled_difference(bound(text, signature), signature, here) == "");
        }
}

}  // namespace
}  // namespace ricci::tests
