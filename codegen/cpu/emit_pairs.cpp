// codegen/cpu/emit_pairs.cpp – two elements that stand side by side: stores of both, products of
// bf16 and of i16
#include <array>

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/cpu/nest_emitter.h"
#include "codegen/nest_walk.h"
#include "codegen/pair_products.h"

namespace ricci::codegen::cpu {

namespace {

/// Lane by lane the first's, then the second's.
llvm::Value* interleaved(llvm::IRBuilderBase& ir, llvm::Value* first, llvm::Value* second,
                         unsigned lanes) {
    llvm::SmallVector<int> from;
    for (unsigned lane = 0; lane < lanes; ++lane) from.append({int(lane), int(lane + lanes)});
    return ir.CreateShuffleVector(first, second, from);
}

/// The instruction for so many sums: of 16, 8 or 4 lanes.
llvm::Intrinsic::ID of_lanes(unsigned lanes, const std::array<llvm::Intrinsic::ID, 3>& all) {
    switch (lanes) {
        case 16: return all[0];
        case 8:  return all[1];
        case 4:  return all[2];
        default: return llvm::Intrinsic::not_intrinsic;
    }
}
/// VDPBF16PS, `old + f32(a0)*f32(b0) + f32(a1)*f32(b1)`.
llvm::Intrinsic::ID bf16_dot(unsigned lanes) {
    return of_lanes(lanes, {llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512,
                            llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                            llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128});
}
/// VPDPWSSD, `old + i32(a0)*i32(b0) + i32(a1)*i32(b1)`.
llvm::Intrinsic::ID integer_dot(unsigned lanes) {
    return of_lanes(
        lanes, {llvm::Intrinsic::x86_avx512_vpdpwssd_512, llvm::Intrinsic::x86_avx512_vpdpwssd_256,
                llvm::Intrinsic::x86_avx512_vpdpwssd_128});
}
/// PMADDWD, the same without `old`.
llvm::Intrinsic::ID pair_product(unsigned lanes) {
    return of_lanes(lanes,
                    {llvm::Intrinsic::x86_avx512_pmaddw_d_512, llvm::Intrinsic::x86_avx2_pmadd_wd,
                     llvm::Intrinsic::x86_sse2_pmadd_wd});
}

}  // namespace

/// Whether the lanes of two stores fill the elements of an argument without gaps, and the second
/// reads nothing that the first writes.
bool NestEmitter::is_pair(const Store& first, const Store& second) const {
    const std::size_t most_bytes = 4;  // two are an integer that masked stores know
    if (lanes_ < 2 || first.combine || second.combine || first.buffer != second.buffer ||
        is_local(first.buffer) || !is_next(first.at, second.at) ||
        size_bytes(nest_.at(first.buffer).dtype) > most_bytes)
        return false;
    const Place place = resolve(first.at.affine);
    if (place.varying != nullptr || place.lane != 2) return false;
    bool is_read = false;
    for_each_node({second.value}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        is_read |= load != nullptr && load->buffer == first.buffer;
    });
    return !is_read;
}

void NestEmitter::store_pair(const Store& first, const Store& second) {
    memo_.clear();
    const Access place = access(first.buffer, first.at);
    const llvm::Align align(std::uint64_t(place.alignment & -place.alignment));
    llvm::Value* both = nullptr;
    if (const std::optional<Wide> pairs = transposed_pair(first.value, second.value)) {
        both = pairs->value();
    } else {
        const auto lanes = [&](const Store& store) {
            return to_memory(store.buffer, wide(widen(value(store.value)))).value();
        };
        llvm::Value* even = lanes(first);
        both = interleaved(ir_, even, lanes(second), lanes_);
    }
    if (mask_ == nullptr) {
        ir_.CreateAlignedStore(both, place.pointer, align);
        return;
    }
    // A pair is an integer that the mask has one bit for.
    const auto bits = unsigned(16 * size_bytes(nest_.at(first.buffer).dtype));
    auto* pairs = llvm::FixedVectorType::get(ir_.getIntNTy(bits), lanes_);
    ir_.CreateMaskedStore(ir_.CreateBitCast(both, pairs), place.pointer, align, mask_);
}

/// Two loads of numbers of sixteen bits that stand side by side, in a square of repetitions, each
/// of the next two, times lanes: a square of pairs.
std::optional<Wide> NestEmitter::transposed_pair(const Value& first, const Value& second) {
    constexpr std::size_t pair_bytes = 4;
    const auto* load = std::get_if<Load>(&first->term);
    const auto* next = std::get_if<Load>(&second->term);
    if (!transposing_.var || load == nullptr || next == nullptr || load->buffer != next->buffer ||
        !is_half(first->dtype) || nest_.at(load->buffer).is_written ||
        !is_next(load->at, next->at) || load->at.affine.coefficient(*transposing_.var) != 2)
        return std::nullopt;
    const Access place = access(load->buffer, load->at);
    if (place.varying != nullptr || place.lane == 0 || width_of_square() < lanes_)
        return std::nullopt;
    llvm::Value* pairs = column_of(*first, ir_.getInt32Ty(), pair_bytes, load->buffer, place, 1);
    auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), 2 * lanes_);
    return wide(ir_.CreateBitCast(pairs, halves));
}

/// The sum of a slot and a product of pairs of bf16 or i16, where that is one instruction, or two.
std::optional<Wide> NestEmitter::dot(const Store& store, Wide old) {
    if (store.combine != Reducer::sum || mask_ != nullptr || old.lanes() != lanes_ ||
        lanes_ * size_bytes(DType::f32) > std::size_t(target_.vector_bytes))
        return std::nullopt;
    const std::optional<PairProduct> product = as_pair_product(store.value);
    if (!product || pair_product(lanes_) == llvm::Intrinsic::not_intrinsic) return std::nullopt;
    const bool is_integer = store.value->dtype == DType::i32;
    if (!is_integer && !target_.has_bf16_dot) return std::nullopt;
    for (const Load* load : {product->a, product->b}) {
        const Place place = resolve(load->at.affine);
        if (place.varying != nullptr || (place.lane != 0 && place.lane != 2)) return std::nullopt;
    }
    auto* element = is_integer ? ir_.getInt16Ty() : ir_.getBFloatTy();
    llvm::Value* a = dot_operand(*product->a, element);
    llvm::Value* b = dot_operand(*product->b, element);
    if (!is_integer) return wide(ir_.CreateIntrinsic(bf16_dot(lanes_), {}, {old.value(), a, b}));
    if (!target_.has_integer_dot)
        return wide(
            ir_.CreateAdd(old.value(), ir_.CreateIntrinsic(pair_product(lanes_), {}, {a, b})));
    const auto as_sums = [&](llvm::Value* pairs) {
        return ir_.CreateBitCast(pairs, old.value()->getType());
    };
    return wide(
        ir_.CreateIntrinsic(integer_dot(lanes_), {}, {old.value(), as_sums(a), as_sums(b)}));
}

/// The pair of each lane, or one pair for all lanes.
llvm::Value* NestEmitter::dot_operand(const Load& first, llvm::Type* element) {
    const Access place = access(first.buffer, first.at);
    const llvm::Align align(std::uint64_t(place.alignment & -place.alignment));
    auto* pairs = llvm::FixedVectorType::get(ir_.getInt32Ty(), lanes_);
    llvm::Value* loaded =
        place.is_uniform()
            ? ir_.CreateVectorSplat(lanes_,
                                    ir_.CreateAlignedLoad(ir_.getInt32Ty(), place.pointer, align))
            : ir_.CreateAlignedLoad(pairs, place.pointer, align);
    return ir_.CreateBitCast(loaded, llvm::FixedVectorType::get(element, 2 * lanes_));
}

}  // namespace ricci::codegen::cpu
