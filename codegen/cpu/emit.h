// codegen/cpu/emit.h – loop nests to LLVM IR
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/target.h"
#include "codegen/nest.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace ricci::codegen::cpu {

/// A nest and the symbol of its entry point.
struct Entry {
    const Nest* nest = nullptr;
    std::string symbol;
};

/// A verified module with these entry points (see compile.h for their signature).
/// Throws: `internal` where a nest breaks the rules of nest.h, `type` for unsupported types.
[[nodiscard]] std::unique_ptr<llvm::Module> emit(llvm::LLVMContext& context,
                                                 std::span<const Entry> entries,
                                                 const Target& target);

}  // namespace ricci::codegen::cpu
