// tests/codegen/pair_products_test.cpp – products of bf16, two reduced points at a time
#include "codegen/pair_products.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/half.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

using namespace ricci;

namespace {

Target with_dot(Target target, bool has_dot = true) {
    target.has_bf16_dot = has_dot;
    return target;
}

bool is_paired(const BoundProgram& program, const Target& target) {
    return str(codegen::plan(program, target)).find("  pair ") != std::string::npos;
}

/// Interpreted as pairs, compiled for this machine with and without their instruction, and for
/// older ones.
void check(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = tests::bound(text, signature);
    Target tiles = with_dot(tests::example_target(64));
    tiles.forced = Forced::tiles;
    CHECK(is_paired(program, tiles));
    CHECK(tests::interpreted_difference(program, signature, tiles) == "");
    const Target host = codegen::cpu::host_target();
    for (Target target : {host, with_dot(host, false), codegen::cpu::named_target("avx2")}) {
        if (target.vector_bytes > host.vector_bytes) continue;
        target.forced = Forced::tiles;
        CHECK(tests::compiled_difference(program, signature, target) == "");
    }
}

Signature bf16(const std::vector<std::pair<std::string, Shape>>& shapes) {
    Signature signature;
    for (const auto& [name, shape] : shapes)
        signature.insert({name, tests::array(shape, DType::bf16)});
    return signature;
}

struct Sizes {
    std::int64_t m, n, k;
};

}  // namespace

TEST_CASE("pairs of bf16 in every transposition, at edges of tiles and odd ends") {
    for (const auto& [m, n, k] :
         {Sizes{28, 64, 64}, {29, 33, 65}, {13, 47, 3}, {40, 5, 201}, {2, 70, 61}, {17, 16, 2}}) {
        CAPTURE(k);
        for (const char* a : {"i,k", "k,i"})
            for (const char* b : {"k,j", "j,k"})
                check(format("C[i,j] := A[{}]*B[{}]", a, b),
                      bf16({{"A", a[0] == 'i' ? Shape{m, k} : Shape{k, m}},
                            {"B", b[0] == 'k' ? Shape{k, n} : Shape{n, k}}}));
    }
}

TEST_CASE("pairs of bf16 in batches, over several axes, with what is done to the result") {
    check("C[b,i,j] := A[b,i,k]*B[b,j,k]", bf16({{"A", {3, 9, 31}}, {"B", {3, 20, 31}}}));
    check("C[i,j] := A[i,k,l]*B[l,j,k]", bf16({{"A", {9, 7, 6}}, {"B", {6, 20, 7}}}));
    check("C[i,j] := A[k,i,l]*B[k,l,j]", bf16({{"A", {5, 9, 7}}, {"B", {5, 7, 33}}}));
    check("C[a,i,j] := A[i,k]*B[j,k,a]", bf16({{"A", {19, 18}}, {"B", {7, 18, 40}}}));
    check("C[i,j] := sum[k](f32(A[i,k])*B[k,j])", bf16({{"A", {9, 31}}, {"B", {31, 20}}}));
    check("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          bf16({{"W", {37, 50}}, {"X", {20, 50}}, {"b", {37}}}));
    check("O[n,o,y,x] := W[o,c,r,s]*X[n,c,y+r,x+s]",
          bf16({{"W", {16, 4, 3, 3}}, {"X", {2, 4, 12, 12}}}));
    check("O[n,o,y,x] := W[o,c,r,s]*X[n,c,pad(y+r-1),pad(x+s-1)] where y in 0:24, x in 0:24",
          bf16({{"W", {16, 8, 3, 3}}, {"X", {2, 8, 24, 24}}}));
}

TEST_CASE("a product of one pair's half, and others than products, are not of pairs") {
    const Target target = with_dot(tests::example_target(64));
    const auto is_paired_product = [&](const std::string& text, DType dtype) {
        return is_paired(tests::bound(text, {{"A", tests::array({64, 64}, dtype)},
                                             {"B", tests::array({64, 64}, DType::bf16)}}),
                         target);
    };
    CHECK(is_paired_product("C[i,j] := A[i,k]*B[k,j]", DType::bf16));
    CHECK_FALSE(is_paired_product("C[i,j] := A[i,k]*B[k,j]", DType::f16));
    CHECK_FALSE(is_paired_product("C[i,j] := A[i,k]*B[k,j]", DType::f32));
    CHECK_FALSE(is_paired_product("C[i,j] := abs(A[i,k] - B[k,j])", DType::bf16));
    CHECK_FALSE(is_paired_product("C[i,j] := max[k](A[i,k]*B[k,j])", DType::bf16));
    const Signature one = bf16({{"A", {64, 1}}, {"B", {1, 64}}});
    const BoundProgram program = tests::bound("C[i,j] := A[i,k]*B[k,j]", one);
    CHECK_FALSE(is_paired(program, target));
    CHECK(tests::compiled_difference(program, one) == "");
}

TEST_CASE("NaN and infinities go through pairs, and meet no padding") {
    constexpr std::int64_t k = 65;
    constexpr std::int64_t n = 40;
    for (const bool has_dot : {true, false}) {
        const Signature signature = bf16({{"A", {n, k}}, {"B", {k, n}}});
        const BoundProgram program = tests::bound("C[i,j] := A[i,k]*B[k,j]", signature);
        std::vector<Array> values = tests::random_arguments(program, signature, 3);
        const double inf = std::numeric_limits<double>::infinity();
        // The last point stands beside the padding.
        const auto set = [&](std::size_t array, std::int64_t row, std::int64_t column, double to) {
            values[array].span<BFloat16>()[std::size_t(row * (array == 0 ? k : n) + column)] =
                BFloat16(to);
        };
        set(0, 3, k - 1, inf);
        set(0, 39, 0, -inf);
        set(0, 5, 7, std::nan(""));
        set(1, k - 1, 39, inf);
        set(1, k - 1, 2, 0);
        Target target = codegen::cpu::host_target();
        if (!has_dot) target.has_bf16_dot = false;
        const runtime::Executable executable(program, "test", target);
        const std::vector<const Array*> arguments = {&values[0], &values[1]};
        const Array found = executable.run(arguments)[0];
        const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                CAPTURE(i);
                CAPTURE(j);
                const double one = found.at({i, j});
                const double other = expected.at({i, j});
                CHECK(std::isnan(one) == std::isnan(other));
                if (std::isinf(one) || std::isinf(other)) CHECK(one == other);
            }
        CHECK(std::isnan(found.at({3, 2})));
    }
}

TEST_CASE("the order of the reduced axes puts an even one, else the longest, last") {
    using codegen::Axis;
    const auto axis = [](std::uint32_t var, std::int64_t extent) {
        return Axis{codegen::VarId(var), extent};
    };
    const std::vector<Axis> odd = {axis(0, 5), axis(1, 9), axis(2, 3)};
    CHECK(codegen::with_pairs_last(odd) == std::vector{axis(0, 5), axis(2, 3), axis(1, 9)});
    const std::vector<Axis> even = {axis(0, 4), axis(1, 9), axis(2, 6)};
    CHECK(codegen::with_pairs_last(even) == even);
    CHECK(codegen::padded_to_pairs(odd).back().extent == 4);
}
