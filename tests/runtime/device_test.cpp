// tests/runtime/device_test.cpp – devices by name, and arrays where there is no GPU
#include "runtime/device.h"

#include <doctest/doctest.h>

#include "runtime/array.h"
#include "tests/support/error_text.h"
#include "tests/support/set_variable.h"

namespace ricci {
namespace {

TEST_CASE("a device has a name, and what is none is an error") {
    for (const Device device : {Device::cpu, Device::cuda, Device::reference})
        CHECK(device_from_name(name(device)) == device);
    CHECK(tests::error_text([] { (void)device_from_name("tpu"); }) ==
          "device: there is no device `tpu`\n  = hint: cpu, cuda or reference");
    const tests::SetVariable chosen("RICCI_DEVICE", "cuda");
    CHECK(default_device() == Device::cuda);
}

TEST_CASE("without a GPU arrays are on the host and stay there") {
    const Array x = Array::arange(DType::f32, {4});
    CHECK(x.device() == Device::cpu);
    CHECK(x.to(Device::cpu).data() == x.data());
    CHECK(x.to(Device::reference).data() == x.data());
    CHECK(Array().to(Device::cpu).is_empty_handle());
    const tests::SetVariable nowhere("RICCI_CUDA_PATH", "/no/such/directory");
    CHECK(tests::error_text([&] { (void)x.to(Device::cuda); })
              .starts_with("device: the CUDA driver (libcuda.so.1) is not in "
                           "RICCI_CUDA_PATH=/no/such/directory\n"));
    synchronize(Device::cuda);
}

}  // namespace
}  // namespace ricci
