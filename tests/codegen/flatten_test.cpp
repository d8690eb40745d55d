// tests/codegen/flatten_test.cpp – contractions whose lanes run on through the rows of a result
#include "codegen/flatten.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;

namespace {

constexpr const char* convolution = "Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s]";

Signature arguments(std::int64_t height, std::int64_t width, std::int64_t taps,
                    DType dtype = DType::f32) {
    return {{"X", tests::array({2, 5, height, width}, dtype)},
            {"W", tests::array({11, 5, taps, taps}, dtype)}};
}

/// A layer of 20 channels, too few for whole vectors, whose results are `width` wide.
Signature layer(std::int64_t width) {
    return {{"X", tests::array({2, 32, width + 2, width + 2})},
            {"W", tests::array({20, 32, 3, 3})}};
}

std::string plan_text(const std::string& text, const Signature& signature) {
    return str(codegen::plan(tests::bound(text, signature), tests::example_target(64)));
}
bool is_flattened(const std::string& text, const Signature& signature) {
    return plan_text(text, signature).find("  flatten ") != std::string::npos;
}

}  // namespace

TEST_CASE("a convolution runs through its rows where their own vectors would be part empty") {
    for (const std::int64_t width : {12, 28, 56}) {
        CAPTURE(width);
        CHECK(is_flattened(convolution, layer(width)));
    }
    CHECK_FALSE(is_flattened(convolution, layer(64)));
    // The masks of what is written take longer than the empty lanes of so short a sum.
    CHECK_FALSE(is_flattened(
        convolution, {{"X", tests::array({100, 1, 28, 28})}, {"W", tests::array({20, 1, 5, 5})}}));
}

TEST_CASE("rows whose places are data are not flattened: what lies between them is not checked") {
    const std::string range = " where x in 0:5";
    CHECK(is_flattened("Y[o,y,x] := sum[k](X[k,y,x]*W[o,k])" + range,
                       {{"X", tests::array({200, 64, 8})}, {"W", tests::array({8, 200})}}));
    CHECK_FALSE(is_flattened("Y[o,y,x] := sum[k](X[k,J[y,x]]*W[o,k])" + range,
                             {{"J", tests::array({64, 8}, DType::i32)},
                              {"X", tests::array({200, 10})},
                              {"W", tests::array({8, 200})}}));
}

TEST_CASE("rows are not flattened where operands walk them in different proportions") {
    const Signature signature{{"X", tests::array({2, 5, 9, 9})},
                              {"Z", tests::array({5, 9, 11})},
                              {"W", tests::array({14, 5, 3, 3})}};
    CHECK_FALSE(is_flattened("Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s]*Z[c,y+r,x+s]", signature));
}

TEST_CASE("flattened rows agree with the reference at every edge") {
    int flattened = 0;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t taps : {2, 3, 5})
            for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{7, 7},
                                                {9, 9},
                                                {12, 12},
                                                {30, 21},
                                                {6, 33}}) {
                CAPTURE(dtype);
                CAPTURE(taps);
                CAPTURE(height);
                CAPTURE(width);
                const Signature signature = arguments(height, width, taps, dtype);
                const BoundProgram program = tests::bound(convolution, signature);
                flattened += is_flattened(convolution, signature) ? 1 : 0;
                CHECK(tests::compiled_difference(program, signature) == "");
                if (dtype == DType::f64 || taps != 3) continue;
                for (const int bytes : {16, 32, 64})
                    CHECK(tests::interpreted_difference(program, signature,
                                                        tests::example_target(bytes), 1) == "");
            }
    CHECK(flattened > 12);
}

TEST_CASE("what is written of flattened rows may update, and read arrays of another pitch") {
    Signature signature = arguments(9, 9, 3);
    signature.insert({"Z", tests::array({2, 11, 7, 7})});
    signature.insert({"b", tests::array({11})});
    for (const std::string text :
         {"Y[n,o,y,x] := relu(sum[c,r,s](X[n,c,y+r,x+s]*W[o,c,r,s]) + Z[n,o,x,y] + b[o])",
          "Z[n,o,y,x] += X[n,c,y+r,x+s]*W[o,c,r,s]",
          "Y[n,o,y,x] := max[c,r,s](X[n,c,y+r,x+s] + W[o,c,r,s])"}) {
        CAPTURE(text);
        Signature used = signature;
        if (text.find('b') == std::string::npos) used.erase("b");
        if (text.find('Z') == std::string::npos) used.erase("Z");
        CHECK(is_flattened(text, used));
        const BoundProgram program = tests::bound(text, used);
        CHECK(tests::compiled_difference(program, used) == "");
        CHECK(tests::interpreted_difference(program, used, tests::example_target(64), 1) == "");
    }
}

TEST_CASE("a last tile of columns that overlaps the one before it updates each element once") {
    for (const std::int64_t width : {56, 65, 100}) {
        CAPTURE(width);
        const Signature signature{{"X", tests::array({2, 3, width + 2})},
                                  {"W", tests::array({9, 3, 3})},
                                  {"Y", tests::array({2, 9, width})}};
        const std::string text = "Y[n,o,x] += X[n,c,x+s]*W[o,c,s]";
        CHECK(plan_text(text, signature).find("is_last") != std::string::npos);
        const BoundProgram program = tests::bound(text, signature);
        CHECK(tests::compiled_difference(program, signature) == "");
        for (const int bytes : {16, 32, 64})
            CHECK(tests::interpreted_difference(program, signature, tests::example_target(bytes),
                                                1) == "");
    }
}

TEST_CASE("conditions that move with flattened rows leave out exactly what they exclude") {
    int flattened = 0;
    for (const auto& [height, width] :
         {std::pair<std::int64_t, std::int64_t>{7, 7}, {14, 14}, {20, 28}, {5, 40}})
        for (const std::string range : {"", " where y in 0:5, x in 0:6"}) {
            CAPTURE(height);
            CAPTURE(width);
            CAPTURE(range);
            // The gradient of a convolution with a border of zeros.
            const std::string text = format(
                "G[n,c,y,x] := sum[o,r,s | y-r+1 >= 0 && y-r+1 < {} && x-s+1 >= 0 && "
                "x-s+1 < {}](D[n,o,y-r+1,x-s+1]*W[o,c,r,s]){}",
                height, width,
                range.empty() ? format(" where y in 0:{}, x in 0:{}", height, width) : range);
            const Signature signature{{"D", tests::array({2, 16, height, width})},
                                      {"W", tests::array({16, 9, 3, 3})}};
            flattened += is_flattened(text, signature) ? 1 : 0;
            const BoundProgram program = tests::bound(text, signature);
            CHECK(tests::compiled_difference(program, signature) == "");
            for (const int bytes : {16, 32, 64})
                CHECK(tests::interpreted_difference(program, signature,
                                                    tests::example_target(bytes), 1) == "");
        }
    CHECK(flattened > 4);
}
