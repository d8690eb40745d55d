// codegen/cpu/compile.cpp – nests to object code, LLVM text and assembly
#include "codegen/cpu/compile.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "base/text.h"
#include "codegen/cpu/emit.h"
#include "codegen/cpu/machine.h"

namespace ricci::codegen::cpu {

namespace {

/// Raised whenever the code made for an unchanged nest changes: kernels on disk are then not used.
constexpr int code_generation_version = 34;

std::unique_ptr<llvm::Module> optimized(llvm::LLVMContext& context, const Machine& machine,
                                        std::span<const Nest> nests, const Target& target) {
    auto module = emit(context, nests, target);
    machine.prepare(*module);
    machine.optimize(*module);
    return module;
}

}  // namespace

std::string emit_text(std::span<const Nest> nests, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    std::string text;
    llvm::raw_string_ostream stream(text);
    optimized(context, machine, nests, target)->print(stream, nullptr);
    return text;
}

std::string emit_assembly(std::span<const Nest> nests, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    const auto module = optimized(context, machine, nests, target);
    return machine.generate(*module, Machine::Output::assembly);
}

Image compile(std::span<const Nest> nests, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    const auto module = optimized(context, machine, nests, target);
    const std::string object = machine.generate(*module, Machine::Output::object);
    Image image{.format = Image::Format::elf_object, .symbols = {}, .bytes = {}};
    for (std::size_t i = 0; i < nests.size(); ++i) {
        image.symbols.push_back(entry_symbol(nests[i], i));
    }
    const auto bytes = std::as_bytes(std::span(object));
    image.bytes.assign(bytes.begin(), bytes.end());
    return image;
}

std::string compiler_version() {
    return format("ricci-cpu-{} llvm-{}", code_generation_version, LLVM_VERSION_STRING);
}

}  // namespace ricci::codegen::cpu
