// tests/codegen/array_sums_test.cpp – sums over dimensions that an array has by itself
#include "codegen/array_sums.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {{"A", array({9, 4, 12, 12})},
                             {"B", array({12, 12}, DType::i64)},
                             {"K", array({12}, DType::i64)},
                             {"w", array({9})}};

std::string rewritten(const std::string& text) {
    return str(codegen::with_array_sums(bound(text, named(text, signature)), 0));
}
bool is_summed_first(const std::string& text) {
    return rewritten(text).find("_sums") != std::string::npos;
}

}  // namespace

TEST_CASE("what diagonals and keys sum is summed first over dimensions by themselves") {
    for (const char* text :
         {"T[h,t] := sum[b,j | t+j-11 >= 0 && t+j-11 < 12](A[b,h,t+j-11,j]) where t in 0:23",
          "T[h,k] := sum[b,i,j | k == B[i,j]](A[b,h,i,j]) where k in 0:20",
          "T[k] := sum[b,h,i,j | k == K[j]](A[b,h,i,j]) where k in 0:20",
          "T[h,t] := f64(sum[b,j](A[b,h,(t+j)%12,j])) where t in 0:12"}) {
        CAPTURE(text);
        CHECK(is_summed_first(text));
        check_values(text, named(text, signature));
    }
    CHECK_MESSAGE(rewritten("T[h,k] := sum[b,i,j | k == B[i,j]](A[b,h,i,j]) where k in 0:20")
                          .find("A.1[b.2,p") != std::string::npos,
                  rewritten("T[h,k] := sum[b,i,j | k == B[i,j]](A[b,h,i,j]) where k in 0:20"));
}

TEST_CASE("sums that read rows, parts, or other factors of a dimension stay as they are") {
    for (const char* text :
         {"T[h] := sum[b,i,j](A[b,h,i,j])", "T[j] := sum[b,h,i](A[b,h,i,j])",
          "T[h,t] := sum[b,j | t+j-11 >= 0 && t+j-11 < 12](A[b,h,t+j-11,j]*w[b]) where t in 0:23",
          "T[h,t] := sum[b in 0:8,j | t+j-11 >= 0 && t+j-11 < 12](A[b,h,t+j-11,j]) where t in 0:23",
          "T[h,t] := sum[b,i | t-i >= 0 && t-i < 12](A[b,h,i,t-i]) where t in 0:23",
          "T[h,k] := sum[b,i,j | k == B[i,j] && b > 2](A[b,h,i,j]) where k in 0:20",
          "T[h,t] := sum[b,j](f16(A[b,h,(t+j)%12,j])) where t in 0:12",
          "T[h,k] := max[b,i,j | k == B[i,j]](A[b,h,i,j]) where k in 0:20"})
        CHECK_MESSAGE(!is_summed_first(text), rewritten(text));
}

TEST_CASE("gradients of biases that a batch shares are taken from sums over the batch") {
    for (const char* forward :
         {"Y[b,h,i,j] := A[b,h,i,j]+T[h,i-j+11]", "Y[b,h,i,j] := A[b,h,i,j]+T[h,B[i,j]]"}) {
        const Program program = grad::gradient(parse_program(forward), "T");
        Signature given = named(forward, signature);
        given["T"] = array({4, 23});
        given["dY"] = array({9, 4, 12, 12});
        const BoundProgram gradient = ricci::bind(canonicalise(program), given);
        CHECK(str(codegen::with_array_sums(gradient, 0)).find("_sums") != std::string::npos);
        CHECK(interpreted_difference(gradient, given, example_target(64)) == "");
        CHECK(compiled_difference(gradient, given) == "");
    }
}
