// tests/gpu/device_test.cpp – programs and gradients on a real GPU against the reference
//
// Skipped where there is no GPU: tests/emulation executes the same kernels there. script/gpu runs
// these under compute-sanitizer too, on the small sizes (RICCI_TEST_SMALL=1).
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/function.h"
#include "tests/gpu/missing.h"
#include "tests/support/compare.h"
#include "tests/support/random_program.h"
#include "tests/support/set_variable.h"

namespace ricci::tests {
namespace {

struct Sample {
    std::string text;
    /// Rank 0: a scalar. `J` holds places.
    std::vector<std::pair<std::string, Shape>> shapes;
};

Signature signature_of(const Sample& sample, DType dtype) {
    Signature signature;
    for (const auto& [name, shape] : sample.shapes) {
        ArgumentSpec& spec = signature[name];
        spec.dtype = name == "J" ? DType::i64 : dtype;
        spec.shape = shape;
    }
    return signature;
}

const std::vector<Sample>& small_samples() {
    static const std::vector<Sample> samples = {
        {"y[i] := 2*x[i] + 1", {{"x", {1}}}},
        {"y[i] := tanh(x[i]) * exp(x[i])", {{"x", {1001}}}},
        {"y[j,i] := x[i,j]", {{"x", {67, 131}}}},
        {"y[c,b,a] := x[a,b,c]", {{"x", {5, 33, 70}}}},
        {"s := x[i]", {{"x", {10007}}}},
        {"s := max[i](x[i])", {{"x", {333}}}},
        {"y[i] := x[i,j]", {{"x", {17, 1300}}}},
        {"y[j] := x[i,j]", {{"x", {1300, 17}}}},
        {"y[i] := argmax[j](x[i,j])", {{"x", {40, 99}}}},
        {"y[i] := prod[j](x[i,j])", {{"x", {40, 5}}}},
        {"S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
         {{"X", {37, 129}}}},
        {"Y[n,o] := W[o,k]*X[n,k] + b[o]", {{"W", {65, 77}}, {"X", {130, 77}}, {"b", {65}}}},
        {"Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
         {{"W", {128, 64}}, {"X", {128, 64}}, {"b", {128}}}},
        {"D[i,j] := (w[k,i] - x[k,j])^2", {{"w", {33, 70}}, {"x", {33, 129}}}},
        {"D[i,j] := min[k](w[k,i] + x[k,j])", {{"w", {33, 70}}, {"x", {33, 129}}}},
        {"C[b,i,j] := A[b,i,k]*B[b,k,j]", {{"A", {5, 34, 40}}, {"B", {5, 40, 50}}}},
        {"y[o] := x[o+k]*f[k]", {{"x", {100}}, {"f", {7}}}},
        {"y[o] := x[2*o+3*k]*f[k]", {{"x", {100}}, {"f", {5}}}},
        {"Y[n,o,y,x] := A[n,c,y+r,x+s]*F[o,c,r,s]", {{"A", {2, 9, 12, 14}}, {"F", {17, 9, 3, 3}}}},
        {"t := A[i,i]", {{"A", {50, 50}}}},
    };
    return samples;
}

/// More than a tile, a block or a vector of each; the reference takes a second for each million of
/// points.
const std::vector<Sample>& large_samples() {
    static const std::vector<Sample> samples = {
        {"Y[n,o] := W[o,k]*X[n,k] + b[o]", {{"W", {130, 36}}, {"X", {258, 36}}, {"b", {130}}}},
        {"D[i,j] := (w[k,i] - x[k,j])^2", {{"w", {20, 130}}, {"x", {20, 258}}}},
        {"s := x[i]", {{"x", {1'000'011}}}},
        {"y[j] := x[i,j]", {{"x", {10'000, 65}}}},
        {"C[i,j] := A[k,i]*B[k,j]", {{"A", {300, 40}}, {"B", {300, 70}}}},
        {"C[b,i,j] := A[b,i,k]*B[b,j,k]", {{"A", {3, 70, 66}}, {"B", {3, 68, 66}}}},
        {"Y[n,o,y,x] := A[n,c,y+r,x+s]*F[o,c,r,s]", {{"A", {2, 8, 20, 20}}, {"F", {18, 8, 3, 3}}}},
        {"Y[n,o,y,x] := A[n,c,pad(2*y+r-1,1),pad(2*x+s-1,1)]*F[o,c,r,s]",
         {{"A", {2, 8, 33, 35}}, {"F", {18, 8, 3, 3}}}},
        {"Y[n,c,y,x] := A[n,c,y+r,x+s]*F[c,r,s]", {{"A", {2, 20, 40, 40}}, {"F", {20, 3, 3}}}},
        {"S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
         {{"X", {100, 4097}}}},
        {"m[i] := mean[j](X[i,j])\nv[i] := mean[j]((X[i,j] - m[i])^2)\n"
         "Y[i,j] := (X[i,j] - m[i]) / sqrt(v[i] + 1e-5) * g[j] + b[j]",
         {{"X", {200, 1023}}, {"g", {1023}}, {"b", {1023}}}},
        {"Y[n,d] := E[wrap(J[n]),d]", {{"E", {40, 4}}, {"J", {40'000}}}},
    };
    return samples;
}

/// The bound program's outputs on the GPU within the bounds of the reference, which is evaluated
/// once for all choices of who computes.
void check_program(const Program& program, const Signature& signature, const std::string& label) {
    const BoundProgram bound = ricci::bind(program, signature);
    const std::vector<Array> values = random_arguments(bound, signature, 11);
    const auto expected = runtime::evaluate_with_bounds(bound, values);
    for (const char* libraries : {"generated", "auto", "library"}) {
        const SetVariable choice("RICCI_CUDA_LIBRARIES", libraries);
        Arguments arguments;
        for (std::size_t i = 0; i < values.size(); ++i)
            arguments.emplace_back(bound.at(bound.arguments[i]).name,
                                   values[i].is_weak() ? values[i] : values[i].copy());
        try {
            const Array found = Function(program, "sample", Device::cuda)(arguments);
            const Comparison comparison = compare(found, expected.front());
            CHECK_MESSAGE(comparison.holds(),
                          format("{} ({}): {}", label, libraries, comparison.failure));
        } catch (const Error& error) {
            // What is recognised, but not possible for the library.
            const bool is_refused = libraries == std::string("library") &&
                                    error.diagnosis().message.starts_with("no library");
            CHECK_MESSAGE(is_refused, format("{} ({}): {}", label, libraries, error.what()));
        }
    }
}

void check_sample(const Sample& sample, DType dtype) {
    const Program program = canonicalise(parse_program(sample.text));
    const Signature signature = signature_of(sample, dtype);
    check_program(program, signature, sample.text);
    const BoundProgram bound = ricci::bind(program, signature);
    const BoundTensor& result = bound.at(bound.outputs.front());
    if (!is_floating(result.dtype)) return;
    for (const auto& [name, shape] : sample.shapes) {
        if (name == "J") continue;
        const Program gradient = grad::gradient(program, name);
        Signature extended = signature;
        std::erase_if(extended, [&](const auto& spec) { return !gradient.argument(spec.first); });
        const std::string cotangent = "d" + program.at(program.result()).name;
        extended[cotangent].dtype = result.dtype;
        extended[cotangent].shape = result.shape;
        check_program(canonicalise(gradient), extended, format("{} d{}", sample.text, name));
    }
}

}  // namespace

TEST_CASE("programs of every kind and their gradients agree with the reference on a GPU") {
    if (is_missing()) return;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Sample& sample : small_samples()) check_sample(sample, dtype);
}

TEST_CASE("large programs agree with the reference on a GPU") {
    if (is_missing() || std::getenv("RICCI_TEST_SMALL") != nullptr) return;
    for (const Sample& sample : large_samples()) check_sample(sample, DType::f32);
}

}  // namespace ricci::tests
