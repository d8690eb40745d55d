// codegen/deinterleave.cpp – a copy of an operand whose lanes stand a few elements apart
#include "codegen/deinterleave.h"

#include <algorithm>

#include "base/integer.h"
#include "codegen/nest_build.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Of a vector of each residue that is gathered by whole vectors and stored.
constexpr double residue_cycles = 3;

/// The first and the last element that are read; where conditions exclude points, those in bounds.
std::pair<std::int64_t, std::int64_t> range(const Kernel& kernel, const Load& load) {
    const auto [first, last] = value_range(kernel, load.at.affine);
    const Buffer& buffer = kernel.nest.at(load.buffer);
    return {std::max(first, buffer.first), std::min(last, buffer.elements - 1)};
}

}  // namespace

AffineForm Deinterleaved::at(Nest& nest, Body& body, const AffineForm& element) const {
    const VarId residue = nest.add(Var{"residue"});
    const VarId quotient = nest.add(Var{"quotient"});
    body.push_back(make_let_var(residue, element - form(first), 1, step));
    body.push_back(make_let_var(quotient, element - form(first), step, 0));
    return form(residue, elements) + form(quotient);
}

std::int64_t span_of_load(const Kernel& kernel, const Load& load) {
    const auto [first, last] = range(kernel, load);
    return std::max<std::int64_t>(last - first + 1, 0);
}

Deinterleaved deinterleave(const Kernel& kernel, const Load& load, const Axis& lane,
                           std::int64_t columns, const std::string& name, PlanBuilder& builder) {
    const std::int64_t step = load.at.affine.coefficient(lane.var);
    const auto [first, last] = range(kernel, load);
    const Buffer& source = kernel.nest.at(load.buffer);
    const std::int64_t lanes =
        builder.target().vector_bytes / std::int64_t(size_bytes(source.dtype));
    const std::int64_t unused = ceil_div(lane.extent, columns) * columns - lane.extent;
    const std::int64_t copied = ceil_div(last - first + 1, step);
    Deinterleaved copy{0, first, step, ceil_div(copied + unused, lanes) * lanes};
    copy.place = builder.temporary(name, source.dtype, step * copy.elements);

    Kernel copying = kernel.step_beside(name);
    const BufferId to = copying.argument(builder.plan(), copy.place, true);
    Nest& nest = copying.nest;
    const Axis vectors{nest.add(Var{"vector"}), copy.elements / lanes};
    Body body;
    for (std::int64_t residue = 0; residue < step; ++residue) {
        const AffineForm start = form(vectors.var, lanes);
        const auto store = [&](const AffineForm& offset, const Value& value) {
            Body stored;
            stored.push_back(
                make_store(to, {form(residue * copy.elements) + start + offset}, value));
            return stored;
        };
        // What stands behind is read by lanes that have no column, and dropped.
        const std::int64_t count = ceil_div(last - first + 1 - residue, step);
        const Value is_end = all_hold({form(vectors.var) - form(count / lanes)}, Substitution{});
        if (count < copy.elements)
            append(body,
                   guarded(is_end, over_lanes(nest, {lanes, 1, {}}, [&](const AffineForm& at) {
                               return store(at, make_number(source.dtype, 0));
                           })));
        Lanes inside{lanes, 1, {}};
        if (count < copy.elements) inside.limit = bound(form(count) - start);
        append(body, over_lanes(nest, inside, [&](const AffineForm& at) {
                   return store(at, make_load(nest, load.buffer,
                                              {form(first + residue) + step * (start + at)}));
               }));
    }
    Schedule schedule{Strategy::contraction, name};
    schedule.work.bytes = 2.0 * double(last - first + 1) * double(size_bytes(source.dtype));
    schedule.directives.push_back(
        {"deinterleave", name, {step, copy.elements}, "residues, elements of each"});
    const TaskSplit split = split_tasks(nest, {vectors}, 1, residue_cycles * double(step));
    schedule.directives.push_back({"parallel", "", {split.tasks}, ""});
    nest.body = parallel(split, wrap(split.loops, std::move(body)));
    builder.add_step(std::move(copying), std::move(schedule));
    return copy;
}

}  // namespace ricci::codegen
