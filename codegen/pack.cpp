// codegen/pack.cpp – operands of a contraction laid out as its innermost loop reads them
#include "codegen/pack.h"

#include <algorithm>

#include "codegen/nest_build.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Cycles of a vector that is loaded along the tiled axis, or gathered across it.
constexpr double contiguous_cycles = 3;
constexpr double gathered_cycles = 24;

bool is_contiguous(const Value& term, const Axis& axis) {
    const auto* load = std::get_if<Load>(&term->term);
    return load != nullptr && load->at.affine.coefficient(axis.var) == 1;
}

}  // namespace

AffineForm reduced_point(const std::vector<Axis>& reduced) {
    AffineForm point;
    std::int64_t stride = 1;
    for (std::size_t i = reduced.size(); i-- > 0;) {
        point = point + form(reduced[i].var, stride);
        stride *= reduced[i].extent;
    }
    return point;
}

AffineForm Panels::line(const AffineForm& tile, const AffineForm& k) const {
    AffineForm panel = tile;
    std::int64_t stride = tiles;
    for (std::size_t i = outer.size(); i-- > 0;) {
        panel = panel + form(outer[i].var, stride);
        stride *= outer[i].extent;
    }
    return depth * pitch * panel + pitch * k;
}

Panels pack(const Kernel& kernel, const Value& term, const std::vector<Axis>& batch,
            const Tiling& tiling, std::string name, PlanBuilder& builder) {
    Panels panels{.place = 0,
                  .outer = {},
                  .depth = points(kernel.reduced),
                  .pitch = tiling.pitch,
                  .tiles = tiling.tiles()};
    // Where conditions move the bounds of the reduced axes, they may do so along any batch axis.
    for (const Axis& axis : batch)
        if (!kernel.conditions.is_empty() || depends_on(term, axis.var))
            panels.outer.push_back(axis);
    for (const Axis& axis : tiling.outer)
        if (depends_on(term, axis.var)) panels.outer.push_back(axis);
    const std::int64_t lines = points(panels.outer) * panels.tiles * panels.depth;
    panels.place = builder.temporary(name, term->dtype, lines * panels.pitch);

    Kernel packing;
    packing.nest = kernel.nest;
    packing.nest.name = name;
    packing.places = kernel.places;
    packing.free = kernel.free;
    packing.reduced = kernel.reduced;
    packing.conditions = kernel.conditions;
    packing.next_let = kernel.next_let;
    Nest& nest = packing.nest;
    const BufferId buffer = packing.argument(builder.plan(), panels.place, true);
    const Axis tile{nest.add(Var{"tile"}), panels.tiles};
    const std::int64_t most_lanes =
        builder.target().vector_bytes / std::int64_t(size_bytes(term->dtype));
    Lanes lanes;
    lanes.lanes = std::min(panels.pitch, std::max<std::int64_t>(most_lanes, 1));
    lanes.unroll = panels.pitch / lanes.lanes;

    const auto line = [&](const AffineForm& offset) {
        return Address{panels.line(form(tile.var), reduced_point(kernel.reduced)) + offset};
    };
    const auto loops_around = [&](Body body) {
        std::vector<AxisRange> ranges;
        for (const ReducedLoop& loop : reduced_loops(packing, kernel.reduced).loops)
            ranges.push_back({loop.axis, loop.lower, loop.upper});
        return wrap(ranges, std::move(body));
    };
    Body body;
    const bool has_edge = tiling.axis.extent % tiling.step != 0;
    if (has_edge) {
        Body zeros = over_lanes(nest, lanes, [&](const AffineForm& offset) {
            Body store;
            store.push_back(make_store(buffer, line(offset), make_number(term->dtype, 0)));
            return store;
        });
        const Value is_last = make_operation(
            Op::eq, {make_index(form(tile.var)), make_integer(tile.extent - 1)}, DType::boolean);
        append(body, guarded(is_last, loops_around(std::move(zeros))));
    }
    // Lines may be longer than a tile's step: what is loaded there belongs to the next tile.
    const AffineForm first = form(tile.var, tiling.step);
    if (has_edge || panels.pitch > tiling.step)
        lanes.limit = bound(form(tiling.axis.extent) - first);
    append(body, loops_around(over_lanes(nest, lanes, [&](const AffineForm& offset) {
               Substitution here;
               here.replace(tiling.axis.var, first + offset);
               Body store;
               const std::vector<Value> values = share(store, {here(term)}, packing.next_let);
               store.push_back(make_store(buffer, line(offset), values[0]));
               return store;
           })));
    std::vector<Axis> order = panels.outer;
    order.push_back(tile);
    const double vector_cycles =
        cost({term}) + (is_contiguous(term, tiling.axis) ? contiguous_cycles : gathered_cycles);
    const TaskSplit split =
        split_tasks(nest, order, 1, double(panels.depth) * double(lanes.unroll) * vector_cycles);
    nest.body = parallel(split, wrap(split.loops, std::move(body)));
    Schedule schedule{Strategy::contraction, name, {}};
    schedule.directives.push_back({"pack",
                                   name,
                                   {panels.tiles, panels.depth, panels.pitch},
                                   "tiles, lines, elements of a line"});
    schedule.directives.push_back({"parallel", "", {split.tasks}, ""});
    builder.add_step(std::move(packing), std::move(schedule));
    return panels;
}

}  // namespace ricci::codegen
