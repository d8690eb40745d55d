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
#include "grad/gradient.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t most_elements = 100'000;  // of an argument of a gradient

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

/// The shapes and types of the arguments that a gradient program takes.
Signature signature_of_gradient(const Program& gradient, const Signature& forward,
                                const BoundTensor& result) {
    Signature signature;
    for (const TensorId id : gradient.arguments) {
        const std::string& name = gradient.at(id).name;
        const auto known = forward.find(name);
        if (known != forward.end()) {
            signature.emplace(name, known->second);
        } else {
            signature[name].dtype = result.dtype;
            signature[name].shape = result.shape;
        }
    }
    return signature;
}

}  // namespace

std::size_t program_count() {
    if (const char* count = std::getenv("RICCI_TEST_PROGRAMS"))
        return static_cast<std::size_t>(std::stoul(count));
    return std::getenv("RICCI_TEST_FULL") != nullptr ? 5'000 : 300;
}

void for_each_program(std::size_t count,
                      const std::function<void(const RandomProgram&, const Program&)>& check,
                      const RandomForms& forms) {
    const std::size_t most_refused = forms.all_types || forms.language ? count : count / 10 + 5;
    std::size_t refused = 0;
    for (std::uint64_t seed = 0; seed < count + refused; ++seed) {
        const RandomProgram random = random_program(seed, forms);
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

void for_each_gradient(
    std::size_t count,
    const std::function<void(const RandomProgram&, const RandomGradient&)>& check,
    const RandomForms& forms) {
    const auto check_program = [&](const RandomProgram& random, const Program& program) {
        const BoundProgram bound = ricci::bind(program, random.signature);
        const BoundTensor& result = bound.at(bound.outputs.back());
        if (!is_floating(result.dtype)) return;
        for (const auto& [name, spec] : random.signature) {
            // Of large ones the reference takes minutes.
            if (!is_floating(spec.dtype) || element_count(spec.shape) > most_elements) continue;
            const auto ties = static_cast<grad::Ties>(random.seed % 3);
            RandomGradient gradient{.argument = name, .program = {}, .signature = {}};
            try {
                gradient.program = grad::gradient(program, name, {.ties = ties});
            } catch (const Error& error) {
                if (error.kind() == ErrorKind::gradient) continue;
                throw;
            }
            gradient.signature = signature_of_gradient(gradient.program, random.signature, result);
            check(random, gradient);
        }
    };
    for_each_program(count, check_program, forms);
}

}  // namespace ricci::tests
