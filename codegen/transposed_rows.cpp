// codegen/transposed_rows.cpp – operands copied so that they are contiguous along what is summed
#include "codegen/transposed_rows.h"

#include "codegen/cache_lines.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

std::optional<RowsOfCopies> with_contiguous_rows(const Kernel& kernel, double limit,
                                                 PlanBuilder& builder) {
    constexpr double copied = 0.6;  // an element of a transposed copy, in cycles
    if (kernel.reduced.size() != 1 || !kernel.slices.empty() || !kernel.conditions.is_empty())
        return std::nullopt;
    const Axis& along = kernel.reduced[0];
    std::vector<Value> loads;
    double cycles = 0;
    double bytes = 0;
    bool is_possible = true;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || load->at.affine.coefficient(along.var) == 1) return;
        is_possible &= !load->at.computed && load->at.affine.coefficient(along.var) != 0 &&
                       is_inside_everywhere(kernel, value);
        loads.push_back(value);
        const auto elements = double(points(axes_of(kernel, value)));
        cycles += copied * elements;
        bytes += elements * double(size_bytes(value->dtype));
    });
    if (!is_possible || loads.empty() || cycles >= limit) return std::nullopt;
    // As the plan would be, before anything is added to it.
    RowsOfCopies rows{.kernel = kernel, .copies = {}, .lanes = {}, .cycles = cycles};
    const auto replace_all = [&](const auto& copy_of) {
        Substitution to;
        for (const Value& load : loads) {
            AffineForm place;
            std::int64_t step = 1;
            const std::vector<Axis> axes = axes_of(kernel, load);
            for (std::size_t i = axes.size(); i-- > 0; step *= axes[i].extent)
                place = place + form(axes[i].var, step);
            to.replace(load, copy_of(load, axes, place));
        }
        rows.kernel.body = to(kernel.body);
    };
    replace_all([&](const Value& load, const std::vector<Axis>&, const AffineForm& place) {
        return make_load(kernel.nest, std::get<Load>(load->term).buffer, {place});
    });
    rows.lanes = choose_lanes(rows.kernel, builder.target());
    rows.cycles += rows.lanes.cycles;
    if (!rows.lanes.is_reduced_axis || rows.lanes.tile.axes.empty() || rows.cycles >= limit)
        return std::nullopt;
    // Every task reads all that was copied, by one task where it is little.
    const bool is_alone = bytes / double(line_bytes) * handing_over_cycles > rows.lanes.cycles / 2;
    if (is_alone) rows.kernel.most_tasks = 1;
    replace_all([&](const Value& load, const std::vector<Axis>& axes, const AffineForm& place) {
        const std::string name = kernel.nest.name + "_rows";
        const std::size_t to = builder.temporary(name, load->dtype, points(axes));
        Kernel& copy = rows.copies.emplace_back(kernel.step_beside(name));
        copy.most_tasks = rows.kernel.most_tasks;
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
