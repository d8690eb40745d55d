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

/// A verified module with an entry point for each nest (see compile.h for its name and signature).
/// Throws: `internal` where a nest breaks the rules of nest.h, `type` for unsupported types.
[[nodiscard]] std::unique_ptr<llvm::Module> emit(llvm::LLVMContext& context,
                                                 std::span<const Nest> nests, const Target& target);

}  // namespace ricci::codegen::cpu
