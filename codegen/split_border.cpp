// codegen/split_border.cpp – the core of an axis, where loop bounds stand still, and its borders
#include <algorithm>

#include "base/integer.h"
#include "codegen/fold_indices.h"
#include "codegen/lower.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The points of one axis at which every bound is its constant term.
class Core {
  public:
    Core(VarId var, std::int64_t extent) : var_(var), upper_(extent) {}

    /// A lower bound is the largest of its terms: the moving ones must not exceed the constant.
    bool restrict_lower(const LoopBound& bound) { return restrict_all(bound, -1); }
    /// An upper bound is the smallest.
    bool restrict_upper(const LoopBound& bound) { return restrict_all(bound, 1); }

    [[nodiscard]] std::int64_t lower() const { return lower_; }
    [[nodiscard]] std::int64_t upper() const { return upper_; }
    [[nodiscard]] bool moves() const { return moves_; }

  private:
    bool restrict_all(const LoopBound& bound, std::int64_t sign) {
        std::optional<std::int64_t> constant;
        for (const BoundTerm& term : bound)
            if (term.form.is_constant()) constant = term.form.constant;
        for (const BoundTerm& term : bound) {
            if (term.form.coefficient(var_) == 0) continue;
            moves_ = true;
            if (!constant || term.form.terms.size() != 1) return false;
            // sign * (coefficient * x + rest) >= 0
            require(sign * term.form.coefficient(var_),
                    sign * (term.form.constant - *constant * term.divisor));
        }
        return true;
    }
    void require(std::int64_t coefficient, std::int64_t rest) {
        if (coefficient > 0)
            lower_ = std::max(lower_, ceil_div(-rest, coefficient));
        else
            upper_ = std::min(upper_, floor_div(rest, -coefficient) + 1);
    }

    VarId var_;
    std::int64_t lower_ = 0;
    std::int64_t upper_;
    bool moves_ = false;
};

}  // namespace

std::vector<Kernel> split_border(const Kernel& kernel, std::int64_t lanes) {
    if (kernel.conditions.is_empty() || kernel.has_meeting_writes()) return {};
    const ReducedLoops reduced = reduced_loops(kernel, kernel.reduced);
    for (std::size_t i = kernel.free.size(); i-- > 0;) {
        const Axis axis = kernel.free[i];
        const bool is_contiguous = std::ranges::all_of(kernel.writes, [&](const Store& write) {
            return !write.at.computed && write.at.affine.coefficient(axis.var) == 1;
        });
        if (!is_contiguous) continue;
        Core core(axis.var, axis.extent);
        bool is_known = true;
        for (const ReducedLoop& loop : reduced.loops)
            is_known =
                is_known && core.restrict_lower(loop.lower) && core.restrict_upper(loop.upper);
        const std::int64_t lower = std::max<std::int64_t>(core.lower(), 0);
        const std::int64_t upper = core.upper();
        if (!is_known || !core.moves() || upper - lower < lanes) return {};
        std::vector<Kernel> parts;
        if (lower > 0) parts.push_back(slice(kernel, i, 0, lower, "_first"));
        parts.push_back(slice(kernel, i, lower, upper, ""));
        if (upper < axis.extent) parts.push_back(slice(kernel, i, upper, axis.extent, "_last"));
        return parts.size() > 1 ? parts : std::vector<Kernel>{};
    }
    return {};
}

}  // namespace ricci::codegen
