// tests/emulation/device.h – a device without a GPU, behind the tables of the driver and of NVRTC
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/api.h"
#include "tests/emulation/launch.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/module.h"

namespace ricci::emulation {

/// When the work of streams is done.
enum class Streams : std::uint8_t {
    at_once,   ///< when it is given
    deferred,  ///< when somebody waits, in a random order of those that streams and events allow
};

struct DeviceOptions {
    std::string name = "Emulated GPU";
    std::size_t memory_bytes = std::size_t(1) << 30;
    int capability = 90;
    int multiprocessors = 132;
    int shared_bytes = 227 << 10;  ///< of a block, at most, for functions that ask for it
    Manner manner = {};
    Streams streams = Streams::at_once;
};

/// The one emulated device of a process while it lives. Its mistakes are those of a real one: a
/// kernel that fails makes every later call fail with its error, until the context is gone.
class Device {
  public:
    explicit Device(DeviceOptions options = {});
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// Tables for cuda::ReplacedLibraries.
    [[nodiscard]] const cuda::Driver& driver() const noexcept { return driver_; }
    [[nodiscard]] const cuda::Nvrtc& nvrtc() const noexcept { return nvrtc_; }

    /// From the n-th call on (1: the next one) of the function it fails with the result, `times`
    /// times.
    void fail(std::string_view function, int n, int result, int times = 1);
    /// How often the function was called.
    [[nodiscard]] std::int64_t calls(std::string_view function) const;
    /// How launches run from now on.
    void set_manner(const Manner& manner) { manner_ = manner; }
    /// What a kernel did wrong, or who wrote beside an allocation; empty when all is well.
    [[nodiscard]] std::string fault() const;
    /// What was made and not given back: `2 allocations, 1 stream`.
    [[nodiscard]] std::string leaks() const;
    [[nodiscard]] std::size_t used_bytes() const noexcept { return memory_.used_bytes(); }

    // For emulated libraries, whose work is no kernel of ours.
    /// Where bytes of the device are on the host; null when they are not all in one allocation.
    [[nodiscard]] char* memory_at(cuda::DevicePointer address, std::size_t bytes) const;
    /// Gives the stream work, as a launch is given: recorded where the stream is captured. A result
    /// but success is that of a kernel that fails.
    [[nodiscard]] int give_work(cuda::Stream stream, std::function<int()> work);
    [[nodiscard]] const DeviceOptions& options() const noexcept { return options_; }

  private:
    friend struct DriverFunctions;

    using Result = cuda::Result;
    using Clock = std::chrono::steady_clock;
    using WorkId = std::uint64_t;  ///< in the order of giving, from 1; 0: none

    struct StreamState;
    struct EventState;
    /// A piece of work of a stream, and what has to be done before.
    struct Work {
        std::function<Result()> run;
        std::vector<WorkId> after;
    };
    /// What a stream that is captured would have done: `after` are numbers in the list, from 1.
    struct Capture {
        StreamState* origin = nullptr;
        std::vector<Work> nodes;
        bool is_broken = false;
    };
    struct StreamState {
        unsigned flags = 0;
        WorkId last = 0;
        std::vector<WorkId> waits;  ///< for events, before the next piece of work
        std::shared_ptr<Capture> capture;
        WorkId captured_last = 0;
        std::vector<WorkId> captured_waits;
    };
    struct EventState {
        unsigned flags = 0;
        WorkId work = 0;  ///< its last record
        std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();
        std::shared_ptr<Capture> capture;  ///< recorded in one: the node
        WorkId captured_work = 0;
    };
    struct GraphState {
        std::vector<Work> nodes;
    };
    struct ModuleState {
        std::unique_ptr<Module> module;
    };
    struct FunctionState {
        ModuleState* module = nullptr;
        const rc_entry* entry = nullptr;
        std::size_t dynamic_shared = 48 << 10;
    };
    struct Pinned {
        std::unique_ptr<char[]> memory;
        std::size_t bytes = 0;
    };

    // Work.
    [[nodiscard]] Result give(StreamState& stream, std::function<Result()> run);
    [[nodiscard]] WorkId enqueue(StreamState& stream, std::function<Result()> run);
    void do_one(WorkId id);
    void do_any();
    void do_until(WorkId id);
    void do_all();
    [[nodiscard]] bool is_done(WorkId id) const { return id == 0 || !pending_.contains(id); }
    [[nodiscard]] Result run_graph(const GraphState& graph);
    [[nodiscard]] Result run_kernel(const FunctionState& function, const Launch& shape,
                                    const std::vector<Memory::Address>& arguments);
    [[nodiscard]] Result copy(char* to, const char* from, std::size_t bytes);
    /// Whether the host memory is pinned; sets `bytes` to what of it there is from there on.
    [[nodiscard]] bool is_pinned(const void* pointer, std::size_t& bytes) const;
    void reset_context();

    DeviceOptions options_;
    Manner manner_;
    cuda::Driver driver_;
    cuda::Nvrtc nvrtc_;
    mutable std::recursive_mutex mutex_;
    std::mt19937_64 random_;

    struct Failure {
        int after;
        int times;
        Result result;
    };
    std::map<std::string, Failure, std::less<>> failures_;
    std::map<std::string, std::int64_t, std::less<>> calls_;

    bool is_initialised_ = false;
    int context_count_ = 0;  ///< how often the primary context is retained
    std::uint64_t context_;  ///< its number, of all that there have been in this process
    Result sticky_ = 0;
    std::string fault_;

    Memory memory_;
    std::map<const char*, Pinned> pinned_;
    std::map<StreamState*, std::unique_ptr<StreamState>> streams_;
    std::map<EventState*, std::unique_ptr<EventState>> events_;
    std::map<GraphState*, std::unique_ptr<GraphState>> graphs_;
    std::map<GraphState*, std::shared_ptr<GraphState>> execs_;
    std::map<ModuleState*, std::unique_ptr<ModuleState>> modules_;
    std::map<FunctionState*, std::unique_ptr<FunctionState>> functions_;
    StreamState default_stream_;
    std::map<WorkId, Work> pending_;
    WorkId last_work_ = 0;
};

}  // namespace ricci::emulation
