// tests/library/executor_test.cpp – programs on an emulated GPU whose work libraries do
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/library_handles.h"
#include "runtime/function.h"
#include "runtime/function_state.h"
#include "runtime/reference.h"
#include "tests/emulation/device.h"
#include "tests/library/cublaslt_emulation.h"
#include "tests/library/cudnn_emulation.h"
#include "tests/library/library_device.h"
#include "tests/support/compare.h"
#include "tests/support/error_text.h"
#include "tests/support/set_variable.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// An emulated GPU with emulated libraries, whose work goes through its streams.
class GpuWithLibraries {
  public:
    explicit GpuWithLibraries(const char* use, emulation::DeviceOptions options = {})
        : device_(std::move(options)), use_("RICCI_CUDA_LIBRARIES", use) {
        library_device().memory = [this](cuda::DevicePointer address, std::size_t bytes) {
            return device_.memory_at(address, bytes);
        };
        library_device().enqueue = [this](cuda::Stream stream, std::function<int()> work) {
            return device_.give_work(stream, std::move(work));
        };
    }
    ~GpuWithLibraries() {
        CHECK(device_.fault() == "");
        replaced_.reset();
        CHECK(device_.leaks() == "");
        library_device() = {};
        libraries_.reset();
        CHECK(lt.objects == 0);
        CHECK(cudnn.objects == 0);
    }
    GpuWithLibraries(const GpuWithLibraries&) = delete;
    GpuWithLibraries& operator=(const GpuWithLibraries&) = delete;

    [[nodiscard]] std::int64_t launches() const { return device_.calls("cuLaunchKernel"); }
    [[nodiscard]] std::int64_t graph_launches() const { return device_.calls("cuGraphLaunch"); }

    LtEmulation& lt = reset_lt_emulation();
    CudnnEmulation& cudnn = reset_cudnn_emulation();

  private:
    emulation::Device device_;
    SetVariable use_;
    std::unique_ptr<cuda::ReplacedMathLibraries> libraries_ =
        std::make_unique<cuda::ReplacedMathLibraries>(&emulated_cublaslt(), &emulated_cudnn());
    std::unique_ptr<cuda::ReplacedLibraries> replaced_ =
        std::make_unique<cuda::ReplacedLibraries>(&device_.driver(), &device_.nvrtc());
};

/// Work is done late, in a random order of those that are allowed.
emulation::DeviceOptions deferred(std::uint64_t seed) {
    emulation::DeviceOptions options;
    if (seed != 0) options.streams = emulation::Streams::deferred;
    options.manner.seed = seed;
    return options;
}

std::string difference(const Function& function, const Arguments& arguments) {
    Signature signature;
    for (const auto& [name, array] : arguments)
        signature.emplace(name, runtime::spec_of(array, array.rank() == 0));
    const BoundProgram bound = ricci::bind(canonicalise(function.program()), signature);
    std::vector<Array> ordered;
    for (const TensorId id : bound.arguments)
        ordered.push_back(
            std::ranges::find(arguments, bound.at(id).name, &Arguments::value_type::first)->second);
    const auto expected = runtime::evaluate_with_bounds(bound, ordered);
    return compare(function(arguments), expected.front()).failure;
}

const char* const layer_text = "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])";
Arguments layer_arguments() {
    return {{"W", Array::randn(DType::f32, {5, 9}, 1)},
            {"X", Array::randn(DType::f32, {7, 9}, 2)},
            {"b", Array::randn(DType::f32, {5}, 3)}};
}
const char* const convolution_text = "Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]";
Arguments convolution_arguments() {
    return {{"X", Array::randn(DType::f32, {2, 3, 7, 8}, 1)},
            {"W", Array::randn(DType::f32, {4, 3, 3, 3}, 2)}};
}

}  // namespace

TEST_CASE("a layer and a convolution are done by libraries, without a kernel") {
    for (const std::uint64_t seed : {0, 1, 2}) {
        GpuWithLibraries gpu("library", deferred(seed));
        CHECK(difference(compile(layer_text, "layer", Device::cuda), layer_arguments()) == "");
        CHECK(difference(compile(convolution_text, "convolution", Device::cuda),
                         convolution_arguments()) == "");
        CHECK(gpu.lt.products == 1);
        CHECK(gpu.cudnn.executions == 1);
        CHECK(gpu.launches() == 0);
    }
}

TEST_CASE("library calls and kernels take turns in one program") {
    GpuWithLibraries gpu("library", deferred(3));
    const Function function =
        compile("H[n,j] := tanh(X[n,k]*V[k,j]); Y[n,o] := H[n,j]*W[j,o]; L[n] := max[o](Y[n,o])",
                "mixed", Device::cuda);
    CHECK(difference(function, {{"X", Array::randn(DType::f32, {6, 9}, 1)},
                                {"V", Array::randn(DType::f32, {9, 10}, 2)},
                                {"W", Array::randn(DType::f32, {10, 5}, 3)}}) == "");
    CHECK(gpu.lt.products > 0);
    CHECK(gpu.launches() > 0);
}

TEST_CASE("calls are captured into graphs with the pointers of the run") {
    for (const std::uint64_t seed : {0, 4}) {
        GpuWithLibraries gpu("library", deferred(seed));
        const Function function =
            compile("H[n,j] := X[n,k]*V[k,j]; Y[n,o] := relu(sum[j](H[n,j]*W[j,o]) + b[o])", "two",
                    Device::cuda);
        const Arguments arguments = {{"X", Array::randn(DType::f32, {6, 9}, 1)},
                                     {"V", Array::randn(DType::f32, {9, 8}, 2)},
                                     {"W", Array::randn(DType::f32, {8, 5}, 3)},
                                     {"b", Array::randn(DType::f32, {5}, 4)}};
        for (int run = 0; run < 12; ++run) CHECK(difference(function, arguments) == "");
        CHECK(gpu.graph_launches() > 0);
        // What is replayed is not called again.
        CHECK(gpu.lt.products < 24);
    }
}

TEST_CASE("small products are left to kernels unless libraries are asked for") {
    GpuWithLibraries gpu("auto");
    CHECK(difference(compile(layer_text, "layer", Device::cuda), layer_arguments()) == "");
    CHECK(gpu.lt.products == 0);
    CHECK(gpu.launches() > 0);
}

TEST_CASE("without an algorithm kernels do the work, or it is an error that says so") {
    {
        GpuWithLibraries gpu("auto");
        gpu.lt.has_algorithm = false;
        const Function function = compile("C[i,j] := A[i,k]*B[k,j]", "product", Device::cuda);
        CHECK(difference(function, {{"A", Array::randn(DType::f32, {130, 130}, 1)},
                                    {"B", Array::randn(DType::f32, {130, 130}, 2)}}) == "");
        CHECK(gpu.lt.products == 0);
        CHECK(gpu.launches() > 0);
    }
    GpuWithLibraries gpu("library");
    gpu.lt.has_algorithm = false;
    const Function function = compile(layer_text, "layer", Device::cuda);
    const std::string text = error_text([&] { (void)function(layer_arguments()); });
    CHECK(text.find("cuBLASLt has no algorithm for a product of 5x9 by 9x7") != std::string::npos);
    CHECK(text.find("RICCI_CUDA_LIBRARIES=auto") != std::string::npos);
}

}  // namespace ricci::tests
