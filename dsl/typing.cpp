// dsl/typing.cpp – types of terms: promotion, weak literals, explicit conversions
#include "dsl/typing.h"

#include <cmath>
#include <limits>

#include "base/match.h"
#include "base/text.h"

namespace ricci {
namespace {

DType literal_type(const Number& number) {
    return match(
        number, [](bool) { return DType::boolean; }, [](std::int64_t) { return DType::i64; },
        [](double) { return DType::f64; }, [](const std::complex<double>&) { return DType::c128; });
}

/// The order of kinds: bool, integer, floating, complex.
int kind(DType dtype) {
    if (dtype == DType::boolean) return 0;
    if (is_integer(dtype)) return 1;
    return is_complex(dtype) ? 3 : 2;
}

bool keeps_bool(Op op) {
    return op == Op::min || op == Op::max || op == Op::select || op == Op::clamp;
}

double as_double(const Number& number) {
    return match(
        number, [](bool v) { return v ? 1.0 : 0.0; },
        [](std::int64_t v) { return static_cast<double>(v); }, [](double v) { return v; },
        [](const std::complex<double>& v) { return v.real(); });
}

}  // namespace

DType accumulator_type(Reducer reducer, DType dtype) noexcept {
    if (reducer != Reducer::sum && reducer != Reducer::prod) return dtype;
    if (dtype == DType::boolean) return DType::i64;
    if (is_integer(dtype)) return is_signed(dtype) ? DType::i64 : DType::u64;
    if (dtype == DType::f16 || dtype == DType::bf16) return DType::f32;
    return dtype;
}

Typing::Typing(const Program& program, const std::vector<BoundTensor>& tensors)
    : program_(program), tensors_(tensors), context_(*program.context) {}

Typing::Typed Typing::type(Expr e) {
    for (Expr node : postorder({e}))
        if (!known_.contains(node)) known_.emplace(node, type_node(node));
    return known_.at(e);
}

Expr Typing::convert(Expr term, DType dtype) {
    if (term->dtype == dtype) return term;
    const auto* literal = std::get_if<Literal>(&term->term);
    if (literal && is_floating(dtype) && !is_complex(term->dtype)) {
        double value = as_double(literal->value);
        if (dtype == DType::f32) value = static_cast<double>(static_cast<float>(value));
        return context_.literal(value, dtype);
    }
    if (literal && dtype == DType::i64 && kind(term->dtype) < 2)
        return context_.literal(static_cast<std::int64_t>(as_double(literal->value)), dtype);
    return context_.cast(term, dtype);
}

Expr Typing::truth(Expr term) {
    if (term->dtype == DType::boolean) return term;
    const Number zero = is_floating(term->dtype) ? Number(0.0) : Number(std::int64_t{0});
    return context_.apply(Op::ne, {term, context_.literal(zero, term->dtype)}, DType::boolean);
}

Typing::Typed Typing::type_node(Expr e) {
    return match(
        e->term,
        [&](const Literal& t) {
            return Typed{context_.literal(t.value, literal_type(t.value)), true};
        },
        [&](const IndexValue& t) {
            return Typed{context_.intern(IndexValue{t.index}, DType::i64), true};
        },
        [&](const Size&) -> Typed {
            RICCI_ASSERT(false, "a size is left in a program being bound");
            return {};
        },
        [&](const Access& t) {
            const BoundTensor& tensor = tensors_.at(position(t.tensor));
            RICCI_ASSERT(tensor.dtype != DType::none, "a tensor is read before it is made");
            std::vector<Expr> at;
            for (Expr subscript : t.at) at.push_back(convert(of(subscript).term, DType::i64));
            return Typed{context_.access(t.tensor, std::move(at), tensor.dtype), tensor.is_weak};
        },
        [&](const Apply& t) { return apply(t, e); },
        [&](const Reduce&) -> Typed {
            RICCI_ASSERT(false, "a reduction stands inside a term: the program is not canonical");
            return {};
        },
        [&](const Cast& t) {
            const Expr operand = of(t.a).term;
            if (e->dtype == DType::boolean) return Typed{truth(operand), false};
            return Typed{convert(operand, e->dtype), false};
        },
        [&](const Modified&) -> Typed {
            RICCI_ASSERT(false, "a modified subscript is left in a program being bound");
            return {};
        });
}

/// The common type of operands: strong ones promote; weak ones adopt it unless they are of a higher
/// kind.
Typing::Typed Typing::common(const std::vector<Typed>& operands, Expr e) const {
    DType strong = DType::none;
    DType weak = DType::none;
    for (const Typed& operand : operands) {
        DType& side = operand.is_weak ? weak : strong;
        if (side == DType::none) {
            side = operand.term->dtype;
            continue;
        }
        const auto both = promote(side, operand.term->dtype);
        if (!both)
            throw Error({.kind = ErrorKind::type,
                         .message = format("`{}` combines {} with {}", str(program_, e), name(side),
                                           name(operand.term->dtype)),
                         .source = program_.source,
                         .labels = {},
                         .hint = "convert one of them, as in `i64(…)`"});
        side = *both;
    }
    if (strong == DType::none) return {context_.literal(std::int64_t{0}, weak), true};
    DType result = strong;
    if (weak != DType::none && kind(weak) > kind(strong))
        result = kind(weak) == 1 ? DType::i64 : kind(weak) == 2 ? DType::f64 : DType::c128;
    return {context_.literal(std::int64_t{0}, result), false};
}

Typing::Typed Typing::apply(const Apply& apply, Expr e) {
    std::vector<Typed> operands;
    for (Expr arg : apply.args) operands.push_back(of(arg));
    const Op op = apply.op;
    if (op == Op::logical_and || op == Op::logical_or || op == Op::logical_not) {
        bool weak = true;
        std::vector<Expr> args;
        for (const Typed& operand : operands) {
            weak &= operand.is_weak;
            args.push_back(truth(operand.term));
        }
        return {context_.apply(op, std::move(args), DType::boolean), weak};
    }
    std::vector<Typed> values = operands;
    if (op == Op::select) values.erase(values.begin());
    const Typed joined = common(values, e);
    DType dtype = joined.term->dtype;
    const TypeRule rule = info(op).type;
    const bool to_floating = op == Op::div || rule == TypeRule::floating ||
                             (op == Op::pow && is_integer(dtype) && is_literal(operands[1].term) &&
                              as_double(std::get<Literal>(operands[1].term->term).value) < 0);
    if (to_floating && kind(dtype) < 2) dtype = DType::f64;
    if (rule != TypeRule::boolean && dtype == DType::boolean && !keeps_bool(op)) dtype = DType::i64;
    const bool is_test = op == Op::isnan || op == Op::isinf || op == Op::isfinite;
    if (is_test && kind(dtype) < 2) dtype = DType::f64;
    if (op != Op::eq && op != Op::ne && rule == TypeRule::boolean && !is_test && is_complex(dtype))
        throw Error({.kind = ErrorKind::type,
                     .message = format("`{}` orders complex numbers", str(program_, e)),
                     .source = program_.source});
    std::vector<Expr> args;
    if (op == Op::select) args.push_back(truth(operands.front().term));
    for (const Typed& value : values) args.push_back(convert(value.term, dtype));
    const DType result = rule == TypeRule::boolean ? DType::boolean : dtype;
    return {context_.apply(op, std::move(args), result), joined.is_weak};
}

}  // namespace ricci
