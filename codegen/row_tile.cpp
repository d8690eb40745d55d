// codegen/row_tile.cpp – rows of a reduction that are summed side by side because they share loads
#include "codegen/row_tile.h"

#include <algorithm>
#include <vector>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Smaller tiles hide the latency of additions no better than vectors of one row do.
constexpr std::int64_t least_tile = 8;
constexpr std::int64_t most_side = 12;

/// Loads of the body that move with the first axis alone, and with the second alone.
struct Sides {
    std::int64_t of_rows = 0;
    std::int64_t of_columns = 0;
    bool are_all = true;  ///< none moves with both, or with neither
};

Sides sides(const std::vector<Touch>& all, const Axis& rows, const Axis& columns,
            const Axis& lanes) {
    Sides found;
    for (const Touch& touch : all) {
        if (!touch.is_reduced) continue;
        const bool moves = touch.address.coefficient(rows.var) != 0;
        found.are_all &= !touch.is_computed && touch.address.coefficient(lanes.var) == 1 &&
                         moves != (touch.address.coefficient(columns.var) != 0);
        ++(moves ? found.of_rows : found.of_columns);
    }
    found.are_all &= found.of_rows > 0 && found.of_columns > 0;
    return found;
}

}  // namespace

RowTile choose_row_tile(const Kernel& kernel, const Axis& lanes, const Target& target) {
    RowTile best;
    if (kernel.is_arg_reduction() || !kernel.conditions.is_empty()) return best;
    const std::vector<Touch> all = touches(kernel);
    const auto is_free = [&](const Axis& axis) {
        return axis.extent > 1 &&
               std::ranges::find(kernel.colliding, axis.var) == kernel.colliding.end();
    };
    for (std::size_t i = 0; i + 1 < kernel.free.size(); ++i)
        for (std::size_t j = i + 1; j < kernel.free.size(); ++j) {
            const Axis& rows = kernel.free[i];
            const Axis& columns = kernel.free[j];
            if (!is_free(rows) || !is_free(columns)) continue;
            const Sides side = sides(all, rows, columns, lanes);
            if (!side.are_all) continue;
            for (std::int64_t r = 1; r <= std::min(rows.extent, most_side); ++r)
                for (std::int64_t c = 1; c <= std::min(columns.extent, most_side); ++c) {
                    const std::int64_t loads = r * side.of_rows + c * side.of_columns;
                    const RowTile tile{rows, columns, r, c, double(loads) / double(r * c)};
                    // All of one side's vectors and one of the other's are held.
                    const std::int64_t held = std::min(r * side.of_rows, c * side.of_columns) + 1;
                    if (rows.extent % r != 0 || columns.extent % c != 0 ||
                        tile.count() < least_tile || tile.count() + held >= target.vector_registers)
                        continue;
                    if (best.count() == 1 || tile.loads < best.loads) best = tile;
                }
        }
    return best;
}

namespace {

/// The free axes that move an address, and how many elements they and the reduced axis span.
std::vector<Axis> axes_of(const Kernel& kernel, const AffineForm& address) {
    std::vector<Axis> axes;
    for (const std::vector<Axis>* all : {&kernel.free, &kernel.reduced})
        std::ranges::copy_if(*all, std::back_inserter(axes),
                             [&](const Axis& axis) { return address.coefficient(axis.var) != 0; });
    return axes;
}

}  // namespace

std::optional<RowsOfCopies> with_contiguous_rows(const Kernel& kernel, double limit,
                                                 PlanBuilder& builder) {
    constexpr double copied = 0.6;  // an element of a transposed copy, in cycles
    if (kernel.reduced.size() != 1 || !kernel.slices.empty() || !kernel.conditions.is_empty())
        return std::nullopt;
    const Axis& along = kernel.reduced[0];
    std::vector<Value> loads;
    double cycles = 0;
    bool is_possible = true;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || load->at.affine.coefficient(along.var) == 1) return;
        is_possible &= !load->at.computed && load->at.affine.coefficient(along.var) != 0;
        loads.push_back(value);
        cycles += copied * double(points(axes_of(kernel, load->at.affine)));
    });
    if (!is_possible || loads.empty() || cycles >= limit) return std::nullopt;
    // As the plan would be, before anything is added to it.
    RowsOfCopies rows{.kernel = kernel, .copies = {}, .lanes = {}, .cycles = cycles};
    const auto replace_all = [&](const auto& copy_of) {
        Substitution to;
        for (const Value& load : loads) {
            AffineForm place;
            std::int64_t step = 1;
            const std::vector<Axis> axes = axes_of(kernel, std::get<Load>(load->term).at.affine);
            for (std::size_t i = axes.size(); i-- > 0; step *= axes[i].extent)
                place = place + form(axes[i].var, step);
            to.replace(load, copy_of(load, axes, place));
        }
        rows.kernel.body = to(kernel.body);
    };
    replace_all([&](const Value& load, const std::vector<Axis>&, const AffineForm& place) {
        return make_load(kernel.nest, std::get<Load>(load->term).buffer, {place});
    });
    if (choose_row_tile(rows.kernel, along, builder.target()).count() == 1) return std::nullopt;
    rows.lanes = choose_lanes(rows.kernel, builder.target());
    rows.cycles += rows.lanes.cycles;
    if (!rows.lanes.is_reduced_axis || rows.cycles >= limit) return std::nullopt;
    replace_all([&](const Value& load, const std::vector<Axis>& axes, const AffineForm& place) {
        const std::string name = kernel.nest.name + "_rows";
        const std::size_t to = builder.temporary(name, load->dtype, points(axes));
        Kernel& copy = rows.copies.emplace_back();
        copy.nest = kernel.nest;
        copy.nest.name = name;
        copy.places = kernel.places;
        copy.free = axes;
        copy.writes = {Store{.buffer = copy.argument(builder.plan(), to, true),
                             .at = {place},
                             .value = load,
                             .combine = std::nullopt}};
        const BufferId from = rows.kernel.argument(builder.plan(), to, false);
        return make_load(rows.kernel.nest, from, {place});
    });
    return rows;
}

}  // namespace ricci::codegen
