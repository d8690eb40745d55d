// dsl/typing.cpp – types of terms: promotion, weak literals, explicit conversions
#include "dsl/typing.h"

#include <algorithm>

#include "base/match.h"
#include "base/text.h"
#include "dsl/complex_form.h"
#include "dsl/shown_place.h"
#include "dsl/typed_literal.h"

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

bool is_comparison(Op op) { return info(op).precedence == Precedence::comparison; }

bool is_test(Op op) { return op == Op::isnan || op == Op::isinf || op == Op::isfinite; }

/// What `strong` values count as together with `weak` ones of a higher kind.
DType raised(DType strong, DType weak) {
    if (kind(weak) == 1) return DType::i64;
    if (kind(weak) == 2) return DType::f64;
    return is_floating(strong) && strong != DType::f64 ? DType::c64 : DType::c128;
}

/// The comparison with its operands exchanged.
Op mirrored(Op op) {
    if (op == Op::lt) return Op::gt;
    if (op == Op::le) return Op::ge;
    if (op == Op::gt) return Op::lt;
    return op == Op::ge ? Op::le : op;
}

}  // namespace

DType computed_in(DType type, Integers integers) noexcept {
    if (type == DType::f16 || type == DType::bf16) return DType::f32;
    if (integers == Integers::promoted || !is_integer(type)) return type;
    return integers == Integers::wide && !is_signed(type) ? DType::u64 : DType::i64;
}

DType result_type(Reducer reducer, DType type) noexcept {
    if (reducer == Reducer::argmax || reducer == Reducer::argmin) return DType::i64;
    if (reducer != Reducer::sum && reducer != Reducer::prod) return type;
    if (type == DType::boolean) return DType::i64;
    return is_integer(type) ? computed_in(type, Integers::wide) : type;
}

Typing::Typing(const Program& program, const std::vector<BoundTensor>& tensors)
    : program_(program), tensors_(tensors), context_(*program.context) {}

std::string Typing::shown(Expr e) const { return brief(program_, in_users_terms(program_, e)); }

void Typing::fail(Expr about, std::string message, std::string hint) const {
    throw Error({.kind = ErrorKind::type,
                 .message = std::move(message),
                 .source = program_.source,
                 .labels = {{shown_place(program_, span_, about), ""}},
                 .hint = std::move(hint)});
}

// --- conversions ---------------------------------------------------------------------------------

Expr Typing::convert(Expr term, DType dtype) {
    if (term->dtype == dtype) return term;
    if (dtype == DType::boolean) return truth(term);
    if (is_complex(term->dtype) && !is_complex(dtype))
        fail(term, format("a value of type {} is converted to {}", name(term->dtype), name(dtype)),
             "take its real part: `real(…)`");
    if (is_literal(term) && !is_complex(dtype)) return saturated_literal(context_, term, dtype);
    return context_.cast(term, dtype);
}

Expr Typing::truth(Expr term) {
    if (term->dtype == DType::boolean) return term;
    const DType in = computed_in(term->dtype, Integers::promoted);
    const Number zero = kind(in) == 1 ? Number(std::int64_t{0}) : Number(0.0);
    return context_.apply(Op::ne, {convert(term, in), context_.literal(zero, in)}, DType::boolean);
}

/// The operand in the type it is computed in. Numbers that no program text shows (values of
/// indices, scalars) keep their low bits in a narrow type, like arithmetic.
Expr Typing::adopt(const Typed& operand, DType dtype, Fit fit) {
    const Expr term = operand.term;
    const bool is_exact = is_integer(dtype) && kind(term->dtype) < 2;
    if (!is_exact) return convert(term, dtype);
    if (!operand.is_weak || !is_literal(term))
        return is_integer(term->dtype) ? context_.cast(term, dtype, true) : convert(term, dtype);
    const std::optional<Expr> fitted = fitted_literal(context_, term, dtype, fit == Fit::modular);
    if (!fitted)
        fail(term,
             format("the number {} does not fit the type {}", brief(program_, term), name(dtype)),
             "convert what it is combined with, as in `i64(…)`");
    return *fitted;
}

Expr Typing::stored(const Typed& value, DType dtype, bool wraps) {
    const Fit fit = wraps ? Fit::modular : Fit::exact;
    // A difference is one operation: what is taken away is converted, then negated.
    if (wraps && is_integer(dtype) && is_integer(value.type) && is_apply(value.term, Op::neg)) {
        const Typed taken{std::get<Apply>(value.term->term).args.front(), value.type,
                          value.is_weak};
        return context_.apply(Op::neg, {adopt(taken, dtype, fit)}, dtype);
    }
    return kind(dtype) == 0 ? truth(value.term) : adopt(value, dtype, fit);
}

// --- terms ---------------------------------------------------------------------------------------

Typing::Typed Typing::type(Expr e, Integers integers) {
    auto& known = known_[std::size_t(integers)];
    for (Expr node : value_nodes(e))
        if (!known.contains(node)) known.emplace(node, type_node(node, integers));
    return known.at(e);
}

Typing::Typed Typing::type_node(Expr e, Integers integers) {
    return match(
        e->term,
        [&](const Literal& t) {
            const DType dtype = literal_type(t.value);
            return Typed{context_.literal(t.value, dtype), dtype, true};
        },
        [&](const IndexValue& t) {
            return Typed{context_.intern(IndexValue{t.index}, DType::i64), DType::i64, true};
        },
        [&](const Size&) -> Typed {
            RICCI_ASSERT(false, "a size is left in a program being bound");
            return {};
        },
        [&](const Access& t) {
            const BoundTensor& tensor = tensors_.at(position(t.tensor));
            RICCI_ASSERT(tensor.dtype != DType::none, "a tensor is read before it is made");
            std::vector<Expr> at;
            for (Expr subscript : t.at)
                at.push_back(convert(type(subscript, Integers::subscripts).term, DType::i64));
            return Typed{context_.access(t.tensor, std::move(at), tensor.dtype), tensor.type(),
                         tensor.is_weak};
        },
        [&](const Apply& t) { return apply(t, e, integers); },
        [&](const Reduce&) -> Typed {
            RICCI_ASSERT(false, "a reduction stands inside a term: the program is not canonical");
            return {};
        },
        [&](const Cast& t) {
            return Typed{convert(of(t.a, integers).term, e->dtype), e->dtype, false};
        },
        [&](const Modified&) -> Typed {
            RICCI_ASSERT(false, "a modified subscript is left in a program being bound");
            return {};
        });
}

/// Promotes operands one by one: strong ones promote; weak ones adopt their type unless they are of
/// a higher kind.
class Typing::Promotion {
  public:
    explicit Promotion(Integers integers) : integers_(integers) {}

    /// The types that have no common one, or nothing.
    [[nodiscard]] std::optional<std::pair<DType, DType>> add(const Typed& operand) {
        DType& side = operand.is_weak ? weak_ : strong_;
        if (side == DType::none) {
            side = operand.type;
            return std::nullopt;
        }
        const auto both = promote(side, operand.type);
        if (!both) return std::pair(side, operand.type);
        side = *both;
        return std::nullopt;
    }
    [[nodiscard]] Common result() const {
        const bool is_weak = strong_ == DType::none;
        DType type = is_weak ? weak_ : strong_;
        if (!is_weak && weak_ != DType::none && kind(weak_) > kind(strong_))
            type = raised(strong_, weak_);
        return {type, computed_in(type, integers_), is_weak};
    }

  private:
    Integers integers_;
    DType strong_ = DType::none;
    DType weak_ = DType::none;
};

void Typing::add_to(Promotion& promotion, const Typed& operand, Expr e) const {
    const auto apart = promotion.add(operand);
    if (!apart) return;
    fail(e, format("`{}` combines {} with {}", shown(e), name(apart->first), name(apart->second)),
         "convert one of them, as in `i64(…)`");
}

Typing::Common Typing::common(const std::vector<Typed>& operands, Expr e, Integers integers) const {
    Promotion promotion(integers);
    for (const Typed& operand : operands) add_to(promotion, operand, e);
    return promotion.result();
}

Typing::Typed Typing::apply(const Apply& apply, Expr e, Integers integers) {
    const Op op = apply.op;
    if (op == Op::logical_and || op == Op::logical_or || op == Op::logical_not)
        return logic(apply, integers);
    if (op == Op::add || op == Op::mul) return chain(apply, e, integers);
    if (is_comparison(op)) return comparison(apply, e, integers);
    return function(apply, e, integers);
}

Typing::Typed Typing::logic(const Apply& apply, Integers integers) {
    bool is_weak = true;
    std::vector<Expr> args;
    for (Expr arg : apply.args) {
        const Typed operand = of(arg, integers);
        is_weak &= operand.is_weak;
        args.push_back(truth(operand.term));
    }
    return {context_.apply(apply.op, std::move(args), DType::boolean), DType::boolean, is_weak};
}

/// A sum or product, from left to right: where the type changes, what stands before is computed in
/// its own type. A difference is one operation: `a - b` negates b in the type of both.
Typing::Typed Typing::chain(const Apply& apply, Expr e, Integers integers) {
    struct Part {
        Typed value;
        bool is_negated;
    };
    std::vector<Part> parts;
    Promotion promotion(integers);
    const auto joined = [&]() -> Typed {
        Common common = promotion.result();
        if (common.type == DType::boolean) {
            common.type = DType::i64;
            common.in = DType::i64;
        }
        std::vector<Expr> args;
        for (const Part& part : parts) {
            const Expr arg = adopt(part.value, common.in, Fit::modular);
            args.push_back(part.is_negated ? context_.apply(Op::neg, {arg}, common.in) : arg);
        }
        if (apply.op == Op::mul && is_floating(common.in)) drop_ones(args);
        const Expr term =
            args.size() == 1 ? args.front() : context_.apply(apply.op, std::move(args), common.in);
        return {term, common.type, common.is_weak};
    };
    for (Expr arg : apply.args) {
        const bool is_negated = apply.op == Op::add && is_apply(arg, Op::neg);
        const Typed value =
            of(is_negated ? std::get<Apply>(arg->term).args.front() : arg, integers);
        Promotion with_it = promotion;
        add_to(with_it, value, e);
        const Common before = promotion.result();
        const Common after = with_it.result();
        const bool is_modular = integers != Integers::promoted && kind(after.type) < 2;
        const bool is_truth = before.type == DType::boolean && kind(after.type) != 1;
        const bool changes = before.in != after.in && !is_truth;
        if (parts.size() > 1 && !before.is_weak && changes && !is_modular) {
            parts = {{joined(), false}};
            promotion = Promotion(integers);
            add_to(promotion, parts.front().value, e);
            add_to(promotion, value, e);
        } else {
            promotion = with_it;
        }
        parts.push_back({value, is_negated});
    }
    return joined();
}

// --- comparisons ---------------------------------------------------------------------------------

Typing::Typed Typing::comparison(const Apply& apply, Expr e, Integers integers) {
    const Typed a = of(apply.args[0], integers);
    const Typed b = of(apply.args[1], integers);
    if (a.is_weak != b.is_weak && kind(a.type) < 2 && kind(b.type) < 2) {
        const Expr term = b.is_weak ? compare_weak(apply.op, a, b.term)
                                    : compare_weak(mirrored(apply.op), b, a.term);
        return {term, DType::boolean, false};
    }
    const Common common = this->common({a, b}, e, integers);
    if (kind(common.type) == 3 && apply.op != Op::eq && apply.op != Op::ne)
        fail(e, format("`{}` orders complex numbers", shown(e)),
             "compare their parts: `real(…)`, `abs(…)`");
    // Values of one narrow type compare as they are.
    const bool are_alike = a.term->dtype == b.term->dtype && common.in != DType::f32;
    const DType in = are_alike ? a.term->dtype : common.in;
    const Expr term = context_.apply(
        apply.op, {adopt(a, in, Fit::modular), adopt(b, in, Fit::modular)}, DType::boolean);
    return {term, DType::boolean, common.is_weak};
}

/// Integers compare with weak ones by value, also where these do not fit their type.
Expr Typing::compare_weak(Op op, const Typed& strong, Expr weak) {
    const DType own = strong.term->dtype;
    if (is_literal(weak) && is_integer(own)) {
        if (const auto fitted = fitted_literal(context_, weak, own, false))
            return context_.apply(op, {strong.term, *fitted}, DType::boolean);
    }
    const Expr number = convert(weak, DType::i64);
    if (own != DType::u64)
        return context_.apply(op, {context_.cast(strong.term, DType::i64), number}, DType::boolean);
    // Of u64 every negative number is below all.
    const Expr is_below = context_.apply(
        Op::lt, {number, context_.literal(std::int64_t{0}, DType::i64)}, DType::boolean);
    const bool holds_above = op == Op::gt || op == Op::ge || op == Op::ne;
    const Expr among_u64 =
        context_.apply(op, {strong.term, context_.cast(number, DType::u64, true)}, DType::boolean);
    return context_.apply(Op::select,
                          {is_below, context_.literal(holds_above, DType::boolean), among_u64},
                          DType::boolean);
}

// --- functions -----------------------------------------------------------------------------------

Typing::Typed Typing::function(const Apply& apply, Expr e, Integers integers) {
    const Op op = apply.op;
    std::vector<Typed> values;
    for (Expr arg : apply.args) values.push_back(of(arg, integers));
    std::vector<Expr> args;
    if (op == Op::select) {
        args.push_back(truth(values.front().term));
        values.erase(values.begin());
    }
    const Common common = this->common(values, e, integers);
    const TypeRule rule = info(op).type;
    DType type = common.type;
    const auto is_negative = [](Expr exponent) {
        return is_literal(exponent) && real_value(exponent) < 0;
    };
    const bool to_floating = rule == TypeRule::floating || is_test(op) ||
                             (op == Op::pow && values[1].is_weak && is_negative(values[1].term));
    if (to_floating && kind(type) < 2) type = DType::f64;
    if (type == DType::boolean && !keeps_bool(op)) type = DType::i64;
    if (is_complex(type)) return complex_function(apply, e, values, std::move(args), common);
    const DType in = computed_in(type, integers);
    const Fit fit = op == Op::neg ? Fit::modular : Fit::exact;
    for (const Typed& value : values) args.push_back(adopt(value, in, fit));
    const bool gives_bool = rule == TypeRule::boolean;
    return {context_.apply(op, std::move(args), gives_bool ? DType::boolean : in),
            gives_bool ? DType::boolean : type, common.is_weak};
}

/// `args` holds the condition of a selection. A magnitude, a part or an angle is real.
Typing::Typed Typing::complex_function(const Apply& apply, Expr e, const std::vector<Typed>& values,
                                       std::vector<Expr> args, const Common& common) {
    const Op op = apply.op;
    if (op == Op::min || op == Op::max || op == Op::clamp)
        fail(e, format("`{}` orders complex numbers", shown(e)),
             "compare their parts: `real(…)`, `abs(…)`");
    if (!has_complex_form(op))
        fail(e, format("`{}` is not defined for complex numbers", info(op).name),
             "take a part: `real(…)`, `imag(…)`, `abs(…)`");
    for (const Typed& value : values) args.push_back(adopt(value, common.in, Fit::exact));
    const TypeRule rule = info(op).type;
    DType type = common.type;
    if (op == Op::angle || rule == TypeRule::component) type = component(type);
    if (rule == TypeRule::boolean) type = DType::boolean;
    return {context_.apply(op, std::move(args), type), type,
            rule != TypeRule::boolean && common.is_weak};
}

}  // namespace ricci
