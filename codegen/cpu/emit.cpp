// codegen/cpu/emit.cpp – the module of a plan's nests
#include "codegen/cpu/emit.h"

#include <cctype>

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/wide.h"

namespace ricci::codegen::cpu {

namespace {

void set_target_attributes(llvm::Function& function, const Target& target) {
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // Without these LLVM splits 512-bit operations in two on CPUs that it thinks prefer 256 bits:
    // half the speed in matrix products.
    const std::string bits = std::to_string(8 * target.vector_bytes);
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
}

void verify(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (llvm::verifyModule(module, &stream)) {
        throw Error({.message = format("invalid LLVM module: {}", text)});
    }
}

}  // namespace

std::string entry_symbol(const Nest& nest, std::size_t position) {
    std::string name = nest.name;
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return format("ricci_{}_{}", position, name);
}

std::unique_ptr<llvm::Module> emit(llvm::LLVMContext& context, std::span<const Entry> entries,
                                   const Target& target) {
    auto module = std::make_unique<llvm::Module>("ricci", context);
    if (target.vector_bytes == 64) allow_avx512(*module);
    llvm::IRBuilder<> ir(context);
    for (const Entry& entry : entries)
        NestEmitter(ir, *entry.nest, target).emit(*module, entry.symbol);
    for (llvm::Function& function : *module) {
        if (!function.isDeclaration()) set_target_attributes(function, target);
    }
    verify(*module);
    return module;
}

}  // namespace ricci::codegen::cpu
