// tools/ricci/einsum.cpp – ricci einsum: numpy's notation over .npy files
#include "runtime/einsum.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"
#include "tools/ricci/outputs.h"

namespace ricci::tool {
namespace {

struct Options {
    CommonOptions common;
    std::string text;
    std::vector<std::string> operands;
    std::vector<std::string> outputs;
};

int run(const Options& options) {
    const std::vector<OutputRequest> requests = parse_outputs(options.outputs);
    for (const OutputRequest& request : requests)
        if (!request.name.empty())
            throw UsageError{"-o takes one FILE.npy: the result has no name"};
    apply_execution(options.common);
    const auto dtype = parse_dtype(options.common);
    std::vector<Array> arrays;
    for (const std::string& operand : options.operands)
        arrays.push_back(make_array(parse_spec(operand, dtype)));
    const Device device =
        options.common.device.empty() ? default_device() : device_from_name(options.common.device);
    NamedResults results(std::max<std::size_t>(requests.size(), 1),
                         {"result", einsum(options.text, arrays, device)});
    if (requests.empty())
        print_results(results);
    else
        write_files(requests, results);
    return 0;
}

}  // namespace

void add_einsum(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("einsum", "numpy's einsum over .npy files");
    command->add_option("SUBSCRIPTS", options->text, "as in \"ij,jk->ik\"")->required();
    command->add_option("OPERANDS", options->operands, "one SPEC (such as A.npy) for each operand")
        ->required();
    command->add_option("--dtype", options->common.dtype, "type of arrays that name none (f32)");
    add_execution(*command, options->common);
    add_precision(*command, options->common);
    command->add_option("-o,--output", options->outputs, "FILE.npy for the result")
        ->allow_extra_args(false);
    command->footer(R"help(Examples:
  ricci einsum "ij,jk->ik" A.npy B.npy -o C.npy
  ricci einsum "...ij->...ji" X.npy
  ricci einsum ii A.npy)help");
    command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace ricci::tool
