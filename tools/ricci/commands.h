// tools/ricci/commands.h – the subcommands; each adds itself to the command line
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ricci::tool {

/// What a subcommand does once its words were understood; gives the exit status.
using Command = std::function<int()>;

// Each declares its words and sets `chosen` when it is the one that was called.
void add_run(CLI::App& app, Command& chosen);
void add_grad(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);
void add_check(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_einsum(CLI::App& app, Command& chosen);
void add_emit(CLI::App& app, Command& chosen);
void add_info(CLI::App& app, Command& chosen);

}  // namespace ricci::tool
