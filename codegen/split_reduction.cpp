// codegen/split_reduction.cpp – long reductions with few results, in two levels
#include <algorithm>
#include <cmath>

#include "codegen/lower.h"
#include "codegen/nest_build.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

/// With more than this to do side by side threads are busy without a second level.
constexpr std::int64_t enough_units = 16;
constexpr std::int64_t most_chunks = 128;

/// The row-major place of a point of the free axes.
AffineForm flat(const std::vector<Axis>& free) {
    AffineForm place;
    std::int64_t stride = 1;
    for (std::size_t i = free.size(); i-- > 0;) {
        place = place + form(free[i].var, stride);
        stride *= free[i].extent;
    }
    return place;
}

/// The longest axis: its chunks are the first level.
std::size_t longest(const std::vector<Axis>& axes) {
    return std::size_t(
        std::max_element(axes.begin(), axes.end(),
                         [](const Axis& a, const Axis& b) { return a.extent < b.extent; }) -
        axes.begin());
}

/// A chunk length that leaves at most `chunks` chunks; a multiple of 64 where it can be, and a
/// divisor of the extent where one is near.
std::int64_t chunk_length(std::int64_t extent, std::int64_t chunks) {
    std::int64_t length = (extent + chunks - 1) / chunks;
    for (std::int64_t longer = length; longer <= 2 * length && longer < extent; ++longer)
        if (extent % longer == 0 && longer % 16 == 0) return longer;
    return length > 64 ? (length + 63) / 64 * 64 : length;
}

/// How many chunks keep all threads busy; nothing where one level does.
std::optional<std::int64_t> useful_chunks(std::int64_t units, double cycles) {
    if (units == 0 || units >= enough_units || cycles < 4 * task_cycles) return std::nullopt;
    const double tasks = std::max(double(enough_units), cycles / task_cycles);
    return std::min(std::int64_t(std::ceil(tasks / double(units))), most_chunks);
}

/// The two levels.
struct SplitReduction {
    Kernel partial;
    Kernel total;
};

SplitReduction split(const Kernel& kernel, std::size_t cut, std::int64_t length,
                     PlanBuilder& builder) {
    const Axis axis = kernel.reduced[cut];
    const std::int64_t results = points(kernel.free);
    const std::int64_t chunks = (axis.extent + length - 1) / length;
    SplitReduction split{kernel, kernel};
    const std::size_t place =
        builder.temporary(kernel.nest.name + "_partial", kernel.body->dtype, chunks * results);
    const std::string name = kernel.nest.at(axis.var).name + "_chunk";

    Kernel& partial = split.partial;
    partial.nest.name += "_partial";
    const Axis chunk{partial.nest.add(Var{name}), chunks};
    Substitution to;
    to.replace(axis.var, form(chunk.var, length) + form(axis.var));
    partial.body = to(partial.body);
    partial.reduced[cut].extent = length;
    if (axis.extent % length != 0)
        partial.conditions.at_least_zero.push_back(form(axis.extent - 1) - form(chunk.var, length) -
                                                   form(axis.var));
    partial.free.insert(partial.free.begin(), chunk);
    partial.writes = {Store{.buffer = partial.argument(builder.plan(), place, true),
                            .at = {flat(partial.free)},
                            .value = make_let_value(0, kernel.body->dtype),
                            .combine = std::nullopt}};

    Kernel& total = split.total;
    const Axis sum{total.nest.add(Var{name}), chunks};
    total.reduced = {sum};
    const BufferId partials = total.argument(builder.plan(), place, false);
    total.body = make_load(total.nest, partials, {flat(kernel.free) + form(sum.var, results)});
    return split;
}

}  // namespace

bool lower_in_two_levels(const Kernel& kernel, std::int64_t units, double cycles,
                         PlanBuilder& builder) {
    if (kernel.is_arg_reduction() || !kernel.conditions.is_empty()) return false;
    if (!kernel.colliding.empty() || points(kernel.free) == 0) return false;
    const std::optional<std::int64_t> wanted = useful_chunks(units, cycles);
    if (!wanted) return false;
    const std::size_t cut = longest(kernel.reduced);
    const std::int64_t extent = kernel.reduced[cut].extent;
    const std::int64_t length = chunk_length(extent, std::min(*wanted, extent));
    if (length >= extent) return false;
    SplitReduction levels = split(kernel, cut, length, builder);
    lower(std::move(levels.partial), builder, Splitting::done);
    lower(std::move(levels.total), builder, Splitting::done);
    return true;
}

}  // namespace ricci::codegen
