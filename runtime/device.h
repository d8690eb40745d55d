// runtime/device.h – where programs run and data lies
#pragma once

#include <cstdint>
#include <string_view>

namespace ricci {

enum class Device : std::uint8_t {
    cpu,
    cuda,       ///< the first GPU that NVIDIA's driver lists
    reference,  ///< slow and obvious evaluation on the CPU, the measure of the others
};
[[nodiscard]] std::string_view name(Device device) noexcept;
/// The device of that name. Throws: `device`.
[[nodiscard]] Device device_from_name(std::string_view name);
/// What RICCI_DEVICE says, else the CPU. Throws: `device` for an unknown name.
[[nodiscard]] Device default_device();
/// Waits until everything that was started on the device is done: calls on a GPU return before
/// their kernels have run. Reading a result waits by itself.
/// Throws: `device` when a kernel failed meanwhile.
void synchronize(Device device);

}  // namespace ricci
