// codegen/gpu/tiled_contraction.cpp – a kernel as tiles of rows and columns
#include "codegen/gpu/tiled_contraction.h"

#include <algorithm>

#include "codegen/gpu/stage_operand.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

namespace {

/// Reduced points that tiles of every depth divide.
constexpr std::int64_t strip = 16;

bool depends_on_any(const Value& value, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](const Axis& axis) { return depends_on(value, axis.var); });
}

/// Makes operands of what the body holds besides: terms of the reduced axes alone are staged with
/// the rows, loads that stand still are held.
class Remainder {
  public:
    Remainder(const Kernel& kernel, Contraction& contraction) : kernel_(kernel), c_(contraction) {
        sides_ = c_.rows;
        sides_.insert(sides_.end(), c_.columns.begin(), c_.columns.end());
        sides_.push_back(c_.lane);
    }
    void visit(const Value& value) {
        if (is_operand(value)) return;
        if (!depends_on_any(value, sides_)) {
            if (depends_on_any(value, kernel_.reduced))
                c_.row_operands.push_back({value, true, false});
            else if (has_load(value))
                c_.held.push_back({value, false, false});
            return;
        }
        for (const Value& part : operands(value)) visit(part);
    }

  private:
    [[nodiscard]] bool is_operand(const Value& value) const {
        for (const auto* list : {&c_.row_operands, &c_.column_operands, &c_.held})
            if (std::ranges::any_of(*list, [&](const Operand& o) { return o.term == value; }))
                return true;
        return false;
    }
    static bool has_load(const Value& value) {
        if (std::holds_alternative<Load>(value->term)) return true;
        return std::ranges::any_of(operands(value), has_load);
    }

    const Kernel& kernel_;
    Contraction& c_;
    std::vector<Axis> sides_;
};

/// Whether every load of the term stays in its buffer at all points of all axes, whatever the
/// conditions.
bool stays_inside(const Kernel& kernel, const Value& term) {
    if (const auto* load = std::get_if<Load>(&term->term)) {
        if (load->at.computed) return false;
        std::int64_t least = load->at.affine.constant;
        std::int64_t greatest = least;
        for (const AffineForm::Term& part : load->at.affine.terms) {
            std::int64_t extent = 1;
            for (const auto* axes : {&kernel.free, &kernel.reduced})
                for (const Axis& axis : *axes)
                    if (axis.var == part.var) extent = axis.extent;
            (part.coefficient < 0 ? least : greatest) += part.coefficient * (extent - 1);
        }
        return least >= 0 && greatest < kernel.nest.at(load->buffer).elements;
    }
    return std::ranges::all_of(operands(term),
                               [&](const Value& part) { return stays_inside(kernel, part); });
}

/// Operands are evaluated where the conditions of their own side hold: where there are conditions
/// of the other side, that alone must keep them inside their arrays.
bool may_be_staged(const Kernel& kernel, const Contraction& c) {
    const auto all_stay = [&](const std::vector<Operand>& operands) {
        return std::ranges::all_of(
            operands, [&](const Operand& operand) { return stays_inside(kernel, operand.term); });
    };
    return (!c.row_condition || all_stay(c.column_operands)) &&
           (!c.column_condition || all_stay(c.row_operands)) &&
           ((!c.row_condition && !c.column_condition) || all_stay(c.held));
}

/// The rows with the axis last that the operands are contiguous in.
void order_rows(Contraction& c) {
    const auto last = std::ranges::find_if(c.rows, [&](const Axis& axis) {
        return std::ranges::any_of(c.row_operands, [&](const Operand& operand) {
            return is_contiguous(operand.term, axis.var);
        });
    });
    if (last != c.rows.end()) std::rotate(last, last + 1, c.rows.end());
}

/// The operand whose rows or columns are more: what is staged of it stands for more of its array.
const Operand& main_operand(const Contraction& c) {
    const bool by_rows = points(c.rows) > points(c.columns) * c.lane.extent;
    return by_rows ? c.row_operands.front() : c.column_operands.front();
}

/// The reduced axis that threads are best put along to stage the operand; none where they go along
/// its rows or columns.
std::optional<Axis> axis_to_run_along(const Kernel& kernel, const Contraction& c,
                                      const Operand& operand) {
    constexpr std::int64_t width = 64;
    std::vector<Axis> across = operand.has_rows ? c.rows : c.columns;
    if (!operand.has_rows) across.push_back(c.lane);
    std::optional<Axis> best;
    double least = 0;
    for (const Axis& axis : kernel.reduced) {
        std::vector<Axis> depth = kernel.reduced;
        std::erase(depth, axis);
        depth.push_back(axis);
        const StageWay way = choose_way(kernel.nest, {operand.term}, joined({operand.term}, across),
                                        width, joined({operand.term}, depth), strip);
        if (!way.is_along_depth || (best && way.sectors >= least)) continue;
        best = axis;
        least = way.sectors;
    }
    return best;
}

/// Orders the reduced axes, the outermost first, such that tiles of reduced points are cheap to
/// stage. The innermost is the one that threads run along for the main operand, when they do not
/// run along its rows or columns. Else it is one that whole tiles fit into: a strip of it, the rest
/// of it outermost, so that the others stand still in a tile and what they touch is touched again
/// soon.
void order_depth(Kernel& kernel, const Contraction& c) {
    std::vector<Axis>& axes = kernel.reduced;
    if (axes.size() < 2) return;
    if (const auto along = axis_to_run_along(kernel, c, main_operand(c))) {
        std::erase(axes, *along);
        axes.push_back(*along);
        return;
    }
    const auto last = std::ranges::max_element(
        axes, {}, [](const Axis& axis) { return axis.extent % strip == 0 ? axis.extent : 0; });
    if (last->extent % strip != 0) return;
    const Axis whole = *last;
    axes.erase(last);
    const Axis part{kernel.nest.add(Var{kernel.nest.at(whole.var).name}), strip};
    axes.push_back(part);
    if (whole.extent == strip) {
        axes.back().var = whole.var;
        return;
    }
    axes.insert(axes.begin(), {whole.var, whole.extent / strip});
    Substitution to;
    to.replace(whole.var, form(whole.var, strip) + form(part.var));
    kernel.body = to(kernel.body);
    for (AffineForm& row : kernel.conditions.at_least_zero) row = to(row);
    for (AffineForm& row : kernel.conditions.equal_zero) row = to(row);
    if (kernel.conditions.rest) kernel.conditions.rest = to(kernel.conditions.rest);
}

std::optional<Contraction> find(const Kernel& kernel) {
    std::optional<Contraction> c = find_contraction(kernel, LaneRule::nearest);
    if (!c) return std::nullopt;
    Remainder(kernel, *c).visit(c->body);
    order_rows(*c);
    return c;
}

}  // namespace

std::optional<TiledContraction> find_tiled_contraction(const Kernel& kernel) {
    if (!kernel.body || points(kernel.free) == 0 || points(kernel.reduced) == 0)
        return std::nullopt;
    std::optional<Contraction> c = find(kernel);
    if (!c || !may_be_staged(kernel, *c)) return std::nullopt;
    TiledContraction tiled{kernel, std::move(*c)};
    order_depth(tiled.kernel, tiled.contraction);
    // The terms are other ones where an axis was cut.
    if (c = find(tiled.kernel); !c) return std::nullopt;
    tiled.contraction = std::move(*c);
    return tiled;
}

}  // namespace ricci::codegen::gpu
