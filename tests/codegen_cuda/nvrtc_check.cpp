// tests/codegen_cuda/nvrtc_check.cpp – plans compiled by NVRTC as a GPU would run them, where it is
#include "tests/codegen_cuda/nvrtc_check.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/compile.h"

namespace ricci::tests {
namespace {

BoundProgram bound(const Program& program, const Signature& signature) {
    return ricci::bind(canonicalise(program), signature);
}

/// Functions of CUDA's that keep tables or digits of pi on the stack.
bool may_use_stack(const codegen::Nest& nest) {
    if (std::ranges::any_of(nest.buffers, [](const codegen::Buffer& buffer) {
            return buffer.space == codegen::Space::scratch;
        }))
        return true;
    const std::string text = codegen::cuda::emit_kernels({&nest, 1});
    return std::ranges::any_of(
        std::vector<std::string_view>{"rc_sin(", "rc_cos(", "rc_tan(", "rc_digamma(", "rc_lgamma("},
        [&](std::string_view name) { return text.find(name) != std::string::npos; });
}

/// What the registers of a multiprocessor leave for each thread of a block.
std::int64_t register_budget(std::int64_t threads) {
    constexpr std::int64_t file = 65536;
    constexpr std::int64_t most = 255;
    return std::min(most, file / threads);
}

using Check = std::function<void(const codegen::Nest&, const CompiledKernel&)>;

std::vector<CompiledKernel> compiled(std::span<const codegen::Nest> nests, int capability,
                                     const Check& check) {
    const codegen::Image image = cuda::compile(nests, gpu_target(capability));
    CHECK(image.format == codegen::Image::Format::cubin);
    std::vector<CompiledKernel> kernels;
    std::size_t begin = 0;
    for (const codegen::Image::Part& part : image.parts) {
        const auto bytes = std::span(image.bytes).subspan(begin, part.bytes_end - begin);
        begin = part.bytes_end;
        const std::vector<cuda::CubinKernel> found = cuda::read_cubin(bytes);
        for (std::size_t i = kernels.size(); i < part.symbols_end; ++i) {
            const auto kernel =
                std::ranges::find(found, image.symbols[i], &cuda::CubinKernel::name);
            REQUIRE(kernel != found.end());
            kernels.push_back({.name = nests[i].name,
                               .capability = capability,
                               .threads = codegen::launch_shape(nests[i]).threads,
                               .resources = image.resources[i],
                               .opcodes = kernel->opcodes,
                               .main_loop = kernel->main_loop});
            if (check) check(nests[i], kernels.back());
        }
    }
    return kernels;
}

void check_kernel(const codegen::Nest& nest, const CompiledKernel& kernel) {
    const Target target = gpu_target(kernel.capability);
    const std::string what = format(
        "{} for sm_{}: {} registers of {}, {} bytes spilled, {} on the stack, {} shared",
        kernel.name, kernel.capability, kernel.resources.registers, register_budget(kernel.threads),
        kernel.resources.spill_bytes, kernel.resources.stack_bytes, kernel.resources.shared_bytes);
    CAPTURE(what);
    CAPTURE(str(nest));
    CHECK(kernel.resources.registers > 0);
    CHECK(kernel.resources.registers <= register_budget(kernel.threads));
    CHECK(kernel.resources.spill_bytes == 0);
    CHECK(kernel.resources.shared_bytes <= target.gpu.shared_bytes);
    if (!may_use_stack(nest)) CHECK(kernel.resources.stack_bytes == 0);
}

void check_compiles(const BoundProgram& program) {
    for (const int capability : {80, 90})
        compiled(codegen::plan(program, gpu_target(capability)).nests, capability, check_kernel);
}

}  // namespace

Target gpu_target(int capability) {
    Target target;
    target.cpu = format("sm_{}", capability);
    target.gpu = {.compute_capability = capability,
                  .multiprocessors = capability == 80 ? 108 : 132,
                  .shared_bytes = (capability == 80 ? 163 : 227) << 10};
    return target;
}

bool has_nvrtc() {
    try {
        (void)cuda::nvrtc();
        return true;
    } catch (const Error& error) {
        MESSAGE("SKIPPED: ", error.diagnosis().message);
        return false;
    }
}

std::vector<CompiledKernel> compile_for_gpus(const std::string& text, const Signature& signature) {
    const BoundProgram program = bound(parse_program(text), signature);
    std::vector<CompiledKernel> kernels;
    for (const int capability : {80, 90}) {
        const codegen::Plan plan = codegen::plan(program, gpu_target(capability));
        for (CompiledKernel& kernel : compiled(plan.nests, capability, {}))
            kernels.push_back(std::move(kernel));
    }
    return kernels;
}

void check_compiles(std::span<const codegen::Nest> nests, int capability) {
    compiled(nests, capability, check_kernel);
}

void check_compiles(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    check_compiles(bound(parse_program(text), signature));
}

void check_gradients_compile(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const Program program = parse_program(text);
    const BoundProgram forward = bound(program, signature);
    check_compiles(forward);
    const BoundTensor& result = forward.at(forward.outputs.back());
    for (const auto& [argument, spec] : signature) {
        CAPTURE(argument);
        const Program adjoint = grad::gradient(program, argument);
        Signature given;
        for (const TensorId id : adjoint.arguments) {
            const std::string& name = adjoint.at(id).name;
            const auto known = signature.find(name);
            given[name] =
                known != signature.end()
                    ? known->second
                    : ArgumentSpec{
                          .dtype = result.dtype, .shape = result.shape, .strides = {}, .value = {}};
        }
        check_compiles(bound(adjoint, given));
    }
}

}  // namespace ricci::tests
