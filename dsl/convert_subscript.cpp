// dsl/convert_subscript.cpp – accesses: affine and gathered subscripts, and what lies outside
#include <algorithm>
#include <ranges>
#include <set>

#include "base/shape.h"
#include "base/text.h"
#include "dsl/convert.h"
#include "dsl/subscript.h"

namespace ricci {
namespace {

/// `max(0, size(A,0)-3)`: a constant, as bounds inferred from several arrays are.
bool is_extreme_of_sizes(Expr e) {
    return (is_apply(e, Op::min) || is_apply(e, Op::max)) && free_indices(e).empty();
}

bool is_affine_operation(Expr e) {
    return is_apply(e, Op::add) || is_apply(e, Op::neg) || is_apply(e, Op::mul) ||
           is_apply(e, Op::floordiv) || is_apply(e, Op::mod) || is_extreme_of_sizes(e);
}

/// What the value of a gathered subscript may be made of besides.
bool is_integer_operation(Expr e) {
    return is_apply(e, Op::min) || is_apply(e, Op::max) || is_apply(e, Op::clamp) ||
           is_apply(e, Op::abs) || is_apply(e, Op::sign) || is_apply(e, Op::select);
}

/// Tests are of values of any type.
bool is_test(Expr e) {
    const auto* apply = std::get_if<Apply>(&e->term);
    return apply && info(apply->op).type == TypeRule::boolean;
}

/// The operands that are part of a subscript's value.
std::vector<Expr> parts(Expr e) {
    if (std::holds_alternative<Access>(e->term) || is_test(e)) return {};
    std::vector<Expr> list = operands(e);
    if (is_apply(e, Op::select)) list.erase(list.begin());
    return list;
}

}  // namespace

Expr Converter::access(const ast::Access& a, Span span) {
    if (in_bound_)
        fail(ErrorKind::range, "the bound of a range reads an array", span,
             "bounds are made of literals, sizes and scalars");
    refuse_in_def(format("an element of `{}`", a.name), span);
    if (a.at.size() > max_rank)
        fail(ErrorKind::limit,
             format("{} subscripts; at most {} are allowed", a.at.size(), max_rank), span);
    const TensorId tensor = symbols_.tensor(a.name);
    AccessSpans spans{span, {}};
    std::vector<Expr> at;
    std::vector<Expr> values(a.at.size());
    for (std::size_t d = 0; d < a.at.size(); ++d) {
        at.push_back(subscript(a.at[d], tensor, static_cast<int>(d), values[d]));
        spans.at.push_back(a.at[d]->span);
    }
    const bool has_values = std::ranges::any_of(values, [](Expr v) { return bool(v); });
    if (has_values) return with_values_outside(tensor, std::move(at), std::move(values), spans);
    const Expr result = context_.access(tensor, std::move(at));
    access_spans_.emplace(result, std::move(spans));
    return result;
}

/// A choice for each padded dimension, the first one outermost: literals cannot say what is read
/// outside.
Expr Converter::with_values_outside(TensorId tensor, std::vector<Expr> at, std::vector<Expr> values,
                                    AccessSpans spans) {
    std::vector<std::pair<Expr, Expr>> choices;  // where it is inside, what it is outside
    for (std::size_t d = 0; d < at.size(); ++d) {
        const auto* modified = std::get_if<Modified>(&at[d]->term);
        if (!modified || modified->outside != Outside::pad) continue;
        const Expr extent = program_.at(tensor).shape.at(d);
        const Expr inside =
            context_.logical_and(context_.apply(Op::ge, {modified->at, context_.integer(0)}),
                                 context_.apply(Op::lt, {modified->at, extent}));
        choices.emplace_back(inside, values[d] ? values[d] : modified->value);
        Modified plain = *modified;
        plain.value = context_.integer(0);
        at[d] = context_.intern(plain);
    }
    Expr result = context_.access(tensor, std::move(at));
    access_spans_.emplace(result, std::move(spans));
    for (const auto& [inside, otherwise] : choices | std::views::reverse)
        result = context_.apply(Op::select, {inside, result, otherwise});
    return result;
}

Expr Converter::subscript(const ast::ExprPtr& e, TensorId tensor, int dimension, Expr& value) {
    const Scoped place(place_, std::optional(Place{tensor, dimension}));
    if (const auto* call = std::get_if<ast::Call>(&e->node)) {
        const auto outside = outside_from_name(call->name);
        // `clamp(e, lo, hi)` is the function.
        if (outside && (*outside != Outside::clamp || call->args.size() == 1))
            return modified(*call, *outside, e->span, value);
    }
    const auto* negated = std::get_if<ast::Unary>(&e->node);
    const bool from_end =
        negated && negated->op == Op::neg && std::holds_alternative<ast::Number>(negated->a->node);
    const Expr result = convert(e);
    check_subscript(result, e->span);
    if (from_end) return context_.add(program_.at(tensor).shape.at(std::size_t(dimension)), result);
    return result;
}

void Converter::check_subscript(Expr subscript, Span span) const {
    const bool is_gathered = reads_data(program_, subscript);
    std::set<const Node*> seen;
    std::vector<Expr> stack{subscript};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(&*e).second) continue;
        check_subscript_node(e, is_gathered, span);
        const std::vector<Expr> below = parts(e);
        stack.insert(stack.end(), below.begin(), below.end());
    }
}

void Converter::check_subscript_node(Expr e, bool is_gathered, Span span) const {
    const auto* literal = std::get_if<Literal>(&e->term);
    if (literal && !std::holds_alternative<std::int64_t>(literal->value))
        fail(ErrorKind::type, "a subscript is an integer", span,
             "use whole numbers, indices, sizes and `$` scalars");
    if (std::holds_alternative<Reduce>(e->term))
        fail(ErrorKind::syntax, "a subscript holds a reduction", span,
             "compute it in a statement of its own, and read its elements");
    if (is_gathered) {
        const bool is_cast = std::holds_alternative<Cast>(e->term) && !is_floating(e->dtype) &&
                             !is_complex(e->dtype);
        const bool is_allowed = is_affine_operation(e) || is_integer_operation(e) || is_test(e) ||
                                is_cast || parts(e).empty();
        if (!is_allowed)
            fail(ErrorKind::syntax, "a gathered subscript is an integer", span,
                 "use `+`, `-`, `*`, `//`, `%`, `?:`, `min`, `max` of integer arrays and indices; "
                 "`i64(x)` converts");
    } else if (!parts(e).empty() || is_test(e)) {
        const bool divides = is_apply(e, Op::floordiv) || is_apply(e, Op::mod);
        const bool is_wrong = divides && (is_literal(parts(e)[1], 0) || is_negative(parts(e)[1]));
        if (is_wrong)
            fail(ErrorKind::range,
                 format("a subscript is divided by {}", brief(program_, parts(e)[1])), span,
                 format("divide by 1 or more, as in `i{}2`", is_apply(e, Op::mod) ? "%" : "//"));
        if (!is_affine_operation(e))
            fail(ErrorKind::syntax, "a subscript is an affine term, with `//` and `%` by constants",
                 span, "use sums of integer multiples of indices, literals, sizes and scalars");
    }
}

/// `pad(e)`, `pad(e, n)`, `pad(e, lo, hi)`, `pad(e, lo, hi, v)`, with `value=v` in place of the
/// last; `clamp(e)`, `wrap(e)`, `reflect(e)`.
Expr Converter::modified(const ast::Call& c, Outside outside, Span span, Expr& value) {
    std::vector<ast::ExprPtr> args;
    ast::ExprPtr written_value;
    for (const ast::Argument& argument : c.args) {
        if (argument.keyword.empty() && !written_value) {
            args.push_back(argument.value);
        } else if (argument.keyword == "value" && outside == Outside::pad && !written_value) {
            written_value = argument.value;
        } else {
            fail(ErrorKind::syntax,
                 argument.keyword.empty()
                     ? "an argument without a name stands behind a named one"
                     : format("`{}` takes no argument named `{}`{}", c.name, argument.keyword,
                              argument.keyword == "value" && written_value ? " twice" : ""),
                 argument.value->span, "write `pad(e, value=v)`");
        }
    }
    if (outside == Outside::pad && args.size() == 4 && !written_value) {
        written_value = args.back();
        args.pop_back();
    }
    const std::size_t most = outside == Outside::pad ? 3 : 1;
    if (args.empty() || args.size() > most)
        wrong_arity(c, outside == Outside::pad ? "1 to 4 arguments" : "1 argument");
    Modified result{.outside = outside, .at = convert(args[0])};
    check_subscript(result.at, args[0]->span);
    if (args.size() > 1) {
        result.low = width(args[1]);
        result.high = args.size() > 2 ? width(args[2]) : result.low;
    }
    if (outside != Outside::pad) return context_.intern(result);
    result.value = context_.integer(0);
    if (written_value) {
        const Scoped no_place(place_, std::optional<Place>());
        const Expr converted = convert(written_value);
        if (is_literal(converted))
            result.value = converted;
        else
            value = converted;
    }
    spans_.emplace(context_.intern(result), span);
    return context_.intern(result);
}

/// A width of padding: a constant that is not negative.
Expr Converter::width(const ast::ExprPtr& e) {
    const Expr result = convert(e);
    const std::vector<IndexId> indices = free_indices(result);
    if (!indices.empty())
        fail(ErrorKind::range,
             format("the width of `pad` uses the index `{}`", program_.at(indices.front()).name),
             e->span, format("write `${}` for a number", program_.at(indices.front()).name));
    if (reads_data(program_, result))
        fail(ErrorKind::range, "the width of `pad` is read from an array", e->span,
             "widths are made of literals, sizes and `$` scalars");
    check_subscript(result, e->span);
    program_.requirements.push_back({.kind = Requirement::Kind::not_negative,
                                     .a = result,
                                     .b = Expr(),
                                     .indices = {},
                                     .condition = Expr(),
                                     .otherwise = {.kind = ErrorKind::range,
                                                   .message = "the width of `pad` is {a}",
                                                   .source = program_.source,
                                                   .labels = {{e->span, ""}},
                                                   .hint = "widths are 0 or more"}});
    return result;
}

}  // namespace ricci
