// codegen/side_by_side.cpp – points of one more axis that lanes over a free axis sum side by side
#include "codegen/side_by_side.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <unordered_set>

#include "codegen/fold_indices.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Of more vectors of accumulators than this, few registers are left for what they share.
constexpr std::int64_t most_vectors = 16;
/// Instructions on vectors of all windows of a block: they are written out.
constexpr std::int64_t most_updates = 80;
/// Those of AVX-512 hold that many beside what they share; 16 do not.
constexpr int least_registers = 32;
/// Of bodies that compute more, as an exponential does (20), loads are the least part, and what is
/// written out takes long to compile.
constexpr double most_operations = 19;
/// Points between those of neighbouring lanes that are written out.
constexpr std::int64_t most_between = 8;
/// Reduced points that are written out for each of so many points side by side.
constexpr std::int64_t most_points_written_out = 16;
constexpr std::int64_t most_rows = 8;
/// Loads with several vectors of a row side by side, at most, to those with one, of which most rows
/// fit into the registers. 7x7 sums over 56 columns took 1.45 ms with two vectors of four
/// rows, 1.88 with three of two; of 3 rows 0.66 with two of eight and 0.43 with three of four.
constexpr double most_loads_of_unroll = 1.5;
/// Loads of vectors for each that is added, at most. Maxima of 3 rows with a stride of 2, of
/// which four windows read nine rows at a time, took 1.45 ms instead of 1.0 from memory, and 12 us
/// instead of 15 from a cache.
constexpr double most_loads_left = 0.65;
/// Windows further apart share little.
constexpr std::int64_t most_stride = 4;

/// A window: a free axis t and a reduced one u, of which what moves with the lanes is read at a
/// multiple of `step*t + u`; of `t - u` the step is -1.
struct Window {
    Axis free;
    Axis reduced;
    std::int64_t step = 0;

    /// Points of u from one window to the next.
    [[nodiscard]] std::int64_t stride() const { return std::abs(step); }
};

/// Whether the form depends on t and u by the window's place alone.
bool goes_by_window(const AffineForm& form, const Window& window) {
    return form.coefficient(window.free.var) == window.step * form.coefficient(window.reduced.var);
}

bool moves(const AffineForm& form, const Window& window) {
    return form.coefficient(window.free.var) != 0 || form.coefficient(window.reduced.var) != 0;
}

/// The affine forms that a value is computed from.
std::vector<AffineForm> forms_of(const Value& value) {
    std::vector<AffineForm> forms;
    for_each_node({value}, [&](const Value& node) {
        if (const auto* load = std::get_if<Load>(&node->term)) forms.push_back(load->at.affine);
        if (const auto* index = std::get_if<VarValue>(&node->term)) forms.push_back(index->form);
    });
    return forms;
}

/// What the body reads in lanes: elements, or guarded reads of them. Nothing where some are at
/// places that are no affine forms, or are chosen otherwise: those may not be read everywhere.
std::vector<Value> reads_of_vectors(const Kernel& kernel, VarId lane) {
    std::vector<Value> reads;
    bool are_plain = true;
    std::unordered_set<const ValueNode*> seen;
    const std::function<void(const Value&)> visit = [&](const Value& node) {
        if (!seen.insert(node.get()).second) return;
        if (depends_on(node, lane) && guarded_read(node)) {
            reads.push_back(node);
            return;
        }
        are_plain &= !is_operation(node, Op::select);
        if (const auto* load = std::get_if<Load>(&node->term)) {
            are_plain &= !load->at.computed;
            if (load->at.affine.coefficient(lane) != 0) reads.push_back(node);
        }
        for (const Value& operand : operands(node)) visit(operand);
    };
    visit(kernel.body);
    return are_plain ? reads : std::vector<Value>{};
}

/// Loads of a window's points that may be done for all lanes at once.
std::vector<Value> loads_of_weights(const Kernel& kernel, VarId lane, const Window& window) {
    std::vector<Value> loads;
    for_each_node({kernel.body}, [&](const Value& node) {
        const auto* load = std::get_if<Load>(&node->term);
        if (load != nullptr && !load->at.computed && load->at.affine.coefficient(lane) == 0 &&
            moves(load->at.affine, window) && is_inside_everywhere(kernel, node))
            loads.push_back(node);
    });
    return loads;
}

/// Whether a condition of no reduced index leaves windows empty: masks say it of lanes, and bounds
/// of the window's loop, which shared windows do without, of all others.
bool empties_windows(const Kernel& kernel, const AffineForm& condition, const LanePlan& lanes) {
    const bool is_of_points = std::ranges::any_of(
        kernel.reduced, [&](const Axis& axis) { return condition.coefficient(axis.var) != 0; });
    const bool is_masked = lanes.is_masked && condition.coefficient(lanes.axis->var) != 0;
    if (is_of_points || is_masked) return false;
    const auto range = AxisRanges(kernel).of(condition);
    return !range || range->low < 0;
}
bool empties_windows(const Kernel& kernel, const LanePlan& lanes) {
    const auto empties = [&](const AffineForm& condition) {
        return empties_windows(kernel, condition, lanes);
    };
    return std::ranges::any_of(kernel.conditions.at_least_zero, empties) ||
           std::ranges::any_of(kernel.conditions.equal_zero, empties);
}

bool is_shared(const Kernel& kernel, const std::vector<Value>& reads, VarId lane,
               const Window& window) {
    const Conditions& conditions = kernel.conditions;
    return std::ranges::none_of(conditions.equal_zero,
                                [&](const AffineForm& form) { return moves(form, window); }) &&
           std::ranges::all_of(conditions.at_least_zero,
                               [&](const AffineForm& form) {
                                   return !moves(form, window) || (goes_by_window(form, window) &&
                                                                   form.coefficient(lane) == 0);
                               }) &&
           std::ranges::all_of(reads, [&](const Value& read) {
               const std::vector<AffineForm> forms = forms_of(read);
               return std::ranges::any_of(
                          forms, [&](const AffineForm& form) { return moves(form, window); }) &&
                      std::ranges::all_of(forms, [&](const AffineForm& form) {
                          return goes_by_window(form, window);
                      });
           });
}

/// Whether points along a free axis read the same vectors anyway.
bool have_equal_vectors(const Kernel& kernel, const std::vector<Value>& reads, VarId lane) {
    return std::ranges::any_of(kernel.free, [&](const Axis& axis) {
        return axis.var != lane && divisor_up_to(axis.extent, most_vectors / 2) > 1 &&
               std::ranges::none_of(reads,
                                    [&](const Value& read) { return depends_on(read, axis.var); });
    });
}

/// How many windows are a block's.
std::int64_t rows_of_block(const Window& window, std::int64_t unroll) {
    const std::int64_t most = std::min(most_vectors, most_updates / window.reduced.extent);
    return divisor_up_to(window.free.extent, most / unroll);
}

/// Vectors that are loaded for each that is added to a sum.
double loads(const Window& window, std::int64_t unroll) {
    const std::int64_t rows = rows_of_block(window, unroll);
    const std::int64_t points = window.reduced.extent;
    return double(points + window.stride() * (rows - 1)) / double(rows * points);
}

/// The longest pieces of rows, which are near in memory, that need few loads.
std::int64_t choose_unroll(const Window& window, std::int64_t most) {
    for (std::int64_t unroll = most; unroll > 1; --unroll)
        if (rows_of_block(window, unroll) > 1 &&
            loads(window, unroll) <= most_loads_of_unroll * loads(window, 1))
            return unroll;
    return 1;
}

/// The window with most points; rows of it are at least two.
std::optional<Window> widest_window(const Kernel& kernel, VarId lane,
                                    const std::vector<Value>& reads) {
    std::optional<Window> widest;
    for (const Axis& free : kernel.free) {
        if (free.var == lane || kernel.collides(free.var)) continue;
        for (const Axis& reduced : kernel.reduced)
            for (std::int64_t stride = 1; stride <= most_stride; ++stride)
                for (const std::int64_t step : {-stride, stride}) {
                    const Window window{free, reduced, step};
                    const bool is_wider = !widest || reduced.extent > widest->reduced.extent;
                    if (reduced.extent > stride && is_wider && rows_of_block(window, 1) > 1 &&
                        is_shared(kernel, reads, lane, window))
                        widest = window;
                }
    }
    return widest;
}

}  // namespace

std::optional<Axis> axis_between_lanes(const Kernel& kernel, const Axis& lane) {
    const auto is_between = [&](const Axis& axis) {
        return axis != lane && axis.extent > 1 && axis.extent <= most_between &&
               !kernel.collides(axis.var) &&
               std::ranges::all_of(kernel.writes, [&](const Store& write) {
                   const std::int64_t step = std::abs(write.at.affine.coefficient(axis.var));
                   const std::int64_t of_lane = write.at.affine.coefficient(lane.var);
                   return !write.combine && !write.at.computed && step > 0 &&
                          step < std::abs(of_lane);
               });
    };
    const auto found = std::ranges::find_if(kernel.free, is_between);
    return found == kernel.free.end() ? std::nullopt : std::optional(*found);
}

std::optional<Axis> transposed_axis(const Kernel& kernel, const Axis& lane, std::int64_t lanes,
                                    const Target& target) {
    if (kernel.body || lanes < least_square) return std::nullopt;
    const std::vector<Touch> all = touches(kernel);
    const auto is_in_squares = [&](const Axis& axis) {
        return axis != lane && !kernel.collides(axis.var) &&
               points_in_squares(axis.extent, lanes, target) > 0 &&
               std::ranges::any_of(all, [&](const Touch& touch) {
                   const std::int64_t step = touch.address.coefficient(lane.var);
                   return !touch.is_store && !touch.is_computed && step != 0 && step != 1 &&
                          touch.address.coefficient(axis.var) == 1;
               });
    };
    const auto found = std::ranges::find_if(kernel.free, is_in_squares);
    return found == kernel.free.end() ? std::nullopt : std::optional(*found);
}

std::optional<RowsOfLanes> find_rows_of_lanes(const Kernel& kernel, const Axis& lane,
                                              const Target& target) {
    if (!has_masked_stores(target) || !kernel.body || !kernel.conditions.is_empty() ||
        !kernel.needed_where.empty() || points(kernel.reduced) > most_points_written_out)
        return std::nullopt;
    std::vector<Touch> far;
    for (Touch& touch : touches(kernel)) {
        const std::int64_t step = touch.address.coefficient(lane.var);
        if (touch.is_computed && depends_on(touch.computed, lane.var)) return std::nullopt;
        if (touch.is_reduced && std::abs(step) > longest_short_step)
            far.push_back(std::move(touch));
    }
    if (far.empty()) return std::nullopt;
    // Elements of the row that a lane reads, all of one axis included; 0 where it is no row.
    const auto columns = [&](const Touch& touch, const std::optional<Axis>& axis) {
        std::vector<Axis> axes = kernel.reduced;
        if (axis) axes.push_back(*axis);
        std::int64_t last = 0;
        for (const Axis& each : axes) {
            const std::int64_t step = touch.address.coefficient(each.var);
            if (step < 0) return std::int64_t{0};
            last += step * (each.extent - 1);
        }
        return last < std::min(touch.address.coefficient(lane.var), most_columns_of_rows) ? last + 1
                                                                                          : 0;
    };
    std::optional<RowsOfLanes> best;
    const auto consider = [&](const std::optional<Axis>& axis) {
        RowsOfLanes rows{.axis = axis};
        for (const Touch& touch : far) {
            const std::int64_t found = columns(touch, axis);
            if (found <= least_columns) return;
            rows.columns = std::max(rows.columns, found);
        }
        if (!best || rows.columns > best->columns) best = rows;
    };
    consider(std::nullopt);
    if (kernel.is_arg_reduction()) return best;
    for (const Axis& axis : kernel.free)
        if (axis != lane && axis.extent > 1 && axis.extent <= most_rows &&
            !kernel.collides(axis.var))
            consider(axis);
    return best;
}

std::int64_t divisor_up_to(std::int64_t extent, std::int64_t most) {
    while (most > 1 && extent % most != 0) --most;
    return most;
}

bool may_share_windows(const Target& target) { return target.vector_registers >= least_registers; }

std::optional<Windows> share_windows(Kernel& kernel, const LanePlan& lanes,
                                     std::int64_t most_unroll, const Target& target) {
    if (!lanes.axis || lanes.is_reduced_axis || !may_share_windows(target) ||
        kernel.is_arg_reduction() || kernel.conditions.rest || !kernel.needed_where.empty() ||
        body_cost(kernel) > most_operations || empties_windows(kernel, lanes))
        return std::nullopt;
    std::vector<Value> reads = reads_of_vectors(kernel, lanes.axis->var);
    if (reads.empty() || have_equal_vectors(kernel, reads, lanes.axis->var)) return std::nullopt;
    const std::optional<Window> window = widest_window(kernel, lanes.axis->var, reads);
    if (!window || loads(*window, 1) > most_loads_left) return std::nullopt;

    const std::int64_t unroll = choose_unroll(*window, most_unroll);
    const std::int64_t rows = rows_of_block(*window, unroll);
    const std::string& name = kernel.nest.at(window->free.var).name;
    const Axis row{kernel.nest.add(Var{name + "_row"}), rows};
    // Row r of a block reads at step*r + u: its u is q - step*r of a point q that all rows share.
    // Of a negative step points begin with step*(rows - 1), which is taken off.
    const std::int64_t more = window->stride() * (rows - 1);
    const AffineForm place =
        form(window->reduced.var) - form(row.var, window->step) - form(window->step < 0 ? more : 0);
    Substitution to;
    to.replace(window->free.var, form(window->free.var, rows) + form(row.var));
    to.replace(window->reduced.var, place);
    std::vector<Value> weights = loads_of_weights(kernel, lanes.axis->var, *window);
    substitute(kernel, to);
    for (std::vector<Value>* values : {&reads, &weights})
        for (Value& value : *values) value = to(value);
    std::ranges::find(kernel.free, window->free)->extent = window->free.extent / rows;
    kernel.free.push_back(row);
    const Axis point{window->reduced.var, window->reduced.extent + more};
    std::erase(kernel.reduced, window->reduced);
    kernel.reduced.push_back(point);

    std::vector<AffineForm> where;
    const auto is_of_point = [&](const AffineForm& form) {
        return form.coefficient(point.var) != 0;
    };
    std::vector<AffineForm>& conditions = kernel.conditions.at_least_zero;
    std::ranges::copy_if(conditions, std::back_inserter(where), is_of_point);
    std::erase_if(conditions, is_of_point);
    return Windows{.rows = row,
                   .point = point,
                   .where = std::move(where),
                   .inside = {place, form(window->reduced.extent - 1) - place},
                   .reads = std::move(reads),
                   .weights = std::move(weights),
                   .unroll = unroll};
}

std::optional<Axis> most_sharing_axis(const Kernel& kernel, const Axis& lane,
                                      const std::vector<Touch>& touches, std::int64_t most,
                                      const std::function<bool(const Axis&)>& may_be_rows) {
    int most_shared = 0;  // loads of vectors are dearer than of scalars
    std::optional<Axis> chosen;
    for (const Axis& axis : kernel.free) {
        if (axis == lane || kernel.collides(axis.var) || !may_be_rows(axis) ||
            divisor_up_to(axis.extent, most) < 2)
            continue;
        int shared = 0;
        for (const Touch& touch : touches)
            if (touch.is_reduced && !touch.is_computed && touch.address.coefficient(axis.var) == 0)
                shared += touch.address.coefficient(lane.var) == 0 ? 1 : 2;
        if (shared <= most_shared) continue;
        most_shared = shared;
        chosen = axis;
    }
    return chosen;
}

bool shares_long_reads(const Kernel& kernel, const Axis& lane, const Axis& axis,
                       const std::vector<Touch>& touches) {
    const auto moves = [](const Touch& touch, const Axis& each) {
        return touch.address.coefficient(each.var) != 0;
    };
    return points(kernel.reduced) >= long_reduction &&
           std::ranges::any_of(touches, [&](const Touch& touch) {
               return touch.is_reduced && !touch.is_computed && !moves(touch, axis) &&
                      moves(touch, lane) &&
                      std::ranges::any_of(kernel.reduced, [&](const Axis& reduced) {
                          return moves(touch, reduced);
                      });
           });
}

}  // namespace ricci::codegen
