// tests/codegen_cuda/gpu_builder.h – nests of blocks and threads by hand, and the text they become
#pragma once

#include <string>
#include <utility>

#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/gpu/threads.h"
#include "codegen/nest.h"
#include "codegen/nest_build.h"
#include "codegen/nest_verify.h"

namespace ricci::tests {

/// A nest with a block and a thread loop, to be filled.
struct GpuBuilder {
    codegen::Nest nest;
    codegen::VarId block;
    codegen::VarId thread;

    explicit GpuBuilder(std::string name = "kernel") {
        nest.name = std::move(name);
        block = nest.add(codegen::Var{"block"});
        thread = nest.add(codegen::Var{"thread"});
    }
    codegen::BufferId argument(std::string name, DType dtype = DType::f32,
                               std::int64_t elements = 1 << 20, std::int64_t alignment = 16) {
        return nest.add(codegen::Buffer{
            .name = std::move(name), .dtype = dtype, .elements = elements, .alignment = alignment});
    }
    codegen::BufferId result(std::string name, DType dtype = DType::f32,
                             std::int64_t elements = 1 << 20, std::int64_t alignment = 16) {
        const codegen::BufferId id = argument(std::move(name), dtype, elements, alignment);
        nest.buffers.back().is_written = true;
        return id;
    }
    codegen::BufferId registers(std::string name, std::int64_t elements, DType dtype = DType::f32) {
        return codegen::add_registers(nest, std::move(name), dtype, elements);
    }
    codegen::BufferId shared(std::string name, std::int64_t elements, DType dtype = DType::f32) {
        return codegen::gpu::add_shared(nest, std::move(name), dtype, elements);
    }
    codegen::VarId var(std::string name) { return nest.add(codegen::Var{std::move(name)}); }
    [[nodiscard]] codegen::Value load(codegen::BufferId buffer, codegen::AffineForm at) const {
        return codegen::make_load(nest, buffer, {.affine = std::move(at)});
    }

    /// The nest with that body in its loops; it can be finished once.
    codegen::Nest finish(codegen::Body body, std::int64_t blocks = 16, std::int64_t threads = 64) {
        codegen::Body inner;
        inner.push_back(
            codegen::make_loop(thread, codegen::Bind::thread, threads, std::move(body)));
        nest.body.push_back(
            codegen::make_loop(block, codegen::Bind::block, blocks, std::move(inner)));
        codegen::verify(nest, "test");
        return nest;
    }
    /// The kernel's statements: without its head, its buffers and its block and thread.
    std::string text(codegen::Body body, std::int64_t blocks = 16, std::int64_t threads = 64) {
        const codegen::Nest whole = finish(std::move(body), blocks, threads);
        const std::string text = codegen::cuda::emit_kernels({&whole, 1});
        const std::string_view head = "= RC_THREAD;\n";
        const std::size_t begin = text.find(head) + head.size();
        std::string result = "\n";
        for (std::size_t at = begin; text[at] == ' ';) {
            const std::size_t end = text.find('\n', at) + 1;
            result += text.substr(at + 4, end - at - 4);
            at = end;
        }
        return result;
    }
};

}  // namespace ricci::tests
