// tools/ricci/run.cpp – ricci run: evaluate a program
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/outputs.h"

namespace ricci::tool {
namespace {

struct Options {
    CommonOptions common;
    std::vector<std::string> outputs;
};

int run(const Options& options) {
    const std::vector<OutputRequest> requests = parse_outputs(options.outputs);
    const NamedSpecs specs = parse_arguments(options.common);
    apply_execution(options.common);
    const Function function = make_function(options.common);
    const Program& program = function.program();
    const std::string& result = program.at(program.result()).name;
    std::vector<std::string> names;
    for (const OutputRequest& request : requests)
        names.push_back(request.name.empty() ? result : request.name);
    if (names.empty()) names.push_back(result);
    const std::vector<Array> arrays = function.call(make_arguments(specs, program), names);
    NamedResults results;
    for (std::size_t i = 0; i < names.size(); ++i) results.emplace_back(names[i], arrays[i]);
    if (requests.empty())
        print_results(results);
    else
        write_files(requests, results);
    return 0;
}

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("run", "Evaluate a program");
    add_program(*command, options->common);
    add_execution(*command, options->common);
    add_tuning(*command, options->common);
    add_precision(*command, options->common);
    command
        ->add_option("-o,--output", options->outputs,
                     "FILE.npy for the result, NAME=FILE.npy for an output; may be repeated")
        ->allow_extra_args(false);
    command->footer(R"help(Examples:
  ricci run "C[i,j] := A[i,k]*B[k,j]" A=a.npy B=b.npy -o c.npy
  ricci run "y[i] := alpha*x[i]" alpha=2.5 x=8:f32:arange
  ricci run @model.ricci X=64x784 W=10x784 -o Y=y.npy -o P=p.npy)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
