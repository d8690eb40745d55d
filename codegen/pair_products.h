// codegen/pair_products.h – sums of products of two numbers of 16 bits, two reduced points at a
// time
//
// Where the target has an instruction for `acc += f32(a0)*f32(b0) + f32(a1)*f32(b1)`, both operands
// of a contraction are packed as they are, in bf16, with two neighbouring points of the last
// reduced axis side by side; after an odd number of them both have a 0. The innermost loop says
// what it computes in scalar terms, and an emitter recognises it. So are operands of products in
// i32 (codegen/narrow_sums.h) whose values i16 holds: numbers of a byte, or these less a constant.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/target.h"
#include "codegen/contraction.h"

namespace ricci::codegen {

/// Whether a contraction is a sum of products of two operands of 16 bits, of bf16 where the target
/// has their dot (AVX512_BF16), of integers on any (PMADDWD, or AVX512_VNNI).
[[nodiscard]] bool is_pair_product(const Kernel& kernel, const Contraction& contraction,
                                   const Target& target);

/// The bf16 value whose f32 an operand of such a contraction is.
[[nodiscard]] Value unconverted(const Value& term);
/// An operand of such a contraction in 16 bits: that value, or one of i32 whose values i16 holds as
/// i16; null for any other.
[[nodiscard]] Value pair_term(const Value& term);

/// The reduced axes with the one last whose points are paired: an even one, else the longest.
[[nodiscard]] std::vector<Axis> with_pairs_last(std::vector<Axis> reduced);

/// The axes with an even number of points of the last one.
[[nodiscard]] std::vector<Axis> padded_to_pairs(std::vector<Axis> reduced);

/// Two loads of bf16 or i16, of a point and of the next.
using LoadPair = std::array<Value, 2>;

/// `f32(a0)*f32(b0) + f32(a1)*f32(b1)`, or the same of i32.
[[nodiscard]] Value make_pair_product(const LoadPair& a, const LoadPair& b);

/// The operands of such a value, if each pair stands side by side.
struct PairProduct {
    const Load* a = nullptr;
    const Load* b = nullptr;
};
[[nodiscard]] std::optional<PairProduct> as_pair_product(const Value& value);

/// Whether an address is that of the element after another one.
[[nodiscard]] bool is_next(const Address& first, const Address& second);

}  // namespace ricci::codegen
