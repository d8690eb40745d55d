// tests/codegen/stored_terms_test.cpp – sums of what another equation stores
#include "codegen/stored_terms.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "grad/joint.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// The equations as they are rewritten. Checks values of plans and of compiled code (doctest).
std::string rewritten(const Program& program, const Signature& signature,
                      const std::vector<std::string>& outputs) {
    const BoundProgram as_written = ricci::bind(program, signature, outputs);
    for (const Target& target : {example_target(64), example_target(16), example_gpu_target()})
        CHECK(interpreted_difference(as_written, signature, target).empty());
    CHECK(compiled_difference(as_written, signature).empty());
    const std::string all = str(codegen::with_stored_terms(as_written));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
std::string rewritten(const std::string& text, const Signature& signature,
                      const std::vector<std::string>& outputs) {
    return rewritten(canonicalise(parse_program(text)), signature, outputs);
}

const ArgumentSpec matrix = array({12, 20});

TEST_CASE("the gradient by a bias sums that by the input, in whatever order") {
    const Signature signature = {{"X", matrix}, {"b", array({20})}, {"dY", matrix}};
    for (const std::vector<std::string>& wrt :
         {std::vector<std::string>{"X", "b"}, std::vector<std::string>{"b", "X"}}) {
        const auto joint = grad::differentiate(
            canonicalise(parse_program("Y[i,k] := relu(X[i,k] + b[k])")), wrt, {});
        const std::string text = rewritten(joint.program, signature, {"dX", "db"});
        INFO(text);
        CHECK(text.find("sum[i") != std::string::npos);
        CHECK(text.find("(dX.") != std::string::npos);
        CHECK(text.find("dX.") < text.find("sum["));
    }
}

TEST_CASE("a term of two arrays is read where it is a part of what is summed too") {
    CHECK(rewritten("P[i,k] := A[i,k] + B[i,k]; s[i] := sum[k](max(A[i,k] + B[i,k], 0)*w[k])",
                    {{"A", matrix}, {"B", matrix}, {"w", array({20})}}, {"P", "s"}) ==
          "for i.0 in 0:12, k.1 in 0:20:\n"
          "  P.2[i.0,k.1] := A.0[i.0,k.1] + B.1[i.0,k.1]\n"
          "for i.2 in 0:12:\n"
          "  s.4[i.2] := f32 sum[k.3 in 0:20](max(P.2[i.2,k.3], 0.0)*w.3[k.3])\n");
}

TEST_CASE("so is a dear function of one array, with indices in another order") {
    CHECK(rewritten("s[k] := sum[i](exp(A[k,i])); P[k,i] := exp(A[i,k])", {{"A", matrix}},
                    {"P", "s"}) ==
          "for k.2 in 0:20, i.3 in 0:12:\n"
          "  P.2[k.2,i.3] := exp(A.0[i.3,k.2])\n"
          "for k.0 in 0:12:\n"
          "  s.1[k.0] := f32 sum[i.1 in 0:20](P.2[i.1,k.0])\n");
}

TEST_CASE("what costs no more than a load is summed as it is written") {
    const std::vector<std::string> outputs = {"P", "s"};
    for (const std::string& all :
         {rewritten("P[i,k] := 2*A[i,k] + b[k]; s[k] := 2*A[i,k] + b[k]",
                    {{"A", matrix}, {"b", array({20})}}, outputs),
          rewritten("P[i,k] := exp(x[i] + b[k]); s[k] := sum[i](exp(x[i] + b[k]))",
                    {{"x", array({12})}, {"b", array({20})}}, outputs)}) {
        CHECK(all.find("sum[") != std::string::npos);
        CHECK(all.find("(P.") == std::string::npos);
    }
}

TEST_CASE("other ranges, types, updates and arrays that are no outputs are not read") {
    struct Case {
        const char* text;
        const char* other;
        std::vector<std::string> outputs;
    };
    for (const Case& each : {
             Case{"Q[i,k] := A[i,k]*B[i,k] where i in 0:6; s[k] := A[i,k]*B[i,k]", "B", {"Q", "s"}},
             Case{"Q[i,k] := bf16(A[i,k]*B[i,k]); s[k] := A[i,k]*B[i,k]", "B", {"Q", "s"}},
             Case{"P[i,k] += exp(A[i,k]); s[k] := exp(A[i,k])", "P", {"P", "s"}},
             Case{"Q[i,k] := A[i,k]*B[i,k]; Q[i,k] += 1; s[k] := A[i,k]*B[i,k]", "B", {"Q", "s"}},
             Case{"s[k] := A[i,k]*P[i,k]; P[i,k] += 1; Q[i,k] := A[i,k]*P[i,k]", "P", {"Q", "s"}},
             Case{"Q[i,k] := A[i,k]*B[i,k]; R[i,k] := 2*Q[i,k]; s[k] := A[i,k]*B[i,k]",
                  "B",
                  {"R", "s"}},
         }) {
        Signature signature = {{"A", matrix}, {each.other, matrix}};
        const std::string all = rewritten(each.text, signature, each.outputs);
        INFO(all);
        CHECK(all.find("sum[") != std::string::npos);
        CHECK(all.find("(Q.") == std::string::npos);
        CHECK(all.find("](P.") == std::string::npos);
    }
}

TEST_CASE("terms of halves, of gathered rows and of three arrays in other orders are read") {
    const std::vector<std::string> outputs = {"P", "s"};
    for (const DType dtype : {DType::f16, DType::bf16}) {
        const std::string all =
            rewritten("P[i,k] := A[i,k]*B[i,k]; s[k] := sum[i](A[i,k]*B[i,k])",
                      {{"A", array({12, 20}, dtype)}, {"B", array({12, 20}, dtype)}}, outputs);
        INFO(all);
        CHECK(all.find("sum[") != std::string::npos);
    }
    const std::string gathered = rewritten(
        "P[i,k] := exp(A[i,k])*E[clamp(J[i]),k]; s[k] := sum[i](exp(A[i,k])*E[clamp(J[i]),k])",
        {{"A", matrix}, {"E", array({30, 20})}, {"J", array({12}, DType::i32)}}, outputs);
    INFO(gathered);
    CHECK(gathered.find("(P.") != std::string::npos);
    const std::string permuted =
        rewritten("P[k,i] := A[i,k]*B[k,i]*C[i,k]; s[i] := sum[k](A[i,k]*B[k,i]*C[i,k])",
                  {{"A", matrix}, {"B", array({20, 12})}, {"C", matrix}}, outputs);
    INFO(permuted);
    CHECK(permuted.find("(P.") != std::string::npos);
}

}  // namespace
}  // namespace ricci::tests
