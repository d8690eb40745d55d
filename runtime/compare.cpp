// runtime/compare.cpp – runs both gradients, finds where they differ most, times them
#include "runtime/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

/// Median wall time of a few runs, after the one that compiled.
template <class Run>
double median_seconds(Run&& run) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i < 7; ++i) {
        const auto begin = Clock::now();
        run();
        times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    std::ranges::nth_element(times, times.begin() + 3);
    return times[3];
}

using Number = std::complex<double>;

bool is_nan(const Number& value) { return std::isnan(value.real()) || std::isnan(value.imag()); }

double relative_difference(const Number& a, const Number& b, double scale) {
    if (a == b || (is_nan(a) && is_nan(b))) return 0;
    const double largest = std::max({std::abs(a), std::abs(b), scale});
    const double difference = std::abs(a - b) / largest;
    return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

/// Fills in the place of the largest difference and the values there.
void find_largest(GradientComparison& comparison, const Array& generated, const Array& registered) {
    const Array ours = generated.to(DType::c128);
    const Array theirs = registered.to(DType::c128);
    const auto x = ours.span<const Number>();
    const auto y = theirs.span<const Number>();
    double squares = 0;
    for (const Number& value : x)
        if (std::isfinite(std::norm(value))) squares += std::norm(value);
    const double scale = x.empty() ? 0 : std::sqrt(squares / static_cast<double>(x.size()));
    std::size_t worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double difference = relative_difference(x[i], y[i], scale);
        if (difference <= comparison.largest_difference) continue;
        comparison.largest_difference = difference;
        worst = i;
    }
    if (x.empty() || comparison.largest_difference == 0) return;
    comparison.generated = x[worst];
    comparison.registered = y[worst];
    comparison.position.resize(generated.shape().size());
    for (std::size_t d = generated.shape().size(); d-- > 0;) {
        const auto extent = static_cast<std::size_t>(generated.shape()[d]);
        comparison.position[d] = static_cast<std::int64_t>(worst % extent);
        worst /= extent;
    }
}

/// Numbers have no type of their own: their gradients may be of any floating one.
void require_same_kind(const std::string& wrt, bool is_number, const Array& generated,
                       const Array& registered) {
    if (generated.shape() != registered.shape()) {
        throw Error({.kind = ErrorKind::shape,
                     .message = format("the gradient registered for `{}` is {}, the argument is {}",
                                       wrt, str(registered.shape()), str(generated.shape()))});
    }
    if (generated.dtype() != registered.dtype() && !is_number) {
        throw Error({.kind = ErrorKind::type,
                     .message = format("the gradient registered for `{}` is {}, the argument is {}",
                                       wrt, name(registered.dtype()), name(generated.dtype()))});
    }
}

}  // namespace

GradientComparison compare_gradients(const Function& function, Arguments arguments,
                                     const std::string& wrt) {
    const Function generated = function.grad(wrt, {.ties = function.ties()});
    const Function::Gradient registered = function.registered_gradient(wrt);
    if (!registered) {
        throw Error(
            {.kind = ErrorKind::name,
             .message = format("no gradient of `{}` is registered for `{}`", function.name(), wrt),
             .hint = "set_gradient(\"" + wrt + "\", ...)"});
    }
    const Program& program = function.program();
    const std::string cotangent = "d" + program.at(program.result()).name;
    const auto given = std::ranges::find(arguments, cotangent, &Arguments::value_type::first);
    if (given == arguments.end()) {
        const Array result = function(copies(arguments));
        const bool is_own = is_floating(result.dtype()) || is_complex(result.dtype());
        const DType dtype = is_own ? result.dtype() : DType::f64;
        arguments.emplace_back(cotangent, Array::randn(dtype, result.shape(), 1));
    }
    GradientComparison comparison;
    comparison.argument = wrt;
    const Array ours = generated(copies(arguments));
    const Array theirs = registered(copies(arguments));
    const auto argument = std::ranges::find(arguments, wrt, &Arguments::value_type::first);
    const bool is_number = argument != arguments.end() && argument->second.is_weak();
    require_same_kind(wrt, is_number, ours, theirs);
    find_largest(comparison, ours, theirs);
    // On a GPU a call returns before its work is done.
    comparison.generated_seconds = median_seconds([&] {
        (void)generated(arguments);
        synchronize(function.device());
    });
    comparison.registered_seconds = median_seconds([&] {
        (void)registered(arguments);
        synchronize(function.device());
    });
    return comparison;
}

std::string str(const GradientComparison& comparison) {
    std::string where;
    if (!comparison.position.empty()) where = format(" at {}", str(comparison.position));
    return format(
        "{}: largest relative difference {:.2g}{}, generated {:.3f} ms, by hand {:.3f} ms",
        comparison.argument, comparison.largest_difference, where,
        comparison.generated_seconds * 1e3, comparison.registered_seconds * 1e3);
}

}  // namespace ricci
