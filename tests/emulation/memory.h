// tests/emulation/memory.h – the memory of the emulated device
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulation/abi.h"
#include "tests/emulation/touch.h"

namespace ricci::emulation {

/// Allocations with zones around them that nobody may touch. Addresses are numbers of which the
/// host can make nothing: one that it follows by mistake is no address of its own. What is new is
/// filled with 0xFF: floating numbers are NaN.
class Memory {
  public:
    using Address = unsigned long long;

    /// Aligned as CUDA promises and not better, `shift` bytes after that.
    [[nodiscard]] Address allocate(std::size_t bytes, std::size_t shift = 0);
    /// False when no allocation begins there.
    [[nodiscard]] bool release(Address address);
    /// Where the bytes are; null when they are not all in one live allocation.
    [[nodiscard]] char* at(Address address, std::size_t bytes) const;
    /// What a kernel sees that gets the address: the elements of the allocation from there on, none
    /// when it lies in none. With cells, the accesses of kernels are followed; what is seen as
    /// elements of several sizes has to be asked for in all of them before it is used.
    enum class Cells : std::uint8_t { none, per_element };
    [[nodiscard]] rc_array array(Address address, int element_bytes, const char* name, Cells cells);

    [[nodiscard]] std::size_t used_bytes() const noexcept { return used_bytes_; }
    [[nodiscard]] std::size_t count() const noexcept { return blocks_.size(); }
    /// Says which zone around an allocation has changed; empty when none has.
    [[nodiscard]] std::string damage() const;

  private:
    struct Free {
        void operator()(void* memory) const;
    };
    struct Block {
        std::unique_ptr<char, Free> memory;
        std::size_t memory_bytes = 0;
        char* data = nullptr;
        std::size_t bytes = 0;
        std::unique_ptr<Cell, Free> cells;
        int unit_bytes = 0;
    };
    [[nodiscard]] const Block* find(Address address) const;
    [[nodiscard]] static bool is_damaged(const Block& block);

    std::map<Address, Block> blocks_;
    std::size_t used_bytes_ = 0;
};

}  // namespace ricci::emulation
