// runtime/function_gradient.cpp – gradients of functions, generated and written by hand
#include <algorithm>
#include <utility>

#include "base/dump.h"
#include "base/error.h"
#include "base/text.h"
#include "dsl/expand.h"
#include "grad/gradient.h"
#include "grad/jvp.h"
#include "runtime/function_state.h"
#include "runtime/timer.h"

namespace ricci {
namespace {

/// `linear[1]`, `linear[0,2]`: the name of a derivative in timers, by positions of arguments.
std::string derivative_name(const std::string& function, const std::vector<std::size_t>& at) {
    std::vector<std::string> numbers;
    for (const std::size_t position : at) numbers.push_back(format("{}", position));
    return format("{}[{}]", function, join(numbers, ","));
}

Program differentiated(const Program& program, const DerivativeStep& step,
                       const std::vector<std::string>& complex) {
    if (step.mode == DerivativeStep::Mode::expansion) return expand(program);
    if (step.mode == DerivativeStep::Mode::forward)
        return grad::jvp(
            program, step.arguments,
            {.outputs = step.outputs, .complex_arguments = complex, .ties = step.ties});
    return grad::gradients(
        program, step.arguments,
        {.cotangents = step.outputs, .complex_arguments = complex, .ties = step.ties});
}

/// The cotangents or tangents that a derivative takes, whether it needs them or not.
std::vector<std::string> companions(const Program& program, const Program& derived) {
    std::vector<std::string> names;
    for (const Tensor& tensor : derived.tensors)
        if (tensor.role == Role::argument && tensor.dtype_of && !program.argument(tensor.name))
            names.push_back(tensor.name);
    return names;
}

/// What is known of types from the arguments of a call, by name.
struct Types {
    std::vector<std::string> given;
    std::vector<std::string> complex;  ///< of those
};

/// The complex arguments of a program, as far as its derivative needs to know them.
std::vector<std::string> complex_arguments(const Program& program, const DerivativeStep& step,
                                           const Types& types) {
    std::vector<std::string> complex;
    if (step.mode == DerivativeStep::Mode::expansion) return complex;
    for (const std::string& name : types.complex)
        if (program.argument(name)) complex.push_back(name);
    // A gradient that does not need the argument itself may not be told its type.
    if (step.mode == DerivativeStep::Mode::forward) return complex;
    if (complex.empty() && grad::makes_complex(program)) return complex;
    for (const std::string& argument : step.arguments)
        if (!contains(types.given, argument)) complex.push_back(argument);
    return complex;
}

}  // namespace

Function Function::State::derive(Program derived, std::string derived_name,
                                 std::vector<std::string> also_accepted) const {
    auto state =
        std::make_shared<State>(std::move(derived), std::move(derived_name), device, compiling);
    state->ignored_names = argument_names;
    state->is_expanded = is_expanded;
    for (const std::string& accepted : ignored_names) state->ignored_names.push_back(accepted);
    for (std::string& accepted : also_accepted) state->ignored_names.push_back(std::move(accepted));
    return Function(std::move(state));
}

Function Function::State::derivative(DerivativeStep step, std::string derived_name) {
    const TimerSection section("compile");
    Program derived;
    {
        const std::lock_guard context_lock(*compiling);
        derived = differentiated(program, step, {});
    }
    if (is_dumped(Stage::gradient)) dump(Stage::gradient, derived_name, ricci::str(derived));
    const std::vector<std::string> given = companions(program, derived);
    Function result = derive(std::move(derived), std::move(derived_name), given);
    State& state = *result.state();
    state.floating_names = floating_names;
    state.floating_names.insert(state.floating_names.end(), step.arguments.begin(),
                                step.arguments.end());
    if (step.mode == DerivativeStep::Mode::forward)
        state.floating_names.insert(state.floating_names.end(), given.begin(), given.end());
    state.made_from = made_from ? *made_from : DerivativeSource{.forward = program, .steps = {}};
    state.made_from->steps.push_back(std::move(step));
    return result;
}

Function Function::grad(const std::string& argument,
                        const std::vector<std::string>& cotangents) const {
    return grad(argument, GradientOptions{.cotangents = cotangents});
}

Function Function::grad(const std::string& argument, const GradientOptions& options) const {
    return grads({argument}, options);
}

Function Function::grads(const std::vector<std::string>& arguments,
                         const GradientOptions& options) const {
    State& state = require_state();
    std::vector<std::size_t> positions;
    for (const std::string& argument : arguments) positions.push_back(state.position_of(argument));
    const std::lock_guard lock(state.derived_mutex);
    const auto key = std::tuple(arguments, options.cotangents, options.ties);
    if (const auto known = state.gradients.find(key); known != state.gradients.end())
        return known->second;
    Function gradient = state.derivative({.mode = DerivativeStep::Mode::reverse,
                                          .arguments = arguments,
                                          .outputs = options.cotangents,
                                          .ties = options.ties},
                                         derivative_name(state.name, positions));
    state.gradients.emplace(key, gradient);
    return gradient;
}

Function Function::jvp(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& outputs, Ties ties) const {
    State& state = require_state();
    if (arguments.empty())
        throw Error({.kind = ErrorKind::name,
                     .message = "no argument moves",
                     .hint = "name those whose tangents are given: `f.jvp({\"W\"})`"});
    std::vector<std::size_t> positions;
    for (const std::string& argument : arguments) positions.push_back(state.position_of(argument));
    const std::lock_guard lock(state.derived_mutex);
    const auto key = std::tuple(arguments, outputs, ties);
    if (const auto known = state.tangents.find(key); known != state.tangents.end())
        return known->second;
    Function tangent = state.derivative({.mode = DerivativeStep::Mode::forward,
                                         .arguments = arguments,
                                         .outputs = outputs,
                                         .ties = ties},
                                        "d" + derivative_name(state.name, positions));
    state.tangents.emplace(key, tangent);
    return tangent;
}

Function Function::expanded() const {
    State& state = require_state();
    Function result = state.derivative(
        {.mode = DerivativeStep::Mode::expansion, .arguments = {}, .outputs = {}}, state.name);
    result.state()->is_expanded = true;
    result.set_ties(ties());
    return result;
}

std::optional<Function> Function::State::complex_form(const Arguments& arguments) {
    if (!made_from) return std::nullopt;
    Types types;
    for (const auto& [argument, array] : arguments) {
        types.given.push_back(argument);
        if (is_complex(array.dtype())) types.complex.push_back(argument);
    }
    if (types.complex.empty()) return std::nullopt;
    std::ranges::sort(types.given);
    const std::lock_guard lock(derived_mutex);
    const auto key = std::pair(types.given, types.complex);
    if (const auto known = complex_forms.find(key); known != complex_forms.end())
        return known->second;
    const TimerSection section("compile");
    Program derived = made_from->forward;
    bool is_other = false;
    {
        const std::lock_guard context_lock(*compiling);
        for (const DerivativeStep& step : made_from->steps) {
            const std::vector<std::string> complex = complex_arguments(derived, step, types);
            is_other |= !complex.empty();
            derived = differentiated(derived, step, complex);
        }
    }
    std::optional<Function> form;
    if (is_other) {
        if (is_dumped(Stage::gradient)) dump(Stage::gradient, name, ricci::str(derived));
        form = derive(std::move(derived), name, {});
        form->state()->floating_names = floating_names;
    }
    complex_forms.emplace(key, form);
    return form;
}

std::optional<Function> Function::State::complex_form(std::span<const Array* const> arguments) {
    if (!made_from) return std::nullopt;
    const bool is_needed = std::ranges::any_of(
        arguments, [](const Array* array) { return is_complex(array->dtype()); });
    if (!is_needed) return std::nullopt;
    Arguments named;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        named.emplace_back(argument_names[i], *arguments[i]);
    return complex_form(named);
}

void Function::set_gradient(const std::string& argument, Gradient gradient) {
    State& state = require_state();
    (void)state.position_of(argument);
    const std::lock_guard lock(state.derived_mutex);
    if (gradient)
        state.registered[argument] = std::move(gradient);
    else
        state.registered.erase(argument);
    state.pairs.clear();
}

void Function::set_gradient(const std::string& argument, const Function& gradient) {
    const State& state = require_state();
    (void)state.position_of(argument);
    const std::string cotangent = "d" + state.result_name();
    std::vector<std::string> known = state.argument_names;
    known.push_back(cotangent);
    const std::vector<std::string>& needed = gradient.require_state().argument_names;
    for (const std::string& name : needed)
        if (!contains(known, name))
            throw Error({.kind = ErrorKind::name,
                         .message = format("the gradient of `{}` for `{}` takes `{}`", state.name,
                                           argument, name),
                         .source = gradient.program().source,
                         .labels = gradient.program().place(*gradient.program().argument(name)),
                         .hint = format("it may take `{}`", join(known, "`, `"))});
    set_gradient(argument, [gradient, needed](const Arguments& arguments) {
        Arguments selected;
        for (const auto& [name, array] : arguments)
            if (contains(needed, name)) selected.emplace_back(name, array);
        return gradient(selected);
    });
}

void Function::set_ties(Ties ties) {
    State& state = require_state();
    const std::lock_guard lock(state.derived_mutex);
    state.ties = ties;
    state.pairs.clear();
}

Ties Function::ties() const {
    State& state = require_state();
    const std::lock_guard lock(state.derived_mutex);
    return state.ties;
}

Function::Gradient Function::registered_gradient(const std::string& argument) const {
    State& state = require_state();
    const std::lock_guard lock(state.derived_mutex);
    const auto found = state.registered.find(argument);
    return found == state.registered.end() ? Gradient{} : found->second;
}

std::shared_ptr<const TapePair> Function::State::pair(const std::vector<std::size_t>& wanted) {
    const std::lock_guard lock(derived_mutex);
    if (const auto known = pairs.find(wanted); known != pairs.end()) return known->second;
    const TimerSection section("compile");
    std::vector<std::string> names;
    for (const std::size_t argument : wanted) names.push_back(argument_names[argument]);
    grad::Pair cut;
    {
        const std::lock_guard context_lock(*compiling);
        cut = grad::cut(program, names, {.ties = ties});
    }
    auto result = std::make_shared<TapePair>();
    result->outputs.push_back(result_name());
    for (const std::string& saved : cut.saved)
        if (saved != result_name()) result->outputs.push_back(saved);
    const auto for_tape = [&](Program backward, std::string backward_name) {
        Function made = derive(std::move(backward), std::move(backward_name), cut.saved);
        made.state()->is_on_tape = true;
        return made;
    };
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string gradient = derivative_name(name, {wanted[i]});
        if (is_dumped(Stage::gradient))
            dump(Stage::gradient, gradient, ricci::str(cut.backward[i]));
        const Program& backward = cut.backward[i];
        result->gradients.emplace(wanted[i], backward.at(backward.result()).name);
        result->backward.emplace(wanted[i], for_tape(std::move(cut.backward[i]), gradient));
    }
    if (cut.shared)
        result->shared = for_tape(std::move(*cut.shared), derivative_name(name, wanted));
    result->forward = derive(std::move(cut.forward), name, {});
    pairs.emplace(wanted, result);
    return result;
}

}  // namespace ricci
