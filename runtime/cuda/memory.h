// runtime/cuda/memory.h – a caching allocator of device memory, in order of streams
//
// Blocks of a stream are handed out again as soon as they are returned: what the next owner
// enqueues on that stream runs after what the last one did. A block that other streams used too
// waits until these have come past the place where it was returned.
//
// Sizes are rounded to 512 bytes. Up to 1 MiB blocks are cut from segments of 2 MiB, up to 10 MiB
// from segments of 20 MiB, larger ones from segments of a multiple of 2 MiB; the smallest free
// piece that is large enough is taken, split, and merged with free neighbours when it returns.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cuda/api.h"
#include "runtime/pool.h"

namespace ricci::cuda {

class Gpu;
class Memory;

/// Device memory; returned to the allocator with the object.
class Block {
  public:
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    [[nodiscard]] DevicePointer pointer() const noexcept { return pointer_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    /// The context was given up: the memory is no more.
    [[nodiscard]] bool is_lost() const noexcept;
    /// Work on another stream than the one it was allocated for uses the block.
    void use_on(Stream stream);

  private:
    friend class Memory;
    struct Piece;
    Block(std::shared_ptr<Memory> memory, Piece& piece, std::size_t size_bytes);

    std::shared_ptr<Memory> memory_;  ///< which outlives the context
    Piece* piece_;
    DevicePointer pointer_;
    std::size_t size_bytes_;
    std::vector<Stream> other_streams_;
};
using BlockPtr = std::shared_ptr<Block>;

/// The allocator of a device. Thread-safe. The device's context must be current where it is used.
class Memory : public std::enable_shared_from_this<Memory> {
  public:
    static std::shared_ptr<Memory> make(const Driver& driver, Gpu& gpu);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// Uninitialised, aligned to 256 bytes; at least a byte. When the device has none left, all
    /// that is kept is given back to it and it is asked again.
    /// Throws: `device` for lack of memory.
    [[nodiscard]] BlockPtr allocate(std::size_t size_bytes, Stream stream);
    [[nodiscard]] runtime::PoolUse use() const;
    void reset_peak();
    /// Gives all segments that are free as a whole back to the device.
    void trim();
    /// Gives everything back: blocks that are still held are lost.
    void close() noexcept;

  private:
    friend class Block;
    struct State;
    Memory(const Driver& driver, Gpu& gpu);
    void give_back(Block::Piece& piece, const std::vector<Stream>& other_streams) noexcept;

    std::unique_ptr<State> state_;
};

}  // namespace ricci::cuda
