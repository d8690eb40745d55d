// codegen/cpu/wide_avx512.cpp – instructions of AVX-512 that say in one what takes two or three
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "codegen/cpu/wide.h"

namespace ricci::codegen::cpu {

namespace {

namespace x86 = llvm::Intrinsic;

constexpr const char* avx512_flag = "ricci.avx512";
constexpr unsigned widest = 512;

/// An instruction for vector registers of 128, 256 and 512 bits.
struct Instruction {
    std::array<llvm::Intrinsic::ID, 3> f32;
    std::array<llvm::Intrinsic::ID, 3> f64;
    int immediate = -1;            ///< of the instruction; below 0: it has none
    bool keeps_its_first = false;  ///< lanes that a mask leaves out are those of its first operand
};

constexpr Instruction scale_instruction{
    .f32 = {x86::x86_avx512_mask_scalef_ps_128, x86::x86_avx512_mask_scalef_ps_256,
            x86::x86_avx512_mask_scalef_ps_512},
    .f64 = {x86::x86_avx512_mask_scalef_pd_128, x86::x86_avx512_mask_scalef_pd_256,
            x86::x86_avx512_mask_scalef_pd_512}};

/// The smaller magnitude with the sign of the first operand (Intel SDM, VRANGEPS: bits 3:2 are 0,
/// bits 1:0 are 2); of a NaN and a number the number.
constexpr Instruction range_instruction{
    .f32 = {x86::x86_avx512_mask_range_ps_128, x86::x86_avx512_mask_range_ps_256,
            x86::x86_avx512_mask_range_ps_512},
    .f64 = {x86::x86_avx512_mask_range_pd_128, x86::x86_avx512_mask_range_pd_256,
            x86::x86_avx512_mask_range_pd_512},
    .immediate = 2};

constexpr Instruction fixup_instruction{
    .f32 = {x86::x86_avx512_mask_fixupimm_ps_128, x86::x86_avx512_mask_fixupimm_ps_256,
            x86::x86_avx512_mask_fixupimm_ps_512},
    .f64 = {x86::x86_avx512_mask_fixupimm_pd_128, x86::x86_avx512_mask_fixupimm_pd_256,
            x86::x86_avx512_mask_fixupimm_pd_512},
    .immediate = 0,
    .keeps_its_first = true};

using Values = std::vector<llvm::Value*>;

llvm::Value* on_register(const Instruction& instruction, llvm::IRBuilderBase& ir, Values args) {
    auto* type = llvm::cast<llvm::FixedVectorType>(args[0]->getType());
    const unsigned lanes = type->getNumElements();
    const unsigned bits = lanes * type->getScalarSizeInBits();
    llvm::Value* first = args[0];
    if (instruction.immediate >= 0) args.push_back(ir.getInt32(unsigned(instruction.immediate)));
    if (!instruction.keeps_its_first) args.push_back(first);
    // Eight mask bits at least, all of them set.
    args.push_back(llvm::Constant::getAllOnesValue(ir.getIntNTy(std::max(lanes, 8U))));
    constexpr int current_rounding = 4;
    if (bits == widest) args.push_back(ir.getInt32(current_rounding));
    const auto& ids = type->getElementType()->isDoubleTy() ? instruction.f64 : instruction.f32;
    return ir.CreateIntrinsic(ids[bits == 128 ? 0 : bits == 256 ? 1 : 2], {}, args);
}

/// The elements of a table of floats, one register, or doubles, two, that integers say.
llvm::Value* look_up_register(const std::array<double, table_size>& table, llvm::IRBuilderBase& ir,
                              llvm::Value* index) {
    auto* type = llvm::cast<llvm::FixedVectorType>(index->getType());
    const unsigned lanes = type->getNumElements();
    const bool is_double = type->getScalarSizeInBits() == 64;
    const unsigned all = is_double ? 8 : 16;
    const auto part = [&](unsigned first) {
        llvm::Type* element = is_double ? ir.getDoubleTy() : ir.getFloatTy();
        std::vector<llvm::Constant*> constants;
        for (unsigned k = first; k < first + all; ++k)
            constants.push_back(llvm::ConstantFP::get(element, table[k]));
        return llvm::ConstantVector::get(constants);
    };
    std::vector<int> widened(all, llvm::PoisonMaskElem);
    std::iota(widened.begin(), widened.begin() + lanes, 0);
    if (lanes < all) index = ir.CreateShuffleVector(index, widened);
    llvm::Value* found =
        is_double
            ? ir.CreateIntrinsic(x86::x86_avx512_vpermi2var_pd_512, {}, {part(0), index, part(all)})
            : ir.CreateIntrinsic(x86::x86_avx512_permvar_sf_512, {}, {part(0), index});
    if (lanes == all) return found;
    widened.resize(lanes);
    return ir.CreateShuffleVector(found, widened);
}

/// On scalars, in the lowest lane of a register, and on vectors of several registers.
template <class OnRegister>
llvm::Value* on_any(const OnRegister& on_register, llvm::IRBuilderBase& ir, const Values& args) {
    llvm::Type* type = args[0]->getType();
    const unsigned bits = type->getScalarSizeInBits();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (!vector) {
        Values low;
        for (llvm::Value* arg : args)
            low.push_back(
                ir.CreateInsertElement(llvm::Constant::getNullValue(
                                           llvm::FixedVectorType::get(arg->getType(), 128 / bits)),
                                       arg, std::uint64_t{0}));
        return ir.CreateExtractElement(on_register(ir, std::move(low)), std::uint64_t{0});
    }
    const unsigned lanes = vector->getNumElements();
    if (lanes * bits <= widest) return on_register(ir, args);
    const auto half = [&](unsigned first) {
        std::vector<int> taken(lanes / 2);
        std::iota(taken.begin(), taken.end(), int(first));
        Values part;
        for (llvm::Value* arg : args) part.push_back(ir.CreateShuffleVector(arg, taken));
        return on_any(on_register, ir, part);
    };
    std::vector<int> all(lanes);
    std::iota(all.begin(), all.end(), 0);
    llvm::Value* lower = half(0);
    return ir.CreateShuffleVector(lower, half(lanes / 2), all);
}

Wide apply(const Instruction& instruction, std::initializer_list<Wide> args) {
    auto& ir = args.begin()->ir();
    Values values;
    for (const Wide& arg : args) values.push_back(arg.value());
    const auto each = [&](llvm::IRBuilderBase& at, Values parts) {
        return on_register(instruction, at, std::move(parts));
    };
    return {ir, on_any(each, ir, values)};
}

}  // namespace

void allow_avx512(llvm::Module& module) { module.addModuleFlag(llvm::Module::Max, avx512_flag, 1); }

bool has_avx512(Wide a) {
    const unsigned bits = std::max(a.lanes(), 1U) * a.type()->getScalarSizeInBits();
    const bool is_f32_or_f64 = a.type()->getScalarType()->isFloatTy() || a.is_double();
    return is_f32_or_f64 && (a.lanes() == 0 || bits >= 128) &&
           a.ir().GetInsertBlock()->getModule()->getModuleFlag(avx512_flag) != nullptr;
}

Wide scale(Wide y, Wide n) { return apply(scale_instruction, {y, n}); }

Wide limit_magnitude(Wide a, Wide most) { return apply(range_instruction, {a, most}); }

Wide look_up(const std::array<double, table_size>& table, Wide index) {
    const auto each = [&](llvm::IRBuilderBase& at, const Values& parts) {
        return look_up_register(table, at, parts[0]);
    };
    return {index.ir(), on_any(each, index.ir(), {index.value()})};
}

Wide nan_of(Wide a, Wide b) {
    if (!has_avx512(a) || a.lanes() == 0) return select(is_nan(a), a, b);
    // Classes 0 and 1 of `a`, quiet and signalling NaN, take it (token 1); all others keep `b`.
    const Wide table = a.as_integer().integer(0x11);
    return apply(fixup_instruction, {b, a, table});
}

}  // namespace ricci::codegen::cpu
