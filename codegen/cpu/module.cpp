// codegen/cpu/module.cpp – object code into memory, ready to call
#include <atomic>

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/cpu/machine.h"
#include "codegen/cpu/runtime_symbols.h"

namespace ricci::codegen::cpu {

namespace {

void check(llvm::Error error, std::string_view what) {
    if (!error) return;
    throw Error({.message = format("{}: {}", what, llvm::toString(std::move(error)))});
}

template <class T>
T check(llvm::Expected<T> value, std::string_view what) {
    check(value.takeError(), what);
    return std::move(*value);
}

/// The linker of this process. Each module is a dynamic library of its own in it, so that equal
/// symbols of two images do not meet.
class Linker {
  public:
    Linker()
        : session_(
              check(llvm::orc::SelfExecutorProcessControl::Create(), "cannot start the linker")),
          layer_(session_) {
        // Failures come back from the lookup; without this they would be printed too.
        session_.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
    }
    ~Linker() { llvm::consumeError(session_.endSession()); }
    Linker(const Linker&) = delete;
    Linker& operator=(const Linker&) = delete;

    llvm::orc::JITDylib& load(const Image& image) {
        auto& library = session_.createBareJITDylib(format("image {}", count_++));
        llvm::orc::SymbolMap known;
        for (const auto& [name, address] : runtime_symbols()) {
            known[session_.intern(llvm::StringRef(name))] = {
                llvm::orc::ExecutorAddr::fromPtr(address),
                llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
        }
        for (const ScalarFunction* function : registered_functions())
            known[session_.intern(registered_symbol(*function))] = {
                llvm::orc::ExecutorAddr::fromPtr(address(*function)),
                llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
        check(library.define(llvm::orc::absoluteSymbols(std::move(known))), "cannot load kernels");
        const llvm::StringRef bytes(reinterpret_cast<const char*>(image.bytes.data()),
                                    image.bytes.size());
        std::size_t begin = 0;
        for (const Image::Part& part : image.parts) {
            RICCI_ASSERT(begin <= part.bytes_end && part.bytes_end <= bytes.size(),
                         "a part of an image lies outside of it");
            // By itself, where an object file may stand: parts begin anywhere.
            auto object = llvm::MemoryBuffer::getMemBufferCopy(bytes.slice(begin, part.bytes_end));
            check(layer_.add(library, std::move(object)), "cannot load kernels");
            begin = part.bytes_end;
        }
        return library;
    }

    Module::Kernel find(llvm::orc::JITDylib& library, const std::string& symbol) {
        const auto found = check(session_.lookup({&library}, session_.intern(symbol)),
                                 format("cannot load kernel `{}`", symbol));
        return found.getAddress().toPtr<Module::Kernel>();
    }

    void unload(llvm::orc::JITDylib& library) {
        llvm::consumeError(session_.removeJITDylib(library));
    }

  private:
    llvm::orc::ExecutionSession session_;
    llvm::orc::ObjectLinkingLayer layer_;
    std::atomic<std::uint64_t> count_ = 0;
};

/// Shared with every module, which may outlive static objects.
std::shared_ptr<Linker> linker() {
    static const auto instance = std::make_shared<Linker>();
    return instance;
}

}  // namespace

struct Module::Loaded {
    std::shared_ptr<Linker> linker;
    llvm::orc::JITDylib& library;

    explicit Loaded(const Image& image) : linker(cpu::linker()), library(linker->load(image)) {}
    ~Loaded() { linker->unload(library); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
};

Module::Module(const Image& image) {
    RICCI_ASSERT(image.format == Image::Format::elf_object, "the image is not for a CPU");
    loaded_ = std::make_unique<Loaded>(image);
    for (const std::string& symbol : image.symbols) {
        kernels_.push_back(loaded_->linker->find(loaded_->library, symbol));
    }
}

Module::~Module() = default;

}  // namespace ricci::codegen::cpu
