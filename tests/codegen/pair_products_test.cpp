// tests/codegen/pair_products_test.cpp – products of bf16 and i16, two reduced points at a time
#include "codegen/pair_products.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "tests/codegen/check_plan.h"
#include "tests/codegen/non_finite_product.h"

using namespace ricci;

namespace {

Target with_dot(Target target, bool has_dot = true) {
    target.has_bf16_dot = has_dot;
    return target;
}

bool is_paired(const BoundProgram& program, const Target& target) {
    return str(codegen::plan(program, target)).find("  pair ") != std::string::npos;
}

/// This machine without tiles, without the instruction for pairs, and with it where there is one.
std::vector<Target> host_targets() {
    Target host = codegen::cpu::host_target();
    host.has_bf16_tiles = false;
    std::vector<Target> targets = {with_dot(host, false)};
    if (host.features.find("+avx512bf16") != std::string::npos) targets.push_back(with_dot(host));
    return targets;
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
    std::vector<Target> targets = host_targets();
    const Target avx2 = codegen::cpu::named_target("avx2");
    if (avx2.vector_bytes <= targets[0].vector_bytes) targets.push_back(avx2);
    for (Target& target : targets) {
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

/// Pairs of integers: interpreted, and compiled for this machine with and without the instruction
/// that adds them up, and for older ones.
void check_integers(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = tests::bound(text, signature);
    for (const int vector_bytes : {64, 32, 16}) {
        Target tiles = tests::example_target(vector_bytes);
        tiles.forced = Forced::tiles;
        CHECK(is_paired(program, tiles));
        CHECK(tests::interpreted_difference(program, signature, tiles) == "");
    }
    const Target host = codegen::cpu::host_target();
    std::vector<Target> targets = {host, host};
    targets[1].has_integer_dot = false;
    for (const char* level : {"avx2", "sse2"})
        if (const Target older = codegen::cpu::named_target(level);
            older.vector_bytes <= host.vector_bytes)
            targets.push_back(older);
    for (Target& target : targets) {
        target.forced = Forced::tiles;
        CHECK(tests::compiled_difference(program, signature, target) == "");
    }
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

TEST_CASE("pairs of small integers in every transposition, at edges of tiles and odd ends") {
    for (const auto& [m, n, k] :
         {Sizes{28, 64, 64}, {29, 33, 65}, {13, 47, 3}, {40, 5, 201}, {2, 70, 61}, {17, 16, 2}}) {
        CAPTURE(k);
        for (const char* a : {"i,k", "k,i"})
            for (const char* b : {"k,j", "j,k"})
                check_integers(
                    format("C[i,j] := A[{}]*B[{}]", a, b),
                    {{"A", tests::array(a[0] == 'i' ? Shape{m, k} : Shape{k, m}, DType::i8)},
                     {"B", tests::array(b[0] == 'k' ? Shape{k, n} : Shape{n, k}, DType::i8)}});
    }
}

TEST_CASE("pairs of small integers of several types, less a constant, of images, and converted") {
    const auto arrays = [](DType a, DType b) {
        return Signature{{"A", tests::array({29, 31}, a)}, {"B", tests::array({31, 20}, b)}};
    };
    check_integers("C[i,j] := A[i,k]*B[k,j]", arrays(DType::u8, DType::u8));
    check_integers("C[i,j] := A[i,k]*B[k,j]", arrays(DType::boolean, DType::i8));
    check_integers("C[i,j] := sum[k](i64(A[i,k])*B[k,j])", arrays(DType::u8, DType::i8));
    check_integers("C[i,j] := sum[k]((i32(A[i,k])-128)*(i32(B[k,j])-3))",
                   arrays(DType::u8, DType::u8));
    check_integers("C[i,j] := f32(sum[k](A[i,k]*B[k,j]))*0.01 + 1", arrays(DType::i8, DType::i8));
    for (const char* type : {"f16", "bf16", "i8", "f64", "u64"})
        check_integers(format("C[i,j] := {}(sum[k](A[i,k]*B[k,j]))", type),
                       arrays(DType::i8, DType::u8));
    check_integers("C[i,j] := A[i,k]*B[k,j]", arrays(DType::boolean, DType::i16));
    check_integers(
        "O[n,o,y,x] := W[o,c,r,s]*X[n,c,pad(y+r-1),pad(x+s-1)] where y in 0:24, x in 0:24",
        {{"W", tests::array({16, 8, 3, 3}, DType::i8)},
         {"X", tests::array({2, 8, 24, 24}, DType::u8)}});
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
    const auto is_paired_integer = [&](const std::string& text, DType dtype) {
        return is_paired(tests::bound(text, {{"A", tests::array({64, 64}, dtype)},
                                             {"B", tests::array({64, 64}, DType::u8)}}),
                         target);
    };
    CHECK(is_paired_integer("C[i,j] := A[i,k]*B[k,j]", DType::u8));
    CHECK_FALSE(is_paired_integer("C[i,j] := A[i,k]*B[k,j]", DType::u16));
    CHECK_FALSE(is_paired_integer("C[i,j] := A[i,k]*B[k,j]", DType::i32));
    CHECK_FALSE(is_paired_integer("C[i,j] := sum[k](A[i,k] == B[k,j])", DType::u8));
    const Signature one = bf16({{"A", {64, 1}}, {"B", {1, 64}}});
    const BoundProgram program = tests::bound("C[i,j] := A[i,k]*B[k,j]", one);
    CHECK_FALSE(is_paired(program, target));
    CHECK(tests::compiled_difference(program, one) == "");
}

TEST_CASE("NaN and infinities go through pairs, and meet no padding") {
    for (const Target& target : host_targets())
        CHECK(tests::non_finite_product_difference(DType::bf16, target, 1e-2) == "");
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
