// tools/ricci/main.cpp – the command `ricci`: subcommands, exit statuses
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

#include "tools/ricci/arguments.h"
#include "tools/ricci/commands.h"

namespace {

constexpr int status_wrong = 1;  // the program or its inputs
constexpr int status_usage = 2;

constexpr const char* examples = R"help(Examples:
  ricci run "Y[n,o] := W[o,k]*X[n,k] + b[o]" W=2x3 X=4x3 b=2:f32
  ricci run "s := sum[i](x[i]^2)" x=data.npy -o s=s.npy
  ricci grad "D[i,j] := (w[k,i] - x[k,j])^2" --wrt w,x w=3x4 x=3x5
  ricci explain "S[i,j] := exp(X[i,j]) / sum[k](exp(X[i,k]))" --stage canonical,gradient
  ricci check "y[i] := tanh(x[i])" x=10:f32
  ricci einsum "ij,jk->ik" A.npy B.npy -o C.npy)help";

/// What stands in a command's place is one.
void require_command(const CLI::App& app, const std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments[0].starts_with('-')) return;
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (std::ranges::find(names, arguments[0]) != names.end()) return;
    const std::string near = ricci::nearest(arguments[0], names);
    throw ricci::tool::UsageError{
        ricci::format("there is no command `{}`{}", arguments[0],
                      near.empty() ? ricci::format(": there are {}", ricci::join(names, ", "))
                                   : ricci::format("; did you mean `{}`?", near))};
}

int run(int argc, char** argv) {
    CLI::App app("Tensor computations written as index expressions, with gradients.", "ricci");
    app.footer(examples);
    app.set_version_flag("--version", "ricci " RICCI_VERSION);
    app.require_subcommand(1);
    ricci::tool::Command chosen;
    ricci::tool::add_run(app, chosen);
    ricci::tool::add_grad(app, chosen);
    ricci::tool::add_explain(app, chosen);
    ricci::tool::add_check(app, chosen);
    ricci::tool::add_bench(app, chosen);
    ricci::tool::add_einsum(app, chosen);
    ricci::tool::add_emit(app, chosen);
    ricci::tool::add_info(app, chosen);
    try {
        std::vector<std::string> arguments(argv + 1, argv + argc);
        require_command(app, arguments);
        // `->` begins what einsum is to do, not an option.
        for (std::string& argument : arguments)
            if (argument.starts_with("->")) argument.insert(0, 1, ' ');
        std::ranges::reverse(arguments);  // as CLI11 wants them
        app.parse(std::move(arguments));
        return chosen();
    } catch (const CLI::ParseError& error) {
        // Help and version are "errors" of status 0; everything else is wrong usage.
        return app.exit(error, std::cout, std::cerr) == 0 ? 0 : status_usage;
    } catch (const ricci::tool::UsageError& error) {
        std::cerr << error.message << "\nRun with --help for more information.\n";
        return status_usage;
    }
}

}  // namespace

int main(int argc, char** argv) {
    // A write past the limit of file sizes then fails as one to a full disk does.
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        return run(argc, argv);
    } catch (const ricci::Error& error) {
        std::cerr << error.what() << '\n';
    } catch (const std::bad_alloc&) {
        std::cerr << "device: no memory\n";
    } catch (const std::exception& error) {
        std::cerr << "internal: " << error.what() << '\n';
    }
    return status_wrong;
}
