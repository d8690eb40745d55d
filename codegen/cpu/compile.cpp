// codegen/cpu/compile.cpp – nests to object code, LLVM text and assembly
#include "codegen/cpu/compile.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "base/text.h"
#include "codegen/cpu/emit.h"
#include "codegen/cpu/machine.h"
#include "codegen/equal_nests.h"

namespace ricci::codegen::cpu {

namespace {

/// Raised whenever the code made for an unchanged nest changes: kernels on disk are then not used.
constexpr int code_generation_version = 60;

std::unique_ptr<llvm::Module> optimized(llvm::LLVMContext& context, const Machine& machine,
                                        std::span<const Entry> entries, const Target& target) {
    auto module = emit(context, entries, target);
    machine.prepare(*module);
    machine.optimize(*module);
    return module;
}

/// The nests that differ from all before them.
std::vector<Entry> entries_of(std::span<const Nest> nests, std::span<const std::size_t> firsts) {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < nests.size(); ++i)
        if (firsts[i] == i) entries.push_back({&nests[i], entry_symbol(nests[i], i)});
    return entries;
}

std::string object_of(std::span<const Entry> entries, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    const auto module = optimized(context, machine, entries, target);
    return machine.generate(*module, Machine::Output::object);
}

}  // namespace

std::string emit_text(std::span<const Nest> nests, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    std::string text;
    llvm::raw_string_ostream stream(text);
    optimized(context, machine, entries_of(nests, first_equals(nests)), target)
        ->print(stream, nullptr);
    return text;
}

std::string emit_assembly(std::span<const Nest> nests, const Target& target) {
    llvm::LLVMContext context;
    const Machine machine(target);
    const auto module = optimized(context, machine, entries_of(nests, first_equals(nests)), target);
    return machine.generate(*module, Machine::Output::assembly);
}

Image compile(std::span<const Nest> nests, const Target& target, const ForEachPiece& for_each) {
    const std::vector<std::size_t> firsts = first_equals(nests);
    const std::vector<Entry> entries = entries_of(nests, firsts);
    std::vector<std::string> objects(for_each ? entries.size() : 1);
    if (for_each)
        for_each(std::ssize(entries), [&](std::int64_t number) {
            const auto piece = static_cast<std::size_t>(number);
            objects[piece] = object_of({&entries[piece], 1}, target);
        });
    else
        objects[0] = object_of(entries, target);

    Image image{.format = Image::Format::elf_object, .symbols = {}, .bytes = {}};
    for (const std::size_t first : firsts)
        image.symbols.push_back(entry_symbol(nests[first], first));
    for (const std::string& object : objects) {
        const auto bytes = std::as_bytes(std::span(object));
        image.bytes.insert(image.bytes.end(), bytes.begin(), bytes.end());
        image.parts.push_back({.bytes_end = image.bytes.size()});
    }
    return image;
}

std::string compiler_version() {
    return format("ricci-cpu-{} llvm-{}", code_generation_version, LLVM_VERSION_STRING);
}

}  // namespace ricci::codegen::cpu
