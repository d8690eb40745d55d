// tests/library/recognise_test.cpp – random kernels that are matrix products or convolutions
#include "codegen/gpu/recognise.h"

#include <doctest/doctest.h>

#include "tests/library/library_calls.h"
#include "tests/library/random_sums.h"

using namespace ricci;
using namespace ricci::tests;

using codegen::Convolution;
using codegen::LibraryCall;
using codegen::MatrixProduct;

TEST_CASE("random contractions that are marked compute what the program does") {
    int products = 0;
    int convolutions = 0;
    int neither = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const RandomSum sum = random_contraction(seed);
        CAPTURE(seed);
        const std::optional<LibraryCall> call = checked_call(sum.text, sum.signature, seed);
        if (!call)
            ++neither;
        else if (std::holds_alternative<MatrixProduct>(call->call))
            ++products;
        else
            ++convolutions;
    }
    MESSAGE(products << " matrix products, " << convolutions << " convolutions, " << neither
                     << " neither");
    CHECK(products > 500);
    CHECK(neither < 250);
}

TEST_CASE("random convolutions and their gradients are marked and compute what they should") {
    int forward = 0;
    int input = 0;
    int filter = 0;
    int products = 0;
    int neither = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const RandomSum sum = random_convolution(seed);
        CAPTURE(sum.text);
        std::vector<BoundSum> all = {{bound(sum.text, sum.signature), sum.signature}};
        for (const char* argument : {"X", "W"}) all.push_back(gradient_of(sum, argument));
        for (const BoundSum& one : all) {
            const std::optional<LibraryCall> call = checked_call(one.program, one.signature, seed);
            const auto* convolution = call ? std::get_if<Convolution>(&call->call) : nullptr;
            if (!call)
                ++neither;
            else if (convolution == nullptr)
                ++products;
            else if (convolution->direction == Convolution::Direction::forward)
                ++forward;
            else if (convolution->direction == Convolution::Direction::input_gradient)
                ++input;
            else
                ++filter;
        }
    }
    MESSAGE(forward << " forward, " << input << " input gradients, " << filter
                    << " filter gradients, " << products << " matrix products, " << neither
                    << " neither");
    for (const int direction : {forward, input, filter}) CHECK(direction > 200);
    // Sums without a point, and gradients of an x that goes on behind the last place read.
    CHECK(neither < 30);
}
