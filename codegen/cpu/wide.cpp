// codegen/cpu/wide.cpp – LLVM values with operators, so that formulas read as mathematics
#include "codegen/cpu/wide.h"

#include <algorithm>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "base/text.h"

namespace ricci::codegen::cpu {

namespace {

llvm::Type* with_lanes_of(llvm::Type* element, const llvm::Type* like) {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(like);
    return vector ? llvm::VectorType::get(element, vector->getElementCount()) : element;
}

Wide unary(llvm::Intrinsic::ID id, Wide a) {
    return {a.ir(), a.ir().CreateUnaryIntrinsic(id, a.value())};
}

Wide compare(llvm::CmpInst::Predicate floating, llvm::CmpInst::Predicate integer, Wide a, Wide b) {
    return {a.ir(), a.ir().CreateCmp(a.is_floating() ? floating : integer, a.value(), b.value())};
}

}  // namespace

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
    switch (dtype) {
        case DType::boolean:
        case DType::i8:
        case DType::u8:      return llvm::Type::getInt8Ty(context);
        case DType::i16:
        case DType::u16:
        case DType::f16:
        case DType::bf16:    return llvm::Type::getInt16Ty(context);
        case DType::i32:
        case DType::u32:     return llvm::Type::getInt32Ty(context);
        case DType::i64:
        case DType::u64:     return llvm::Type::getInt64Ty(context);
        case DType::f32:     return llvm::Type::getFloatTy(context);
        case DType::f64:     return llvm::Type::getDoubleTy(context);
        case DType::c64:
        case DType::c128:
        case DType::none:    break;
    }
    throw Error({.kind = ErrorKind::type,
                 .message = format("{} is not supported yet by the CPU compiler", name(dtype))});
}

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
    return dtype == DType::boolean ? llvm::Type::getInt1Ty(context) : memory_type(context, dtype);
}

llvm::Type* Wide::type() const noexcept { return value_->getType(); }
bool Wide::is_floating() const noexcept { return type()->isFPOrFPVectorTy(); }
bool Wide::is_double() const noexcept { return type()->getScalarType()->isDoubleTy(); }

unsigned Wide::lanes() const noexcept {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type());
    return vector ? vector->getNumElements() : 0;
}

Wide Wide::number(double number) const {
    if (!is_floating()) return integer(static_cast<std::int64_t>(number));
    return {*ir_, llvm::ConstantFP::get(type(), number)};
}

Wide Wide::integer(std::int64_t number) const {
    return {*ir_, llvm::ConstantInt::getSigned(type(), number)};
}

Wide Wide::as_integer() const {
    if (!is_floating()) return *this;
    llvm::Type* element = ir_->getIntNTy(type()->getScalarSizeInBits());
    return {*ir_, ir_->CreateBitCast(value_, with_lanes_of(element, type()))};
}

Wide Wide::as_floating() const {
    if (is_floating()) return *this;
    llvm::Type* element =
        type()->getScalarSizeInBits() == 64 ? ir_->getDoubleTy() : ir_->getFloatTy();
    return {*ir_, ir_->CreateBitCast(value_, with_lanes_of(element, type()))};
}

Wide& Wide::operator+=(Wide b) { return *this = *this + b; }
Wide& Wide::operator*=(Wide b) { return *this = *this * b; }

Wide operator+(Wide a, Wide b) {
    auto& ir = a.ir();
    return {ir, a.is_floating() ? ir.CreateFAdd(a.value(), b.value())
                                : ir.CreateAdd(a.value(), b.value())};
}
Wide operator-(Wide a, Wide b) {
    auto& ir = a.ir();
    return {ir, a.is_floating() ? ir.CreateFSub(a.value(), b.value())
                                : ir.CreateSub(a.value(), b.value())};
}
Wide operator*(Wide a, Wide b) {
    auto& ir = a.ir();
    return {ir, a.is_floating() ? ir.CreateFMul(a.value(), b.value())
                                : ir.CreateMul(a.value(), b.value())};
}
Wide operator/(Wide a, Wide b) { return {a.ir(), a.ir().CreateFDiv(a.value(), b.value())}; }
Wide operator-(Wide a) {
    auto& ir = a.ir();
    return {ir, a.is_floating() ? ir.CreateFNeg(a.value()) : ir.CreateNeg(a.value())};
}
Wide operator+(Wide a, double b) { return a + a.number(b); }
Wide operator-(Wide a, double b) { return a - a.number(b); }
Wide operator*(Wide a, double b) { return a * a.number(b); }
Wide operator+(double a, Wide b) { return b.number(a) + b; }
Wide operator-(double a, Wide b) { return b.number(a) - b; }
Wide operator*(double a, Wide b) { return b.number(a) * b; }
Wide operator/(double a, Wide b) { return b.number(a) / b; }

Wide operator&(Wide a, Wide b) { return {a.ir(), a.ir().CreateAnd(a.value(), b.value())}; }
Wide operator|(Wide a, Wide b) { return {a.ir(), a.ir().CreateOr(a.value(), b.value())}; }
Wide operator^(Wide a, Wide b) { return {a.ir(), a.ir().CreateXor(a.value(), b.value())}; }
Wide operator!(Wide a) { return {a.ir(), a.ir().CreateNot(a.value())}; }
Wide operator<<(Wide a, int bits) {
    return {a.ir(), a.ir().CreateShl(a.value(), a.integer(bits).value())};
}
Wide shift_right(Wide a, int bits) {
    return {a.ir(), a.ir().CreateLShr(a.value(), a.integer(bits).value())};
}
Wide shift_right_arithmetic(Wide a, int bits) {
    return {a.ir(), a.ir().CreateAShr(a.value(), a.integer(bits).value())};
}

Wide operator<(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, a, b);
}
Wide operator<=(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, a, b);
}
Wide operator>(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, a, b);
}
Wide operator>=(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, a, b);
}
Wide operator==(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, a, b);
}
Wide operator!=(Wide a, Wide b) {
    return compare(llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, a, b);
}
Wide operator<(Wide a, double b) { return a < a.number(b); }
Wide operator<=(Wide a, double b) { return a <= a.number(b); }
Wide operator>(Wide a, double b) { return a > a.number(b); }
Wide operator>=(Wide a, double b) { return a >= a.number(b); }
Wide operator==(Wide a, double b) { return a == a.number(b); }
Wide operator!=(Wide a, double b) { return a != a.number(b); }

Wide select(Wide condition, Wide yes, Wide no) {
    return {yes.ir(), yes.ir().CreateSelect(condition.value(), yes.value(), no.value())};
}

Wide fence(Wide a) {
    if (!a.type()->isFPOrFPVectorTy()) return a;  // half types are their bits
    return {a.ir(),
            a.ir().CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {a.type()}, {a.value()})};
}

Wide is_nan(Wide a) { return {a.ir(), a.ir().CreateFCmpUNO(a.value(), a.value())}; }

Wide multiply_add(Wide a, Wide b, Wide c) {
    return {a.ir(), a.ir().CreateIntrinsic(llvm::Intrinsic::fmuladd, {a.type()},
                                           {a.value(), b.value(), c.value()})};
}
Wide multiply_add(Wide a, double b, Wide c) { return multiply_add(a, a.number(b), c); }
Wide multiply_add(Wide a, Wide b, double c) { return multiply_add(a, b, a.number(c)); }

Wide fused_multiply_add(Wide a, Wide b, Wide c) {
    return {a.ir(), a.ir().CreateIntrinsic(llvm::Intrinsic::fma, {a.type()},
                                           {a.value(), b.value(), c.value()})};
}
Wide truncate_integer(Wide a, Wide like) {
    return {a.ir(), a.ir().CreateTrunc(a.value(), like.type())};
}
Wide abs(Wide a) { return unary(llvm::Intrinsic::fabs, a); }
Wide copy_sign(Wide magnitude, Wide sign) {
    return {sign.ir(), sign.ir().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value(),
                                                       sign.value())};
}
Wide sqrt(Wide a) { return unary(llvm::Intrinsic::sqrt, a); }
Wide floor(Wide a) { return unary(llvm::Intrinsic::floor, a); }
Wide ceil(Wide a) { return unary(llvm::Intrinsic::ceil, a); }
Wide trunc(Wide a) { return unary(llvm::Intrinsic::trunc, a); }
Wide round_even(Wide a) { return unary(llvm::Intrinsic::roundeven, a); }

Wide quick_max(Wide a, Wide b) { return select(a > b, a, b); }
Wide quick_min(Wide a, Wide b) { return select(a < b, a, b); }
// x86's maximum gives its second operand where one is NaN: only a NaN in the first is left.
Wide nan_max(Wide a, Wide b) { return nan_of(a, quick_max(a, b)); }
Wide nan_min(Wide a, Wide b) { return nan_of(a, quick_min(a, b)); }

namespace {

/// A constant that its users read from memory as a part of their instructions. As constants of
/// LLVM's own they would wait in registers, outside of loops: 16 are too few for those of a
/// function of two polynomials, and LLVM moves them from one register to the next all the time (exp
/// of f32: 51 instructions a vector with AVX2). It does not know that nothing changes them.
Wide loaded_number(Wide like, double number) {
    const Wide value = like.number(number);
    auto& ir = like.ir();
    llvm::Module& module = *ir.GetInsertBlock()->getModule();
    // A vector of several registers has it in each: LLVM sees that all are one load.
    const unsigned bits_of_register = has_avx512(like) ? 512 : 256;
    const unsigned bits = like.is_double() ? 64 : 32;
    const unsigned lanes = std::min(like.lanes(), bits_of_register / bits);
    auto* one = llvm::cast<llvm::Constant>(value.value())->getSplatValue();
    llvm::Constant* constant =
        llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), one);
    const std::string name = format("ricci.{:a}.{}.{}", number, bits, lanes);
    llvm::GlobalVariable* global = module.getNamedGlobal(name);
    if (global == nullptr) {
        global = new llvm::GlobalVariable(module, constant->getType(), false,
                                          llvm::GlobalValue::InternalLinkage, constant, name);
        global->setAlignment(llvm::Align(64));
    }
    llvm::Value* loaded = ir.CreateAlignedLoad(constant->getType(), global, llvm::Align(64));
    if (lanes == like.lanes()) return {ir, loaded};
    llvm::SmallVector<int> repeated;
    for (unsigned lane = 0; lane < like.lanes(); ++lane) repeated.push_back(int(lane % lanes));
    return {ir, ir.CreateShuffleVector(loaded, repeated)};
}

}  // namespace

Wide number_in_memory(Wide like, double number) {
    return like.lanes() == 0 || has_avx512(like) ? like.number(number)
                                                 : loaded_number(like, number);
}

Wide polynomial(Wide x, std::initializer_list<double> coefficients) {
    RICCI_ASSERT(coefficients.size() != 0, "a polynomial has at least one coefficient");
    // Of AVX-512's 32 registers: others hold what the rest of a function needs.
    constexpr std::size_t most_in_registers = 16;
    const bool are_many = x.lanes() != 0 && coefficients.size() > most_in_registers;
    const double* coefficient = coefficients.end() - 1;
    Wide sum = x.number(*coefficient);
    while (coefficient != coefficients.begin()) {
        --coefficient;
        sum = multiply_add(
            sum, x, are_many ? loaded_number(x, *coefficient) : number_in_memory(x, *coefficient));
    }
    return sum;
}

Wide polynomial_by_pairs(Wide x, std::initializer_list<double> coefficients) {
    std::vector<Wide> sums;
    for (const double* c = coefficients.begin(); c != coefficients.end(); ++c)
        sums.push_back(number_in_memory(x, *c));
    for (Wide power = x;; power = power * power) {
        if (sums.size() == 3)
            return multiply_add(multiply_add(sums[2], power, sums[1]), power, sums[0]);
        std::vector<Wide> fewer;
        for (std::size_t i = 0; i < sums.size(); i += 2) {
            const bool is_alone = i + 1 == sums.size();
            fewer.push_back(is_alone ? sums[i] : multiply_add(sums[i + 1], power, sums[i]));
        }
        if (fewer.size() == 1) return fewer[0];
        sums = std::move(fewer);
    }
}

}  // namespace ricci::codegen::cpu
