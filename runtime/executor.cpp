// runtime/executor.cpp – from a plan to launches, and the running of them
#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "base/dump.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/overlap.h"
#include "runtime/pool.h"
#include "runtime/timer.h"

namespace ricci::runtime {
namespace {

constexpr std::int64_t alignment_bytes = 64;

/// The whole text that decides what the kernels are.
std::string kernel_key(const BoundProgram& program, const codegen::Plan& plan,
                       const Target& target) {
    return format("{}\n{}\n{} {} {}\n{}\n{}", build_identity(), codegen::cpu::compiler_version(),
                  target.cpu, target.features, str(target), str(program), str(plan));
}

void dump_stages(const BoundProgram& program, const codegen::Plan& plan, std::string_view name,
                 const Target& target) {
    if (is_dumped(Stage::bound)) dump(Stage::bound, name, str(program));
    if (is_dumped(Stage::plan)) dump(Stage::plan, name, str(plan));
    if (is_dumped(Stage::schedule))
        for (const codegen::Schedule& schedule : plan.schedules)
            dump(Stage::schedule, schedule.kernel, str(schedule));
    if (is_dumped(Stage::loops))
        for (const codegen::Nest& nest : plan.nests) dump(Stage::loops, nest.name, str(nest));
    if (is_dumped(Stage::llvm))
        dump(Stage::llvm, name, codegen::cpu::emit_text(plan.nests, target));
    if (is_dumped(Stage::assembly))
        dump(Stage::assembly, name, codegen::cpu::emit_assembly(plan.nests, target));
}

}  // namespace

const Target& target() {
    static const Target host = codegen::cpu::host_target();
    return host;
}

TensorId storage_root(const BoundProgram& program, TensorId tensor) {
    while (program.at(tensor).previous) tensor = *program.at(tensor).previous;
    return tensor;
}

ScratchLayout lay_out_scratch(const codegen::Plan& plan) {
    struct Life {
        std::size_t first = 0;
        std::size_t last = 0;
        bool is_used = false;
    };
    std::vector<Life> lives(plan.buffers.size());
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        for (const std::size_t b : plan.steps[s].buffers) {
            if (!lives[b].is_used) lives[b] = {.first = s, .last = s, .is_used = true};
            lives[b].last = s;
        }
    }
    ScratchLayout layout{.offsets = std::vector<std::int64_t>(plan.buffers.size(), -1)};
    std::vector<std::size_t> placed;  // in order of their offsets
    const auto bytes_of = [&](std::size_t b) {
        const auto bytes =
            plan.buffers[b].elements * static_cast<std::int64_t>(size_bytes(plan.buffers[b].dtype));
        return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    };
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind != codegen::PlanBuffer::Kind::temporary) continue;
        // First fit: the lowest gap between buffers that live at the same time.
        std::int64_t offset = 0;
        for (const std::size_t other : placed) {
            const bool is_apart =
                lives[other].last < lives[b].first || lives[b].last < lives[other].first;
            if (is_apart) continue;
            if (offset + bytes_of(b) <= layout.offsets[other]) break;
            offset = std::max(offset, layout.offsets[other] + bytes_of(other));
        }
        layout.offsets[b] = offset;
        layout.size_bytes = std::max(layout.size_bytes, offset + bytes_of(b));
        const auto by_offset = [&](std::size_t other) { return layout.offsets[other]; };
        placed.insert(std::ranges::upper_bound(placed, offset, {}, by_offset), b);
    }
    return layout;
}

Executable::Executable(BoundProgram program, std::string_view name, const Target& target)
    : program_(std::move(program)) {
    const TimerSection section("compile");
    const auto begin = std::chrono::steady_clock::now();
    plan_ = codegen::plan(program_, target);
    dump_stages(program_, plan_, name, target);
    const auto found = kernel_cache().find(kernel_key(program_, plan_, target), [&] {
        return codegen::cpu::compile(plan_.nests, target);
    });
    module_ = found.module;
    outcome_ = found.outcome;
    updated_ = updated_arguments(program_);
    assign_slots();
    prepare_launches();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    log_format(LogLevel::info, "compile cpu {} {} from {}, {:.2f} ms", name,
               plural(plan_.nests.size(), "kernel"),
               outcome_ == CacheOutcome::compiled ? "LLVM" : ricci::runtime::name(outcome_),
               time.count());
}

void Executable::assign_slots() {
    const auto argument_of = [&](TensorId root) {
        const auto at = std::ranges::find(program_.arguments, root);
        return at == program_.arguments.end() ? -1
                                              : static_cast<int>(at - program_.arguments.begin());
    };
    for (const TensorId output : program_.outputs)
        output_arguments_.push_back(argument_of(storage_root(program_, output)));
    const ScratchLayout layout = lay_out_scratch(plan_);
    scratch_bytes_ = layout.size_bytes;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
        const codegen::PlanBuffer& buffer = plan_.buffers[b];
        if (buffer.kind == codegen::PlanBuffer::Kind::temporary) {
            slots_.push_back({Slot::Kind::scratch, layout.offsets[b]});
            continue;
        }
        const TensorId root = storage_root(program_, buffer.tensor);
        if (const int argument = argument_of(root); argument >= 0) {
            const bool is_updated =
                std::ranges::find(updated_, static_cast<std::size_t>(argument)) != updated_.end();
            slots_.push_back({is_updated ? Slot::Kind::updated : Slot::Kind::argument, argument});
            continue;
        }
        const auto output = std::ranges::find(
            program_.outputs, root, [&](TensorId id) { return storage_root(program_, id); });
        RICCI_ASSERT(output != program_.outputs.end(), "a plan buffer is no argument or output");
        slots_.push_back({Slot::Kind::output, output - program_.outputs.begin()});
    }
}

void Executable::prepare_launches() {
    for (const codegen::Step& step : plan_.steps) {
        if (step.tasks <= 0) continue;
        launches_.push_back({.function = module_->kernel(step.nest),
                             .tasks = step.tasks,
                             .grain = step.grain,
                             .first_buffer = launch_buffers_.size(),
                             .buffer_count = step.buffers.size()});
        launch_buffers_.insert(launch_buffers_.end(), step.buffers.begin(), step.buffers.end());
    }
}

std::vector<Array> Executable::run(std::span<const Array* const> arguments) const {
    std::vector<const Array*> apart;
    std::vector<Array> copies;
    if (!updated_.empty()) {
        apart.assign(arguments.begin(), arguments.end());
        resolve_overlaps(program_, updated_, apart, copies);
        arguments = apart;
    }
    // What lies on a GPU comes over before anything is written.
    for (const Array* argument : arguments) (void)argument->data();
    std::vector<Array> outputs;
    outputs.reserve(program_.outputs.size());
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        const BoundTensor& tensor = program_.at(program_.outputs[i]);
        if (output_arguments_[i] >= 0)
            outputs.push_back(*arguments[static_cast<std::size_t>(output_arguments_[i])]);
        else
            outputs.emplace_back(tensor.dtype, tensor.shape);
    }
    std::shared_ptr<void> scratch;
    if (scratch_bytes_ > 0)
        scratch = host_pool().allocate(static_cast<std::size_t>(scratch_bytes_));

    const auto pointer_of = [&](const Slot& slot) -> void* {
        const auto at = static_cast<std::size_t>(slot.at);
        switch (slot.kind) {
            // Kernels do not write it.
            case Slot::Kind::argument: return const_cast<void*>(arguments[at]->data());
            case Slot::Kind::updated:  return writable_data(*arguments[at]);
            case Slot::Kind::output:   return outputs[at].data();
            case Slot::Kind::scratch:  return static_cast<char*>(scratch.get()) + slot.at;
        }
        return nullptr;
    };
    // Most kernels have few buffers: no memory is asked for on the way.
    std::array<void*, 32> few;
    std::vector<void*> many;
    for (const Launch& launch : launches_) {
        if (launch.buffer_count > few.size()) many.resize(launch.buffer_count);
        void** pointers = launch.buffer_count > few.size() ? many.data() : few.data();
        for (std::size_t i = 0; i < launch.buffer_count; ++i)
            pointers[i] = pointer_of(slots_[launch_buffers_[launch.first_buffer + i]]);
        run_tasks(launch.function, launch.tasks, launch.grain, pointers);
    }
    return outputs;
}

}  // namespace ricci::runtime
