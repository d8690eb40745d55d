// tests/codegen_source/llvm_test.cpp – emitted modules in LLVM IR
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "tests/codegen_source/compile_source.h"
#include "tests/codegen_source/source_batch.h"
#include "tests/runtime/temporary_folder.h"

namespace ricci::tests {
namespace {

std::string emitted(const SourceBatch& batch) {
    return codegen::source::emit_llvm(batch.sources(), codegen::cpu::named_target("avx2"));
}

TEST_CASE("LLVM takes an emitted module") {
    SourceBatch batch;
    const Signature layer = {
        {"W", array_spec({30, 20})}, {"X", array_spec({40, 20})}, {"b", array_spec({30})}};
    batch.add("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", layer);
    batch.add_gradients("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "W,X,b", layer);
    batch.add("y[i] := gamma(x[i])", {{"x", array_spec({20})}});
    const TemporaryFolder folder;
    write_bytes(folder / "program.ll", emitted(batch));
    const CommandOutcome outcome = run_command(
        {"opt-19", "-passes=verify", folder / "program.ll", "-o", folder / "program.bc"},
        folder / "log");
    if (outcome.status == 127) {
        MESSAGE("SKIPPED: there is no opt-19");
        return;
    }
    CHECK(outcome.log == "");
    CHECK(outcome.status == 0);
}

TEST_CASE("a module says in which order its kernels make up a program") {
    SourceBatch batch;
    batch.add("h[i] += 1; y[n] := x[h[n]]",
              {{"h", array_spec({4}, DType::i64)}, {"x", array_spec({9})}});
    const std::string text = emitted(batch);
    CHECK(text.find(R"(
; h  i64 [4], updated
; x  f32 [9]
; y  f32 [4], the result
; verdict  i64 [1], a temporary at a multiple of 64 bytes
;
; h is a copy, which takes its place in the end
; ricci_0_k0_h(0, 1, {h})
; ricci_1_k1_verdict(0, 1, {h, verdict})
; if verdict < 0: range: a subscript that is data leaves dimension 0 of `x`, whose range is 0:9
; ricci_2_k2_y(0, 1, {y, h, x})

)") != std::string::npos);
    for (const std::string kernel : {"ricci_0_k0_h", "ricci_1_k1_verdict", "ricci_2_k2_y"})
        CHECK(text.find(format("define void @{}(", kernel)) != std::string::npos);
}

TEST_CASE("a module names the functions that it does not have") {
    SourceBatch batch;
    batch.add("y[i] := tan(x[i])", {{"x", array_spec({20})}});
    const std::string text = emitted(batch);
    CAPTURE(text);
    CHECK(text.find("replaces the numbers by its values.\n; ricci_tan_f32\n") != std::string::npos);
}

}  // namespace
}  // namespace ricci::tests
