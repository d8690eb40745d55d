// tests/dsl/call_test.cpp – calls of functions: arguments by place and by name
#include <doctest/doctest.h>

#include "dsl/program.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

std::string printed(const std::string& text) { return str(parse_program(text)); }
std::string error_of(const std::string& text) {
    return error_text([&] { (void)parse_program(text); });
}

TEST_CASE("an argument may be given by its name") {
    CHECK(printed("y[i] := leaky_relu(x[i], slope=0.1)") == "y[i] := leaky_relu(x[i], 0.1)");
    CHECK(printed("y[i] := leaky_relu(slope=0.1, x=x[i])") == "y[i] := leaky_relu(x[i], 0.1)");
    CHECK(printed("y[i] := clamp(x[i], hi=1, lo=0)") == "y[i] := clamp(x[i], 0, 1)");
    CHECK(printed("y[i] := leaky_relu(x=x[i])") == printed("y[i] := leaky_relu(x[i])"));
}

TEST_CASE("a name that no argument has is an error that lists them") {
    CHECK(error_of("y[i] := leaky_relu(x[i], slop=0.1)") ==
          "syntax: `leaky_relu` takes no argument named `slop`\n"
          "  | y[i] := leaky_relu(x[i], slop=0.1)\n"
          "  |                               ^^^\n"
          "  = hint: its arguments are x, slope");
    CHECK(error_of("y[i] := exp(x=x[i])") ==
          "syntax: `exp` takes no argument named `x`\n"
          "  | y[i] := exp(x=x[i])\n"
          "  |               ^^^^\n"
          "  = hint: give it without a name: `exp(…)`");
}

TEST_CASE("an argument is given once, those with names last") {
    CHECK(error_of("y[i] := leaky_relu(x[i], x=x[i])")
              .starts_with("syntax: `leaky_relu` is given `x` twice\n"));
    CHECK(error_of("y[i] := leaky_relu(slope=0.1, x[i])") ==
          "syntax: an argument without a name follows one with a name\n"
          "  | y[i] := leaky_relu(slope=0.1, x[i])\n"
          "  |                               ^^^^\n"
          "  = hint: write it before `slope=`");
    CHECK(error_of("y[i] := clamp(x[i], hi=1)") ==
          "syntax: `clamp` is not given `lo`\n"
          "  | y[i] := clamp(x[i], hi=1)\n"
          "  |         ^^^^^\n"
          "  = hint: write `clamp(x, lo, hi)`");
}

TEST_CASE("every type converts by its name") {
    for (const char* type : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16",
                             "bf16", "f32", "f64"}) {
        const std::string text = std::string("y[i] := ") + type + "(x[i])";
        CHECK(printed(text) == text);
    }
}

}  // namespace
}  // namespace ricci::tests
