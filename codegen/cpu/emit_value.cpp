// codegen/cpu/emit_value.cpp – the terms of a nest
#include <cmath>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>

#include "base/error.h"
#include "base/half.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"
#include "codegen/passes.h"

namespace ricci::codegen::cpu {

namespace {

/// Copies of a long operation that are emitted in place: sums of nine exponentials for each of a
/// million rows, written out, take 2.6 ms with them in place and 4.7 with calls, which leave no
/// registers as they were.
constexpr std::int64_t max_inline_copies = 12;

/// The value of a constant, also one converted from another type.
std::optional<double> constant_value(const Value& value) {
    if (const auto* constant = std::get_if<Constant>(&value->term)) {
        return is_floating(value->dtype) ? constant->real : double(constant->integer);
    }
    if (const auto* convert = std::get_if<Convert>(&value->term)) {
        return is_floating(value->dtype) ? constant_value(convert->a) : std::nullopt;
    }
    return std::nullopt;
}

const Operate* as_operate(const Value& value, Op op) {
    const auto* operate = std::get_if<Operate>(&value->term);
    return operate && operate->op == op ? operate : nullptr;
}

/// Whether `value` is `x^2`.
bool is_square(const Value& value) {
    const Operate* power = as_operate(value, Op::pow);
    return power && constant_value(power->args[1]) == 2.0;
}

}  // namespace

/// The value where a statement begins: nothing computed earlier is known to be computed here.
llvm::Value* NestEmitter::start_value(const Value& value) {
    memo_.clear();
    return this->value(value);
}

llvm::Value* NestEmitter::value(const Value& value) {
    if (const auto it = memo_.find(value.get()); it != memo_.end()) return it->second;
    llvm::Value* result = as_operate(value, Op::select) ? load_guarded(value) : nullptr;
    if (result == nullptr) result = evaluate(*value);
    memo_.emplace(value.get(), result);
    return result;
}

llvm::Value* NestEmitter::evaluate(const ValueNode& node) {
    return match(
        node.term,
        [&](const Constant& constant) -> llvm::Value* {
            llvm::Type* type = register_type(ir_.getContext(), node.dtype);
            if (node.dtype == DType::f16)
                return llvm::ConstantInt::get(type, Float16(constant.real).bits());
            if (node.dtype == DType::bf16)
                return llvm::ConstantInt::get(type, BFloat16(constant.real).bits());
            if (is_floating(node.dtype)) return llvm::ConstantFP::get(type, constant.real);
            return llvm::ConstantInt::getSigned(type, constant.integer);
        },
        [&](const VarValue& var) { return index_value(var.form, DType::i64); },
        [&](const Load& l) { return load(node, l.buffer, l.at); },
        [&](const Operate& o) { return operate(o, node.dtype); },
        [&](const Convert& c) {
            const auto* var = std::get_if<VarValue>(&c.a->term);
            if (var != nullptr && c.wraps && node.dtype == DType::i32)
                return index_value(var->form, DType::i32);
            const Wide from = wide(value(c.a));
            const bool cuts = c.wraps && node.dtype != DType::boolean;
            return (cuts ? low_bits(from, c.a->dtype, node.dtype)
                         : convert(from, c.a->dtype, node.dtype))
                .value();
        },
        [&](const LetValue& let) {
            const auto it = lets_.find(let.number);
            RICCI_ASSERT(it != lets_.end(), format("value {} is used before its let", let.number));
            return it->second;
        });
}

llvm::Value* NestEmitter::operate(const Operate& operate, DType dtype) {
    if (is_floating(dtype)) {
        if (operate.op == Op::add) return sum(operate.args);
        if (operate.op == Op::pow) return power(operate.args[0], operate.args[1]).value();
    }
    std::vector<llvm::Value*> values;
    bool is_vector = false;
    for (const Value& arg : operate.args) {
        values.push_back(value(arg));
        is_vector = is_vector || values.back()->getType()->isVectorTy();
    }
    std::vector<Wide> args;
    for (llvm::Value* each : values) args.push_back(wide(is_vector ? widen(each) : each));
    // The operands' type: a comparison's own is bool, a selection's first operand is.
    return apply(operate.op, operate.args.back()->dtype, args).value();
}

/// Long operations in large unrolled loops become calls: 28 copies of tanh in the epilogue of a
/// register tile take 20 ms to compile, and gain nothing there.
Wide NestEmitter::apply(Op op, DType dtype, std::span<const Wide> args) const {
    const bool is_call = repetitions_ > max_inline_copies && is_long(op, dtype);
    return is_call ? called_operation(op, dtype, args) : operation(op, dtype, args);
}

/// A floating sum, in order, with products contracted.
llvm::Value* NestEmitter::sum(const std::vector<Value>& args) {
    // `a*b + c` is `c + a*b`: the first addend should be what no multiplication makes.
    const bool swaps = args.size() > 1 && is_product(args[0]) && !is_product(args[1]);
    const Value& first = args[swaps ? 1 : 0];
    Wide total = wide(value(first));
    for (std::size_t i = 1; i < args.size(); ++i) {
        const Value& next = args[swaps && i == 1 ? 0 : i];
        total = accumulate(total, next, i == 1 && total.lanes() == 0 && is_broadcast_anew(first));
    }
    return total.value();
}

/// Whether the value is read from memory by each operation that takes it.
bool NestEmitter::is_broadcast_anew(const Value& value) const {
    if (const Operate* negated = as_operate(value, Op::neg))
        return is_broadcast_anew(negated->args[0]);
    const auto* load = std::get_if<Load>(&value->term);
    return load != nullptr && nest_.at(load->buffer).is_broadcast_anew;
}

/// Whether the term is a product that is not already computed.
bool NestEmitter::is_product(const Value& term) const {
    if (memo_.contains(term.get())) return false;
    if (const Operate* negated = as_operate(term, Op::neg)) return is_product(negated->args[0]);
    const Operate* product = as_operate(term, Op::mul);
    return is_square(term) || (product && product->args.size() > 1);
}

/// Two factors of a product, of equal lanes.
std::pair<Wide, Wide> NestEmitter::factors(const Value& term) {
    if (const Operate* negated = as_operate(term, Op::neg)) {
        const auto [first, last] = factors(negated->args[0]);
        return {-first, last};
    }
    const auto& args = std::get<Operate>(term->term).args;
    if (is_square(term)) {
        const Wide base = wide(value(args[0]));
        return {base, base};
    }
    Wide left = wide(value(args[0]));
    for (std::size_t i = 1; i + 1 < args.size(); ++i) {
        const auto [a, b] = alike(left, wide(value(args[i])));
        left = a * b;
    }
    return alike(left, wide(value(args.back())));
}

/// A multiply-add overwrites an operand. LLVM takes an addend in memory for that, which it loads by
/// itself, unless a factor is a copy.
Wide NestEmitter::accumulate(Wide total, const Value& term, bool is_in_memory) {
    if (!is_product(term)) {
        const auto [a, b] = alike(total, wide(value(term)));
        return a + b;
    }
    auto [first, last] = factors(term);
    const std::size_t bits = first.type()->getPrimitiveSizeInBits().getFixedValue();
    if (is_in_memory && bits == 8 * std::size_t(target_.vector_bytes))
        first = wide(opaque_copy(first.value(), "=v,0"));
    const auto [sum, left] = alike(total, first);
    return multiply_add(left, alike(sum, last).second, alike(sum, last).first);
}

/// A floating power; small constant exponents that are whole or a half more without a logarithm.
Wide NestEmitter::power(const Value& base, const Value& exponent) {
    Wide x = wide(value(base));
    const std::optional<double> constant = constant_value(exponent);
    const double size = constant ? std::abs(*constant) : HUGE_VAL;
    const double whole = std::floor(size);
    const bool has_half = size == whole + 0.5;
    if (size > double(most_multiplied_exponent) || !(size == whole || has_half)) {
        const auto [a, b] = alike(x, wide(value(exponent)));
        const Wide args[] = {a, b};
        return apply(Op::pow, base->dtype, args);
    }
    std::optional<Wide> result;
    if (has_half) {
        // pow(-0, 0.5) = +0 and pow(-inf, 0.5) = inf, unlike sqrt; of numbers below 0 it is NaN.
        result = select(x == -HUGE_VAL, x.number(HUGE_VAL), sqrt(x) + 0.0);
        x = abs(x);
    }
    Wide square = x;
    for (auto bits = unsigned(whole); bits != 0; bits >>= 1U) {
        if ((bits & 1U) != 0) result = result ? *result * square : square;
        if (bits > 1) square = square * square;
    }
    if (!result) return x.number(1);
    return *constant < 0 ? 1.0 / *result : *result;
}

/// Both as vectors when one is.
std::pair<Wide, Wide> NestEmitter::alike(Wide a, Wide b) {
    if (a.lanes() == b.lanes()) return {a, b};
    return {wide(widen(a.value())), wide(widen(b.value()))};
}

llvm::Value* NestEmitter::widen(llvm::Value* value) {
    if (lanes_ == 0 || value->getType()->isVectorTy()) return value;
    return ir_.CreateVectorSplat(lanes_, value);
}

}  // namespace ricci::codegen::cpu
