// codegen/interval_blocks.cpp – points of intervals that a task passes over in blocks
#include "codegen/interval_blocks.h"

#include <algorithm>

#include "codegen/block_conditions.h"
#include "codegen/data_intervals.h"
#include "codegen/nest_build.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

constexpr std::int64_t points_together = 64;

Value compare(Op op, const Value& a, const AffineForm& b) {
    return make_operation(op, {a, make_index(b)}, DType::boolean);
}

/// Where no element of the piece lies in the interval of a point, as its ends say; empty where
/// these move with anything else.
Value misses(const Kernel& kernel, const AxisRange& piece, VarId point) {
    const AxisRanges ranges(kernel);
    const IndexRange range{0, piece.axis.extent - 1};
    Value result;
    for (const Value& part : conjuncts(condition_of_update(kernel)))
        for (const DataInequality& each : data_inequalities(part)) {
            const std::int64_t step = each.coefficient(piece.axis.var);
            if (step == 0) continue;
            const AffineForm rest =
                each.left.form - each.right.form - form(each.gap) - form(piece.axis.var, step);
            const std::optional<Value> limit =
                limit_of_data(each, step, rest, ranges.of(rest), range);
            if (!limit || !is_inside_everywhere(kernel, part)) continue;
            const bool is_alone = std::ranges::all_of(
                axes_of(kernel, *limit), [&](const Axis& axis) { return axis.var == point; });
            if (!is_alone) continue;
            const LoopBound& ends = step > 0 ? piece.upper : piece.lower;
            for (const BoundTerm& end : ends) {
                const Value is_beyond = compare(step > 0 ? Op::ge : Op::le, *limit, end.form);
                result = result
                             ? make_operation(Op::logical_or, {result, is_beyond}, DType::boolean)
                             : is_beyond;
            }
        }
    return result;
}

}  // namespace

Body wrap_in_blocks(Kernel& kernel, const std::vector<AxisRange>& loops,
                    const std::optional<AxisRange>& lanes, Body body) {
    if (loops.empty() || !updates_intervals(kernel)) return wrap(loops, std::move(body));
    const AxisRange& points = loops.front();
    std::vector<AxisRange> inner(loops.begin() + 1, loops.end());
    std::vector<AxisRange> pieces = inner;
    if (lanes) pieces.push_back(*lanes);
    const auto piece =
        std::ranges::find_if(pieces, [](const AxisRange& range) { return !is_whole(range); });
    if (piece == pieces.end() || !is_whole(points) || points.axis.extent < points_together ||
        !kernel.collides(points.axis.var))
        return wrap(loops, std::move(body));
    const Value is_none = misses(kernel, *piece, points.axis.var);
    if (!is_none) return wrap(loops, std::move(body));

    Nest& nest = kernel.nest;
    const VarId block = nest.add(Var{nest.at(points.axis.var).name + "_block"});
    const BufferId passed = add_registers(nest, "passed", DType::i32, 1);
    const AffineForm end = form(block) + form(points_together);
    Body test;
    const Value all =
        holds_in_block(kernel, test, block, points_together, [&](const AffineForm& place) {
            Substitution at;
            at.replace(points.axis.var, place);
            return at(is_none);
        });
    test.push_back(make_store(passed, {form(0)}, make_convert(all, DType::i32)));
    Body turn;
    turn.push_back(make_store(passed, {form(0)}, make_integer(0, DType::i32)));
    append(turn,
           guarded(compare(Op::le, make_index(end), form(points.axis.extent)), std::move(test)));
    AxisRange rows = points;
    rows.lower = bound(form(block));
    rows.upper = with(bound(points.axis.extent), end);
    inner.insert(inner.begin(), rows);
    const Value is_met = make_operation(
        Op::eq, {make_load(nest, passed, {form(0)}), make_integer(0, DType::i32)}, DType::boolean);
    append(turn, guarded(is_met, wrap(inner, std::move(body))));
    return {make_loop(block, Bind::serial, bound(0), bound(points.axis.extent), std::move(turn),
                      points_together)};
}

}  // namespace ricci::codegen
