// codegen/taken_rows.cpp – rows of a tile that conditions leave at the points of a sum
#include "codegen/taken_rows.h"

#include <algorithm>
#include <iterator>

#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

bool mentions_any(const AffineForm& form, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes,
                               [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
}

/// The points of axes one after the other, the last axis the fastest.
class Points {
  public:
    explicit Points(const std::vector<Axis>& axes) : axes_(axes), at_(axes.size()) {}

    [[nodiscard]] std::int64_t value_of(const AffineForm& form) const {
        std::int64_t value = 0;
        for (std::size_t i = 0; i < axes_.size(); ++i)
            value += form.coefficient(axes_[i].var) * at_[i];
        return value;
    }
    void next() {
        for (std::size_t i = axes_.size(); i-- > 0;) {
            if (++at_[i] < axes_[i].extent) return;
            at_[i] = 0;
        }
    }

  private:
    const std::vector<Axis>& axes_;
    std::vector<std::int64_t> at_;
};

}  // namespace

TakenRows taken_rows(const Kernel& kernel, const ContractionChoice& choice) {
    std::vector<Axis> rows = choice.whole_rows;
    rows.push_back(choice.row_axis);
    if (choice.tile.rows != choice.row_axis.extent) return {};
    const auto& all = kernel.conditions.at_least_zero;
    const auto mentioned = [&](const std::vector<Axis>& axes) {
        return std::ranges::any_of(
            all, [&](const AffineForm& form) { return mentions_any(form, axes); });
    };
    const bool are_lanes_masked = mentioned({choice.contraction.lane});
    if (!mentioned(choice.whole_rows) && !(are_lanes_masked && mentioned({choice.row_axis})))
        return {};
    std::vector<AffineForm> conditions;
    std::ranges::copy_if(all, std::back_inserter(conditions),
                         [&](const AffineForm& form) { return mentions_any(form, rows); });
    TakenRows result;
    for (const Axis& axis : kernel.reduced)
        if (std::ranges::any_of(conditions, [&](const AffineForm& form) {
                return form.coefficient(axis.var) != 0;
            }))
            result.axes.push_back(axis);
    if (result.axes.empty() || points(result.axes) > most_written_out) return {};
    Points point(result.axes);
    for (std::int64_t i = 0; i < points(result.axes); ++i, point.next()) {
        std::int64_t taken = 0;
        Points row(rows);
        for (std::int64_t r = 0; r < points(rows); ++r, row.next())
            taken += std::ranges::all_of(
                         conditions,
                         [&](const AffineForm& form) {
                             return form.constant + point.value_of(form) + row.value_of(form) >= 0;
                         })
                         ? 1
                         : 0;
        result.rows.push_back(taken);
    }
    return result;
}

RowConditions take_row_conditions(Kernel& kernel, const ContractionChoice& choice) {
    RowConditions result;
    const std::vector<Axis> written_out = taken_rows(kernel, choice).axes;
    for (const Axis& axis : written_out) result.written_out.push_back(axis.var);
    std::ranges::stable_partition(kernel.reduced, [&](const Axis& axis) {
        return std::ranges::find(written_out, axis) == written_out.end();
    });
    for (AffineForm& of_row : kernel.conditions.at_least_zero) {
        AffineForm of_any = of_row;
        for (const Axis& axis : choice.whole_rows) {
            const std::int64_t step = of_row.coefficient(axis.var);
            of_any = of_any - form(axis.var, step);
            of_any.constant += std::max<std::int64_t>(step, 0) * (axis.extent - 1);
        }
        const std::int64_t step = of_row.coefficient(choice.row_axis.var);
        of_any.constant += std::max<std::int64_t>(step, 0) * (choice.tile.rows - 1);
        if (of_any == of_row && step == 0) continue;
        result.tested.push_back(of_row);
        of_row = of_any;
    }
    return result;
}

}  // namespace ricci::codegen
