// tests/codegen/prefetch_streams_test.cpp – what loops over large arrays ask for ahead
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// All nests, for a machine whose caches hold next to nothing. Checks values, too.
std::string nests(const std::string& text, const Signature& signature,
                  std::int64_t l1_bytes = 32 << 10, std::int64_t l2_bytes = 512) {
    INFO(text);
    const BoundProgram program = bound(text, signature);
    Target target = example_target(64);
    target.l1_bytes = l1_bytes;
    target.l2_bytes = l2_bytes;
    CHECK(interpreted_difference(program, signature, target) == "");
    std::string all;
    for (const codegen::Nest& nest : codegen::plan(program, target).nests) all += str(nest);
    return all;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("loops over large arrays ask for each of their streams") {
    const auto text = [](std::int64_t size) {
        return nests("y[i] := a[i]*b[i] + c",
                     {{"a", array({size})}, {"b", array({size})}, {"c", array({})}});
    };
    const std::string large = text(5000);
    CHECK(count(large, "prefetch a[i0 + 256] to L1") == 1);
    CHECK(count(large, "prefetch b[i0 + 256] to L1") == 1);
    CHECK(count(text(250), "prefetch") == 0);
}

TEST_CASE("the dearest loop that goes over a row again asks for the next one") {
    const auto norm = [](Shape shape, std::int64_t l1_bytes, std::int64_t l2_bytes) {
        return nests(
            "m[n] := mean[i](x[n,i]); Y[n,i] := (x[n,i]-m[n])/sqrt(mean[j]((x[n,j]-m[n])^2)+1)",
            {{"x", array(std::move(shape))}}, l1_bytes, l2_bytes);
    };
    for (const std::int64_t l1_bytes : {32 << 10, 2 << 10}) {
        const std::string last = norm({40, 1024}, l1_bytes, 16 << 10);
        INFO(last);
        CHECK(count(last,
                    "for i0 in 0..1024 by 16\n"
                    "        prefetch x[1024*n + i0 + 1024] to L2\n") == 1);
        CHECK(count(last, "prefetch x[") == 2);
    }
    const std::string second =
        nests("Y[n,i] := x[n,i] - logsumexp[j](x[n,j])", {{"x", array({100, 1024})}});
    CHECK(count(second, "prefetch x[1024*n + j0 + 16*u + 1024] to L2") == 1);
    CHECK(count(second, "prefetch x[") == 2);
    // The second-level cache does not hold four rows.
    CHECK(count(norm({40, 1024}, 2 << 10, 8 << 10), "prefetch x[") == 3);
    // Of rows shorter than 2 KiB the first pass asks for the next one.
    CHECK(count(norm({40, 448}, 32 << 10, 512), "prefetch x[") == 1);
}

TEST_CASE("loops over a block of rows ask for the next block") {
    const auto norm = [](Shape shape) {
        return nests(
            "m[n] := mean[i](x[n,i]); Y[n,i] := (x[n,i]-m[n])/sqrt(mean[j]((x[n,j]-m[n])^2)+1)",
            {{"x", array(std::move(shape))}});
    };
    // Sixteen rows at a time, whose loops have one of their own inside in the last pass or in all.
    const std::string of_64 = norm({200, 64});
    CHECK(count(of_64, "prefetch x[64*n + i0 + 1024] to L2") == 1);
    CHECK(count(of_64, "prefetch x[") == 2);
    const std::string of_128 = norm({200, 128});
    CHECK(count(of_128, "prefetch x[128*n + i0 + 2048] to L2") == 1);
    CHECK(count(of_128, "prefetch x[") == 2);
}

TEST_CASE("a task of one row asks for the row of the next task") {
    const std::string text =
        nests("Y[n,i] := lgamma(lgamma(lgamma(lgamma(x[n,i])))) - logsumexp[j](x[n,j])",
              {{"x", array({64, 8192}, DType::f64)}}, 32 << 10, 256 << 10);
    CHECK_MESSAGE(count(text, "prefetch x[8192*task + ") == 2, text);
    CHECK_MESSAGE(count(text, "+ 8192] to L2") == 1, text);
}

TEST_CASE("after its last turn a loop asks for what the one around it comes to next") {
    const std::string apart = nests("s[n] := sum[i](x[n,2,i])", {{"x", array({30, 8, 784})}});
    CHECK(count(apart, "prefetch x[6272*n + i0 + 16*u + 2128 + select(i0 >= 224, 5488, 0)]") == 1);
    // The last 40 elements have a loop of their own, whose turns ask for those of the next row.
    const std::string odd = nests("s[n] := sum[i](x[n,2,i])", {{"x", array({30, 8, 1000})}});
    CHECK(count(odd, "prefetch x[8000*n + i1 + 10000] to L1") == 1);
    const std::string together = nests("s[n] := sum[i](x[n,i])", {{"x", array({90, 784})}});
    CHECK(count(together, "to L1") == 1);
    CHECK(count(together, "select") == 0);
}

TEST_CASE("a row that every turn of the loop around reads again is not asked for") {
    const std::string text =
        nests("Y[n,i] := A[n,i]*x[i]", {{"A", array({40, 2000})}, {"x", array({2000})}});
    CHECK(count(text, "prefetch A[") == 1);
    CHECK(count(text, "prefetch x[") == 0);
}

TEST_CASE("rows that no cache holds together are asked for again") {
    const std::string text = "Y[n,i] := a[n,i]*b[n,i] - sum[j](a[n,j]*b[n,j])";
    const Signature signature = {{"a", array({40, 1600})}, {"b", array({40, 1600})}};
    const std::string kept = nests(text, signature);
    CHECK(count(kept, "prefetch a[") == 2);
    CHECK_MESSAGE(count(kept, "prefetch a[1600*n + j0 + 1600] to L2") == 1, kept);
    const std::string asked_again = nests(text, signature, 16 << 10);
    CHECK(count(asked_again, "prefetch a[") == 2);
    CHECK(count(asked_again, "to L2") == 0);
}

TEST_CASE("contractions ask for themselves") {
    const std::string text =
        nests("C[i,j] := A[k,i]*B[k,j]", {{"A", array({400, 64})}, {"B", array({400, 96})}});
    CHECK(count(text, "to L1") == 2);  // of columns and of rows, once each
}

TEST_CASE("requests run down, in steps and along squares as loads do") {
    const Signature row = {
        {"x", array({6000})},
    };
    const auto has = [](const std::string& request, const std::string& text,
                        const Signature& signature) {
        const std::string all = nests(text, signature);
        CHECK_MESSAGE(count(all, request) == 1, all);
    };
    has("prefetch x[-i0 + ", "y[i] := x[5999-i]", row);
    has("prefetch x[2*i0 + 16*u", "y[i] := x[2*i]*x[2*i+1] where i in 0:3000", row);
    has("prefetch x[", "y[i] := x[i]+x[i+1]+x[i+2]", row);
    has("prefetch A[16*j_square + 90*i0 + 90*u + 32 + select(j_square >= 3, 1360, 0)]",
        "B[j,i] := A[i,j]", {{"A", array({70, 90})}});
    has("prefetch A[90*i + 16*u + 720]", "s[j] := max[i](A[i,j])", {{"A", array({70, 90})}});
}

TEST_CASE("requests are for the cache that suits the machine") {
    const Signature signature = {{"a", array({5000})}};
    Target target = example_target(64);
    target.l2_bytes = 512;
    target.stream_level = 2;
    const codegen::Plan plan = codegen::plan(bound("y[i] := 2*a[i]", signature), target);
    CHECK_MESSAGE(count(str(plan.nests[0]), "prefetch a[i0 + 512] to L2") == 1, str(plan.nests[0]));
}

TEST_CASE("with short vectors quick loops over what comes from memory do not ask") {
    const auto asks = [](const std::string& text, const Signature& signature, int vector_bytes) {
        const BoundProgram program = bound(text, signature);
        return str(codegen::plan(program, example_target(vector_bytes))).find("prefetch") !=
               std::string::npos;
    };
    const Signature x = {{"x", array({10'000'000})}};
    CHECK_FALSE(asks("s := x[i]", x, 32));
    CHECK_FALSE(asks("s := norm[i](x[i])", x, 32));
    CHECK_FALSE(asks("s[i] := x[i,k]", {{"x", array({20'000, 1000})}}, 32));
    CHECK(asks("s := x[i]", x, 64));
    CHECK(asks("s := x[i]", {{"x", array({8'000'000})}}, 32));
    CHECK(asks("s := x[i]", {{"x", array({20'000'000}, DType::bf16)}}, 32));
    CHECK(asks("s := sum[i](exp(x[i]))", x, 32));
    CHECK(asks("y[i] := 2*x[i]", x, 32));
    // Four rows at a time.
    CHECK(asks("y[i] := A[i,j]*x[j]", {{"A", array({4096, 4096})}, {"x", array({4096})}}, 32));
}

TEST_CASE("what hardware brings by itself is not asked for") {
    const Signature signature = {{"a", array({5000})}};
    Target target = example_target(64);
    const auto requests = [&](bool has_fast_l3, std::int64_t l2_bytes) {
        target.has_fast_l3 = has_fast_l3;
        target.l2_bytes = l2_bytes;
        const codegen::Plan plan = codegen::plan(bound("y[i] := 2*a[i]", signature), target);
        return count(str(plan.nests[0]), "prefetch a[");
    };
    CHECK(requests(false, 10000) == 0);
    CHECK(requests(false, 9999) == 1);
    CHECK(requests(true, 2500) == 0);
    CHECK(requests(true, 2499) == 1);
}

TEST_CASE("results go past caches that hold less than all that a kernel goes over") {
    const auto is_past = [](const std::string& text, const Signature& signature) {
        Target target = example_target(64);
        target.l3_bytes = 320 << 10;
        const codegen::Plan plan = codegen::plan(bound(text, signature), target);
        return str(plan).find("  stream Y") != std::string::npos;
    };
    const std::string norm = "m[n] := mean[i](x[n,i]); Y[n,i] := x[n,i] - m[n]";
    CHECK(is_past(norm, {{"x", array({41, 1024})}}));
    CHECK_FALSE(is_past(norm, {{"x", array({39, 1024})}}));
    // Vectors of rows that are no whole lines lie across lines.
    CHECK_FALSE(is_past(norm, {{"x", array({42, 1023})}}));
    // Small beside what is read.
    CHECK_FALSE(is_past("m[n] := mean[i](x[n,i]); Y[n] := a[n] - m[n]",
                        {{"x", array({1024, 128})}, {"a", array({1024})}}));
    const Signature two = {{"a", array({32, 1024})}, {"b", array({32, 1024})}};
    CHECK(is_past("Y[n,i] := a[n,i] + b[n,i]", two));
    CHECK_FALSE(is_past("Y[n,i] := a[n,i] + 1", {{"a", array({32, 1024})}}));
    // Read later, or written in squares.
    CHECK_FALSE(is_past("Y[n,i] := a[n,i] + b[n,i]; Z[i] := max[n](Y[n,i])", two));
    CHECK_FALSE(is_past("Y[i,n] := a[n,i] + b[n,i]", two));
}

TEST_CASE("short rows whose results go past a fast third-level cache are not asked for") {
    const auto requests = [](Shape shape, bool has_fast_l3) {
        const Signature signature = {{"x", array(std::move(shape))}};
        Target target = example_target(64);
        target.l2_bytes = has_fast_l3 ? 2 << 10 : 8 << 10;  // arrays that come as fast from it
        target.l3_bytes = 256 << 10;
        target.has_fast_l3 = has_fast_l3;
        const BoundProgram program =
            bound("m[n] := mean[i](x[n,i]); Y[n,i] := x[n,i] - m[n]", signature);
        CHECK(interpreted_difference(program, signature, target) == "");
        const std::string plan = str(codegen::plan(program, target));
        CHECK(count(plan, "# streaming") > 0);
        return count(plan, "prefetch x[");
    };
    CHECK(requests({40, 1024}, true) == 0);
    CHECK(requests({40, 1024}, false) > 0);
    CHECK(requests({20, 4096}, true) > 0);
    // Squares read runs far apart.
    Target target = example_target(64);
    target.l2_bytes = 2 << 10;
    target.has_fast_l3 = true;
    const std::string squares =
        str(codegen::plan(bound("Y[j,i] := x[i,j]", {{"x", array({4096, 2048})}}), target));
    CHECK(count(squares, "# streaming") > 0);
    CHECK(count(squares, "prefetch x[") > 0);
}
