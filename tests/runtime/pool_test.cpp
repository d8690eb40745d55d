// tests/runtime/pool_test.cpp – size classes, reuse, accounting, threads
#include "runtime/pool.h"

#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

namespace ricci::runtime {
namespace {

TEST_CASE("a size class is at most a quarter larger than the request") {
    for (std::size_t bytes = 256; bytes < 100'000; bytes += 37) {
        CAPTURE(bytes);
        CHECK(size_class_bytes(bytes) >= bytes);
        CHECK(size_class_bytes(bytes) <= bytes + bytes / 4 + 64);
        CHECK(size_class_bytes(size_class_bytes(bytes)) == size_class_bytes(bytes));
    }
    CHECK(size_class_bytes(0) == 64);
}

TEST_CASE("a returned block is the next one handed out") {
    Pool pool;
    void* first = pool.allocate(1000).get();
    const auto second = pool.allocate(1010);
    CHECK(second.get() == first);
    CHECK(pool.use().reused == 1);
}

TEST_CASE("a loop keeps its blocks whatever lies idle since before") {
    Pool pool;
    {
        // A gigabyte that nobody touches.
        std::vector<std::shared_ptr<void>> before;
        for (int i = 0; i < 16; ++i) before.push_back(pool.allocate(std::size_t{64} << 20));
    }
    const std::size_t kept = pool.use().kept_bytes;
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t reused = pool.use().reused;
        (void)pool.allocate(std::size_t{48} << 20);
        CHECK(pool.use().reused == reused + (i > 0 ? 1 : 0));
        CHECK(pool.use().kept_bytes <= kept);
    }
    CHECK(pool.use().kept_bytes == kept - (std::size_t{16} << 20));
}

TEST_CASE("use and peak count what is handed out") {
    Pool pool;
    auto a = pool.allocate(1024);
    auto b = pool.allocate(1024);
    CHECK(pool.use().in_use_bytes == 2048);
    b.reset();
    CHECK(pool.use().in_use_bytes == 1024);
    CHECK(pool.use().peak_bytes == 2048);
    CHECK(pool.use().kept_bytes == 1024);
    pool.trim();
    CHECK(pool.use().kept_bytes == 0);
    pool.reset_peak();
    CHECK(pool.use().peak_bytes == 1024);
}

TEST_CASE("a block outlives its pool") {
    std::shared_ptr<void> block;
    {
        Pool pool;
        block = pool.allocate(100);
    }
    std::memset(block.get(), 1, 100);
}

TEST_CASE("memory that does not exist is a device error and the pool goes on") {
    Pool pool;
    CHECK(tests::error_text([&] { (void)pool.allocate(std::size_t{1} << 60); }) ==
          "device: no memory for 1152921504606846976 bytes, 0 bytes are in use\n"
          "  = hint: work on smaller pieces, or let go of arrays no longer needed");
    CHECK(pool.allocate(64) != nullptr);
}

TEST_CASE("threads get blocks of their own") {
    Pool pool;
    std::vector<std::thread> threads;
    bool is_clean[4] = {};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&pool, &is_clean, t] {
            bool clean = true;
            for (std::size_t i = 1; i < 500; ++i) {
                const auto block = pool.allocate(i * 8);
                auto* bytes = static_cast<unsigned char*>(block.get());
                std::memset(bytes, t, i * 8);
                clean = clean && bytes[0] == t && bytes[i * 8 - 1] == t;
            }
            is_clean[t] = clean;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const bool clean : is_clean) CHECK(clean);
    CHECK(pool.use().in_use_bytes == 0);
}

}  // namespace
}  // namespace ricci::runtime
