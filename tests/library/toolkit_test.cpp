// tests/library/toolkit_test.cpp – what the toolkit's own libraries take without a device
//
// Neither library makes a handle without a GPU. Everything before that is theirs: cuBLASLt's
// descriptors are made and read back, cuDNN's graphs are finalised.
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/cuda/library_handles.h"
#include "tests/library/library_calls.h"
#include "tests/library/random_sums.h"

using namespace ricci;
using namespace ricci::tests;

using codegen::Convolution;
using codegen::LibraryCall;
using codegen::MatrixProduct;

namespace {

bool is_missing(const cuda::LibraryState& state) {
    if (!state.is_usable) std::cout << "SKIPPED: " << state.text << "\n";
    return !state.is_usable;
}

// cuBLASLt with its own descriptors, but a handle, a heuristic and a product of ours. These read
// the descriptors back with cuBLASLt's functions.
using GetAttribute = int(void* descriptor, int attribute, void* value, std::size_t bytes,
                         std::size_t* written);
GetAttribute* layout_attribute = nullptr;
GetAttribute* operation_attribute = nullptr;

template <class T>
T read(GetAttribute* function, void* descriptor, int attribute) {
    T value{};
    std::size_t written = 0;
    REQUIRE(function(descriptor, attribute, &value, sizeof value, &written) == 0);
    REQUIRE(written == sizeof value);
    return value;
}

struct ReadLayout {
    std::uint64_t rows, columns;
    std::int64_t leading;
    std::int32_t batch;
    std::int64_t batch_stride;
};
ReadLayout read_layout(cuda::LtLayout layout) {
    const auto of = [&](int attribute, auto value) {
        return read<decltype(value)>(layout_attribute, layout, attribute);
    };
    return {of(2, std::uint64_t{}), of(3, std::uint64_t{}), of(4, std::int64_t{}),
            of(5, std::int32_t{}), of(6, std::int64_t{})};
}

/// What the last heuristic was asked about.
struct Asked {
    ReadLayout a, b, d;
    int transpose_a, transpose_b, epilogue;
    std::int64_t bias_batch_stride;
};
std::optional<Asked> asked;

int heuristic(cuda::LtHandle, cuda::LtOperation operation, cuda::LtLayout a, cuda::LtLayout b,
              cuda::LtLayout, cuda::LtLayout d, cuda::LtPreference, int, cuda::LtHeuristic* results,
              int* returned) {
    const auto of = [&](int attribute, auto value) {
        return read<decltype(value)>(operation_attribute, operation, attribute);
    };
    asked = Asked{read_layout(a), read_layout(b), read_layout(d),        of(3, int{}),
                  of(4, int{}),   of(7, int{}),   of(10, std::int64_t{})};
    results[0] = {};
    *returned = 1;
    return 0;
}

cuda::CublasLt with_own_heuristic() {
    cuda::CublasLt table = cuda::cublaslt();
    table.cublasLtCreate = [](cuda::LtHandle* handle) {
        *handle = reinterpret_cast<cuda::LtHandle>(std::uintptr_t{8});
        return 0;
    };
    table.cublasLtDestroy = [](cuda::LtHandle) { return 0; };
    table.cublasLtMatmulAlgoGetHeuristic = heuristic;
    return table;
}

void check_asked(const MatrixProduct& p) {
    REQUIRE(asked);
    const auto rows = [](const ReadLayout& layout, int op) {
        return std::int64_t(op == 0 ? layout.rows : layout.columns);
    };
    const auto columns = [](const ReadLayout& layout, int op) {
        return std::int64_t(op == 0 ? layout.columns : layout.rows);
    };
    CHECK(rows(asked->a, asked->transpose_a) == std::int64_t(asked->d.rows));
    CHECK(columns(asked->a, asked->transpose_a) == p.depth);
    CHECK(rows(asked->b, asked->transpose_b) == p.depth);
    CHECK(asked->d.rows * asked->d.columns == std::uint64_t(p.rows * p.columns));
    CHECK(asked->d.batch == p.batch);
    CHECK(asked->a.batch == p.batch);
    if (p.batch > 1) CHECK(asked->d.batch_stride == p.result.batch_stride);
    for (const ReadLayout& layout : {asked->a, asked->b, asked->d})
        CHECK(layout.leading >= std::int64_t(layout.rows));
    const int bias = p.bias ? 4 : 0;
    const int relu = p.activation == codegen::Activation::relu ? 2 : 0;
    CHECK(asked->epilogue == std::max(1, bias + relu));
    if (p.bias && p.batch > 1) CHECK(asked->bias_batch_stride == p.bias->batch_stride);
}

}  // namespace

TEST_CASE("cuBLASLt takes the descriptors of random products") {
    if (is_missing(cuda::cublaslt_state())) return;
    void* library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libcublasLt.so.12", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    layout_attribute =
        reinterpret_cast<GetAttribute*>(dlsym(library, "cublasLtMatrixLayoutGetAttribute"));
    operation_attribute =
        reinterpret_cast<GetAttribute*>(dlsym(library, "cublasLtMatmulDescGetAttribute"));
    REQUIRE(bool(layout_attribute));
    REQUIRE(bool(operation_attribute));
    const cuda::CublasLt table = with_own_heuristic();
    const cuda::ReplacedMathLibraries replaced(&table, nullptr);
    int products = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const RandomSum sum = random_contraction(seed);
        const auto program = planned(bound(sum.text, sum.signature), sum.signature, seed);
        REQUIRE(program);
        const std::optional<LibraryCall> call = recognised(*program);
        const auto* product = call ? std::get_if<MatrixProduct>(&call->call) : nullptr;
        if (product == nullptr) continue;
        INFO(str(*call));
        asked.reset();
        const cuda::Preparation prepared = cuda::prepare(*call, {});
        INFO(prepared.reason);
        REQUIRE(prepared.call);
        check_asked(*product);
        ++products;
    }
    CHECK(products > 100);
}

TEST_CASE("cuBLASLt makes no handle without a device, and says so") {
    if (is_missing(cuda::cublaslt_state())) return;
    const Signature signature = {{"A", array({64, 64})}, {"B", array({64, 64})}};
    const auto program = planned(bound("C[i,j] := A[i,k]*B[k,j]", signature), signature, 1);
    const cuda::Preparation prepared = cuda::prepare(*recognised(*program), {});
    // Where there is a device the call is prepared.
    if (!prepared.call)
        CHECK(prepared.reason.starts_with("cuBLASLt does not start: CUBLAS_STATUS_"));
}

TEST_CASE("cuDNN finalises the graphs of recognised convolutions") {
    if (is_missing(cuda::cudnn_state())) return;
    int finalised = 0;
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 250; ++seed) {
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
            INFO(str(*call));
            try {
                const cuda::OperationGraph graph = cuda::fused_graph(*convolution, {}, nullptr);
                CHECK(graph.tensors.size() == 3);
                ++finalised;
            } catch (const Error& error) {
                const std::string& message = error.diagnosis().message;
                CHECK_MESSAGE(message.starts_with("cuDNN has no convolution"), message);
                ++refused;
            }
        }
    }
    MESSAGE(finalised << " graphs, " << refused << " refused");
    CHECK(finalised > 300);
}

TEST_CASE("cuDNN finalises bias and activation, fused and alone") {
    if (is_missing(cuda::cudnn_state())) return;
    for (const DType dtype : {DType::f32, DType::f64}) {
        for (const bool channels_last : {false, true}) {
            const std::string x = channels_last ? "X[n,p+r,q+s,c]" : "X[n,c,p+r,q+s]";
            const std::string w = channels_last ? "W[o,r,s,c]" : "W[o,c,r,s]";
            const std::string y = channels_last ? "Y[n,p,q,o]" : "Y[n,o,p,q]";
            const Signature signature = {
                {"X", array(channels_last ? Shape{2, 9, 10, 8} : Shape{2, 8, 9, 10}, dtype)},
                {"W", array(channels_last ? Shape{16, 3, 3, 8} : Shape{16, 8, 3, 3}, dtype)},
                {"b", array({16}, dtype)}};
            const std::string text = format("{} := relu(sum[c,r,s]({}*{}) + b[o])", y, x, w);
            INFO(text);
            const auto program = planned(bound(text, signature), signature, 1);
            REQUIRE(program);
            const std::optional<LibraryCall> call = recognised(*program);
            REQUIRE(call);
            const auto& convolution = std::get<Convolution>(call->call);
            CHECK(cuda::fused_graph(convolution, {}, nullptr).tensors.size() == 4);
            CHECK(cuda::plain_graph(convolution, {}, nullptr).tensors.size() == 3);
            CHECK(cuda::epilogue_graph(convolution, {}, nullptr).tensors.size() == 3);
        }
    }
}
