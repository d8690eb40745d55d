// runtime/executor.cpp – from a plan to launches, and the running of them
#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/dump.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/checks.h"
#include "runtime/compile_nests.h"
#include "runtime/function.h"
#include "runtime/overlap.h"
#include "runtime/pool.h"
#include "runtime/timer.h"

namespace ricci::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The whole text that decides what the kernels are.
std::string kernel_key(const BoundProgram& program, const codegen::Plan& plan,
                       const Target& target) {
    return format("{}\n{}\n{} {} {}\n{}\n{}", build_identity(), codegen::cpu::compiler_version(),
                  target.cpu, target.features, str(target), str(program), str(plan));
}

void dump_stages(const BoundProgram& program, const codegen::Plan& plan, std::string_view name,
                 const Target& target) {
    dump_plan(program, plan, name);
    if (is_dumped(Stage::llvm))
        dump(Stage::llvm, name, codegen::cpu::emit_text(plan.nests, target));
    if (is_dumped(Stage::assembly))
        dump(Stage::assembly, name, codegen::cpu::emit_assembly(plan.nests, target));
}

}  // namespace

const Target& target() {
    static const Target host = codegen::cpu::host_target();
    const Precision now = precision();
    if (!host.has_bf16_tiles || now == Precision::f32) return host;
    const auto with = [](Precision allowed) {
        Target target = host;
        target.precision = allowed;
        return target;
    };
    static const Target bf16x3 = with(Precision::bf16x3);
    static const Target bf16x6 = with(Precision::bf16x6);
    return now == Precision::bf16x3 ? bf16x3 : bf16x6;
}

Executable::Executable(BoundProgram program, std::string_view name, const Target& target,
                       const codegen::Tunings& tunings)
    : program_(std::move(program)) {
    const TimerSection section("compile");
    const auto begin = Clock::now();
    plan_ = codegen::plan(program_, target, {}, tunings);
    dump_stages(program_, plan_, name, target);
    const auto found = kernel_cache().find(kernel_key(program_, plan_, target), [&] {
        return compile_nests(plan_.nests, target);
    });
    module_ = found.module;
    outcome_ = found.outcome;
    slots_ = assign_slots(program_, plan_);
    for (const TensorId output : program_.outputs)
        output_layouts_.push_back(row_major_layout(program_.at(output).shape));
    prepare_launches();
    prepare_checks();
    const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    log_format(LogLevel::info, "compile cpu {} {} from {}, {:.2f} ms", name,
               plural(plan_.nests.size(), "kernel"),
               outcome_ == CacheOutcome::compiled ? "LLVM" : ricci::runtime::name(outcome_),
               time.count());
}

void Executable::prepare_launches() {
    for (const codegen::Step& step : plan_.steps) {
        if (step.tasks <= 0) continue;
        launches_.push_back({.function = module_->kernel(step.nest),
                             .tasks = step.tasks,
                             .waking = step.is_short ? Waking::when_busy : Waking::always,
                             .first_buffer = launch_buffers_.size(),
                             .buffer_count = step.buffers.size()});
        launch_buffers_.insert(launch_buffers_.end(), step.buffers.begin(), step.buffers.end());
    }
}

/// Where the launches stop to look at verdicts, and which are run slice by slice.
void Executable::prepare_checks() {
    std::vector<std::size_t> launch_of;  // by step, the last launch up to it
    std::size_t launches = 0;
    for (const codegen::Step& step : plan_.steps) {
        if (step.tasks > 0) ++launches;
        launch_of.push_back(launches - 1);
    }
    for (const codegen::SliceLoop& loop : plan_.slice_loops)
        slice_loops_.push_back(
            {launch_of[loop.first_step], launch_of[loop.last_step - 1] + 1, loop.slices});
    for (const codegen::PlanCheck& check : plan_.checks)
        checks_.push_back(
            {.number = check.check, .buffer = check.buffer, .after = launch_of.at(check.after)});
    is_staged_ = writes_before_checks(plan_, slots_);
}

std::vector<Array> Executable::run(std::span<const Array* const> arguments) const {
    std::vector<const Array*> apart;
    std::vector<Array> copies;
    if (!slots_.updated.empty()) {
        apart.assign(arguments.begin(), arguments.end());
        resolve_overlaps(program_, slots_.updated, apart, copies);
        arguments = apart;
    }
    if (!is_staged_) return run_kernels(arguments, arguments);
    return run_on_copies(slots_, arguments, [&](std::span<const Array* const> copies_of_updated) {
        return run_kernels(copies_of_updated, arguments);
    });
}

std::vector<double> Executable::step_seconds(std::span<const Array* const> arguments) const {
    RICCI_ASSERT(launches_.size() == plan_.steps.size(), "a step has no tasks");
    const UpdatedCopies apart = copy_updated(slots_.updated, arguments);
    std::vector<double> seconds(launches_.size());
    (void)run_kernels(apart.arguments, arguments, seconds);
    return seconds;
}

std::vector<Array> Executable::make_outputs(std::span<const Array* const> arguments) const {
    std::vector<Array> outputs;
    outputs.reserve(program_.outputs.size());
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        if (slots_.output_arguments[i] >= 0)
            outputs.push_back(*arguments[static_cast<std::size_t>(slots_.output_arguments[i])]);
        else
            outputs.emplace_back(output_layouts_[i], program_.at(program_.outputs[i]).dtype);
    }
    return outputs;
}

std::vector<Array> Executable::run_kernels(std::span<const Array* const> arguments,
                                           std::span<const Array* const> originals,
                                           std::span<double> seconds) const {
    // What lies on a GPU comes over before anything is written.
    for (const Array* argument : arguments) (void)argument->data();
    std::vector<Array> outputs = make_outputs(arguments);
    std::optional<Workers> workers;
    if (!slice_loops_.empty()) workers.emplace();
    std::int64_t slices_at_once = 0;
    for (const SliceLoop& loop : slice_loops_)
        slices_at_once = std::max(slices_at_once, workers->at_once(loop.slices));
    const std::int64_t scratch_bytes = slots_.scratch_bytes + slices_at_once * slots_.slice_bytes;
    std::shared_ptr<void> scratch;
    if (scratch_bytes > 0) scratch = host_pool().allocate(static_cast<std::size_t>(scratch_bytes));

    const auto pointer_of = [&](const Slot& slot, int worker) -> void* {
        const auto at = static_cast<std::size_t>(slot.at);
        const auto in_scratch = [&](std::int64_t offset) {
            return static_cast<char*>(scratch.get()) + offset;
        };
        switch (slot.kind) {
            // Kernels do not write it.
            case Slot::Kind::argument: return const_cast<void*>(arguments[at]->data());
            case Slot::Kind::updated:  return writable_data(*arguments[at]);
            case Slot::Kind::output:   return outputs[at].data();
            case Slot::Kind::scratch:  return in_scratch(slot.at);
            case Slot::Kind::slice:
                return in_scratch(slots_.scratch_bytes + worker * slots_.slice_bytes + slot.at);
            case Slot::Kind::lasting: break;  // on a GPU
        }
        return nullptr;
    };
    // Most kernels have few buffers: no memory is asked for on the way.
    const auto with_pointers = [&](const Launch& launch, int worker, const auto& call) {
        std::array<void*, 32> few;  // NOLINT(*-member-init): written before it is read
        std::vector<void*> many;
        if (launch.buffer_count > few.size()) many.resize(launch.buffer_count);
        void** pointers = launch.buffer_count > few.size() ? many.data() : few.data();
        for (std::size_t i = 0; i < launch.buffer_count; ++i)
            pointers[i] =
                pointer_of(slots_.buffers[launch_buffers_[launch.first_buffer + i]], worker);
        call(pointers);
    };
    const auto timed = [&](std::size_t launch, const auto& call) {
        const auto begin = seconds.empty() ? Clock::time_point() : Clock::now();
        call();
        if (!seconds.empty())
            seconds[launch] += std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const auto run_slice = [&](const SliceLoop& loop, std::int64_t slice, int worker) {
        for (std::size_t n = loop.first; n < loop.last; ++n) {
            const std::int64_t tasks = launches_[n].tasks / loop.slices;
            with_pointers(launches_[n], worker, [&](void* const* pointers) {
                timed(n,
                      [&] { launches_[n].function(slice * tasks, (slice + 1) * tasks, pointers); });
            });
        }
    };
    auto check = checks_.begin();
    auto loop = slice_loops_.begin();
    for (std::size_t n = 0; n < launches_.size(); ++n) {
        if (loop != slice_loops_.end() && loop->first == n) {
            // One after the other where each launch is timed.
            if (seconds.empty())
                workers->run(loop->slices, [&](std::int64_t slice, int worker) {
                    run_slice(*loop, slice, worker);
                });
            else
                for (std::int64_t slice = 0; slice < loop->slices; ++slice)
                    run_slice(*loop, slice, 0);
            n = loop->last - 1;
            ++loop;
        } else {
            with_pointers(launches_[n], 0, [&](void* const* pointers) {
                timed(n, [&] {
                    run_tasks(launches_[n].function, launches_[n].tasks, pointers,
                              launches_[n].waking);
                });
            });
        }
        for (; check != checks_.end() && check->after == n; ++check)
            if (*static_cast<const std::int64_t*>(pointer_of(slots_.buffers[check->buffer], 0)) < 0)
                raise_failed_check(
                    program_, check->number, originals,
                    [](BoundProgram program, std::span<const Array* const> given) {
                        return Executable(std::move(program), "check", target()).run(given);
                    });
    }
    return outputs;
}

}  // namespace ricci::runtime
