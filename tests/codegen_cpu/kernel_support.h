// tests/codegen_cpu/kernel_support.h – builds, compiles and runs nests for every target there is
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/target.h"
#include "codegen/cpu/compile.h"
#include "codegen/nest.h"
#include "codegen/nest_build.h"

namespace ricci::tests {

/// The named targets that this machine can run, and the machine itself.
inline std::vector<Target> runnable_targets() {
    std::vector<Target> targets = {codegen::cpu::host_target()};
    for (const char* level : {"avx512", "avx2", "sse2"}) {
        const Target target = codegen::cpu::named_target(level);
        if (target.vector_bytes <= targets[0].vector_bytes) targets.push_back(target);
    }
    return targets;
}

/// Compiles one nest and runs all its tasks.
inline void run(const codegen::Nest& nest, const Target& target, std::int64_t tasks,
                std::vector<void*> buffers) {
    const codegen::cpu::Module module(codegen::cpu::compile({&nest, 1}, target));
    module.kernel(0)(0, tasks, buffers.data());
}

/// A nest with one parallel loop over `tasks`, to be filled.
struct Builder {
    codegen::Nest nest;
    codegen::VarId task;

    explicit Builder(std::string name) {
        nest.name = std::move(name);
        task = nest.add(codegen::Var{"task"});
    }
    codegen::BufferId argument(std::string name, DType dtype, std::int64_t elements,
                               bool is_written = false) {
        return nest.add(codegen::Buffer{.name = std::move(name),
                                        .dtype = dtype,
                                        .elements = elements,
                                        .is_written = is_written,
                                        .alignment = std::int64_t(size_bytes(dtype))});
    }
    codegen::BufferId registers(std::string name, DType dtype, std::int64_t elements) {
        return nest.add(codegen::Buffer{.name = std::move(name),
                                        .dtype = dtype,
                                        .space = codegen::Space::registers,
                                        .elements = elements,
                                        .is_written = true});
    }
    codegen::VarId var(std::string name) { return nest.add(codegen::Var{std::move(name)}); }
    codegen::Value load(codegen::BufferId buffer, codegen::AffineForm at) {
        return codegen::make_load(nest, buffer, {.affine = std::move(at)});
    }
    codegen::Nest finish(std::int64_t tasks, codegen::Body body) {
        nest.body = {make_loop(task, codegen::Bind::parallel, tasks, std::move(body))};
        return nest;
    }
};

/// `count` numbers from a fixed sequence, in [-1, 1).
template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed = 1) {
    std::vector<T> result;
    for (std::size_t i = 0; i < count; ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        result.push_back(static_cast<T>(double(seed >> 11U) * 0x1p-52 - 1.0));
    }
    return result;
}

}  // namespace ricci::tests
