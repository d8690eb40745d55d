// tests/library/library_device.h – the memory and the streams that emulated libraries work with
#pragma once

#include <cstddef>
#include <functional>

#include "runtime/cuda/api.h"

namespace ricci::tests {

/// Without a device: addresses are the host's, and work is done when it is given.
struct LibraryDevice {
    /// Where bytes of the device are on the host; null when they are not all in one allocation.
    std::function<char*(cuda::DevicePointer address, std::size_t bytes)> memory =
        [](cuda::DevicePointer address, std::size_t) { return reinterpret_cast<char*>(address); };
    /// Gives a stream work to do, in order; a status.
    std::function<int(cuda::Stream stream, std::function<int()> work)> enqueue =
        [](cuda::Stream, const std::function<int()>& work) { return work(); };
};

/// The device of all emulated libraries of this process.
inline LibraryDevice& library_device() {
    static LibraryDevice device;
    return device;
}

}  // namespace ricci::tests
