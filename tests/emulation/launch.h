// tests/emulation/launch.h – runs the blocks of one launch, one after the other, threads as fibres
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/emulation/abi.h"
#include "tests/emulation/fibre.h"
#include "tests/emulation/touch.h"

namespace ricci::emulation {

enum class Order : std::uint8_t {
    ascending,
    random,  ///< of threads between barriers, and of blocks
};
enum class Copies : std::uint8_t {
    eager,  ///< asynchronous copies arrive at once
    lazy,   ///< ... or at the last moment: when they are waited for
};

/// How the device runs kernels, of the ways that it may.
struct Manner {
    Order order = Order::ascending;
    Copies copies = Copies::eager;
    std::uint64_t seed = 0;
};

/// What a kernel did wrong.
struct Fault {
    int result = 0;  ///< the driver's error
    std::string text;
};

struct Launch {
    const rc_entry* entry = nullptr;
    std::vector<rc_array> arrays;  ///< the arguments
    std::int64_t blocks = 0;
    int threads = 0;
    std::int64_t shared_bytes = 0;
};

/// Runs launches. There is one for all modules of kernels, since they call it by plain functions.
class Processor {
  public:
    [[nodiscard]] static Processor& instance();
    /// What modules are opened with.
    [[nodiscard]] const rc_device* interface() const noexcept { return &device_; }

    /// Runs a kernel to its end, or to the first thing that is wrong.
    [[nodiscard]] std::optional<Fault> run(const Launch& launch, const Manner& manner);

  private:
    enum class State : std::uint8_t { ready, at_barrier, at_exchange, ended };
    struct Copy {
        const rc_array* to;
        long long at;
        int count;
        const char* from;
        void (*move)(char* to, const char* from, int bytes);
    };
    struct Thread {
        State state = State::ready;
        int line = 0;  ///< where it waits
        std::uint64_t exchanges = 0;
        unsigned long long bits[2] = {};  ///< what it brings to exchanges, which take turns
        std::vector<Copy> copies;
        std::size_t arrived = 0;          ///< the first of the copies have arrived
        std::vector<std::size_t> groups;  ///< ends of the committed groups among them
        std::size_t waited = 0;           ///< the first of the groups have been waited for
    };

    Processor();
    Processor(const Processor&) = delete;
    Processor& operator=(const Processor&) = delete;

    void run_block(std::int64_t block);
    void run_thread(int thread);
    bool release_barrier();
    bool release_exchanges();
    void report_divergence();
    void arrange(std::vector<int>& numbers);
    void prepare_shared();
    void arrive_copies(Thread& thread, std::size_t end);

    // What runs on the fibres.
    static void body();
    void wait(State state, int line);
    void touch(const rc_array* array, long long at, int count, rc_access access, bool is_shared);
    void check_place(const rc_array* array, long long at, int count, rc_access access);
    [[noreturn]] void meet(const rc_array* array, long long at, rc_access access, Meeting meeting,
                           const Cell& cell);
    [[noreturn]] void fail(int result, std::string text);
    rc_array* declare(const char* name, long long offset, long long count, int bytes);
    unsigned long long exchange(unsigned long long bits, int mask, int line);
    void begin_copy(const Copy& copy, const rc_array* from, long long from_at);
    void wait_for_copies(int pending);
    [[nodiscard]] std::string who() const;
    [[nodiscard]] std::int64_t block_at(std::uint32_t moment) const;

    rc_device device_;
    rc_place place_{};
    unsigned char poison_ = 0;
    Fibres fibres_;
    Moment moment_;
    std::uint64_t barriers_ = 0;

    const Launch* launch_ = nullptr;
    Manner manner_;
    std::mt19937_64 random_;
    std::optional<Fault> fault_;
    std::vector<Thread> threads_;
    std::vector<std::uint32_t> block_moments_;  ///< when each block began, in the order of running
    std::vector<std::int64_t> block_order_;

    struct Shared {
        rc_array array;
        long long offset;
    };
    char* arena_ = nullptr;
    std::size_t arena_bytes_ = 0;
    std::size_t arena_used_ = 0;
    std::vector<Shared> shared_;
    std::vector<Cell> shared_cells_;
    std::size_t shared_cells_used_ = 0;
};

}  // namespace ricci::emulation
