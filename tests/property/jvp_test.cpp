// tests/property/jvp_test.cpp – forward mode against reverse mode, and second derivatives
#include <algorithm>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "tests/property/derivatives.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

void check_tangents(std::size_t programs, const RandomForms& forms) {
    DualityCount count;
    const auto check = [&](const RandomProgram& random, const Program& program) {
        if (!random.is_large) count += check_duality(Differentiable(random, program));
    };
    for_each_program(programs, check, forms);
    MESSAGE(count.agreed, " gradients compared with tangents, ", count.infinite, " not finite, ",
            count.without, " not differentiable, ", count.long_ones, " too long; worst error ",
            count.worst);
    CHECK(count.agreed > 20 * (count.infinite + count.long_ones));
    CHECK(count.agreed > (forms.subscripts ? 1 : 3) * count.without);
}

/// One gradient or tangent of the program as a program of its own.
std::optional<Differentiable::Derivative> first_derivative(const Differentiable& what) {
    const std::vector<std::size_t> wanted = what.wanted();
    if (wanted.empty()) return std::nullopt;
    const std::size_t argument = wanted[what.seed() % wanted.size()];
    return what.seed() / 16 % 2 == 0 ? what.gradient(argument) : what.tangent({argument});
}

void check_second_derivatives(std::size_t programs, const RandomForms& forms) {
    DualityCount duals;
    std::size_t agreed = 0;
    std::size_t kinks = 0;
    const auto check = [&](const RandomProgram& random, const Program& program) {
        if (random.is_large) return;
        const auto first = first_derivative(Differentiable(random, program));
        if (!first || first->is_long) return;
        RandomProgram derived = random;
        derived.signature = first->signature;
        const Program canonical = canonicalise(first->program);
        const Differentiable what(derived, canonical);
        duals += check_duality(what);
        // Numbers that are rounded to f32 move in jumps.
        if (random.text.find("f32(") != std::string::npos) return;
        for (const std::size_t argument : what.wanted()) {
            const Outcome outcome = check_differences(what, argument);
            agreed += outcome == Outcome::agrees ? 1U : 0U;
            kinks += outcome == Outcome::kink ? 1U : 0U;
        }
    };
    for_each_program(programs, check, forms);
    MESSAGE(duals.agreed, " second derivatives compared between modes, ", duals.infinite,
            " not finite, ", duals.without, " not differentiable, ", duals.long_ones,
            " too long, worst error ", duals.worst, "; ", agreed, " compared with differences, ",
            kinks, " skipped at kinks");
    CHECK(duals.agreed > 20 * (duals.infinite + duals.long_ones));
    CHECK(agreed > 3 * kinks);
}

}  // namespace

TEST_CASE("tangents agree with gradients") { check_tangents(2 * program_count(), {}); }

TEST_CASE("tangents through gathered and modified subscripts agree with gradients") {
    check_tangents(program_count(), {.subscripts = true});
}

TEST_CASE("tangents of the rest of the language agree with gradients") {
    check_tangents(program_count(), {.language = true});
}

TEST_CASE("second derivatives agree between modes and with central differences") {
    check_second_derivatives(std::max<std::size_t>(program_count() / 5, 40), {});
}

TEST_CASE("second derivatives through gathered and modified subscripts") {
    check_second_derivatives(std::max<std::size_t>(program_count() / 10, 30), {.subscripts = true});
}

TEST_CASE("second derivatives of the rest of the language") {
    check_second_derivatives(std::max<std::size_t>(program_count() / 5, 40), {.language = true});
}

}  // namespace ricci::tests
