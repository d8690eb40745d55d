// tests/codegen/gpu_contraction_test.cpp – contractions in tiles of shared memory and registers
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/gpu/tiled_contraction.h"
#include "codegen/group.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/golden.h"
#include "tests/support/nest_interpreter.h"

using namespace ricci;
using namespace ricci::tests;
using codegen::gpu::TileChoice;
using codegen::gpu::TileConfig;

namespace {

/// A program of one equation, ready to be lowered in a tile.
struct Prepared {
    explicit Prepared(const BoundProgram& program) : builder(target, no_dump) {
        std::vector<std::size_t> places;
        for (std::size_t t = 0; t < program.tensors.size(); ++t) {
            const BoundTensor& tensor = program.tensors[t];
            const TensorId storage = codegen::storage(program, TensorId(t));
            if (storage != TensorId(t)) {
                places.push_back(places.at(std::size_t(storage)));
                continue;
            }
            std::int64_t elements = 1;
            for (const std::int64_t extent : tensor.shape) elements *= extent;
            places.push_back(builder.add_buffer({.kind = codegen::PlanBuffer::Kind::tensor,
                                                 .tensor = TensorId(t),
                                                 .name = tensor.name,
                                                 .dtype = tensor.dtype,
                                                 .elements = elements}));
        }
        const std::vector<codegen::Group> groups = codegen::group(program);
        REQUIRE(groups.size() == 1);
        codegen::Kernel kernel = make_kernel(program, groups[0], builder.plan(), places);
        merge_axes(kernel);
        tiled = codegen::gpu::find_tiled_contraction(kernel);
    }

    Target target = example_gpu_target();
    codegen::DumpHook no_dump;
    codegen::PlanBuilder builder;
    std::optional<codegen::gpu::TiledContraction> tiled;
};

codegen::Plan tiled_plan(const BoundProgram& program, const TileChoice& choice) {
    Prepared prepared(program);
    REQUIRE(prepared.tiled);
    lower_tiled_contraction(std::move(*prepared.tiled), choice, prepared.builder);
    return std::move(prepared.builder).finish();
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr TileChoice small = {{32, 32, 16, 4, 4}, 1, 2, 0};

/// Values are the reference's in that tile, whatever the order of blocks and threads.
void check(const std::string& text, const Signature& signature, const TileChoice& choice = small) {
    INFO(text);
    const BoundProgram program = bound(text, signature);
    CHECK(interpreted_difference(program, signature, tiled_plan(program, choice)) == "");
}

}  // namespace

TEST_CASE("a GPU multiplies matrices of any size") {
    for (const std::int64_t n : {2, 16, 17, 31, 64, 67})
        check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({n, 40})}, {"B", array({40, n + 3})}});
}
TEST_CASE("every tile of the list multiplies matrices that fit it and that do not") {
    for (const TileConfig& config : codegen::gpu::tile_configs())
        for (const std::int64_t more : {0, 3}) {
            CAPTURE(config.rows);
            CAPTURE(config.columns);
            const std::int64_t depth = 2 * config.depth + more;
            for (const std::int64_t stages : {2, 4})
                check("C[i,j] := A[i,k]*B[k,j]",
                      {{"A", array({config.rows + more, depth})},
                       {"B", array({depth, config.columns + more})}},
                      {config, 1, stages, 0});
            check("C[i,j] := A[i,k]*B[j,k]",
                  {{"A", array({config.rows + more, depth}, DType::f64)},
                   {"B", array({config.columns + more, depth}, DType::f64)}},
                  {config, 1, 2, 0});
        }
}
TEST_CASE("a GPU multiplies matrices whichever way they lie") {
    const TileChoice choice = small;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const auto sizes = [&](Shape a, Shape b) {
            return Signature{{"A", array(std::move(a), dtype)}, {"B", array(std::move(b), dtype)}};
        };
        for (const std::int64_t k : {32, 37}) {
            check("C[i,j] := A[i,k]*B[k,j]", sizes({40, k}, {k, 36}), choice);
            check("C[i,j] := A[k,i]*B[k,j]", sizes({k, 40}, {k, 36}), choice);
            check("C[i,j] := A[i,k]*B[j,k]", sizes({40, k}, {36, k}), choice);
            check("C[i,j] := A[k,i]*B[j,k]", sizes({k, 40}, {36, k}), choice);
            check("C[j,i] := A[k,i]*B[j,k]", sizes({k, 40}, {36, k}), choice);
        }
    }
}
TEST_CASE("batches and groups of several axes are one tile's rows, columns, reduced points") {
    check("C[b,i,j] := A[b,i,k]*B[b,k,j]", {{"A", array({3, 33, 20})}, {"B", array({3, 20, 34})}});
    check("C[i,b,j] := A[i,k,b]*B[b,k,j]", {{"A", array({33, 20, 3})}, {"B", array({3, 20, 34})}});
    check("C[a,b,c,d] := A[a,k,b,l]*B[c,l,k,d]",
          {{"A", array({3, 4, 5, 6})}, {"B", array({7, 6, 4, 5})}});
    check("C[a,b,c,d] := A[a,b,k,l]*B[c,k,l,d]",
          {{"A", array({3, 4, 5, 8})}, {"B", array({7, 5, 8, 6})}});
}
TEST_CASE("any body and any reducer run in tiles") {
    const Signature sizes = {{"A", array({35, 21})}, {"B", array({21, 38})}};
    check("C[i,j] := sum[k]((A[i,k] - B[k,j])^2)", sizes);
    check("C[i,j] := min[k](A[i,k] + B[k,j])", sizes);
    check("C[i,j] := max[k](abs(A[i,k] - B[k,j]))", sizes);
    check("C[i,j] := prod[k](A[i,k] - 0.5*B[k,j])", sizes);
    check("C[i,j] := sum[k](exp(-abs2(A[i,k] - B[k,j])))", sizes);
    check("C[i,j] := sum[k](exp(A[i,k])*B[k,j]*k)", sizes);
    check("C[i,j] := sum[k](k > 3 ? A[i,k]*B[k,j] : A[i,k] + B[k,j])", sizes);
    check("C[i,j] := sum[k](A[i,k] > B[k,j])", sizes);
}
TEST_CASE("integers and truth values are multiplied, counted and compared in tiles") {
    for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::boolean}) {
        const Signature sizes = {{"A", array({35, 24}, dtype)}, {"B", array({24, 36}, dtype)}};
        check("C[i,j] := sum[k](A[i,k]*B[k,j])", sizes);
        check("C[i,j] := max[k](A[i,k] == B[k,j] ? k : -1)", sizes);
    }
}
TEST_CASE("terms that do not move with the reduced axes are held in registers") {
    check("dw[i,k] := sum[j](2*(w[i,k] - x[j,k])*dD[i,j])",
          {{"w", array({34, 37})}, {"x", array({20, 37})}, {"dD", array({34, 20})}});
    check("C[i,j] := sum[k]((A[i,k]*B[k,j] - a[i])*b[j])",
          {{"A", array({35, 21})}, {"B", array({21, 38})}, {"a", array({35})}, {"b", array({38})}});
    check("C[i,j] := sum[k](abs(A[i,k] - B[k,j])^(s[0]))",
          {{"A", array({35, 21})}, {"B", array({21, 38})}, {"s", array({2})}});
}
TEST_CASE("epilogues are applied in registers") {
    check("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          {{"W", array({36, 20})}, {"X", array({33, 20})}, {"b", array({36})}});
    check("C[i,j] += A[i,k]*B[k,j]",
          {{"A", array({35, 21})}, {"B", array({21, 38})}, {"C", array({35, 38})}});
    check("C[j,i] += A[i,k]*B[k,j]",
          {{"A", array({35, 21})}, {"B", array({21, 38})}, {"C", array({38, 35})}});
    check("C[i,j] := A[i,k]*B[k,j]; D[i,j] := C[i,j] + i",
          {{"A", array({35, 21})}, {"B", array({21, 36})}});
}
TEST_CASE("a long sum runs in chunks whose total is a second kernel") {
    for (const std::int64_t k : {256, 250, 263})
        for (const std::int64_t chunks : {2, 4, 6}) {
            TileChoice choice = small;
            choice.chunks = chunks;
            check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({35, k})}, {"B", array({k, 36})}},
                  choice);
            check("C[i,j] += sum[k]((A[k,i] - B[k,j])^2)",
                  {{"A", array({k, 20})}, {"B", array({k, 36})}, {"C", array({20, 36})}}, choice);
        }
}
TEST_CASE("a convolution and its gradients are contractions of several axes") {
    const Signature sizes = {{"X", array({2, 3, 9, 10})}, {"W", array({5, 3, 3, 2})}};
    check("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", sizes);
    check("Y[n,o,p,q] := X[n,c,2*p+r,q+2*s]*W[o,c,r,s] where p in 0:4, q in 0:7", sizes);
    check("dW[o,c,r,s] := dY[n,o,p,q]*X[n,c,p+r,q+s] where r in 0:3, s in 0:2",
          {{"X", array({2, 3, 9, 10})}, {"dY", array({2, 5, 7, 9})}});
    check("Y[n,p,q,o] := X[n,p+r,q+s,c]*W[o,r,s,c]",
          {{"X", array({2, 9, 10, 16})}, {"W", array({5, 3, 3, 16})}});
}
TEST_CASE("conditions of one side are a mask") {
    const Signature gradient = {{"dY", array({2, 5, 7, 9})}, {"W", array({5, 3, 3, 2})}};
    check(
        "dX[n,c,t,u] := sum[o,r,s | t-r >= 0 && t-r < 7 && u-s >= 0 && u-s < 9]"
        "(dY[n,o,t-r,u-s]*W[o,c,r,s]) where t in 0:9, u in 0:10",
        gradient);
    // Padding: the other side's operand, and both.
    check("Y[n,o,p] := sum[c,r | p+r-1 >= 0 && p+r-1 < 20](X[n,c,p+r-1]*W[o,c,r]) where p in 0:20",
          {{"X", array({2, 3, 20})}, {"W", array({17, 3, 3})}});
    check("C[i,j] := sum[k | i+k < 40 && k >= j](A[i+k]*B[j,k]) where i in 0:33",
          {{"A", array({60})}, {"B", array({18, 18})}});
    check("C[i,j] := sum[k | k <= i](A[i,k]*B[k,j])",
          {{"A", array({35, 37})}, {"B", array({37, 33})}});
    check("C[i,j] := max[k | k != i](A[i,k] + B[k,j])",
          {{"A", array({35, 37})}, {"B", array({37, 33})}});
    check("C[i,j] := prod[k | M[k] > 0](A[i,k] + B[k,j])",
          {{"A", array({35, 37})}, {"B", array({37, 33})}, {"M", array({37})}});
}
TEST_CASE("an operand that only the other side's condition keeps in its array is no contraction") {
    const Signature sizes = {{"A", array({40, 50})}, {"B", array({40, 33})}};
    const std::string text = "C[i,j] := sum[k | k < i](A[i,k]*B[k,j])";
    CHECK(Prepared(bound(text + " where i in 0:40, k in 0:40", sizes)).tiled);
    CHECK_FALSE(Prepared(bound(text + " where i in 0:40, k in 0:50", sizes)).tiled);
}
TEST_CASE("what is not counted is not computed with: infinities and NaN stay where they are") {
    const BoundProgram program =
        bound("C[i,j] := sum[k | k <= i](A[i,k]*B[k,j])",
              {{"A", array({34, 20}, DType::f64)}, {"B", array({20, 33}, DType::f64)}});
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < 34; ++i)
        for (int k = 0; k < 20; ++k) a.push_back(k == 18 ? inf : 1);
    for (int k = 0; k < 20; ++k)
        for (int j = 0; j < 33; ++j) b.push_back(k == 19 ? not_a_number : k == 10 ? -inf : 2);
    const std::vector<Array> results =
        interpret(program, tiled_plan(program, small),
                  {Array::from(std::span<const double>(a), {34, 20}),
                   Array::from(std::span<const double>(b), {20, 33})});
    const auto at = [&](std::int64_t i, std::int64_t j) { return results[0].at({i, j}); };
    CHECK(at(9, 5) == 20);
    CHECK(at(17, 32) == -inf);
    CHECK(std::isnan(at(18, 0)));
    CHECK(std::isnan(at(33, 32)));
}
TEST_CASE("what lies beyond the edge of a tile changes nothing, whatever the data") {
    const BoundProgram program =
        bound("C[i,j] := A[i,k]*B[k,j]",
              {{"A", array({33, 17}, DType::f64)}, {"B", array({17, 35}, DType::f64)}});
    std::vector<double> a(33 * 17);
    a.front() = a.back() = inf;
    const std::vector<Array> results = interpret(
        program, tiled_plan(program, small),
        {Array::from(std::span<const double>(a), {33, 17}), Array::full(DType::f64, {17, 35}, 1)});
    for (std::int64_t i = 0; i < 33; ++i)
        for (const std::int64_t j : {0, 34}) {
            CAPTURE(i);
            CHECK(results[0].at({i, j}) == (i == 0 || i == 32 ? inf : 0));
        }
}
TEST_CASE("the tiles of a product and of squared distances") {
    const Signature sizes = {{"A", array({4096, 4096})}, {"B", array({4096, 4096})}};
    for (const auto& [name, text] :
         {std::pair("product", "C[i,j] := A[i,k]*B[k,j]"),
          std::pair("distance", "C[i,j] := (A[k,i] - B[k,j])^2"),
          std::pair("edges", "C[i,j] := A[i,k]*B[j,k] where i in 0:4001, j in 0:4000, k in 0:777")})
        check_golden(
            format("gpu/contraction_{}", name),
            format("{}\n\n{}", text, str(codegen::plan(bound(text, sizes), example_gpu_target()))));
}
TEST_CASE("convolutions of usual sizes, forward and gradients, are chosen to run in tiles") {
    const auto x = std::pair("X", array({32, 64, 34, 34}));
    const auto dy = std::pair("dY", array({32, 64, 32, 32}));
    const auto w = std::pair("W", array({64, 64, 3, 3}));
    for (const auto& [text, sizes] :
         {std::pair("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", Signature{x, w}),
          std::pair("dW[o,c,r,s] := dY[n,o,p,q]*X[n,c,p+r,q+s] where r in 0:3, s in 0:3",
                    Signature{x, dy}),
          std::pair("dX[n,c,t,u] := sum[o,r,s | t-r >= 0 && t-r < 32 && u-s >= 0 && u-s < 32]"
                    "(dY[n,o,t-r,u-s]*W[o,c,r,s]) where t in 0:34, u in 0:34",
                    Signature{dy, w})}) {
        CAPTURE(text);
        const codegen::Plan plan = codegen::plan(bound(text, sizes), example_gpu_target());
        CHECK(std::ranges::any_of(plan.schedules, [](const codegen::Schedule& schedule) {
            return schedule.strategy == codegen::Strategy::contraction;
        }));
    }
}
TEST_CASE("thin and small reductions are left to the other strategies") {
    for (const auto& [text, sizes] :
         {std::pair("y[i] := A[i,k]*x[k]",
                    Signature{{"A", array({4096, 4096})}, {"x", array({4096})}}),
          std::pair("C[i,j] := A[i,k]*B[k,j]",
                    Signature{{"A", array({4, 4096})}, {"B", array({4096, 4096})}}),
          std::pair("C[i,j] := A[i,k]*B[k,j]",
                    Signature{{"A", array({32, 32})}, {"B", array({32, 32})}})}) {
        const codegen::Plan plan = codegen::plan(bound(text, sizes), example_gpu_target());
        CHECK(plan.schedules.at(0).strategy != codegen::Strategy::contraction);
    }
}
