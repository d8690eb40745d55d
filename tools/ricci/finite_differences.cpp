// tools/ricci/finite_differences.cpp – gradients against differences of function values
#include "tools/ricci/finite_differences.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace ricci::tool {
namespace {

/// `sum(real(conj(cotangent) * result))` as a function of one number of one argument: an element,
/// or a part of a complex one. Arrays are looked at as their numbers, see `in_doubles`.
class Directional {
  public:
    Directional(const Function& function, const Arguments& arguments, const std::string& wrt,
                const Array& cotangent)
        : function_(function), arguments_(arguments), cotangent_(in_doubles(cotangent)) {
        for (std::size_t i = 0; i < arguments_.size(); ++i)
            if (arguments_[i].first == wrt) position_ = i;
        numbers_ = in_doubles(arguments_[position_].second);
    }

    [[nodiscard]] double element(std::size_t i) const { return numbers_.span<double>()[i]; }

    [[nodiscard]] double at(std::size_t i, double value) const {
        return total(values_at(i, value));
    }
    /// The numbers of the result.
    [[nodiscard]] Array values_at(std::size_t i, double value) const {
        Arguments moved = copies(arguments_);
        static_cast<double*>(moved[position_].second.data())[i] = value;
        return in_doubles(function_(moved));
    }
    [[nodiscard]] double total(const Array& result) const {
        const auto values = result.span<const double>();
        const auto weights = cotangent_.span<double>();
        double sum = 0;
        double lost = 0;  // compensated: the differences below are small
        for (std::size_t k = 0; k < values.size(); ++k) {
            const double term = values[k] * weights[k] - lost;
            const double next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        return sum;
    }

    /// Between what the derivative lies when each number of the result moves by itself as it does
    /// to one side or to the other, from three results in order of the element.
    [[nodiscard]] std::pair<double, double> between(const Array& down, const Array& here,
                                                    const Array& up, double step) const {
        const auto weights = cotangent_.span<const double>();
        double low = 0;
        double high = 0;
        for (std::size_t k = 0; k < weights.size(); ++k) {
            const double middle = here.span<const double>()[k];
            const double left = weights[k] * (middle - down.span<const double>()[k]) / step;
            const double right = weights[k] * (up.span<const double>()[k] - middle) / step;
            low += std::min(left, right);
            high += std::max(left, right);
        }
        return {low, high};
    }

  private:
    const Function& function_;
    const Arguments& arguments_;
    Array cotangent_;
    std::size_t position_ = 0;
    Array numbers_;
};

/// What differences say about one element.
struct Estimate {
    double derivative = 0;
    double uncertainty = 0;
    double low = 0;  ///< of the two sides, for kinks
    double high = 0;
};

Estimate estimate(const Directional& sum, std::size_t i, double value_error) {
    const double x = sum.element(i);
    // The step that balances truncation (h^2) and rounding (eps / h).
    const double h = std::cbrt(2.2e-16) * std::max(1.0, std::abs(x));
    const auto central = [&](double step) {
        const double up = x + step;
        const double down = x - step;
        return (sum.at(i, up) - sum.at(i, down)) / (up - down);
    };
    // Where several numbers have a kink, each may take either side's share. How far a side's
    // difference is from its slope shows when the step is halved.
    const Array here = sum.values_at(i, x);
    const auto sides = [&](double step) {
        return sum.between(sum.values_at(i, x - step), here, sum.values_at(i, x + step), step);
    };
    const auto [low, high] = sides(h);
    const auto [fine_low, fine_high] = sides(h / 2);
    const double coarse = central(h);
    const double fine = central(h / 2);
    Estimate result;
    result.derivative = (4 * fine - coarse) / 3;
    result.uncertainty = 8 * value_error / h + 4 * std::abs(fine - coarse);
    result.low = fine_low - 16 * value_error / h - 2 * std::abs(fine_low - low);
    result.high = fine_high + 16 * value_error / h + 2 * std::abs(fine_high - high);
    return result;
}

/// `element 3 of W`, `imaginary part of element 3 of W`.
std::string place(const Array& gradient, std::size_t i, const std::string& wrt) {
    if (!is_complex(gradient.dtype())) return format("element {} of {}", i, wrt);
    return format("{} part of element {} of {}", i % 2 == 0 ? "real" : "imaginary", i / 2, wrt);
}

}  // namespace

Array in_doubles(const Array& array) {
    if (!is_complex(array.dtype())) return array.to(DType::f64);
    const Array whole = array.to(DType::c128);
    Array parts(DType::f64, {2 * whole.size()});
    if (whole.size() > 0)
        std::memcpy(parts.data(), whole.data(), 16 * static_cast<std::size_t>(whole.size()));
    return parts;
}

DifferenceResult compare_with_differences(const Function& function, const Arguments& arguments,
                                          const std::string& wrt, const Array& cotangent,
                                          const Array& gradient, double value_error,
                                          std::size_t max_elements) {
    const Directional sum(function, arguments, wrt, cotangent);
    const Array ours = in_doubles(gradient);
    const auto values = ours.span<const double>();
    DifferenceResult result;
    const std::size_t parts = is_complex(gradient.dtype()) ? 2 : 1;
    const std::size_t elements = values.size() / parts;
    const std::size_t count = std::min(elements, max_elements);
    for (std::size_t n = 0; n < count * parts; ++n) {
        const std::size_t i = n / parts * elements / count * parts + n % parts;
        const Estimate expected = estimate(sum, i, value_error);
        const double scale = std::max(std::abs(values[i]), std::abs(expected.derivative));
        const double error = std::abs(values[i] - expected.derivative);
        const double allowed = expected.uncertainty + 1e-12 * scale;
        // An uncertainty as large as the values themselves decides nothing.
        if (!std::isfinite(expected.derivative) || !std::isfinite(allowed) ||
            (allowed > 0.1 * scale && allowed > 1e-3)) {
            ++result.skipped;
            continue;
        }
        ++result.compared;
        const bool is_kink = expected.high - expected.low > 100 * allowed &&
                             expected.high - expected.low > 1e-3 * scale;
        const bool agrees = error <= allowed ||
                            (is_kink && values[i] >= expected.low && values[i] <= expected.high);
        if (error > result.largest_error && !(is_kink && agrees)) {
            result.largest_error = error;
            result.allowed = allowed;
        }
        if (agrees || !result.failure.empty()) continue;
        result.failure = format("{}: gradient {:.10g}, differences {:.10g} +- {:.2g}",
                                place(gradient, i, wrt), values[i], expected.derivative, allowed);
    }
    return result;
}

}  // namespace ricci::tool
