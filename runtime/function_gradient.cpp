// runtime/function_gradient.cpp – gradients of functions, generated and written by hand
#include <algorithm>
#include <utility>

#include "base/dump.h"
#include "base/error.h"
#include "base/text.h"
#include "grad/gradient.h"
#include "runtime/function_state.h"
#include "runtime/timer.h"

namespace ricci {
namespace {

/// `linear[1]`: the name of a gradient in timers, by the argument's position.
std::string gradient_name(const std::string& function, std::size_t argument) {
    return format("{}[{}]", function, argument);
}

}  // namespace

Function Function::State::derive(Program derived, std::string derived_name,
                                 std::vector<std::string> also_accepted) const {
    auto state =
        std::make_shared<State>(std::move(derived), std::move(derived_name), device, compiling);
    state->ignored_names = argument_names;
    for (std::string& accepted : also_accepted) state->ignored_names.push_back(std::move(accepted));
    return Function(std::move(state));
}

Function Function::grad(const std::string& argument,
                        const std::vector<std::string>& cotangents) const {
    return grad(argument, GradientOptions{.cotangents = cotangents});
}

Function Function::grad(const std::string& argument, const GradientOptions& options) const {
    State& state = require_state();
    const std::size_t position = state.position_of(argument);
    const std::lock_guard lock(state.derived_mutex);
    const auto key = std::tuple(argument, options.cotangents, options.ties);
    if (const auto known = state.gradients.find(key); known != state.gradients.end())
        return known->second;
    const TimerSection section("compile");
    Program program;
    {
        const std::lock_guard context_lock(*state.compiling);
        program = grad::gradient(state.program, argument,
                                 {.cotangents = options.cotangents, .ties = options.ties});
    }
    const std::string name = gradient_name(state.name, position);
    if (is_dumped(Stage::gradient)) dump(Stage::gradient, name, ricci::str(program));
    Function gradient = state.derive(std::move(program), name, {});
    gradient.state()->gradient_of = argument;
    gradient.state()->made_from = GradientSource{.forward = state.program,
                                                 .argument = argument,
                                                 .options = options,
                                                 .is_gradient = !state.gradient_of.empty()};
    state.gradients.emplace(key, gradient);
    return gradient;
}

std::optional<Function> Function::State::complex_form(const Arguments& arguments) {
    if (!made_from) return std::nullopt;
    std::vector<std::string> complex;
    bool knows_own_type = false;
    bool is_needed = false;
    for (const auto& [argument, array] : arguments) {
        knows_own_type |= argument == made_from->argument;
        is_needed |= is_complex(array.dtype());
        if (is_complex(array.dtype()) && made_from->forward.argument(argument))
            complex.push_back(argument);
    }
    if (!is_needed) return std::nullopt;
    if (made_from->is_gradient)
        throw Error({.kind = ErrorKind::gradient,
                     .message = "derivatives of gradients of complex arrays are not supported",
                     .hint = "write the first gradient as a program"});
    // A gradient that does not need the argument itself may not be told its type.
    const bool has_other_source = !complex.empty() || grad::makes_complex(made_from->forward);
    if (complex.empty() && (knows_own_type || has_other_source)) return std::nullopt;
    if (!knows_own_type) complex.push_back(made_from->argument);
    const std::lock_guard lock(derived_mutex);
    if (const auto known = complex_forms.find(complex); known != complex_forms.end())
        return known->second;
    const TimerSection section("compile");
    Program derived;
    {
        const std::lock_guard context_lock(*compiling);
        derived = grad::gradient(made_from->forward, made_from->argument,
                                 {.cotangents = made_from->options.cotangents,
                                  .complex_arguments = complex,
                                  .ties = made_from->options.ties});
    }
    if (is_dumped(Stage::gradient)) dump(Stage::gradient, name, ricci::str(derived));
    Function form = derive(std::move(derived), name, ignored_names);
    form.state()->gradient_of = gradient_of;
    complex_forms.emplace(complex, form);
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
        if (std::ranges::find(known, name) == known.end())
            throw Error({.kind = ErrorKind::name,
                         .message = format("the gradient of `{}` for `{}` takes `{}`", state.name,
                                           argument, name),
                         .source = gradient.program().source,
                         .labels = gradient.program().place(*gradient.program().argument(name)),
                         .hint = format("it may take `{}`", join(known, "`, `"))});
    set_gradient(argument, [gradient, needed](const Arguments& arguments) {
        Arguments selected;
        for (const auto& [name, array] : arguments)
            if (std::ranges::find(needed, name) != needed.end()) selected.emplace_back(name, array);
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
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string gradient = gradient_name(name, wanted[i]);
        if (is_dumped(Stage::gradient))
            dump(Stage::gradient, gradient, ricci::str(cut.backward[i]));
        Function backward = derive(std::move(cut.backward[i]), gradient, cut.saved);
        backward.state()->is_on_tape = true;
        result->backward.emplace(wanted[i], std::move(backward));
    }
    result->forward = derive(std::move(cut.forward), name, {});
    pairs.emplace(wanted, result);
    return result;
}

}  // namespace ricci
