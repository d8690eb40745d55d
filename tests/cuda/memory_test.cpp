// tests/cuda/memory_test.cpp – segments and pieces, reuse in the order of streams, no memory left
#include "runtime/cuda/memory.h"

#include <cstdint>

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

using cuda::BlockPtr;
using cuda::DevicePointer;
using cuda::Stream;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST_CASE("a returned block is the next one handed out on its stream") {
    const EmulatedGpu emulated;
    const auto gpu = emulated.gpu();
    BlockPtr first = gpu->allocate(1000);
    const DevicePointer pointer = first->pointer();
    CHECK(pointer % 256 == 0);
    first.reset();
    CHECK(gpu->allocate(1010)->pointer() == pointer);
    CHECK(gpu->memory().use().reused == 1);
}

TEST_CASE("small blocks share a segment, and apart ones do not overlap") {
    const EmulatedGpu emulated;
    const auto gpu = emulated.gpu();
    const std::int64_t before = emulated.device.calls("cuMemAlloc_v2");
    std::vector<BlockPtr> blocks;
    for (std::size_t i = 0; i < 100; ++i) blocks.push_back(gpu->allocate(1 + 190 * i));
    CHECK(emulated.device.calls("cuMemAlloc_v2") == before + 1);
    for (std::size_t i = 1; i < blocks.size(); ++i)
        CHECK(blocks[i]->pointer() >= blocks[i - 1]->pointer() + blocks[i - 1]->size_bytes());
}

TEST_CASE("neighbours that are free become one block again") {
    const EmulatedGpu emulated;
    const auto gpu = emulated.gpu();
    std::vector<BlockPtr> quarters;
    for (int i = 0; i < 4; ++i) quarters.push_back(gpu->allocate(mebibyte / 2));
    const DevicePointer second = quarters[1]->pointer();
    quarters[2].reset();
    quarters[1].reset();
    const BlockPtr half = gpu->allocate(mebibyte);
    CHECK(half->pointer() == second);
    CHECK(emulated.device.calls("cuMemAlloc_v2") == 1);
}

TEST_CASE("the smallest free block that is large enough is taken") {
    const EmulatedGpu emulated;
    const auto gpu = emulated.gpu();
    BlockPtr large = gpu->allocate(40 * mebibyte);
    BlockPtr middle = gpu->allocate(14 * mebibyte);
    const DevicePointer pointer = middle->pointer();
    large.reset();
    middle.reset();
    CHECK(gpu->allocate(12 * mebibyte)->pointer() == pointer);
}

TEST_CASE("use and peak count what is handed out") {
    const EmulatedGpu emulated;
    const auto gpu = emulated.gpu();
    cuda::Memory& memory = gpu->memory();
    BlockPtr a = gpu->allocate(1000);
    BlockPtr b = gpu->allocate(3000);
    CHECK(memory.use().in_use_bytes == 1024 + 3072);
    b.reset();
    CHECK(memory.use().in_use_bytes == 1024);
    CHECK(memory.use().peak_bytes == 1024 + 3072);
    CHECK(memory.use().kept_bytes == 2 * mebibyte - 1024);
    memory.reset_peak();
    CHECK(memory.use().peak_bytes == 1024);
    a.reset();
    memory.trim();
    CHECK(memory.use().kept_bytes == 0);
    CHECK(emulated.device.used_bytes() == 0);
}

TEST_CASE("a block that another stream uses waits for it before it is handed out again") {
    const EmulatedGpu emulated(deferred());
    const auto gpu = emulated.gpu();
    const cuda::Driver& driver = gpu->driver();
    Stream other = nullptr;
    REQUIRE(driver.cuStreamCreate(&other, cuda::stream_non_blocking) == 0);
    BlockPtr block = gpu->allocate(1000);
    const DevicePointer pointer = block->pointer();
    REQUIRE(driver.cuMemsetD8Async(pointer, 1, 1000, other) == 0);
    block->use_on(other);
    block.reset();
    CHECK(gpu->allocate(1000)->pointer() != pointer);
    REQUIRE(driver.cuStreamSynchronize(other) == 0);
    CHECK(gpu->allocate(1000)->pointer() == pointer);
    REQUIRE(driver.cuStreamDestroy_v2(other) == 0);
}

TEST_CASE("when memory runs out, what is kept is given back and asked for again") {
    emulation::DeviceOptions options;
    options.memory_bytes = 64 * mebibyte;
    const EmulatedGpu emulated(options);
    const auto gpu = emulated.gpu();
    gpu->allocate(30 * mebibyte).reset();
    BlockPtr held = gpu->allocate(500);
    CHECK(gpu->memory().use().kept_bytes > 30 * mebibyte);
    const BlockPtr large = gpu->allocate(50 * mebibyte);
    CHECK(large->size_bytes() == 50 * mebibyte);
}

TEST_CASE("memory that is not there is a device error, and the allocator goes on") {
    emulation::DeviceOptions options;
    options.memory_bytes = 64 * mebibyte;
    const EmulatedGpu emulated(options);
    const auto gpu = emulated.gpu();
    const BlockPtr held = gpu->allocate(4 * mebibyte);
    CHECK(error_text([&] { (void)gpu->allocate(60 * mebibyte); }) ==
          "device: no memory for 62914560 bytes on the GPU: 4194304 bytes are in use, 46137344 of "
          "67108864 are free\n"
          "  = hint: work on smaller pieces, or let go of arrays no longer needed");
    CHECK(gpu->allocate(30 * mebibyte)->pointer() != 0);
}

TEST_CASE("blocks may outlive the context, and are lost") {
    BlockPtr block;
    {
        const EmulatedGpu emulated;
        block = emulated.gpu()->allocate(100);
        CHECK_FALSE(block->is_lost());
    }
    CHECK(block->is_lost());
}

}  // namespace
}  // namespace ricci::tests
