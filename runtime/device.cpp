// runtime/device.cpp – devices by name
#include "runtime/device.h"

#include <array>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/gpu.h"

namespace ricci {
namespace {

constexpr std::array devices = {Device::cpu, Device::cuda, Device::reference};

}  // namespace

std::string_view name(Device device) noexcept {
    switch (device) {
        case Device::cpu:       return "cpu";
        case Device::cuda:      return "cuda";
        case Device::reference: return "reference";
    }
    return {};
}

Device device_from_name(std::string_view name) {
    for (const Device device : devices)
        if (ricci::name(device) == name) return device;
    throw Error({.kind = ErrorKind::device,
                 .message = format("there is no device `{}`", name),
                 .hint = "cpu, cuda or reference"});
}

Device default_device() {
    const auto chosen = env::device();
    return chosen ? device_from_name(*chosen) : Device::cpu;
}

void synchronize(Device device) {
    if (device != Device::cuda) return;
    if (const auto gpu = cuda::Gpu::if_open()) gpu->synchronize();
}

}  // namespace ricci
