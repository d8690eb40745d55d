// tests/codegen_source/random_programs_test.cpp – random programs as C++ files
#include <cstdlib>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_source/source_batch.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

/// 400 with RICCI_TEST_FULL, else 40, a third of them of each kind.
std::size_t count() { return std::getenv("RICCI_TEST_FULL") != nullptr ? 400 : 40; }

TEST_CASE("random programs as C++ agree with the reference") {
    SourceBatch batch;
    const auto add = [&](const RandomProgram& random, const Program& program) {
        batch.add(str(random), program, random.signature, random.seed);
    };
    for_each_program(count() / 2, add);
    for_each_program(count() / 4, add, {.subscripts = true});
    for_each_program(count() / 4, add, {.all_types = true});
    MESSAGE(format("{} programs", batch.size()));
    CHECK(batch.difference() == "");
}

TEST_CASE("gradients of random programs as C++ agree with the reference") {
    SourceBatch batch;
    const auto add = [&](const RandomProgram& random, const RandomDerivative& gradient) {
        batch.add(format("{}gradient of {}", str(random), gradient.argument), gradient.program,
                  gradient.signature, random.seed);
    };
    for_each_gradient(count() / 4, add);
    for_each_gradient(count() / 4, add, {.subscripts = true});
    MESSAGE(format("{} gradients", batch.size()));
    CHECK(batch.difference() == "");
}

}  // namespace
}  // namespace ricci::tests
