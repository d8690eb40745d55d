// tests/codegen/plan_test.cpp – plans executed by the interpreter against the reference
#include "codegen/plan.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "runtime/reference.h"
#include "tests/support/compare.h"
#include "tests/support/nest_interpreter.h"
#include "tests/support/random_program.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Target target(int vector_bytes) {
    return {.cpu = "test",
            .features = "",
            .vector_bytes = vector_bytes,
            .vector_registers = vector_bytes == 64 ? 32 : 16,
            .has_fma = true};
}

/// The first element at which the plan's result leaves the reference's bound, or nothing.
std::string difference(const BoundProgram& program, const Target& target) {
    const codegen::Plan plan = codegen::plan(program, target);
    const std::vector<Array> arguments = random_arguments(program, 7);
    const auto expected = runtime::evaluate_with_bounds(program, arguments);
    std::vector<Array> copies;
    for (const Array& argument : arguments)
        copies.push_back(argument.is_weak() ? argument : argument.copy());
    const std::vector<Array> found = interpret(program, plan, copies);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Comparison comparison = compare(found[i], expected[i]);
        if (!comparison.holds()) return comparison.failure + "\n" + str(plan);
    }
    return {};
}

}  // namespace

TEST_CASE("plans of random programs compute what the reference computes") {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const RandomProgram program = random_program(seed);
        BoundProgram bound;
        try {
            bound = ricci::bind(canonicalise(parse_program(program.text)), program.signature);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::internal) throw;
            continue;
        }
        INFO(str(program));
        CHECK(difference(bound, target(seed % 2 == 0 ? 64 : 16)) == "");
        ++checked;
    }
    CHECK(checked > 100);
}
