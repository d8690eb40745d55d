// tests/codegen/whole_rows_test.cpp – tiles whose rows are the points of several short axes
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/schedule.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;

namespace {

/// Whether some kernel has tiles with all of an axis in their rows. Checks what the plans compute.
bool has_whole_rows(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = tests::bound(text, signature);
    CHECK(tests::compiled_difference(program, signature) == "");
    for (const int bytes : {16, 32, 64})
        CHECK(tests::interpreted_difference(program, signature, tests::example_target(bytes), 1) ==
              "");
    std::string all;
    for (const codegen::Schedule& schedule :
         codegen::plan(program, tests::example_target(64)).schedules)
        all += str(schedule);
    return all.find("rows of accumulators, all") != std::string::npos;
}

}  // namespace

TEST_CASE("taps and channels are rows together where either alone leaves registers idle") {
    constexpr const char* gradient =
        "dW[o,c,r,s] := X[n,c,y+r,x+s]*dY[n,o,y,x] where r in 0:3, s in 0:3";
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t channels : {1, 2, 3, 4, 17}) {
            CAPTURE(dtype);
            CAPTURE(channels);
            const Signature signature{{"X", tests::array({2, channels, 11, 9}, dtype)},
                                      {"dY", tests::array({2, 33, 9, 7}, dtype)}};
            CHECK(has_whole_rows(gradient, signature));
        }
}

TEST_CASE("rows of several axes have long sums") {
    // What the first-level cache does not keep is asked for ahead: of the columns.
    CHECK(has_whole_rows("C[i,j,o] := A[k,j,i]*B[k,o]",
                         {{"A", tests::array({900, 2, 3})}, {"B", tests::array({900, 48})}}));
}

TEST_CASE("rows of several axes update, fold extrema, and hold terms of rows and columns") {
    const Signature two{{"A", tests::array({3, 70, 2})}, {"B", tests::array({70, 48})}};
    const auto with = [&](const std::string& name, const Shape& shape) {
        Signature more = two;
        more.insert({name, tests::array(shape)});
        return more;
    };
    CHECK(has_whole_rows("C[i,j,o] := A[i,k,j]*B[k,o]", two));
    CHECK(has_whole_rows("C[i,j,o] := max[k](A[i,k,j] - B[k,o])", two));
    CHECK(has_whole_rows("C[i,j,o] += A[i,k,j]*B[k,o]", with("C", {3, 2, 48})));
    CHECK(has_whole_rows("C[i,j,o] := sum[k]((A[i,k,j] - B[k,o])^2 * u[i,j])", with("u", {3, 2})));
    CHECK(has_whole_rows("C[i,j,o] := sum[k](abs(A[i,k,j]*v[o] - B[k,o]))", with("v", {48})));
    // A term in registers for each accumulator; a condition on the tiled axis or the whole one.
    (void)has_whole_rows("C[i,j,o] := sum[k](abs(A[i,k,j]*w[i,j,o] - B[k,o]))",
                         with("w", {3, 2, 48}));
    (void)has_whole_rows("C[i,j,o] := sum[k | k <= 20*i](A[i,k,j]*B[k,o])", two);
    (void)has_whole_rows("C[i,j,o] := sum[k | k <= 30*j](A[i,k,j]*B[k,o])", two);
}

TEST_CASE("taps are rows together where the channels of a tile would leave the caches") {
    const BoundProgram program =
        tests::bound("dW[o,c,r,s] := X[n,c,2*y+r,2*x+s]*dY[n,o,y,x] where r in 0:3, s in 0:3",
                     {{"X", tests::array({8, 64, 57, 57})}, {"dY", tests::array({8, 64, 28, 28})}});
    std::string tiles;
    for (const codegen::Schedule& schedule :
         codegen::plan(program, tests::example_target(64)).schedules)
        for (const codegen::Directive& each : schedule.directives)
            if (each.verb == "tile") tiles += format("{} {}; ", each.subject, each.numbers.at(0));
    CHECK(tiles == "s 3; r 3; o 2; ");
}
