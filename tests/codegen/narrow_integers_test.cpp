// tests/codegen/narrow_integers_test.cpp – the pass `narrow`: integers of lanes in 32 bits
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Checks values, and whether all integers of 64 bits in lanes became narrow.
void check(bool is_narrow, const std::string& text, const Signature& signature) {
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    const bool is_wide = plan.find("i64(") != std::string::npos;
    CHECK_MESSAGE(is_wide != is_narrow, text, "\n", plan);
    check_values(text, signature);
}

}  // namespace

TEST_CASE("comparisons of narrow integers with indices are of 32 bits") {
    for (const DType narrow : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32}) {
        const Signature signature = {{"J", array({70}, narrow)}, {"A", array({70})}};
        check(true, "Y[i] := i64(J[i]) == i-30 ? A[i] : 0", signature);
        if (narrow != DType::i32) check(true, "Y[i] := i64(J[i])+2*i < 50 ? A[i] : 0", signature);
    }
    check_values("Y[i,k] := -(i-k)*(i-k+2)+A[i] where k in 0:70", {{"A", array({70})}});
    check(true, "Y[k,i] := i64(J[i]) % 7 == k ? A[i] : 0 where k in 0:7",
          {{"J", array({70}, DType::i16)}, {"A", array({70})}});
}

TEST_CASE("integers that may need more than 32 bits keep 64") {
    const Signature signature = {{"J", array({70}, DType::i32)}, {"A", array({70})}};
    check(false, "Y[i] := i64(J[i])+i > 2 ? A[i] : 0", signature);
    check(false, "Y[i] := 2*i64(J[i]) > i ? A[i] : 0", signature);
    check(false, "Y[i] := i64(J[i]) < 3000000000*i ? A[i] : 0", signature);
    check_values("Y[i] := J[i] > i ? A[i] : 0",
                 {{"J", array({70}, DType::i64)}, {"A", array({70})}});
}

TEST_CASE("unsigned integers and names of lanes are narrow, too") {
    const Signature signature = {{"J", array({70}, DType::u8)}, {"A", array({70})}};
    const auto has_wide = [&](const std::string& text) {
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
        check_values(text, signature);
        return plan.find("u64") != std::string::npos;
    };
    CHECK_FALSE(has_wide("Y[i] := f32(u64(J[i])//16 + u64(J[i])%16)*A[i]"));
    CHECK_FALSE(has_wide("Y[i] := u64(J[i])*u64(J[i]) > 400 ? A[i] : 0"));
    // What wraps does not stay small.
    CHECK(has_wide("Y[i] := u64(J[i]) - u64(70) < u64(100) ? A[i] : 0"));
    CHECK(has_wide("Y[i] := u64(J[i]) < u64(1.8e19) ? A[i] : 0"));
}

TEST_CASE("places of extremes are of 32 bits") {
    const Signature signature = {{"A", array({9, 70})}};
    for (const char* text :
         {"Y[i] := argmax[j](A[i,j])", "Y[j] := argmin[i](A[i,j])",
          "Y[i] := argmax[j | j != 3](A[i,j])", "Y[i] := argmax[j in 5:70](A[i,j])"})
        check_values(text, signature);
    const std::string plan =
        str(codegen::plan(bound("Y[j] := argmin[i](A[i,j])", signature), example_target(64)));
    CHECK(plan.find("registers place: i32") != std::string::npos);
}

TEST_CASE("short integers are compared as they are stored with what all lanes share") {
    const Signature signature = {{"J", array({9, 70}, DType::i8)}, {"A", array({9, 70})}};
    const auto plan_of = [&](const std::string& text) {
        check_values(text, signature);
        return str(codegen::plan(bound(text, signature), example_target(64)));
    };
    CHECK(
        plan_of("Y[k,i] := sum[j](J[j,i] == 3*k+j ? A[j,i] : 0) where k in 0:5").find("i8_bits(") !=
        std::string::npos);
    // A number that the type does not hold, and one of each lane.
    CHECK(plan_of("Y[k,i] := sum[j](J[j,i] == 100*k+j ? A[j,i] : 0) where k in 0:5")
              .find("i8_bits(") == std::string::npos);
    CHECK(plan_of("Y[i] := sum[j](J[j,i] == i%7 ? A[j,i] : 0)").find("i8_bits(") ==
          std::string::npos);
}

TEST_CASE("places under conditions are those of the first best point that is left") {
    // Infinities that only the first of them may win, and NaN before all.
    const std::string numbers =
        "a[n,i] := x[n,i] > 0 ? -inf : x[n,i] < -1.5 ? inf - inf : x[n,i]; ";
    const Signature signature = {{"x", array({9, 70})}};
    for (const char* text :
         {"p[n,y] := argmax[k in 0:3 | 2*y+k-1 >= 0 && 2*y+k-1 < 70](a[n,2*y+k-1])",
          "p[n,y] := argmin[k in 0:4 | y+k >= 3 && y+k < 71](-a[n,y+k-3])"})
        for (const char* range : {" where y in 0:35", " where y in 0:20"})
            check_values(numbers + text + range, signature);
    check_values(numbers + "p[i] := argmax[k | k <= i](a[3,k]) where i in 0:70", signature);
    check_values(numbers + "p[n] := argmax[k | k >= n && k < n+5](a[n,k])", signature);
    const std::string plan = str(codegen::plan(
        bound("p[n,y] := argmax[k in 0:3 | 2*y+k-1 >= 0 && 2*y+k-1 < 70](x[n,2*y+k-1]) "
              "where y in 0:35",
              signature),
        example_target(64)));
    CHECK_MESSAGE(plan.find("registers mask") != std::string::npos, plan);
    CHECK(plan.find("registers place: i32") != std::string::npos);
}

TEST_CASE("guarded reads keep the form they are known by") {
    const std::string text = "Y[i] := max[k in 0:3](X[pad(2*i+k-1, 1, value=-inf)])";
    const std::string plan =
        str(codegen::plan(bound(text, {{"X", array({200})}}), example_target(64)));
    CHECK(plan.find("i32_bits") == std::string::npos);
    check_values(text, {{"X", array({200})}});
}

TEST_CASE("conditions that leave 64 bits are tested at each point, as values that wrap") {
    for (const char* range : {"4", "33"})
        check_values(
            std::string("dx[j] := sum[i | j*4611686018427387904 < i](y[i]) where j in 0:") + range,
            {{"y", array({100})}});
    check_values(
        "Y[t] := sum[k in 0:30,l in 0:9 | 3*k == 4611686018427387904*l+t](B[k])"
        " where t in 0:40",
        {{"B", array({30})}});
}
