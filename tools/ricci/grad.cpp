// tools/ricci/grad.cpp – ricci grad: gradients or tangents of a program, printed or evaluated
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/text.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/gradients.h"
#include "tools/ricci/outputs.h"

namespace ricci::tool {
namespace {

struct Options {
    CommonOptions common;
    std::string wrt;
    std::vector<std::string> outputs;
    bool is_forward = false;
};

/// Where the gradient that `-o` asks for stands among those computed.
std::size_t find_gradient(const std::vector<Gradient>& gradients, const std::string& name) {
    std::vector<std::string> names;
    for (const Gradient& gradient : gradients) names.push_back(gradient.name);
    if (name.empty() && names.size() == 1) return 0;
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    if (name.empty())
        throw UsageError{format("-o FILE.npy: {} are asked for, name them as in -o {}=FILE.npy",
                                plural(names.size(), "gradient"), names.front())};
    throw Error({.kind = ErrorKind::name,
                 .message = format("there is no output `{}`", name),
                 .hint = format("the gradients are `{}`", join(names, "`, `"))});
}

/// The outputs whose tangents `-o` asks for; none where it asks for the result's.
std::vector<std::string> outputs_asked(const Program& program,
                                       const std::vector<OutputRequest>& requests) {
    std::vector<std::string> outputs;
    for (const OutputRequest& request : requests) {
        const std::string result = program.at(program.result()).name;
        const auto output = request.name.empty() ? std::optional(result)
                                                 : output_of_cotangent(program, request.name);
        if (!output) {
            std::vector<std::string> names;
            for (const TensorId id : program.outputs) names.push_back("d" + program.at(id).name);
            throw Error({.kind = ErrorKind::name,
                         .message = format("there is no output `{}`", request.name),
                         .hint = format("the tangents are `{}`", join(names, "`, `"))});
        }
        outputs.push_back(*output);
    }
    return outputs;
}

/// `--forward`: the tangents of outputs, printed or evaluated.
int run_forward(const Function& function, const std::vector<std::string>& wrt,
                const NamedSpecs& specs, const std::vector<OutputRequest>& requests, Ties ties) {
    const Program& program = function.program();
    const std::vector<std::string> outputs = outputs_asked(program, requests);
    if (specs.empty() && requests.empty() && !program.arguments.empty()) {
        std::fputs((str(function.jvp(wrt, {}, ties)) + "\n").c_str(), stdout);
        return 0;
    }
    const Tangents tangents =
        make_tangents(function, wrt, outputs, make_arguments(specs, program), ties);
    const std::vector<Array> values = tangents.function.call(tangents.arguments, tangents.names);
    NamedResults results;
    for (std::size_t n = 0; n < values.size(); ++n)
        results.emplace_back(tangents.names[n], values[n]);
    if (requests.empty())
        print_results(results);
    else
        write_files(requests, results);
    return 0;
}

int run(const Options& options) {
    const std::vector<OutputRequest> requests = parse_outputs(options.outputs);
    const NamedSpecs specs = parse_arguments(options.common);
    const std::vector<std::string> wrt = split_distinct_names("--wrt", options.wrt);
    if (wrt.empty()) throw UsageError{"--wrt names no argument"};
    apply_execution(options.common);
    const Function function = make_function(options.common);
    if (options.is_forward)
        return run_forward(function, wrt, specs, requests, parse_ties(options.common));
    if (specs.empty() && requests.empty() && !function.program().arguments.empty()) {
        for (const std::string& argument : wrt)
            std::fputs(
                (str(function.grad(argument, {.ties = parse_ties(options.common)})) + "\n").c_str(),
                stdout);
        return 0;
    }
    const std::vector<Gradient> gradients = make_gradients(
        function, wrt, make_arguments(specs, function.program()), parse_ties(options.common));
    std::vector<std::size_t> asked;
    for (const OutputRequest& request : requests)
        asked.push_back(find_gradient(gradients, request.name));
    if (requests.empty())
        for (std::size_t i = 0; i < gradients.size(); ++i) asked.push_back(i);
    NamedResults results;
    for (const std::size_t i : asked)
        results.emplace_back(gradients[i].name, gradients[i].function(gradients[i].arguments));
    if (requests.empty())
        print_results(results);
    else
        write_files(requests, results);
    return 0;
}

}  // namespace

void add_grad(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("grad", "Print gradients or tangents of a program, or evaluate them");
    add_program(*command, options->common);
    add_execution(*command, options->common);
    add_tuning(*command, options->common);
    add_precision(*command, options->common);
    add_ties(*command, options->common);
    command->add_option("--wrt", options->wrt, "arguments, as in A,B")->required();
    command->add_flag("--forward", options->is_forward,
                      "forward mode: how the result moves when the arguments of --wrt do");
    command
        ->add_option("-o,--output", options->outputs,
                     "FILE.npy for a single gradient, dA=FILE.npy for one of several")
        ->allow_extra_args(false);
    command->footer(
        R"help(Without arguments the gradients are printed as programs, otherwise evaluated.
The cotangent of an output Y is given as dY=SPEC. Without any, the result's is ones.
With --forward it is the tangent of the result, or of the outputs that -o names. The tangent of an
argument A is given as dA=SPEC. Without any, they are ones, else those not given are zero.
What is printed is a program, whose derivatives are those of higher order.
Examples:
  ricci grad "Y[n,o] := W[o,k]*X[n,k] + b[o]" --wrt W,b
  ricci grad "Y[n,o] := W[o,k]*X[n,k]" --wrt W,X W=2x3 X=4x3
  ricci grad "m[i] := max[k](A[i,k])" --wrt A --ties even
  ricci grad "Y[n,o] := W[o,k]*X[n,k]" --wrt W W=2x3 X=4x3 dY=dy.npy -o dW=dw.npy
  ricci grad "y[i] := x[i]^3" --wrt x --forward x=3:ones dx=3:arange)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
