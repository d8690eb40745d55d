// tools/ricci/explain.cpp – ricci explain: a program at every stage of its way to machine code
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/dump.h"
#include "base/env.h"
#include "base/text.h"
#include "codegen/contraction_order.h"
#include "codegen/cpu/compile.h"
#include "codegen/cuda/emit.h"
#include "codegen/plan.h"
#include "dsl/ast.h"
#include "dsl/canonical.h"
#include "dsl/parser.h"
#include "grad/account.h"
#include "grad/gradient.h"
#include "runtime/cuda/compile.h"
#include "runtime/cuda/gpu.h"
#include "runtime/executor.h"
#include "runtime/parallel.h"
#include "runtime/tuner.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/gradients.h"
#include "tools/ricci/limits.h"

namespace ricci::tool {
namespace {

struct Options {
    CommonOptions common;
    std::string wrt;
    std::string stages;
};

std::vector<Stage> parse_stages(const std::string& list) {
    std::vector<Stage> stages;
    for (const std::string& word : split_names(list)) {
        const auto stage = stage_from_name(word);
        if (!stage || *stage == Stage::tokens)
            throw UsageError{format("--stage: there is no stage `{}`", word)};
        stages.push_back(*stage);
    }
    return stages;
}

bool is_compiled_stage(Stage stage) { return stage >= Stage::bound; }

/// A program to explain: the user's, or a gradient of it.
struct Subject {
    std::string name;
    Program program;
    std::string derivation = {};  ///< of a gradient: how it came about, as comments
};

std::string heading(Stage stage, const std::string& subject) {
    return format("# {} of {}\n", name(stage), subject);
}

/// Every reduction and range of each equation, in full.
std::string explicit_text(const Program& program) {
    std::string text;
    for (const Equation& equation : program.equations) text += str(program, equation) + "\n";
    return text;
}

/// What this machine does at most, measured once for each arithmetic.
const Limits& limits_of(const Arithmetic& arithmetic) {
    static std::map<Arithmetic, Limits> known;
    const auto [entry, is_new] = known.try_emplace(arithmetic);
    if (is_new) entry->second = measure_limits(arithmetic, num_threads());
    return entry->second;
}

/// Schedules; where they are for this machine, with the least time that each kernel takes on it.
std::string schedule_text(const codegen::Plan& plan, const Target& target) {
    const bool is_here = !target.is_gpu() && !env::target();
    std::string text;
    for (std::size_t n = 0; n < plan.schedules.size(); ++n) {
        const codegen::Schedule& schedule = plan.schedules[n];
        text += str(schedule);
        if (!is_here) continue;
        text += limit_text(schedule.work, limits_of(arithmetic_of(plan, n)));
    }
    if (is_here && !plan.schedules.empty())
        text += format("# limits are those of {}: multiply-adds, and copies beyond the caches\n",
                       plural(static_cast<std::size_t>(num_threads()), "thread"));
    return text;
}

/// One stage that is made from a plan.
std::string planned_text(Stage stage, const BoundProgram& bound, const codegen::Plan& plan,
                         const Target& target) {
    std::string text;
    if (stage == Stage::bound) text = str(bound);
    if (stage == Stage::plan) text = str(plan);
    if (stage == Stage::schedule) text = schedule_text(plan, target);
    if (stage == Stage::loops)
        for (const codegen::Nest& nest : plan.nests) text += str(nest);
    if (stage == Stage::llvm) text = codegen::cpu::emit_text(plan.nests, target);
    if (stage == Stage::assembly) text = codegen::cpu::emit_assembly(plan.nests, target);
    if (stage == Stage::cuda) text = codegen::cuda::emit_kernels(plan.nests);
    if (stage == Stage::ptx) text = cuda::emit_ptx(plan.nests, target);
    if (!text.ends_with('\n')) text += '\n';
    return text;
}

bool is_gpu_stage(Stage stage) { return stage == Stage::cuda || stage == Stage::ptx; }
bool is_cpu_stage(Stage stage) { return stage == Stage::llvm || stage == Stage::assembly; }

/// Where the shown code runs: where it is asked for, else where a stage shows.
std::string shown_device(const std::vector<Stage>& stages, const Options& options) {
    if (!options.common.device.empty()) return options.common.device;
    if (std::ranges::any_of(stages, is_gpu_stage)) return "cuda";
    if (std::ranges::any_of(stages, is_cpu_stage)) return "cpu";
    return std::string(name(default_device()));
}

/// Whether code for a GPU is shown. Throws: UsageError for a stage of the other kind of device.
bool is_for_gpu(const std::vector<Stage>& stages, const Options& options) {
    const std::string device = shown_device(stages, options);
    const bool is_gpu = device == "cuda";
    const auto wrong = std::ranges::find_if(stages, is_gpu ? is_cpu_stage : is_gpu_stage);
    if (wrong != stages.end())
        throw UsageError{
            format("--stage: there is no `{}` of code for the device `{}`", name(*wrong), device)};
    return is_gpu;
}

/// Everything about one program that stages are made from.
class Explanation {
  public:
    Explanation(const Options& options, std::vector<Stage> stages)
        : stages_(std::move(stages)),
          is_gpu_(is_for_gpu(stages_, options)),
          program_(asked_program(options.common)),
          given_(make_signature(parse_arguments(options.common), program_)),
          ties_(parse_ties(options.common)),
          wrt_(split_distinct_names("--wrt", options.wrt)) {
        // Shapes are checked whenever they are given, whatever is shown.
        if (!given_.empty()) (void)ricci::bind(canonicalise(program_), given_);
        if (stages_.empty()) {
            stages_ = {Stage::program, Stage::gradient};
            if (!given_.empty()) stages_.push_back(Stage::schedule);
        }
        make_gradients();
    }

    std::string text() {
        std::string text;
        for (const Stage stage : stages_)
            if (!is_compiled_stage(stage)) text += symbolic_text(stage);
        if (std::ranges::none_of(stages_, is_compiled_stage)) return text;
        text += compiled_text({result_name(), program_}, given_);
        if (wrt_.empty()) return text;
        for (const Subject& gradient : gradients_)
            text +=
                compiled_text(gradient, signature_of_gradient(gradient.program, given_, program_));
        return text;
    }

  private:
    [[nodiscard]] const std::string& result_name() const {
        return program_.at(program_.result()).name;
    }

    /// Those asked for, or all where the stage is shown without a choice.
    void make_gradients() {
        const bool is_shown = std::ranges::find(stages_, Stage::gradient) != stages_.end();
        const bool is_all = wrt_.empty() && is_shown;
        grad::Options options{.ties = ties_};
        for (const auto& [name, spec] : given_)
            if (is_complex(spec.dtype)) options.complex_arguments.push_back(name);
        for (const std::string& argument : is_all ? argument_names(program_) : wrt_) {
            try {
                grad::Account account;
                Program gradient = grad::gradient(program_, argument, options, account);
                const std::string name = gradient.at(gradient.result()).name;
                gradients_.push_back(
                    {name, std::move(gradient), derivation_text(account, argument, options)});
            } catch (const Error& error) {
                // Asked for by name it is an error; among all it is said in its place.
                if (!is_all || error.kind() != ErrorKind::gradient) throw;
                skipped_ +=
                    format("# no gradient for {}: {}\n", argument, error.diagnosis().message);
            }
        }
    }

    [[nodiscard]] std::string symbolic_text(Stage stage) const {
        if (stage == Stage::ast)
            return heading(stage, result_name()) + str(ast::parse(program_.source)) + "\n";
        if (stage == Stage::program) return heading(stage, result_name()) + explicit_text(program_);
        if (stage == Stage::canonical)
            return heading(stage, result_name()) + explicit_text(canonicalise(program_));
        std::string text;
        for (const Subject& gradient : gradients_)
            text +=
                heading(stage, gradient.name) + gradient.derivation + str(gradient.program) + "\n";
        return text + skipped_;
    }

    /// The equation that makes an output.
    [[nodiscard]] static std::string definition(const Program& program, const std::string& name) {
        for (const Equation& equation : program.equations)
            if (program.at(equation.target).name == name) return str(program, equation);
        return name;
    }

    /// How each read was inverted, and what a training step keeps, as comments of the language.
    [[nodiscard]] std::string derivation_text(const grad::Account& account,
                                              const std::string& argument,
                                              const grad::Options& options) const {
        std::string text;
        for (const std::string& line : account.lines) text += format("# {}\n", line);
        try {
            const grad::Pair pair = grad::cut(program_, {argument}, options);
            if (pair.saved.empty())
                return text + "# kept from the forward: nothing but arguments\n";
            for (const std::string& name : pair.saved)
                text += format("# kept from the forward: {}\n", definition(pair.forward, name));
            return text;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::gradient) throw;
            return text + "# kept from the forward: nothing, arguments are taken as they were\n";
        }
    }

    [[nodiscard]] std::string compiled_text(const Subject& subject,
                                            const Signature& signature) const {
        const Target target = is_gpu_ ? cuda::text_target() : runtime::target();
        const BoundProgram bound =
            codegen::in_real_numbers(ricci::bind(canonicalise(subject.program), signature));
        const codegen::Plan plan = codegen::plan(bound, target, {}, tunings());
        std::string text;
        for (const Stage stage : stages_) {
            if (!is_compiled_stage(stage)) continue;
            text += heading(stage, subject.name) + planned_text(stage, bound, plan, target);
        }
        return text;
    }

    /// What was measured, where that would be taken.
    [[nodiscard]] codegen::Tunings tunings() const {
        if (is_gpu_ || !is_tuning()) return {};
        return runtime::tuning_store().tunings();
    }

    std::vector<Stage> stages_;
    bool is_gpu_;
    Program program_;
    Signature given_;
    Ties ties_;
    std::vector<std::string> wrt_;
    std::vector<Subject> gradients_;
    std::string skipped_;
};

int run(const Options& options) {
    apply_execution(options.common);
    const std::string text = Explanation(options, parse_stages(options.stages)).text();
    std::cout << text << std::flush;
    return 0;
}

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("explain", "Show how a program is understood and compiled");
    add_program(*command, options->common);
    add_ties(*command, options->common);
    add_tuning(*command, options->common);
    add_precision(*command, options->common);
    command->add_option("--wrt", options->wrt, "gradients to show (all), as in A,B");
    command->add_option(
        "--stage", options->stages,
        "some of ast,program,canonical,gradient,bound,plan,schedule,loops,llvm,asm,cuda,ptx");
    command->add_option("--device", options->common.device, "cpu or cuda")
        ->check(CLI::IsMember({"cpu", "cuda", "reference"}));
    command->footer(R"help(Stages from `bound` on need the arguments' shapes. Code for a GPU is made
for the one at hand, else for an H200; RICCI_TARGET=sm_80 names another. Schedules for this CPU tell
the least time of each kernel from its operations, its bytes and rates that are measured at once.
With --tune kernels are those that runs with --tune found to be fastest; nothing is measured here.
Examples:
  ricci explain "Y[n,o] := W[o,k]*X[n,k] + b[o]"
  ricci explain "D[i,j] := (w[k,i] - x[k,j])^2" w=784x64 x=784x64 --stage schedule,loops
  ricci explain "y[i] := tanh(x[i])" x=1000:f32 --wrt x --stage asm
  ricci explain "C[i,j] := A[i,k]*B[k,j]" A=512x512 B=512x512 --stage schedule,cuda)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
