// codegen/cpu/without_llvm.cpp – what stands in for this room in a build without LLVM
#include "base/error.h"
#include "codegen/cpu/compile.h"

namespace ricci::codegen::cpu {
namespace {

[[noreturn]] void fail() {
    throw Error({.kind = ErrorKind::device,
                 .message = "this build of Ricci does not compile for the CPU (RICCI_LLVM=OFF)",
                 .hint = "run with --device cuda or reference, or build with LLVM 19"});
}

}  // namespace

struct Module::Loaded {};

Target host_target() { fail(); }
Target named_target(std::string_view) { fail(); }
std::string entry_symbol(const Nest&, std::size_t) { fail(); }
std::string emit_text(std::span<const Nest>, const Target&) { fail(); }
std::string emit_assembly(std::span<const Nest>, const Target&) { fail(); }
Image compile(std::span<const Nest>, const Target&, const ForEachPiece&) { fail(); }
Module::Module(const Image&) { fail(); }
Module::~Module() = default;
std::string compiler_version() { fail(); }

}  // namespace ricci::codegen::cpu
