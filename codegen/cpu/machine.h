// codegen/cpu/machine.h – LLVM's back end: modules to object code and assembly
#pragma once

#include <memory>
#include <string>

#include "base/target.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace ricci::codegen::cpu {

/// Registers LLVM's X86 back end; idempotent.
void initialize_llvm();

/// The back end for one target, borrowed for the life of this object: making one costs as much as
/// a small kernel, and one compiles a single module at a time.
/// Throws: `device` when LLVM knows no such CPU.
class Machine {
  public:
    explicit Machine(const Target& target);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Sets the module's triple and data layout: before anything is emitted that depends on them.
    void prepare(llvm::Module& module) const;
    /// Promotes memory to registers and cleans up. The loops and vectors are already what they
    /// should be, so that this is all that is worth its time.
    void optimize(llvm::Module& module) const;

    enum class Output : std::uint8_t { object, assembly };
    /// Throws: `internal` with LLVM's words when it reports an error.
    [[nodiscard]] std::string generate(llvm::Module& module, Output output) const;

  private:
    struct BackEnd;
    struct Idle;
    static Idle& idle();

    std::string key_;
    std::unique_ptr<BackEnd> back_end_;
};

}  // namespace ricci::codegen::cpu
