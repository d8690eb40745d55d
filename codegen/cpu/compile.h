// codegen/cpu/compile.h – loop nests to x86 machine code through LLVM
#pragma once

#include <cstdint>
#include <functional>
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

/// Runs `piece` for each number of [0, pieces), in any order, several at once if it likes.
/// Throws: what a piece throws.
using ForEachPiece =
    std::function<void(std::int64_t pieces, const std::function<void(std::int64_t number)>& piece)>;

/// Object code with an entry point for each nest:
/// `void kernel(int64_t first_task, int64_t last_task, void* const* buffers)`.
/// Nests that are equal but for names, as layers of equal shapes are, share one. One object file
/// holds all of them; with `for_each` they are pieces of work, each an object file of its own: the
/// code is the same, an object takes 0.3 ms.
[[nodiscard]] Image compile(std::span<const Nest> nests, const Target& target,
                            const ForEachPiece& for_each = nullptr);

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
