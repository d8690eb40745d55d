// tests/library/convolution_test.cpp – which kernels are convolutions, and of what form
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/library.h"
#include "tests/library/library_calls.h"
#include "tests/library/random_sums.h"

using namespace ricci;
using namespace ricci::tests;

using codegen::Activation;
using codegen::Convolution;
using codegen::LibraryCall;
using Direction = Convolution::Direction;
using Spatial = Convolution::Spatial;

namespace {

Convolution convolution(const std::optional<LibraryCall>& call) {
    REQUIRE(call);
    REQUIRE(std::holds_alternative<Convolution>(call->call));
    return std::get<Convolution>(call->call);
}
Convolution convolution(const std::string& text, const Signature& signature) {
    return convolution(checked_call(text, signature));
}
Convolution gradient(const std::string& text, const Signature& signature,
                     const std::string& argument) {
    const BoundSum sum = gradient_of({text, signature}, argument);
    return convolution(checked_call(sum.program, sum.signature));
}
bool is_marked(const std::string& text, const Signature& signature) {
    return checked_call(text, signature).has_value();
}

const Signature image = {{"X", array({2, 3, 9, 10})}, {"W", array({4, 3, 3, 3})}};
const std::string valid = "Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]";

}  // namespace

TEST_CASE("a convolution is marked with its extents and strides") {
    const Convolution c = convolution(valid, image);
    CHECK(c.direction == Direction::forward);
    CHECK(c.batch == 2);
    CHECK(c.groups == 1);
    CHECK(c.in_channels == 3);
    CHECK(c.out_channels == 4);
    REQUIRE(c.spatial.size() == 2);
    CHECK(c.spatial[0] == Spatial{.input = 9, .filter = 3, .output = 7});
    CHECK(c.spatial[1] == Spatial{.input = 10, .filter = 3, .output = 8});
    CHECK(c.input.strides == std::vector<std::int64_t>{270, 0, 90, 10, 1});
    CHECK(c.filter.strides == std::vector<std::int64_t>{0, 27, 9, 3, 1});
    CHECK(c.output.strides == std::vector<std::int64_t>{224, 0, 56, 8, 1});
}

TEST_CASE("the gradients of a convolution are marked as what they are") {
    const Convolution x = gradient(valid, image, "X");
    CHECK(x.direction == Direction::input_gradient);
    CHECK(x.spatial[0] == Spatial{.input = 9, .filter = 3, .output = 7});
    const Convolution w = gradient(valid, image, "W");
    CHECK(w.direction == Direction::filter_gradient);
    CHECK(w.spatial[1] == Spatial{.input = 10, .filter = 3, .output = 8});
}

TEST_CASE("strides and dilations are found in all directions") {
    const std::string text = "Y[n,o,p] := X[n,c,2*p+3*r]*W[o,c,r]";
    const Signature signature = {{"X", array({2, 3, 20})}, {"W", array({4, 3, 3})}};
    const Spatial expected{.input = 19, .filter = 3, .output = 7, .stride = 2, .dilation = 3};
    CHECK(convolution(text, signature).spatial[0] == expected);
    CHECK(gradient(text, signature, "W").spatial[0] == expected);
    Spatial whole = expected;
    whole.input = 20;  // the gradient of the last element is 0
    CHECK(gradient(text, signature, "X").spatial[0] == whole);
}

TEST_CASE("conditions are padding") {
    const std::string text =
        "Y[n,o,p] := sum[c,r | 2*p+r-1 >= 0 && 2*p+r-1 < size(X,2)](X[n,c,2*p+r-1]*W[o,c,r])"
        " where p in 0:size(X,2)//2";
    const Signature signature = {{"X", array({2, 3, 20})}, {"W", array({4, 3, 3})}};
    const Spatial expected{
        .input = 20, .filter = 3, .output = 10, .stride = 2, .dilation = 1, .padding = 1};
    CHECK(convolution(text, signature).spatial[0] == expected);
    CHECK(gradient(text, signature, "X").spatial[0] == expected);
    CHECK(gradient(text, signature, "W").spatial[0] == expected);
}

TEST_CASE("an array that is padded with zeros is padding") {
    const std::string text = "Y[n,o,p,q] := X[n,c,pad(2*p+r-1,1),pad(q+s-2,2)]*W[o,c,r,s] + b[o]";
    const Signature signature = {
        {"X", array({2, 3, 20, 9})}, {"W", array({4, 3, 3, 5})}, {"b", array({4})}};
    const Convolution forward = convolution(text, signature);
    const Spatial rows{
        .input = 20, .filter = 3, .output = 10, .stride = 2, .dilation = 1, .padding = 1};
    const Spatial columns{.input = 9, .filter = 5, .output = 9, .padding = 2};
    CHECK(forward.spatial[0] == rows);
    CHECK(forward.spatial[1] == columns);
    CHECK(forward.bias);
    const std::string plain = "Y[n,o,p,q] := X[n,c,pad(2*p+r-1,1),pad(q+s-2,2)]*W[o,c,r,s]";
    const Signature both = {{"X", array({2, 3, 20, 9})}, {"W", array({4, 3, 3, 5})}};
    CHECK(gradient(plain, both, "W").spatial[0] == rows);
    CHECK(gradient(plain, both, "X").spatial[1] == columns);
    // Other values outside, and reads that stay at the border, are none.
    CHECK_FALSE(is_marked("Y[n,o,p] := X[n,c,0,pad(p+r-1,1,1,7)]*W[o,c,0,r]", signature));
    CHECK_FALSE(
        is_marked("Y[n,o,p] := X[n,c,0,clamp(p+r-1)]*W[o,c,0,r] where p in 0:9", signature));
    // The condition of a padded read says nothing of what is added.
    CHECK_FALSE(is_marked("Y[n,o,p] := X[n,c,0,pad(p-1,1)]*W[o,c,0,0] + X[n,o,0,clamp(p-1)]",
                          {{"X", array({2, 3, 20, 9})}, {"W", array({3, 3, 3, 5})}}));
}

TEST_CASE("a causal convolution is padded on one side") {
    const Convolution c = convolution(
        "Y[n,o,t] := sum[c,k | t-k >= 0](X[n,c,t-k]*W[o,c,k])"
        " where t in 0:20",
        {{"X", array({2, 3, 20})}, {"W", array({4, 3, 4})}});
    CHECK(c.direction == Direction::forward);
    CHECK(c.spatial[0].is_flipped);
    CHECK(c.spatial[0].padding == 3);
    CHECK(c.spatial[0].padding_behind() == 0);
}

TEST_CASE("groups and depthwise convolutions") {
    const Convolution grouped =
        convolution("Y[n,g,o,p] := X[n,g,c,p+r]*W[g,o,c,r]",
                    {{"X", array({2, 5, 3, 9})}, {"W", array({5, 4, 3, 3})}});
    CHECK(grouped.groups == 5);
    CHECK(grouped.in_channels == 3);
    CHECK(grouped.out_channels == 4);
    const Convolution depthwise =
        convolution("Y[n,p,q,c] := X[n,p+r,q+s,c]*W[r,s,c]",
                    {{"X", array({2, 6, 7, 5})}, {"W", array({3, 3, 5})}});
    CHECK(depthwise.groups == 5);
    CHECK(depthwise.in_channels == 1);
    CHECK(depthwise.out_channels == 1);
}

TEST_CASE("one and three dimensions, and a single channel") {
    CHECK(
        convolution("Y[p] := X[p+r]*W[r]", {{"X", array({9})}, {"W", array({3})}}).spatial.size() ==
        1);
    const Convolution c =
        convolution("Y[n,o,p,q,z] := X[n,c,p+r,q+s,z+t]*W[o,c,r,s,t]",
                    {{"X", array({1, 2, 4, 5, 6})}, {"W", array({2, 2, 2, 3, 2})}});
    REQUIRE(c.spatial.size() == 3);
    CHECK(c.spatial[2] == Spatial{.input = 6, .filter = 2, .output = 5});
}

TEST_CASE("windows that do not meet are a convolution of their length's stride") {
    const Convolution c = convolution("Y[n,o,p,q] := X[n,c,4*p+r,4*q+s]*W[o,c,r,s]",
                                      {{"X", array({2, 3, 16, 16})}, {"W", array({5, 3, 4, 4})}});
    CHECK(c.spatial[0] == Spatial{.input = 16, .filter = 4, .output = 4, .stride = 4});
}

TEST_CASE("a convolution without a filter's extent sees the whole array") {
    const Convolution c = convolution("Y[n,o,p,q] := X[n,c,2*p,2*q]*W[o,c]",
                                      {{"X", array({2, 3, 8, 8})}, {"W", array({4, 3})}});
    CHECK(c.spatial[0] == Spatial{.input = 7, .filter = 1, .output = 4, .stride = 2});
    CHECK(c.input.strides == std::vector<std::int64_t>{192, 0, 64, 8, 1});
    CHECK(gradient("Y[n,o,p,q] := X[n,c,2*p,2*q]*W[o,c]",
                   {{"X", array({2, 3, 8, 8})}, {"W", array({4, 3})}}, "X")
              .spatial[0]
              .stride == 2);
}

TEST_CASE("a filter that is read backwards is a gradient, or flipped where it must be") {
    const Convolution once =
        convolution("Y[p] := X[p-r+2]*W[r] where p in 0:7", {{"X", array({9})}, {"W", array({3})}});
    CHECK(once.direction == Direction::input_gradient);
    CHECK_FALSE(once.spatial[0].is_flipped);
    const Convolution strided = convolution("Y[p] := X[2*p-r+2]*W[r] where p in 0:4",
                                            {{"X", array({9})}, {"W", array({3})}});
    CHECK(strided.direction == Direction::forward);
    CHECK(strided.spatial[0].is_flipped);
}

TEST_CASE("bias, activation and factors are the convolution's own") {
    Signature signature = image;
    signature["b"] = array({4});
    const Convolution c = convolution(
        "Y[n,o,p,q] := relu(2*sum[c,r,s](X[n,c,p+r,q+s]*W[o,c,r,s]) + b[o])", signature);
    CHECK(c.alpha == 2);
    REQUIRE(c.bias);
    CHECK(c.bias->channel_stride == 1);
    CHECK(c.activation == Activation::relu);
    signature["Y"] = array({2, 4, 7, 8});
    CHECK(convolution("Y[n,o,p,q] += X[n,c,p+r,q+s]*W[o,c,r,s]", signature).beta == 1);
    signature["b"] = array({7});
    CHECK_FALSE(is_marked("Z[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s] + b[p]", signature));
}

TEST_CASE("conditions that are no padding are refused") {
    const Signature signature = {{"X", array({2, 3, 20})}, {"W", array({4, 3, 3})}};
    CHECK_FALSE(
        is_marked("Y[n,o,p] := sum[c,r | r <= p](X[n,c,p+r]*W[o,c,r]) where p in 0:18", signature));
    CHECK_FALSE(is_marked("Y[n,o,p] := sum[c,r | c <= r](X[n,c,p+r]*W[o,c,r])", signature));
    CHECK_FALSE(is_marked("Y[n,o,p] := sum[c,r | p+2*r < 17](X[n,c,p+r]*W[o,c,r])", signature));
    CHECK_FALSE(is_marked("Y[n,o,p] := sum[c,r | r != 1](X[n,c,p+r]*W[o,c,r])", signature));
}

TEST_CASE("rows that run on into one another are refused") {
    // The outer index moves by less than the inner ones reach.
    CHECK_FALSE(is_marked("Y[p,q] := X[4*p+q+2*s+r]*W[r,s] where p in 0:5, q in 0:3",
                          {{"X", array({40})}, {"W", array({3, 2})}}));
}

TEST_CASE("gradients of strided inputs are worth a call, but for small, thin and unusual ones") {
    const auto worthwhile = [](const std::string& text, Shape dy, Shape w) {
        const Signature signature = {{"dY", array(std::move(dy))}, {"W", array(std::move(w))}};
        const std::optional<LibraryCall> call =
            recognised(*planned(bound(text, signature), signature, 1));
        REQUIRE(call);
        return call->is_worthwhile;
    };
    const auto of = [&](std::int64_t stride, std::int64_t channels, std::int64_t size) {
        return worthwhile(format("dX[n,c,p] := sum[o,q,r | p == {}*q+r](dY[n,o,q]*W[o,c,r]) "
                                 "where p in 0:{}",
                                 stride, stride * size + 1),
                          {64, channels, size}, {channels, channels, 3});
    };
    CHECK(of(2, 64, 64));
    CHECK_FALSE(of(1, 64, 64));
    CHECK_FALSE(of(2, 2, 64));
    CHECK_FALSE(of(2, 16, 5));
    // The channels in the middle.
    CHECK_FALSE(
        worthwhile("dX[p,c,n] := sum[o,q,r | p == 2*q+r](dY[q,o,n]*W[o,c,r]) "
                   "where p in 0:129",
                   {64, 64, 64}, {64, 64, 3}));
}
