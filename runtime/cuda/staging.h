// runtime/cuda/staging.h – copies between host and device through pinned memory
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "runtime/cuda/api.h"

namespace ricci::cuda {

/// Two pinned buffers through which copies of one stream and direction go in turn: while one is
/// copied by the device, the other is filled or emptied. Made at the first copy. Thread-safe. The
/// device's context must be current.
class Staging {
  public:
    Staging(const Driver& driver, std::size_t buffer_bytes);
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// Enqueues a copy to the device; `from` may change as soon as this returns.
    /// Throws: `device`.
    void upload(DevicePointer to, const void* from, std::size_t bytes, Stream stream);
    /// Copies to the host, and waits for it.
    /// Throws: `device`.
    void download(void* to, DevicePointer from, std::size_t bytes, Stream stream);
    /// Gives the buffers back; nothing may be under way.
    void close() noexcept;

  private:
    struct Buffer {
        char* memory = nullptr;
        Event done = nullptr;  ///< recorded behind the last copy
        bool is_under_way = false;
        std::size_t used_bytes = 0;
    };

    void require_buffers();
    void start(Buffer& buffer, Stream stream);
    void wait_for(Buffer& buffer);

    const Driver& driver_;
    std::size_t buffer_bytes_;
    std::mutex mutex_;
    std::array<Buffer, 2> buffers_;
    std::size_t current_ = 0;
};

}  // namespace ricci::cuda
