// tests/codegen_source/source_batch.cpp – programs emitted as one C++ file, run and compared
#include "tests/codegen_source/source_batch.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "codegen/group.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/reference.h"
#include "tests/codegen_source/compile_source.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

using codegen::source::SourceProgram;

/// The arguments in their bound types, as row-major copies that an update may change.
std::vector<Array> copies(const BoundProgram& program, const std::vector<Array>& arguments) {
    std::vector<Array> result;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        result.push_back(arguments[i].to(program.at(program.arguments[i]).dtype).copy());
    return result;
}

bool has_same_bits(const Array& a, const Array& b) {
    return std::memcmp(a.data(), b.data(), std::size_t(a.size()) * size_bytes(a.dtype())) == 0;
}

/// What the program gives: its outputs, or what it says.
struct Result {
    std::string message;
    std::vector<Array> outputs;
};
Result run(const CompiledSource& compiled, const SourceProgram& source,
           const std::vector<Array>& arguments) {
    const BoundProgram& program = source.bound;
    std::vector<void*> pointers;
    for (const Array& argument : arguments)
        pointers.push_back(const_cast<void*>(std::as_const(argument).data()));
    Result result;
    std::vector<TensorId> given;
    for (const TensorId output : program.outputs) {
        const TensorId root = codegen::storage(program, output);
        const auto argument = std::ranges::find(program.arguments, root);
        const auto known = std::ranges::find(given, root);
        if (argument != program.arguments.end()) {
            result.outputs.push_back(arguments[std::size_t(argument - program.arguments.begin())]);
            given.push_back(root);
            continue;
        }
        if (known != given.end()) {
            result.outputs.push_back(result.outputs[std::size_t(known - given.begin())]);
            given.push_back(root);
            continue;
        }
        result.outputs.emplace_back(program.at(output).dtype, program.at(output).shape);
        pointers.push_back(result.outputs.back().data());
        given.push_back(root);
    }
    result.message = compiled.call("ricci_" + source.name, pointers);
    return result;
}

/// What differs from the reference, or nothing.
std::string outcome(const CompiledSource& compiled, const SourceProgram& source,
                    const std::vector<Array>& arguments) {
    const std::vector<Array> own = copies(source.bound, arguments);
    const Result found = run(compiled, source, own);
    std::vector<runtime::Estimate> expected;
    try {
        expected = runtime::evaluate_with_bounds(source.bound, arguments);
    } catch (const Error& error) {
        if (found.message.empty()) return format("it should say {}", error.what());
        const std::vector<Array> before = copies(source.bound, arguments);
        for (std::size_t i = 0; i < own.size(); ++i)
            if (!has_same_bits(own[i], before[i]))
                return format("argument {} is changed, and it says {}", i, found.message);
        return {};
    }
    if (!found.message.empty()) return format("it says {}", found.message);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Comparison comparison = compare(found.outputs[i], expected[i]);
        if (!comparison.holds()) return format("output {}: {}", i, comparison.failure);
    }
    return {};
}

}  // namespace

ArgumentSpec array_spec(Shape shape, DType dtype) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

ArgumentSpec number_spec(std::int64_t value) {
    return {.dtype = DType::i64, .shape = {}, .strides = {}, .is_weak = true, .value = value};
}

void SourceBatch::add(const std::string& label, const Program& program, const Signature& signature,
                      std::uint64_t seed, GivenArrays given) {
    std::vector<std::string> outputs;
    for (const TensorId id : program.outputs) outputs.push_back(program.at(id).name);
    BoundProgram bound = ricci::bind(canonicalise(program), signature, outputs);
    cases_.push_back({.label = label,
                      .source = {.name = format("p{}_{}", cases_.size(), outputs.back()),
                                 .text = str(program),
                                 .bound = codegen::source::in_plain_arrays(std::move(bound))},
                      .signature = signature,
                      .seed = seed,
                      .given = std::move(given)});
}

void SourceBatch::add(const std::string& text, const Signature& signature, GivenArrays given) {
    add(text, parse_program(text), signature, 7, std::move(given));
}

void SourceBatch::add_gradients(const std::string& text, const std::string& wrt,
                                const Signature& signature, GivenArrays given) {
    const Program program = parse_program(text);
    grad::Options options;
    for (const auto& [name, spec] : signature)
        if (is_complex(spec.dtype)) options.complex_arguments.push_back(name);
    const BoundProgram forward = ricci::bind(canonicalise(program), signature);
    const BoundTensor& result = forward.at(forward.outputs.front());
    std::istringstream names(wrt);
    for (std::string name; std::getline(names, name, ',');) {
        const Program gradient = grad::gradient(program, name, options);
        Signature needed;
        for (const TensorId id : gradient.arguments) {
            const std::string& argument = gradient.at(id).name;
            const auto known = signature.find(argument);
            needed[argument] =
                known != signature.end() ? known->second : array_spec(result.shape, result.dtype);
        }
        add(format("gradient for {} of {}", name, text), gradient, needed, 7, given);
    }
}

std::vector<SourceProgram> SourceBatch::sources() const {
    std::vector<SourceProgram> programs;
    for (const Case& each : cases_) programs.push_back(each.source);
    return programs;
}

std::string SourceBatch::difference() const {
    const CompiledSource compiled(codegen::source::emit_cpp(sources()));
    std::string text;
    for (const Case& each : cases_) {
        std::vector<Array> arguments =
            random_arguments(each.source.bound, each.signature, each.seed);
        for (std::size_t i = 0; i < arguments.size(); ++i)
            for (const auto& [name, array] : each.given)
                if (each.source.bound.at(each.source.bound.arguments[i]).name == name)
                    arguments[i] = array;
        const std::string found = outcome(compiled, each.source, arguments);
        if (!found.empty())
            text += format("{}\n{}\n{}\n", each.label, found,
                           codegen::source::emit_cpp({&each.source, 1}));
    }
    return text;
}

}  // namespace ricci::tests
