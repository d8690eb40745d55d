// tests/property/compare_with_reference.cpp – compiled programs against the reference evaluator
#include "tests/property/compare_with_reference.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/support/random_program.h"

namespace ricci::tests {
namespace {

/// A copy, since statements may update it in place; one in four is stored the other way round.
Array own_copy(const Array& array, std::uint64_t seed) {
    if (seed % 4 != 0) return array.copy();
    std::vector<int> reversed;
    for (int d = array.rank(); d > 0; --d) reversed.push_back(d - 1);
    return array.transpose(reversed).copy().transpose(reversed);
}

std::vector<std::string> output_names(const Program& program) {
    std::vector<std::string> names;
    for (TensorId id : program.outputs) names.push_back(program.at(id).name);
    return names;
}

Arguments named_arguments(const BoundProgram& bound, const std::vector<Array>& values,
                          std::uint64_t seed) {
    Arguments arguments;
    for (std::size_t n = 0; n < values.size(); ++n)
        arguments.emplace_back(bound.at(bound.arguments[n]).name,
                               values[n].is_weak() ? values[n] : own_copy(values[n], seed + n));
    return arguments;
}

}  // namespace

Comparison compare_with_reference(Device device, const Program& program, const Signature& signature,
                                  std::uint64_t seed) {
    const std::vector<std::string> outputs = output_names(program);
    const BoundProgram bound = ricci::bind(program, signature, outputs);
    const std::vector<Array> values = random_arguments(bound, signature, seed);
    const auto estimates = runtime::evaluate_with_bounds(bound, values);

    const auto found =
        Function(program, "random", device).call(named_arguments(bound, values, seed), outputs);
    Comparison total;
    for (std::size_t n = 0; n < outputs.size(); ++n) {
        Comparison comparison = compare(found.at(n), estimates.at(n));
        if (!comparison.holds())
            comparison.failure = format("`{}` {}", outputs[n], comparison.failure);
        total += comparison;
    }
    return total;
}

}  // namespace ricci::tests
