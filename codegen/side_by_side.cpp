// codegen/side_by_side.cpp – points of one more axis that lanes over a free axis sum side by side
#include "codegen/side_by_side.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

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
/// Of fewer points between two masks these cost more than loads: gradients of depthwise 3x3
/// convolutions took 1.6 ms instead of 1.2 (Zen 4, 8x144x56x56).
constexpr std::int64_t least_points_of_mask = 4;

/// A window: a free axis t and a reduced one u, of which the loads along the lanes read t - u or
/// t + u.
struct Window {
    Axis free;
    Axis reduced;
    std::int64_t sign = 0;  ///< of u
};

/// Whether the form depends on t and u by t + sign*u alone.
bool goes_by_window(const AffineForm& form, const Window& window) {
    return form.coefficient(window.reduced.var) == window.sign * form.coefficient(window.free.var);
}

/// The loads of the body that move with the lanes; nothing where some are not at affine places, or
/// are chosen: those may not be read everywhere.
std::vector<Value> loads_of_vectors(const Kernel& kernel, VarId lane) {
    std::vector<Value> loads;
    bool are_plain = true;
    for_each_node({kernel.body}, [&](const Value& node) {
        if (const auto* operate = std::get_if<Operate>(&node->term))
            are_plain &= operate->op != Op::select;
        const auto* load = std::get_if<Load>(&node->term);
        if (load == nullptr) return;
        are_plain &= !load->at.computed;
        if (load->at.affine.coefficient(lane) != 0) loads.push_back(node);
    });
    return are_plain ? loads : std::vector<Value>{};
}

bool moves(const AffineForm& form, const Window& window) {
    return form.coefficient(window.free.var) != 0 || form.coefficient(window.reduced.var) != 0;
}

/// Loads of a window's points that may be done for all lanes at once.
std::vector<Value> loads_of_weights(const Kernel& kernel, VarId lane, const Window& window) {
    std::vector<Value> loads;
    for_each_node({kernel.body}, [&](const Value& node) {
        const auto* load = std::get_if<Load>(&node->term);
        if (load != nullptr && load->at.affine.coefficient(lane) == 0 &&
            moves(load->at.affine, window) && is_inside_everywhere(kernel, node))
            loads.push_back(node);
    });
    return loads;
}

bool is_shared(const Kernel& kernel, const std::vector<Value>& loads, VarId lane,
               const Window& window) {
    const Conditions& conditions = kernel.conditions;
    return std::ranges::none_of(conditions.equal_zero,
                                [&](const AffineForm& form) { return moves(form, window); }) &&
           std::ranges::all_of(conditions.at_least_zero,
                               [&](const AffineForm& form) {
                                   return !moves(form, window) || (goes_by_window(form, window) &&
                                                                   form.coefficient(lane) == 0);
                               }) &&
           std::ranges::all_of(loads, [&](const Value& load) {
               const AffineForm& place = std::get<Load>(load->term).at.affine;
               return moves(place, window) && goes_by_window(place, window);
           });
}

/// Whether points along a free axis read the same vectors anyway.
bool have_equal_vectors(const Kernel& kernel, const std::vector<Value>& loads, VarId lane) {
    return std::ranges::any_of(kernel.free, [&](const Axis& axis) {
        return axis.var != lane && divisor_up_to(axis.extent, most_vectors / 2) > 1 &&
               std::ranges::all_of(loads, [&](const Value& load) {
                   return std::get<Load>(load->term).at.affine.coefficient(axis.var) == 0;
               });
    });
}

/// How many windows may be a block's.
std::int64_t most_rows(const Window& window, std::int64_t unroll) {
    return std::min(most_vectors, most_updates / window.reduced.extent) / unroll;
}

/// Reduced points, but for the window's, that one mask of lanes serves.
std::int64_t points_of_mask(const Kernel& kernel, VarId lane, const Window& window) {
    std::vector<Axis> inside = kernel.reduced;
    std::erase(inside, window.reduced);
    for (const AffineForm& form : kernel.conditions.at_least_zero)
        if (form.coefficient(lane) != 0)
            std::erase_if(inside,
                          [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
    return points(inside);
}

/// The window with most points; rows of it are at least two.
std::optional<Window> widest_window(const Kernel& kernel, VarId lane,
                                    const std::vector<Value>& loads, std::int64_t unroll) {
    std::optional<Window> widest;
    for (const Axis& free : kernel.free) {
        if (free.var == lane || kernel.collides(free.var)) continue;
        for (const Axis& reduced : kernel.reduced)
            for (const std::int64_t sign : {-1, 1}) {
                const Window window{free, reduced, sign};
                const bool is_wider = !widest || reduced.extent > widest->reduced.extent;
                if (reduced.extent > 1 && is_wider &&
                    divisor_up_to(free.extent, most_rows(window, unroll)) > 1 &&
                    is_shared(kernel, loads, lane, window))
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

std::int64_t divisor_up_to(std::int64_t extent, std::int64_t most) {
    while (most > 1 && extent % most != 0) --most;
    return most;
}

std::optional<Windows> share_windows(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                                     const Target& target) {
    if (!lanes.axis || lanes.is_reduced_axis || target.vector_registers < least_registers ||
        kernel.is_arg_reduction() || kernel.conditions.rest || !kernel.needed_where.empty() ||
        body_cost(kernel) > most_operations)
        return std::nullopt;
    std::vector<Value> loads = loads_of_vectors(kernel, lanes.axis->var);
    if (loads.empty() || have_equal_vectors(kernel, loads, lanes.axis->var)) return std::nullopt;
    const std::optional<Window> window = widest_window(kernel, lanes.axis->var, loads, unroll);
    if (!window || (lanes.is_masked &&
                    points_of_mask(kernel, lanes.axis->var, *window) < least_points_of_mask))
        return std::nullopt;

    const std::int64_t rows = divisor_up_to(window->free.extent, most_rows(*window, unroll));
    const std::string& name = kernel.nest.at(window->free.var).name;
    const Axis row{kernel.nest.add(Var{name + "_row"}), rows};
    // u = q + r - (rows - 1) where the loads read t - u, u = q - r where they read t + u.
    const AffineForm place = form(window->reduced.var) - form(row.var, window->sign) -
                             form(window->sign < 0 ? rows - 1 : 0);
    Substitution to;
    to.replace(window->free.var, form(window->free.var, rows) + form(row.var));
    to.replace(window->reduced.var, place);
    std::vector<Value> weights = loads_of_weights(kernel, lanes.axis->var, *window);
    substitute(kernel, to);
    for (std::vector<Value>* values : {&loads, &weights})
        for (Value& load : *values) load = to(load);
    std::ranges::find(kernel.free, window->free)->extent = window->free.extent / rows;
    kernel.free.push_back(row);
    const Axis point{window->reduced.var, window->reduced.extent + rows - 1};
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
                   .loads = std::move(loads),
                   .weights = std::move(weights)};
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

}  // namespace ricci::codegen
