// codegen/cuda/operations.cpp – the table of operations as CUDA C++
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"

namespace ricci::codegen::cuda {

std::string at_least(Strength strength, const Text& text) {
    return text.strength >= strength ? text.text : format("({})", text.text);
}

std::string_view type_name(DType dtype) {
    switch (dtype) {
        case DType::boolean: return "bool";
        case DType::i8:      return "rc_i8";
        case DType::i16:     return "rc_i16";
        case DType::i32:     return "rc_i32";
        case DType::i64:     return "rc_i64";
        case DType::u8:      return "rc_u8";
        case DType::u16:     return "rc_u16";
        case DType::u32:     return "rc_u32";
        case DType::u64:     return "rc_u64";
        case DType::f32:     return "float";
        case DType::f64:     return "double";
        case DType::f16:     return "rc_f16";
        case DType::bf16:    return "rc_bf16";
        case DType::none:
        case DType::c64:
        case DType::c128:    break;
    }
    throw Error({.kind = ErrorKind::type,
                 .message = format("values of type {} are not supported yet", name(dtype)),
                 .hint = "convert to f32 or f64"});
}

Text constant_text(const Constant& constant, DType dtype) {
    if (dtype == DType::boolean) return {constant.integer != 0 ? "true" : "false"};
    if (is_half(dtype))
        return {format("{}({})", type_name(dtype), constant_text(constant, DType::f32).text)};
    if (is_floating(dtype)) {
        const bool is_single = dtype == DType::f32;
        const double value = is_single ? double(static_cast<float>(constant.real)) : constant.real;
        if (std::isnan(value)) return {format("rc_nan<{}>()", type_name(dtype))};
        const std::string sign = std::signbit(value) ? "-" : "";
        const Strength strength = sign.empty() ? Strength::primary : Strength::unary;
        if (std::isinf(value)) return {format("{}rc_inf<{}>()", sign, type_name(dtype)), strength};
        const double size = std::abs(value);
        std::string text = is_single ? format("{}", static_cast<float>(size)) : format("{}", size);
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
        return {sign + text + (is_single ? "f" : ""), strength};
    }
    const std::int64_t value = constant.integer;
    if (!is_signed(dtype)) {
        const char* suffix = dtype == DType::u64 ? "ULL" : "U";
        return {format("{}{}", static_cast<std::uint64_t>(value), suffix)};
    }
    const Range range{value, value, value};
    const Strength strength = value < 0 ? Strength::unary : Strength::primary;
    // The least integers are no literals: the minus stands before one that is too large.
    if (value == std::numeric_limits<std::int64_t>::min())
        return {format("{}LL - 1", value + 1), Strength::sum};
    if (!range.is_narrow()) return {format("{}LL", value), strength};
    std::optional<Range> known;
    if (dtype == DType::i64) known = range;
    if (value == std::numeric_limits<std::int32_t>::min())
        return {format("{} - 1", value + 1), Strength::sum, known};
    return {format("{}", value), strength, known};
}

namespace {

/// Operations written between their operands; the others are functions of the prelude.
struct Infix {
    Op op;
    std::string_view text;
    Strength strength;
};
constexpr Infix infix_operators[] = {
    {Op::add, " + ", Strength::sum},           {Op::mul, " * ", Strength::product},
    {Op::div, " / ", Strength::product},       {Op::eq, " == ", Strength::comparison},
    {Op::ne, " != ", Strength::comparison},    {Op::lt, " < ", Strength::comparison},
    {Op::le, " <= ", Strength::comparison},    {Op::gt, " > ", Strength::comparison},
    {Op::ge, " >= ", Strength::comparison},    {Op::logical_and, " && ", Strength::both},
    {Op::logical_or, " || ", Strength::either}};

Strength above(Strength strength) { return Strength(int(strength) + 1); }

/// From left to right. Comparisons, and `&&` beside `||`, have parentheses around them.
Text infix(const Infix& row, const std::vector<Text>& args) {
    const bool is_logic = row.strength == Strength::either || row.strength == Strength::both;
    const Strength others = above(is_logic ? Strength::both : row.strength);
    const bool is_chain = row.strength != Strength::comparison && args[0].strength == row.strength;
    std::string text = at_least(is_chain ? row.strength : others, args[0]);
    for (std::size_t i = 1; i < args.size(); ++i) {
        // `a + -b` is a difference, unless the minus is a number's.
        if (row.op == Op::add && args[i].strength == Strength::unary && args[i].text[0] == '-')
            text += format(" - {}", args[i].text.substr(1));
        else
            text += format("{}{}", row.text, at_least(others, args[i]));
    }
    return {text, row.strength};
}

const Infix* find_infix(Op op) {
    const auto* row = std::ranges::find(infix_operators, op, &Infix::op);
    return row == std::end(infix_operators) ? nullptr : row;
}

Text negative(const Text& a) {
    return {format("-{}", at_least(Strength::primary, a)), Strength::unary};
}

Text call(std::string_view function, const std::vector<Text>& args) {
    std::vector<std::string> texts;
    for (const Text& arg : args) texts.push_back(arg.text);
    return {format("rc_{}({})", function, join(texts, ", "))};
}

Text choice(const std::vector<Text>& args) {
    return {format("{} ? {} : {}", at_least(above(Strength::choice), args[0]),
                   at_least(above(Strength::choice), args[1]),
                   at_least(above(Strength::choice), args[2])),
            Strength::choice};
}

std::string function_name(Op op) {
    if (is_registered(op)) return format("function_{}", info(op).name);
    if (op == Op::floordiv) return "floordiv";
    if (op == Op::mod) return "mod";
    return std::string(info(op).name);
}

bool is_comparison(Op op) { return info(op).precedence == Precedence::comparison; }
bool is_itself(Op op) { return op == Op::real || op == Op::conj; }
bool is_rounding(Op op) {
    return op == Op::floor || op == Op::ceil || op == Op::round || op == Op::trunc;
}

/// Of bool: sums are `or`, products `and`.
Text of_bools(Op op, const std::vector<Text>& args) {
    const auto logical = [&](Op as, const std::vector<Text>& of) {
        const std::string_view neutral = as == Op::logical_and ? "true" : "false";
        const std::string_view decisive = as == Op::logical_and ? "false" : "true";
        Text result = of[0];
        for (std::size_t i = 1; i < of.size(); ++i) {
            if (result.text == decisive || of[i].text == neutral) continue;
            result = result.text == neutral || of[i].text == decisive
                         ? of[i]
                         : infix(*find_infix(as), {result, of[i]});
        }
        return result;
    };
    const auto inverse = [](const Text& a) {
        return Text{format("!{}", at_least(Strength::primary, a)), Strength::unary};
    };
    if (is_comparison(op)) return infix(*find_infix(op), args);
    if (op == Op::select) return choice(args);
    if (op == Op::logical_not) return inverse(args[0]);
    if (op == Op::add || op == Op::max || op == Op::logical_or)
        return logical(Op::logical_or, args);
    if (op == Op::mul || op == Op::min || op == Op::floordiv || op == Op::logical_and)
        return logical(Op::logical_and, args);
    if (op == Op::pow) return logical(Op::logical_or, {args[0], inverse(args[1])});
    if (op == Op::fma)
        return logical(Op::logical_or, {logical(Op::logical_and, {args[0], args[1]}), args[2]});
    if (op == Op::clamp)
        return logical(Op::logical_and, {logical(Op::logical_or, {args[0], args[1]}), args[2]});
    if (op == Op::mod || op == Op::imag || op == Op::isnan || op == Op::isinf) return {"false"};
    if (op == Op::isfinite) return {"true"};
    return args[0];  // neg, abs, sign, relu, floor, real and the like
}

Text of_reals(Op op, DType dtype, const std::vector<Text>& args) {
    if (op == Op::neg) return negative(args[0]);
    if (op == Op::select) return choice(args);
    if (is_itself(op)) return args[0];
    if (op == Op::imag) return constant_text({}, dtype);
    if (op == Op::abs2) return call("power<2>", args);
    if (op == Op::leaky_relu && args.size() == 1)
        return call("leaky_relu", {args[0], constant_text({.real = 0.01}, dtype)});
    if (const Infix* row = find_infix(op)) return infix(*row, args);
    return call(function_name(op), args);
}

/// The operands' values, in the type itself.
Text of_integers(Op op, DType dtype, const std::vector<Text>& args) {
    if (op == Op::select) return choice(args);
    if (is_itself(op) || is_rounding(op)) return args[0];
    if (is_comparison(op)) return infix(*find_infix(op), args);
    if (op == Op::isnan || op == Op::isinf) return {"false"};
    if (op == Op::isfinite) return {"true"};
    if (op == Op::imag) return constant_text({}, dtype);
    const auto of_type = [&](std::string_view function, const std::vector<Text>& operands) {
        return call(format("{}<{}>", function, type_name(dtype)), operands);
    };
    if (op == Op::abs2) return of_type("mul", {args[0], args[0]});
    if (op == Op::add || op == Op::mul) {
        Text result = args[0];
        for (std::size_t i = 1; i < args.size(); ++i)
            result = of_type(op == Op::add ? "add" : "mul", {result, args[i]});
        return result;
    }
    return of_type(op == Op::neg ? "neg" : function_name(op), args);
}

__extension__ using Large = __int128;

/// The range, where it fits an `int`.
std::optional<Range> fitting(Large low, Large high) {
    constexpr Large end = Large{1} << 32;
    if (low < -end || high > end) return std::nullopt;
    const Range range{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), 1};
    return range.is_narrow() ? std::optional(range) : std::nullopt;
}

std::optional<Range> sum_range(const std::vector<Text>& args, bool is_product) {
    std::optional<Range> total = args[0].range;
    for (std::size_t i = 1; i < args.size() && total; ++i) {
        const Range& next = *args[i].range;
        const Large ends[] = {Large{total->low} * next.low, Large{total->low} * next.high,
                              Large{total->high} * next.low, Large{total->high} * next.high};
        total = is_product
                    ? fitting(*std::ranges::min_element(ends), *std::ranges::max_element(ends))
                    : fitting(total->low + next.low, total->high + next.high);
    }
    return total;
}

Range unite(const Range& a, const Range& b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high), 1};
}

/// What the comparison of all values in two ranges gives, when it is always the same.
std::optional<bool> outcome(Op op, const Range& a, const Range& b) {
    const auto decided = [](bool holds, bool fails) -> std::optional<bool> {
        if (holds || fails) return holds;
        return std::nullopt;
    };
    const bool is_below = a.high < b.low;
    const bool is_above = a.low > b.high;
    const bool is_same = a.low == a.high && b.low == b.high && a.low == b.low;
    if (op == Op::lt) return decided(is_below, a.low >= b.high);
    if (op == Op::ge) return decided(a.low >= b.high, is_below);
    if (op == Op::gt) return decided(is_above, a.high <= b.low);
    if (op == Op::le) return decided(a.high <= b.low, is_above);
    if (op == Op::eq) return decided(is_same, is_below || is_above);
    return decided(is_below || is_above, is_same);
}

/// An i64 operation on operands that are `int`s, when its value is one, too.
std::optional<Text> of_ints(Op op, const std::vector<Text>& args) {
    const auto with = [](Text text, std::optional<Range> range) {
        text.range = range;
        return text;
    };
    const Range& a = *args[0].range;
    const Range& b = args.back().range ? *args.back().range : a;
    if (op == Op::add || op == Op::mul) {
        if (const auto range = sum_range(args, op == Op::mul))
            return with(infix(*find_infix(op), args), range);
    }
    if (op == Op::neg) {
        if (const auto range = fitting(-a.high, -a.low)) return with(negative(args[0]), range);
    }
    if (op == Op::max)
        return with(call("most", args), Range{std::max(a.low, b.low), std::max(a.high, b.high), 1});
    if (op == Op::min)
        return with(call("least", args),
                    Range{std::min(a.low, b.low), std::min(a.high, b.high), 1});
    if ((op != Op::floordiv && op != Op::mod) || b.low <= 0) return std::nullopt;
    const bool is_quotient = op == Op::floordiv;
    const Range range =
        is_quotient ? Range{std::min<std::int64_t>(a.low, 0), std::max<std::int64_t>(a.high, 0), 1}
                    : Range{0, b.high - 1, 1};
    if (a.low < 0) return with(call(is_quotient ? "floor_by" : "mod_by", args), range);
    const std::string text =
        format("{}{}{}", at_least(Strength::product, args[0]), is_quotient ? " / " : " % ",
               at_least(Strength::unary, args[1]));
    return with({text, Strength::product}, range);
}

}  // namespace

Text operation_text(Op op, DType dtype, std::vector<Text> args) {
    if (dtype == DType::boolean) return of_bools(op, args);
    if (is_floating(dtype)) return of_reals(op, dtype, args);
    const auto is_int = [](const Text& arg) { return arg.range.has_value(); };
    if (op == Op::select) {
        Text result = choice(args);
        if (is_int(args[1]) && is_int(args[2]))
            result.range = unite(*args[1].range, *args[2].range);
        return result;
    }
    if (std::ranges::all_of(args, is_int) && is_comparison(op)) {
        if (const auto known = outcome(op, *args[0].range, *args[1].range))
            return {*known ? "true" : "false"};
    } else if (std::ranges::all_of(args, is_int)) {
        if (auto result = of_ints(op, args)) return std::move(*result);
    }
    Text result = of_integers(op, dtype, args);
    if (!is_itself(op) && !is_rounding(op)) result.range.reset();
    return result;
}

Text combined_text(Reducer reducer, DType dtype, Text old, Text value) {
    if (is_half(dtype)) {
        const auto wide = [&](Text of) { return converted_text(std::move(of), dtype, DType::f32); };
        Text both =
            combined_text(reducer, DType::f32, wide(std::move(old)), wide(std::move(value)));
        return converted_text(std::move(both), DType::f32, dtype);
    }
    switch (reducer) {
        case Reducer::sum:
            return operation_text(Op::add, dtype, {std::move(old), std::move(value)});
        case Reducer::prod:
            return operation_text(Op::mul, dtype, {std::move(old), std::move(value)});
        case Reducer::max:
            return operation_text(Op::max, dtype, {std::move(value), std::move(old)});
        case Reducer::min:
            return operation_text(Op::min, dtype, {std::move(value), std::move(old)});
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::argmax:
        case Reducer::argmin:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    throw Error({.message = format("a store cannot combine by `{}`", name(reducer))});
}

Text converted_text(Text value, DType from, DType to, bool wraps) {
    if (from == to) return value;
    if (is_half(from)) {
        Text wide{format("float({})", value.text)};
        return converted_text(std::move(wide), DType::f32, to);
    }
    if (is_half(to) && !is_floating(from)) {
        // Every integer of two bytes is an f32; of wider ones the f64 is rounded once more.
        const std::string_view between = size_bytes(from) < 4 ? "float" : "double";
        return {format("{}({}({}))", type_name(to), between, value.text)};
    }
    const std::string_view type = type_name(to);
    if (to == DType::boolean)
        return {format("{} != 0", at_least(Strength::sum, value)), Strength::comparison};
    if (from == DType::boolean && to == DType::i64)
        return {format("int({})", value.text), Strength::primary, Range{0, 1, 1}};
    if (is_floating(to) || from == DType::boolean) return {format("{}({})", type, value.text)};
    if (to == DType::i64 && is_integer(from) && from != DType::u64)
        return {format("rc_i64({})", value.text)};
    if (wraps) return {format("{}({})", type, value.text)};
    return {format("rc_convert<{}>({})", type, value.text)};
}

}  // namespace ricci::codegen::cuda
