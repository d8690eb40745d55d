// codegen/cpu/emit_memory.cpp – loads and stores
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/error.h"
#include "codegen/cpu/half.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"
#include "codegen/lane_steps.h"

namespace ricci::codegen::cpu {

namespace {

/// The largest power of two that divides the known alignment.
template <class Access>
llvm::Align align_of(const Access& access) {
    return llvm::Align(std::uint64_t(access.alignment & -access.alignment));
}

/// Makes a load under the mask, if the value is one that nothing else uses, give `old` beyond it.
bool keep_beyond(llvm::Value* mask, llvm::Value* value, llvm::LoadInst* old) {
    auto* load = llvm::dyn_cast<llvm::IntrinsicInst>(value);
    if (load == nullptr || load->getIntrinsicID() != llvm::Intrinsic::masked_load ||
        load->getArgOperand(2) != mask || !load->use_empty() ||
        load->getParent() != old->getParent())
        return false;
    for (auto it = load->getIterator(); it != old->getIterator(); ++it)
        if (it->mayWriteToMemory()) return false;
    load->moveAfter(old);
    load->setArgOperand(3, old);
    return true;
}

}  // namespace

/// Whether the buffer is this task's own: lanes that do not run may be read and rewritten there.
bool NestEmitter::is_local(BufferId buffer) const {
    return nest_.at(buffer).space != Space::argument;
}

Wide NestEmitter::to_memory(BufferId buffer, Wide value) {
    if (nest_.at(buffer).dtype != DType::boolean) return value;
    return convert(value, DType::boolean, DType::u8);
}

Wide NestEmitter::from_memory(BufferId buffer, Wide value) {
    if (nest_.at(buffer).dtype != DType::boolean) return value;
    return convert(value, DType::u8, DType::boolean);
}

llvm::Value* NestEmitter::mask_or_all() {
    return mask_ ? mask_
                 : llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(ir_.getInt1Ty(), lanes_));
}

/// The address of each lane's element.
llvm::Value* NestEmitter::lane_pointers(BufferId buffer, const Access& access) {
    llvm::Value* offsets = lane_numbers(access.lane);
    if (access.varying) {
        offsets =
            access.lane == 0 ? access.varying : (wide(offsets) + wide(access.varying)).value();
    }
    return ir_.CreateGEP(memory_type(ir_.getContext(), nest_.at(buffer).dtype), access.pointer,
                         offsets);
}

/// Where the lanes of a backward access begin in memory.
llvm::Value* NestEmitter::last_lane_pointer(BufferId buffer, const Access& access) {
    return ir_.CreateGEP(memory_type(ir_.getContext(), nest_.at(buffer).dtype), access.pointer,
                         ir_.getInt64(std::uint64_t(1 - std::int64_t(lanes_))));
}

llvm::Value* NestEmitter::load(const ValueNode& node, BufferId buffer, const Address& at) {
    const Access place = access(buffer, at);
    if (!is_transposed(buffer, at, place)) return load(buffer, place).value();
    const DType dtype = nest_.at(buffer).dtype;
    const auto step = unsigned(at.affine.coefficient(*transposing_.var));
    llvm::Value* column = column_of(node, memory_type(ir_.getContext(), dtype), size_bytes(dtype),
                                    buffer, place, step);
    return from_memory(buffer, wide(column)).value();
}

Wide NestEmitter::load(BufferId buffer, const Access& access) {
    if (!access.is_uniform()) return from_memory(buffer, wide(load_lanes(buffer, access)));
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(buffer).dtype);
    return from_memory(buffer,
                       wide(ir_.CreateAlignedLoad(element, access.pointer, align_of(access))));
}

llvm::Value* NestEmitter::load_lanes(BufferId buffer, const Access& access) {
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(buffer).dtype);
    auto* vector = llvm::FixedVectorType::get(element, lanes_);
    llvm::Value* zero = llvm::Constant::getNullValue(vector);
    const llvm::Align align = align_of(access);
    const llvm::Align element_align(size_bytes(nest_.at(buffer).dtype));

    if (!access.varying && access.lane == 1) {
        if (!mask_ || is_local(buffer)) return ir_.CreateAlignedLoad(vector, access.pointer, align);
        return ir_.CreateMaskedLoad(vector, access.pointer, align, mask_, zero);
    }
    if (!access.varying && access.lane == -1) {
        llvm::Value* first = last_lane_pointer(buffer, access);
        llvm::Value* lanes =
            mask_ && !is_local(buffer)
                ? static_cast<llvm::Value*>(ir_.CreateMaskedLoad(
                      vector, first, element_align, ir_.CreateVectorReverse(mask_), zero))
                : ir_.CreateAlignedLoad(vector, first, element_align);
        return ir_.CreateVectorReverse(lanes);
    }
    if (has_short_steps(buffer, access)) return load_with_steps(buffer, access);
    return ir_.CreateMaskedGather(vector, lane_pointers(buffer, access), element_align,
                                  mask_or_all(), zero);
}

/// Whether lanes are so near to each other that whole vectors of memory are faster than a gather or
/// scatter, which takes a cycle or two for each lane.
bool NestEmitter::has_short_steps(BufferId buffer, const Access& access) const {
    const std::size_t bytes = size_bytes(nest_.at(buffer).dtype);
    return !access.varying && access.lane > 1 && access.lane <= longest_short_step && lanes_ > 1 &&
           !is_local(buffer) && (bytes >= 4 || has_masked_stores(target_)) &&
           lanes_ * bytes <= std::size_t(target_.vector_bytes);
}

/// Which lanes' elements stand in one of the vectors of memory that lanes with steps span.
NestEmitter::Part NestEmitter::part_of(std::int64_t step, unsigned number) {
    Part part;
    llvm::SmallVector<llvm::Constant*> is_touched;
    for (unsigned i = 0; i < lanes_; ++i) {
        const auto element = std::int64_t(number) * lanes_ + i;
        part.lanes.push_back(int(element / step));
        is_touched.push_back(ir_.getInt1(element % step == 0));
    }
    part.mask = llvm::ConstantVector::get(is_touched);
    if (mask_) part.mask = ir_.CreateAnd(part.mask, ir_.CreateShuffleVector(mask_, part.lanes));
    return part;
}

/// Reads nothing but the elements of the lanes that run.
llvm::Value* NestEmitter::load_with_steps(BufferId buffer, const Access& access) {
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(buffer).dtype);
    auto* vector = llvm::FixedVectorType::get(element, lanes_);
    const llvm::Align align(size_bytes(nest_.at(buffer).dtype));
    llvm::Value* lanes = nullptr;
    for (unsigned number = 0; number < unsigned(access.lane); ++number) {
        llvm::Value* pointer =
            ir_.CreateGEP(element, access.pointer, ir_.getInt64(std::uint64_t(number) * lanes_));
        // Between elements of lanes that run there is memory, after the last one perhaps not.
        const bool is_whole =
            !mask_ && (number + 1) * lanes_ <= (lanes_ - 1) * unsigned(access.lane) + 1;
        llvm::Value* part =
            is_whole
                ? static_cast<llvm::Value*>(ir_.CreateAlignedLoad(vector, pointer, align))
                : ir_.CreateMaskedLoad(vector, pointer, align, part_of(access.lane, number).mask,
                                       llvm::Constant::getNullValue(vector));
        llvm::SmallVector<int> from;
        for (unsigned lane = 0; lane < lanes_; ++lane) {
            const std::int64_t at = lane * access.lane - number * std::int64_t(lanes_);
            const bool is_here = at >= 0 && at < std::int64_t(lanes_);
            from.push_back(is_here ? int(lanes_ + at) : int(lane));
        }
        lanes = number == 0 ? part : lanes;
        lanes = ir_.CreateShuffleVector(lanes, part, from);
    }
    return lanes;
}

void NestEmitter::store_with_steps(const Store& store, const Access& access, Wide lanes) {
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(store.buffer).dtype);
    const llvm::Align align(size_bytes(nest_.at(store.buffer).dtype));
    for (unsigned number = 0; number < unsigned(access.lane); ++number) {
        const Part part = part_of(access.lane, number);
        llvm::Value* pointer =
            ir_.CreateGEP(element, access.pointer, ir_.getInt64(std::uint64_t(number) * lanes_));
        ir_.CreateMaskedStore(ir_.CreateShuffleVector(lanes.value(), part.lanes), pointer, align,
                              part.mask);
    }
}

void NestEmitter::store(const Store& store) {
    memo_.clear();
    const Access place = access(store.buffer, store.at);
    const DType dtype = nest_.at(store.buffer).dtype;
    if (!store.combine) {
        const Wide stored = wide(value(store.value));
        if (is_interleaved(store, place))
            return store_interleaved(store, place, wide(widen(stored.value())));
        if (is_transposed(store, place))
            return store_in_square(store, place, wide(widen(stored.value())));
        if (!place.is_uniform()) return store_lanes(store, place, wide(widen(stored.value())));
        if (stored.lanes() == 0) return write_scalar(store, place, stored);
        return store_last_lane(store, place, stored);
    }
    if (lanes_ != 0 && (place.is_uniform() || place.varying)) {
        const Wide each = wide(widen(value(store.value)));
        if (place.varying) return store_one_by_one(store, place, each);
        const Wide neutral = identity(*store.combine, dtype, each);
        const Wide running = mask_ ? select(wide(mask_), each, neutral) : each;
        const Wide all = fold(*store.combine, dtype, running);
        return write_scalar(store, place,
                            combine(*store.combine, dtype, load(store.buffer, place), all));
    }
    const Wide old = load(store.buffer, place);
    Wide result = old;
    if (const std::optional<Wide> sum = dot(store, old)) {
        result = *sum;
    } else if (*store.combine == Reducer::sum && ricci::is_floating(dtype) && !is_half(dtype)) {
        result = nest_.multiplies_in_sums && old.lanes() != 0 && !is_product(store.value)
                     ? multiply_add(alike(old, wide(value(store.value))).second,
                                    hidden_one(old.type()), old)
                     : accumulate(old, store.value);
    } else {
        const Wide next = wide(value(store.value));
        result =
            combine(*store.combine, dtype, old, old.lanes() ? wide(widen(next.value())) : next);
    }
    if (place.is_uniform()) return write_scalar(store, place, result);
    store_lanes(store, place, result);
}

void NestEmitter::write_scalar(const Store& store, const Access& access, Wide value) {
    ir_.CreateAlignedStore(to_memory(store.buffer, value).value(), access.pointer,
                           align_of(access));
}

/// Marks a store as going around the caches when the schedule wants it. Only whole aligned vectors
/// have an instruction for that: others would be taken apart. What is left of a row stays in the
/// caches, where it becomes a line with what stands before it: 450,000 rows of 20, transposed, took
/// 14.3 ms with part of each going around them, and 4.4 without.
void NestEmitter::mark(const Store& store, const Access& access, llvm::StoreInst* instruction) {
    const auto bytes = std::int64_t(size_bytes(nest_.at(store.buffer).dtype)) * lanes_;
    const std::int64_t needed = std::min<std::int64_t>(bytes, target_.vector_bytes);
    if (store.hint != StoreHint::streaming || is_rest_ || access.alignment % needed != 0) return;
    streams_ = true;
    auto* one = llvm::ConstantAsMetadata::get(ir_.getInt32(1));
    instruction->setMetadata(llvm::LLVMContext::MD_nontemporal,
                             llvm::MDNode::get(ir_.getContext(), one));
}

/// A mask that is known when the kernel is compiled, as that of a row of fourteen elements, from
/// memory: LLVM makes a choice by a constant a shuffle, and a masked multiply-add three
/// instructions. It does not see through a volatile load.
llvm::Value* NestEmitter::opaque_mask(llvm::Value* mask) {
    auto* known = llvm::dyn_cast<llvm::Constant>(mask);
    const bool is_some = known != nullptr && !known->isAllOnesValue() && !known->isNullValue();
    if (!is_some || lanes_ < 8 || !mask->getType()->getScalarType()->isIntegerTy(1)) return mask;
    auto* bits = ir_.getIntNTy(lanes_);
    auto* memory = new llvm::GlobalVariable(*function_->getParent(), bits, true,
                                            llvm::GlobalValue::PrivateLinkage,
                                            llvm::ConstantExpr::getBitCast(known, bits), "mask");
    return ir_.CreateBitCast(ir_.CreateLoad(bits, memory, true), mask->getType());
}

void NestEmitter::store_lanes(const Store& store, const Access& access, Wide value) {
    const Buffer& buffer = nest_.at(store.buffer);
    const bool is_mask = buffer.space == Space::registers && buffer.dtype == DType::boolean;
    if (is_mask && has_masked_stores(target_)) value = wide(opaque_mask(value.value()));
    Wide lanes = to_memory(store.buffer, value);
    const llvm::Align element_align(size_bytes(nest_.at(store.buffer).dtype));
    if (has_masked_stores(target_) && has_short_steps(store.buffer, access))
        return store_with_steps(store, access, lanes);
    if (access.varying || (access.lane != 1 && access.lane != -1)) {
        ir_.CreateMaskedScatter(lanes.value(), lane_pointers(store.buffer, access), element_align,
                                mask_or_all());
        return;
    }
    llvm::Value* pointer = access.pointer;
    llvm::Value* mask = nest_.at(store.buffer).has_spare_lanes ? nullptr : mask_;
    llvm::Align align = align_of(access);
    if (access.lane == -1) {
        pointer = last_lane_pointer(store.buffer, access);
        lanes = wide(ir_.CreateVectorReverse(lanes.value()));
        mask = mask ? ir_.CreateVectorReverse(mask) : nullptr;
        align = element_align;
    }
    if (mask && nest_.at(store.buffer).space == Space::registers) {
        // Not a masked store: SROA could not turn the slot into a register.
        llvm::LoadInst* old = ir_.CreateAlignedLoad(lanes.type(), pointer, align);
        if (!keep_beyond(mask, lanes.value(), old)) lanes = select(wide(mask), lanes, wide(old));
        mask = nullptr;
    }
    const auto store_all = [&] {
        mark(store, access, ir_.CreateAlignedStore(lanes.value(), pointer, align));
    };
    if (!mask) return store_all();
    const auto store_some = [&] { ir_.CreateMaskedStore(lanes.value(), pointer, align, mask); };
    if (has_masked_stores(target_)) return store_some();
    // AVX2 has masked stores, too, but Zen 3 takes a dozen cycles for each; most masks are full.
    if (const std::optional<unsigned> first = first_lanes(mask))
        return store_first(*first, lanes, pointer, align);
    either(ir_.CreateAndReduce(mask), store_all, store_some);
}

/// Of a mask that is known to be of the first lanes alone, how many these are.
std::optional<unsigned> NestEmitter::first_lanes(llvm::Value* mask) const {
    const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
    if (known == nullptr) return std::nullopt;
    unsigned first = 0;
    bool is_over = false;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
        const auto* is_set =
            llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(lane));
        if (is_set == nullptr || (is_set->isOne() && is_over)) return std::nullopt;
        is_over = is_set->isZero();
        first += is_set->isOne() ? 1 : 0;
    }
    return first;
}

/// Six lanes as four and two.
void NestEmitter::store_first(unsigned count, Wide lanes, llvm::Value* pointer, llvm::Align align) {
    llvm::Type* element = lanes.type()->getScalarType();
    for (unsigned start = 0; start < count;) {
        const unsigned width = std::bit_floor(count - start);
        llvm::SmallVector<int> from(width);
        std::iota(from.begin(), from.end(), int(start));
        llvm::Value* piece = width == 1 ? ir_.CreateExtractElement(lanes.value(), start)
                                        : ir_.CreateShuffleVector(lanes.value(), from);
        const std::uint64_t bytes = start * (element->getScalarSizeInBits() / 8);
        ir_.CreateAlignedStore(piece, ir_.CreateConstGEP1_64(element, pointer, start),
                               llvm::commonAlignment(align, bytes));
        start += width;
    }
}

/// All lanes store to one place: the last one that runs stays.
void NestEmitter::store_last_lane(const Store& store, const Access& access, Wide value) {
    if (!mask_) {
        return write_scalar(store, access,
                            wide(ir_.CreateExtractElement(value.value(), lanes_ - 1)));
    }
    // A scatter to equal addresses is in the order of the lanes.
    const Wide lanes = to_memory(store.buffer, value);
    ir_.CreateMaskedScatter(lanes.value(), widen(access.pointer),
                            llvm::Align(size_bytes(nest_.at(store.buffer).dtype)), mask_);
}

/// Combines each lane by itself: computed places may meet.
void NestEmitter::store_one_by_one(const Store& store, const Access& access, Wide value) {
    const DType dtype = nest_.at(store.buffer).dtype;
    llvm::Value* pointers = lane_pointers(store.buffer, access);
    llvm::Value* mask = mask_or_all();
    for (unsigned lane = 0; lane < lanes_; ++lane) {
        llvm::BasicBlock* yes = add_block("lane");
        llvm::BasicBlock* next = add_block("next");
        ir_.CreateCondBr(ir_.CreateExtractElement(mask, lane), yes, next);
        ir_.SetInsertPoint(yes);
        const Access one{.pointer = ir_.CreateExtractElement(pointers, lane),
                         .alignment = std::int64_t(size_bytes(dtype))};
        const Wide term = wide(ir_.CreateExtractElement(value.value(), lane));
        write_scalar(store, one, combine(*store.combine, dtype, load(store.buffer, one), term));
        ir_.CreateBr(next);
        ir_.SetInsertPoint(next);
    }
}

}  // namespace ricci::codegen::cpu
