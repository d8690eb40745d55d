// tests/cuda/failure_test.cpp – every call of the driver fails in turn: nothing is changed, and the
// error says what was tried
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/cuda/emulated_gpu.h"
#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

constexpr int other_error = cuda::error_invalid_value;
constexpr int most_calls = 40;

constexpr std::string_view driver_functions[] = {
#define RICCI_NAME(name, result, parameters) #name,
    RICCI_CUDA_DRIVER(RICCI_NAME)
#undef RICCI_NAME
};

std::vector<float> values_of(const Array& array) {
    const auto span = array.span<const float>();
    return {span.begin(), span.end()};
}

/// Lets the first, second, ... call of every function of the driver fail while `act` runs, as long
/// as `act` makes so many; `check` looks at what is left, with what `act` raised. Gives how often
/// an error was raised.
int fail_each(emulation::Device& device, const std::function<void()>& act,
              const std::function<void(const std::string& error)>& check) {
    int raised = 0;
    for (const std::string_view function : driver_functions) {
        for (int call = 1; call <= most_calls; ++call) {
            const std::int64_t before = device.calls(function);
            CAPTURE(std::string(function));
            CAPTURE(call);
            device.fail(function, call, other_error);
            const std::string error = error_text(act);
            device.fail(function, 1, 0, 0);  // no more
            const bool is_met = device.calls(function) >= before + call;
            check(error);
            if (!is_met) break;
            if (error != "no error") ++raised;
            REQUIRE(call < most_calls);
        }
    }
    return raised;
}

/// Whether the text says what failed, with the driver's words.
bool is_clear(const std::string& error) {
    return error == "no error" ||
           (error.starts_with("device: ") &&
            error.find("(CUDA_ERROR_INVALID_VALUE, 1)") != std::string::npos);
}

const char* const two_updates = "m[i] = 0.5*m[i] + sum[j](A[i,j]); w[i] -= sum[k](A[k,i]*m[k])";

struct Scene {
    Array m = Array::from<float>({1, 2, 3}, {3});
    Array w = Array::from<float>({4, 5, 6}, {3});
    Array A = Array::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});

    void run(const Function& f) const { (void)f({{"m", m}, {"w", w}, {"A", A}}); }
    void check_unchanged() const {
        CHECK(values_of(m) == std::vector<float>{1, 2, 3});
        CHECK(values_of(w) == std::vector<float>{4, 5, 6});
        CHECK(A.at({2, 2}) == 9);
    }
    void check_done() const {
        CHECK(m.at({0}) == doctest::Approx(6.5));
        CHECK(w.at({0}) == doctest::Approx(4 - (6.5 + 4 * 16 + 7 * 25.5)));
    }
};

TEST_CASE("a run that fails leaves arguments on the host as they were") {
    EmulatedGpu emulated;
    const Function f = compile(two_updates, "f", Device::cuda);
    Scene().run(f);
    Scene scene;
    const int raised = fail_each(
        emulated.device,
        [&] {
            scene = {};
            scene.run(f);
        },
        [&](const std::string& error) {
            CHECK_MESSAGE(is_clear(error), error);
            if (error == "no error")
                scene.check_done();
            else
                scene.check_unchanged();
        });
    CHECK(raised >= 8);
}

TEST_CASE("a run that fails leaves arguments on the GPU as they were") {
    EmulatedGpu emulated(deferred(4));
    const Function f = compile(two_updates, "f", Device::cuda);
    Scene().run(f);
    Scene scene;
    std::vector<Scene> others;  // each run works at addresses of its own
    const auto renew = [&] {
        others.push_back(scene);
        scene = {};
        for (Array* array : {&scene.m, &scene.w, &scene.A}) *array = array->to(Device::cuda);
    };
    renew();
    const int raised = fail_each(
        emulated.device, [&] { scene.run(f); },
        [&](const std::string& error) {
            CHECK_MESSAGE(is_clear(error), error);
            if (error == "no error")
                scene.check_done();
            else
                scene.check_unchanged();
            renew();
        });
    CHECK(raised >= 4);
}

TEST_CASE("a run that fails leaves the user's memory as it was") {
    EmulatedGpu emulated;
    const Function f = compile("a[i] += 2*x[i]", "f", Device::cuda);
    const Array x = Array::arange(DType::f32, {100'000});
    std::vector<float> memory(100'000, 1);
    const Array a = Array::view(memory.data(), {100'000});
    (void)f(a, x);
    const int raised = fail_each(
        emulated.device,
        [&] {
            std::ranges::fill(memory, 1.0F);
            (void)f(a, x);
        },
        [&](const std::string& error) {
            CHECK_MESSAGE(is_clear(error), error);
            const float factor = error == "no error" ? 2 : 0;
            bool is_right = true;
            for (std::size_t i = 0; i < memory.size(); ++i)
                is_right = is_right && memory[i] == 1 + factor * static_cast<float>(i);
            CHECK(is_right);
        });
    CHECK(raised >= 4);
}

TEST_CASE("a run that cannot write the user's memory changes no other argument") {
    EmulatedGpu emulated;
    const Function f = compile("a[i] += x[i]; b[i] += 2*x[i]", "f", Device::cuda);
    const Array x = Array::full(DType::f32, {10}, 1);
    std::vector<float> memory(10, 5);
    for (const bool is_on_gpu : {false, true}) {
        CAPTURE(is_on_gpu);
        const Array own = Array::full(DType::f32, {10}, 7);
        const Array b = is_on_gpu ? own.to(Device::cuda) : own;
        const auto run = [&] {
            (void)f({{"a", Array::view(memory.data(), {10})}, {"b", b}, {"x", x}});
        };
        // The last copy, behind what saves `b`.
        emulated.device.fail("cuMemcpyDtoHAsync_v2", is_on_gpu ? 2 : 1, other_error);
        CHECK(is_clear(error_text(run)));
        CHECK(memory == std::vector<float>(10, 5));
        CHECK(values_of(b) == std::vector<float>(10, 7));
        emulated.device.fail("cuMemcpyDtoHAsync_v2", 1, 0, 0);
        run();
        CHECK(memory == std::vector<float>(10, 6));
        CHECK(values_of(b) == std::vector<float>(10, 9));
        std::ranges::fill(memory, 5.0F);
    }
}

TEST_CASE("a failure of what opens the GPU is an error, and the next call opens it") {
    for (const std::string_view function :
         {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2",
          "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuEventCreate",
          "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2"}) {
        CAPTURE(std::string(function));
        EmulatedGpu emulated;
        emulated.device.fail(function, 1, other_error);
        const Array x = Array::arange(DType::f32, {4});
        CHECK(error_text([&] { (void)x.to(Device::cuda); }).starts_with("device: "));
        CHECK(x.to(Device::cuda).at({3}) == 3);
    }
}

TEST_CASE("a failure of what loads kernels is an error, and the next call loads them") {
    EmulatedGpu emulated;
    const Array x = Array::arange(DType::f32, {4});
    int number = 0;
    for (const std::string_view function :
         {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN",
          "cuModuleLoadData", "cuModuleGetFunction"}) {
        CAPTURE(std::string(function));
        const Function f = compile(format("y[i] := x[i] + {}", ++number), "f", Device::cuda);
        emulated.device.fail(function, 1, function.starts_with("nvrtc") ? 11 : other_error);
        const std::string error = error_text([&] { (void)f(x); });
        CHECK_MESSAGE(error != "no error", error);
        CHECK(f(x).at({3}) == 3 + number);
    }
}

TEST_CASE("no memory on the GPU is an error that says how much there is") {
    emulation::DeviceOptions options;
    options.memory_bytes = std::size_t{8} << 20;
    const EmulatedGpu emulated(options);
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array x = Array::zeros(DType::f32, {1'500'000});
    CHECK(error_text([&] {
              (void)twice(x);
          }).starts_with("device: no memory for 6000000 bytes on the GPU: "));
    CHECK(x.at({3}) == 0);
    CHECK(twice(Array::full(DType::f32, {10}, 4)).at({9}) == 8);
}

TEST_CASE("a kernel that goes wrong on the GPU is an error where its work is waited for") {
    EmulatedGpu emulated(deferred(1));
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array y = twice(Array::zeros(DType::f32, {10}));
    emulated.device.fail("cuStreamSynchronize", 1, 700);
    CHECK(error_text([] { synchronize(Device::cuda); }) ==
          "device: waiting for the GPU failed: an illegal memory access was encountered "
          "(CUDA_ERROR_ILLEGAL_ADDRESS, 700)\n"
          "  = hint: the GPU's state is lost, start the program anew; with compute-sanitizer it "
          "shows the access at fault. Please report it");
}

}  // namespace
}  // namespace ricci::tests
