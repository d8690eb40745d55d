// tests/property/sample.cpp – the random programs that a property is checked on
#include "tests/property/sample.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"

namespace ricci::tests {
namespace {

/// The program, or nothing when it or its shapes are wrong.
std::optional<Program> accepted(const RandomProgram& random) {
    try {
        Program program = canonicalise(parse_program(random.text));
        std::vector<std::string> outputs;
        for (TensorId id : program.outputs) outputs.push_back(program.at(id).name);
        (void)ricci::bind(program, random.signature, outputs);
        return program;
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal)
            FAIL_CHECK(format("{}{}", str(random), error.what()));
        return std::nullopt;
    }
}

}  // namespace

std::size_t program_count() {
    if (const char* count = std::getenv("RICCI_TEST_PROGRAMS"))
        return static_cast<std::size_t>(std::stoul(count));
    return std::getenv("RICCI_TEST_FULL") != nullptr ? 2'000 : 300;
}

void for_each_program(std::size_t count,
                      const std::function<void(const RandomProgram&, const Program&)>& check,
                      RandomTypes types) {
    const std::size_t most_refused = types == RandomTypes::all ? count : count / 10 + 5;
    std::size_t refused = 0;
    for (std::uint64_t seed = 0; seed < count + refused; ++seed) {
        const RandomProgram random = random_program(seed, types);
        const auto program = accepted(random);
        if (!program) {
            REQUIRE(++refused <= most_refused);
            continue;
        }
        try {
            check(random, *program);
        } catch (const std::exception& error) {
            FAIL_CHECK(format("{}{}", str(random), error.what()));
        }
    }
}

}  // namespace ricci::tests
