// codegen/plan_builder.cpp – a plan being made: where strategies put their kernels and buffers
#include "codegen/plan_builder.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Drops buffers that no statement names and numbers the others anew.
void drop_unused_buffers(Kernel& kernel) {
    std::set<BufferId> used;
    for_each_buffer(kernel.nest.body, [&](BufferId id) { used.insert(id); });
    std::vector<BufferId> renamed(kernel.nest.buffers.size());
    std::vector<Buffer> buffers;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < kernel.nest.buffers.size(); ++i) {
        if (!used.contains(BufferId(i))) continue;
        renamed[i] = BufferId(buffers.size());
        if (i < kernel.places.size()) places.push_back(kernel.places[i]);
        buffers.push_back(std::move(kernel.nest.buffers[i]));
    }
    kernel.nest.buffers = std::move(buffers);
    kernel.places = std::move(places);
    rename_buffers(kernel.nest.body, renamed);
}

/// The argument for a plan buffer, of a nest that may have registers already.
BufferId late_argument(Kernel& kernel, const Plan& plan, std::size_t place) {
    std::vector<Buffer>& buffers = kernel.nest.buffers;
    const auto arguments = std::ptrdiff_t(kernel.places.size());
    const bool is_new = std::ranges::find(kernel.places, place) == kernel.places.end();
    std::vector<BufferId> renamed;
    for (std::size_t i = 0; i < buffers.size(); ++i)
        renamed.push_back(BufferId(i + (is_new && std::ptrdiff_t(i) >= arguments ? 1 : 0)));
    std::vector<Buffer> others(std::make_move_iterator(buffers.begin() + arguments),
                               std::make_move_iterator(buffers.end()));
    buffers.resize(std::size_t(arguments));
    const BufferId argument = kernel.argument(plan, place, false);
    std::ranges::move(others, std::back_inserter(buffers));
    rename_buffers(kernel.nest.body, renamed);
    return argument;
}

/// The tasks do nothing unless the count in a buffer is 0, or is not.
void guard_tasks(Kernel& kernel, const Plan& plan, std::size_t count, bool is_zero) {
    const BufferId argument = late_argument(kernel, plan, count);
    const Value number = make_load(kernel.nest, argument, {});
    const Value holds = make_operation(is_zero ? Op::eq : Op::ne,
                                       {number, make_number(number->dtype, 0)}, DType::boolean);
    auto& root = std::get<Loop>(kernel.nest.body.at(0).node);
    root.body = guarded(holds, std::move(root.body));
}

std::int64_t task_count(const Nest& nest) {
    const auto& root = std::get<Loop>(nest.body.at(0).node);
    return root.upper.at(0).form.constant;
}

/// Tasks of all slices: those of slice 0, then those of slice 1, and so on.
void repeat_for_slices(Kernel& kernel) {
    auto& root = std::get<Loop>(kernel.nest.body.at(0).node);
    const std::int64_t tasks = task_count(kernel.nest);
    const VarId run = kernel.nest.add(Var{"slice_task"});
    Body body;
    body.push_back(make_let_var(root.var, form(run), 1, tasks));
    std::int64_t divisor = tasks;
    for (std::size_t i = kernel.slices.size(); i-- > 0;) {
        const Axis& axis = kernel.slices[i];
        body.push_back(make_let_var(axis.var, form(run), divisor, i == 0 ? 0 : axis.extent));
        divisor *= axis.extent;
    }
    append(body, std::move(root.body));
    // One that is the loop's own number goes by its name.
    if (kernel.nest.slice && kernel.slices.size() == 1 && tasks == 1) kernel.nest.slice = run;
    root.var = run;
    root.upper = bound(divisor);
    root.body = std::move(body);
}

}  // namespace

std::size_t PlanBuilder::add_buffer(PlanBuffer buffer) {
    RICCI_ASSERT(buffer.elements >= 0, format("{} has {} elements", buffer.name, buffer.elements));
    plan_.buffers.push_back(std::move(buffer));
    return plan_.buffers.size() - 1;
}

std::size_t PlanBuilder::temporary(std::string name, DType dtype, std::int64_t elements,
                                   bool is_of_slice) {
    return add_buffer({.kind = PlanBuffer::Kind::temporary,
                       .name = std::move(name),
                       .dtype = dtype,
                       .elements = elements,
                       .is_of_slice = is_of_slice});
}

void PlanBuilder::hold() {
    RICCI_ASSERT(!held_, "steps are held back already");
    held_.emplace();
}

std::vector<LoweredKernel> PlanBuilder::release() {
    RICCI_ASSERT(held_.has_value(), "no steps are held back");
    std::vector<LoweredKernel> held = std::move(*held_);
    held_.reset();
    return held;
}

void PlanBuilder::begin_slices(std::int64_t slices) { slices_ = slices; }

void PlanBuilder::end_slices() {
    const std::size_t first = plan_.steps.size();
    plan_.steps.insert(plan_.steps.end(), slice_steps_.begin(), slice_steps_.end());
    slice_steps_.clear();
    if (plan_.steps.size() > first)
        plan_.slice_loops.push_back({first, plan_.steps.size(), slices_});
}

void PlanBuilder::begin_choice(Choice choice) {
    RICCI_ASSERT(!held_, "a choice is of steps that are held back");
    choice.first_step = plan_.steps.size();
    plan_.choices.push_back(std::move(choice));
}

void PlanBuilder::end_choice() { plan_.choices.back().last_step = plan_.steps.size(); }

void PlanBuilder::add_check(std::size_t check, std::size_t buffer) {
    RICCI_ASSERT(!plan_.steps.empty(), "a check is made by no step");
    plan_.checks.push_back({.check = check, .buffer = buffer, .after = plan_.steps.size() - 1});
}

void PlanBuilder::add_library_call(LibraryCall call, std::size_t first) {
    RICCI_ASSERT(!held_, "a library stands for steps that are held back");
    call.first_step = first;
    call.step_count = plan_.steps.size() - first;
    if (call.step_count > 0) plan_.library_calls.push_back(std::move(call));
}

void PlanBuilder::begin_condition(std::size_t count, bool is_zero) {
    RICCI_ASSERT(!condition_ && !held_, "a condition is of steps without another one");
    condition_ = {count, is_zero};
}

void PlanBuilder::end_condition() {
    RICCI_ASSERT(condition_.has_value(), "no condition is there to end");
    condition_.reset();
}

void PlanBuilder::add_step(Kernel kernel, Schedule schedule) {
    if (task_count(kernel.nest) == 0) return;
    if (condition_) {
        guard_tasks(kernel, plan_, condition_->count, condition_->is_zero);
        schedule.directives.push_back({"only",
                                       plan_.buffers[condition_->count].name,
                                       {},
                                       condition_->is_zero ? "0: all numbers are finite"
                                                           : "not 0: some numbers are not finite"});
    }
    if (held_) {
        held_->push_back({std::move(kernel), std::move(schedule)});
        return;
    }
    drop_unused_buffers(kernel);
    if (!kernel.slices.empty()) repeat_for_slices(kernel);
    kernel.nest.name = format("k{}_{}", plan_.nests.size(), kernel.nest.name);
    schedule.kernel = kernel.nest.name;
    // A buffer read by one step only may be written and read by the same kernel elsewhere: names
    // are for people, places are what counts.
    (kernel.slices.empty() ? plan_.steps : slice_steps_)
        .push_back({.nest = plan_.nests.size(),
                    .buffers = std::move(kernel.places),
                    .tasks = task_count(kernel.nest),
                    .is_short = kernel.nest.is_short});
    plan_.nests.push_back(run_passes(std::move(kernel.nest), target_, dump_));
    plan_.schedules.push_back(std::move(schedule));
}

}  // namespace ricci::codegen
