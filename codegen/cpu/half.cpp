// codegen/cpu/half.cpp – numbers of sixteen bits to f32 and back
#include "codegen/cpu/half.h"

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

llvm::Type* of_lanes(llvm::Type* element, Wide like) {
    if (like.lanes() == 0) return element;
    return llvm::FixedVectorType::get(element, like.lanes());
}

Wide bit_cast(Wide a, llvm::Type* element) {
    return {a.ir(), a.ir().CreateBitCast(a.value(), of_lanes(element, a))};
}

/// The f32 next to an f64 that has a last bit of 1 where the f64 is none: rounding it again is as
/// rounding once.
Wide odd_f32(Wide a) {
    const Wide nearest = convert(a, DType::f64, DType::f32);
    const Wide back = convert(nearest, DType::f32, DType::f64);
    const Wide bits = nearest.as_integer();
    const Wide one = bits.integer(1);
    const Wide moves = ((back < a) | (back > a)) & ((bits & one) == bits.integer(0));
    const Wide next = select(abs(back) > abs(a), bits - one, bits + one);
    return select(moves, next, bits).as_floating();
}

/// The upper half of an f32, rounded; NaN keeps its upper bits.
Wide upper_half(Wide a) {
    auto& ir = a.ir();
    const Wide bits = a.as_integer();
    const Wide is_odd = shift_right(bits, 16) & bits.integer(1);
    const Wide rounded = shift_right(bits + bits.integer(0x7fff) + is_odd, 16);
    const Wide quiet = shift_right(bits, 16) | bits.integer(0x40);
    const Wide upper = select(is_nan(a), quiet, rounded);
    return {ir, ir.CreateTrunc(upper.value(), of_lanes(ir.getInt16Ty(), a))};
}

}  // namespace

Wide widened_half(Wide bits, DType dtype) {
    auto& ir = bits.ir();
    if (dtype == DType::f16) {
        const Wide half = bit_cast(bits, ir.getHalfTy());
        return {ir, ir.CreateFPExt(half.value(), of_lanes(ir.getFloatTy(), bits))};
    }
    const Wide upper(ir, ir.CreateZExt(bits.value(), of_lanes(ir.getInt32Ty(), bits)));
    return (upper << 16).as_floating();
}

Wide rounded_half(Wide a, DType from, DType to) {
    if (is_half(from)) return rounded_half(widened_half(a, from), DType::f32, to);
    if (from == DType::f64) return rounded_half(odd_f32(a), DType::f32, to);
    if (from != DType::f32) {
        const DType between = size_bytes(from) < 4 ? DType::f32 : DType::f64;
        return rounded_half(convert(a, from, between), between, to);
    }
    if (to == DType::bf16) return upper_half(a);
    auto& ir = a.ir();
    const Wide half(ir, ir.CreateFPTrunc(a.value(), of_lanes(ir.getHalfTy(), a)));
    return bit_cast(half, ir.getInt16Ty());
}

}  // namespace ricci::codegen::cpu
