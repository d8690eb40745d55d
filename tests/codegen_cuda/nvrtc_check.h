// tests/codegen_cuda/nvrtc_check.h – plans compiled by NVRTC as a GPU would run them, where it is
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/target.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/cuda/cubin.h"

namespace ricci::tests {

/// A GPU of that compute capability (80, 90) with its shared memory and multiprocessors.
[[nodiscard]] Target gpu_target(int capability);

/// Whether NVRTC can be opened; says `SKIPPED: …` when not.
[[nodiscard]] bool has_nvrtc();

/// One compiled kernel of a plan.
struct CompiledKernel {
    std::string name;  ///< of the nest
    int capability = 0;
    std::int64_t threads = 0;
    codegen::KernelResources resources;
    cuda::Opcodes opcodes;
    cuda::Opcodes main_loop;
};
/// All kernels of the plan of a program's text, for sm_80 and sm_90.
[[nodiscard]] std::vector<CompiledKernel> compile_for_gpus(const std::string& text,
                                                           const Signature& signature);

/// Compiles nests for a GPU: what the next two functions ask of each kernel.
void check_compiles(std::span<const codegen::Nest> nests, int capability);
/// Compiles the whole plan for sm_80 and sm_90: no kernel spills, keeps arrays of registers in
/// local memory, or takes more registers or shared memory than its threads can have.
void check_compiles(const std::string& text, const Signature& signature);
/// The same for the program and the gradients of all its arguments.
void check_gradients_compile(const std::string& text, const Signature& signature);

}  // namespace ricci::tests
