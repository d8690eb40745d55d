// codegen/cpu/compile.h – loop nests to x86 machine code through LLVM
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/target.h"
#include "codegen/image.h"
#include "codegen/nest.h"

namespace ricci::codegen::cpu {

/// This machine, or what RICCI_TARGET asks for (`avx512`, `avx2`, `sse2`).
[[nodiscard]] Target host_target();
/// The named level of this architecture, for tests of other targets: `avx512`, `avx2`, `sse2`.
/// Throws: `device` for an unknown name.
[[nodiscard]] Target named_target(std::string_view name);

/// The symbol of a nest's entry point: `ricci_<position>_<name>`.
[[nodiscard]] std::string entry_symbol(const Nest& nest, std::size_t position);

/// LLVM IR text of the nests, for `explain --stage llvm`.
[[nodiscard]] std::string emit_text(std::span<const Nest> nests, const Target& target);
/// Assembly of the nests, for `explain --stage asm`.
[[nodiscard]] std::string emit_assembly(std::span<const Nest> nests, const Target& target);

/// One object file with an entry point for each nest:
/// `void kernel(int64_t first_task, int64_t last_task, void* const* buffers)`.
[[nodiscard]] Image compile(std::span<const Nest> nests, const Target& target);

/// Loaded machine code; unloaded with the object. Entry points may be called from any thread.
class Module {
  public:
    using Kernel = void (*)(std::int64_t first_task, std::int64_t last_task, void* const* buffers);

    explicit Module(const Image& image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] Kernel kernel(std::size_t nest) const { return kernels_.at(nest); }

  private:
    struct Loaded;
    std::unique_ptr<Loaded> loaded_;
    std::vector<Kernel> kernels_;
};

/// Part of every cache key: this library's code generation version and LLVM's.
[[nodiscard]] std::string compiler_version();

}  // namespace ricci::codegen::cpu
