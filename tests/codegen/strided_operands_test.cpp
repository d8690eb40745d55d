// tests/codegen/strided_operands_test.cpp – contractions whose lanes would stand apart
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/shared_operands.h"
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

std::string shared(const std::string& text, const Signature& signature) {
    const std::string all = str(codegen::with_shared_operands(
        tests::bound(text, signature),
        {.points = 0, .reuse = 0, .users = 0, .strided_users = 2, .strided_extent = 2}));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

}  // namespace

TEST_CASE("a strided operand is an array over residues and quotients") {
    const Signature line = {{"X", tests::array({41})}, {"W", tests::array({4, 3})}};
    // u = y + q; r = 2*q + rho. The last residue has one quotient less: what is there is not read.
    CHECK(shared("Y[o,y] := X[2*y+r]*W[o,r] where y in 0:20", line) ==
          "for u.5 in 0:2, u.6 in 0:21:\n"
          "  shared.3[u.5,u.6] := X.0[min(u.5+2*u.6, 40)]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:2, r.4 in 0:2 | "
          "2*r.3+r.4 < 3](shared.3[r.4,y.1+r.3]*W.1[o.0,2*r.3+r.4])\n");
    CHECK(shared("Y[o,y] := X[wrap(2*y-r)]*W[o,r] where y in 0:20", line) ==
          "for u.5 in 0:2, u.6 in 0:21:\n"
          "  shared.3[u.5,u.6] := X.0[max(2*u.6-u.5-2, -2)%41]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:2, r.4 in 0:2 | "
          "2*r.3+r.4 < 3](shared.3[r.4,y.1-r.3+1]*W.1[o.0,2*r.3+r.4])\n");
    // As many taps as the stride: there is one quotient; a dilation of the stride: one residue.
    CHECK(shared("Y[o,y] := X[3*y+r]*W[o,r]", line) ==
          "for u.4 in 0:3, u.5 in 0:13:\n"
          "  shared.3[u.4,u.5] := X.0[u.4+3*u.5]\n"
          "for o.0 in 0:4, y.1 in 0:13:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:3](shared.3[r.3,y.1]*W.1[o.0,r.3])\n");
    CHECK(shared("Y[o,y] := X[2*y+4*r]*W[o,r]", line) ==
          "for u.3 in 0:21:\n"
          "  shared.3[u.3] := X.0[2*u.3]\n"
          "for o.0 in 0:4, y.1 in 0:17:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3](shared.3[y.1+2*r.2]*W.1[o.0,r.2])\n");
}

TEST_CASE("residues of all subscripts stand before the quotients") {
    const Signature image = {{"X", tests::array({5, 9, 9})}, {"W", tests::array({4, 5, 2, 2})}};
    CHECK(shared("Y[o,y,x] := X[c,2*y+r,2*x+s]*W[o,c,r,s]", image) ==
          "for u.8 in 0:5, u.9 in 0:2, u.10 in 0:2, u.11 in 0:4, u.12 in 0:4:\n"
          "  shared.3[u.8,u.9,u.10,u.11,u.12] := X.0[u.8,u.9+2*u.11,u.10+2*u.12]\n"
          "for o.0 in 0:4, y.1 in 0:4, x.2 in 0:4:\n"
          "  Y.2[o.0,y.1,x.2] := f32 sum[c.3 in 0:5, r.6 in 0:2, s.7 in 0:2]"
          "(shared.3[c.3,r.6,s.7,y.1,x.2]*W.1[o.0,c.3,r.6,s.7])\n");
}

TEST_CASE("strided operands stay where they are") {
    const auto stays = [](const std::string& text, const Signature& signature) {
        return shared(text, signature).find("shared") == std::string::npos;
    };
    // The innermost subscript has no stride, or one of a free and a free index.
    const Signature given = {{"X", tests::array({41, 7})}, {"W", tests::array({4, 3, 7})}};
    CHECK(stays("Y[o,y] := X[2*y+r,k]*W[o,r,k] where y in 0:20", given));
    CHECK(stays("dW[r,o] := X[2*y+r]*dY[o,y] where r in 0:3",
                {{"X", tests::array({41})}, {"dY", tests::array({4, 20})}}));
    CHECK(
        stays("Y[o,y] := X[2*y+r]*Z[y+r]*X[3*y+r]*W[o,r] where y in 0:9",
              {{"X", tests::array({41})}, {"Z", tests::array({41})}, {"W", tests::array({4, 3})}}));
}

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

TEST_CASE("conditions keep a strided operand in bounds") {
    const Signature signature{{"X", tests::array({9, 137})}, {"W", tests::array({80, 9, 9})}};
    for (const char* const text :
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
