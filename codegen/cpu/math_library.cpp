// codegen/cpu/math_library.cpp – functions called lane by lane
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/cpu/math.h"
#include "codegen/cpu/runtime_symbols.h"

namespace ricci::codegen::cpu {

Wide library_call(Op op, std::span<const Wide> args) {
    const Wide x = args[0];
    auto& ir = x.ir();
    llvm::Type* element = x.type()->getScalarType();
    const std::vector<llvm::Type*> types(args.size(), element);
    llvm::Module& module = *ir.GetInsertBlock()->getModule();
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        library_symbol(op, x.is_double()), llvm::FunctionType::get(element, types, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();

    const auto call = [&](auto&& lane_of) {
        std::vector<llvm::Value*> values;
        for (const Wide& arg : args) values.push_back(lane_of(arg.value()));
        return ir.CreateCall(callee, values);
    };
    if (x.lanes() == 0) return {ir, call([](llvm::Value* value) { return value; })};
    llvm::Value* result = llvm::PoisonValue::get(x.type());
    for (unsigned lane = 0; lane < x.lanes(); ++lane) {
        result = ir.CreateInsertElement(
            result, call([&](llvm::Value* value) { return ir.CreateExtractElement(value, lane); }),
            lane);
    }
    return {ir, result};
}

}  // namespace ricci::codegen::cpu
