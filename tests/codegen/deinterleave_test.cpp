// tests/codegen/deinterleave_test.cpp – contractions whose lanes stand a few elements apart
#include "codegen/deinterleave.h"

#include <doctest/doctest.h>

#include "base/text.h"
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

bool deinterleaves(const BoundProgram& program) {
    const codegen::Plan plan = codegen::plan(program, tests::example_target(64));
    return str(plan).find("  deinterleave ") != std::string::npos;
}

}  // namespace

TEST_CASE("columns two to four elements apart that overlap are deinterleaved") {
    for (const std::int64_t stride : {2, 3, 4, 5}) {
        CAPTURE(stride);
        const std::int64_t taps = stride + 2;
        const Signature given = arguments(41, taps, DType::f32);
        CHECK(deinterleaves(convolution(stride, 0, taps, 1, given)) == (stride <= 4));
    }
    // Every element is read once: a panel takes no more than the copy.
    const Signature small = arguments(40, 2, DType::f32);
    CHECK_FALSE(deinterleaves(convolution(2, 0, 2, 1, small)));
}

TEST_CASE("deinterleaved columns agree with the reference at every border") {
    int deinterleaved = 0;
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
                        deinterleaved += deinterleaves(program) ? 1 : 0;
                        CHECK(tests::compiled_difference(program, signature) == "");
                        if (dtype == DType::f64 || dilation == 2 || size > 21) continue;
                        for (const int bytes : {16, 64})
                            CHECK(tests::interpreted_difference(
                                      program, signature, tests::example_target(bytes), 1) == "");
                    }
    // Small padded ones are read in masked lanes.
    CHECK(deinterleaved > 20);
}

TEST_CASE("nothing is copied of an operand whose reads are all excluded") {
    ArgumentSpec delay{.dtype = DType::i64, .shape = {}, .strides = {}, .value = {}};
    delay.value = std::int64_t{300};
    const Signature signature{
        {"X", tests::array({137})}, {"W", tests::array({17, 13, 9})}, {"delay", delay}};
    const BoundProgram program = tests::bound(
        "Y[o,x] := sum[c,r | 2*x+r >= $delay](X[2*x+r-$delay]*W[o,c,r]) where x in 0:55",
        signature);
    CHECK_FALSE(deinterleaves(program));
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
