// tests/codegen_source/cuda_test.cpp – emitted CUDA files, compiled for two GPUs where nvcc is
#include <algorithm>
#include <span>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_source/compile_source.h"
#include "tests/codegen_source/source_batch.h"
#include "tests/runtime/temporary_folder.h"
#include "tests/support/golden.h"

namespace ricci::tests {
namespace {

Target gpu(int capability) {
    Target target;
    target.cpu = format("sm_{}", capability);
    target.gpu.compute_capability = capability;
    target.gpu.shared_bytes = 163 << 10;
    return target;
}

/// The command of the CUDA compiler; empty, and said, where there is none.
std::string nvcc(const TemporaryFolder& folder) {
    for (const std::string command : {"nvcc", "/usr/local/cuda/bin/nvcc"})
        if (run_command({command, "--version"}, folder / "log").status == 0) return command;
    MESSAGE("SKIPPED: there is no nvcc");
    return {};
}

/// Compiles the file for that GPU; what the compiler says of it.
std::string problem(const SourceBatch& batch, int capability) {
    const TemporaryFolder folder;
    const std::string compiler = nvcc(folder);
    if (compiler.empty()) return {};
    const std::string text = codegen::source::emit_cuda(batch.sources(), gpu(capability));
    write_bytes(folder / "program.cu", text);
    const CommandOutcome outcome =
        run_command({compiler, "-std=c++17", format("-arch=sm_{}", capability), "-O1", "-Werror",
                     "all-warnings", "-c", folder / "program.cu", "-o", folder / "program.o"},
                    folder / "log");
    return outcome.status == 0 ? "" : outcome.log + text;
}

SourceBatch programs() {
    SourceBatch batch;
    const Signature layer = {
        {"W", array_spec({300, 200})}, {"X", array_spec({400, 200})}, {"b", array_spec({300})}};
    batch.add("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", layer);
    batch.add_gradients("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "W,b", layer);
    batch.add_gradients("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k]))", "X",
                        {{"X", array_spec({40, 90})}});
    batch.add("Y[j,i] := tanh(X[i,j])", {{"X", array_spec({500, 700}, DType::f16)}});
    batch.add("a[i] := argmax[k](X[i,k]); s := sum[i](a[i])", {{"X", array_spec({40, 900})}});
    batch.add("Y[b,d] := W[tok[b],d]",
              {{"W", array_spec({10, 4}, DType::bf16)}, {"tok", array_spec({5}, DType::i32)}});
    batch.add("h[i] += 1; y[n] := x[h[n]]",
              {{"h", array_spec({30}, DType::i64)}, {"x", array_spec({9})}});
    batch.add("Z[i] := a[i]*conj(b[i]) + 2i",
              {{"a", array_spec({20}, DType::c64)}, {"b", array_spec({20}, DType::c64)}});
    batch.add("q[i] := a[i] // b[i]; r[i] := bool(a[i] % b[i]); s[i] := u8(a[i]) + u8(1)",
              {{"a", array_spec({20}, DType::i16)}, {"b", array_spec({20}, DType::i16)}});
    batch.add("y[i] := erf(x[i]) + gamma(x[i]) + digamma(x[i]) + x[i]^0.3",
              {{"x", array_spec({20}, DType::f64)}});
    batch.add("Y[i,j] := X[i,j] + 1; s[i] := X[i,j]", {{"X", array_spec({3, 0})}});
    return batch;
}

TEST_CASE("CUDA files compile alone for sm_80") { CHECK(problem(programs(), 80) == ""); }

TEST_CASE("CUDA files compile alone for sm_90") { CHECK(problem(programs(), 90) == ""); }

TEST_CASE("a CUDA file has what its kernels need, launches them and looks at data") {
    SourceBatch batch;
    batch.add("h[i] += 1; y[n] := x[h[n]]",
              {{"h", array_spec({4}, DType::i32)}, {"x", array_spec({9}, DType::f16)}});
    check_golden("source/cuda", codegen::source::emit_cuda(batch.sources(), gpu(90)));
}

}  // namespace
}  // namespace ricci::tests
