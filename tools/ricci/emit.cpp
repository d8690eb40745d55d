// tools/ricci/emit.cpp – ricci emit: a program and its gradients as source that stands alone
#include "codegen/source/emit.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <span>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/cuda/gpu.h"
#include "runtime/staged_file.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/gradients.h"

namespace ricci::tool {
namespace {

using codegen::source::SourceProgram;

struct Options {
    CommonOptions common;
    std::string wrt;
    std::string targets;
    std::string target;
    std::string output;
};

/// The programs of a file: the forward, then a gradient for each argument asked for.
class Sources {
  public:
    explicit Sources(const Options& options)
        : program_(asked_program(options.common)),
          given_(make_signature(parse_arguments(options.common), program_)) {
        for (auto& [name, spec] : given_) spec.strides.clear();  // row-major, as it is documented
        Signature forward = given_;
        grad::Options gradients{.ties = parse_ties(options.common)};
        for (const auto& [name, spec] : given_) {
            const auto output = output_of_cotangent(program_, name);
            if (!options.wrt.empty() && !program_.argument(name) && output) {
                gradients.cotangents.push_back(*output);
                forward.erase(name);
            } else if (is_complex(spec.dtype)) {
                gradients.complex_arguments.push_back(name);
            }
        }
        add(program_, forward, outputs(options), program_.source->text);
        for (const std::string& argument : split_distinct_names("--wrt", options.wrt)) {
            const Program gradient = grad::gradient(program_, argument, gradients);
            add(gradient, signature_of_gradient(gradient, given_, program_), {}, str(gradient));
        }
    }

    [[nodiscard]] std::span<const SourceProgram> programs() const { return programs_; }

  private:
    /// What the forward gives: the result, or what is asked for, and all that is updated.
    [[nodiscard]] std::vector<std::string> outputs(const Options& options) const {
        std::vector<std::string> names = split_distinct_names("--outputs", options.targets);
        if (names.empty()) names.push_back(program_.at(program_.result()).name);
        for (const TensorId id : program_.arguments) {
            const std::string& name = program_.at(id).name;
            const bool is_known = contains(names, name);
            if (program_.output(name) && !is_known) names.push_back(name);
        }
        return names;
    }

    void add(const Program& program, const Signature& signature,
             const std::vector<std::string>& outputs, std::string text) {
        const Program canonical = canonicalise(program);
        SourceProgram source{
            .name = program.at(program.result()).name,
            .text = std::move(text),
            .bound = codegen::source::in_plain_arrays(ricci::bind(canonical, signature, outputs))};
        while (!names_.insert(source.name).second) source.name += '_';
        for (const TensorId id : structural_scalars(canonical)) {
            const auto spec = signature.find(canonical.at(id).name);
            if (spec == signature.end() || !spec->second.value) continue;
            if (const auto* value = std::get_if<std::int64_t>(&*spec->second.value))
                source.fixed.emplace_back(spec->first, *value);
        }
        programs_.push_back(std::move(source));
    }

    Program program_;
    Signature given_;
    std::vector<SourceProgram> programs_;
    std::set<std::string> names_;  ///< of entry points
};

std::string emitted(const std::string& target, std::span<const SourceProgram> programs) {
    if (target == "cuda") return codegen::source::emit_cuda(programs, cuda::text_target());
    if (target == "llvm") {
        // Programs must ask the system for tiles, which the text does not.
        Target here = codegen::cpu::host_target();
        here.has_bf16_tiles = false;
        return codegen::source::emit_llvm(programs, here);
    }
    return codegen::source::emit_cpp(programs);
}

int run(const Options& options) {
    const Sources sources(options);
    const std::string text = emitted(options.target, sources.programs());
    runtime::StagedFile file(options.output);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
    return 0;
}

}  // namespace

void add_emit(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("emit", "Write a program and its gradients as source that stands alone");
    add_program(*command, options->common);
    add_ties(*command, options->common);
    command->add_option("--wrt", options->wrt, "gradients to add, as in A,B");
    command->add_option("--outputs", options->targets,
                        "targets that the function gives (the last one), as in Y,Z");
    command->add_option("--target", options->target, "cpp, cuda or llvm")
        ->required()
        ->check(CLI::IsMember({"cpp", "cuda", "llvm"}));
    command->add_option("-o,--output", options->output, "file to write")->required();
    command->footer(
        R"help(The code is for the shapes and types given. Every program becomes a function
`ricci_Y`, named by its result, of pointers to row-major arrays.
Examples:
  ricci emit "Y[n,o] := W[o,k]*X[n,k]" W=2x3 X=4x3 --wrt W,X --target cpp -o linear.cpp
  ricci emit "S[i] := exp(x[i]) / sum[k](exp(x[k]))" x=1000:f32 --target cuda -o softmax.cu
  ricci emit "C[i,j] := A[i,k]*B[k,j]" A=64x64 B=64x64 --target llvm -o product.ll)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
