// runtime/pool.h – a size-class memory pool: 64-byte aligned blocks, reused at once
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ricci::runtime {

/// What a pool holds, in bytes.
struct PoolUse {
    std::size_t in_use_bytes = 0;   ///< handed out now
    std::size_t peak_bytes = 0;     ///< most ever handed out at once
    std::size_t kept_bytes = 0;     ///< free, kept for the next request
    std::uint64_t total_bytes = 0;  ///< handed out so far, all together
    std::uint64_t requests = 0;     ///< blocks handed out so far
    std::uint64_t reused = 0;       ///< of these, taken from what was kept
};

/// A block of a pool, which it returns to with the object. Empty: no memory.
class PoolBlock;

/// Hands out blocks of memory and keeps returned ones by size class, so that results and
/// temporaries of a loop are not mapped and zeroed by the system every time. Thread-safe. Blocks
/// may outlive the pool.
class Pool {
  public:
    Pool();

    /// An uninitialised block of at least `size_bytes`, aligned to 64 bytes; it returns to the pool
    /// when the last copy of the handle goes.
    /// Throws: `device` when the system has no memory.
    [[nodiscard]] std::shared_ptr<void> allocate(std::size_t size_bytes);
    /// The same, for one owner.
    [[nodiscard]] PoolBlock take(std::size_t size_bytes);
    [[nodiscard]] PoolUse use() const;
    /// Sets the peak to what is in use now.
    void reset_peak();
    /// Gives all kept blocks back to the system.
    void trim();

  private:
    friend class PoolBlock;
    struct State;
    std::shared_ptr<State> state_;
};

class PoolBlock {
  public:
    PoolBlock() = default;
    ~PoolBlock() {
        if (memory_ != nullptr) give_back();
    }
    PoolBlock(PoolBlock&& other) noexcept { swap(other); }
    PoolBlock& operator=(PoolBlock&& other) noexcept {
        PoolBlock taken(std::move(other));
        swap(taken);
        return *this;
    }

    [[nodiscard]] void* get() const noexcept { return memory_; }

  private:
    friend class Pool;
    PoolBlock(std::shared_ptr<Pool::State> state, void* memory, std::size_t size_bytes) noexcept
        : state_(std::move(state)), memory_(memory), size_bytes_(size_bytes) {}
    void swap(PoolBlock& other) noexcept {
        state_.swap(other.state_);
        std::swap(memory_, other.memory_);
        std::swap(size_bytes_, other.size_bytes_);
    }
    void give_back() noexcept;

    // The state, not the pool: arrays with static lifetime may go last.
    std::shared_ptr<Pool::State> state_;
    void* memory_ = nullptr;
    std::size_t size_bytes_ = 0;
};

/// The pool that arrays on the CPU use.
[[nodiscard]] Pool& host_pool();

/// The bytes really reserved for a request: the size class it falls in, at most a quarter more.
[[nodiscard]] std::size_t size_class_bytes(std::size_t size_bytes) noexcept;

}  // namespace ricci::runtime
