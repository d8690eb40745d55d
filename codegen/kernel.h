// codegen/kernel.h – a group as an iteration space with typed terms: what strategies lower
//
// For all points of the free axes: the reduction of `body` over the points of the reduced axes that
// satisfy every condition, then the writes, in which Let 0 stands for the reduced value. Every axis
// runs from 0; its variable is a variable of the nest being made. Addresses are affine in the axes,
// so that strategies see strides.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "base/target.h"
#include "codegen/group.h"
#include "codegen/nest.h"
#include "codegen/nest_build.h"
#include "codegen/plan.h"

namespace ricci::codegen {

struct Axis {
    VarId var{};
    std::int64_t extent = 0;
    bool operator==(const Axis&) const = default;
};

/// Which points of a reduction count.
struct Conditions {
    std::vector<AffineForm> at_least_zero;
    std::vector<AffineForm> equal_zero;
    Value rest = nullptr;  ///< what is not affine; may be empty

    [[nodiscard]] bool is_empty() const noexcept {
        return at_least_zero.empty() && equal_zero.empty() && !rest;
    }
};

struct Kernel {
    Nest nest;                        ///< buffers and variables; no body yet
    std::vector<std::size_t> places;  ///< the plan buffer of each argument buffer of the nest
    /// The whole kernel is for one point of these, outside of all else (codegen/slices.h).
    std::vector<Axis> slices;
    std::vector<Axis> free;     ///< outermost first
    std::vector<Axis> reduced;  ///< outermost first
    std::optional<Reducer> reducer;
    Value body = nullptr;   ///< of the accumulator's type
    Value carry = nullptr;  ///< what a sum is multiplied by before a point joins it; may be empty
    AffineForm arg_index;   ///< of argmax and argmin: the index whose value is the result
    Value arg_place = nullptr;  ///< the same where it is data: a total of partial results
    /// Of argmax and argmin: the Let that stands in `writes` for the value at the place, if any.
    std::optional<std::uint32_t> value_let = std::nullopt;
    Conditions conditions;
    std::vector<Store> writes;  ///< values over the free axes and Let 0
    /// Of updates by what is reduced: where it does not hold, points of the free axes change
    /// nothing (codegen/data_intervals.h). May be empty.
    Value where = nullptr;
    /// Forms of the free axes: where one is below 0, nothing depends on what is reduced there, or,
    /// of kernels that reduce nothing, reads what they write (codegen/lane_span.h).
    std::vector<AffineForm> needed_where;
    /// Free axes along which two points may write one element: they run in order in one task.
    std::vector<VarId> colliding;
    std::uint32_t next_let = 1;  ///< the next unused number of a Let
    /// CPU: bounds of the number of tasks, where other steps' tasks ask for them.
    std::int64_t least_tasks = 1;
    std::int64_t most_tasks = std::numeric_limits<std::int64_t>::max();
    /// CPU: of reductions that are to share their loops (codegen/joint_sums.h), how many they are
    /// and what all of them take.
    std::int64_t joint_kernels = 1;
    double joint_cycles = 0;
    /// Buffers of the plan that later kernels use. Temporaries that are written are of these from
    /// the start: some later kernel reads them.
    std::set<std::size_t> touched_later;

    /// Whether two points along the free axis may write one element.
    [[nodiscard]] bool collides(VarId axis) const;
    /// Whether points may write one element: in order along `colliding`, or by atomic stores.
    [[nodiscard]] bool has_meeting_writes() const;
    [[nodiscard]] bool is_arg_reduction() const noexcept {
        return reducer == Reducer::argmax || reducer == Reducer::argmin;
    }
    /// The type of Let 0.
    [[nodiscard]] DType result_dtype() const {
        return is_arg_reduction() ? DType::i64 : body->dtype;
    }
    /// Nothing yet of another step on the same buffers and variables, as one that copies operands.
    [[nodiscard]] Kernel step_beside(const std::string& name) const;
    /// The nest's buffer for a plan buffer, added on first use.
    BufferId argument(const Plan& plan, std::size_t place, bool is_written);
};

/// The kernel of a group. `places` gives the plan buffer of each tensor's memory.
/// Throws: `type` for an element type that is not supported yet.
[[nodiscard]] Kernel make_kernel(const BoundProgram& program, const Group& group, const Plan& plan,
                                 const std::vector<std::size_t>& places);

/// Drops axes of extent 1 and joins neighbours that every address walks as one.
void merge_axes(Kernel& kernel);

/// Applies a substitution to all that a kernel computes, tests and writes.
void substitute(Kernel& kernel, Substitution& to);

/// Every place that one point of a kernel touches.
struct Touch {
    BufferId buffer{};
    AffineForm address;
    bool is_computed = false;  ///< part of the address is data
    bool is_store = false;
    bool is_reduced = false;  ///< touched at every reduced point
    Value computed = nullptr;
};
[[nodiscard]] std::vector<Touch> touches(const Kernel& kernel);
/// What a kernel writes and where: the values and the computed places of its stores.
[[nodiscard]] std::vector<Value> written_values(const Kernel& kernel);

/// Whether the variable occurs in the value.
[[nodiscard]] bool depends_on(const Value& root, VarId var);

/// The free axes, then the reduced ones, that the value moves with.
[[nodiscard]] std::vector<Axis> axes_of(const Kernel& kernel, const Value& root);

/// The least and the greatest value of a form over all points of the axes, in all slices.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> value_range(const Kernel& kernel,
                                                                const AffineForm& form);

/// Whether every load in the value stays inside its buffer at all points of the axes, whatever the
/// conditions.
[[nodiscard]] bool is_inside_everywhere(const Kernel& kernel, const Value& root);

/// Whether the value moves along the axis, and every load in it that does moves by one element, or
/// by up to `most_step`.
[[nodiscard]] bool is_contiguous(const Value& root, VarId var, std::int64_t most_step = 1);

/// Cycles of a scalar core for one evaluation, roughly: what tasks and inlining go by.
[[nodiscard]] double cost(const std::vector<Value>& values);
/// The same for one reduced point, or for the writes of one free point.
[[nodiscard]] double body_cost(const Kernel& kernel);
[[nodiscard]] double write_cost(const Kernel& kernel);

/// The product of the extents; the greatest integer where that is too small.
[[nodiscard]] std::int64_t points(const std::vector<Axis>& axes);

/// A reduced axis with its bounds as forms of the axes outside it.
struct ReducedLoop {
    Axis axis;
    LoopBound lower;
    LoopBound upper;
    Body names = {};  ///< of bounds that are data: before the loop
};
/// Loops over exactly the points where the affine conditions hold, in the order given, and what
/// must still be tested inside (`rest` included; empty when nothing).
struct ReducedLoops {
    std::vector<ReducedLoop> loops;
    Value test = nullptr;
};
[[nodiscard]] ReducedLoops reduced_loops(const Kernel& kernel, const std::vector<Axis>& order);
/// The same with the loop of one reduced axis innermost.
[[nodiscard]] ReducedLoops reduced_loops_along(const Kernel& kernel, const Axis& innermost);

/// Whether a bound moves with the variable.
[[nodiscard]] bool moves_with(const ReducedLoops& loops, VarId var);

/// Lanes of a vector register for the widest type that the kernel computes with.
[[nodiscard]] std::int64_t lanes(const Kernel& kernel, const Target& target);

}  // namespace ricci::codegen
