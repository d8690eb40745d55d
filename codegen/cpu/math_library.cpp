// codegen/cpu/math_library.cpp – functions that kernels call
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"
#include "codegen/cpu/runtime_symbols.h"

namespace ricci::codegen::cpu {

namespace {

/// Stack memory for one value, taken once for a call of the kernel.
llvm::Value* stack_slot(llvm::IRBuilderBase& ir, llvm::Type* type) {
    const llvm::IRBuilderBase::InsertPointGuard keep(ir);
    llvm::BasicBlock& entry = ir.GetInsertBlock()->getParent()->getEntryBlock();
    ir.SetInsertPoint(&entry, entry.begin());
    return ir.CreateAlloca(type);
}

}  // namespace

Wide library_call(Op op, Wide x) {
    auto& ir = x.ir();
    llvm::Module& module = *ir.GetInsertBlock()->getModule();
    auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getInt64Ty()}, false);
    llvm::FunctionCallee callee =
        module.getOrInsertFunction(library_symbol(op, x.is_double()), type);
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();

    llvm::Value* lanes = stack_slot(ir, x.type());
    ir.CreateStore(x.value(), lanes);
    ir.CreateCall(callee, {lanes, ir.getInt64(std::max(x.lanes(), 1U))});
    return {ir, ir.CreateLoad(x.type(), lanes)};
}

Wide registered_call(const ScalarFunction& function, std::span<const Wide> args) {
    auto& ir = args[0].ir();
    llvm::Module& module = *ir.GetInsertBlock()->getModule();
    const std::vector<llvm::Type*> types(args.size(), ir.getDoubleTy());
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        registered_symbol(function), llvm::FunctionType::get(ir.getDoubleTy(), types, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
    const unsigned lanes = args[0].lanes();
    const auto called = [&](auto operand) {
        std::vector<llvm::Value*> values;
        for (const Wide& arg : args) values.push_back(ir.CreateFPCast(operand(arg), types[0]));
        return ir.CreateFPCast(ir.CreateCall(callee, values), args[0].type()->getScalarType());
    };
    if (lanes == 0) return {ir, called([](const Wide& arg) { return arg.value(); })};
    llvm::Value* result = llvm::PoisonValue::get(args[0].type());
    for (unsigned lane = 0; lane < lanes; ++lane) {
        llvm::Value* value =
            called([&](const Wide& arg) { return ir.CreateExtractElement(arg.value(), lane); });
        result = ir.CreateInsertElement(result, value, lane);
    }
    return {ir, result};
}

Wide library_where(Wide condition, Op op, Wide x, Wide otherwise) {
    auto& ir = x.ir();
    llvm::Function* function = ir.GetInsertBlock()->getParent();
    auto* call = llvm::BasicBlock::Create(ir.getContext(), "library", function);
    auto* next = llvm::BasicBlock::Create(ir.getContext(), "next", function);
    llvm::Value* any =
        condition.lanes() == 0 ? condition.value() : ir.CreateOrReduce(condition.value());
    llvm::BasicBlock* before = ir.GetInsertBlock();
    ir.CreateCondBr(any, call, next);

    ir.SetInsertPoint(call);
    const Wide called = select(condition, library_call(op, x), otherwise);
    llvm::BasicBlock* after = ir.GetInsertBlock();
    ir.CreateBr(next);

    ir.SetInsertPoint(next);
    llvm::PHINode* result = ir.CreatePHI(x.type(), 2);
    result->addIncoming(otherwise.value(), before);
    result->addIncoming(called.value(), after);
    return {ir, result};
}

}  // namespace ricci::codegen::cpu
