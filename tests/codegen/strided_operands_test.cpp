// tests/codegen/strided_operands_test.cpp – contractions whose lanes would stand apart
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/shared_operands.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;

namespace {

/// A strided convolution of `size` points, a kernel of `taps`, zeros outside.
BoundProgram convolution(std::int64_t stride, std::int64_t pad, std::int64_t taps,
                         std::int64_t dilation, const Signature& signature) {
    const std::int64_t size = signature.at("X").shape[3];
    const std::int64_t results = (size + 2 * pad - dilation * (taps - 1) - 1) / stride + 1;
    const auto at = [&](const char* point, const char* tap) {
        const std::string place = format("{}*{}+{}*{}", stride, point, dilation, tap);
        return pad == 0 ? place : format("pad({}-{},{},{})", place, pad, pad, pad);
    };
    return tests::bound(format("Y[n,o,y,x] := X[n,c,{},{}]*W[o,c,r,s] where y in 0:{}, x in 0:{}",
                               at("y", "r"), at("x", "s"), results, results),
                        signature);
}

Signature arguments(std::int64_t size, std::int64_t taps, DType dtype) {
    return {{"X", tests::array({2, 3, size, size}, dtype)},
            {"W", tests::array({16, 3, taps, taps}, dtype)}};
}

bool has_array(const BoundProgram& program) {
    const codegen::Plan plan = codegen::plan(program, tests::example_target(64));
    return str(plan).find("temporary shared") != std::string::npos;
}

}  // namespace

TEST_CASE("strided convolutions agree with the reference at every border") {
    int arrays = 0;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t stride : {2, 3, 4})
            for (const std::int64_t pad : {0, 1, 3})
                for (const std::int64_t dilation : {1, 2})
                    for (const std::int64_t size : {21, 38}) {
                        if (dtype == DType::f64 && stride > 2) continue;
                        CAPTURE(stride);
                        CAPTURE(pad);
                        CAPTURE(dilation);
                        CAPTURE(size);
                        const std::int64_t taps = stride + 2;
                        const Signature signature = arguments(size, taps, dtype);
                        const BoundProgram program =
                            convolution(stride, pad, taps, dilation, signature);
                        arrays += has_array(program) ? 1 : 0;
                        CHECK(tests::compiled_difference(program, signature) == "");
                        if (dtype == DType::f64 || dilation == 2 || size > 21) continue;
                        for (const int bytes : {16, 64})
                            CHECK(tests::interpreted_difference(
                                      program, signature, tests::example_target(bytes), 1) == "");
                    }
    CHECK(arrays > 20);
}

TEST_CASE("the points that a subsampled operand is read at are stored side by side") {
    const auto agrees = [](const char* text, const Signature& signature) {
        const BoundProgram program = tests::bound(text, signature);
        CHECK(has_array(program));
        CHECK(tests::compiled_difference(program, signature) == "");
    };
    agrees("Y[n,o,x] := X[n,c,2*x]*W[o,c] where x in 0:28",
           {{"X", tests::array({20, 30, 57})}, {"W", tests::array({30, 30})}});
    agrees("dW[o,c] := sum[n,x](X[n,c,4*x]*Z[n,o,x]) where x in 0:14",
           {{"X", tests::array({40, 80, 57})}, {"Z", tests::array({40, 60, 14})}});
}

TEST_CASE("conditions keep a strided operand in bounds") {
    const Signature signature{{"X", tests::array({9, 137})}, {"W", tests::array({90, 9, 9})}};
    for (const std::string text :
         {"Y[o,x] := sum[c,r | 2*x+r < 137](X[c,2*x+r]*W[o,c,r]) where x in 0:70, r in 0:9",
          "Y[o,x] := sum[c,r | 2*x+r >= 4 && 2*x+r < 141](X[c,2*x+r-4]*W[o,c,r]) where x in 0:71",
          "Y[o,x] := sum[c,r | 3*x-2*r >= 0](X[c,3*x-2*r]*W[o,c,r]) where x in 0:46"}) {
        CAPTURE(text);
        const BoundProgram program = tests::bound(text, signature);
        CHECK(has_array(program));
        CHECK(tests::compiled_difference(program, signature) == "");
        for (const int bytes : {16, 64})
            CHECK(tests::interpreted_difference(program, signature, tests::example_target(bytes),
                                                1) == "");
    }
}

TEST_CASE("rows that leave lanes idle stay where they stand beside channels that fill them") {
    const auto program = [](std::int64_t channels, std::int64_t size) {
        return std::pair(
            tests::bound(
                format("Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s] where x in 0:{}", size),
                {{"X", tests::array({2, 3, 21, 2 * size + 1})},
                 {"W", tests::array({channels, 3, 3, 3})}}),
            Signature{{"X", tests::array({2, 3, 21, 2 * size + 1})},
                      {"W", tests::array({channels, 3, 3, 3})}});
    };
    const auto [in_place, given] = program(64, 28);
    CHECK(!has_array(in_place));
    CHECK(tests::compiled_difference(in_place, given) == "");
    CHECK(has_array(program(64, 32).first));  // all lanes work
    CHECK(has_array(program(20, 28).first));  // 20 channels leave more idle
}

TEST_CASE(
    "rows of windows that do not overlap follow each other in an array, and leave no lane idle") {
    const auto program = [](std::int64_t taps, std::int64_t stride, std::int64_t size,
                            std::int64_t channels = 64) {
        const Signature given = {{"X", tests::array({2, 3, stride * size, stride * size})},
                                 {"W", tests::array({channels, 3, taps, taps})}};
        const std::string text =
            format("Y[n,o,y,x] := X[n,c,{0}*y+r,{0}*x+s]*W[o,c,r,s] where y in 0:{1}, x in 0:{1}",
                   stride, size - (taps > stride ? 1 : 0));
        return std::pair(tests::bound(text, given), given);
    };
    const auto [windows, given] = program(2, 2, 28);
    CHECK(has_array(windows));
    CHECK(tests::compiled_difference(windows, given) == "");
    CHECK(!has_array(program(2, 2, 28, 32).first));  // the array costs more than lanes gain
    CHECK(!has_array(program(4, 4, 28).first));
    CHECK(!has_array(program(3, 2, 29).first));  // rows of 28, one beside the other overlap
    // Windows of two points that begin with the second one reach into the next.
    CHECK(!has_array(
        tests::bound("Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s] "
                     "where r in 1:3, s in 1:3, y in 0:28, x in 0:28",
                     {{"X", tests::array({2, 3, 57, 57})}, {"W", tests::array({64, 3, 3, 3})}})));
}

TEST_CASE("an operand whose reads are all excluded may be copied") {
    ArgumentSpec delay{.dtype = DType::i64, .shape = {}, .strides = {}, .value = {}};
    delay.value = std::int64_t{300};
    const Signature signature{
        {"X", tests::array({137})}, {"W", tests::array({17, 13, 9})}, {"delay", delay}};
    const BoundProgram program = tests::bound(
        "Y[o,x] := sum[c,r | 2*x+r >= $delay](X[2*x+r-$delay]*W[o,c,r]) where x in 0:55",
        signature);
    CHECK(tests::compiled_difference(program, signature) == "");
}

TEST_CASE("the last element of an array is the last that lanes with long steps read") {
    const Signature signature{{"X", tests::array({3, 80}, DType::f64)},
                              {"W", tests::array({16, 3, 8}, DType::f64)}};
    const BoundProgram program = tests::bound("Y[o,x] := X[c,4*x+r]*W[o,c,r]", signature);
    for (const int bytes : {16, 32, 64})
        CHECK(tests::interpreted_difference(program, signature, tests::example_target(bytes)) ==
              "");
}

TEST_CASE("taps that do not begin at 0, all within one step, are read where they are") {
    const auto check = [](const std::string& text, const Signature& signature) {
        CAPTURE(text);
        const BoundProgram program = tests::bound(text, signature);
        CHECK(has_array(program));
        CHECK(tests::compiled_difference(program, signature) == "");
    };
    const Signature taps{{"X", tests::array({64, 330})}, {"W", tests::array({64, 64, 2})}};
    check("Y[o,x] := sum[c,s](W[o,c,s+2]*X[c,2*s+4*x+7]) where x in 0:80, s in -2:0", taps);
    check("Y[o,x] := sum[c,s](W[o,c,s-2]*X[c,2*s+4*x-4]) where x in 0:80, s in 2:4", taps);
    check("Y[o,x] := sum[c,s](W[o,c,s-1]*X[c,s+2*x-1]) where x in 0:80, s in 1:4",
          {{"X", tests::array({64, 330})}, {"W", tests::array({64, 64, 3})}});
}

TEST_CASE("gradients of two strided factors agree with the reference") {
    const Signature factors{{"X", tests::array({16, 33, 23})},
                            {"Z", tests::array({33, 30})},
                            {"W", tests::array({3, 33, 32})},
                            {"dY", tests::array({16, 32, 8})}};
    const BoundProgram program = ricci::bind(
        canonicalise(grad::gradient(
            parse_program("Y[n,o,x] := X[n,c,19-2*x+s]*Z[c,3*x+s]*W[s,c,o] where x in 0:8"), "X")),
        factors);
    CHECK(tests::compiled_difference(program, factors) == "");
}
