// tests/property/compiled_test.cpp – compiled programs and gradients against the reference
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/property/compare_with_reference.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

std::string summary(const Comparison& total) {
    return format("{} elements compared, {} skipped as too close to call, worst {:.2g} of a bound",
                  total.compared, total.skipped, total.worst);
}

/// At most one element may be too close to call for each `share` that are compared.
void check_programs(const RandomForms& forms, std::size_t share = 10,
                    std::size_t count = program_count()) {
    Comparison total;
    for_each_program(
        count,
        [&](const RandomProgram& random, const Program& program) {
            const Comparison comparison =
                compare_with_reference(Device::cpu, program, random.signature, random.seed);
            if (!comparison.holds()) FAIL_CHECK(format("{}{}", str(random), comparison.failure));
            total += comparison;
        },
        forms);
    MESSAGE(summary(total));
    CHECK(total.compared > share * total.skipped);
}

/// Programs of every form are long: fewer of them where all are to take a moment only.
std::size_t form_count() {
    const std::size_t count = program_count();
    return count <= 300 ? count / 3 : count;
}

using ForEach = void (*)(std::size_t, const CheckDerivative&, const RandomForms&);

void check_derivatives(ForEach for_each, const RandomForms& forms,
                       std::size_t count = program_count()) {
    Comparison total;
    const auto check = [&](const RandomProgram& random, const RandomDerivative& derivative) {
        const Comparison comparison = compare_with_reference(Device::cpu, derivative.program,
                                                             derivative.signature, random.seed);
        if (!comparison.holds())
            FAIL_CHECK(format("{}derivative by {}: {}\n{}", str(random), derivative.argument,
                              comparison.failure, str(derivative.program)));
        total += comparison;
    };
    for_each(count / 3, check, forms);
    MESSAGE(summary(total));
    CHECK(total.compared > 10 * total.skipped);
}

}  // namespace

TEST_CASE("compiled programs agree with the reference") { check_programs({}); }

TEST_CASE("compiled programs of gathered and modified subscripts agree with the reference") {
    check_programs({.subscripts = true});
}

TEST_CASE("compiled programs of all types agree with the reference") {
    check_programs({.all_types = true}, 3);
}

TEST_CASE("compiled programs of every form agree with the reference") {
    check_programs({.subscripts = true, .language = true}, 3, form_count());
}

TEST_CASE("compiled programs of every form and type agree with the reference") {
    check_programs({.subscripts = true, .all_types = true, .language = true}, 2, form_count());
}

TEST_CASE("compiled gradients agree with the reference") {
    check_derivatives(for_each_gradient, {});
}

TEST_CASE("compiled gradients through gathered and modified subscripts agree with the reference") {
    check_derivatives(for_each_gradient, {.subscripts = true});
}

TEST_CASE("compiled gradients through every form agree with the reference") {
    check_derivatives(for_each_gradient, {.subscripts = true, .language = true}, form_count());
}

TEST_CASE("compiled tangents agree with the reference") { check_derivatives(for_each_tangent, {}); }

TEST_CASE("compiled tangents through every form agree with the reference") {
    check_derivatives(for_each_tangent, {.subscripts = true, .language = true}, form_count());
}

}  // namespace ricci::tests
