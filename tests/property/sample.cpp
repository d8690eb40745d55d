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
#include "grad/jvp.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t most_elements = 100'000;  // of an argument of a derivative
constexpr double most_points = 2e7;              // of a derivative

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

/// The shapes and types of the arguments that a derivative takes: those of the forward, tangents as
/// what they belong to, cotangents as the result.
Signature signature_of(const Program& derivative, const Signature& forward,
                       const BoundTensor& result) {
    Signature signature;
    for (const TensorId id : derivative.arguments) {
        const Tensor& tensor = derivative.at(id);
        const auto known = forward.find(tensor.name);
        const auto of =
            tensor.dtype_of ? forward.find(derivative.at(*tensor.dtype_of).name) : forward.end();
        if (known != forward.end()) {
            signature.emplace(tensor.name, known->second);
        } else if (of != forward.end()) {
            signature.emplace(tensor.name, of->second);
        } else {
            signature[tensor.name].dtype = result.dtype;
            signature[tensor.name].shape = result.shape;
        }
    }
    return signature;
}

/// Calls `check` for the derivatives that `make` makes by each argument.
template <class Make>
void for_each_derivative(std::size_t count, Make make, const CheckDerivative& check,
                         const RandomForms& forms) {
    const auto check_program = [&](const RandomProgram& random, const Program& program) {
        const BoundProgram bound = ricci::bind(program, random.signature);
        const BoundTensor& result = bound.at(bound.outputs.back());
        if (!is_floating(result.dtype)) return;
        for (const auto& [name, spec] : random.signature) {
            // Of large ones the reference takes minutes.
            if (!is_floating(spec.dtype) || element_count(spec.shape) > most_elements) continue;
            RandomDerivative derivative{.argument = name, .program = {}, .signature = {}};
            try {
                derivative.program = make(program, name, static_cast<grad::Ties>(random.seed % 3));
            } catch (const Error& error) {
                if (error.kind() == ErrorKind::gradient) continue;
                throw;
            }
            derivative.signature = signature_of(derivative.program, random.signature, result);
            if (points(ricci::bind(derivative.program, derivative.signature)) <= most_points)
                check(random, derivative);
        }
    };
    for_each_program(count, check_program, forms);
}

}  // namespace

double points(const BoundProgram& program) {
    double all = 0;
    for (const BoundEquation& equation : program.equations) {
        double of_one = 1;
        const auto count = [&](const std::vector<IndexId>& indices) {
            for (const IndexId index : indices)
                of_one *= static_cast<double>(program.at(index).extent());
        };
        count(equation.indices);
        if (equation.reduction) count(equation.reduction->indices);
        all += of_one;
    }
    return all;
}

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

void for_each_gradient(std::size_t count, const CheckDerivative& check, const RandomForms& forms) {
    for_each_derivative(
        count,
        [](const Program& program, const std::string& name, grad::Ties ties) {
            return grad::gradient(program, name, {.ties = ties});
        },
        check, forms);
}

void for_each_tangent(std::size_t count, const CheckDerivative& check, const RandomForms& forms) {
    for_each_derivative(
        count,
        [](const Program& program, const std::string& name, grad::Ties ties) {
            return grad::jvp(program, {name}, {.ties = ties});
        },
        check, forms);
}

Signature with_floating(Signature signature, DType dtype) {
    for (auto& [name, argument] : signature)
        if (argument.dtype == DType::f32) argument.dtype = dtype;
    return signature;
}

}  // namespace ricci::tests
