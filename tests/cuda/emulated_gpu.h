// tests/cuda/emulated_gpu.h – an emulated GPU in the place of this process's own
#pragma once

#include <optional>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/cuda/api.h"
#include "runtime/cuda/gpu.h"
#include "tests/emulation/device.h"
#include "tests/support/set_variable.h"

namespace ricci::tests {

/// For the length of a scope. At its end the runtime gives up the device: nothing may be left over,
/// and no kernel may have done wrong.
class EmulatedGpu {
  public:
    explicit EmulatedGpu(emulation::DeviceOptions options = {}) : device(std::move(options)) {
        replaced_.emplace(&device.driver(), &device.nvrtc());
    }
    ~EmulatedGpu() {
        CHECK(device.fault() == "");
        replaced_.reset();
        CHECK(device.leaks() == "");
    }
    EmulatedGpu(const EmulatedGpu&) = delete;
    EmulatedGpu& operator=(const EmulatedGpu&) = delete;

    /// What the runtime makes of it.
    [[nodiscard]] std::shared_ptr<cuda::Gpu> gpu() const {
        auto gpu = cuda::Gpu::current();
        gpu->make_current();
        return gpu;
    }

    emulation::Device device;

  private:
    // Libraries would look for a real one.
    SetVariable libraries_{"RICCI_CUDA_LIBRARIES", "generated"};
    std::optional<cuda::ReplacedLibraries> replaced_;
};

/// Work is done late, in a random order of those that are allowed.
inline emulation::DeviceOptions deferred(std::uint64_t seed = 0) {
    emulation::DeviceOptions options;
    options.streams = emulation::Streams::deferred;
    options.manner.seed = seed;
    return options;
}

}  // namespace ricci::tests
