// tools/ricci/emit.cpp – ricci emit: stand-alone source, which is not there yet
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/text.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"

namespace ricci::tool {
namespace {

struct Options {
    CommonOptions common;
    std::string target;
    std::string output;
};

}  // namespace

void add_emit(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("emit", "Write stand-alone source (not there yet)");
    add_program(*command, options->common);
    command->add_option("--target", options->target, "cpp, cuda or llvm")
        ->required()
        ->check(CLI::IsMember({"cpp", "cuda", "llvm"}));
    command->add_option("-o,--output", options->output, "file to write")->required();
    command->footer(
        "Example:\n  ricci explain PROGRAM NAME=SPEC --stage llvm   shows LLVM IR today");
    command->callback([options, &chosen] {
        chosen = [options]() -> int {
            (void)read_program(options->common.program);
            throw Error({.kind = ErrorKind::device,
                         .message = format("emitting {} is not supported yet", options->target),
                         .hint = "ricci explain --stage loops,llvm,asm shows the code"});
        };
    });
}

}  // namespace ricci::tool
