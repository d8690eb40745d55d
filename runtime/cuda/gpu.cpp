// runtime/cuda/gpu.cpp – opening the first GPU, its streams, and copies to and from it
#include "runtime/cuda/gpu.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/gpu_timer.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/module.h"
#include "runtime/timer.h"

namespace ricci::cuda {
namespace {

// What kernels take for granted: asynchronous copies to shared memory.
constexpr int least_capability = 80;
// Up to this many bytes a copy is enqueued with the kernels: cheaper than to make streams wait.
constexpr std::size_t most_small_copy_bytes = std::size_t{64} << 10;
constexpr std::size_t small_staging_bytes = std::size_t{1} << 20;
constexpr std::size_t large_staging_bytes = std::size_t{8} << 20;

/// The process's GPU. Never destroyed: at the end of the process the driver may go first.
struct Current {
    std::mutex mutex;
    std::shared_ptr<Gpu> gpu;
};
Current& current_gpu() {
    static Current& current = *new Current;
    return current;
}

/// The number of `sm_90`; 0 for another text.
int capability_of(std::string_view name) {
    constexpr std::string_view prefix = "sm_";
    if (!name.starts_with(prefix)) return 0;
    name.remove_prefix(prefix.size());
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, failure] = std::from_chars(name.data(), end, number);
    return failure == std::errc{} && stop == end && number > 0 ? number : 0;
}

}  // namespace

Target named_target(std::string_view name) {
    const int capability = capability_of(name);
    if (capability < least_capability) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("no GPU target `{}`", name),
                     .hint = "sm_80, sm_90, ..."});
    }
    Target target;
    target.cpu = format("sm_{}", capability);
    target.gpu.compute_capability = capability;
    target.gpu.has_fast_gathers = env::has_fast_gathers();
    // CUDA C++ Programming Guide, table of technical specifications: of an A100 and an H200, and
    // for all others what every GPU since then has.
    if (capability == 80) target.gpu.multiprocessors = 108;
    if (capability == 80) target.gpu.shared_bytes = 163 << 10;
    if (capability >= 90 && capability < 120) target.gpu.shared_bytes = 227 << 10;
    return target;
}

Target text_target() {
    if (const auto wanted = env::target()) return named_target(*wanted);
    try {
        return Gpu::current()->target();
    } catch (const Error&) {
        return named_target("sm_90");
    }
}

std::shared_ptr<Gpu> Gpu::current() {
    Current& current = current_gpu();
    const std::lock_guard lock(current.mutex);
    if (!current.gpu) current.gpu = std::shared_ptr<Gpu>(new Gpu);
    return current.gpu;
}

std::shared_ptr<Gpu> Gpu::if_open() noexcept {
    Current& current = current_gpu();
    const std::lock_guard lock(current.mutex);
    return current.gpu;
}

void Gpu::close_current() noexcept {
    Current& current = current_gpu();
    const std::lock_guard lock(current.mutex);
    if (current.gpu) current.gpu->close();
    current.gpu.reset();
}

// The cache's modules hold the GPU, and are let go of by `close`.
Gpu::Gpu()
    : driver_(cuda::driver()),
      small_uploads_(driver_, small_staging_bytes),
      large_uploads_(driver_, large_staging_bytes),
      downloads_(driver_, large_staging_bytes) {
    try {
        open_device();
        open_streams();
        memory_ = Memory::make(driver_, *this);
        kernels_ = std::make_unique<runtime::KernelCache<Module>>(
            runtime::process_disk_cache(), [this](const codegen::Image& image) {
                return std::make_shared<const Module>(shared_from_this(), image);
            });
    } catch (...) {
        close();
        throw;
    }
    log_format(LogLevel::info, "open cuda {}, {}, {} MiB", name_, str(target_),
               memory_bytes_ >> 20);
}

Gpu::~Gpu() { close(); }

void Gpu::open_device() {
    int count = 0;
    check(driver_.cuDeviceGetCount(&count), "counting GPUs");
    if (count == 0) {
        throw Error({.kind = ErrorKind::device,
                     .message = "the CUDA driver lists no GPU",
                     .hint = "see what `nvidia-smi` lists, or run with --device cpu"});
    }
    check(driver_.cuDeviceGet(&device_, 0), "taking the first GPU");
    std::array<char, 256> name{};
    check(driver_.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device_),
          "asking for the GPU's name");
    name_ = name.data();
    check(driver_.cuDeviceTotalMem_v2(&memory_bytes_, device_), "asking for the GPU's memory");
    const int capability =
        10 * attribute(attribute_capability_major) + attribute(attribute_capability_minor);
    if (capability < least_capability) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("the GPU `{}` has compute capability {}.{}, kernels need "
                                       "{}.{}",
                                       name_, capability / 10, capability % 10,
                                       least_capability / 10, least_capability % 10),
                     .hint = "run with --device cpu"});
    }
    target_ = named_target(format("sm_{}", capability));
    target_.gpu.multiprocessors = attribute(attribute_multiprocessors);
    target_.gpu.shared_bytes = attribute(attribute_max_shared_optin);
    check(driver_.cuDevicePrimaryCtxRetain(&handle_, device_), "opening the GPU");
}

void Gpu::open_streams() {
    make_current();
    for (Stream* stream : {&compute_, &copy_, &capture_})
        check(driver_.cuStreamCreate(stream, stream_non_blocking), "making a stream");
    check(driver_.cuEventCreate(&order_event_, event_disable_timing), "making an event");
}

void Gpu::close() noexcept {
    runtime::settle_late_sections();
    if (kernels_) kernels_->clear_memory();
    if (std::exchange(is_closed_, true) || handle_ == nullptr) return;
    if (try_make_current()) {
        for (const Stream stream : {compute_, copy_, capture_})
            if (stream != nullptr) (void)driver_.cuStreamSynchronize(stream);
        for (const GraphExec graph : graphs_) (void)driver_.cuGraphExecDestroy(graph);
        for (const ModuleHandle module : modules_) (void)driver_.cuModuleUnload(module);
        release_library_handles();
        if (memory_) memory_->close();
        small_uploads_.close();
        large_uploads_.close();
        downloads_.close();
        if (order_event_ != nullptr) (void)driver_.cuEventDestroy_v2(order_event_);
        for (const Stream stream : {compute_, copy_, capture_})
            if (stream != nullptr) (void)driver_.cuStreamDestroy_v2(stream);
    }
    (void)driver_.cuDevicePrimaryCtxRelease_v2(device_);
    (void)driver_.cuCtxSetCurrent(nullptr);
}

int Gpu::attribute(int number) const {
    int value = 0;
    return driver_.cuDeviceGetAttribute(&value, number, device_) == success ? value : 0;
}

void Gpu::make_current() const {
    if (is_closed_) {
        throw Error({.kind = ErrorKind::device,
                     .message = "a GPU that was given up is used",
                     .hint = "compile the function anew"});
    }
    check(driver_.cuCtxSetCurrent(handle_), "switching to the GPU");
}

bool Gpu::try_make_current() const noexcept { return driver_.cuCtxSetCurrent(handle_) == success; }

BlockPtr Gpu::allocate(std::size_t size_bytes) { return memory_->allocate(size_bytes, compute_); }

void Gpu::order(Stream later, Stream earlier) {
    const std::lock_guard lock(order_mutex_);
    check(driver_.cuEventRecord(order_event_, earlier), "recording an event");
    check(driver_.cuStreamWaitEvent(later, order_event_, 0), "making a stream wait");
}

BlockPtr Gpu::upload(const void* from, std::size_t bytes) {
    make_current();
    const bool is_small = bytes <= most_small_copy_bytes;
    BlockPtr block = memory_->allocate(bytes, is_small ? compute_ : copy_);
    const GpuSection section(*this, "copy to GPU", is_small ? compute_ : copy_);
    if (is_small) {
        small_uploads_.upload(block->pointer(), from, bytes, compute_);
        return block;
    }
    large_uploads_.upload(block->pointer(), from, bytes, copy_);
    order(compute_, copy_);
    block->use_on(compute_);
    return block;
}

void Gpu::upload(Block& to, const void* from, std::size_t bytes) {
    make_current();
    to.use_on(compute_);
    const bool is_small = bytes <= most_small_copy_bytes;
    const GpuSection section(*this, "copy to GPU", is_small ? compute_ : copy_);
    if (is_small) {
        small_uploads_.upload(to.pointer(), from, bytes, compute_);
        return;
    }
    to.use_on(copy_);
    order(copy_, compute_);
    large_uploads_.upload(to.pointer(), from, bytes, copy_);
    order(compute_, copy_);
}

void Gpu::download(void* to, DevicePointer from, std::size_t bytes) {
    make_current();
    Stream stream = compute_;
    if (bytes > most_small_copy_bytes) {
        order(copy_, compute_);
        stream = copy_;
    }
    const GpuSection section(*this, "copy from GPU", stream);
    downloads_.download(to, from, bytes, stream);
}

void Gpu::copy(DevicePointer to, DevicePointer from, std::size_t bytes) {
    if (bytes == 0) return;
    make_current();
    check(driver_.cuMemcpyDtoDAsync_v2(to, from, bytes, compute_), "copying {} bytes on the GPU",
          bytes);
}

void Gpu::synchronize() {
    make_current();
    check(driver_.cuStreamSynchronize(compute_), "waiting for the GPU");
    check(driver_.cuStreamSynchronize(copy_), "waiting for the GPU");
}

ModuleHandle Gpu::load_module(const void* image) {
    make_current();
    ModuleHandle module = nullptr;
    check(driver_.cuModuleLoadData(&module, image), "loading kernels on the GPU");
    const std::lock_guard lock(handles_mutex_);
    modules_.insert(module);
    return module;
}

void Gpu::unload_module(ModuleHandle module) noexcept {
    const std::lock_guard lock(handles_mutex_);
    if (is_closed_ || modules_.erase(module) == 0 || !try_make_current()) return;
    // Its kernels may still be running.
    (void)driver_.cuStreamSynchronize(compute_);
    (void)driver_.cuModuleUnload(module);
}

GraphExec Gpu::instantiate(Graph graph) {
    GraphExec exec = nullptr;
    const Result result = driver_.cuGraphInstantiateWithFlags(&exec, graph, 0);
    (void)driver_.cuGraphDestroy(graph);
    check(result, "making a graph of launches");
    const std::lock_guard lock(handles_mutex_);
    graphs_.insert(exec);
    return exec;
}

void Gpu::destroy_graph(GraphExec exec) noexcept {
    const std::lock_guard lock(handles_mutex_);
    if (is_closed_ || graphs_.erase(exec) == 0 || !try_make_current()) return;
    (void)driver_.cuGraphExecDestroy(exec);
}

Gpu::Capture Gpu::begin_capture() {
    Capture capture{.lock = std::unique_lock(capture_mutex_), .stream = capture_};
    check(driver_.cuStreamBeginCapture_v2(capture_, capture_thread_local),
          "beginning a capture of launches");
    return capture;
}

Graph Gpu::end_capture(Capture& capture) {
    Graph graph = nullptr;
    const Result result = driver_.cuStreamEndCapture(capture.stream, &graph);
    capture.lock.unlock();
    check(result, "ending a capture of launches");
    return graph;
}

void Gpu::discard_capture(Capture& capture) noexcept {
    Graph graph = nullptr;
    const Result result = driver_.cuStreamEndCapture(capture.stream, &graph);
    if (result == success && graph != nullptr) (void)driver_.cuGraphDestroy(graph);
    capture.lock.unlock();
}

}  // namespace ricci::cuda
