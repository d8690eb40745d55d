// tests/base/text_test.cpp – plurals, suggestions, spans, targets
#include "base/text.h"

#include <doctest/doctest.h>

#include "base/source.h"
#include "base/target.h"

namespace ricci {
namespace {

TEST_CASE("a count is followed by the right form of its noun") {
    CHECK(plural(1, "item") == "1 item");
    CHECK(plural(0, "item") == "0 items");
    CHECK(plural(2, "index") == "2 indices");
}

TEST_CASE("a slip of the pen finds its word") {
    CHECK(nearest("sgimoid", {"sinh", "sigmoid", "sign"}) == "sigmoid");
    CHECK(nearest("lenght", {"length"}) == "length");
    CHECK(nearest("Exp", {"erf", "exp"}) == "exp");
}

TEST_CASE("letters alone are matched by case only") {
    CHECK(nearest("w", {"X", "W"}) == "W");
    CHECK(nearest("w", {"X", "b"}).empty());
}

TEST_CASE("what is too far is not suggested") {
    CHECK(nearest("relu", {"logsumexp", "tanh"}).empty());
    CHECK(nearest("", {"a"}).empty());
    CHECK(nearest(std::string(1000, 'a'), {std::string(1000, 'a')}).empty());
}

TEST_CASE("of equally near words the first is suggested") {
    CHECK(nearest("sig", {"sin", "sign"}) == "sin");
}

TEST_CASE("joined spans cover both") {
    CHECK(join(Span{3, 5}, Span{1, 2}) == Span{1, 5});
    CHECK(Span{4, 4}.is_empty());
}

TEST_CASE("a target prints as one line") {
    CHECK(str(Target{.cpu = "znver5", .features = "", .vector_bytes = 64, .has_fma = true}) ==
          "znver5 512-bit fma");
    CHECK(str(Target{.cpu = "znver5", .features = "", .vector_bytes = 64, .has_bf16_dot = true}) ==
          "znver5 512-bit bf16-dot");
    CHECK(str(Target{.cpu = "sapphirerapids",
                     .features = "",
                     .vector_bytes = 64,
                     .has_bf16_tiles = true,
                     .precision = Precision::bf16x6}) ==
          "sapphirerapids 512-bit bf16-tiles bf16x6");
    CHECK(str(Target{}) == "generic 128-bit");
}

}  // namespace
}  // namespace ricci
