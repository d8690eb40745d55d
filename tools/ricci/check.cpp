// tools/ricci/check.cpp – ricci check: compiled against reference, gradients against differences
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/function_state.h"
#include "runtime/reference.h"

#include "tools/ricci/against.h"
#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/finite_differences.h"

namespace ricci::tool {
namespace {

// Bounds hold to first order for one way of computing; another way may err as much again.
constexpr double slack = 4;

/// The table: one line for each comparison.
class Report {
  public:
    void line(const std::string& what, const Array& shape_of, std::string_view against,
              double error, double allowed, std::size_t compared, std::size_t skipped,
              const std::string& failure) {
        std::string shape = str(shape_of.shape());
        text_ += format("{:<10} {:<16} {:<4} {:<12} {:>10.2g} {:>10.2g} {:>9} {:>8}  {}\n", what,
                        shape, name(shape_of.dtype()), against, error, allowed, compared, skipped,
                        !failure.empty()               ? "WRONG"
                        : compared == 0 && skipped > 0 ? "nothing compared"
                                                       : "ok");
        if (!failure.empty()) failures_ += format("{}: {}\n", what, failure);
    }
    void note(const std::string& what, const std::string& why) {
        text_ += format("{:<10} not checked: {}\n", what, why);
    }
    /// Prints the table; the exit status.
    int finish() {
        std::cout << format("{:<10} {:<16} {:<4} {:<12} {:>10} {:>10} {:>9} {:>8}\n", "what",
                            "shape", "type", "against", "error", "allowed", "compared", "skipped")
                  << text_ << std::flush;
        std::cerr << failures_;
        return failures_.empty() ? 0 : 1;
    }

  private:
    std::string text_;
    std::string failures_;
};

/// A program bound to arguments, for the reference evaluator.
struct Bound {
    BoundProgram program;
    std::vector<Array> arguments;

    Bound(const Program& source, const Arguments& given, const std::vector<std::string>& outputs) {
        Signature signature;
        for (const auto& [name, array] : given)
            if (source.argument(name))
                signature.emplace(name, runtime::spec_of(array, array.rank() == 0));
        program = ricci::bind(canonicalise(source), signature, outputs);
        for (const TensorId id : program.arguments) {
            const std::string& name = program.at(id).name;
            arguments.push_back(
                std::ranges::find(given, name, &Arguments::value_type::first)->second);
        }
    }
};

/// The bound of each number of an array, see `in_doubles`.
Array bounds_of(const runtime::Estimate& expected) {
    if (!is_complex(expected.value.dtype())) return expected.bound.contiguous();
    Array bounds(DType::f64, {2 * expected.bound.size()});
    const Array each = expected.bound.contiguous();
    for (std::size_t i = 0; i < bounds.span<double>().size(); ++i)
        bounds.span<double>()[i] = each.span<const double>()[i / 2];
    return bounds;
}

/// Adds the line that compares one array with the reference evaluator's estimate.
void compare_with_reference(Report& report, const std::string& what, const Array& found,
                            const runtime::Estimate& expected) {
    const Array ours = in_doubles(found);
    const Array theirs = in_doubles(expected.value);
    const Array bounds = bounds_of(expected);
    const auto x = ours.span<double>();
    const auto y = theirs.span<double>();
    const auto bound = bounds.span<double>();
    std::size_t skipped = 0;
    double worst_error = 0;
    double worst_allowed = 0;
    double worst_ratio = -1;
    std::string failure;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(bound[i])) {
            ++skipped;
            continue;
        }
        const bool is_same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
        const double error = is_same ? 0 : std::abs(x[i] - y[i]);
        const double allowed = slack * bound[i];
        const bool agrees = is_same || error <= allowed;  // false for a NaN on one side
        const double ratio = is_same ? 0 : error / std::max(allowed, 1e-300);
        if (ratio > worst_ratio) {
            worst_ratio = ratio;
            worst_error = error;
            worst_allowed = allowed;
        }
        if (!agrees && failure.empty())
            failure = format("element {}: compiled {:.9g}, reference {:.9g}, allowed {:.2g}", i,
                             x[i], y[i], allowed);
    }
    report.line(what, found, "reference", worst_error, worst_allowed, x.size() - skipped, skipped,
                failure);
}

/// All outputs, compiled against evaluated.
void check_outputs(Report& report, const Function& function, const Arguments& arguments) {
    const Program& program = function.program();
    std::vector<std::string> outputs;
    for (const TensorId id : program.outputs) outputs.push_back(program.at(id).name);
    const Bound bound(program, arguments, outputs);
    const auto expected = runtime::evaluate_with_bounds(bound.program, bound.arguments);
    const std::vector<Array> found = function.call(copies(arguments), outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        compare_with_reference(report, outputs[i], found[i], expected[i]);
}

/// The arguments in double precision; numbers become scalars, unless kernels depend on them.
Arguments in_double(const Function& function, const Arguments& arguments) {
    const Function::State& state = *function.state();
    Arguments result;
    for (const auto& [name, array] : arguments) {
        const bool is_number = array.is_weak() && !state.is_structural[state.position_of(name)];
        const bool is_converted = is_number || (is_floating(array.dtype()) && !array.is_weak());
        if (is_complex(array.dtype()))
            result.emplace_back(name, array.to(DType::c128));
        else
            result.emplace_back(name, is_converted ? array.to(DType::f64) : array);
    }
    return result;
}

/// Every gradient of the result, in double precision.
class GradientCheck {
  public:
    GradientCheck(Report& report, const Function& function, const Arguments& arguments, Ties ties)
        : report_(report),
          function_(function),
          ties_(ties),
          arguments_(in_double(function, arguments)) {
        const Bound bound(function.program(), arguments_, {});
        const auto estimate = runtime::evaluate_with_bounds(bound.program, bound.arguments);
        const Array value = estimate.front().value;
        cotangent_ =
            Array::randn(is_complex(value.dtype()) ? DType::c128 : DType::f64, value.shape(), 17);
        const Array parts = in_doubles(cotangent_);
        const auto weights = parts.span<const double>();
        const Array values = in_doubles(value);
        const Array bounds = bounds_of(estimate.front());
        // What the elements may be off by, and the rounding of the sum itself.
        for (std::size_t i = 0; i < weights.size(); ++i)
            value_error_ += std::abs(weights[i]) * (bounds.span<double>()[i] +
                                                    4.5e-16 * std::abs(values.span<double>()[i]));
    }

    void check(const std::string& argument) {
        const auto given = std::ranges::find(arguments_, argument, &Arguments::value_type::first);
        const Program& program = function_.program();
        const std::string what = "d" + argument;
        if (given->second.dtype() != DType::f64 && !is_complex(given->second.dtype())) {
            report_.note(what, format("`{}` has type {}{}", argument, name(given->second.dtype()),
                                      given->second.is_weak() ? " and decides the shapes" : ""));
            return;
        }
        Arguments all = copies(arguments_);
        Function gradient;
        try {
            gradient = function_.grad(argument, {.ties = ties_});
            for (const Tensor& tensor : gradient.program().tensors)
                if (tensor.role == Role::argument && !program.argument(tensor.name))
                    all.emplace_back(tensor.name, cotangent_);
            if (const auto complex = gradient.state()->complex_form(all)) gradient = *complex;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::gradient) throw;
            report_.note(what, error.diagnosis().message);
            return;
        }
        const Array found = gradient(copies(all));
        const Bound bound(gradient.program(), all, {});
        const auto expected = runtime::evaluate_with_bounds(bound.program, bound.arguments);
        compare_with_reference(report_, what, found, expected.front());
        const DifferenceResult result = compare_with_differences(function_, arguments_, argument,
                                                                 cotangent_, found, value_error_);
        report_.line(what, found, "differences", result.largest_error, result.allowed,
                     result.compared, result.skipped, result.failure);
    }

  private:
    Report& report_;
    const Function& function_;
    Ties ties_;
    Arguments arguments_;
    Array cotangent_;
    double value_error_ = 0;
};

struct Options {
    CommonOptions common;
    std::string against;
    double tolerance = 1e-8;
};

int run(const Options& options) {
    const NamedSpecs specs = parse_arguments(options.common);
    apply_execution(options.common);
    // The reference is what compiled code is compared with.
    const Device device = default_device() == Device::cuda ? Device::cuda : Device::cpu;
    Function function(asked_program(options.common), {}, device);
    const Arguments arguments = make_arguments(specs, function.program());
    if (!options.against.empty()) {
        function.set_ties(parse_ties(options.common));
        return compare_with_file(function, arguments, options.against, options.tolerance);
    }
    Report report;
    check_outputs(report, function, arguments);
    GradientCheck gradients(report, function, arguments, parse_ties(options.common));
    for (const std::string& argument : argument_names(function.program()))
        gradients.check(argument);
    return report.finish();
}

}  // namespace

void add_check(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("check", "Compare compiled code and gradients with slow evaluation");
    add_program(*command, options->common);
    add_ties(*command, options->common);
    add_precision(*command, options->common);
    command->add_option("--against", options->against,
                        "FILE with gradients written by hand, as in dW[o,k] := …: compares them "
                        "with the generated ones instead");
    command
        ->add_option("--tolerance", options->tolerance,
                     "of --against: the relative difference that is allowed (1e-8)")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--threads", options->common.threads, "threads of a kernel")
        ->check(CLI::Range(1, 1024));
    command->footer(
        R"help(Outputs are compared with the reference evaluator; gradients, in f64, with it and
with central differences at up to 32 elements, of complex ones in both parts. Elements where
rounding or a kink decides are skipped. Exit status 1 when one disagrees. RICCI_DEVICE=cuda checks
what runs on a GPU.
With --against, the file's program may take the arguments, the outputs and the cotangent dY of the
result (random unless given); differences are those in f64, times those of the types given.
Examples:
  ricci check "Y[n,o] := W[o,k]*X[n,k] + b[o]" W=5x7 X=3x7 b=5:f32
  ricci check "m[i] := max[k](A[i,k])" A=4x6:f64
  ricci check "Y[n,o] := W[o,k]*X[n,k]" W=5x7 X=3x7 --against gradients.ricci)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
