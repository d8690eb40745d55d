// tests/emulation/memory.cpp – the memory of the emulated device
#include "tests/emulation/memory.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "base/text.h"
#include "tests/emulation/fibre.h"

extern "C" {
void __asan_poison_memory_region(const volatile void* address, std::size_t size)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* address, std::size_t size)
    __attribute__((weak));
}

namespace ricci::emulation {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t zone = 512;
constexpr char zone_byte = 0x5A;
constexpr Memory::Address device_bit = 1ULL << 62;

}  // namespace

void Memory::Free::operator()(void* memory) const { std::free(memory); }

Memory::Address Memory::allocate(std::size_t bytes, std::size_t shift) {
    Block block;
    block.bytes = bytes;
    block.memory_bytes = bytes + shift + 2 * zone + 2 * alignment;
    block.memory.reset(static_cast<char*>(std::malloc(block.memory_bytes)));
    if (!block.memory) throw std::bad_alloc();
    // A multiple of the alignment, but not of twice that.
    auto place = reinterpret_cast<std::uintptr_t>(block.memory.get()) + zone;
    place = (place + 2 * alignment - 1) / (2 * alignment) * (2 * alignment);
    if (place - alignment >= reinterpret_cast<std::uintptr_t>(block.memory.get()) + zone)
        place -= alignment;
    else
        place += alignment;
    block.data = reinterpret_cast<char*>(place) + shift;
    std::memset(block.memory.get(), zone_byte, block.memory_bytes);
    std::memset(block.data, 0xFF, bytes);
    if (has_address_sanitizer()) {
        __asan_poison_memory_region(block.memory.get(), block.memory_bytes);
        __asan_unpoison_memory_region(block.data, bytes);
    }
    used_bytes_ += bytes;
    const Address address = Address(place + shift) | device_bit;
    blocks_.emplace(address, std::move(block));
    return address;
}

bool Memory::release(Address address) {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return false;
    const Block& block = found->second;
    if (has_address_sanitizer())
        __asan_unpoison_memory_region(block.memory.get(), block.memory_bytes);
    used_bytes_ -= block.bytes;
    blocks_.erase(found);
    return true;
}

const Memory::Block* Memory::find(Address address) const {
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return nullptr;
    const auto& [begin, block] = *std::prev(after);
    return address <= begin + block.bytes ? &block : nullptr;
}

char* Memory::at(Address address, std::size_t bytes) const {
    const Block* block = find(address);
    if (block == nullptr) return nullptr;
    auto* data = reinterpret_cast<char*>(address & ~device_bit);
    return data + bytes <= block->data + block->bytes ? data : nullptr;
}

rc_array Memory::array(Address address, int element_bytes, const char* name, Cells cells) {
    rc_array result{.data = reinterpret_cast<char*>(address & ~device_bit),
                    .name = name,
                    .first = 0,
                    .last = 0,
                    .element_bytes = element_bytes,
                    .cells = nullptr,
                    .base = 0,
                    .unit_bytes = element_bytes};
    auto* block = const_cast<Block*>(find(address));
    if (block == nullptr) return result;
    result.base = result.data - block->data;
    result.last = (static_cast<long long>(block->bytes) - result.base) / element_bytes;
    if (cells == Cells::none) return result;
    // Kernels may see a block as elements of several sizes, one after the other or at once. Cells
    // of the smallest one so far serve all.
    if (block->unit_bytes == 0 || element_bytes < block->unit_bytes) {
        block->unit_bytes = element_bytes;
        const std::size_t count = block->bytes / std::size_t(element_bytes) + 1;
        block->cells.reset(static_cast<Cell*>(std::calloc(count, sizeof(Cell))));
        if (!block->cells) throw std::bad_alloc();
    }
    result.cells = block->cells.get();
    result.unit_bytes = block->unit_bytes;
    return result;
}

bool Memory::is_damaged(const Block& block) {
    if (has_address_sanitizer()) return false;  // it looks there itself
    const char* begin = block.memory.get();
    const char* end = begin + block.memory_bytes;
    for (const char* at = begin; at < end; ++at) {
        if (at == block.data) at += block.bytes;
        if (at < end && *at != zone_byte) return true;
    }
    return false;
}

std::string Memory::damage() const {
    for (const auto& [address, block] : blocks_)
        if (is_damaged(block))
            return format("memory beside an allocation of {} bytes was written", block.bytes);
    return {};
}

}  // namespace ricci::emulation
