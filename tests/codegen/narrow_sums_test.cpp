// tests/codegen/narrow_sums_test.cpp – integer sums in 32 bits, where types and extents keep them
// there
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Whether sums are kept in registers of 32 bits. Checks values.
bool is_narrow(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    check_values(text, signature);
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    const auto has = [&](const char* registers) {
        return plan.find(registers) != std::string::npos;
    };
    CHECK_MESSAGE(
        (has("registers acc: i32") || has("registers acc: i64") || has("registers acc: u64")),
        plan);
    return !has("registers acc: i64") && !has("registers acc: u64");
}

/// Rows of so many largest or smallest numbers of a type: conversions saturate.
Signature rows(std::int64_t points, DType dtype = DType::i16) {
    return {{"A", array({3, points}, dtype)}};
}

}  // namespace

TEST_CASE("sums of small integers are of 32 bits, and read as of 64") {
    for (const DType small : {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16}) {
        CAPTURE(name(small));
        const Signature signature = {{"A", array({40, 70}, small)}};
        CHECK(is_narrow("s[i] := A[i,k]", signature));
        CHECK(is_narrow("s[k] := A[i,k]", signature));
        CHECK(is_narrow("s[i] := sum[k](A[i,k])*3000000000 + i", signature));
        CHECK(is_narrow("s[i] := f32(sum[k](A[i,k]))*0.5", signature));
        CHECK(is_narrow("s[i] := i8(sum[k](A[i,k]))", signature));
        CHECK(is_narrow(
            "s[i] += A[i,k]",
            {{"A", array({40, 70}, small)},
             {"s",
              array({40}, small == DType::u8 || small == DType::u16 ? DType::u64 : DType::i64)}}));
        if (size_bytes(small) == 1)
            CHECK(is_narrow("C[i,j] := A[i,k]*B[k,j]",
                            {{"A", array({40, 70}, small)}, {"B", array({70, 33}, small)}}));
    }
    CHECK(is_narrow("n[i] := sum[k](A[i,k] > 0.5)", {{"A", array({40, 70})}}));
    CHECK(is_narrow("n[i] := sum[k | k != i](i64(A[i,k]) - 7*B[k])",
                    {{"A", array({40, 70}, DType::i8)}, {"B", array({70}, DType::i8)}}));
}

TEST_CASE("the largest sums decide: one point more than 32 bits hold keeps 64") {
    // 255*255 and 128*128 so many times.
    const std::string bytes = "u8(i32(A[i,k])+70000)";
    CHECK(is_narrow(format("s[i] := sum[k]({0}*{0})", bytes), rows(33'025)));
    CHECK_FALSE(is_narrow(format("s[i] := sum[k]({0}*{0})", bytes), rows(33'026)));
    const std::string least = "i8(i32(A[i,k])-70000)";
    CHECK(is_narrow(format("s[i] := sum[k]({0}*{0})", least), rows(131'071)));
    CHECK_FALSE(is_narrow(format("s[i] := sum[k]({0}*{0})", least), rows(131'072)));
    CHECK(is_narrow("s[i] := sum[k](i16(i32(A[i,k])-70000))", rows(65'535)));
    CHECK_FALSE(is_narrow("s[i] := sum[k](i16(i32(A[i,k])-70000))", rows(65'536)));
}

TEST_CASE("sums of what 32 bits may not hold keep 64") {
    CHECK_FALSE(is_narrow("s[i] := A[i,k]", rows(70, DType::i32)));
    CHECK_FALSE(is_narrow("s[i] := A[i,k]", rows(70, DType::u32)));
    CHECK_FALSE(is_narrow("s[i] := A[i,k]", rows(70, DType::i64)));
    CHECK_FALSE(is_narrow("s[i] := A[i,k]*A[i,k]", rows(70, DType::i16)));
    CHECK_FALSE(is_narrow("s[i] := sum[k](A[i,k]*3000000000)", rows(70, DType::i8)));
    // Differences of u64 wrap.
    CHECK_FALSE(is_narrow("s[i] := sum[k](A[i,k]-B[k])",
                          {{"A", array({3, 70}, DType::u8)}, {"B", array({70}, DType::u8)}}));
}
