// tests/codegen/interleave_vectors_test.cpp – vectors of functions as one of several registers
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// All nests for vectors of so many bytes. Checks values, too.
std::string nests(const std::string& text, const Signature& signature, int vector_bytes = 32) {
    INFO(text);
    const BoundProgram program = bound(text, signature);
    const Target target = example_target(vector_bytes);
    CHECK(interpreted_difference(program, signature, target) == "");
    std::string all;
    for (const codegen::Nest& nest : codegen::plan(program, target).nests) all += str(nest);
    return all;
}

/// Whether a vector loop has so many lanes.
bool has_lanes(const std::string& text, int lanes) {
    return text.find("in 0.." + std::to_string(lanes) + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("AVX2 computes functions in vectors of several registers") {
    const Signature signature = {{"x", array({640})}};
    CHECK(has_lanes(nests("y[i] := exp(x[i])", signature), 32));
    CHECK(has_lanes(nests("y[i] := erf(2*x[i]) + 1", signature), 32));
    CHECK(has_lanes(nests("s := sum[i](exp(x[i]))", signature), 32));
    CHECK(has_lanes(nests("y[i] := exp(x[i])", {{"x", array({640}, DType::f64)}}), 16));
    // Long functions, and many, take two.
    CHECK(has_lanes(nests("y[i] := tanh(x[i])", signature), 16));
    CHECK_FALSE(has_lanes(nests("y[i] := tanh(x[i])", signature), 32));
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[i]) + erf(x[i]) + tanh(x[i])", signature), 32));
    // AVX-512 sees far enough ahead, and SSE2 has not been measured.
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[i])", signature, 64), 64));
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[i])", signature, 16), 16));
}

TEST_CASE("each pass over a row has vectors for the functions that it computes itself") {
    const Signature signature = {{"x", array({100, 640})}};
    const std::string softmax = nests(
        "m[n] := max[i](x[n,i]); e[n,i] := exp(x[n,i] - m[n]); y[n,i] := e[n,i]/sum[j](e[n,j])",
        signature);
    CHECK(has_lanes(softmax, 32));
    CHECK(softmax.find("in 0..640 by 8\n") != std::string::npos);  // the division
    // The last pass has the exponential.
    const std::string gradient =
        nests("s[n] := sum[i](g[n,i]); y[n,i] := g[n,i] - exp(x[n,i])*s[n]",
              {{"x", array({100, 640})}, {"g", array({100, 640})}});
    CHECK(gradient.find("in 0..640 by 8\n") == std::string::npos);
    CHECK(has_lanes(gradient, 32));
    // A pass that writes elements apart is not written out.
    const std::string apart =
        nests("s[n] := sum[i](g[n,i]); y[n,2*i] += exp(x[n,i])*s[n]",
              {{"x", array({100, 640})}, {"g", array({100, 640})}, {"y", array({100, 1280})}});
    CHECK_FALSE(has_lanes(apart, 32));
}

TEST_CASE("lanes of several types are as many as of the longest") {
    CHECK(has_lanes(nests("y[i] := exp(x[i])", {{"x", array({640}, DType::f16)}}), 32));
    CHECK(has_lanes(
        nests("y[i] := exp(x[i])*z[i]", {{"x", array({640})}, {"z", array({640}, DType::f64)}}),
        16));
}

TEST_CASE("vectors that leave much of a row over are computed one by one") {
    const auto of = [](std::int64_t size) {
        return nests("y[n,i] := exp(x[n,i] + z[i])",
                     {{"x", array({50, size})}, {"z", array({size})}});
    };
    CHECK(has_lanes(of(64), 32));
    CHECK(has_lanes(of(48), 16));
    CHECK_FALSE(has_lanes(of(40), 16));
    CHECK_FALSE(has_lanes(of(40), 32));
    // What is left is half a vector, or little of the row.
    CHECK(has_lanes(of(68), 32));
    CHECK(has_lanes(of(1037), 32));
    CHECK_FALSE(has_lanes(of(104), 16));
}

TEST_CASE("masked vectors of functions stay apart") {
    const std::string triangle =
        nests("s[i] := sum[k | k <= i](exp(x[i,k]))", {{"x", array({64, 64})}});
    CHECK_FALSE(has_lanes(triangle, 32));
    CHECK_FALSE(has_lanes(triangle, 16));
}

TEST_CASE("lanes that do not follow on those of the vector before are not joined") {
    const Signature signature = {{"x", array({2000})}};
    const Signature with_places = {{"x", array({2000})}, {"j", array({640}, DType::i64)}};
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[2*i]) where i in 0:640", signature), 32));
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[639-i]) where i in 0:640", signature), 32));
    CHECK_FALSE(has_lanes(nests("y[i] := exp(x[clamp(j[i])])", with_places), 32));
    // What is the same for all lanes is.
    CHECK(has_lanes(nests("y[i] := exp(x[i] + x[3]) where i in 0:640", signature), 32));
    CHECK(has_lanes(nests("y[i] := exp(x[i])*i where i in 0:640", signature), 32));
}
