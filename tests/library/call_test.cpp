// tests/library/call_test.cpp – prepared calls against emulated libraries
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <doctest/doctest.h>

#include "base/match.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/library_handles.h"
#include "tests/library/cublaslt_emulation.h"
#include "tests/library/cudnn_emulation.h"
#include "tests/library/library_calls.h"
#include "tests/library/random_sums.h"
#include "tests/support/error_text.h"

using namespace ricci;
using namespace ricci::tests;

using codegen::Convolution;
using codegen::LibraryCall;
using codegen::MatrixProduct;

namespace {

/// Both libraries emulated; none of their objects may be left at the end.
struct Emulation {
    LtEmulation& lt = reset_lt_emulation();
    CudnnEmulation& cudnn = reset_cudnn_emulation();
    std::unique_ptr<cuda::ReplacedMathLibraries> replaced =
        std::make_unique<cuda::ReplacedMathLibraries>(&emulated_cublaslt(), &emulated_cudnn());

    ~Emulation() {
        replaced.reset();
        CHECK(lt.objects == 0);
        CHECK(cudnn.objects == 0);
    }
};

/// A plan's buffers as a device has them: each aligned to 16 bytes and to no more.
class DeviceBuffers {
  public:
    DeviceBuffers(const Planned& planned) {
        for (std::size_t i = 0; i < planned.buffers.size(); ++i) {
            const std::size_t bytes =
                planned.buffers[i].size() * size_bytes(planned.plan.buffers[i].dtype);
            auto& block = blocks_.emplace_back(std::make_unique<Line[]>(bytes / sizeof(Line) + 2));
            std::byte* begin = block[0].bytes + 16;
            addresses_.push_back(reinterpret_cast<cuda::DevicePointer>(begin));
            for_each(planned, i, planned.buffers[i], [](double& number, auto& element) {
                element = std::remove_reference_t<decltype(element)>(number);
            });
        }
    }
    [[nodiscard]] const std::vector<cuda::DevicePointer>& addresses() const { return addresses_; }
    [[nodiscard]] Buffers numbers(const Planned& planned) {
        Buffers found = planned.buffers;
        for (std::size_t i = 0; i < found.size(); ++i)
            for_each(planned, i, found[i],
                     [](double& number, auto& element) { number = double(element); });
        return found;
    }

  private:
    struct alignas(256) Line {
        std::byte bytes[256];
    };
    template <class F>
    void for_each(const Planned& planned, std::size_t i, const std::vector<double>& numbers,
                  F&& visit) {
        auto& all = const_cast<std::vector<double>&>(numbers);
        for (std::size_t n = 0; n < all.size(); ++n) {
            if (planned.plan.buffers[i].dtype == DType::f32)
                visit(all[n], reinterpret_cast<float*>(addresses_[i])[n]);
            else
                visit(all[n], reinterpret_cast<double*>(addresses_[i])[n]);
        }
    }

    std::vector<std::unique_ptr<Line[]>> blocks_;
    std::vector<cuda::DevicePointer> addresses_;
};

/// Prepares the call, runs it twice on fresh buffers, and compares with the reference.
void check_run(const Planned& planned, const LibraryCall& call) {
    INFO(str(call));
    const cuda::Preparation prepared = cuda::prepare(call, {});
    INFO(prepared.reason);
    REQUIRE(prepared.call);
    for (int run = 0; run < 2; ++run) {
        DeviceBuffers buffers(planned);
        const std::size_t bytes = prepared.call->workspace_bytes();
        const std::unique_ptr<void, void (*)(void*)> workspace(
            std::aligned_alloc(256, bytes / 256 * 256 + 256), std::free);
        prepared.call->run(buffers.addresses(),
                           reinterpret_cast<cuda::DevicePointer>(workspace.get()), nullptr);
        CHECK(difference(planned, buffers.numbers(planned)) == "");
    }
}

bool has_one_flip(const Convolution& convolution) {
    bool all = true;
    bool none = true;
    for (const Convolution::Spatial& dimension : convolution.spatial)
        if (dimension.filter > 1) (dimension.is_flipped ? none : all) = false;
    return all || none;
}

/// A call for the text, and the planned program, of which it is the kernel.
struct Case {
    Planned planned_program;
    LibraryCall call;
};
Case one(const std::string& text, const Signature& signature) {
    std::optional<Planned> program = planned(bound(text, signature), signature, 3);
    REQUIRE(program);
    const std::optional<LibraryCall> call = recognised(*program);
    REQUIRE(call);
    return {std::move(*program), *call};
}
const std::string no_order =
    "cuDNN has no convolution of arrays that are not all stored by image, channel and place, or "
    "all by image, place and channel";
const Signature matrices = {{"A", array({20, 30})}, {"B", array({30, 24})}};
const Signature image = {
    {"X", array({2, 3, 9, 10})}, {"W", array({4, 3, 3, 3})}, {"b", array({4})}};

}  // namespace

TEST_CASE("calls of cuBLASLt compute random products") {
    const Emulation emulation;
    int products = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const RandomSum sum = random_contraction(seed);
        const auto program = planned(bound(sum.text, sum.signature), sum.signature, seed);
        REQUIRE(program);
        const std::optional<LibraryCall> call = recognised(*program);
        if (!call || !std::holds_alternative<MatrixProduct>(call->call)) continue;
        INFO(sum.text);
        check_run(*program, *call);
        ++products;
    }
    CHECK(products > 500);
    CHECK(emulation.lt.products >= 2 * products);
}

TEST_CASE("calls of cuDNN compute random convolutions and their gradients") {
    const Emulation emulation;
    const std::vector<std::string> reasons = {
        "cuDNN has no convolution whose groups of channels do not lie one behind the other",
        no_order, "cuDNN has no convolution with unequal padding"};
    int convolutions = 0;
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const RandomSum sum = random_convolution(seed);
        INFO(sum.text);
        std::vector<BoundSum> all = {{bound(sum.text, sum.signature), sum.signature}};
        for (const char* argument : {"X", "W"}) all.push_back(gradient_of(sum, argument));
        for (const BoundSum& each : all) {
            const auto program = planned(each.program, each.signature, seed);
            REQUIRE(program);
            const std::optional<LibraryCall> call = recognised(*program);
            const auto* convolution = call ? std::get_if<Convolution>(&call->call) : nullptr;
            if (convolution == nullptr) continue;
            if (const cuda::Preparation prepared = cuda::prepare(*call, {}); !prepared.call) {
                const bool is_known = !has_one_flip(*convolution) ||
                                      std::ranges::find(reasons, prepared.reason) != reasons.end();
                CHECK_MESSAGE(is_known, prepared.reason);
                ++refused;
                continue;
            }
            check_run(*program, *call);
            ++convolutions;
        }
    }
    MESSAGE(convolutions << " convolutions, " << refused << " refused");
    CHECK(convolutions > 350);
}

TEST_CASE("what cuDNN computes wrong is refused") {
    const Emulation emulation;
    const auto reason = [](const char* text, const Signature& signature) {
        const cuda::Preparation prepared = cuda::prepare(one(text, signature).call, {});
        return prepared.call ? std::string() : prepared.reason;
    };
    // In order, with gaps too: channels first, channels last.
    CHECK(reason("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", image) == "");
    CHECK(reason("Y[n,o,p,q] := X[n,c,p+r,2*q+2*s]*W[o,c,r,s]", image) == "");
    const Signature last = {{"X", array({2, 9, 10, 3})}, {"W", array({4, 3, 3, 3})}};
    CHECK(reason("Y[n,p,q,o] := X[n,p+r,q+s,c]*W[o,r,s,c]", last) == "");
    // A filter or an input of another order.
    CHECK(reason("Y[n,p,q,o] := X[n,p+r,q+s,c]*W[o,c,r,s]", last) == no_order);
    CHECK(reason("Y[n,o,p,q] := X[n,c,q+s,p+r]*W[o,c,r,s]", image) == no_order);
    // Padding on one side. Of a stride more behind than is needed there is none.
    const Signature groups = {{"X", array({2, 3, 9})}, {"W", array({3, 3})}};
    CHECK(reason("Y[n,g,p] := X[n,g,pad(p+r-1,1)]*W[g,r]", groups) == "");
    CHECK(reason("Y[n,g,p] := sum[r | 2*p+r-1 >= 0](X[n,g,2*p+r-1]*W[g,r]) where p in 0:4",
                 groups) == "");
    CHECK(reason("Y[n,g,p] := sum[r | p+r-1 >= 0](X[n,g,p+r-1]*W[g,r]) where p in 0:8", groups) ==
          "cuDNN has no convolution with unequal padding");
}

TEST_CASE("bias and activation of a convolution are fused, or further plans") {
    const Emulation emulation;
    for (const char* text : {"Y[n,o,p,q] := relu(sum[c,r,s](X[n,c,p+r,q+s]*W[o,c,r,s]) + b[o])",
                             "Y[n,o,p,q] := sum[c,r,s](X[n,c,p+r,q+s]*W[o,c,r,s]) + b[o]",
                             "Y[n,o,p,q] := relu(sum[c,r,s](X[n,c,p+r,q+s]*W[o,c,r,s]))"}) {
        INFO(text);
        const Case it = one(text, image);
        check_run(it.planned_program, it.call);
        CHECK(emulation.cudnn.executions == 2);  // of two runs
        emulation.cudnn.executions = 0;
        emulation.cudnn.has_fused_engines = false;
        check_run(it.planned_program, it.call);
        CHECK(emulation.cudnn.executions > 2);
        emulation.cudnn = {.objects = emulation.cudnn.objects};
    }
}

TEST_CASE("the workspace is what the library's way needs") {
    const Emulation emulation;
    const Case product = one("C[i,j] := A[i,k]*B[k,j]", matrices);
    CHECK(cuda::prepare(product.call, {}).call->workspace_bytes() == 512);
    const Case convolution = one("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", image);
    CHECK(cuda::prepare(convolution.call, {}).call->workspace_bytes() == 1024);
    CHECK(cuda::prepare(product.call, {}).call->description() == "cublasLt 20x24x30");
    CHECK(cuda::prepare(convolution.call, {}).call->description() ==
          "cudnn convolution 2x3x9x10 by 4x3x3");
}

TEST_CASE("a call that no algorithm does says why") {
    const Emulation emulation;
    emulation.lt.has_algorithm = false;
    emulation.cudnn.has_engines = false;
    const cuda::Preparation product =
        cuda::prepare(one("C[i,j] := A[i,k]*B[k,j]", matrices).call, {});
    CHECK_FALSE(product.call);
    CHECK(product.reason == "cuBLASLt has no algorithm for a product of 20x30 by 30x24");
    const cuda::Preparation convolution =
        cuda::prepare(one("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", image).call, {});
    CHECK_FALSE(convolution.call);
    CHECK(convolution.reason == "cuDNN has no engine for cudnn convolution 2x3x9x10 by 4x3x3");
}

TEST_CASE("more workspace than is allowed is not taken") {
    const Emulation emulation;
    const Case product = one("C[i,j] := A[i,k]*B[k,j]", matrices);
    CHECK_FALSE(cuda::prepare(product.call, {.workspace_limit = 100}).call);
    const Case convolution = one("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", image);
    CHECK_FALSE(cuda::prepare(convolution.call, {.workspace_limit = 1000}).call);
}

TEST_CASE("a library that fails while it runs is a device error with its own words") {
    const Emulation emulation;
    const Case it = one("C[i,j] := A[i,k]*B[k,j]", matrices);
    const cuda::Preparation prepared = cuda::prepare(it.call, {});
    emulation.lt.fails_in_run = 7;
    DeviceBuffers buffers(it.planned_program);
    CHECK(error_text([&] { prepared.call->run(buffers.addresses(), 0, nullptr); }) ==
          "device: cuBLASLt fails in cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE\n"
          "  = hint: set RICCI_CUDA_LIBRARIES=generated to do without it");
}

TEST_CASE("cuBLASLt is told of no more alignment than there is") {
    const Emulation emulation;
    (void)cuda::prepare(one("C[i,j] := A[i,k]*B[k,j]", matrices).call, {});
    CHECK(emulation.lt.asked_a == 16);
    (void)cuda::prepare(one("C[i,j] := A[i,k]*B[k,j]", matrices).call, {.alignment = 256});
    CHECK(emulation.lt.asked_a == 256);
    // Transposed in cuBLASLt's eyes: its first operand is B, which begins one row later here.
    const Case part = one("C[i,j] := A[i,k+1]*B[k+1,j] where k in 0:29", matrices);
    (void)cuda::prepare(part.call, {.alignment = 256});
    CHECK(emulation.lt.asked_a == 32);
}

TEST_CASE("states of libraries name their version") {
    const Emulation emulation;
    CHECK(cuda::cublaslt_state().is_usable);
    CHECK(cuda::cublaslt_state().text == "13.1.0");
    CHECK(cuda::cudnn_state().text == "9.19.0");
    CHECK(cuda::cudnn_state().name == "cudnn");
}
