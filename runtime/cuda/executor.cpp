// runtime/cuda/executor.cpp – from a plan to launches on a GPU
#include "runtime/cuda/executor.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/dump.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "runtime/checks.h"
#include "runtime/cuda/compile.h"
#include "runtime/cuda/error.h"
#include "runtime/timer.h"

namespace ricci::cuda {
namespace {

using runtime::Slot;

// What libraries want of their workspace, and kernels of their arguments.
constexpr std::int64_t scratch_alignment = 256;
// Beyond it a kernel has to be told that it may use more.
constexpr std::int64_t plain_shared_bytes = 48 << 10;
// What lasts stays in memory between runs.
constexpr std::int64_t most_lasting_bytes = 256 << 20;

void dump_stages(const BoundProgram& program, const codegen::Plan& plan, std::string_view name,
                 const Target& target) {
    runtime::dump_plan(program, plan, name);
    if (is_dumped(Stage::cuda)) dump(Stage::cuda, name, codegen::cuda::emit_text(plan.nests));
    if (is_dumped(Stage::ptx)) dump(Stage::ptx, name, emit_ptx(plan.nests, target));
}

}  // namespace

Executable::Executable(BoundProgram program, std::string_view name)
    : gpu_(Gpu::current()),
      program_(std::move(program)),
      graphs_(std::make_unique<GraphCache>(gpu_)) {
    const TimerSection section("compile");
    const auto begin = std::chrono::steady_clock::now();
    gpu_->make_current();
    plan_ = codegen::plan(program_, gpu_->target());
    dump_stages(program_, plan_, name, gpu_->target());
    find_lasting_steps();
    prepare_calls();
    load();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    const auto called = std::ranges::count_if(calls_, [](const auto& call) { return bool(call); });
    log_format(LogLevel::info, "compile cuda {} {} from {}, {}, {:.2f} ms", name,
               plural(launches_.size() - static_cast<std::size_t>(called), "kernel"),
               outcome_ == runtime::CacheOutcome::compiled ? "NVRTC" : runtime::name(outcome_),
               plural(static_cast<std::size_t>(called), "library call"), time.count());
}

Executable::~Executable() = default;

void Executable::find_lasting_steps() {
    lasting_steps_ = runtime::lasting_steps(program_, plan_);
    slots_ = runtime::assign_slots(program_, plan_, scratch_alignment, lasting_steps_.buffers);
    if (!lasting_steps_.arguments.empty() && slots_.lasting_bytes <= most_lasting_bytes) return;
    lasting_steps_ = {
        .steps = std::vector<bool>(plan_.steps.size(), false), .buffers = {}, .arguments = {}};
    slots_ = runtime::assign_slots(program_, plan_, scratch_alignment);
}

std::shared_ptr<const Executable::Lasting> Executable::lasting() const {
    const std::lock_guard lock(lasting_mutex_);
    return lasting_;
}

void Executable::remember(std::shared_ptr<const Lasting> lasting) const {
    const std::lock_guard lock(lasting_mutex_);
    lasting_ = std::move(lasting);
}

void Executable::prepare_calls() {
    calls_.resize(plan_.library_calls.size());
    const env::LibraryUse use = env::cuda_libraries();
    if (use == env::LibraryUse::never) return;
    const std::int64_t alignment = std::max<std::int64_t>(plan_.argument_alignment, 1);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        const codegen::LibraryCall& call = plan_.library_calls[i];
        if (!call.is_worthwhile && use != env::LibraryUse::always) continue;
        Preparation preparation = prepare(call, {.device = gpu_->device(), .alignment = alignment});
        calls_[i] = std::move(preparation.call);
        if (calls_[i]) {
            workspace_bytes_ = std::max(workspace_bytes_, calls_[i]->workspace_bytes());
            continue;
        }
        log_format(LogLevel::info, "generated kernels instead of a library: {}: {}", str(call),
                   preparation.reason);
        if (use != env::LibraryUse::always) continue;
        throw Error({.kind = ErrorKind::device,
                     .message = format("no library for {}: {}", str(call), preparation.reason),
                     .hint = "RICCI_CUDA_LIBRARIES=auto"});
    }
}

void Executable::order_launches(std::vector<std::size_t>& nests) {
    // The library call that begins at a step, if any.
    std::vector<std::size_t> call_at(plan_.steps.size(), calls_.size());
    std::vector<std::size_t> launches_up_to;  // by step
    for (std::size_t i = 0; i < calls_.size(); ++i)
        if (calls_[i]) call_at[plan_.library_calls[i].first_step] = i;
    for (std::size_t s = 0; s < plan_.steps.size();) {
        if (call_at[s] == calls_.size()) {
            add_kernel(s++, nests);
            launches_up_to.push_back(launches_.size());
            continue;
        }
        Launch launch;
        launch.call = calls_[call_at[s]].get();
        const std::size_t end = s + plan_.library_calls[call_at[s]].step_count;
        for (; s < end; ++s) launch.is_updating |= is_updating(plan_.steps[s]);
        launches_.push_back(std::move(launch));
        launches_up_to.resize(s, launches_.size());
    }
    for (const codegen::PlanCheck& check : plan_.checks)
        checks_.push_back({.number = check.check,
                           .buffer = check.buffer,
                           .after = launches_up_to.at(check.after) - 1,
                           .is_lasting = lasting_steps_.steps.at(check.after)});
    is_staged_ = runtime::writes_before_checks(plan_, slots_);
}

void Executable::load() {
    std::vector<std::size_t> needed;  // nests that are compiled: not what libraries do
    order_launches(needed);
    if (needed.empty()) return;
    std::vector<codegen::Nest> nests;
    std::string key = format("{}\n{}\n{}\n{}\n{}\n", runtime::build_identity(), compiler_version(),
                             str(gpu_->target()), str(program_), str(plan_));
    for (const std::size_t nest : needed) {
        nests.push_back(plan_.nests[nest]);
        key += format("{} ", nest);
    }
    const auto found =
        gpu_->kernels().find(key, [&] { return cuda::compile(nests, gpu_->target()); });
    module_ = found.module;
    outcome_ = found.outcome;
    for (Launch& launch : launches_) {
        if (launch.call != nullptr) continue;
        launch.function = module_->kernel(launch.symbol);
        if (launch.shared_bytes <= plain_shared_bytes) continue;
        check(gpu_->driver().cuFuncSetAttribute(launch.function, function_max_dynamic_shared,
                                                static_cast<int>(launch.shared_bytes)),
              "giving {} bytes of shared memory to the kernel `{}`", launch.shared_bytes,
              module_->symbol(launch.symbol));
    }
}

void Executable::add_kernel(std::size_t number, std::vector<std::size_t>& nests) {
    const codegen::Step& step = plan_.steps[number];
    if (step.tasks <= 0) return;
    const auto known = std::ranges::find(nests, step.nest);
    const auto position = static_cast<std::size_t>(known - nests.begin());
    if (known == nests.end()) nests.push_back(step.nest);
    const codegen::LaunchShape shape = codegen::launch_shape(plan_.nests[step.nest]);
    RICCI_ASSERT(shape.blocks <= std::numeric_limits<int>::max(), "a launch has too many blocks");
    launches_.push_back({.symbol = position,
                         .blocks = static_cast<unsigned>(shape.blocks),
                         .threads = static_cast<unsigned>(shape.threads),
                         .shared_bytes = static_cast<unsigned>(shape.shared_bytes),
                         .buffers = step.buffers,
                         .is_updating = is_updating(step),
                         .is_lasting = lasting_steps_.steps[number]});
}

bool Executable::is_updating(const codegen::Step& step) const {
    std::size_t argument = 0;
    for (const codegen::Buffer& buffer : plan_.nests[step.nest].buffers) {
        if (buffer.space != codegen::Space::argument) continue;
        const Slot& slot = slots_.buffers[step.buffers[argument++]];
        if (buffer.is_written && slot.kind == Slot::Kind::updated) return true;
    }
    return false;
}

}  // namespace ricci::cuda
