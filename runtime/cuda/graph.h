// runtime/cuda/graph.h – runs that repeat become one launch
//
// A run is known by the addresses it works on. One that is met for the second time is captured into
// a CUDA graph, which costs the processor a launch instead of one for each kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/api.h"
#include "runtime/cuda/gpu.h"

namespace ricci::cuda {

/// The captured runs of one program, the last used ones. Thread-safe.
class GraphCache {
  public:
    /// Enqueues a run on a stream. Throws: `device`.
    using Enqueue = std::function<void(Stream)>;

    explicit GraphCache(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
    ~GraphCache();
    GraphCache(const GraphCache&) = delete;
    GraphCache& operator=(const GraphCache&) = delete;

    /// When a run is captured: when it is met again; or at once, because it must be started as a
    /// whole or not at all.
    enum class Capture : std::uint8_t { when_repeated, at_once };
    /// Enqueues the run on the compute stream. Throws: `device`.
    void launch(const std::vector<DevicePointer>& addresses, Capture capture,
                const Enqueue& enqueue);

  private:
    struct Entry {
        std::vector<DevicePointer> addresses;
        GraphExec exec = nullptr;  ///< null: met once
    };

    [[nodiscard]] Entry& entry_for(const std::vector<DevicePointer>& addresses, bool& is_new);
    [[nodiscard]] GraphExec captured(const Enqueue& enqueue) const;

    std::shared_ptr<Gpu> gpu_;
    std::mutex mutex_;
    std::list<Entry> entries_;  ///< the last used first
};

}  // namespace ricci::cuda
