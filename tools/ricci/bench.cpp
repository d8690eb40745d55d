// tools/ricci/bench.cpp – ricci bench: how fast a program runs and compiles
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "codegen/contraction_order.h"
#include "codegen/cpu/compile.h"
#include "codegen/few_points.h"
#include "codegen/implied_conditions.h"
#include "codegen/plan.h"
#include "codegen/residue_classes.h"
#include "dsl/canonical.h"
#include "dsl/work.h"
#include "runtime/compile_nests.h"
#include "runtime/cuda/compile.h"
#include "runtime/cuda/gpu.h"
#include "runtime/executor.h"
#include "runtime/function_state.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/gradients.h"
#include "tools/ricci/limits.h"

namespace ricci::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double sample_seconds = 0.05;
constexpr int sample_count = 9;

struct Options {
    CommonOptions common;
    bool has_gradients = false;
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Times {
    double median = 0;
    double least = 0;
};

/// Samples of at least `sample_seconds` each, of as many runs as that takes; `finish` waits for
/// what runs only started.
Times measure(const std::function<void()>& run, const std::function<void()>& finish) {
    run();  // compiles
    finish();
    const auto begin = Clock::now();
    run();
    finish();
    const double once = std::max(seconds_since(begin), 1e-9);
    const auto runs = static_cast<int>(std::clamp(sample_seconds / once, 1.0, 1e6));
    std::vector<double> samples;
    for (int s = 0; s < sample_count; ++s) {
        const auto start = Clock::now();
        for (int i = 0; i < runs; ++i) run();
        finish();
        samples.push_back(seconds_since(start) / runs);
    }
    std::ranges::sort(samples);
    return {.median = samples[samples.size() / 2], .least = samples.front()};
}

/// Seconds from checked program to machine code without any cache, and what came of it.
struct Compiled {
    double plan = 0;  ///< canonical form, binding, planning
    double code = 0;  ///< LLVM or NVRTC
    Arithmetic arithmetic = {};
};

/// Compiles for a device and forgets it.
void compile_for(Device device, const codegen::Plan& plan, const Target& target) {
    if (device == Device::cuda)
        (void)cuda::compile(plan.nests, target);
    else
        (void)codegen::cpu::Module(runtime::compile_nests(plan.nests, target));
}

Compiled measure_compile(const Program& program, const Signature& signature,
                         const std::vector<std::string>& outputs, Device device) {
    const Target target =
        device == Device::cuda ? cuda::Gpu::current()->target() : runtime::target();
    std::vector<Compiled> samples;
    for (int i = 0; i < 3; ++i) {
        const auto begin = Clock::now();
        const BoundProgram bound =
            codegen::in_real_numbers(ricci::bind(canonicalise(program), signature, outputs));
        const codegen::Plan plan = codegen::plan(bound, target);
        Compiled times{.plan = seconds_since(begin)};
        const auto middle = Clock::now();
        compile_for(device, plan, target);
        times.code = seconds_since(middle);
        times.arithmetic = arithmetic_of(plan);
        samples.push_back(times);
    }
    std::ranges::sort(samples, {}, [](const Compiled& t) { return t.plan + t.code; });
    return samples[1];
}

/// Limits of the machine that the rows use, each the best of what was measured: lest other work on
/// the machine pass for its limit.
class LimitsOfRun {
  public:
    explicit LimitsOfRun(Device device) : device_(device) {}

    void measure(const Arithmetic& arithmetic) {
        const Limits now = device_ == Device::cuda ? measure_gpu_limits(arithmetic)
                                                   : measure_limits(arithmetic, num_threads());
        Limits& best = known_[arithmetic];
        best = {.flops = std::max(best.flops, now.flops),
                .bytes_per_second = std::max(best.bytes_per_second, now.bytes_per_second)};
    }
    [[nodiscard]] const Limits& of(const Arithmetic& arithmetic) const {
        return known_.at(arithmetic);
    }
    /// What they are of, and how they were found.
    [[nodiscard]] std::string text() const {
        const bool is_gpu = device_ == Device::cuda;
        std::string text;
        for (const auto& [arithmetic, limits] : known_)
            text += format(
                "limits on {}: {:.1f} GFLOP/s of multiply-adds in {}, {:.2f} GB/s of copies ({})\n",
                is_gpu ? cuda::Gpu::current()->name()
                       : plural(static_cast<std::size_t>(num_threads()), "thread"),
                limits.flops * 1e-9, str(arithmetic), limits.bytes_per_second * 1e-9,
                is_gpu ? "units and clock rate; copies of the driver, same run"
                       : "loops in C++, same run");
        return text;
    }

  private:
    Device device_;
    std::map<Arithmetic, Limits> known_;
};

/// One row: a function, its times, its rates, its shares of the machine's limits.
class Row {
  public:
    Row(std::string name, const Function& given, const Arguments& arguments,
        std::vector<std::string> outputs = {})
        : name_(std::move(name)) {
        // Gradients of complex arrays are other programs than those that types do not decide.
        const Function function = given.state()->complex_form(arguments).value_or(given);
        if (outputs.empty()) outputs = {function.program().at(function.program().result()).name};
        Signature signature;
        for (const auto& [argument, array] : arguments)
            if (function.program().argument(argument))
                signature.emplace(argument, runtime::spec_of(array, array.rank() == 0));
        const BoundProgram bound =
            ricci::bind(canonicalise(function.program()), signature, outputs);
        // Of the gradient of a slice or of a strided read only the points that count: the few that
        // an element has, those of the residue classes.
        work_ = work_of(codegen::with_residue_classes(
            codegen::with_few_points(codegen::with_contraction_order(
                codegen::without_implied_conditions(codegen::in_real_numbers(bound)))),
            0));
        if (bound.at(bound.outputs.front()).dtype == DType::f64)
            compiled_.arithmetic.unit = Arithmetic::Unit::f64;
        const Device device = function.device();
        times_ = measure([&] { (void)function.call(arguments, outputs); },
                         [device] { synchronize(device); });
        if (device == Device::reference) return;
        const Arithmetic by_type = compiled_.arithmetic;
        compiled_ = measure_compile(function.program(), signature, outputs, device);
        if (device == Device::cuda) compiled_.arithmetic = by_type;
    }

    static std::string head() {
        return format("{:<12} {:>11} {:>11} {:>9} {:>8} {:>7} {:>7} {:>12} {:>12}\n", "program",
                      "median", "least", "GFLOP/s", "GB/s", "% FMA", "% copy", "plan", "compile");
    }
    [[nodiscard]] std::string text(const LimitsOfRun& all) const {
        const Limits& limits = all.of(arithmetic());
        const double flops = work_.operations / times_.median;
        const double bytes = work_.bytes / times_.median;
        return format("{:<12} {:>11} {:>11} {:>9.2f} {:>8.2f} {:>7.1f} {:>7.1f} {:>12} {:>12}\n",
                      name_, time_text(times_.median), time_text(times_.least), flops * 1e-9,
                      bytes * 1e-9, 100 * flops / limits.flops,
                      100 * bytes / limits.bytes_per_second, time_text(compiled_.plan),
                      time_text(compiled_.code));
    }
    [[nodiscard]] const Arithmetic& arithmetic() const { return compiled_.arithmetic; }
    [[nodiscard]] double median_seconds() const { return times_.median; }

  private:
    std::string name_;
    Work work_;
    Times times_;
    Compiled compiled_;
};

/// What was measured.
struct Rows {
    Row forward;
    std::vector<Row> gradients;   ///< each by itself
    std::optional<Row> together;  ///< of several, all in one program
};

void print(const Rows& rows, const LimitsOfRun& limits) {
    std::string text = Row::head() + rows.forward.text(limits);
    const double forward = rows.forward.median_seconds();
    double apart = 0;
    for (const Row& row : rows.gradients) {
        text += row.text(limits);
        apart += row.median_seconds();
    }
    if (rows.together) text += rows.together->text(limits);
    if (!rows.gradients.empty())
        text += format("gradients one by one: {:.2f} times the forward", apart / forward);
    if (rows.together)
        text += format(", in one program {:.2f}", rows.together->median_seconds() / forward);
    if (!rows.gradients.empty()) text += "\n";
    text += limits.text();
    std::cout << text << std::flush;
}

/// The row of all gradients in one program.
Row measure_together(const Function& function, const std::vector<Gradient>& gradients) {
    std::vector<std::string> wrt;
    std::vector<std::string> names;
    std::vector<std::string> cotangents;
    Arguments arguments;
    for (const Gradient& gradient : gradients) {
        wrt.push_back(gradient.argument);
        names.push_back(gradient.name);
        for (const auto& [name, array] : gradient.arguments) {
            const auto is_known = [&](const auto& known) { return known.first == name; };
            if (std::ranges::any_of(arguments, is_known)) continue;
            arguments.emplace_back(name, array);
            const bool is_argument = function.program().argument(name).has_value();
            const auto output = output_of_cotangent(function.program(), name);
            if (!is_argument && output) cotangents.push_back(*output);
        }
    }
    return {"together", function.grads(wrt, {.cotangents = cotangents}), arguments, names};
}

int run(const Options& options) {
    const NamedSpecs specs = parse_arguments(options.common);
    apply_execution(options.common);
    const Function function = make_function(options.common);
    const Arguments arguments = make_arguments(specs, function.program());
    const Program& program = function.program();
    // What runs first is checked first: an error shows before anything is measured.
    std::vector<Gradient> gradients;
    if (options.has_gradients) {
        std::vector<std::string> wrt;
        for (const auto& [name, array] : arguments) {
            const bool is_continuous = is_floating(array.dtype()) || is_complex(array.dtype());
            if (is_continuous && !array.is_weak() && program.argument(name)) wrt.push_back(name);
        }
        gradients = make_gradients(function, wrt, arguments);
    }
    Arguments forward;
    for (const auto& [name, array] : arguments)
        if (program.argument(name) || gradients.empty()) forward.emplace_back(name, array);
    Rows rows{.forward = {program.at(program.result()).name, function, forward},
              .gradients = {},
              .together = {}};
    LimitsOfRun limits(function.device());
    limits.measure(rows.forward.arithmetic());
    for (const Gradient& gradient : gradients)
        rows.gradients.emplace_back(gradient.name, gradient.function, gradient.arguments);
    if (gradients.size() > 1) rows.together = measure_together(function, gradients);
    std::set<Arithmetic> used = {rows.forward.arithmetic()};
    for (const Row& row : rows.gradients) used.insert(row.arithmetic());
    if (rows.together) used.insert(rows.together->arithmetic());
    for (const Arithmetic& arithmetic : used) limits.measure(arithmetic);
    print(rows, limits);
    return 0;
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("bench", "Measure a program and its gradients");
    add_program(*command, options->common);
    add_execution(*command, options->common);
    add_tuning(*command, options->common);
    add_precision(*command, options->common);
    command->add_flag("--grad", options->has_gradients, "also every gradient");
    command->footer(
        R"help(Operations are counted from the equations, bytes are arguments and outputs once
(arrays that stay in caches exceed the rate of copies); `plan` and `compile` are the times from
program to machine code without any cache. On a GPU the arrays are there before; times are of many
runs one after the other.
Examples:
  ricci bench "Y[n,o] := W[o,k]*X[n,k] + b[o]" W=1024x784 X=1024x784 b=1024:f32 --grad
  ricci bench "y[i] := 2*x[i] + 1" x=8:f32 --threads 1)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
