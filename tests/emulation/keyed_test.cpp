// tests/emulation/keyed_test.cpp – values of points combined by key with an inverse index
#include "codegen/keyed.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/emulation/run_plan.h"

namespace ricci::tests {
namespace {

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

bool has_inverse_index(const codegen::Plan& plan) {
    return std::any_of(plan.nests.begin(), plan.nests.end(), [](const codegen::Nest& nest) {
        return nest.name.find("_count") != std::string::npos;
    });
}

/// Programs planned with inverse indices, or with atomic stores.
class Keyed {
  public:
    explicit Keyed(int multiprocessors, bool is_fast = false)
        : target_(emulated_target(multiprocessors)) {
        target_.gpu.has_fast_gathers = is_fast;
    }
    /// A program, or its gradient.
    void add(const std::string& text, const Signature& signature, const std::string& wrt = "") {
        const Program forward = canonicalise(parse_program(text));
        const Program program = wrt.empty() ? forward : grad::gradient(forward, wrt);
        Signature needed;
        for (const TensorId id : program.arguments)
            needed.emplace(program.at(id).name, signature.at(program.at(id).name));
        const BoundProgram bound = ricci::bind(program, needed);
        const bool is_fast = target_.gpu.has_fast_gathers;
        const auto way = is_fast ? codegen::KeyedWay::at_once : codegen::KeyedWay::inverse_index;
        codegen::Plan plan =
            codegen::plan(codegen::with_keyed_updates(bound, target_, way), target_);
        INFO(text);
        CHECK(has_inverse_index(plan) == !is_fast);
        CHECK(has_atomic_stores(plan) == is_fast);
        batch_.add(format("{} {}", text, wrt), bound, needed, std::move(plan));
    }
    ~Keyed() { CHECK(batch_.difference() == ""); }

  private:
    Target target_;
    EmulatedBatch batch_;
};

constexpr std::int64_t many[] = {2, 65, 1030};

}  // namespace

TEST_CASE("points that update one element are combined by an inverse index") {
    Keyed checks(132);
    for (const std::int64_t n : many) {
        const Signature rows{
            {"H", array({30, 3})}, {"J", array({n}, DType::i32)}, {"X", array({n, 3})}};
        checks.add("H[wrap(J[i]),k] += X[i,k]", rows);
        checks.add("H[wrap(J[i]),k] max= X[i,k]", rows);
        checks.add("H[clamp(J[i]),k] min= X[i,k]", rows);
        checks.add("H[wrap(17*i),k] += X[i,k]", rows);
        const Signature places{{"h", array({7}, DType::f64)},
                               {"J", array({n}, DType::i32)},
                               {"x", array({n}, DType::f64)}};
        checks.add("h[clamp(J[i])] += x[i]", places);
        checks.add("h[wrap(J[i])] *= 1 + 0.001*x[i]", places);
        checks.add("h[wrap(J[i])] += 1", places);
    }
}

TEST_CASE("an inverse index of several keys, of keys of a row, and of every type") {
    Keyed checks(1);
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8})
        checks.add("h[wrap(J[i])] += x[i]", {{"h", array({9}, dtype)},
                                             {"J", array({500}, DType::i32)},
                                             {"x", array({500}, dtype)}});
    checks.add("h[wrap(J[i]),wrap(K[i])] += x[i]", {{"h", array({9, 40})},
                                                    {"J", array({500}, DType::i32)},
                                                    {"K", array({500}, DType::i16)},
                                                    {"x", array({500})}});
    checks.add("h[wrap(J[i,k]),k] += x[i,k]",
               {{"h", array({9, 5})}, {"J", array({70, 5}, DType::i32)}, {"x", array({70, 5})}});
    checks.add(
        "h[wrap(i+J[k])] += x[i]*w[k]",
        {{"h", array({50})}, {"J", array({7}, DType::i32)}, {"x", array({31})}, {"w", array({7})}});
    checks.add("h[wrap(J[i])] max= sum[m](x[i,m])",
               {{"h", array({50})}, {"J", array({70}, DType::i32)}, {"x", array({70, 11})}});
    checks.add("h[wrap(J[i])] += x[i]; g[wrap(J[i])] += h[wrap(J[i])]*x[i]",
               {{"h", array({50})},
                {"g", array({50})},
                {"J", array({70}, DType::i32)},
                {"x", array({70})}});
}

TEST_CASE("the gradient of a gather is summed by an inverse index") {
    Keyed checks(1);
    for (const std::int64_t n : many) {
        const Signature given{{"A", array({20, 3})},
                              {"J", array({n}, DType::i32)},
                              {"B", array({n, 3})},
                              {"dY", array({n, 3})}};
        checks.add("Y[i,k] := A[wrap(J[i]),k]*B[i,k]", given, "A");
        checks.add("Y[i,k] := A[clamp(J[i]),k]^2", given, "A");
        checks.add("Y[i] := A[wrap(J[i]),k]*B[i,k]",
                   {{"A", array({20, 3})},
                    {"J", array({n}, DType::i32)},
                    {"B", array({n, 3})},
                    {"dY", array({n})}},
                   "A");
    }
    checks.add("Y[i] := A[wrap(J[i])]*B[i,m]",
               {{"A", array({20})},
                {"J", array({90}, DType::i32)},
                {"B", array({90, 6})},
                {"dY", array({90})}},
               "A");
    checks.add("Y[i,k] := A[wrap(J[i,k]),k]*A[wrap(K[i]),2]",
               {{"A", array({20, 3})},
                {"J", array({90, 3}, DType::i32)},
                {"K", array({90}, DType::i32)},
                {"dY", array({90, 3})}},
               "A");
    checks.add("Y[i] := A[wrap(J[i]),pad(J[i])]",
               {{"A", array({20, 3})}, {"J", array({90}, DType::i32)}, {"dY", array({90})}}, "A");
}

TEST_CASE("the last point that names an element stays, found by an inverse index") {
    Keyed checks(132);
    const std::string same = "i + J[i]//1000 + (J[i] < 0 ? 1 : 0)";
    for (const std::int64_t n : {std::int64_t{2}, std::int64_t{200}})
        checks.add(format("D[{}] = x[i]", same),
                   {{"D", array({n})}, {"J", array({n}, DType::i32)}, {"x", array({n})}});
    checks.add(format("D[{},k] = x[i,k]", same),
               {{"D", array({90, 2})}, {"J", array({90}, DType::i32)}, {"x", array({90, 2})}});
}

TEST_CASE("a target with fast gathers adds to one element by atomic stores") {
    Keyed checks(132, true);
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
        const Signature places{{"h", array({7}, dtype)},
                               {"J", array({1030}, DType::i32)},
                               {"x", array({1030}, dtype)}};
        checks.add("h[clamp(J[i])] += x[i]", places);
        checks.add("h[wrap(J[i])] -= x[i]", places);
    }
    const Signature rows{{"H", array({30, 8})},    {"J", array({65}, DType::i32)},
                         {"X", array({65, 8})},    {"M", array({65, 8, 300})},
                         {"L", array({65, 8, 5})}, {"dY", array({65, 8})}};
    checks.add("H[wrap(J[i]),k] += X[i,k]", rows);
    checks.add("H[wrap(J[i]),2] += X[i,k]", rows);
    checks.add("H[wrap(J[i]),k] += M[i,k,m]", rows);
    checks.add("H[wrap(J[i]),k] += L[i,k,m]", rows);
    checks.add("Y[i,k] := H[wrap(J[i]),k]*X[i,k]", rows, "H");
    checks.add("Y[i,k] := H[clamp(J[i]),k]^2", rows, "H");
}

TEST_CASE("fast gathers keep to what atomic stores can do") {
    Target fast = emulated_target(132);
    fast.gpu.has_fast_gathers = true;
    const auto is_atomic = [&](const std::string& text, DType dtype) {
        const std::int64_t n = 1 << 20;
        const Signature given{{"h", array({1 << 20}, dtype)},
                              {"J", array({n}, DType::i32)},
                              {"x", array({n}, dtype)}};
        const BoundProgram bound = ricci::bind(canonicalise(parse_program(text)), given);
        const codegen::Plan plan = codegen::plan(bound, fast);
        CHECK(has_inverse_index(plan) != has_atomic_stores(plan));
        return has_atomic_stores(plan);
    };
    CHECK(is_atomic("h[wrap(J[i])] += x[i]", DType::f32));
    CHECK(is_atomic("h[wrap(J[i])] += x[i]", DType::i64));
    CHECK(!is_atomic("h[wrap(J[i])] += x[i]", DType::f16));
    CHECK(!is_atomic("h[wrap(J[i])] max= x[i]", DType::f32));
    CHECK(!is_atomic("h[wrap(J[i])] += x[i]*h[wrap(J[i])]", DType::f32));
}

}  // namespace ricci::tests
