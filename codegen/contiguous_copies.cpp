// codegen/contiguous_copies.cpp – operands copied so that they are contiguous along the lanes' axis
#include "codegen/contiguous_copies.h"

#include <algorithm>

#include "codegen/cache_lines.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

class Copies {
  public:
    Copies(const Kernel& kernel, const Axis& along, PlanBuilder& builder)
        : kernel_(kernel), along_(along), builder_(builder) {
        for_each_node({kernel.body}, [&](const Value& value) {
            if (const auto* load = std::get_if<Load>(&value->term)) add(value, *load);
        });
        has_contiguous_ |= std::ranges::any_of(kernel.writes, [&](const Store& write) {
            return write.at.affine.coefficient(along.var) == 1;
        });
    }

    /// As the plan would be, before anything is added to it. Nothing where an operand can not be
    /// copied, where none need be, or where copies alone take so long.
    [[nodiscard]] std::optional<CopiedReduction> estimate(double limit) const {
        constexpr double copied = 0.6;     // an element of a transposed copy, in cycles
        constexpr double from_memory = 1;  // which no cache holds
        constexpr double step = 500;       // of the plan, for each copy
        const bool is_far = bytes_ > 8 * double(builder_.target().l2_bytes);
        const double cycles =
            step * double(loads_.size()) + elements_ * (is_far ? copied + from_memory : copied);
        if (!is_possible_ || loads_.empty() || cycles >= limit) return std::nullopt;
        CopiedReduction result{.kernel = kernel_, .copies = {}, .lanes = {}, .cycles = cycles};
        replace_all(result.kernel, [&](const Value& load, const AffineForm& place) {
            return make_load(kernel_.nest, std::get<Load>(load->term).buffer, {place});
        });
        result.lanes = choose_lanes(result.kernel, builder_.target());
        result.cycles += result.lanes.cycles;
        return result.cycles >= limit ? std::nullopt : std::optional(std::move(result));
    }
    /// Whether an operand or a result is contiguous as the kernel is written.
    [[nodiscard]] bool has_contiguous() const { return has_contiguous_; }

    /// How often an element of the copies is read, on average.
    [[nodiscard]] double reuse() const {
        return double(points(kernel_.free)) * double(points(kernel_.reduced)) / elements_;
    }

    void add_to_plan(CopiedReduction& result) const {
        // Every task reads all that was copied, by one task where it is little.
        const bool is_alone =
            bytes_ / double(line_bytes) * handing_over_cycles > result.lanes.cycles / 2;
        if (is_alone) result.kernel.most_tasks = 1;
        replace_all(result.kernel, [&](const Value& load, const AffineForm& place) {
            const std::string name = kernel_.nest.name + "_rows";
            const std::vector<Axis> axes = axes_of_copy(load);
            const std::size_t to = builder_.temporary(name, load->dtype, points(axes));
            Kernel& copy = result.copies.emplace_back(kernel_.step_beside(name));
            copy.most_tasks = result.kernel.most_tasks;
            copy.free = axes;
            copy.writes = {Store{.buffer = copy.argument(builder_.plan(), to, true),
                                 .at = {place},
                                 .value = load,
                                 .combine = std::nullopt}};
            const BufferId from = result.kernel.argument(builder_.plan(), to, false);
            return make_load(result.kernel.nest, from, {place});
        });
    }

  private:
    void add(const Value& value, const Load& load) {
        if (!depends_on(value, along_.var)) return;
        if (!load.at.computed && load.at.affine.coefficient(along_.var) == 1) {
            has_contiguous_ = true;
            return;
        }
        is_possible_ &= !load.at.computed && is_inside_everywhere(kernel_, value);
        loads_.push_back(value);
        const auto elements = double(points(axes_of(kernel_, value)));
        elements_ += elements;
        bytes_ += elements * double(size_bytes(value->dtype));
    }
    [[nodiscard]] std::vector<Axis> axes_of_copy(const Value& load) const {
        std::vector<Axis> axes = axes_of(kernel_, load);
        std::ranges::stable_partition(axes, [&](const Axis& axis) { return axis != along_; });
        return axes;
    }
    template <typename Make>
    void replace_all(Kernel& kernel, const Make& copy_of) const {
        Substitution to;
        for (const Value& load : loads_) {
            AffineForm place;
            std::int64_t step = 1;
            const std::vector<Axis> axes = axes_of_copy(load);
            for (std::size_t i = axes.size(); i-- > 0; step *= axes[i].extent)
                place = place + form(axes[i].var, step);
            to.replace(load, copy_of(load, place));
        }
        kernel.body = to(kernel_.body);
    }

    const Kernel& kernel_;
    const Axis& along_;
    PlanBuilder& builder_;
    std::vector<Value> loads_;
    double elements_ = 0;
    double bytes_ = 0;
    bool is_possible_ = true;
    bool has_contiguous_ = false;
};

/// Copies in another order than memory's take as long as so many reads, or longer.
constexpr double least_reuse = 4;

bool may_copy(const Kernel& kernel) {
    return kernel.slices.empty() && kernel.conditions.is_empty();
}

}  // namespace

std::optional<CopiedReduction> with_contiguous_rows(const Kernel& kernel, double limit,
                                                    PlanBuilder& builder) {
    if (kernel.reduced.size() != 1 || !may_copy(kernel)) return std::nullopt;
    const Axis& along = kernel.reduced[0];
    bool do_all_move = true;
    for_each_node({kernel.body}, [&](const Value& value) {
        if (const auto* load = std::get_if<Load>(&value->term))
            do_all_move &= load->at.affine.coefficient(along.var) != 0;
    });
    if (!do_all_move) return std::nullopt;
    const Copies copies(kernel, along, builder);
    std::optional<CopiedReduction> rows = copies.estimate(limit);
    if (!rows || !rows->lanes.is_reduced_axis || rows->lanes.tile.axes.empty()) return std::nullopt;
    copies.add_to_plan(*rows);
    return rows;
}

std::optional<CopiedReduction> with_contiguous_lanes(const Kernel& kernel, double limit,
                                                     PlanBuilder& builder) {
    if (!may_copy(kernel)) return std::nullopt;
    std::optional<CopiedReduction> best;
    std::optional<Copies> copies;
    for (const Axis& axis : kernel.free) {
        const Copies along(kernel, axis, builder);
        if (!along.has_contiguous() || along.reuse() < least_reuse) continue;
        std::optional<CopiedReduction> found = along.estimate(best ? best->cycles : limit);
        if (!found || found->lanes.axis != axis) continue;
        best = std::move(found);
        copies.emplace(along);
    }
    if (best) copies->add_to_plan(*best);
    return best;
}

}  // namespace ricci::codegen
