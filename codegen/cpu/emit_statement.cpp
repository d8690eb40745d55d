// codegen/cpu/emit_statement.cpp – kernels, loops, guards and variables
#include <algorithm>
#include <bit>
#include <numeric>

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_walk.h"
#include "codegen/tasks.h"

namespace ricci::codegen::cpu {

namespace {

/// More lanes than this are a mistake of the schedule: the code would be thousands of instructions.
constexpr std::int64_t max_lanes = 256;
/// Elements behind a local buffer, so that the last lanes of a vector access stay inside.
constexpr std::int64_t local_padding = 64;

/// The store of the statements, if there is one alone and nothing of its buffer is read.
const Store* only_store(const Body& statements) {
    const Store* found = nullptr;
    std::vector<Value> values;
    for (const Stmt& statement : statements) {
        if (const auto* let = std::get_if<Let>(&statement.node)) values.push_back(let->value);
        const auto* store = std::get_if<Store>(&statement.node);
        if (store == nullptr) continue;
        if (found != nullptr || store->combine) return nullptr;
        found = store;
        values.push_back(store->value);
        if (store->at.computed) values.push_back(store->at.computed);
    }
    bool is_read = false;
    for_each_node(values, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        is_read |= found != nullptr && load != nullptr && load->buffer == found->buffer;
    });
    return is_read ? nullptr : found;
}

}  // namespace

void NestEmitter::emit(llvm::Module& module, const std::string& symbol) {
    RICCI_ASSERT(nest_.body.size() == 1 && std::holds_alternative<Loop>(nest_.body[0].node) &&
                     std::get<Loop>(nest_.body[0].node).bind == Bind::parallel,
                 format("nest `{}` is not one parallel loop", nest_.name));
    llvm::Function* any = emit_body(module, symbol + ".body");
    const std::vector<bool> streamed = unaligned_streams();
    if (std::ranges::find(streamed, true) == streamed.end())
        return emit_entry(module, symbol, any, nullptr, streamed);
    // Stores go around the caches in whole aligned vectors: a second kernel for outputs that are.
    Nest aligned_nest = nest_;
    for (std::size_t i = 0; i < streamed.size(); ++i)
        if (streamed[i]) aligned_nest.buffers[i].alignment = target_.vector_bytes;
    NestEmitter second(ir_, aligned_nest, target_);
    llvm::Function* aligned = second.emit_body(module, symbol + ".aligned");
    if (!second.streams_) {
        aligned->eraseFromParent();
        aligned = nullptr;
    }
    emit_entry(module, symbol, any, aligned, streamed);
}

llvm::Function* NestEmitter::emit_body(llvm::Module& module, const std::string& symbol) {
    function_ = declare_body(module, symbol);
    llvm::BasicBlock* start = add_block("start");
    ir_.SetInsertPoint(start);
    allocate_buffers();
    configure_tiles(module);
    if (nest_.runs_side_by_side)
        body(tasks_inside(std::get<Loop>(nest_.body[0].node)));
    else
        body(nest_.body);
    release_tiles();
    // Stores that went around the caches are ordered before whatever the caller does next.
    if (streams_) ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    ir_.CreateRetVoid();
    return function_;
}

/// By buffer: whether stores to it should go around the caches, and it may begin anywhere.
std::vector<bool> NestEmitter::unaligned_streams() const {
    std::vector<bool> found(nest_.buffers.size());
    for_each_store(nest_.body, [&](const Store& store) {
        if (store.hint == StoreHint::streaming)
            found[std::size_t(store.buffer)] =
                nest_.at(store.buffer).alignment % target_.vector_bytes != 0;
    });
    return found;
}

/// The kernel proper takes its buffers as arguments, so that kernels can share an entry.
llvm::Function* NestEmitter::declare_body(llvm::Module& module, const std::string& symbol) {
    std::vector<llvm::Type*> types = {ir_.getInt64Ty(), ir_.getInt64Ty()};
    for (const Buffer& buffer : nest_.buffers) {
        if (buffer.space == Space::argument) types.push_back(ir_.getPtrTy());
    }
    auto* function = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false),
                                            llvm::Function::InternalLinkage, symbol, module);
    function->setDoesNotThrow();
    buffers_.assign(nest_.buffers.size(), nullptr);
    unsigned position = 2;
    for (std::size_t i = 0; i < nest_.buffers.size(); ++i) {
        const Buffer& buffer = nest_.buffers[i];
        if (buffer.space != Space::argument) continue;
        llvm::Argument* argument = function->getArg(position++);
        argument->setName(buffer.name);
        buffers_[i] = argument;
    }
    return function;
}

/// `void symbol(i64 first, i64 last, ptr buffers)`: unpacks the buffers, and calls the kernel for
/// aligned outputs, if there is one, where those are. A kernel alone becomes a part of it: LLVM
/// takes 0.3 ms for a function, however short it is.
void NestEmitter::emit_entry(llvm::Module& module, const std::string& symbol, llvm::Function* any,
                             llvm::Function* aligned, const std::vector<bool>& streamed) {
    auto* type = llvm::FunctionType::get(
        ir_.getVoidTy(), {ir_.getInt64Ty(), ir_.getInt64Ty(), ir_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
    function_->setDoesNotThrow();
    if (aligned == nullptr)
        function_->splice(function_->end(), any);
    else
        add_block("start");
    llvm::BasicBlock& start = function_->getEntryBlock();
    ir_.SetInsertPoint(&start, start.begin());
    std::vector<llvm::Value*> args = {function_->getArg(0), function_->getArg(1)};
    llvm::Value* places = ir_.getInt64(0);
    unsigned position = 0;
    for (std::size_t i = 0; i < nest_.buffers.size(); ++i) {
        if (nest_.buffers[i].space != Space::argument) continue;
        llvm::Value* slot =
            ir_.CreateConstGEP1_64(ir_.getPtrTy(), function_->getArg(2), position++);
        args.push_back(ir_.CreateLoad(ir_.getPtrTy(), slot, nest_.buffers[i].name));
        if (streamed[i])
            places = ir_.CreateOr(places, ir_.CreatePtrToInt(args.back(), ir_.getInt64Ty()));
    }
    if (aligned == nullptr) {
        for (llvm::Argument& each : any->args()) each.replaceAllUsesWith(args[each.getArgNo()]);
        return any->eraseFromParent();
    }
    llvm::BasicBlock* fast = add_block("aligned");
    llvm::BasicBlock* slow = add_block("any");
    llvm::Value* offset = ir_.CreateAnd(places, std::uint64_t(target_.vector_bytes - 1));
    ir_.CreateCondBr(ir_.CreateICmpEQ(offset, ir_.getInt64(0)), fast, slow);
    for (const auto& [block, kernel] : {std::pair(fast, aligned), std::pair(slow, any)}) {
        ir_.SetInsertPoint(block);
        ir_.CreateCall(kernel, args);
        ir_.CreateRetVoid();
    }
}

void NestEmitter::allocate_buffers() {
    for (std::size_t i = 0; i < nest_.buffers.size(); ++i) {
        const Buffer& buffer = nest_.buffers[i];
        if (buffer.space == Space::argument) continue;
        RICCI_ASSERT(buffer.space != Space::shared, "shared memory is not a CPU's");
        auto* type = llvm::ArrayType::get(memory_type(ir_.getContext(), buffer.dtype),
                                          std::uint64_t(buffer.elements + local_padding));
        auto* memory = ir_.CreateAlloca(type, nullptr, buffer.name);
        memory->setAlignment(llvm::Align(std::uint64_t(buffer.alignment)));
        buffers_[i] = memory;
    }
}

void NestEmitter::body(const Body& statements) {
    const std::size_t scopes = scopes_.size();
    for (std::size_t i = 0; i < statements.size(); ++i) {
        const auto* first = std::get_if<Store>(&statements[i].node);
        const auto* second = first != nullptr && i + 1 < statements.size()
                                 ? std::get_if<Store>(&statements[i + 1].node)
                                 : nullptr;
        if (second != nullptr && is_pair(*first, *second)) {
            store_pair(*first, *second);
            ++i;
        } else if (i + 1 < statements.size() && guard_either(statements[i], statements[i + 1])) {
            ++i;
        } else {
            statement(statements[i]);
        }
    }
    close_scopes(scopes);
}

void NestEmitter::statement(const Stmt& statement) {
    match(
        statement.node,
        [&](const Loop& loop) {
            switch (loop.bind) {
                case Bind::serial:   return serial_loop(loop);
                case Bind::unroll:   return unrolled_loop(loop);
                case Bind::vector:   return vector_loop(loop, [&] { body(loop.body); });
                case Bind::parallel: return parallel_loop(loop);
                case Bind::block:
                case Bind::thread:   break;
            }
            RICCI_ASSERT(false, format("the loop over `{}` cannot stand inside a CPU kernel",
                                       nest_.at(loop.var).name));
        },
        [&](const Guard& g) { guard(g); },
        [&](const Let& let) { lets_[let.number] = start_value(let.value); },
        [&](const LetVar& let) { let_var(let); }, [&](const LetBound& let) { let_bound(let); },
        [&](const Store& s) { store(s); }, [&](const Prefetch& p) { prefetch(p); },
        [&](const TileProduct& p) { tile_product(p); },
        [&](const auto&) { RICCI_ASSERT(false, "a statement of blocks of threads on a CPU"); });
}

void NestEmitter::prefetch(const Prefetch& prefetch) {
    RICCI_ASSERT(lanes_ == 0, "a prefetch stands in no vector loop");
    constexpr unsigned read = 0;
    const auto locality = static_cast<std::uint32_t>(4 - prefetch.level);
    constexpr unsigned data = 1;
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                        {access(prefetch.buffer, prefetch.at).pointer, ir_.getInt32(read),
                         ir_.getInt32(locality), ir_.getInt32(data)});
}

void NestEmitter::parallel_loop(const Loop& loop) {
    counted_loop(loop, function_->getArg(0), function_->getArg(1), {.kind = Binding::Kind::scalar});
}

void NestEmitter::serial_loop(const Loop& loop) {
    Binding binding{.kind = Binding::Kind::scalar, .multiple = loop.step};
    for (const auto& [form, divisor] : loop.lower) {
        binding.multiple = std::gcd(binding.multiple, divisor == 1 ? divisor_of(resolve(form)) : 1);
    }
    counted_loop(loop, bound(loop.lower, true), bound(loop.upper, false), binding);
}

void NestEmitter::counted_loop(const Loop& loop, llvm::Value* lower, llvm::Value* upper,
                               Binding binding) {
    RICCI_ASSERT(loop.step > 0, "a loop's step is positive");
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* prologue = add_block("loop");
    llvm::BasicBlock* rest = add_block("body");
    llvm::BasicBlock* exit = add_block("exit");
    llvm::Instruction* enter = ir_.CreateCondBr(ir_.CreateICmpSLT(lower, upper), prologue, exit);

    ir_.SetInsertPoint(prologue);
    llvm::PHINode* phi = ir_.CreatePHI(ir_.getInt64Ty(), 2, nest_.at(loop.var).name);
    phi->addIncoming(lower, before);
    scopes_.push_back({.end = ir_.CreateBr(rest), .before = enter, .first = lower});
    binding.value = phi;
    binding.scope = scopes_.size() - 1;
    bindings_.at(std::size_t(loop.var)) = binding;
    ir_.SetInsertPoint(rest);
    body(loop.body);
    bindings_[std::size_t(loop.var)] = {};
    for (const auto& [pointer, element, elements] : scopes_.back().moving)
        pointer->addIncoming(
            ir_.CreateGEP(element, pointer, ir_.getInt64(std::uint64_t(elements * loop.step))),
            ir_.GetInsertBlock());
    close_scopes(scopes_.size() - 1);

    llvm::Value* next = ir_.CreateNSWAdd(phi, ir_.getInt64(std::uint64_t(loop.step)));
    phi->addIncoming(next, ir_.GetInsertBlock());
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, upper), prologue, exit);
    exit->moveAfter(ir_.GetInsertBlock());
    ir_.SetInsertPoint(exit);
}

/// Repeats the body. What is not constant about the upper bound is tested before each repetition.
void NestEmitter::unrolled_loop(const Loop& loop) {
    if (const Store* fold = as_fold_of_rows(loop)) return fold_rows(loop, *fold);
    // Lanes outside: the mask is made once, and loads across both loops can be transposed.
    const Loop* vector = loop.body.size() == 1 ? std::get_if<Loop>(&loop.body[0].node) : nullptr;
    if (vector && vector->bind == Bind::vector && lanes_ == 0 &&
        !is_bounded_by(*vector, loop.var)) {
        vector_loop(*vector, [&] {
            const Transposing outer = transposing_;
            const bool is_simple = std::ranges::all_of(vector->body, [](const Stmt& each) {
                return std::holds_alternative<Store>(each.node) ||
                       std::holds_alternative<Let>(each.node);
            });
            transposing_ = {.var = is_simple ? std::optional(loop.var) : std::nullopt};
            transposing_.only_store = only_store(vector->body);
            repeat(loop, vector->body);
            transposing_ = outer;
        });
        return;
    }
    repeat(loop, loop.body);
}

void NestEmitter::repeat(const Loop& loop, const Body& statements) {
    const Extent range = extent(loop);
    const Place lower = loop.lower.size() == 1 && loop.lower[0].divisor == 1
                            ? resolve(loop.lower[0].form)
                            : Place{.varying = ir_.getInt64(0)};
    RICCI_ASSERT(
        range.limit && lower.is_constant(),
        format("the unrolled loop over `{}` has no constant bounds", nest_.at(loop.var).name));
    llvm::Value* upper = range.rest.empty() ? nullptr : bound(range.rest, false);
    const std::int64_t end = lower.constant + *range.limit;
    const std::int64_t outer = repetitions_;
    repetitions_ *= std::max<std::int64_t>(1, (*range.limit + loop.step - 1) / loop.step);
    if (upper || lower.constant != 0 || loop.step != 1 || lanes_ == 0 ||
        (end % lanes_ != 0 && end != 2 && !has_masked_stores(target_)))
        transposing_.var.reset();  // no squares, no pairs
    transposing_.repetitions = std::size_t(end);
    repeated_.emplace_back(loop.var, end);
    for (std::int64_t i = lower.constant; i < end; i += loop.step) {
        bindings_.at(std::size_t(loop.var)) = {.kind = Binding::Kind::constant, .constant = i};
        if (upper) {
            when(ir_.CreateICmpSLT(ir_.getInt64(std::uint64_t(i)), upper),
                 [&] { body(statements); });
        } else {
            body(statements);
        }
    }
    bindings_.at(std::size_t(loop.var)) = {};
    repetitions_ = outer;
    repeated_.pop_back();
}

void NestEmitter::vector_loop(const Loop& loop, const std::function<void()>& emit_body) {
    const std::string& name = nest_.at(loop.var).name;
    RICCI_ASSERT(lanes_ == 0, format("vector loop over `{}` inside another one", name));
    const Extent range = extent(loop);
    RICCI_ASSERT(range.limit, format("vector loop over `{}` has no constant limit", name));
    if (*range.limit <= 0) return;
    const std::int64_t count = (*range.limit + loop.step - 1) / loop.step;
    RICCI_ASSERT(count <= max_lanes, format("vector loop over `{}` has {} lanes", name, count));

    const std::size_t scopes = scopes_.size();
    Binding binding{.kind = Binding::Kind::lane, .step = loop.step};
    llvm::Value* lower = bound(loop.lower, true);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(lower)) {
        binding.constant = constant->getSExtValue();
    } else {
        binding.scope = open_scope();
        binding.value = lower;
    }
    // One lane is a scalar.
    if (count == 1) binding.kind = binding.value ? Binding::Kind::scalar : Binding::Kind::constant;
    bindings_.at(std::size_t(loop.var)) = binding;

    lanes_ = count == 1 ? 0 : std::bit_ceil(unsigned(count));
    is_rest_ =
        loop.step == 1 && loop.upper[0].form.is_constant() && count < loop.upper[0].form.constant;
    last_lane_ = ir_.getInt64(std::uint64_t(count - 1));
    if (lanes_ > count) {
        mask_ = ir_.CreateICmpSLT(lane_numbers(1), widen(ir_.getInt64(std::uint64_t(count))));
    }
    if (range.rest.empty()) {
        emit_body();
    } else {
        llvm::Value* length = ir_.CreateSub(bound(range.rest, false), lower);
        if (lanes_ != 0) {
            llvm::Value* runs = ir_.CreateICmpSLT(lane_numbers(loop.step), widen(length));
            mask_ = mask_ ? ir_.CreateAnd(mask_, runs) : runs;
            llvm::Value* last = ir_.CreateUDiv(ir_.CreateSub(length, ir_.getInt64(1)),
                                               ir_.getInt64(std::uint64_t(loop.step)));
            last_lane_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, last_lane_, last);
        }
        when(ir_.CreateICmpSGT(length, ir_.getInt64(0)), emit_body);
    }
    lanes_ = 0;
    is_rest_ = false;
    mask_ = nullptr;
    last_lane_ = nullptr;
    bindings_[std::size_t(loop.var)] = {};
    close_scopes(scopes);
}

void NestEmitter::when(llvm::Value* condition, const std::function<void()>& emit_body) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
        if (constant->isOne()) emit_body();
        return;
    }
    llvm::BasicBlock* yes = add_block("yes");
    llvm::BasicBlock* exit = add_block("exit");
    ir_.CreateCondBr(condition, yes, exit);
    ir_.SetInsertPoint(yes);
    const std::size_t scopes = scopes_.size();
    emit_body();
    close_scopes(scopes);
    ir_.CreateBr(exit);
    exit->moveAfter(ir_.GetInsertBlock());
    ir_.SetInsertPoint(exit);
}

void NestEmitter::either(llvm::Value* condition, const std::function<void()>& emit_one,
                         const std::function<void()>& emit_other) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition))
        return constant->isOne() ? emit_one() : emit_other();
    llvm::BasicBlock* one = add_block("one");
    llvm::BasicBlock* other = add_block("other");
    llvm::BasicBlock* exit = add_block("exit");
    ir_.CreateCondBr(condition, one, other);
    for (const auto& [block, emit] : {std::pair(one, &emit_one), std::pair(other, &emit_other)}) {
        block->moveAfter(ir_.GetInsertBlock());
        ir_.SetInsertPoint(block);
        const std::size_t scopes = scopes_.size();
        (*emit)();
        close_scopes(scopes);
        ir_.CreateBr(exit);
    }
    exit->moveAfter(ir_.GetInsertBlock());
    ir_.SetInsertPoint(exit);
}

/// Whether the body is a sum of products of lanes, each its own, or their copy: masked loads
/// suffice.
bool NestEmitter::is_cheap_in_lanes(const Body& statements) {
    const auto* store = statements.size() == 1 ? std::get_if<Store>(&statements[0].node) : nullptr;
    if (store == nullptr || !is_local(store->buffer)) return false;
    bool is_cheap = true;
    for_each_value(statements, [&](const Value& root) {
        for_each_node({root}, [&](const Value& value) {
            if (const auto* load = std::get_if<Load>(&value->term))
                is_cheap &= is_local(load->buffer) ||
                            (!load->at.computed && !resolve(load->at.affine).is_uniform());
            if (const auto* operate = std::get_if<Operate>(&value->term))
                is_cheap &=
                    operate->op == Op::mul || operate->op == Op::add || operate->op == Op::neg;
        });
    });
    return is_cheap;
}

void NestEmitter::guard(const Guard& guard) {
    llvm::Value* condition = start_value(guard.condition);
    const auto emit_body = [&] { body(guard.body); };
    if (!condition->getType()->isVectorTy()) return when(condition, emit_body);
    llvm::Value* outer = mask_;
    mask_ = outer ? ir_.CreateAnd(outer, condition) : condition;
    // The branch is needed, not merely quick, for what all lanes load: it is in bounds only where
    // some lane runs. Without it straight code takes less time than a wrong guess.
    if (is_cheap_in_lanes(guard.body))
        emit_body();
    else
        when(ir_.CreateOrReduce(mask_), emit_body);
    mask_ = outer;
}

/// Two guards of which the second one runs where the first does not are one branch: what it goes by
/// need not wait in a register for the end of the first one.
bool NestEmitter::guard_either(const Stmt& first, const Stmt& second) {
    const auto* one = std::get_if<Guard>(&first.node);
    const auto* other = std::get_if<Guard>(&second.node);
    if (one == nullptr || other == nullptr) return false;
    const auto* negated = std::get_if<Operate>(&other->condition->term);
    if (negated == nullptr || negated->op != Op::logical_not || negated->args[0] != one->condition)
        return false;
    bool is_fixed = true;  // whatever the first body stores
    for_each_node({one->condition}, [&](const Value& value) {
        is_fixed &= !std::holds_alternative<Load>(value->term);
    });
    if (!is_fixed) return false;
    llvm::Value* condition = start_value(one->condition);
    if (condition->getType()->isVectorTy()) return false;
    either(condition, [&] { body(one->body); }, [&] { body(other->body); });
    return true;
}

void NestEmitter::let_var(const LetVar& let) {
    RICCI_ASSERT(let.divisor > 0 && let.modulus >= 0, "a quotient variable divides by a positive");
    Wide number = wide(index_value(let.form, DType::i64));
    if (let.divisor != 1) number = natural_quotient(number, let.divisor);
    if (let.modulus != 0) number = natural_remainder(number, let.modulus);

    Binding binding{.value = number.value()};
    if (number.lanes() != 0) {
        binding.kind = Binding::Kind::varying;
    } else if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(number.value())) {
        binding.kind = Binding::Kind::constant;
        binding.constant = constant->getSExtValue();
    } else {
        binding.kind = Binding::Kind::scalar;
        binding.scope = open_scope();
    }
    bindings_.at(std::size_t(let.var)) = binding;
}

void NestEmitter::let_bound(const LetBound& let) {
    RICCI_ASSERT(lanes_ == 0, "a bound stands in no vector loop");
    llvm::Value* value = start_value(let.value);
    value = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, ir_.getInt64(let.least));
    value = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, ir_.getInt64(let.most));
    Binding binding{.kind = Binding::Kind::scalar, .value = value};
    binding.scope = open_scope();
    bindings_.at(std::size_t(let.var)) = binding;
}

}  // namespace ricci::codegen::cpu
