// codegen/joint_sums.cpp – reductions over the same points that read the same arrays
#include "codegen/joint_sums.h"

#include <algorithm>
#include <iterator>

#include "codegen/kernel_places.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// More of them have few registers each.
constexpr std::size_t most_sums = 4;

bool may_be_joint(const Kernel& kernel) {
    return kernel.body && kernel.reducer && !kernel.is_arg_reduction() &&
           kernel.conditions.is_empty() && kernel.needed_where.empty() && kernel.slices.empty() &&
           !kernel.has_meeting_writes() && points(kernel.free) > 0 && points(kernel.reduced) > 0 &&
           !is_rows_against_columns(kernel);
}

bool have_equal_extents(const std::vector<Axis>& a, const std::vector<Axis>& b) {
    return std::ranges::equal(a, b, {}, &Axis::extent, &Axis::extent);
}

/// The form over the axes of `to` that stand where those of `from` do.
AffineForm renamed(AffineForm address, const std::vector<Axis>& from, const std::vector<Axis>& to) {
    Substitution names;
    for (std::size_t n = 0; n < from.size(); ++n) names.replace(from[n].var, form(to[n].var));
    return names(address);
}

bool share_lines(const Plan& plan, std::size_t a, std::size_t b) {
    return a == b || plan.buffers[a].beside == b || plan.buffers[b].beside == a;
}

/// Whether both read the same elements, or neighbours, at all points, of an array that caches do
/// not keep.
bool share_a_large_read(const Kernel& a, const Kernel& b, const Plan& plan, const Target& target) {
    std::vector<Axis> axes = a.free;
    std::ranges::copy(a.reduced, std::back_inserter(axes));
    std::vector<Axis> other_axes = b.free;
    std::ranges::copy(b.reduced, std::back_inserter(other_axes));
    const std::vector<Touch> others = touches(b);
    return std::ranges::any_of(touches(a), [&](const Touch& touch) {
        const Buffer& buffer = a.nest.at(touch.buffer);
        const bool is_large =
            target.forced == Forced::joint_sums ||
            buffer.elements * std::int64_t(size_bytes(buffer.dtype)) > target.l2_bytes;
        if (!touch.is_reduced || touch.is_computed || !is_large) return false;
        return std::ranges::any_of(others, [&](const Touch& other) {
            return other.is_reduced && !other.is_computed &&
                   share_lines(plan, b.places.at(std::size_t(other.buffer)),
                               a.places.at(std::size_t(touch.buffer))) &&
                   renamed(other.address, other_axes, axes) == touch.address;
        });
    });
}

}  // namespace

std::vector<std::size_t> find_joint_sums(const std::vector<Kernel>& kernels, std::size_t first,
                                         const Plan& plan, const Target& target) {
    std::vector<std::size_t> members{first};
    const Kernel& one = kernels[first];
    if (!may_be_joint(one)) return members;
    std::vector<Places> places{places_of(one)};
    take_followers(kernels, first, [&](std::size_t k) {
        const Kernel& other = kernels[k];
        if (members.size() == most_sums || !may_be_joint(other) ||
            !have_equal_extents(one.free, other.free) ||
            !have_equal_extents(one.reduced, other.reduced) ||
            !share_a_large_read(one, other, plan, target))
            return false;
        Places own = places_of(other);
        if (!std::ranges::all_of(places,
                                 [&](const Places& each) { return are_independent(own, each); }))
            return false;
        members.push_back(k);
        places.push_back(std::move(own));
        return true;
    });
    return members;
}

}  // namespace ricci::codegen
