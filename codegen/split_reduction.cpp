// codegen/split_reduction.cpp – long reductions with few results, in two levels
#include "codegen/split_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "codegen/data_intervals.h"
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

/// How many chunks keep all threads busy; nothing where one level does.
std::optional<std::int64_t> useful_chunks(std::int64_t units, double cycles, Forced forced) {
    if (units > 0 && forced == Forced::two_levels) return 3;
    if (units == 0 || units >= enough_units || cycles < 4 * task_cycles) return std::nullopt;
    const double tasks = std::max(double(enough_units), cycles / task_cycles);
    return std::min(std::int64_t(std::ceil(tasks / double(units))), most_chunks);
}

/// What a chunk gives: a value, and where it stands.
struct Parts {
    std::size_t value = 0;
    std::optional<std::size_t> place;
};

/// The axes of what chunks give.
std::vector<Axis> with_chunk(std::vector<Axis> free, const Axis& chunk, ChunkAxis place) {
    free.insert(place == ChunkAxis::outermost ? free.begin() : free.end(), chunk);
    return free;
}

Kernel partial_kernel(const Kernel& kernel, std::size_t cut, std::int64_t length, const Axis& chunk,
                      ChunkAxis place, const Parts& parts, PlanBuilder& builder) {
    const Axis axis = kernel.reduced[cut];
    Kernel partial = kernel;
    partial.nest.name += "_partial";
    Substitution to;
    to.replace(axis.var, form(chunk.var, length) + form(axis.var));
    partial.body = to(partial.body);
    partial.arg_index = to(partial.arg_index);
    if (partial.arg_place) partial.arg_place = to(partial.arg_place);
    for (AffineForm& row : partial.conditions.at_least_zero) row = to(row);
    for (AffineForm& row : partial.conditions.equal_zero) row = to(row);
    if (partial.conditions.rest) partial.conditions.rest = to(partial.conditions.rest);
    partial.reduced[cut].extent = length;
    if (axis.extent % length != 0)
        partial.conditions.at_least_zero.push_back(form(axis.extent - 1) - form(chunk.var, length) -
                                                   form(axis.var));
    partial.free = with_chunk(kernel.free, chunk, place);
    partial.colliding.clear();
    const auto write = [&](std::size_t buffer, const Value& value) {
        partial.writes.push_back({.buffer = partial.argument(builder.plan(), buffer, true),
                                  .at = {flat(partial.free)},
                                  .value = value,
                                  .combine = std::nullopt});
    };
    partial.writes.clear();
    partial.value_let.reset();
    if (!parts.place) {
        write(parts.value, make_let_value(0, kernel.body->dtype));
        return partial;
    }
    partial.value_let = partial.next_let++;
    write(*parts.place, make_let_value(0, DType::i64));
    write(parts.value, make_let_value(*partial.value_let, kernel.body->dtype));
    return partial;
}

Kernel total_kernel(const Kernel& kernel, const Axis& chunk, ChunkAxis place, const Parts& parts,
                    const PlanBuilder& builder) {
    Kernel total = kernel;
    total.reduced = {chunk};
    total.conditions = {};
    total.joint_kernels = 1;
    total.joint_cycles = 0;
    const AffineForm at = flat(with_chunk(kernel.free, chunk, place));
    const auto load = [&](std::size_t buffer) {
        return make_load(total.nest, total.argument(builder.plan(), buffer, false), {at});
    };
    total.body = load(parts.value);
    total.arg_index = {};
    total.arg_place = parts.place ? load(*parts.place) : nullptr;
    return total;
}

}  // namespace

std::size_t longest(const std::vector<Axis>& axes) {
    return std::size_t(std::ranges::max_element(
                           axes, [](const Axis& a, const Axis& b) { return a.extent < b.extent; }) -
                       axes.begin());
}

std::int64_t chunk_length(std::int64_t extent, std::int64_t chunks) {
    std::int64_t length = (extent + chunks - 1) / chunks;
    for (const std::int64_t multiple : {16, 1})
        for (std::int64_t longer = length; longer <= 2 * length && longer < extent; ++longer)
            if (extent % longer == 0 && longer % multiple == 0) return longer;
    return length > 64 ? (length + 63) / 64 * 64 : length;
}

SplitReduction split_reduction(const Kernel& kernel, std::size_t cut, std::int64_t length,
                               PlanBuilder& builder, ChunkAxis place) {
    Kernel named = kernel;
    const Axis axis = kernel.reduced[cut];
    const std::int64_t chunks = (axis.extent + length - 1) / length;
    const Axis chunk{named.nest.add(Var{named.nest.at(axis.var).name + "_chunk"}), chunks};
    const std::int64_t elements = chunks * points(kernel.free);
    const bool is_sliced = !kernel.slices.empty();
    Parts parts{.value = builder.temporary(kernel.nest.name + "_partial", kernel.body->dtype,
                                           elements, is_sliced),
                .place = std::nullopt};
    if (kernel.is_arg_reduction())
        parts.place =
            builder.temporary(kernel.nest.name + "_place", DType::i64, elements, is_sliced);
    return {partial_kernel(named, cut, length, chunk, place, parts, builder),
            total_kernel(named, chunk, place, parts, builder)};
}

namespace {

/// Whether a reduced axis can be cut into chunks: no bound of a loop moves with it.
bool may_be_cut(const Kernel& kernel, std::size_t cut) {
    const VarId axis = kernel.reduced[cut].var;
    const auto says_nothing = [&](const std::vector<AffineForm>& forms) {
        return std::ranges::all_of(
            forms, [&](const AffineForm& form) { return form.coefficient(axis) == 0; });
    };
    const Conditions& conditions = kernel.conditions;
    return !kernel.is_arg_reduction() && says_nothing(conditions.at_least_zero) &&
           says_nothing(conditions.equal_zero) && !kernel.has_meeting_writes() &&
           points(kernel.free) > 0 && points(kernel.reduced) > 0;
}
/// The same where all points count.
bool may_be_split(const Kernel& kernel, std::size_t cut) {
    return !kernel.conditions.rest && may_be_cut(kernel, cut);
}

/// The longest axis that has no intervals which another one moves, if there is one: each part would
/// look for those of all its points.
std::size_t axis_to_cut(const Kernel& kernel) {
    std::vector<Axis> axes = kernel.reduced;
    for (const DataInterval& each : data_intervals(kernel))
        if (std::ranges::any_of(kernel.reduced, [&](const Axis& axis) {
                return std::ranges::find(each.moved_by, axis.var) != each.moved_by.end();
            }))
            std::ranges::replace(axes, each.axis, Axis{each.axis.var, 0});
    return longest(axes);
}

void lower_levels(const Kernel& kernel, std::size_t cut, std::int64_t length, PlanBuilder& builder,
                  ChunkAxis place = ChunkAxis::outermost) {
    SplitReduction levels = split_reduction(kernel, cut, length, builder, place);
    lower(std::move(levels.partial), builder, Splitting::done);
    lower(std::move(levels.total), builder, Splitting::done);
}

/// Bytes that a touch spans at all points of the reduced axes but one.
std::int64_t piece_bytes(const Kernel& kernel, const Touch& touch, const Axis& without) {
    std::int64_t elements = 1;
    for (const Axis& axis : kernel.reduced)
        if (axis != without)
            elements += std::abs(touch.address.coefficient(axis.var)) * (axis.extent - 1);
    return elements * std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype));
}

/// Second-level caches of operands up to which their order does not matter. Sums by channel of 3 MB
/// take 40 us channel by channel and 34 in the order of memory on Zen 4 (bench_cpu --threads 1
/// "batch 16"); on an Intel Xeon no less than eight caches were measured.
constexpr std::int64_t near_caches = 8;
constexpr std::int64_t near_caches_beside_fast_l3 = 2;

/// Whether operands that near caches do not hold are read in short pieces, far from one point of
/// the axis to the next, with the pieces of other results between.
bool is_far(const Kernel& kernel, const Axis& axis, const Target& target) {
    constexpr std::int64_t least_piece = 1 << 10;
    constexpr std::int64_t most_piece = 64 << 10;
    std::int64_t bytes = 0;
    for (const Touch& touch : touches(kernel)) {
        const std::int64_t step = std::abs(touch.address.coefficient(axis.var));
        if (!touch.is_reduced || touch.is_computed || step == 0) continue;
        const std::int64_t piece = piece_bytes(kernel, touch, axis);
        const auto size = std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype));
        const bool has_others_between = std::ranges::any_of(kernel.free, [&](const Axis& other) {
            const std::int64_t between = std::abs(touch.address.coefficient(other.var));
            return piece <= 2 * between * size && between * other.extent <= step;
        });
        if (piece >= least_piece && piece <= most_piece && has_others_between)
            bytes += kernel.nest.at(touch.buffer).elements * size;
    }
    return bytes >
           (target.has_fast_l3 ? near_caches_beside_fast_l3 : near_caches) * target.l2_bytes;
}

/// Whether the few elements of a group stand beside those of others, and there are many rows.
bool has_short_groups(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    // Rows of a group, of which each adds its elements to the columns of all groups.
    constexpr std::int64_t least_rows = 8;
    if (!lanes.is_reduced_axis || kernel.reduced.size() < 2) return false;
    const Axis& group = *lanes.axis;
    const auto axis = std::ranges::find(kernel.reduced, group);
    const std::int64_t full = codegen::lanes(kernel, target);
    if (!may_be_split(kernel, std::size_t(axis - kernel.reduced.begin())) || group.extent > full ||
        points(kernel.reduced) / group.extent < least_rows)
        return false;
    // Groups that stand one behind the other in all that moves with them or within them.
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::any_of(kernel.free, [&](const Axis& other) {
        return other.extent * group.extent >= 2 * full &&
               std::ranges::all_of(all, [&](const Touch& touch) {
                   const std::int64_t step = touch.address.coefficient(group.var);
                   return !touch.is_reduced || touch.is_computed ||
                          touch.address.coefficient(other.var) == step * group.extent;
               });
    });
}

}  // namespace

bool lower_in_order_of_memory(const Kernel& kernel, PlanBuilder& builder) {
    for (std::size_t cut = 0; cut < kernel.reduced.size(); ++cut) {
        if (!may_be_split(kernel, cut) || !is_far(kernel, kernel.reduced[cut], builder.target()))
            continue;
        lower_levels(kernel, cut, 1, builder);
        return true;
    }
    return false;
}

bool lower_crossed_sum(const Kernel& kernel, const LanePlan& lanes, PlanBuilder& builder) {
    if (!lanes.is_reduced_axis) return false;
    const auto axis = std::ranges::find(kernel.reduced, *lanes.axis);
    const auto cut = std::size_t(axis - kernel.reduced.begin());
    if (!may_be_split(kernel, cut)) return false;
    Kernel columns = kernel;
    std::erase(columns.reduced, *lanes.axis);
    columns.free.push_back(*lanes.axis);
    if (!axis_of_squares(columns, *lanes.axis, lanes.lanes)) return false;
    lower_levels(kernel, cut, 1, builder);
    return true;
}

bool lower_short_groups(const Kernel& kernel, const LanePlan& lanes, PlanBuilder& builder) {
    if (!has_short_groups(kernel, lanes, builder.target())) return false;
    const auto axis = std::ranges::find(kernel.reduced, *lanes.axis);
    lower_levels(kernel, std::size_t(axis - kernel.reduced.begin()), 1, builder,
                 ChunkAxis::innermost);
    return true;
}

bool lower_in_two_levels(const Kernel& kernel, std::int64_t units, double cycles,
                         PlanBuilder& builder, std::int64_t least_chunks, Chunks chunks) {
    if (kernel.reduced.empty()) return false;
    const std::size_t cut = axis_to_cut(kernel);
    if (!may_be_cut(kernel, cut)) return false;
    const std::int64_t wanted =
        std::max(useful_chunks(units, cycles, builder.target().forced).value_or(1), least_chunks);
    if (wanted < 2) return false;
    const std::int64_t extent = kernel.reduced[cut].extent;
    const std::int64_t length = chunk_length(extent, std::min(wanted, extent));
    if (length >= extent || (chunks == Chunks::equal && extent % length != 0)) return false;
    lower_levels(kernel, cut, length, builder);
    return true;
}

}  // namespace ricci::codegen
