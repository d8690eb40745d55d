// codegen/narrow_axes.cpp – reduced axes of which each result takes a few neighbouring points
#include "codegen/narrow_axes.h"

#include <algorithm>
#include <optional>

#include "codegen/fold_indices.h"

namespace ricci::codegen {

namespace {

/// The points of a reduced axis from `first` on that a result takes.
struct Window {
    AffineForm first;
    std::int64_t extent = 0;
    std::size_t lower = 0;  ///< conditions
    std::size_t upper = 0;
};

/// The window that two conditions give: its ends move alike, with free axes alone, and never leave
/// the axis.
std::optional<Window> window(const Kernel& kernel, const Axis& axis) {
    const std::vector<AffineForm>& conditions = kernel.conditions.at_least_zero;
    const AxisRanges ranges(kernel);
    for (std::size_t lower = 0; lower < conditions.size(); ++lower) {
        if (conditions[lower].coefficient(axis.var) != 1) continue;
        for (std::size_t upper = 0; upper < conditions.size(); ++upper) {
            if (conditions[upper].coefficient(axis.var) != -1) continue;
            const AffineForm last_less_first = conditions[lower] + conditions[upper];
            const AffineForm first = form(axis.var) - conditions[lower];
            const bool moves_with_reduced = std::ranges::any_of(
                kernel.reduced,
                [&](const Axis& other) { return first.coefficient(other.var) != 0; });
            if (!last_less_first.is_constant() || moves_with_reduced) continue;
            const std::int64_t extent = last_less_first.constant + 1;
            const auto range = ranges.of(first);
            if (extent < 1 || extent >= axis.extent || !range || range->low < 0 ||
                range->high + extent > axis.extent)
                continue;
            return Window{first, extent, lower, upper};
        }
    }
    return std::nullopt;
}

}  // namespace

void narrow_axes(Kernel& kernel) {
    if (!kernel.body) return;
    for (Axis& axis : kernel.reduced) {
        const std::optional<Window> found = window(kernel, axis);
        if (!found) continue;
        auto& conditions = kernel.conditions.at_least_zero;
        conditions.erase(conditions.begin() + std::ptrdiff_t(std::max(found->lower, found->upper)));
        conditions.erase(conditions.begin() + std::ptrdiff_t(std::min(found->lower, found->upper)));
        axis.extent = found->extent;
        Substitution to;
        to.replace(axis.var, form(axis.var) + found->first);
        substitute(kernel, to);
    }
}

}  // namespace ricci::codegen
