// runtime/function.cpp – calls: find or make the compiled program, run it
#include "runtime/function.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/dump.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "codegen/contraction_order.h"
#include "dsl/canonical.h"
#include "dsl/expand.h"
#include "dsl/parser.h"
#include "runtime/cuda/executor.h"
#include "runtime/elementwise.h"
#include "runtime/function_state.h"
#include "runtime/overlap.h"
#include "runtime/reference.h"
#include "runtime/timer.h"
#include "runtime/tuner.h"

namespace ricci {
namespace {

// A program called with ever new shapes keeps this many compiled forms, the last used ones.
constexpr std::size_t max_specialisations = 256;

Program checked_program(std::string_view text) {
    return parse_program(make_source(std::string(text)));
}

/// The rules of complex gradients need to know which arrays are complex, which a tape does not ask.
void require_real(std::span<const Array* const> arguments) {
    const bool is_real = std::ranges::none_of(
        arguments, [](const Array* array) { return is_complex(array->dtype()); });
    if (is_real) return;
    throw Error({.kind = ErrorKind::gradient,
                 .message = "a tape holds no gradients of functions of complex arrays",
                 .hint = "call the function's gradient: `f.grad(\"W\")`"});
}

/// Runs the reference evaluator, then writes the updated arguments.
std::vector<Array> run_reference(const BoundProgram& program,
                                 std::span<const Array* const> arguments) {
    std::vector<const Array*> apart(arguments.begin(), arguments.end());
    std::vector<Array> values;
    const std::vector<std::size_t> updated = runtime::updated_arguments(program);
    runtime::resolve_overlaps(program, updated, apart, values);
    values.clear();
    for (const Array* argument : arguments) values.push_back(*argument);
    std::vector<Array> outputs = runtime::evaluate(program, values);
    for (const std::size_t u : updated) {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (runtime::storage_root(program, program.outputs[i]) != program.arguments[u])
                continue;
            runtime::assign(*arguments[u], outputs[i]);
            outputs[i] = *arguments[u];
        }
    }
    return outputs;
}

}  // namespace

std::vector<Array> Specialisation::run(std::span<const Array* const> given) const {
    // The common program needs all its arguments, in its order.
    std::vector<const Array*> selected;
    if (inputs.size() != given.size()) {
        for (const std::size_t i : inputs) selected.push_back(given[i]);
        given = selected;
    }
    std::vector<Array> bound = run_bound(given);
    if (bound.size() == 1 && results.size() == 1) return bound;
    std::vector<Array> asked;
    asked.reserve(results.size());
    for (const std::size_t i : results) asked.push_back(bound[i]);
    return asked;
}

std::vector<Array> Specialisation::run_bound(std::span<const Array* const> given) const {
    if (reference) return run_reference(*reference, given);
    const auto run_real = [&](std::span<const Array* const> real) {
        return executable ? executable->run(real) : on_gpu->run(real);
    };
    if (!parts) return run_real(given);
    const std::vector<Array> split = parts->split(given);
    std::vector<const Array*> pointers;
    for (const Array& part : split) pointers.push_back(&part);
    return parts->join(given, run_real(pointers));
}

std::string Specialisation::extent() const {
    if (executable) return plural(executable->plan().steps.size(), "kernel");
    if (on_gpu) return plural(on_gpu->launch_count(), "kernel");
    return "evaluated";
}

bool Specialisation::is_lost() const noexcept { return on_gpu && on_gpu->is_lost(); }

Function::State::State(Program source, std::string function_name, Device where,
                       std::shared_ptr<std::mutex> shared_mutex)
    : program(std::move(source)),
      name(std::move(function_name)),
      device(where),
      compiling(std::move(shared_mutex)) {
    // A device that is not there is said here, not at the first call.
    if (device == Device::cuda) (void)cuda::Gpu::current();
    if (device == Device::cpu) (void)runtime::target();
    const std::lock_guard lock(*compiling);
    canonical = canonicalise(program);
    if (name.empty()) name = result_name();
    const std::vector<TensorId> structural = structural_scalars(canonical);
    for (const TensorId id : program.arguments) {
        const Tensor& tensor = program.at(id);
        argument_names.push_back(tensor.name);
        is_updated.push_back(program.output(tensor.name).has_value());
    }
    for (const TensorId id : canonical.arguments)
        is_structural.push_back(std::ranges::find(structural, id) != structural.end());
    if (is_dumped(Stage::program)) dump(Stage::program, name, str(program));
    if (is_dumped(Stage::canonical)) dump(Stage::canonical, name, str(canonical));
}

const std::string& Function::State::result_name() const {
    return program.at(program.result()).name;
}

bool Function::State::fits(const Specialisation& entry, std::span<const Array* const> arguments,
                           const std::vector<std::string>& outputs) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Array& array = *arguments[i];
        const ArgumentSpec& spec = entry.arguments[i];
        if (spec.dtype != array.dtype() || spec.is_weak != array.is_weak() ||
            spec.shape != array.shape() || spec.strides != array.strides())
            return false;
        if (is_structural[i] && spec.value != runtime::number_of(array)) return false;
    }
    return entry.outputs == outputs && !entry.is_lost() &&
           (!entry.executable || entry.precision == runtime::target().precision);
}

std::shared_ptr<const Specialisation> Function::State::find_entry(
    std::span<const Array* const> arguments, const std::vector<std::string>& outputs) {
    const std::lock_guard lock(entries_mutex);
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
        if (!fits(**entry, arguments, outputs)) continue;
        std::rotate(entries.begin(), entry, entry + 1);
        return entries.front();
    }
    return nullptr;
}

std::shared_ptr<const Specialisation> Function::State::specialise(
    std::span<const Array* const> arguments, const std::vector<std::string>& outputs) {
    if (auto entry = find_entry(arguments, outputs)) return entry;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        runtime::check_argument(program.at(program.arguments[i]), *arguments[i], is_updated[i]);
    if (is_on_tape) require_real(arguments);
    const std::lock_guard lock(*compiling);
    // Another thread may have made it while this one waited.
    if (auto entry = find_entry(arguments, outputs)) return entry;
    auto entry = std::make_shared<const Specialisation>(make(arguments, outputs));
    const std::lock_guard entries_lock(entries_mutex);
    entries.insert(entries.begin(), entry);
    if (entries.size() > max_specialisations) entries.pop_back();
    return entry;
}

runtime::Executable Function::State::compiled(BoundProgram bound, const Specialisation& entry,
                                              std::span<const Array* const> arguments,
                                              const Target& target) const {
    if (!is_tuning()) return {std::move(bound), name, target};
    std::vector<const Array*> given;
    for (const std::size_t i : entry.inputs) given.push_back(arguments[i]);
    std::vector<Array> parts;
    if (entry.parts) {
        parts = entry.parts->split(given);
        given.clear();
        for (const Array& part : parts) given.push_back(&part);
    }
    runtime::TuningStore& store = runtime::tuning_store();
    runtime::tune(bound, target, given, store);
    return {std::move(bound), name, target, store.tunings()};
}

Specialisation Function::State::make(std::span<const Array* const> arguments,
                                     const std::vector<std::string>& outputs) const {
    Specialisation entry;
    entry.outputs = outputs;
    Signature signature;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        entry.arguments.push_back(runtime::spec_of(*arguments[i], is_structural[i]));
        signature.emplace(argument_names[i], entry.arguments.back());
    }
    if (is_expanded) require_one_type(program, signature);
    // Each output once, however often it is asked for.
    std::vector<std::string> bound_outputs;
    const auto position_in_bound = [&](const std::string& output) {
        const auto at = std::ranges::find(bound_outputs, output);
        const auto position = static_cast<std::size_t>(at - bound_outputs.begin());
        if (at == bound_outputs.end()) bound_outputs.push_back(output);
        return position;
    };
    for (const std::string& output : outputs) entry.results.push_back(position_in_bound(output));
    if (outputs.empty()) entry.results.push_back(position_in_bound(result_name()));
    // What is updated in place is updated whether it is asked for or not.
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (is_updated[i]) (void)position_in_bound(argument_names[i]);
    BoundProgram bound = ricci::bind(canonical, signature, bound_outputs);
    for (const TensorId id : bound.arguments)
        entry.inputs.push_back(position_of(bound.at(id).name));
    if (device != Device::reference && has_complex(bound)) {
        SplitProgram split = codegen::split_in_order(bound);
        entry.parts.emplace(bound, split);
        bound = std::move(split.program);
    }
    switch (device) {
        case Device::cpu: {
            const Target& target = runtime::target();
            entry.precision = target.precision;
            entry.executable.emplace(compiled(std::move(bound), entry, arguments, target));
            break;
        }
        case Device::cuda:
            entry.on_gpu = std::make_shared<const cuda::Executable>(std::move(bound), name);
            break;
        case Device::reference: entry.reference = std::move(bound); break;
    }
    return entry;
}

std::vector<Array> Function::State::run(std::span<const Array* const> arguments,
                                        const std::vector<std::string>& outputs) {
    const TimerSection section(name);
    const auto entry = specialise(arguments, outputs);
    if (!is_logged(LogLevel::info)) return entry->run(arguments);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Array> results = entry->run(arguments);
    synchronize(device);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    log_format(LogLevel::info, "launch {} {} {} {:.1f} us", ricci::name(device), name,
               entry->extent(), time.count());
    return results;
}

Function::Function(Program program, std::string name, Device device)
    : state_(std::make_shared<State>(std::move(program), std::move(name), device,
                                     std::make_shared<std::mutex>())) {
    const SourcePtr& source = state_->program.source;
    if (source && is_dumped(Stage::ast)) dump(Stage::ast, state_->name, str(ast::parse(source)));
}

Function::State& Function::require_state() const {
    if (!state_) {
        throw Error({.kind = ErrorKind::name,
                     .message = "an empty function is used",
                     .hint = "make it with compile(\"...\")"});
    }
    return *state_;
}

Array Function::call_pointers(std::span<const Array* const> arguments) const {
    State& state = require_state();
    state.require_count(arguments.size());
    if (const auto complex = state.complex_form(arguments)) {
        Arguments named;
        for (std::size_t i = 0; i < arguments.size(); ++i)
            named.emplace_back(state.argument_names[i], *arguments[i]);
        return (*complex)(named);
    }
    return std::move(state.run(arguments, {}).front());
}

Arguments copies(const Arguments& arguments) {
    Arguments result;
    for (const auto& [name, array] : arguments)
        result.emplace_back(name, array.is_weak() ? array : array.copy());
    return result;
}

Array Function::operator()(const Arguments& arguments) const {
    if (const auto complex = require_state().complex_form(arguments)) return (*complex)(arguments);
    return call_pointers(require_state().in_order(arguments));
}

Array Function::call(const std::vector<Array>& arguments) const {
    std::vector<const Array*> pointers;
    pointers.reserve(arguments.size());
    for (const Array& argument : arguments) pointers.push_back(&argument);
    return call_pointers(pointers);
}

std::vector<Array> Function::call(const Arguments& arguments,
                                  const std::vector<std::string>& outputs) const {
    State& state = require_state();
    if (const auto complex = state.complex_form(arguments))
        return complex->call(arguments, outputs);
    for (const std::string& output : outputs) {
        if (state.program.output(output)) continue;
        std::vector<std::string> names;
        for (const TensorId id : state.program.outputs) names.push_back(state.program.at(id).name);
        const std::string guess = nearest(output, names);
        throw Error({.kind = ErrorKind::name,
                     .message = format("there is no output `{}`", output),
                     .hint = guess.empty()
                                 ? format("`{}` gives `{}`", state.name, join(names, "`, `"))
                                 : format("did you mean `{}`?", guess)});
    }
    return state.run(state.in_order(arguments), outputs);
}

const Program& Function::program() const { return require_state().program; }
const std::string& Function::name() const { return require_state().name; }
Device Function::device() const { return require_state().device; }

Function compile(std::string_view text, std::string name, Device device) {
    const TimerSection section("compile");
    return Function(checked_program(text), std::move(name), device);
}

std::string str(const Function& function) {
    const Program& program = function.program();
    // Printing looks at the program's terms, which another thread may be working on.
    const std::lock_guard lock(*function.state()->compiling);
    return str(program);
}

}  // namespace ricci
