// tests/hostile/untouched.h – calls that are refused, and leave every array as it was
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/support/error_text.h"

namespace ricci::tests {

/// A call that is refused, how the error begins, and which outputs are asked for.
struct Refused {
    std::string text;
    Arguments arguments;
    std::string error;
    std::vector<std::string> outputs;
};

inline Array whole_numbers(const std::vector<std::int64_t>& values) {
    return Array::from<std::int64_t>(values, {std::ssize(values)});
}

/// What is wrong is found late: in the last statement, in data that earlier ones made.
inline std::vector<Refused> refused_calls() {
    const auto b = [] { return Array::arange(DType::f32, {4}); };
    const auto m = [] { return Array::arange(DType::f32, {3, 4}); };
    const Array outside = whole_numbers({0, 1, 4});
    const Array negative = whole_numbers({0, -1, 2});
    const Array twice = whole_numbers({2, 0, 2});
    const Array inside = whole_numbers({0, 1, 2});
    return {
        {"B[i] += 1; y[n] := B[J[n]]", {{"B", b()}, {"J", outside}}, "range", {"B", "y"}},
        {"B[i] += 1; y[n] := B[J[n]]", {{"B", b()}, {"J", negative}}, "range", {"B", "y"}},
        {"B[i] = 2*B[i]; M[J[n],k] += B[k]",
         {{"B", b()}, {"M", m()}, {"J", outside}},
         "range",
         {"B", "M"}},
        {"h[J[n]] += 1", {{"h", b()}, {"J", outside}}, "range", {"h"}},
        {"h[J[n]] max= x[n]", {{"h", b()}, {"J", negative}, {"x", b()}}, "shape", {"h"}},
        {"B[i] *= 3; y[J[n]] = x[n]",
         {{"B", b()}, {"y", b()}, {"J", twice}, {"x", whole_numbers({7, 8, 9})}},
         "range",
         {"B", "y"}},
        {"y[J[n]] = x[n]; y[i] += 1",
         {{"y", b()}, {"J", twice}, {"x", whole_numbers({7, 8, 9})}},
         "range",
         {"y"}},
        {"J[n] += 3; B[i] -= 1; y[n] := B[J[n]]",
         {{"B", b()}, {"J", inside}},
         "range",
         {"J", "B", "y"}},
        {"K[n] := 2*J[n]; B[i] += 1; B[K[n]] += 1",
         {{"B", b()}, {"J", inside}},
         "range",
         {"K", "B"}},
        {"B[i] += 1; m := argmax[i](x[i]); z := c[$m]",
         {{"B", b()}, {"x", b()}, {"c", whole_numbers({1})}},
         "range",
         {"B", "z"}},
        {"M[i,j] += 1; M[J[n],j] = x[n,j]", {{"M", m()}, {"J", twice}, {"x", m()}}, "range", {"M"}},
        {"B[i] += 1; y := mean[i | B[i] > 9](B[i])", {{"B", b()}}, "range", {"B", "y"}},
        {"B[J[n]] += mean[i | J[i] == n](x[i])",
         {{"B", b()}, {"x", b()}, {"J", whole_numbers({0, 1, 1, 3})}},
         "range",
         {"B"}},
        {"B[i] += 1; Y[i] := B[i]*x[i]",
         {{"B", b()}, {"x", whole_numbers({1, 2, 3})}},
         "shape",
         {"B", "Y"}},
        {"B[i] += 1; J[n] += B[n+1]", {{"B", b()}, {"J", inside}}, "type", {"B", "J"}},
        {"B[i] += 1; Y[i] := B[i+2] where i in 0:4", {{"B", b()}}, "range", {"B", "Y"}},
        {"B[i] += 1; Y[i,j] := B[i]*k where j in 0:n, k in 0:n",
         {{"B", b()}, {"n", Array(std::int64_t{1} << 40)}},
         "limit",
         {"B", "Y"}},
        {"B[i] += 1", {{"B", b()}}, "name", {"B", "C"}},
        {"B[i] += x[i]", {{"B", b()}}, "name", {"B"}},
        {"B[i] += 1", {{"B", b()}, {"x", b()}}, "name", {"B"}},
        {"B[i] += 1", {{"B", m()}}, "shape", {"B"}},
    };
}

/// Calls with copies of the arguments; they are to have the same bits after the error.
inline void check_untouched(Device device) {
    for (const Refused& call : refused_calls()) {
        CAPTURE(call.text);
        const Arguments given = copies(call.arguments);
        const Function function = compile(call.text, "", device);
        const std::string error = error_text([&] { (void)function.call(given, call.outputs); });
        CHECK_MESSAGE(error.starts_with(call.error + ": "), error);
        for (std::size_t n = 0; n < given.size(); ++n) {
            const Array& before = call.arguments[n].second;
            const Array& after = given[n].second;
            if (before.is_weak()) continue;
            const auto bytes = static_cast<std::size_t>(before.size()) * size_bytes(before.dtype());
            CHECK_MESSAGE(std::memcmp(before.data(), after.data(), bytes) == 0, given[n].first);
        }
    }
}

}  // namespace ricci::tests
