// tests/codegen/tile_products_test.cpp – products of tiles of bf16 numbers
#include "codegen/tile_products.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/bf16_pieces.h"
#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "tests/codegen/check_plan.h"
#include "tests/codegen/non_finite_product.h"
#include "tests/support/compare.h"

using namespace ricci;

namespace {

Target with_tiles(Precision precision = Precision::f32) {
    Target target = tests::example_target(64);
    target.has_bf16_tiles = true;
    target.precision = precision;
    return target;
}

/// This machine, where it has tiles.
std::optional<Target> host_with_tiles(Precision precision = Precision::f32) {
    Target host = codegen::cpu::host_target();
    if (!host.has_bf16_tiles) return std::nullopt;
    host.precision = precision;
    return host;
}

bool has_tiles(const BoundProgram& program, const Target& target) {
    return str(codegen::plan(program, target)).find("= tiles ") != std::string::npos;
}

/// Interpreted, and compiled where this machine has tiles.
void check(const std::string& text, const Signature& signature,
           Precision precision = Precision::f32) {
    CAPTURE(text);
    const BoundProgram program = tests::bound(text, signature);
    Target target = with_tiles(precision);
    target.forced = Forced::tiles;
    CHECK(has_tiles(program, target));
    CHECK(tests::interpreted_difference(program, signature, target, 0) == "");
    std::optional<Target> host = host_with_tiles(precision);
    if (!host) return;
    host->forced = Forced::tiles;
    CHECK(tests::compiled_difference(program, signature, *host) == "");
}

Signature arrays(const std::vector<std::pair<std::string, Shape>>& shapes,
                 DType dtype = DType::bf16) {
    Signature signature;
    for (const auto& [name, shape] : shapes) signature.insert({name, tests::array(shape, dtype)});
    return signature;
}

struct Sizes {
    std::int64_t m, n, k;
};

Signature product(const Sizes& sizes, const char* a, const char* b, DType dtype) {
    const auto& [m, n, k] = sizes;
    return arrays({{"A", a[0] == 'i' ? Shape{m, k} : Shape{k, m}},
                   {"B", b[0] == 'k' ? Shape{k, n} : Shape{n, k}}},
                  dtype);
}

}  // namespace

TEST_CASE("tiles of bf16 in every transposition, at edges of tiles and blocks") {
    for (const Sizes& sizes : {Sizes{32, 32, 64}, {40, 33, 65}, {13, 47, 3}, {70, 16, 33}}) {
        CAPTURE(sizes.k);
        for (const char* a : {"i,k", "k,i"})
            for (const char* b : {"k,j", "j,k"})
                check(format("C[i,j] := A[{}]*B[{}]", a, b), product(sizes, a, b, DType::bf16));
    }
}

TEST_CASE("tiles of bf16 in batches, over several axes, with what is done to the result") {
    check("C[b,i,j] := A[b,i,k]*B[b,j,k]", arrays({{"A", {3, 9, 31}}, {"B", {3, 20, 31}}}));
    check("C[i,j] := A[i,k,l]*B[l,j,k]", arrays({{"A", {9, 7, 6}}, {"B", {6, 20, 7}}}));
    check("C[i,j] := A[k,i,l]*B[k,l,j]", arrays({{"A", {5, 9, 7}}, {"B", {5, 7, 33}}}));
    check("C[a,i,j] := A[i,k]*B[j,k,a]", arrays({{"A", {19, 18}}, {"B", {7, 18, 40}}}));
    check("C[i,j] := sum[k](f32(A[i,k])*B[k,j])", arrays({{"A", {9, 31}}, {"B", {31, 20}}}));
    check("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          arrays({{"W", {37, 50}}, {"X", {20, 50}}, {"b", {37}}}));
    check("O[n,o,y,x] := W[o,c,r,s]*X[n,c,y+r,x+s]",
          arrays({{"W", {16, 4, 3, 3}}, {"X", {2, 4, 12, 12}}}));
}

TEST_CASE("chunks of long sums are added up") {
    // Two chunks, the second one shorter; interpreted, a product of one tile.
    const std::string text = "C[i,j] := A[i,k]*B[k,j]";
    const Signature signature = arrays({{"A", {3, 1500}}, {"B", {1500, 5}}});
    Target target = with_tiles();
    target.forced = Forced::tiles;
    CHECK(str(codegen::plan(tests::bound(text, signature), target)).find("chunk 2 768 ") !=
          std::string::npos);
    check(text, signature);
}

TEST_CASE("f32 products from three pieces of bf16 are within f32's bounds") {
    for (const Sizes& sizes : {Sizes{32, 32, 64}, {33, 40, 35}}) {
        CAPTURE(sizes.k);
        for (const char* a : {"i,k", "k,i"})
            for (const char* b : {"k,j", "j,k"})
                check(format("C[i,j] := A[{}]*B[{}]", a, b), product(sizes, a, b, DType::f32),
                      Precision::bf16x6);
    }
    check("C[i,j] := exp(A[i,k])*B[k,j] + b[i]",
          arrays({{"A", {20, 35}}, {"B", {35, 18}}, {"b", {20}}}, DType::f32), Precision::bf16x6);
    check("C[b,i,j] := A[b,i,k,l]*B[l,j,k]",
          arrays({{"A", {2, 9, 7, 6}}, {"B", {6, 20, 7}}}, DType::f32), Precision::bf16x6);
    // One side is of bf16 already.
    Signature mixed = arrays({{"A", {20, 40}}}, DType::f32);
    mixed.insert({"B", tests::array({40, 20}, DType::bf16)});
    check("C[i,j] := A[i,k]*B[k,j]", mixed, Precision::bf16x6);
}

TEST_CASE("errors of products from pieces, as fractions of the sums of absolute products") {
    constexpr std::int64_t n = 64;
    constexpr std::int64_t k = 512;
    const Signature signature = arrays({{"A", {n, k}}, {"B", {k, n}}}, DType::f32);
    const BoundProgram program = tests::bound("C[i,j] := A[i,k]*B[k,j]", signature);
    const std::vector<Array> values = tests::random_arguments(program, signature, 3);
    const auto error = [&](Target target) {
        target.forced = Forced::tiles;
        const runtime::Executable executable(program, "test", target);
        const std::vector<const Array*> arguments = {&values[0], &values[1]};
        const Array found = executable.run(arguments)[0];
        double worst = 0;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                double size = 0;
                for (std::int64_t p = 0; p < k; ++p) {
                    const double term = values[0].at({i, p}) * values[1].at({p, j});
                    sum += term;
                    size += std::abs(term);
                }
                worst = std::max(worst, std::abs(found.at({i, j}) - sum) / size);
            }
        return worst;
    };
    const std::optional<Target> host = host_with_tiles();
    if (!host) {
        MESSAGE("no tiles here: nothing was compiled");
        return;
    }
    const double f32 = error(*host);
    CHECK(error(*host_with_tiles(Precision::bf16x6)) <= f32);
    const double bf16x3 = error(*host_with_tiles(Precision::bf16x3));
    CHECK(bf16x3 <= std::ldexp(1.0, -15));
    CHECK(bf16x3 > f32);
}

TEST_CASE("the worst errors of products from pieces") {
    const Signature signature = arrays({{"A", {64, 64}}, {"B", {64, 64}}}, DType::f32);
    const BoundProgram program = tests::bound("C[i,j] := A[i,k]*B[k,j]", signature);
    // The second piece is half of the first one's last bit, less half of its own.
    const float number = 1 + std::ldexp(1.0F, -8) - 3 * std::ldexp(1.0F, -17);
    const Array all = Array::full(DType::f32, {64, 64}, double(number));
    const double exact = 64 * double(number) * double(number);
    const auto error = [&](Precision precision) {
        Target target = *host_with_tiles(precision);
        target.forced = Forced::tiles;
        const std::vector<const Array*> arguments = {&all, &all};
        const Array found = runtime::Executable(program, "test", target).run(arguments)[0];
        return std::abs(found.at({3, 5}) - exact) / exact;
    };
    if (!host_with_tiles()) {
        MESSAGE("no tiles here: nothing was compiled");
        return;
    }
    CHECK(error(Precision::bf16x3) <= std::ldexp(1.0, -15));
    CHECK(error(Precision::bf16x3) > std::ldexp(1.0, -16));
    CHECK(error(Precision::bf16x6) <= std::ldexp(1.0, -23));
}

TEST_CASE("products of f16 numbers are exact from all pieces of them") {
    const Signature signature = arrays({{"A", {64, 64}}, {"B", {64, 64}}}, DType::f16);
    const BoundProgram program = tests::bound("C[i,j] := sum[k](f32(A[i,k])*B[k,j])", signature);
    // Exact in f16, its square in f32; the second piece counts in it.
    const double number = 1 + std::ldexp(3.0, -10);
    const Array all = Array::full(DType::f16, {64, 64}, number);
    std::optional<Target> target = host_with_tiles(Precision::bf16x6);
    if (!target) {
        MESSAGE("no tiles here: nothing was compiled");
        return;
    }
    target->forced = Forced::tiles;
    CHECK(has_tiles(program, *target));
    const std::vector<const Array*> arguments = {&all, &all};
    const Array found = runtime::Executable(program, "test", *target).run(arguments)[0];
    CHECK(found.dtype() == DType::f32);
    CHECK(found.at({3, 5}) == 64 * number * number);
}

TEST_CASE("NaN, infinities and the greatest numbers go through tiles, and meet no padding") {
    for (const Precision precision : {Precision::f32, Precision::bf16x3, Precision::bf16x6}) {
        std::optional<Target> target = host_with_tiles(precision);
        if (!target) {
            MESSAGE("no tiles here: nothing was compiled");
            return;
        }
        target->forced = Forced::tiles;
        const bool is_bf16 = precision == Precision::f32;
        CHECK(tests::non_finite_product_difference(is_bf16 ? DType::bf16 : DType::f32, *target,
                                                   is_bf16 ? 1e-2 : 1e-4) == "");
    }
}

TEST_CASE("which products are of tiles") {
    const auto is_of_tiles = [](const std::string& text, DType a, DType b, Precision precision,
                                std::int64_t n = 256) {
        return has_tiles(
            tests::bound(text, {{"A", tests::array({n, n}, a)}, {"B", tests::array({n, n}, b)}}),
            with_tiles(precision));
    };
    const std::string product = "C[i,j] := A[i,k]*B[k,j]";
    CHECK(is_of_tiles(product, DType::bf16, DType::bf16, Precision::f32));
    CHECK_FALSE(is_of_tiles(product, DType::f32, DType::f32, Precision::f32));
    CHECK(is_of_tiles(product, DType::f32, DType::f32, Precision::bf16x3));
    CHECK(is_of_tiles(product, DType::f32, DType::f32, Precision::bf16x6));
    CHECK(is_of_tiles(product, DType::f32, DType::bf16, Precision::bf16x6));
    CHECK_FALSE(is_of_tiles(product, DType::f32, DType::bf16, Precision::f32));
    CHECK_FALSE(is_of_tiles(product, DType::f64, DType::f64, Precision::bf16x6));
    CHECK(is_of_tiles(product, DType::f16, DType::f16, Precision::bf16x6));
    CHECK_FALSE(is_of_tiles(product, DType::f16, DType::f16, Precision::f32));
    CHECK_FALSE(is_of_tiles(product, DType::f32, DType::f32, Precision::bf16x6, 4));
    CHECK_FALSE(
        is_of_tiles("C[i,j] := max[k](A[i,k]*B[k,j])", DType::bf16, DType::bf16, Precision::f32));
    CHECK_FALSE(is_of_tiles("C[i,j] := sum[k](abs(A[i,k]-B[k,j]))", DType::f32, DType::f32,
                            Precision::bf16x3));
}

TEST_CASE("rows stay in place unless they lie some multiple of 8 KiB apart") {
    const auto stay = [](std::int64_t points) {
        const codegen::Plan plan = codegen::plan(
            tests::bound("C[i,j] := f32(A[i,k])*f32(B[k,j])",
                         arrays({{"A", {256, points}}, {"B", {points, 256}}}, DType::bf16)),
            with_tiles(Precision::f32));
        return str(plan.schedules.back()).find("direct rows") != std::string::npos;
    };
    CHECK(stay(2048));
    CHECK(stay(4128));
    CHECK_FALSE(stay(4096));
}

TEST_CASE("operands that many columns share are not copied for each") {
    const std::string text = "O[n,o,y,x] := W[o,c,r,s]*X[n,c,y+r,x+s]";
    const auto is_of_tiles = [&](std::int64_t channels, DType dtype, Precision precision) {
        return has_tiles(
            tests::bound(
                text, arrays({{"W", {64, channels, 3, 3}}, {"X", {8, channels, 34, 34}}}, dtype)),
            with_tiles(precision));
    };
    CHECK(is_of_tiles(64, DType::bf16, Precision::f32));
    CHECK_FALSE(is_of_tiles(16, DType::bf16, Precision::f32));    // half a block: a copy
    CHECK_FALSE(is_of_tiles(64, DType::f32, Precision::bf16x3));  // pieces: copies
}

TEST_CASE(
    "products of pieces: each once, the smallest first, the columns' piece loaded last next") {
    using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
    const auto products = [](std::size_t rows, std::size_t columns, std::size_t most) {
        codegen::TiledProduct product{};
        product.row_pieces = rows;
        product.column_pieces = columns;
        product.most_pieces = most;
        return product.products();
    };
    CHECK(products(1, 1, 1) == Pairs{{0, 0}});
    CHECK(products(2, 2, 2) == Pairs{{1, 0}, {0, 0}, {0, 1}});
    CHECK(products(3, 3, 3) == Pairs{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}});
    CHECK(products(3, 1, 3) == Pairs{{2, 0}, {1, 0}, {0, 0}});
    CHECK(products(1, 3, 3) == Pairs{{0, 0}, {0, 1}, {0, 2}});
    CHECK(products(2, 2, 3) == Pairs{{1, 0}, {1, 1}, {0, 1}, {0, 0}});
    CHECK(products(1, 1, 3) == Pairs{{0, 0}});
}
