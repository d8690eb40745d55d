// codegen/plan.cpp – from a bound program to kernels, their order and their memory
#include "codegen/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "codegen/array_sums.h"
#include "codegen/contraction_order.h"
#include "codegen/equal_steps.h"
#include "codegen/few_points.h"
#include "codegen/fold_indices.h"
#include "codegen/gpu/atomic_sums.h"
#include "codegen/group.h"
#include "codegen/implied_conditions.h"
#include "codegen/kernel.h"
#include "codegen/keyed.h"
#include "codegen/keyed_places.h"
#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/narrow_places.h"
#include "codegen/needed_points.h"
#include "codegen/nest_build.h"
#include "codegen/outer_factors.h"
#include "codegen/pinned_indices.h"
#include "codegen/place_blocks.h"
#include "codegen/placed_windows.h"
#include "codegen/plan_builder.h"
#include "codegen/prefix_sums.h"
#include "codegen/recurrences.h"
#include "codegen/repeated_terms.h"
#include "codegen/residue_classes.h"
#include "codegen/separable_windows.h"
#include "codegen/separate_sums.h"
#include "codegen/shared_operands.h"
#include "codegen/single_places.h"
#include "codegen/split_quotients.h"
#include "codegen/stored_terms.h"
#include "codegen/unread.h"
#include "dsl/domain_limits.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// The first element that a tensor's strides reach, and one past the last.
std::pair<std::int64_t, std::int64_t> span(const BoundTensor& tensor) {
    if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) return {0, 0};
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
        (tensor.strides[d] < 0 ? first : last) += (tensor.shape[d] - 1) * tensor.strides[d];
    return {first, last + 1};
}

/// Smaller reductions take less time than their residue classes, a kernel each, take to compile.
constexpr double least_points_of_classes = 1 << 18;

/// Smaller arrays are near whichever way they are read.
constexpr double least_elements_of_array_sums = 1 << 15;

/// The program as equations that cost what they compute.
BoundProgram rewritten(const BoundProgram& program, const Target& target) {
    BoundProgram result = program;
    const bool is_forced = target.forced == Forced::rewritings;
    // People read what they wrote.
    if (!target.is_plain) result = with_stored_terms(std::move(result));
    if (!target.is_plain)
        result = with_single_places(without_implied_conditions(std::move(result)));
    if (!target.is_plain && !target.is_gpu())
        result = with_array_sums(std::move(result), is_forced ? 0 : least_elements_of_array_sums);
    result = with_recurrences(with_separate_sums(std::move(result)),
                              !target.is_plain && !target.is_gpu());
    if (!target.is_plain && !target.is_gpu()) {
        const double least_points = is_forced ? 0 : least_points_of_windows;
        result = with_place_blocks(std::move(result), least_points);
        result = with_separable_windows(std::move(result), least_points);
    }
    if (!target.is_plain)
        result = with_contraction_order(std::move(result), is_forced ? 0 : least_points_of_order,
                                        !target.is_gpu());
    if (!target.is_plain) result = with_pinned_indices(std::move(result));
    if (!target.is_plain && !target.is_gpu()) {
        result = with_keyed_places(std::move(result));
        result = with_placed_windows(std::move(result), is_forced ? 0 : least_placed);
    }
    result = with_keyed_updates(std::move(result), target);
    if (!target.is_plain) result = with_passed_points(std::move(result));
    // Libraries know strided gradients as they are written.
    if (target.is_gpu() || target.is_plain) return result;
    result = with_split_quotients(std::move(result));
    result = with_prefix_sums(std::move(result), is_forced ? all_prefixes : PrefixLimits{});
    result = with_repeated_terms(std::move(result), is_forced ? 0 : least_points_of_repeated_terms);
    result =
        with_few_points(std::move(result), is_forced ? 4 * few_points : few_points,
                        BandRules{.least_elements = is_forced ? 0 : BandRules{}.least_elements,
                                  .are_whole_turns = !has_masked_stores(target) && !is_forced});
    // AVX-512 stores elements that stand a few apart by masks.
    const bool side_by_side = !has_masked_stores(target);
    const JoinedResidues joined = side_by_side ? JoinedResidues::never
                                  : is_forced  ? JoinedResidues::always
                                               : JoinedResidues::few_rows;
    result = with_residue_classes(std::move(result), is_forced ? 0 : least_points_of_classes,
                                  side_by_side, joined);
    // A sum without a point reads nothing any more.
    result = without_unread(std::move(result));
    SharedOperandLimits limits = is_forced ? SharedOperandLimits{.points = 0,
                                                                 .reuse = 1,
                                                                 .users = 1,
                                                                 .strided_users = 1,
                                                                 .strided_extent = 2,
                                                                 .much_reuse = 1}
                                           : SharedOperandLimits{};
    limits.masks_padding = has_masked_stores(target) && !is_forced;
    if (!is_forced) limits.unit_lanes = target.unit_bytes / std::int64_t(size_bytes(DType::f32));
    limits.keeps_bf16 = target.has_bf16_dot || target.has_bf16_tiles;
    return with_narrow_places(with_shared_operands(std::move(result), limits));
}

class Planner {
  public:
    Planner(const BoundProgram& program, const Target& target, const DumpHook& dump,
            const Tunings& tunings)
        : program_(rewritten(program, target)),
          groups_(group(program_)),
          builder_(target, dump, tunings) {}

    Plan run() {
        check_points(program_);
        place_tensors();
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            clear_uncovered(groups_[g]);
            const std::vector<std::size_t> current = places_;
            keep_old_versions(g);
            add(make_kernel(program_, groups_[g], builder_.plan(), current));
            note_checks(g);
        }
        lower_kernels({});
        const Target& target = builder_.target();
        Plan plan = std::move(builder_).finish();
        // Libraries for GPUs stand for steps; people read what they wrote.
        if (!target.is_gpu() && !target.is_plain) drop_equal_steps(plan);
        put_checks_off(plan);
        return plan;
    }

  private:
    /// One buffer for each storage: the arguments', the outputs', temporaries for the rest.
    void place_tensors() {
        std::set<TensorId> visible(program_.arguments.begin(), program_.arguments.end());
        for (const TensorId output : program_.outputs) visible.insert(storage(program_, output));
        const std::set<TensorId> used = used_storages();
        places_.resize(program_.tensors.size());
        for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
            const TensorId root = storage(program_, TensorId(t));
            if (position(root) != t || !used.contains(root)) continue;
            const BoundTensor& tensor = program_.at(root);
            const bool is_visible = visible.contains(root);
            const auto [first, end] = span(tensor);
            places_[t] = builder_.add_buffer(
                {.kind = is_visible ? PlanBuffer::Kind::tensor : PlanBuffer::Kind::temporary,
                 .tensor = root,
                 .name = tensor.name,
                 .dtype = tensor.dtype,
                 .elements = end,
                 .first = first,
                 .zero_windows = tensor.zero_windows,
                 .beside = tensor.beside && used.contains(*tensor.beside)
                               ? std::optional(places_.at(position(*tensor.beside)))
                               : std::nullopt});
        }
        // A version may be numbered before the array that it updates.
        for (std::size_t t = 0; t < program_.tensors.size(); ++t)
            places_[t] = places_[position(storage(program_, TensorId(t)))];
    }
    [[nodiscard]] std::set<TensorId> used_storages() const {
        std::set<TensorId> used;
        const auto add_reads = [&](Expr e) {
            if (!e) return;
            for (const TensorId tensor : tensors_read(e)) used.insert(storage(program_, tensor));
        };
        for (const Group& group : groups_) {
            add_reads(group.value);
            if (group.reduction) add_reads(group.reduction->condition);
            if (group.reduction) add_reads(group.reduction->carry);
            for (const BoundEquation& write : group.writes) {
                used.insert(storage(program_, write.target));
                add_reads(write.value);
                for (const Expr subscript : write.at) add_reads(subscript);
            }
            if (group.result) {
                // The node that stands for the reduced value is no read.
                const TensorId result = std::get<Access>(group.result->term).tensor;
                const bool is_stored = std::ranges::any_of(
                    group.writes,
                    [&](const BoundEquation& write) { return write.target == result; });
                if (!is_stored) used.erase(storage(program_, result));
            }
        }
        return used;
    }

    /// Kernels that follow each other may become one: they are lowered together.
    void add(Kernel kernel) {
        (void)fold_indices(kernel);
        // Libraries for GPUs take the factor; people read what they wrote.
        if (!builder_.target().is_gpu() && !builder_.target().is_plain) take_out_factors(kernel);
        for (const Touch& touch : touches(kernel)) relies_on_data_ |= touch.is_computed;
        if (builder_.target().is_gpu()) gpu::use_atomic_sums(kernel, builder_.target());
        kernels_.push_back(std::move(kernel));
    }

    /// A new array that is not named everywhere starts as zeros.
    void clear_uncovered(const Group& group) {
        for (const BoundEquation& write : group.writes) {
            if (write.op != Assign::define || covers_target(program_, write)) continue;
            if (program_.at(write.target).is_partial) continue;
            const std::size_t place = places_.at(position(write.target));
            Kernel kernel = linear_kernel(place, "clear");
            const BufferId buffer = kernel.argument(builder_.plan(), place, true);
            kernel.writes = {Store{.buffer = buffer,
                                   .at = {form(kernel.free[0].var)},
                                   .value = make_number(kernel.nest.at(buffer).dtype, 0),
                                   .combine = std::nullopt}};
            add(std::move(kernel));
        }
    }

    /// What an update overwrites and a later group still reads is copied first.
    void keep_old_versions(std::size_t g) {
        for (const BoundEquation& write : groups_[g].writes) {
            const std::optional<TensorId> previous = program_.at(write.target).previous;
            if (!previous || !is_read_after(g, *previous)) continue;
            const std::size_t place = places_.at(position(*previous));
            const PlanBuffer old = builder_.plan().buffers[place];
            const std::size_t kept = builder_.add_buffer({.kind = PlanBuffer::Kind::temporary,
                                                          .name = old.name + "_old",
                                                          .dtype = old.dtype,
                                                          .elements = old.elements,
                                                          .first = old.first});
            Kernel kernel = linear_kernel(place, "keep");
            const BufferId from = kernel.argument(builder_.plan(), place, false);
            const BufferId to = kernel.argument(builder_.plan(), kept, true);
            const AffineForm at = form(old.first) + form(kernel.free[0].var);
            kernel.writes = {Store{.buffer = to,
                                   .at = {at},
                                   .value = make_load(kernel.nest, from, {at}),
                                   .combine = std::nullopt}};
            add(std::move(kernel));
            places_[position(*previous)] = kept;
        }
    }
    [[nodiscard]] bool is_read_after(std::size_t g, TensorId tensor) const {
        const auto reads = [&](Expr e) {
            if (!e) return false;
            const std::vector<TensorId> read = tensors_read(e);
            return std::ranges::find(read, tensor) != read.end();
        };
        for (std::size_t i = g + 1; i < groups_.size(); ++i) {
            const Group& group = groups_[i];
            if (reads(group.value)) return true;
            if (group.reduction &&
                (reads(group.reduction->condition) || reads(group.reduction->carry)))
                return true;
            for (const BoundEquation& write : group.writes)
                if (reads(write.value) ||
                    std::ranges::any_of(write.at, [&](Expr e) { return reads(e); }))
                    return true;
        }
        return false;
    }

    /// The buffers that later groups read or update, and the verdicts, which the caller reads.
    [[nodiscard]] std::set<std::size_t> touched_after(std::size_t g) const {
        std::set<std::size_t> places;
        for (const BoundCheck& check : program_.checks)
            places.insert(places_.at(position(check.verdict)));
        const auto add_reads = [&](Expr e) {
            if (!e) return;
            for (const TensorId tensor : tensors_read(e))
                places.insert(places_.at(position(tensor)));
        };
        for (std::size_t i = g + 1; i < groups_.size(); ++i) {
            add_reads(groups_[i].value);
            if (groups_[i].reduction) add_reads(groups_[i].reduction->condition);
            if (groups_[i].reduction) add_reads(groups_[i].reduction->carry);
            for (const BoundEquation& write : groups_[i].writes) {
                places.insert(places_.at(position(write.target)));
                add_reads(write.value);
                for (const Expr subscript : write.at) add_reads(subscript);
            }
        }
        return places;
    }

    /// Those made so far; others will read the buffers.
    void lower_kernels(const std::set<std::size_t>& read_later) {
        if (!builder_.target().is_gpu()) find_needed_points(kernels_, builder_.plan(), read_later);
        lower(std::exchange(kernels_, {}), builder_, read_later);
    }

    /// The verdicts that the group gives are there after the last step so far.
    void note_checks(std::size_t g) {
        for (const BoundEquation& write : groups_[g].writes)
            for (std::size_t c = 0; c < program_.checks.size(); ++c) {
                if (program_.checks[c].verdict != write.target) continue;
                lower_kernels(touched_after(g));
                builder_.add_check(c, places_.at(position(write.target)));
                may_wait_.push_back(!std::exchange(relies_on_data_, false));
            }
    }

    /// A check waits for the next one where nothing in between relies on it: a device stops once to
    /// look at both verdicts.
    void put_checks_off(Plan& plan) const {
        for (std::size_t c = plan.checks.size(); c-- > 1;)
            if (may_wait_[c]) plan.checks[c - 1].after = plan.checks[c].after;
    }

    /// A kernel over as many points as a buffer has elements.
    [[nodiscard]] Kernel linear_kernel(std::size_t place, const std::string& verb) const {
        const PlanBuffer& buffer = builder_.plan().buffers[place];
        Kernel kernel;
        kernel.nest.name = verb + "_" + buffer.name;
        kernel.free = {{kernel.nest.add(Var{"i"}), buffer.elements - buffer.first}};
        return kernel;
    }

    BoundProgram program_;
    std::vector<Group> groups_;
    PlanBuilder builder_;
    std::vector<Kernel> kernels_;  ///< not lowered yet
    std::vector<bool> may_wait_;   ///< by check: nothing since the last one touches data's places
    bool relies_on_data_ = false;  ///< a kernel since the last check does
    std::vector<std::size_t> places_;  ///< the buffer of each tensor at this point of the plan
};

}  // namespace

Plan plan(const BoundProgram& program, const Target& target, const DumpHook& dump,
          const Tunings& tunings) {
    return Planner(program, target, dump, tunings).run();
}

}  // namespace ricci::codegen
