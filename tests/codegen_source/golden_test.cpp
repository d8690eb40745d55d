// tests/codegen_source/golden_test.cpp – what emitted C++ looks like
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include "codegen/source/emit.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen_source/source_batch.h"

namespace ricci::tests {
namespace {

using codegen::source::SourceProgram;

SourceProgram source(const Program& program, const Signature& signature, std::string text) {
    return {
        .name = program.at(program.result()).name,
        .text = std::move(text),
        .bound = codegen::source::in_plain_arrays(ricci::bind(canonicalise(program), signature))};
}

TEST_CASE("a layer and its gradients are functions of pointers") {
    const std::string text = "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])";
    const Program program = parse_program(text);
    Signature signature = {
        {"W", array_spec({32, 784})}, {"X", array_spec({64, 784})}, {"b", array_spec({32})}};
    std::vector<SourceProgram> programs = {source(program, signature, text)};
    signature["dY"] = array_spec({64, 32});
    for (const std::string argument : {"W", "b"}) {
        const Program gradient = grad::gradient(program, argument);
        Signature needed;
        for (const TensorId id : gradient.arguments)
            needed[gradient.at(id).name] = signature.at(gradient.at(id).name);
        programs.push_back(source(gradient, needed, str(gradient)));
    }
    check_golden("source/layer", codegen::source::emit_cpp(programs));
}

TEST_CASE("a transposed convolution's ranges stand in its loops") {
    const std::string text = "O[2*i+k] += x[i]*w[k]";
    const Program program = parse_program(text);
    const Program gradient = grad::gradient(program, "x");
    const Signature signature = {
        {"O", array_spec({21})}, {"x", array_spec({10})}, {"w", array_spec({3})}};
    Signature needed;
    for (const TensorId id : gradient.arguments) {
        const auto known = signature.find(gradient.at(id).name);
        needed[gradient.at(id).name] = known == signature.end() ? array_spec({21}) : known->second;
    }
    const std::vector<SourceProgram> programs = {source(program, signature, text),
                                                 source(gradient, needed, str(gradient))};
    check_golden("source/transposed_convolution", codegen::source::emit_cpp(programs));
}

TEST_CASE("data is checked before an argument changes") {
    const std::string text = "h[i] += 1; y[n] := x[h[n]]";
    const SourceProgram program = source(
        parse_program(text), {{"h", array_spec({4}, DType::i32)}, {"x", array_spec({9})}}, text);
    check_golden("source/checked", codegen::source::emit_cpp({&program, 1}));
}

}  // namespace
}  // namespace ricci::tests
