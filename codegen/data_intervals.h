// codegen/data_intervals.h – conditions that points lie between data
//
//     y[i] := sum[e | e >= p[i] && e < p[i+1]](v[e]*x[c[e]])
//
// Loops run over the points of such an interval alone (the pass `bounds`) where what moves its ends
// stands outside: lanes and results side by side would have intervals of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "codegen/fold_indices.h"
#include "codegen/kernel.h"

namespace ricci::codegen {

/// A sum of a form and of data, `+data` or `-data`.
struct DataSum {
    struct Term {
        Value data;
        bool is_negative = false;
    };
    AffineForm form;
    std::vector<Term> terms;
};
/// `left - right - gap >= 0`.
struct DataInequality {
    DataSum left;
    DataSum right;
    std::int64_t gap = 0;

    /// What the difference has of the variable.
    [[nodiscard]] std::int64_t coefficient(VarId var) const {
        return left.form.coefficient(var) - right.form.coefficient(var);
    }
};
/// What a comparison of i64 with data says; nothing of other conditions.
[[nodiscard]] std::vector<DataInequality> data_inequalities(const Value& condition);

/// Whether it says what its data say, as no sum of it leaves 64 bits.
[[nodiscard]] bool is_sure(const DataInequality& inequality);
/// The first value of a variable that satisfies `step * variable + rest + data >= 0` (step > 0), or
/// the first one after those. `range` is what the variable runs over: all of it where a sum of the
/// inequality may leave 64 bits, as the data say. Nothing where `rest`, of that range, is not near.
[[nodiscard]] std::optional<Value> limit_of_data(const DataInequality& inequality,
                                                 std::int64_t step, AffineForm rest,
                                                 const std::optional<IndexRange>& rest_range,
                                                 const IndexRange& range);
/// An operation on two i64.
[[nodiscard]] Value on_integers(Op op, Value a, Value b);

/// Axes of fewer points are left to masks, and to looks at all points.
inline constexpr std::int64_t least_interval_extent = 48;
/// An axis of so many points that a loop over few of them is worth it, of which a condition leaves
/// those of an interval.
struct DataInterval {
    Axis axis;
    std::vector<VarId> moved_by;  ///< axes that its ends move with
};
/// Those of the axes that a kernel reduces, and, where it updates, of the free ones.
[[nodiscard]] std::vector<DataInterval> data_intervals(const Kernel& kernel);
/// Those of the axes that a condition gives, moved by any of the others.
[[nodiscard]] std::vector<DataInterval> data_intervals(const std::vector<Axis>& axes,
                                                       const Value& condition);
/// Gives the innermost loop, which no bound narrows yet, those ends of an interval that no axis of
/// `lanes` moves and that are read whatever the data are, the upper one no less than the lower one.
/// The kernel's body and the test of the loops are without these conditions.
void take_interval(Kernel& kernel, ReducedLoops& loops, const std::vector<Axis>& lanes);
/// Which part of an interval's axis it is taken to have: data decide.
inline constexpr double part_of_interval = 1.0 / 8;
/// The same where lanes along it would be far from each other, so that longer ones lose.
inline constexpr double part_of_long_interval = 1.0 / 2;
/// The axes that the ends of intervals move with.
[[nodiscard]] std::set<VarId> moving_axes(const Kernel& kernel);
/// Whether the axis is one of these, or an interval's: points of it are not taken side by side.
[[nodiscard]] bool has_interval(const Kernel& kernel, VarId axis);
/// Whether each point of the axes that run in order updates the elements of an interval.
[[nodiscard]] bool updates_intervals(const Kernel& kernel);
/// Where an update changes anything: what its value, or `Kernel::where`, says. May be empty.
[[nodiscard]] Value condition_of_update(const Kernel& kernel);
/// Of a kernel that updates intervals by what it reduces: makes those parts of the condition its
/// `where` that decide which of their points exist.
void take_where(Kernel& kernel);

}  // namespace ricci::codegen
