// tests/gpu/random_test.cpp – random programs and gradients on a real GPU against the reference
//
// tests/cuda_property executes such programs by emulation; here they go through NVRTC, the driver
// and the libraries. Skipped under compute-sanitizer (RICCI_TEST_SMALL=1).
#include <cstdlib>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/gpu/missing.h"
#include "tests/property/compare_with_reference.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

/// RICCI_TEST_PROGRAMS, else 500 with RICCI_TEST_FULL, else 40: NVRTC takes a tenth of a second for
/// each kernel.
std::size_t count() {
    if (std::getenv("RICCI_TEST_PROGRAMS") != nullptr) return program_count();
    return std::getenv("RICCI_TEST_FULL") != nullptr ? 500 : 40;
}

bool is_skipped() { return is_missing() || std::getenv("RICCI_TEST_SMALL") != nullptr; }

void check_programs(const RandomForms& forms) {
    const auto check = [&](const RandomProgram& random, const Program& program) {
        const Comparison comparison =
            compare_with_reference(Device::cuda, program, random.signature, random.seed);
        if (!comparison.holds()) FAIL_CHECK(format("{}{}", str(random), comparison.failure));
    };
    for_each_program(count(), check, forms);
}

void check_gradients(const RandomForms& forms) {
    const auto check = [&](const RandomProgram& random, const RandomDerivative& gradient) {
        const Comparison comparison =
            compare_with_reference(Device::cuda, gradient.program, gradient.signature, random.seed);
        if (!comparison.holds())
            FAIL_CHECK(format("{}gradient by {}: {}\n{}", str(random), gradient.argument,
                              comparison.failure, str(gradient.program)));
    };
    for_each_gradient(count(), check, forms);
}

}  // namespace

TEST_CASE("random programs agree with the reference on a GPU") {
    if (!is_skipped()) check_programs({});
}

TEST_CASE("random programs of every form and type agree with the reference on a GPU") {
    if (!is_skipped()) check_programs({.subscripts = true, .all_types = true, .language = true});
}

TEST_CASE("gradients of random programs agree with the reference on a GPU") {
    if (!is_skipped()) check_gradients({});
}

TEST_CASE("gradients of random gathers agree with the reference on a GPU") {
    if (!is_skipped()) check_gradients({.subscripts = true});
}

}  // namespace ricci::tests
