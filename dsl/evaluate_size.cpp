// dsl/evaluate_size.cpp – extents and ranges as numbers, once sizes and scalars are known
#include "dsl/evaluate_size.h"

#include <algorithm>
#include <cmath>

#include "base/match.h"
#include "base/text.h"
#include "dsl/subscript.h"

namespace ricci {
namespace {

// By a positive number, rounded down.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t floor_rest(std::int64_t a, std::int64_t b) {
    const std::int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

}  // namespace

SizeEvaluator::SizeEvaluator(const Program& program, std::vector<const ArgumentSpec*> arguments)
    : program_(program), arguments_(std::move(arguments)) {}

std::int64_t SizeEvaluator::scalar(TensorId id) const {
    const std::string& name = program_.at(id).name;
    const ArgumentSpec* spec = arguments_.at(position(id));
    if (!spec || !spec->value)
        throw Error({.kind = ErrorKind::type,
                     .message = format("the value of `{}` is needed: it stands in a subscript or a "
                                       "range",
                                       name),
                     .source = program_.source,
                     .labels = program_.place(id),
                     .hint = format("give `{}` as a whole number", name)});
    return match(
        *spec->value, [](bool v) { return std::int64_t{v}; }, [](std::int64_t v) { return v; },
        [&](double v) {
            if (v != std::floor(v) || std::abs(v) > 0x1p62)
                throw Error(
                    {.kind = ErrorKind::type,
                     .message = format("`{}` is {}, but stands in a subscript or a range", name, v),
                     .source = program_.source,
                     .labels = program_.place(id),
                     .hint = format("give `{}` as a whole number", name)});
            return static_cast<std::int64_t>(v);
        },
        [&](const std::complex<double>&) -> std::int64_t {
            throw Error(
                {.kind = ErrorKind::type,
                 .message = format("`{}` is complex, but stands in a subscript or a range", name),
                 .source = program_.source,
                 .labels = program_.place(id),
                 .hint = format("give `{}` as a whole number", name)});
        });
}

std::int64_t SizeEvaluator::value(Expr e) {
    for (Expr node : postorder({e}))
        if (!known_.contains(node)) known_.emplace(node, compute(node));
    return known_.at(e);
}

std::int64_t SizeEvaluator::compute(Expr e) {
    if (const auto* literal = std::get_if<Literal>(&e->term)) {
        if (const auto* value = std::get_if<std::int64_t>(&literal->value)) return *value;
    } else if (const auto* size = std::get_if<Size>(&e->term)) {
        const ArgumentSpec* spec = arguments_.at(position(size->tensor));
        RICCI_ASSERT(spec, "a size of a tensor that is no argument");
        return spec->shape.at(static_cast<std::size_t>(size->dimension));
    } else if (const auto* access = std::get_if<Access>(&e->term)) {
        if (access->at.empty()) return scalar(access->tensor);
    } else if (const auto* apply = std::get_if<Apply>(&e->term)) {
        if (const auto result = compute(*apply, e)) return *result;
    }
    throw Error({.kind = ErrorKind::type,
                 .message = format("`{}` is no integer term", brief(program_, e)),
                 .source = program_.source,
                 .labels = {},
                 .hint = "subscripts and ranges are made of literals, sizes and whole scalars"});
}

namespace {

/// Whether the operation is one on integer literals alone, as lower bounds are (`max(0, N - 3)`).
bool is_literal_arithmetic(Expr e) {
    const auto* apply = std::get_if<Apply>(&e->term);
    const bool is_division = apply && (apply->op == Op::floordiv || apply->op == Op::mod);
    if (!apply || (!is_division && apply->op != Op::min && apply->op != Op::max)) return false;
    for (Expr a : apply->args) {
        const auto* literal = std::get_if<Literal>(&a->term);
        const auto* number = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
        if (!number || (is_division && a == apply->args[1] && *number <= 0)) return false;
    }
    return true;
}

}  // namespace

std::optional<std::int64_t> SizeEvaluator::compute(const Apply& apply, Expr e) const {
    std::vector<std::int64_t> args;
    for (Expr operand : apply.args) args.push_back(known_.at(operand));
    const auto divisor = [&] {
        if (args[1] > 0) return args[1];
        throw Error({.kind = ErrorKind::range,
                     .message = format("`{}` divides by {}", brief(program_, e), args[1]),
                     .source = program_.source,
                     .labels = {},
                     .hint = "divisors in subscripts and ranges are positive"});
    };
    const auto check = [&](bool overflows) {
        if (!overflows) return;
        throw Error({.kind = ErrorKind::limit,
                     .message = format("`{}` does not fit into 64 bits", brief(program_, e)),
                     .source = nullptr,
                     .labels = {},
                     .hint = "use smaller arrays or numbers"});
    };
    std::int64_t result = apply.op == Op::mul ? 1 : 0;
    if (apply.op == Op::add || apply.op == Op::neg)
        for (const std::int64_t arg : args)
            check(apply.op == Op::add ? __builtin_add_overflow(result, arg, &result)
                                      : __builtin_sub_overflow(result, arg, &result));
    if (apply.op == Op::mul)
        for (const std::int64_t arg : args) check(__builtin_mul_overflow(result, arg, &result));
    if (apply.op == Op::add || apply.op == Op::neg || apply.op == Op::mul) return result;
    if (apply.op == Op::floordiv) return floor_divide(args[0], divisor());
    if (apply.op == Op::mod) return floor_rest(args[0], divisor());
    if (apply.op == Op::min) return *std::ranges::min_element(args);
    if (apply.op == Op::max) return *std::ranges::max_element(args);
    return std::nullopt;
}

Expr SizeEvaluator::with_numbers(Expr e, bool with_scalars) {
    Context& context = *program_.context;
    return rewrite(context, e, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        const bool is_scalar = with_scalars && access && access->at.empty() &&
                               program_.at(access->tensor).role == Role::scalar;
        const bool is_size = std::holds_alternative<Size>(node->term);
        if (!is_scalar && !is_size && !is_literal_arithmetic(node)) return node;
        return context.integer(value(node));
    });
}

Expr SizeEvaluator::subscript_with_numbers(Expr e) {
    Context& context = *program_.context;
    const std::vector<TensorId> in_place = scalars_in_place(program_, e);
    const Expr numbers = rewrite(context, e, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        const bool is_number =
            std::holds_alternative<Size>(node->term) ||
            (access && std::ranges::find(in_place, access->tensor) != in_place.end());
        return is_number ? context.integer(value(node)) : node;
    });
    return with_numbers(numbers, false);
}

Expr SizeEvaluator::condition_with_numbers(Expr condition) {
    Context& context = *program_.context;
    const Expr numbers = rewrite(context, condition, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (!access || !access->at.empty() || !is_whole(access->tensor)) return node;
        return context.integer(value(node));
    });
    return with_numbers(numbers, false);
}

bool SizeEvaluator::is_whole(TensorId id) const {
    const ArgumentSpec* spec = arguments_.at(position(id));
    if (program_.at(id).role != Role::scalar || !spec || !spec->value) return false;
    if (std::holds_alternative<std::int64_t>(*spec->value)) return true;
    const auto* real = std::get_if<double>(&*spec->value);
    return real && *real == std::floor(*real) && std::abs(*real) <= 0x1p62;
}

}  // namespace ricci
