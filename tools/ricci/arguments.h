// tools/ricci/arguments.h – what the subcommands have in common: PROGRAM, NAME=SPEC, options
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/bound.h"

#include "ricci/ricci.h"
#include "tools/ricci/spec.h"

namespace CLI {
class App;
}

namespace ricci::tool {

/// The words of a command line, as CLI11 leaves them.
struct CommonOptions {
    std::string program;
    std::vector<std::string> arguments;
    std::string device;
    std::string dtype;  ///< empty: f32, and f64 or i64 for numbers that are updated
    int threads = 0;
    std::string ties = "first";
    bool is_tuned = false;
    std::string precision;  ///< empty: what RICCI_PRECISION says
    bool is_expanded = false;
};

/// Adds `PROGRAM [NAME=SPEC]... --dtype --expand`, and `--device --threads` where something runs.
void add_program(CLI::App& app, CommonOptions& options);
void add_execution(CLI::App& app, CommonOptions& options);
/// Adds `--tune`, where kernels are made for the CPU.
void add_tuning(CLI::App& app, CommonOptions& options);
/// Adds `--precision`, for the same.
void add_precision(CLI::App& app, CommonOptions& options);
/// Adds `--ties`, where gradients are made.
void add_ties(CLI::App& app, CommonOptions& options);

/// The words cannot be understood: exit status 2.
struct UsageError {
    std::string message;
};

/// Specs by name, in the order given.
using NamedSpecs = std::vector<std::pair<std::string, Spec>>;

/// The type that `--dtype` names, if it is given. Throws: UsageError for an unknown one.
[[nodiscard]] std::optional<DType> parse_dtype(const CommonOptions& options);
/// Splits `NAME=SPEC`. Throws: UsageError when there is no `=`, and what parse_spec throws; `name`
/// for a name given twice.
[[nodiscard]] NamedSpecs parse_arguments(const CommonOptions& options);
/// The text of PROGRAM, or of the file that `@file.ricci` names, checked.
/// Throws: `io`, and what parse_program throws.
[[nodiscard]] Program read_program(const std::string& program);
/// PROGRAM, multiplied out if `--expand` says so. Throws: also `type` when NAME=SPEC are arrays of
/// several types then.
[[nodiscard]] Program asked_program(const CommonOptions& options);
[[nodiscard]] Function make_function(const CommonOptions& options);
/// What `--ties` says.
[[nodiscard]] Ties parse_ties(const CommonOptions& options);
/// Applies `--threads` and `--tune`.
void apply_execution(const CommonOptions& options);

/// The arrays and what the program is bound to. Numbers that the program updates become arrays.
[[nodiscard]] Arguments make_arguments(const NamedSpecs& specs, const Program& program);
[[nodiscard]] Signature make_signature(const NamedSpecs& specs, const Program& program);
/// `A,B` as names.
[[nodiscard]] std::vector<std::string> split_names(const std::string& list);
/// The same for an option whose names make one thing each.
/// Throws: UsageError for a name that stands twice.
[[nodiscard]] std::vector<std::string> split_distinct_names(std::string_view option,
                                                            const std::string& list);

/// The names of a program's arguments, in order.
[[nodiscard]] std::vector<std::string> argument_names(const Program& program);

}  // namespace ricci::tool
