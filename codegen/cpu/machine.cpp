// codegen/cpu/machine.cpp – LLVM's back end: modules to object code and assembly
#include "codegen/cpu/machine.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/idle_passes.h"

namespace ricci::codegen::cpu {

namespace {

/// The back end's passes, without the idle ones.
class Passes : public llvm::legacy::PassManager {
  public:
    void add(llvm::Pass* pass) override {
        std::unique_ptr<llvm::Pass> owned(pass);
        const std::string_view name = pass->getPassName();
        if (std::ranges::find(idle_passes, name) == std::end(idle_passes))
            PassManager::add(owned.release());
    }
};

/// The passes that write modules as files of one kind.
class Writer {
  public:
    Writer(llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
        const bool cannot = machine.addPassesToEmitFile(passes_, stream_, nullptr, kind);
        RICCI_ASSERT(!cannot, "LLVM's back end cannot write this kind of file");
    }

    /// Throws: `internal` with LLVM's words when it reports an error.
    std::string write(llvm::Module& module) {
        // LLVM's own handler prints errors and ends the process.
        std::string errors;
        module.getContext().setDiagnosticHandlerCallBack(
            [](const llvm::DiagnosticInfo* diagnosis, void* into) {
                if (diagnosis->getSeverity() != llvm::DS_Error) return;
                llvm::raw_string_ostream stream(*static_cast<std::string*>(into));
                llvm::DiagnosticPrinterRawOStream printer(stream);
                diagnosis->print(printer);
            },
            &errors);
        bytes_.clear();
        passes_.run(module);
        if (!errors.empty()) throw Error({.message = format("LLVM: {}", errors)});
        return {bytes_.begin(), bytes_.end()};
    }

  private:
    llvm::SmallVector<char, 0> bytes_;
    llvm::raw_svector_ostream stream_{bytes_};
    Passes passes_;
};

}  // namespace

struct Machine::BackEnd {
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<Writer> objects = {};  ///< kept: making one takes 0.4 ms
};

/// Back ends that nobody uses at the moment.
struct Machine::Idle {
    std::mutex mutex;
    std::map<std::string, std::vector<std::unique_ptr<BackEnd>>> back_ends;
};

Machine::Idle& Machine::idle() {
    static Idle instance;
    return instance;
}

namespace {

std::unique_ptr<llvm::TargetMachine> create(const Target& target) {
    initialize_llvm();
    const std::string triple = llvm::sys::getProcessTriple();
    std::string message;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!found) throw Error({.kind = ErrorKind::device, .message = message});
    std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
        triple, target.cpu, target.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
        llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
    if (!machine) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("LLVM has no back end for `{}`", target.cpu)});
    }
    return machine;
}

}  // namespace

void initialize_llvm() {
    static const bool done = [] {
        return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    }();
    RICCI_ASSERT(done, "LLVM was built without this machine's back end");
}

Machine::Machine(const Target& target) : key_(format("{} {}", target.cpu, target.features)) {
    {
        const std::lock_guard lock(idle().mutex);
        auto& back_ends = idle().back_ends[key_];
        if (!back_ends.empty()) {
            back_end_ = std::move(back_ends.back());
            back_ends.pop_back();
        }
    }
    if (!back_end_) back_end_ = std::make_unique<BackEnd>(create(target));
}

Machine::~Machine() {
    const std::lock_guard lock(idle().mutex);
    idle().back_ends[key_].push_back(std::move(back_end_));
}

void Machine::prepare(llvm::Module& module) const {
    module.setTargetTriple(back_end_->machine->getTargetTriple().str());
    module.setDataLayout(back_end_->machine->createDataLayout());
}

void Machine::optimize(llvm::Module& module) const {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(back_end_->machine.get());
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);

    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) passes.run(function, functions);
    }
}

std::string Machine::generate(llvm::Module& module, Output output) const {
    llvm::TargetMachine& machine = *back_end_->machine;
    if (output == Output::assembly)
        return Writer(machine, llvm::CodeGenFileType::AssemblyFile).write(module);
    auto writer = std::move(back_end_->objects);  // dropped with whatever state an error leaves
    if (!writer) writer = std::make_unique<Writer>(machine, llvm::CodeGenFileType::ObjectFile);
    std::string bytes = writer->write(module);
    back_end_->objects = std::move(writer);
    return bytes;
}

}  // namespace ricci::codegen::cpu
