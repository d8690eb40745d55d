// tests/codegen/check_plan.cpp – plans executed and compared with the reference evaluator
#include "tests/codegen/check_plan.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "runtime/executor.h"
#include "runtime/reference.h"
#include "tests/support/compare.h"
#include "tests/support/nest_interpreter.h"

namespace ricci::tests {
namespace {

constexpr std::uint64_t seed = 7;

/// The arguments in their bound types, as copies that an update may change.
std::vector<Array> copies(const BoundProgram& program, const std::vector<Array>& arguments) {
    std::vector<Array> result;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        result.push_back(arguments[i].to(program.at(program.arguments[i]).dtype));
    return result;
}

std::string first_difference(const std::vector<Array>& found,
                             const std::vector<runtime::Estimate>& expected) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Comparison comparison = compare(found[i], expected[i]);
        if (!comparison.holds()) return comparison.failure;
    }
    return {};
}

}  // namespace

Signature named(const std::string& text, const Signature& signature) {
    Signature found;
    for (const auto& [name, spec] : signature)
        if (text.find(name + "[") != std::string::npos) found.emplace(name, spec);
    return found;
}

Target example_target(int vector_bytes) {
    return {.cpu = "test",
            .features = "",
            .vector_bytes = vector_bytes,
            .vector_registers = vector_bytes == 64 ? 32 : 16,
            .has_fma = true};
}

Target example_gpu_target(int multiprocessors) {
    return {.cpu = "sm_90",
            .features = "",
            .gpu = {.compute_capability = 90,
                    .multiprocessors = multiprocessors,
                    .shared_bytes = 227 << 10}};
}

ArgumentSpec array(Shape shape, DType dtype) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

BoundProgram bound(const std::string& text, const Signature& signature) {
    return ricci::bind(canonicalise(parse_program(text)), signature);
}

std::string interpreted_difference(const BoundProgram& program, const Signature& signature,
                                   const Target& target, std::uint64_t order) {
    return interpreted_difference(program, signature, codegen::plan(program, target),
                                  order != any_order || target.is_gpu() ? order : 0);
}

std::string interpreted_difference(const BoundProgram& program, const Signature& signature,
                                   const codegen::Plan& plan, std::uint64_t order) {
    const std::vector<Array> arguments = random_arguments(program, signature, seed);
    const auto expected = runtime::evaluate_with_bounds(program, arguments);
    const std::uint64_t last = order != any_order ? order : 2;
    for (std::uint64_t turn = order != any_order ? order : 0; turn <= last; ++turn) {
        std::string failure;
        try {
            failure = first_difference(interpret(program, plan, copies(program, arguments), turn),
                                       expected);
        } catch (const Error& error) {
            failure = error.what();
        }
        if (!failure.empty()) return failure + "\n" + str(plan);
    }
    return {};
}

std::string compiled_difference(const BoundProgram& program, const Signature& signature) {
    return compiled_difference(program, signature, runtime::target());
}

std::string compiled_difference(const BoundProgram& program, const Signature& signature,
                                const Target& target) {
    const runtime::Executable executable(program, "test", target);
    const std::vector<Array> arguments = random_arguments(program, signature, seed);
    const std::vector<Array> own = copies(program, arguments);
    std::vector<const Array*> pointers;
    for (const Array& argument : own) pointers.push_back(&argument);
    const std::vector<Array> found = executable.run(pointers);
    const std::string failure =
        first_difference(found, runtime::evaluate_with_bounds(program, arguments));
    return failure.empty() ? failure : failure + "\n" + str(executable.plan());
}

void check_values(const std::string& text, const Signature& signature) {
    const BoundProgram program = bound(text, signature);
    INFO(text);
    for (const int vector_bytes : {64, 32, 16})
        CHECK(interpreted_difference(program, signature, example_target(vector_bytes)) == "");
    Target half_units = example_target(64);
    half_units.unit_bytes = 32;
    CHECK(interpreted_difference(program, signature, half_units) == "");
    CHECK(compiled_difference(program, signature) == "");
}

bool has_directive(const std::string& directive, const std::string& text,
                   const Signature& signature, std::int64_t l2_bytes, Forced forced) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    const auto with = [&](Target target) {
        target.l2_bytes = l2_bytes;
        target.forced = forced;
        return target;
    };
    for (const int vector_bytes : {16, 32, 64})
        CHECK(interpreted_difference(program, signature, with(example_target(vector_bytes))) == "");
    CHECK(compiled_difference(program, signature, with(codegen::cpu::host_target())) == "");
    return std::ranges::any_of(codegen::plan(program, with(example_target(64))).schedules,
                               [&](const codegen::Schedule& schedule) {
                                   return str(schedule).find(directive) != std::string::npos;
                               });
}

}  // namespace ricci::tests
