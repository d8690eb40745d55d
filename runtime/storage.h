// runtime/storage.h – the memory behind arrays: on the host, on a GPU, or both
//
// A storage knows where the newest data is. Whoever reads on one side while it is on the other
// brings it over, once; whoever writes makes the other side's copy old. Memory of the user, which
// may change at any time, is copied to the GPU at every use and back after every change there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/pool.h"

namespace ricci::cuda {
class Block;
class Gpu;
}  // namespace ricci::cuda

namespace ricci::runtime {

/// Memory that an array and its views share. Several threads may read at once, on either side;
/// a thread that writes must be alone.
class Storage {
  public:
    /// Own memory on the host, uninitialised.
    explicit Storage(std::size_t size_bytes);
    /// The user's memory.
    Storage(void* begin, std::size_t size_bytes) noexcept;
    /// Memory on the GPU, where the data is or will be written.
    Storage(std::shared_ptr<cuda::Block> block, std::size_t size_bytes) noexcept;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] bool is_users() const noexcept { return is_users_; }
    /// Whether the newest data is there.
    [[nodiscard]] bool is_on_host() const noexcept { return (where() & on_host) != 0; }
    [[nodiscard]] bool is_on_gpu() const noexcept { return (where() & on_gpu) != 0; }
    /// Where the memory on the host begins; null where there is none yet. Nothing is copied.
    [[nodiscard]] std::byte* host_address() const noexcept {
        return has_host_.load(std::memory_order_acquire) ? host_ : nullptr;
    }

    /// The newest data on the host, for reading. Throws: `device` when it cannot be brought over.
    [[nodiscard]] std::byte* read() {
        if ((where() & on_host) != 0) [[likely]]
            return host_;
        return bring_to_host();
    }
    /// The same, and from now on the host's is the newest.
    [[nodiscard]] std::byte* write() {
        if (where() == on_host) [[likely]]
            return host_;
        return take_to_host();
    }
    /// The newest data on the GPU: it is there before anything enqueued from now on runs.
    /// Throws: `device`.
    [[nodiscard]] std::shared_ptr<cuda::Block> read_on_gpu(cuda::Gpu& gpu);
    /// Kernels that write it have been enqueued: from now on the GPU's is the newest.
    void note_written_on_gpu() noexcept;
    /// What kernels wrote does not count: the host, which has the data from before, has the newest.
    void forget_gpu() noexcept;
    /// Of the data on the GPU: equal numbers, equal data, whatever storage has them.
    [[nodiscard]] std::uint64_t gpu_version() const noexcept {
        return gpu_version_.load(std::memory_order_acquire);
    }
    /// The memory on the GPU; null where there is none.
    [[nodiscard]] std::shared_ptr<cuda::Block> gpu_block() const;

  private:
    static constexpr std::uint8_t on_host = 1;
    static constexpr std::uint8_t on_gpu = 2;

    [[nodiscard]] std::uint8_t where() const noexcept {
        return where_.load(std::memory_order_acquire);
    }
    std::byte* bring_to_host();
    std::byte* take_to_host();
    void drop_lost_block();
    void note_new_gpu_data() noexcept;

    std::atomic<std::uint8_t> where_;
    std::atomic<bool> has_host_;
    std::atomic<std::uint64_t> gpu_version_ = 0;
    bool is_users_ = false;
    std::byte* host_ = nullptr;
    std::size_t size_bytes_;
    PoolBlock own_;  ///< what `host_` points to, unless it is the user's
    mutable std::mutex mutex_;
    std::shared_ptr<cuda::Block> block_;
};

}  // namespace ricci::runtime
