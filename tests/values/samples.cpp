// tests/values/samples.cpp – arrays of every type with the numbers that matter, and both evaluators
#include "tests/values/samples.h"

#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "runtime/element.h"
#include "runtime/function_state.h"
#include "runtime/reference.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

constexpr Wide one = 1;

template <class T>
Array from_list(DType dtype, const std::vector<T>& values) {
    return Array::from(std::span<const T>(values), {std::ssize(values)}).to(dtype);
}

bool have_equal_bytes(const Array& a, const Array& b) {
    const std::size_t bytes = static_cast<std::size_t>(a.size()) * size_bytes(a.dtype());
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), bytes) == 0;
}

BoundProgram bound(const std::string& text, const Arguments& arguments,
                   const std::vector<std::string>& outputs) {
    const Program program = canonicalise(parse_program(text));
    Signature signature;
    for (const auto& [name, array] : arguments)
        if (program.argument(name))
            signature.emplace(name, runtime::spec_of(array, array.rank() == 0));
    return ricci::bind(program, signature, outputs);
}

}  // namespace

Wide least(DType integer) {
    return is_signed(integer) ? -(one << (8 * size_bytes(integer) - 1)) : Wide{0};
}

Wide greatest(DType integer) {
    if (integer == DType::boolean) return 1;
    return (one << (8 * size_bytes(integer) - (is_signed(integer) ? 1 : 0))) - 1;
}

Wide low_bits(Wide value, DType integer) {
    const Wide modulus = one << (8 * size_bytes(integer));
    const Wide rest = (value % modulus + modulus) % modulus;
    return rest > greatest(integer) ? rest - modulus : rest;
}

Wide whole(const Array& array, std::int64_t place) {
    return runtime::with_element(array.dtype(), [&]<class T>(runtime::Element<T>) -> Wide {
        if constexpr (std::is_integral_v<T>) return array.span<T>()[std::size_t(place)];
        return 0;
    });
}

Array edge_values(DType dtype) {
    if (dtype == DType::boolean) return from_list<std::int64_t>(dtype, {0, 1, 1, 0, 1});
    if (is_integer(dtype)) {
        std::vector<std::int64_t> numbers = {0, 1, 2, 3, 5, 7, 100, 13, 64};
        const auto bits = static_cast<int>(8 * size_bytes(dtype));
        if (is_signed(dtype)) {
            const std::int64_t low = std::numeric_limits<std::int64_t>::min() >> (64 - bits);
            for (const std::int64_t n : {-1, -2, -3, -7, -100}) numbers.push_back(n);
            numbers.insert(numbers.end(), {low, low + 1, ~low, ~low - 1, ~low / 3});
            return from_list(dtype, numbers);
        }
        Array array = from_list(dtype, numbers);
        std::vector<std::uint64_t> all(numbers.begin(), numbers.end());
        const std::uint64_t high = ~std::uint64_t{0} >> (64 - bits);
        all.insert(all.end(), {high, high - 1, high / 2, high / 2 + 1});
        return from_list(dtype, all);
    }
    constexpr double inf = std::numeric_limits<double>::infinity();
    return from_list<double>(
        dtype, {0.0, -0.0,         1,     -1,   2,      0.5,  -0.5,  1.5,    2.5,  -2.5,
                3,   -7,           0.1,   1e3,  -300.7, 1e-3, 6e4,   -6e-5,  1e30, -inf,
                inf, std::nan(""), 123.4, 3e-7, 1e9,    1e20, -9e18, 4.5e15, 7});
}

Array small_values(DType dtype, std::int64_t count) {
    Array array(DType::f64, {count});
    const auto numbers = array.span<double>();
    for (std::int64_t i = 0; i < count; ++i) {
        const auto step = static_cast<double>(i * 37 % 23);
        numbers[std::size_t(i)] = dtype == DType::boolean ? (i * 5 % 3 == 0 ? 1 : 0)
                                  : is_floating(dtype)    ? step / 4 - 2.5
                                  : is_signed(dtype)      ? step - 11
                                                          : step;
    }
    return array.to(dtype);
}

std::vector<Array> run_both(const std::string& program, const Arguments& arguments,
                            const std::vector<std::string>& outputs) {
    INFO(program);
    const auto compiled = compile(program, "", Device::cpu).call(copies(arguments), outputs);
    const BoundProgram typed = bound(program, arguments, outputs);
    std::vector<Array> values;
    for (const TensorId id : typed.arguments)
        for (const auto& [name, array] : arguments)
            if (typed.at(id).name == name) values.push_back(array);
    const auto expected = runtime::evaluate_with_bounds(typed, values);
    for (std::size_t n = 0; n < outputs.size(); ++n) {
        CAPTURE(outputs[n]);
        REQUIRE(compiled[n].dtype() == expected[n].value.dtype());
        if (is_floating(compiled[n].dtype())) {
            const Comparison comparison = compare(compiled[n], expected[n]);
            CHECK_MESSAGE(comparison.holds(), comparison.failure);
        } else {
            CHECK_MESSAGE(
                have_equal_bytes(compiled[n], expected[n].value),
                format("{} where the reference has {}", str(compiled[n]), str(expected[n].value)));
        }
    }
    return compiled;
}

Array run_both(const std::string& program, const Arguments& arguments) {
    const Program parsed = parse_program(program);
    return run_both(program, arguments, {parsed.at(parsed.result()).name}).front();
}

DType type_of(const std::string& program, const Arguments& arguments) {
    const BoundProgram typed = bound(program, arguments, {});
    return typed.at(typed.outputs.front()).dtype;
}

}  // namespace ricci::tests
