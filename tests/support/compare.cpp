// tests/support/compare.cpp – compares arrays with estimates of the reference evaluator
#include "tests/support/compare.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace ricci::tests {
namespace {

/// `[1, 0, 3]`: the place of element n in row-major order.
std::string place(std::size_t n, const Shape& shape) {
    Shape at(shape.size());
    for (std::size_t d = shape.size(); d > 0; --d) {
        const auto extent = static_cast<std::size_t>(shape[d - 1]);
        at[d - 1] = static_cast<std::int64_t>(n % extent);
        n /= extent;
    }
    return ricci::str(at);
}

}  // namespace

Comparison& Comparison::operator+=(const Comparison& other) {
    compared += other.compared;
    skipped += other.skipped;
    worst = std::max(worst, other.worst);
    if (failure.empty()) failure = other.failure;
    return *this;
}

Comparison compare(const Array& found, const runtime::Estimate& expected, double slack) {
    Comparison result;
    if (found.shape() != expected.value.shape() || found.dtype() != expected.value.dtype()) {
        result.failure =
            format("{} {} where {} {} was expected", name(found.dtype()), str(found.shape()),
                   name(expected.value.dtype()), str(expected.value.shape()));
        return result;
    }
    const Array a = found.to(DType::f64);
    const Array b = expected.value.to(DType::f64);
    const std::span<double> values = a.span<double>();
    const std::span<double> references = b.span<double>();
    const std::span<double> bounds = expected.bound.span<double>();
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (!std::isfinite(bounds[n])) {
            ++result.skipped;
            continue;
        }
        ++result.compared;
        const bool same =
            values[n] == references[n] || (std::isnan(values[n]) && std::isnan(references[n]));
        const double error = same ? 0 : std::abs(values[n] - references[n]) / (slack * bounds[n]);
        if (!std::isnan(error)) result.worst = std::max(result.worst, error);
        if (error <= 1 || !result.failure.empty()) continue;
        result.failure =
            format("element {}: {} where the reference has {} within {:.3g}",
                   place(n, found.shape()), values[n], references[n], slack * bounds[n]);
    }
    return result;
}

std::string first_difference(const Array& found, const Array& expected, double tolerance,
                             double least) {
    if (found.shape() != expected.shape()) return "another shape";
    const Array values = found.to(DType::f64);
    const Array references = expected.to(DType::f64);
    for (std::size_t n = 0; n < values.span<const double>().size(); ++n) {
        const double value = values.span<const double>()[n];
        const double reference = references.span<const double>()[n];
        const bool is_same =
            value == reference || (std::isnan(value) && std::isnan(reference)) ||
            (std::isfinite(value) && std::isfinite(reference) &&
             std::abs(value - reference) <= tolerance * std::abs(reference) + least);
        if (!is_same)
            return format("element {}: {} where the reference has {}", place(n, found.shape()),
                          value, reference);
    }
    return "";
}

std::vector<Array> random_arguments(const BoundProgram& program, const Signature& signature,
                                    std::uint64_t seed) {
    std::vector<Array> arguments;
    for (const TensorId id : program.arguments) {
        const BoundTensor& tensor = program.at(id);
        const auto given = signature.find(tensor.name);
        if (given != signature.end() && given->second.value) {
            arguments.emplace_back(std::get<std::int64_t>(*given->second.value));
            continue;
        }
        std::uint64_t own_seed = seed;
        for (char c : tensor.name) own_seed = own_seed * 131 + static_cast<unsigned char>(c);
        const Array uniform = Array::rand(DType::f64, tensor.shape, own_seed);
        // `Keys…` of random programs are subscripts, and small.
        const bool is_wide = is_integer(tensor.dtype) && !tensor.name.starts_with("Keys");
        for (double& value : uniform.span<double>()) {
            value = 3 * value - 1.5;
            if (is_wide) value *= is_signed(tensor.dtype) ? 12 : 1;
            if (is_wide && !is_signed(tensor.dtype)) value = 12 * std::abs(value);
        }
        arguments.push_back(tensor.is_weak ? Array(uniform.item()) : uniform.to(tensor.dtype));
    }
    return arguments;
}

}  // namespace ricci::tests
