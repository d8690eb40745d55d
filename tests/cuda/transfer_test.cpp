// tests/cuda/transfer_test.cpp – arrays between host and GPU, when somebody needs them there
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"
#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

std::vector<float> values_of(const Array& array) {
    const Array whole = array.contiguous();
    const auto span = whole.span<const float>();
    return {span.begin(), span.end()};
}

/// How often bytes went each way since it was made.
struct Copies {
    explicit Copies(const EmulatedGpu& gpu) : emulated(gpu) {}
    [[nodiscard]] std::int64_t to() const {
        return emulated.device.calls("cuMemcpyHtoDAsync_v2") - first_to;
    }
    [[nodiscard]] std::int64_t from() const {
        return emulated.device.calls("cuMemcpyDtoHAsync_v2") - first_from;
    }
    const EmulatedGpu& emulated;
    std::int64_t first_to = emulated.device.calls("cuMemcpyHtoDAsync_v2");
    std::int64_t first_from = emulated.device.calls("cuMemcpyDtoHAsync_v2");
};

TEST_CASE("an array goes to the GPU and comes back with the same values") {
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000},
                                    std::int64_t{100'000}, std::int64_t{7'000'001}}) {
        CAPTURE(size);
        const EmulatedGpu emulated(deferred(7));
        const Array x = Array::randn(DType::f32, {size});
        const Array there = x.to(Device::cuda);
        CHECK(there.device() == Device::cuda);
        CHECK(x.device() == Device::cpu);
        const Array back = there.to(Device::cpu);
        CHECK(back.device() == Device::cpu);
        CHECK(values_of(back) == values_of(x));
    }
}

TEST_CASE("the host's array may change as soon as its copy has been started") {
    const EmulatedGpu emulated(deferred(3));
    Array x = Array::full(DType::f32, {300'000}, 1);
    const Array there = x.to(Device::cuda);
    for (float& value : x.span<float>()) value = 2;
    CHECK(values_of(there) == std::vector<float>(300'000, 1));
}

TEST_CASE("many copies through the same staging memory do not meet") {
    const EmulatedGpu emulated(deferred(11));
    std::vector<Array> there;
    for (int i = 0; i < 200; ++i)
        there.push_back(Array::full(DType::f32, {4000}, i).to(Device::cuda));
    for (int i = 0; i < 200; ++i) {
        CAPTURE(i);
        CHECK(there[static_cast<std::size_t>(i)].at({3999}) == i);
    }
}

TEST_CASE("what is read on the host is brought over once, and stays valid on the GPU") {
    const EmulatedGpu emulated;
    const Array there = Array::arange(DType::f32, {100}).to(Device::cuda);
    const Copies copies(emulated);
    CHECK(there.at({7}) == 7);
    CHECK(there.at({8}) == 8);
    CHECK(str(there).starts_with("[ 0,"));
    CHECK(copies.from() == 1);
    CHECK(there.device() == Device::cuda);
    (void)there.to(Device::cuda);
    CHECK(copies.to() == 0);
}

TEST_CASE("writing on the host makes the GPU's copy old") {
    const EmulatedGpu emulated;
    Array there = Array::arange(DType::f32, {100}).to(Device::cuda);
    there.span<float>()[5] = 50;
    CHECK(there.device() == Device::cpu);
    const Array again = there.to(Device::cuda);
    CHECK(again.at({5}) == 50);
    CHECK(again.at({6}) == 6);
}

TEST_CASE("views share one copy on the GPU") {
    const EmulatedGpu emulated;
    const Array there = Array::arange(DType::f32, {10, 20}).to(Device::cuda);
    const Array row = there.slice(0, 3, 4);
    CHECK(row.device() == Device::cuda);
    const Copies copies(emulated);
    CHECK(row.at({0, 2}) == 62);
    CHECK(there.at({9, 19}) == 199);
    CHECK(there.transpose({1, 0}).at({19, 9}) == 199);
    CHECK(copies.from() == 1);
    CHECK(values_of(there.slice(1, 2, 3).to(Device::cpu)) ==
          std::vector<float>{2, 22, 42, 62, 82, 102, 122, 142, 162, 182});
}

TEST_CASE("a strided view goes to the GPU as a contiguous array") {
    const EmulatedGpu emulated;
    const Array x = Array::arange(DType::f32, {3, 4}).transpose({1, 0});
    const Array there = x.to(Device::cuda);
    CHECK(there.is_contiguous());
    CHECK(values_of(there) == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
}

TEST_CASE("a contiguous array is copied on the GPU where it is") {
    const EmulatedGpu emulated;
    const Array there = Array::arange(DType::f32, {100}).to(Device::cuda);
    const Copies copies(emulated);
    const Array copy = there.slice(0, 10, 20).copy();
    CHECK(copies.from() == 0);
    CHECK(copy.device() == Device::cuda);
    CHECK(values_of(copy) == std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
}

TEST_CASE("a failed copy leaves the array where it was") {
    EmulatedGpu emulated;
    const Array there = Array::arange(DType::f32, {100}).to(Device::cuda);
    emulated.device.fail("cuMemcpyDtoHAsync_v2", 1, cuda::error_invalid_value);
    CHECK(error_text([&] { (void)there.at({1}); }) ==
          "device: copying 400 bytes from the GPU failed: invalid argument "
          "(CUDA_ERROR_INVALID_VALUE, 1)");
    CHECK(there.at({1}) == 1);
}

TEST_CASE("data that was only on a GPU that is given up is lost, and says so") {
    Array there;
    Array both;
    {
        const EmulatedGpu emulated;
        there = Array::arange(DType::f32, {4}).to(Device::cuda);
        both = there.copy();
        CHECK(both.at({3}) == 3);
    }
    CHECK(both.at({3}) == 3);
    CHECK(error_text([&] { (void)there.at({3}); }) ==
          "device: the data of an array was on a GPU that was given up\n"
          "  = hint: read it, or move it with to(Device::cpu), before");
}

}  // namespace
}  // namespace ricci::tests
