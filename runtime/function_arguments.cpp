// runtime/function_arguments.cpp – arguments by name and number, and what is wrong with them
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "runtime/element.h"
#include "runtime/function_state.h"

namespace ricci {
namespace {

[[noreturn]] void fail(ErrorKind kind, std::string message, std::string hint = {}) {
    throw Error({.kind = kind, .message = std::move(message), .hint = std::move(hint)});
}

std::string quoted_list(const std::vector<std::string>& names) {
    std::vector<std::string> quoted;
    for (const std::string& name : names) quoted.push_back(format("`{}`", name));
    return join(quoted, ", ");
}

/// "`linear` takes `W`, `X`, `b`"
std::string takes(const Function::State& state) {
    if (state.argument_names.empty()) return format("`{}` takes no arguments", state.name);
    return format("`{}` takes {}", state.name, quoted_list(state.argument_names));
}

[[noreturn]] void fail_unknown(const Function::State& state, const std::string& name) {
    std::string message = format("there is no argument `{}`", name);
    const bool is_index = std::ranges::any_of(
        state.program.indices, [&](const Index& index) { return index.name == name; });
    if (is_index) {
        fail(ErrorKind::name, message + format(": `{}` is an index", name),
             format("write `${}` in the subscript if a scalar is meant", name));
    }
    if (state.program.output(name))
        fail(ErrorKind::name, message + format(": `{}` is made by the program", name),
             takes(state));
    const std::string guess = nearest(name, state.argument_names);
    fail(ErrorKind::name, message,
         guess.empty() ? takes(state) : format("did you mean `{}`?", guess));
}

/// `[2, 3]`, or `a number` for rank 0.
std::string describe(const Array& array) {
    if (array.rank() == 0) return "a number";
    return format("an array {}", str(array.shape()));
}

}  // namespace

std::vector<const Array*> Function::State::in_order(const Arguments& arguments) const {
    std::vector<const Array*> ordered(argument_names.size(), nullptr);
    std::vector<std::string> seen;
    for (const auto& [argument, array] : arguments) {
        if (std::ranges::find(seen, argument) != seen.end())
            fail(ErrorKind::name, format("argument `{}` is given twice", argument));
        seen.push_back(argument);
        const auto at = std::ranges::find(argument_names, argument);
        if (at != argument_names.end())
            ordered[static_cast<std::size_t>(at - argument_names.begin())] = &array;
        else if (std::ranges::find(ignored_names, argument) == ignored_names.end())
            fail_unknown(*this, argument);
    }
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < ordered.size(); ++i)
        if (ordered[i] == nullptr) missing.push_back(argument_names[i]);
    if (!missing.empty()) {
        fail(ErrorKind::name,
             format("{} missing: {}", missing.size() == 1 ? "an argument is" : "arguments are",
                    quoted_list(missing)),
             takes(*this));
    }
    return ordered;
}

void Function::State::require_count(std::size_t count) const {
    if (count == argument_names.size()) return;
    fail(ErrorKind::name,
         format("{} given, {} needed", plural(count, "argument"), argument_names.size()),
         takes(*this));
}

std::size_t Function::State::position_of(std::string_view argument) const {
    const auto at = std::ranges::find(argument_names, argument);
    if (at == argument_names.end()) fail_unknown(*this, std::string(argument));
    return static_cast<std::size_t>(at - argument_names.begin());
}

namespace runtime {

Number number_of(const Array& array) {
    return with_element(array.dtype(), [&]<class T>(Element<T>) -> Number {
        const T value = *static_cast<const T*>(array.data());
        if constexpr (std::is_same_v<T, bool>) return value;
        if constexpr (std::integral<T>) return static_cast<std::int64_t>(value);
        return static_cast<double>(value);
    });
}

ArgumentSpec spec_of(const Array& array, bool with_value) {
    ArgumentSpec spec;
    spec.dtype = array.dtype();
    spec.shape = array.shape();
    spec.strides = array.strides();
    spec.is_weak = array.is_weak();
    if (with_value) spec.value = number_of(array);
    return spec;
}

void check_argument(const Tensor& tensor, const Array& array, bool is_updated) {
    if (array.is_empty_handle())
        fail(ErrorKind::name, format("argument `{}` is an empty handle", tensor.name));
    if (array.rank() != tensor.rank) {
        const std::string needed =
            tensor.rank == 0 ? std::string("a number") : format("an array of rank {}", tensor.rank);
        fail(ErrorKind::shape, format("argument `{}` is {} in the program, {} is given",
                                      tensor.name, needed, describe(array)));
    }
    if (is_updated && array.is_weak()) {
        fail(ErrorKind::type,
             format("argument `{}` is updated, a plain number is given", tensor.name),
             "give an array of rank 0, as in Array::full(DType::f64, {}, 0)");
    }
    // The types that programs compute with today; the others can be stored and loaded.
    const DType dtype = array.dtype();
    const bool is_supported = dtype == DType::f32 || dtype == DType::f64 || array.is_weak();
    if (!is_supported) {
        fail(ErrorKind::type,
             format("argument `{}` has type {}, which is not supported yet", tensor.name,
                    ricci::name(dtype)),
             "convert it to f32 or f64");
    }
}

}  // namespace runtime
}  // namespace ricci
