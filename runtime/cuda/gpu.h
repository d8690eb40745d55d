// runtime/cuda/gpu.h – the GPU of this process: its primary context, streams and memory
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/target.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/staging.h"
#include "runtime/kernel_cache.h"

namespace ricci::cuda {

class Module;

/// A GPU in use: the first that the driver lists. Kernels run on one stream, in order; large
/// copies on another. Thread-safe. Whoever holds something of the device holds its context.
class Gpu : public std::enable_shared_from_this<Gpu> {
  public:
    /// The context of this process, opened by the first call. Throws: `device`.
    [[nodiscard]] static std::shared_ptr<Gpu> current();
    /// The same where it was opened already, else null.
    [[nodiscard]] static std::shared_ptr<Gpu> if_open() noexcept;
    /// Gives everything up that the process keeps on the device. Data that was only there is lost.
    static void close_current() noexcept;

    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
    [[nodiscard]] DeviceId device() const noexcept { return device_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< `NVIDIA H200`
    [[nodiscard]] std::size_t memory_bytes() const noexcept { return memory_bytes_; }
    [[nodiscard]] const Target& target() const noexcept { return target_; }
    /// An attribute by the driver's number; 0 when it gives none.
    [[nodiscard]] int attribute(int number) const;
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    /// Makes the calling thread's driver calls go to this device. Throws: `device`.
    void make_current() const;
    [[nodiscard]] bool try_make_current() const noexcept;

    [[nodiscard]] Stream compute_stream() const noexcept { return compute_; }
    [[nodiscard]] BlockPtr allocate(std::size_t size_bytes);  ///< for the compute stream
    [[nodiscard]] Memory& memory() noexcept { return *memory_; }
    /// The kernels that were compiled for this GPU.
    [[nodiscard]] runtime::KernelCache<Module>& kernels() noexcept { return *kernels_; }

    /// New memory with a copy of the bytes, which work enqueued from now on sees; the host's may
    /// change as soon as this returns. Throws: `device`.
    [[nodiscard]] BlockPtr upload(const void* from, std::size_t bytes);
    /// The same into memory that exists, behind all work enqueued so far.
    void upload(Block& to, const void* from, std::size_t bytes);
    /// Waits for all work enqueued so far and copies.
    void download(void* to, DevicePointer from, std::size_t bytes);
    /// Enqueues a copy on the device behind all work so far.
    void copy(DevicePointer to, DevicePointer from, std::size_t bytes);
    /// Waits for all work enqueued so far. Throws: `device` for what it has brought to light.
    void synchronize();

    // Handles that must go before the context: unloaded by it when it is given up first.
    [[nodiscard]] ModuleHandle load_module(const void* image);
    void unload_module(ModuleHandle module) noexcept;
    [[nodiscard]] GraphExec instantiate(Graph graph);
    void destroy_graph(GraphExec exec) noexcept;

    /// Held while launches are captured: they go to a stream of their own.
    struct Capture {
        std::unique_lock<std::mutex> lock;
        Stream stream;
    };
    [[nodiscard]] Capture begin_capture();
    /// What was captured. Throws: `device`.
    [[nodiscard]] Graph end_capture(Capture& capture);
    void discard_capture(Capture& capture) noexcept;

  private:
    Gpu();
    void open_device();
    void open_streams();
    void close() noexcept;
    /// The stream waits for what is enqueued on the other one so far.
    void order(Stream later, Stream earlier);

    const Driver& driver_;
    DeviceId device_ = 0;
    cuda::Context handle_ = nullptr;
    std::string name_;
    std::size_t memory_bytes_ = 0;
    Target target_;
    bool is_closed_ = false;
    Stream compute_ = nullptr;
    Stream copy_ = nullptr;
    Stream capture_ = nullptr;
    std::shared_ptr<Memory> memory_;
    std::unique_ptr<runtime::KernelCache<Module>> kernels_;
    // Few bytes go with the kernels; many beside them.
    Staging small_uploads_, large_uploads_, downloads_;
    std::mutex order_mutex_;
    Event order_event_ = nullptr;
    std::mutex capture_mutex_;
    std::mutex handles_mutex_;
    std::set<ModuleHandle> modules_;
    std::set<GraphExec> graphs_;
};

/// The target of kernels whose text is asked for: what RICCI_TARGET names (`sm_80`, `sm_90`), else
/// this machine's GPU, else an H200. Throws: `device` when RICCI_TARGET names no GPU.
[[nodiscard]] Target text_target();
/// A GPU by name: `sm_80` and later. Throws: `device` for another name.
[[nodiscard]] Target named_target(std::string_view name);

}  // namespace ricci::cuda
