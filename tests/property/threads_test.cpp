// tests/property/threads_test.cpp – the same bits at every run, for any number of threads
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/function.h"
#include "runtime/parallel.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

/// Runs programs alone, on four threads, and so again.
class SameBits {
  public:
    SameBits() : threads_before_(num_threads()) {}
    ~SameBits() { set_num_threads(threads_before_); }
    SameBits(const SameBits&) = delete;
    SameBits& operator=(const SameBits&) = delete;

    void check(const std::string& label, const Program& program, const Arguments& arguments) {
        std::vector<std::string> outputs;
        for (const TensorId id : program.outputs) outputs.push_back(program.at(id).name);
        const Function function(program, "random", Device::cpu);
        const auto run = [&](int threads) {
            set_num_threads(threads);
            return function.call(copies(arguments), outputs);
        };
        const auto alone = run(1);
        for (const int threads : {4, 4, 2}) {
            const auto together = run(threads);
            for (std::size_t n = 0; n < outputs.size(); ++n) {
                const std::size_t bytes =
                    static_cast<std::size_t>(alone[n].size()) * size_bytes(alone[n].dtype());
                if (std::memcmp(alone[n].data(), together[n].data(), bytes) != 0)
                    FAIL_CHECK(format("{}: `{}` differs", label, outputs[n]));
                compared_ += static_cast<std::size_t>(alone[n].size());
            }
        }
    }
    /// Elements.
    [[nodiscard]] std::size_t compared() const { return compared_; }

    /// The same with random arguments.
    void check(const std::string& label, const Program& program, const Signature& signature,
               std::uint64_t seed) {
        const BoundProgram bound = ricci::bind(canonicalise(program), signature);
        const std::vector<Array> values = random_arguments(bound, signature, seed);
        Arguments arguments;
        for (std::size_t n = 0; n < values.size(); ++n)
            arguments.emplace_back(bound.at(bound.arguments[n]).name, values[n]);
        check(label, program, arguments);
    }

  private:
    int threads_before_;
    std::size_t compared_ = 0;
};

}  // namespace

TEST_CASE("results have the same bits for any number of threads") {
    SameBits same;
    for_each_program(program_count(), [&](const RandomProgram& random, const Program& program) {
        // The others are one task.
        if (random.is_large) same.check(str(random), program, random.signature, random.seed);
    });
    CHECK(same.compared() > 0);
}

TEST_CASE("gradients have the same bits at every run, for any number of threads") {
    SameBits same;
    const auto check = [&](const RandomProgram& random, const RandomDerivative& gradient) {
        if (random.is_large)
            same.check(format("{}gradient of {}", str(random), gradient.argument), gradient.program,
                       gradient.signature, random.seed);
    };
    for_each_gradient(program_count(), check);
    for_each_gradient(program_count(), check, {.subscripts = true});
    CHECK(same.compared() > 0);
}

TEST_CASE("gradients of layers have the same bits at every run, for any number of threads") {
    const auto random = [](Shape shape) { return Array::randn(DType::f32, std::move(shape), 5); };
    struct Layer {
        std::string text;
        Arguments arguments;
    };
    const std::vector<Layer> layers = {
        {"Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
         {{"W", random({200, 150})}, {"X", random({300, 150})}, {"b", random({200})}}},
        {"Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s]",
         {{"X", random({8, 16, 41, 41})}, {"W", random({24, 16, 3, 3})}}},
        {"Y[n,o,y,x] := X[n,c,pad(y+r-1),pad(x+s-1)]*W[o,c,r,s] where y in 0:30, x in 0:30",
         {{"X", random({8, 16, 30, 30})}, {"W", random({24, 16, 3, 3})}}},
        {"Y[n,c,y,x] := max[r,s](X[n,c,2*y+r,2*x+s]) where r in 0:3, s in 0:3",
         {{"X", random({16, 16, 41, 41})}}},
        {"Y[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
         {{"X", random({800, 500})}}},
        {"M[c] := mean[n,y](X[n,c,y]); V[c] := mean[n,y]((X[n,c,y] - M[c])^2)\n"
         "Y[n,c,y] := (X[n,c,y] - M[c])/sqrt(V[c] + 1e-5)*g[c]",
         {{"X", random({64, 20, 300})}, {"g", random({20})}}},
        {"Y[t,k] := E[J[t],k]",
         {{"E", random({50, 64})}, {"J", Array::randint(DType::i64, {4000}, 0, 50, 1)}}},
        {"Y[i,j] := (A[i,k] - B[j,k])^2", {{"A", random({200, 100})}, {"B", random({180, 100})}}},
    };
    SameBits same;
    for (const Layer& layer : layers) {
        const Program forward = parse_program(layer.text);
        const Array y = Function(forward)(layer.arguments);
        for (const auto& [name, array] : layer.arguments) {
            if (!is_floating(array.dtype())) continue;
            Arguments all = layer.arguments;
            all.emplace_back("dY", random(y.shape()));
            same.check(layer.text + ", gradient of " + name, grad::gradient(forward, name), all);
        }
    }
    CHECK(same.compared() > 1'000'000);
}

}  // namespace ricci::tests
