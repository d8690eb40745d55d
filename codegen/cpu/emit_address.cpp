// codegen/cpu/emit_address.cpp – affine forms, loop bounds and pointers
#include <algorithm>
#include <numeric>

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

std::int64_t divide_floor(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

llvm::BasicBlock* NestEmitter::add_block(const char* name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
}

/// Begins a scope here: its prologue is a block of its own, so that hoisted instructions have a
/// place before everything that is emitted from now on.
std::size_t NestEmitter::open_scope() {
    llvm::BasicBlock* prologue = add_block("prologue");
    llvm::BasicBlock* rest = add_block("body");
    ir_.CreateBr(prologue);
    ir_.SetInsertPoint(prologue);
    scopes_.push_back({ir_.CreateBr(rest)});
    ir_.SetInsertPoint(rest);
    return scopes_.size() - 1;
}

NestEmitter::Place NestEmitter::resolve(const AffineForm& form) const {
    Place place{.constant = form.constant};
    for (const auto& [var, coefficient] : form.terms) {
        const Binding& binding = bindings_.at(std::size_t(var));
        switch (binding.kind) {
            case Binding::Kind::constant: place.constant += coefficient * binding.constant; break;
            case Binding::Kind::scalar:   place.terms.push_back({var, coefficient}); break;
            case Binding::Kind::lane:
                place.lane += coefficient * binding.step;
                if (binding.value) {
                    place.terms.push_back({var, coefficient});
                } else {
                    place.constant += coefficient * binding.constant;
                }
                break;
            case Binding::Kind::varying: {
                const Wide value(ir_, binding.value);
                const Wide term = value * value.integer(coefficient);
                place.varying =
                    place.varying ? (Wide(ir_, place.varying) + term).value() : term.value();
                break;
            }
            case Binding::Kind::unbound:
                RICCI_ASSERT(false, format("`{}` is used outside its loop in nest `{}`",
                                           nest_.at(var).name, nest_.name));
        }
    }
    return place;
}

/// The same in a register of its own, as of the constraint of inline assembly.
llvm::Value* NestEmitter::opaque_copy(llvm::Value* value, const char* constraint) {
    auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
    return ir_.CreateCall(llvm::InlineAsm::get(type, "", constraint, false), {value});
}

/// A 1 that LLVM does not see.
Wide NestEmitter::hidden_one(llvm::Type* type) {
    llvm::Value*& one = hidden_ones_[type];
    if (one == nullptr) {
        const llvm::IRBuilderBase::InsertPointGuard keep(ir_);
        llvm::BasicBlock& start = function_->getEntryBlock();
        ir_.SetInsertPoint(&start, start.begin());
        const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
        llvm::Value* scalar = llvm::ConstantFP::get(vector->getElementType(), 1);
        one = ir_.CreateVectorSplat(vector->getNumElements(), opaque_copy(scalar, "=v,0"));
    }
    return wide(one);
}

/// A pointer to the first element. LLVM is not to know that several are equal: it would make one
/// load of their loads.
llvm::Value* NestEmitter::first_element(const Base& base) {
    llvm::Value* first = buffers_.at(std::size_t(base.buffer));
    if (base.pointer == 0) return first;
    llvm::Value*& further = further_pointers_[{base.buffer, base.pointer}];
    if (further == nullptr) {
        const llvm::IRBuilderBase::InsertPointGuard keep(ir_);
        llvm::BasicBlock& start = function_->getEntryBlock();
        ir_.SetInsertPoint(&start, start.begin());
        further = opaque_copy(first, "=r,0");
    }
    return further;
}

/// Which of the pointers to a buffer the repetition reads an element by that others read, too.
unsigned NestEmitter::own_pointer(const Address& at) const {
    constexpr std::int64_t most_pointers = 6;
    if (at.computed) return 0;
    std::int64_t number = 0;
    for (const auto& [var, count] : repeated_)
        if (at.affine.coefficient(var) == 0)
            number = number * count + bindings_.at(std::size_t(var)).constant;
    return unsigned(number % most_pointers);
}

/// The sum of run-time terms, added to the first element of a buffer when one is given. The terms
/// of outer scopes are added in those scopes, once.
llvm::Value* NestEmitter::hoisted(const std::optional<Base>& base, const Terms& terms) {
    if (terms.empty()) return base ? first_element(*base) : ir_.getInt64(0);
    const auto scope_of = [&](const AffineForm::Term& term) {
        return bindings_.at(std::size_t(term.var)).scope;
    };
    std::size_t deepest = 0;
    for (const auto& term : terms) deepest = std::max(deepest, scope_of(term));

    std::pair<std::int64_t, std::vector<std::int64_t>> key{-1, {}};
    if (base) key = {std::int64_t(base->buffer), {std::int64_t(base->pointer)}};
    for (const auto& [var, coefficient] : terms) {
        key.second.insert(key.second.end(), {std::int64_t(var), coefficient});
    }
    if (const auto it = scopes_.at(deepest).known.find(key); it != scopes_[deepest].known.end()) {
        return it->second;
    }

    if (base && scopes_[deepest].before && deepest + 1 == scopes_.size()) {
        // Of an innermost loop, whose variable is alone in its scope. Around others a pointer that
        // moves would only hold a register.
        const auto own = std::ranges::find(terms, deepest, scope_of);
        Terms others = terms;
        others.erase(others.begin() + (own - terms.begin()));
        return scopes_[deepest].known[key] = moving(deepest, *base, own->coefficient, others);
    }
    Terms outer;
    llvm::Value* here = nullptr;
    const llvm::IRBuilderBase::InsertPointGuard keep(ir_);
    ir_.SetInsertPoint(scopes_[deepest].end);
    for (const auto& term : terms) {
        if (scope_of(term) != deepest) {
            outer.push_back(term);
            continue;
        }
        llvm::Value* product = ir_.CreateNSWMul(bindings_[std::size_t(term.var)].value,
                                                ir_.getInt64(std::uint64_t(term.coefficient)));
        here = here ? ir_.CreateNSWAdd(here, product) : product;
    }
    llvm::Value* total = hoisted(base, outer);
    if (base) {
        total =
            ir_.CreateGEP(memory_type(ir_.getContext(), nest_.at(base->buffer).dtype), total, here);
    } else if (!outer.empty()) {
        total = ir_.CreateNSWAdd(total, here);
    } else {
        total = here;
    }
    return scopes_[deepest].known[key] = total;
}

/// The address of an element that moves with the variable of a loop, by `coefficient` for each 1.
llvm::Value* NestEmitter::moving(std::size_t scope, const Base& base, std::int64_t coefficient,
                                 const Terms& outer) {
    llvm::Value* start = hoisted(base, outer);
    const llvm::IRBuilderBase::InsertPointGuard keep(ir_);
    Scope& loop = scopes_[scope];
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(base.buffer).dtype);
    ir_.SetInsertPoint(loop.before);
    llvm::Value* first = ir_.CreateNSWMul(loop.first, ir_.getInt64(std::uint64_t(coefficient)));
    start = ir_.CreateGEP(element, start, first);
    ir_.SetInsertPoint(loop.end->getParent(), loop.end->getParent()->begin());
    llvm::PHINode* pointer = ir_.CreatePHI(ir_.getPtrTy(), 2);
    pointer->addIncoming(start, loop.before->getParent());
    loop.moving.emplace_back(pointer, element, coefficient);
    return pointer;
}

llvm::Value* NestEmitter::scalar_sum(std::int64_t constant, const Terms& terms) {
    if (terms.empty()) return ir_.getInt64(std::uint64_t(constant));
    llvm::Value* total = hoisted(std::nullopt, terms);
    return constant == 0 ? total : ir_.CreateNSWAdd(total, ir_.getInt64(std::uint64_t(constant)));
}

/// `step` times 0, 1, 2, …: i64 lanes.
llvm::Value* NestEmitter::lane_numbers(std::int64_t step) {
    llvm::SmallVector<llvm::Constant*> numbers;
    for (std::int64_t i = 0; i < std::int64_t(lanes_); ++i) {
        numbers.push_back(ir_.getInt64(std::uint64_t(i * step)));
    }
    return llvm::ConstantVector::get(numbers);
}

/// The form's value, or its low bits in a narrower type; a scalar where it is the same in all
/// lanes.
llvm::Value* NestEmitter::index_value(const AffineForm& form, DType dtype) {
    const Place place = resolve(form);
    const auto bits = [&](llvm::Value* value) { return low_bits(wide(value), DType::i64, dtype); };
    const Wide uniform = bits(scalar_sum(place.constant, place.terms));
    if (place.is_uniform()) return uniform.value();
    Wide total = wide(widen(uniform.value()));
    if (place.lane != 0) total += bits(lane_numbers(place.lane));
    if (place.varying) total += bits(place.varying);
    return total.value();
}

/// Splits the bounds of a loop into a constant limit and what can only be compared at run time.
NestEmitter::Extent NestEmitter::extent(const Loop& loop) const {
    Extent result{.lower = loop.lower, .limit = std::nullopt, .rest = {}};
    for (const BoundTerm& upper : loop.upper) {
        bool is_limit = false;
        for (const BoundTerm& lower : loop.lower) {
            if (upper.divisor != 1 || lower.divisor != 1) continue;
            const Place difference = resolve(upper.form + -1 * lower.form);
            if (!difference.is_constant()) continue;
            result.limit =
                std::min(result.limit.value_or(difference.constant), difference.constant);
            // With several lower bounds the loop may start later than the one compared with.
            is_limit = loop.lower.size() == 1;
        }
        if (!is_limit) result.rest.push_back(upper);
    }
    return result;
}

/// The value of a bound: the largest or the smallest of its terms. It is found once where the last
/// of their variables is bound: LLVM leaves it at the loop, where it takes as long as a short
/// loop's first point.
llvm::Value* NestEmitter::bound(const LoopBound& bound, bool is_lower) {
    RICCI_ASSERT(!bound.empty(), format("a loop of nest `{}` has no bound", nest_.name));
    std::optional<std::size_t> deepest;
    for (const auto& [form, divisor] : bound)
        for (const auto& [var, coefficient] : resolve(form).terms)
            deepest = std::max(deepest.value_or(0), bindings_.at(std::size_t(var)).scope);
    const llvm::IRBuilderBase::InsertPointGuard keep(ir_);
    if (deepest) ir_.SetInsertPoint(scopes_.at(*deepest).end);
    llvm::Value* result = nullptr;
    for (const auto& [form, divisor] : bound) {
        const Place place = resolve(form);
        RICCI_ASSERT(place.is_uniform(), "a loop bound varies by lane");
        llvm::Value* term = nullptr;
        // ceil(a / d) = floor((a + d - 1) / d)
        const std::int64_t constant = place.constant + (is_lower ? divisor - 1 : 0);
        if (place.terms.empty()) {
            term = ir_.getInt64(std::uint64_t(divide_floor(constant, divisor)));
        } else {
            term = scalar_sum(constant, place.terms);
            if (divisor != 1) term = floor_divide(wide(term), divisor).value();
        }
        result = !result
                     ? term
                     : ir_.CreateBinaryIntrinsic(
                           is_lower ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, result, term);
    }
    return result;
}

/// What divides the place for every value of its variables; 0 divides nothing but 0.
std::int64_t NestEmitter::divisor_of(const Place& place) const {
    std::int64_t result = place.constant;
    for (const auto& [var, coefficient] : place.terms)
        result = std::gcd(result, coefficient * bindings_.at(std::size_t(var)).multiple);
    return result;
}

/// The alignment in bytes that a place in a buffer has for every value of its variables.
std::int64_t NestEmitter::alignment(BufferId id, const Place& place) const {
    const Buffer& buffer = nest_.at(id);
    const auto bytes = std::int64_t(size_bytes(buffer.dtype));
    return std::gcd(buffer.alignment, divisor_of(place) * bytes);
}

NestEmitter::Access NestEmitter::access(BufferId id, const Address& at) {
    const Place place = resolve(at.affine);
    Access result{.lane = place.lane, .varying = place.varying, .alignment = alignment(id, place)};
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(id).dtype);
    const bool is_anew = nest_.at(id).is_broadcast_anew && lanes_ != 0 && place.is_uniform();
    result.pointer = hoisted(Base{id, is_anew ? own_pointer(at) : 0}, place.terms);
    if (place.constant != 0) {
        result.pointer =
            ir_.CreateGEP(element, result.pointer, ir_.getInt64(std::uint64_t(place.constant)));
    }
    if (!at.computed) return result;

    result.alignment = std::int64_t(size_bytes(nest_.at(id).dtype));
    llvm::Value* computed = value(at.computed);
    if (computed->getType()->isVectorTy()) {
        result.varying =
            result.varying ? (wide(result.varying) + wide(computed)).value() : computed;
    } else {
        result.pointer = ir_.CreateGEP(element, result.pointer, computed);
    }
    return result;
}

}  // namespace ricci::codegen::cpu
