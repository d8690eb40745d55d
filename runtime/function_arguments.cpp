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

/// Only floating values have gradients; numbers are taken for such.
void require_floating(const Function::State& gradient, const std::string& argument,
                      const Array& array) {
    if (is_floating(array.dtype()) || is_complex(array.dtype()) || array.is_weak()) return;
    Diagnosis diagnosis{.kind = ErrorKind::gradient,
                        .message = format("the argument `{}` has type {}, which has no gradient",
                                          argument, name(array.dtype())),
                        .hint = "convert it to f32 or f64"};
    if (gradient.made_from) {
        const Program& forward = gradient.made_from->forward;
        diagnosis.source = forward.source;
        if (const auto id = forward.argument(argument)) diagnosis.labels = forward.place(*id);
    }
    throw Error(std::move(diagnosis));
}

}  // namespace

std::vector<const Array*> Function::State::in_order(const Arguments& arguments) const {
    std::vector<const Array*> ordered(argument_names.size(), nullptr);
    bool is_complete = true;
    for (const auto& [argument, array] : arguments) {
        if (contains(floating_names, argument)) require_floating(*this, argument, array);
        const auto at = std::ranges::find(argument_names, argument);
        if (at == argument_names.end()) {
            is_complete = is_complete && contains(ignored_names, argument);
            continue;
        }
        const Array*& place = ordered[static_cast<std::size_t>(at - argument_names.begin())];
        if (place != nullptr)
            fail(ErrorKind::name, format("the argument `{}` is given twice", argument));
        place = &array;
    }
    is_complete = is_complete && std::ranges::find(ordered, nullptr) == ordered.end();
    if (!is_complete) fail_names(arguments);
    return ordered;
}

void Function::State::fail_names(const Arguments& arguments) const {
    // Binding says what is missing or unknown, and points into the text.
    Signature signature;
    for (const auto& [argument, array] : arguments)
        if (contains(argument_names, argument) || !contains(ignored_names, argument))
            signature.emplace(argument, runtime::spec_of(array, array.rank() == 0));
    const std::lock_guard lock(*compiling);
    (void)ricci::bind(canonical, signature);
    assertion_failed("fail_names", "binding accepts names that the function does not");
}

void Function::State::require_count(std::size_t count) const {
    if (count == argument_names.size()) return;
    fail(ErrorKind::name,
         format("{} given, {} needed", plural(count, "argument"), argument_names.size()),
         takes(*this));
}

std::size_t Function::State::position_of(std::string_view argument) const {
    const auto at = std::ranges::find(argument_names, argument);
    if (at == argument_names.end()) {
        const std::string guess = nearest(argument, argument_names);
        fail(ErrorKind::name, format("`{}` has no argument `{}`", name, argument),
             guess.empty() ? takes(*this) : format("did you mean `{}`?", guess));
    }
    return static_cast<std::size_t>(at - argument_names.begin());
}

namespace runtime {

Number number_of(const Array& array) {
    return with_any_element(array.dtype(), [&]<class T>(Element<T>) -> Number {
        const T value = *static_cast<const T*>(array.data());
        if constexpr (std::is_same_v<T, bool>) return value;
        if constexpr (std::integral<T>) return static_cast<std::int64_t>(value);
        if constexpr (is_complex_number<T>)
            return std::complex<double>(value);
        else
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
    if (is_updated && array.is_weak()) {
        fail(ErrorKind::type,
             format("argument `{}` is updated, a plain number is given", tensor.name),
             "give an array of rank 0, as in Array::full(DType::f64, {}, 0)");
    }
}

}  // namespace runtime
}  // namespace ricci
