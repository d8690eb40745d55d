// tests/property/gradient_test.cpp – gradient programs against central differences
#include <doctest/doctest.h>

#include "tests/property/derivatives.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

void check_differences(const RandomForms& forms) {
    std::size_t agreed = 0;
    std::size_t kinks = 0;
    std::size_t without = 0;
    const auto check = [&](const RandomProgram& random, const Program& program) {
        if (random.is_large) return;  // each gradient takes four evaluations of the forward
        const Differentiable what(random, program);
        for (const std::size_t argument : what.wanted()) {
            const Outcome outcome = check_differences(what, argument);
            agreed += outcome == Outcome::agrees ? 1U : 0U;
            kinks += outcome == Outcome::kink ? 1U : 0U;
            without += outcome == Outcome::no_derivative ? 1U : 0U;
        }
    };
    for_each_program(program_count(), check, forms);
    MESSAGE(agreed, " gradients compared, ", kinks, " skipped at kinks, ", without,
            " not differentiable");
    CHECK(agreed > (forms.subscripts ? 1 : 3) * (kinks + without));
}

}  // namespace

TEST_CASE("gradients agree with central differences") { check_differences({}); }

TEST_CASE("gradients through gathered and modified subscripts agree with central differences") {
    check_differences({.subscripts = true});
}

}  // namespace ricci::tests
