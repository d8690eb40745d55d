// tests/cuda/untouched_test.cpp – a call that is refused leaves every array as it was, on a GPU too
#include "tests/hostile/untouched.h"

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"

namespace ricci::tests {

TEST_CASE("a refused call leaves every array as it was, on an emulated GPU") {
    const EmulatedGpu emulated;
    check_untouched(Device::cuda);
}

}  // namespace ricci::tests
