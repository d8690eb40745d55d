// tests/library/gpu_test.cpp – recognised calls by the libraries themselves, on a real GPU
//
// Skipped where there is none. The same checks run on the emulated device, so that they are known
// to work where they matter.
#include "runtime/cuda/gpu.h"

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "base/error.h"
#include "runtime/cuda/library_handles.h"
#include "tests/emulation/device.h"
#include "tests/library/cublaslt_emulation.h"
#include "tests/library/cudnn_emulation.h"
#include "tests/library/library_calls.h"
#include "tests/library/library_device.h"
#include "tests/library/random_sums.h"

namespace ricci::tests {
namespace {

using codegen::Convolution;
using codegen::LibraryCall;
using codegen::MatrixProduct;

bool is_gpu_missing() {
    try {
        (void)cuda::Gpu::current();
        return false;
    } catch (const Error& error) {
        std::cout << "SKIPPED: " << error.diagnosis().message << "\n";
        return true;
    }
}

/// A plan's buffers on the device.
class DeviceMemory {
  public:
    DeviceMemory(cuda::Gpu& gpu, const Planned& planned) : gpu_(gpu), planned_(planned) {
        for (std::size_t i = 0; i < planned.buffers.size(); ++i) {
            const std::vector<std::byte> bytes = packed(i);
            blocks_.push_back(gpu.upload(bytes.data(), bytes.size()));
            addresses_.push_back(blocks_.back()->pointer());
        }
    }
    [[nodiscard]] const std::vector<cuda::DevicePointer>& addresses() const { return addresses_; }
    [[nodiscard]] Buffers numbers() {
        Buffers found = planned_.buffers;
        for (std::size_t i = 0; i < found.size(); ++i) {
            std::vector<std::byte> bytes(found[i].size() * size(i));
            gpu_.download(bytes.data(), addresses_[i], bytes.size());
            for (std::size_t n = 0; n < found[i].size(); ++n) found[i][n] = read(bytes, i, n);
        }
        return found;
    }

  private:
    [[nodiscard]] bool is_f32(std::size_t i) const {
        return planned_.plan.buffers[i].dtype == DType::f32;
    }
    [[nodiscard]] std::size_t size(std::size_t i) const { return is_f32(i) ? 4 : 8; }
    [[nodiscard]] std::vector<std::byte> packed(std::size_t i) const {
        const std::vector<double>& numbers = planned_.buffers[i];
        std::vector<std::byte> bytes(numbers.size() * size(i));
        for (std::size_t n = 0; n < numbers.size(); ++n) {
            const auto single = static_cast<float>(numbers[n]);
            if (is_f32(i))
                std::memcpy(&bytes[n * 4], &single, 4);
            else
                std::memcpy(&bytes[n * 8], &numbers[n], 8);
        }
        return bytes;
    }
    [[nodiscard]] double read(const std::vector<std::byte>& bytes, std::size_t i,
                              std::size_t n) const {
        if (!is_f32(i)) {
            double number = 0;
            std::memcpy(&number, &bytes[n * 8], 8);
            return number;
        }
        float number = 0;
        std::memcpy(&number, &bytes[n * 4], 4);
        return double(number);
    }

    cuda::Gpu& gpu_;
    const Planned& planned_;
    std::vector<cuda::BlockPtr> blocks_;
    std::vector<cuda::DevicePointer> addresses_;
};

/// What a call leaves in the buffers, run on the device; empty when it cannot be prepared.
Buffers run(const std::shared_ptr<cuda::Gpu>& gpu, const Planned& planned,
            const LibraryCall& call) {
    gpu->make_current();
    const cuda::Preparation prepared = cuda::prepare(call, {.device = gpu->device()});
    if (!prepared.call) {
        INFO(str(call));
        // A product of matrices has a way whatever its layout.
        CHECK_MESSAGE(std::holds_alternative<Convolution>(call.call), prepared.reason);
        return {};
    }
    DeviceMemory memory(*gpu, planned);
    const cuda::BlockPtr workspace = gpu->allocate(prepared.call->workspace_bytes() + 256);
    prepared.call->run(memory.addresses(), (workspace->pointer() + 255) / 256 * 256,
                       gpu->compute_stream());
    gpu->synchronize();
    return memory.numbers();
}

/// Equal elements; NaN is equal to NaN.
bool are_equal(const Buffers& a, const Buffers& b) {
    bool all = a.size() == b.size();
    for (std::size_t i = 0; all && i < a.size(); ++i)
        all = a[i].size() == b[i].size() &&
              std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(double)) == 0;
    return all;
}

struct Count {
    int done = 0;
    int refused = 0;
};
void check(const BoundProgram& program, const Signature& signature, std::uint64_t seed,
           Count& count) {
    const std::optional<Planned> one = planned(program, signature, seed);
    REQUIRE(one);
    const std::optional<LibraryCall> call = recognised(*one);
    if (!call) return;
    INFO(str(*call));
    const std::shared_ptr<cuda::Gpu> gpu = cuda::Gpu::current();
    const Buffers first = run(gpu, *one, *call);
    if (first.empty()) {
        ++count.refused;
        return;
    }
    ++count.done;
    CHECK(difference(*one, first) == "");
    CHECK(are_equal(first, run(gpu, *one, *call)));
}

Count check_products(std::uint64_t seeds) {
    Count count;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const RandomSum sum = random_contraction(seed);
        INFO(sum.text);
        check(bound(sum.text, sum.signature), sum.signature, seed, count);
    }
    return count;
}

Count check_convolutions(std::uint64_t seeds) {
    Count count;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const RandomSum sum = random_convolution(seed);
        INFO(sum.text);
        check(bound(sum.text, sum.signature), sum.signature, seed, count);
        for (const char* argument : {"X", "W"}) {
            const BoundSum gradient = gradient_of(sum, argument);
            check(gradient.program, gradient.signature, seed, count);
        }
    }
    return count;
}

/// Layers as networks have them, with their gradients.
enum class Demand : std::uint8_t { must_be_done, may_be_refused };
void check_layer(const std::string& text, const Signature& signature,
                 Demand demand = Demand::must_be_done) {
    INFO(text);
    Count count;
    check(bound(text, signature), signature, 1, count);
    if (!signature.contains("b")) {
        for (const char* argument : {"X", "W"}) {
            const BoundSum gradient = gradient_of({text, signature}, argument);
            check(gradient.program, gradient.signature, 1, count);
        }
    }
    MESSAGE(text << ": " << count.done << " done, " << count.refused << " without a plan");
    if (demand == Demand::may_be_refused) return;
    CHECK(count.done > 0);
    CHECK(count.refused == 0);
}
void check_layers() {
    const Signature first = {{"X", array({2, 16, 12, 12})}, {"W", array({32, 16, 3, 3})}};
    check_layer("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", first);
    check_layer(
        "Y[n,o,p,q] := sum[c,r,s | p+r-1 >= 0 && p+r-1 < 12 && q+s-1 >= 0 && q+s-1 < 12]"
        "(X[n,c,p+r-1,q+s-1]*W[o,c,r,s]) where p in 0:12, q in 0:12",
        first);
    check_layer("Y[n,p,q,o] := X[n,p+r,q+s,c]*W[o,r,s,c]",
                {{"X", array({2, 12, 12, 16})}, {"W", array({32, 3, 3, 16})}},
                Demand::may_be_refused);
    check_layer("Y[n,o] := X[n,k]*W[o,k]", {{"X", array({64, 48})}, {"W", array({32, 48})}});
    check_layer("Y[n,o] := relu(sum[k](X[n,k]*W[o,k]) + b[o])",
                {{"X", array({64, 48})}, {"W", array({32, 48})}, {"b", array({32})}});
}

/// What a relu makes of a row with NaN: `relu(NaN)` is NaN.
void check_nan() {
    const Signature signature = {{"X", array({32, 48})}, {"W", array({32, 48})}};
    const std::string text = "Y[n,o] := relu(sum[k](X[n,k]*W[o,k]))";
    std::optional<Planned> one = planned(bound(text, signature), signature, 1);
    REQUIRE(one);
    for (std::size_t i = 0; i < one->plan.buffers.size(); ++i)
        if (one->plan.buffers[i].name == "X")
            one->buffers[i][0] = std::numeric_limits<double>::quiet_NaN();
    const std::optional<LibraryCall> call = recognised(*one);
    REQUIRE(call);
    const Buffers found = run(cuda::Gpu::current(), *one, *call);
    REQUIRE_FALSE(found.empty());
    const std::size_t result = std::get<MatrixProduct>(call->call).result.place;
    CHECK(std::isnan(found[result][0]));
    CHECK(std::isnan(found[result][31]));
    CHECK_FALSE(std::isnan(found[result][32]));
}

}  // namespace

TEST_CASE("the checks of calls on a GPU hold on an emulated one") {
    reset_lt_emulation();
    reset_cudnn_emulation();
    emulation::Device device;
    library_device().memory = [&](cuda::DevicePointer address, std::size_t bytes) {
        return device.memory_at(address, bytes);
    };
    library_device().enqueue = [&](cuda::Stream stream, std::function<int()> work) {
        return device.give_work(stream, std::move(work));
    };
    {
        const cuda::ReplacedLibraries replaced(&device.driver(), &device.nvrtc());
        const cuda::ReplacedMathLibraries libraries(&emulated_cublaslt(), &emulated_cudnn());
        CHECK(check_products(100).done > 50);
        CHECK(check_convolutions(20).done > 20);
        check_layers();
        check_nan();
        cuda::Gpu::close_current();
    }
    library_device() = {};
    CHECK(device.fault() == "");
}

TEST_CASE("cuBLASLt computes random products on a GPU") {
    if (is_gpu_missing()) return;
    // Some are convolutions by their indices, which may be refused.
    CHECK(check_products(300).done > 150);
}

TEST_CASE("cuDNN computes random convolutions and their gradients on a GPU") {
    if (is_gpu_missing()) return;
    const Count count = check_convolutions(100);
    MESSAGE(count.done << " done, " << count.refused << " without a plan");
    CHECK(count.done > 100);
}

TEST_CASE("libraries do the usual layers on a GPU") {
    if (is_gpu_missing()) return;
    check_layers();
}

TEST_CASE("an activation in a product keeps NaN on a GPU") {
    if (is_gpu_missing()) return;
    check_nan();
}

}  // namespace ricci::tests
