// tools/ricci/arguments.cpp – PROGRAM, NAME=SPEC and the options of execution
#include "tools/ricci/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "dsl/expand.h"
#include "dsl/program.h"

namespace ricci::tool {
namespace {

// The language's own limit is a mebibyte; a little more is read so that it is the one to complain.
constexpr std::size_t max_file_bytes = (std::size_t{1} << 20) + 1;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(max_file_bytes, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad() || (file.fail() && !file.eof())) {
        throw Error({.kind = ErrorKind::io,
                     .message = format("cannot read `{}`: {}", path,
                                       std::generic_category().message(errno))});
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

/// Whether the program changes that argument in place.
bool is_updated(const Program& program, const std::string& name) {
    const auto argument = program.argument(name);
    return argument && program.updates(*argument);
}

}  // namespace

void add_program(CLI::App& app, CommonOptions& options) {
    app.add_option("PROGRAM", options.program, "text of the program, or @file.ricci")->required();
    app.add_option("NAME=SPEC", options.arguments,
                   "arguments: a .npy file, a number, or 512x784[:dtype][:randn|rand|zeros|ones|"
                   "arange|randint(lo,hi)[:seed]]; 784:f32 has one dimension");
    app.add_option("--dtype", options.dtype, "type of arrays that name none (f32)");
    app.add_flag("--expand", options.is_expanded,
                 "multiply sums out where that is less work: (a-b)^2 as a^2 - 2*a*b + b^2, which "
                 "loses digits where a is near b");
}

void add_execution(CLI::App& app, CommonOptions& options) {
    app.add_option("--device", options.device, "cpu, cuda or reference")
        ->check(CLI::IsMember({"cpu", "cuda", "reference"}));
    app.add_option("--threads", options.threads, "threads of a kernel")->check(CLI::Range(1, 1024));
}

void add_tuning(CLI::App& app, CommonOptions& options) {
    app.add_flag("--tune", options.is_tuned,
                 "take the fastest of equal kernels, as RICCI_TUNE=1 does");
}

void add_precision(CLI::App& app, CommonOptions& options) {
    app.add_option("--precision", options.precision,
                   "what products of f32 arrays may be computed from on CPUs with tiles of bf16 "
                   "numbers: f32, bf16x3 (16 bits of each number) or bf16x6 (all of them)")
        ->check(CLI::IsMember({"f32", "bf16x3", "bf16x6"}));
}

void add_ties(CLI::App& app, CommonOptions& options) {
    app.add_option("--ties", options.ties,
                   "whose gradient that of equal largest or smallest values is: of the first, of "
                   "each an even share, or zero")
        ->check(CLI::IsMember({"first", "even", "zero"}));
}

Ties parse_ties(const CommonOptions& options) { return *grad::ties_from_name(options.ties); }

std::optional<DType> parse_dtype(const CommonOptions& options) {
    if (options.dtype.empty()) return std::nullopt;
    const auto dtype = dtype_from_name(options.dtype);
    if (!dtype || *dtype == DType::none)
        throw UsageError{format("--dtype: there is no type `{}`", options.dtype)};
    return dtype;
}

NamedSpecs parse_arguments(const CommonOptions& options) {
    const auto dtype = parse_dtype(options);
    NamedSpecs specs;
    for (const std::string& argument : options.arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw UsageError{format("`{}` is not of the form NAME=SPEC", argument)};
        const std::string name = argument.substr(0, equals);
        if (std::ranges::find(specs, name, &NamedSpecs::value_type::first) != specs.end()) {
            throw Error({.kind = ErrorKind::name,
                         .message = format("the argument `{}` is given twice", name),
                         .hint = format("leave one of them out: `{}`", argument)});
        }
        specs.emplace_back(name, parse_spec(argument.substr(equals + 1), dtype));
    }
    return specs;
}

Program read_program(const std::string& program) {
    if (!program.starts_with('@')) return parse_program(make_source(program));
    const std::string path = program.substr(1);
    return parse_program(make_source(read_file(path), path));
}

Program asked_program(const CommonOptions& options) {
    Program program = read_program(options.program);
    if (!options.is_expanded) return program;
    program = expand(program);
    require_one_type(program, make_signature(parse_arguments(options), program));
    return program;
}

Function make_function(const CommonOptions& options) {
    const Device device =
        options.device.empty() ? default_device() : device_from_name(options.device);
    return Function(asked_program(options), {}, device);
}

void apply_execution(const CommonOptions& options) {
    if (options.threads > 0) set_num_threads(options.threads);
    if (options.is_tuned) set_tuning(true);
    if (!options.precision.empty()) set_precision(*precision_from_name(options.precision));
}

Arguments make_arguments(const NamedSpecs& specs, const Program& program) {
    Arguments arguments;
    for (const auto& [name, spec] : specs)
        arguments.emplace_back(name, make_array(spec, is_updated(program, name)));
    return arguments;
}

Signature make_signature(const NamedSpecs& specs, const Program& program) {
    Signature signature;
    for (const auto& [name, spec] : specs)
        signature.emplace(name, argument_spec(spec, is_updated(program, name)));
    return signature;
}

std::vector<std::string> split_names(const std::string& list) {
    std::vector<std::string> names;
    std::istringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');) {
        const std::size_t begin = name.find_first_not_of(' ');
        if (begin == std::string::npos) continue;
        names.push_back(name.substr(begin, name.find_last_not_of(' ') + 1 - begin));
    }
    return names;
}

std::vector<std::string> split_distinct_names(std::string_view option, const std::string& list) {
    std::vector<std::string> names = split_names(list);
    for (auto name = names.begin(); name != names.end(); ++name)
        if (std::find(names.begin(), name, *name) != name)
            throw UsageError{format("{}: `{}` is named twice", option, *name)};
    return names;
}

std::vector<std::string> argument_names(const Program& program) {
    std::vector<std::string> names;
    for (const TensorId id : program.arguments) names.push_back(program.at(id).name);
    return names;
}

}  // namespace ricci::tool
