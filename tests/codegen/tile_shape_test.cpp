// tests/codegen/tile_shape_test.cpp – which vectors the rows of a contraction's tiles are made of
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Checks the values of the program, and that on units of so many bytes its schedule says so.
void check_tile(int unit_bytes, const std::string& tile, const std::string& text,
                const Signature& signature) {
    Target target = example_target(64);
    target.unit_bytes = unit_bytes;
    const codegen::Plan plan = codegen::plan(bound(text, signature), target);
    CHECK_MESSAGE(str(plan).find(tile) != std::string::npos, tile, "\n", str(plan));
    check_values(text, signature);
}

Signature matrices(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype = DType::f32) {
    return {{"A", array({m, k}, dtype)}, {"B", array({k, n}, dtype)}};
}

const std::string product = "C[i,j] := A[i,k]*B[k,j]";

}  // namespace

TEST_CASE("units of half a vector's width take vectors of that width where fewer lanes idle") {
    check_tile(64, "tile j 2 16", product, matrices(20, 20, 20));
    check_tile(32, "tile j 3 8", product, matrices(20, 20, 20));
    check_tile(64, "tile j 3 16", product, matrices(33, 33, 33));
    check_tile(32, "tile j 5 8", product, matrices(33, 33, 33));
    check_tile(32, "tile j 5 4", product, matrices(60, 60, 60, DType::f64));
}

TEST_CASE("tiles on units of half a vector's width are one vector wide where that is enough") {
    const std::string pointwise = "Y[o,p] := X[c,p]*W[o,c]";
    const Signature channels = {{"X", array({64, 96})}, {"W", array({16, 64})}};
    check_tile(32, "tile p 1 16", pointwise, channels);
    check_tile(64, "tile p 3 16", pointwise, channels);
    // What is far away comes too late beside the operations of one vector, and beside rows that
    // stand in one set of the first-level cache.
    Target target = example_target(64);
    const auto schedules = [&](int unit_bytes) {
        target.unit_bytes = unit_bytes;
        return str(codegen::plan(bound(product, matrices(16, 1024, 1024)), target));
    };
    CHECK(schedules(32).find("pack C_rows") != std::string::npos);
    CHECK(schedules(32).find("tile j 1 16") == std::string::npos);
    CHECK(schedules(64).find("pack C_rows") == std::string::npos);
}

TEST_CASE(
    "rows whose lines the first-level cache loses before their next element are of another axis") {
    // Of b, eight rows are 512 lines in 16 sets; of c, 64.
    const std::string gradient = "dB[c,b,d] := A[a,b,c]*dC[a,d]";
    const Signature signature = {{"A", array({64, 64, 64})}, {"dC", array({64, 64})}};
    check_tile(32, "tile c 13", gradient, signature);
    check_tile(64, "tile c 13", gradient, signature);
}

TEST_CASE("columns that meet in few sets of the caches, beside rows or many of them, are packed") {
    const std::string text = "C[a,d] := A[a,b,c]*B[c,b,d]";
    const Signature signature = {{"A", array({64, 64, 64})}, {"B", array({64, 64, 64})}};
    check_tile(32, "pack C_columns", text, signature);
    const codegen::Plan plan = codegen::plan(bound(text, signature), example_target(32));
    CHECK(str(plan).find("pack C_columns") != std::string::npos);
}

TEST_CASE("short far rows take wider tiles on units of half a vector's width") {
    const std::string text = "C[b,i,j] := A[b,i,k]*B[b,k,j]";
    check_tile(32, "tile j 2 16", text,
               {{"A", array({16, 256, 128})}, {"B", array({16, 128, 64})}});
    check_tile(32, "tile j 1 16", text, {{"A", array({2, 128, 128})}, {"B", array({2, 128, 64})}});
}

TEST_CASE("whole vectors stay where none of their lanes idle, sums are short or lanes are masked") {
    check_tile(32, " 16  ", product, matrices(48, 40, 48));
    check_tile(32, " 16  ", product, matrices(500, 3, 40));
    const std::string gradient =
        "dX[n,c,t] := sum[o,u | t-u >= 0 && t-u < 20](dY[n,o,t-u]*W[o,c,u]) where t in 0:24";
    check_tile(32, " 16  ", gradient, {{"dY", array({2, 8, 20})}, {"W", array({8, 16, 5})}});
}

TEST_CASE("tiles take what AVX2's sixteen registers hold beside what is in progress") {
    const auto check = [](const std::string& tile, const std::string& text,
                          const Signature& signature, int bytes = 32) {
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(bytes)));
        CHECK_MESSAGE(plan.find(tile) != std::string::npos, tile, "\n", plan);
        check_values(text, signature);
    };
    const auto rows = [](std::int64_t count, const char* axis) {
        return format("tile {} {}  ", axis, count);
    };
    // Twelve sums, three columns and a row's scalar; with what is left of two numbers, two columns.
    check(rows(4, "i"), product, matrices(96, 40, 96));
    check("tile j 3 8", product, matrices(96, 40, 96));
    const std::string distance = "D[i,j] := (A[i,k] - B[k,j])^2";
    check(rows(6, "i"), distance, matrices(96, 40, 96));
    check("tile j 2 8", distance, matrices(96, 40, 96));
    // A held number beside each sum.
    const std::string gradient = "dA[i,k] := sum[j](2*dD[i,j]*(A[i,k] - B[k,j]))";
    const Signature of_gradient = {
        {"A", array({96, 40})}, {"B", array({40, 96})}, {"dD", array({96, 96})}};
    check(rows(6, "i"), gradient, of_gradient);
    check("tile k 1 8", gradient, of_gradient);
    // Masks of columns, and zeros where they are not read.
    const std::string masked =
        "dX[n,c,t] := sum[o,u | t-u >= 0 && t-u < 40](dY[n,o,t-u]*W[o,c,u]) where t in 0:44";
    const Signature of_masked = {{"dY", array({2, 8, 40})}, {"W", array({8, 24, 5})}};
    check("tile t 2 8", masked, of_masked);
    check(rows(6, "c"), masked, of_masked);
    // A sum that is a multiply-add with a 1, where additions would keep comparisons waiting.
    const std::string tropical = "D[i,j] := max[k](A[i,k] + B[k,j])";
    check(rows(5, "i"), tropical, matrices(100, 40, 96));
    check("tile j 2 8", tropical, matrices(100, 40, 96));
    // A product that is no multiply-add.
    const std::string largest = "C[i,j] := max[k](A[i,k]*B[k,j])";
    check("tile j 2 8", largest, matrices(96, 40, 96));
    check("tile j 2 4", product, matrices(96, 40, 96, DType::i32));
}

TEST_CASE("AVX2 writes out innermost loops of few points, and asks ahead before all of them") {
    // Seven taps are four of two, less the last.
    const std::string text =
        "Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s] where y in 0:9, x in 0:48";
    const Signature signature = {{"X", array({2, 8, 24, 102})}, {"W", array({16, 8, 7, 7})}};
    for (const int bytes : {32, 64}) {
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(bytes)));
        const std::size_t first = plan.find("unroll s in 0..4");
        CHECK_MESSAGE((first != std::string::npos) == (bytes == 32), plan);
        if (bytes != 32) continue;
        CHECK_MESSAGE(plan.find("unroll s in 0..min(2, -2*s + 7)", first) != std::string::npos,
                      plan);
        const std::size_t asked = plan.find("prefetch", plan.rfind("for c in", first));
        const std::size_t read = plan.find("line[", first);
        REQUIRE_MESSAGE(read != std::string::npos, plan);
        CHECK_MESSAGE(asked < read, plan);
        CHECK_MESSAGE(plan.find("prefetch", read) == std::string::npos, plan);
    }
    check_values(text, signature);
}

TEST_CASE("AVX2 writes out a short innermost loop of a tile") {
    const std::string text = "Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s]";
    const Signature signature = {{"X", array({2, 8, 20, 42})}, {"W", array({12, 8, 3, 3})}};
    for (const int bytes : {32, 64}) {
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(bytes)));
        CHECK_MESSAGE((plan.find("unroll s in 0..3") != std::string::npos) == (bytes == 32), plan);
    }
    check_values(text, signature);
}

TEST_CASE("AVX2 packs columns whose lines meet in few sets of the caches") {
    const auto plan = [](const Signature& signature) {
        return str(codegen::plan(bound(product, signature), example_target(32)));
    };
    // Rows of 4 KiB: 64 lines would share a set of the first-level cache; of 16 rows all tiles of
    // four are full.
    const std::string apart = plan(matrices(16, 1024, 1024));
    CHECK_MESSAGE(apart.find("pack C_columns") != std::string::npos, apart);
    CHECK_MESSAGE(apart.find("tile i 4") != std::string::npos, apart);
    const std::string near = plan(matrices(16, 32, 1024));
    CHECK_MESSAGE(near.find("pack ") == std::string::npos, near);
    // Eight rows of 8 KiB and a line of columns would share one, too.
    const std::string rows = plan(matrices(2048, 2048, 8));
    CHECK_MESSAGE(rows.find("tile i 7") != std::string::npos, rows);
}

TEST_CASE("of loops whose bounds leave few points, those that they leave are weighed") {
    // Of 5x5 taps at 12x12 points 44 % read some gradient: in lanes over channels, without masks.
    const std::string text =
        "dX[n,c,t,p] := sum[o,u,v | t-u >= 0 && t-u < 8 && p-v >= 0 && p-v < 8]("
        "dY[n,o,t-u,p-v]*W[o,c,u,v]) where t in 0:12, p in 0:12";
    const Signature signature = {{"dY", array({100, 50, 8, 8})}, {"W", array({50, 20, 5, 5})}};
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(32)));
    CHECK_MESSAGE(plan.find("tile c 3 8") != std::string::npos, plan);
    CHECK_MESSAGE(plan.find("_padded") == std::string::npos, plan);
    check_values(text, {{"dY", array({5, 4, 8, 8})}, {"W", array({4, 20, 5, 5})}});
}

TEST_CASE("panels that would take single elements of lines from memory are not made") {
    const auto plan = [](const char* a, const Signature& signature) {
        const std::string text = std::string("C[a,b,c,d,e] := ") + a + "*B[c,f]";
        return str(codegen::plan(bound(text, signature), example_target(32)));
    };
    const std::string of_columns =
        plan("A[e,f,b,a,d]", {{"A", array({24, 32, 32, 24, 32})}, {"B", array({24, 32})}});
    CHECK_MESSAGE(of_columns.find("transpose d 8") != std::string::npos, of_columns);
    CHECK_MESSAGE(of_columns.find("pack ") == std::string::npos, of_columns);
    check_values("C[a,b,c,d,e] := A[e,f,b,a,d]*B[c,f]",
                 {{"A", array({5, 9, 3, 4, 17})}, {"B", array({6, 9})}});
}

TEST_CASE("rows left over are those of a last tile that starts earlier, read where they stand") {
    const Signature odd = matrices(53, 300, 48);
    for (const int bytes : {32, 64}) {
        const std::string plan = str(codegen::plan(bound(product, odd), example_target(bytes)));
        CHECK_MESSAGE(plan.find("direct rows") != std::string::npos, plan);
        CHECK_MESSAGE(plan.find("is_last_row") != std::string::npos, plan);
    }
    check_values(product, odd);
    // With a last tile of columns too, and held terms.
    const std::string held = "C[i,j] := sum[k]((A[i,k] - D[i,j])*B[k,j])";
    const Signature of_held = {
        {"A", array({53, 300})}, {"B", array({300, 29})}, {"D", array({53, 29})}};
    const std::string plan = str(codegen::plan(bound(held, of_held), example_target(32)));
    for (const char* part : {"is_last_row", "is_last_column", "registers held"})
        CHECK_MESSAGE(plan.find(part) != std::string::npos, part, "\n", plan);
    check_values(held, of_held);
    // Another order of the result, updates.
    check_values(product, matrices(53, 300, 53));
    check_values("C[j,i] := relu(sum[k](A[i,k]*B[k,j]) + c[i]*D[i,j])", {{"A", array({53, 300})},
                                                                         {"B", array({300, 53})},
                                                                         {"c", array({53})},
                                                                         {"D", array({53, 53})}});
    check_values("C[i,j] := D[i,j]; C[i,j] += A[i,k]*B[k,j]",
                 {{"A", array({53, 300})}, {"B", array({300, 48})}, {"D", array({53, 48})}});
    check_values("D[i,j] := max[k](A[i,k] + B[k,j])", odd);
    check_values("C[n,i,j] := A[n,i,k]*B[n,k,j]",
                 {{"A", array({3, 29, 64})}, {"B", array({3, 64, 40})}});
}
