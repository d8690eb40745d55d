// dsl/print_term.cpp – terms in the language, with the parentheses they need and no others
#include "dsl/print_term.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "dsl/lexer.h"

namespace ricci {
namespace {

Precedence stronger(Precedence precedence) { return Precedence(int(precedence) + 1); }

std::string str(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 32> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string text(buffer.data(), result.ptr);
    const auto exponent = text.find('e');
    if (exponent == std::string::npos)
        return text.find('.') == std::string::npos ? text + ".0" : text;
    // `1e-05`, `1e+20` are written `1e-5`, `1e20`.
    const bool is_negative = text[exponent + 1] == '-';
    const auto digits = text.find_first_not_of("+-0", exponent + 1);
    return text.substr(0, exponent) + (is_negative ? "e-" : "e") + text.substr(digits);
}

std::string str(std::int64_t value) {
    // The least integer has no literal of its own.
    if (value == std::numeric_limits<std::int64_t>::min()) return "-9223372036854775807 - 1";
    return format("{}", value);
}

/// The operands of a term in the place where each stands.
template <class Visit>
void for_each_operand(const Term& term, TermPrinter::Place place, Visit visit) {
    using enum TermPrinter::Place;
    match(
        term, [](const Literal&) {}, [](const IndexValue&) {}, [](const Size&) {},
        [&](const Access& t) {
            for (Expr e : t.at) visit(e, subscript);
        },
        [&](const Apply& t) {
            for (Expr e : t.args) visit(e, place);
        },
        [&](const Reduce& t) {
            if (t.condition) visit(t.condition, value);
            visit(t.body, value);
        },
        [&](const Cast& t) { visit(t.a, place); },
        [&](const Modified& t) {
            visit(t.at, subscript);
            if (t.low) visit(t.low, subscript);
            if (t.high) visit(t.high, subscript);
            if (t.value) visit(t.value, value);
        });
}

}  // namespace

/// Of all texts that a printer keeps: each holds those of its operands.
constexpr std::size_t max_length = std::size_t{1} << 27;

std::string str(const Number& number) {
    return match(
        number, [](bool value) { return std::string(value ? "true" : "false"); },
        [](std::int64_t value) { return str(value); }, [](double value) { return str(value); },
        [](const std::complex<double>& value) {
            const std::string imaginary = str(value.imag()) + "i";
            return value.real() == 0 ? imaginary : str(value.real()) + " + " + imaginary;
        });
}

std::string TermPrinter::print(Expr e, Precedence weakest, Place place) {
    prepare(e, place);
    return operand(e, weakest, place);
}

/// Prints every node below that has no text yet, operands before users: their ids are smaller.
void TermPrinter::prepare(Expr root, Place place) {
    std::vector<Key> todo;
    std::vector<Key> stack;
    std::set<std::pair<std::uint32_t, Place>> seen;
    const auto visit = [&](Expr e, Place where) {
        if (!printed_[int(where)].contains(e) && seen.emplace(e->id, where).second)
            stack.emplace_back(e, where);
    };
    visit(root, place);
    while (!stack.empty()) {
        const Key key = stack.back();
        stack.pop_back();
        todo.push_back(key);
        for_each_operand(key.first->term, key.second, visit);
    }
    std::ranges::sort(todo, {}, [](const Key& key) { return key.first->id; });
    for (const auto& [e, where] : todo) {
        Printed printed = make(e, where);
        length_ += printed.text.size();
        if (printed.text.size() > max_source_bytes || length_ > max_length)
            throw Error({.kind = ErrorKind::limit,
                         .message = format("written out, terms of the program are longer than {} "
                                           "bytes",
                                           max_source_bytes),
                         .hint = "split the program: give shared parts statements of their own"});
        printed_[int(where)].emplace(e, std::move(printed));
    }
}

const TermPrinter::Printed& TermPrinter::of(Expr e, Place place) const {
    return printed_[int(place)].at(e);
}

std::string TermPrinter::operand(Expr e, Precedence weakest, Place place) const {
    const Printed& printed = of(e, place);
    return printed.strength < weakest ? format("({})", printed.text) : printed.text;
}

const std::string& TermPrinter::name(IndexId index) const {
    return names_.indices.at(std::uint32_t(index));
}

const std::string& TermPrinter::name(TensorId tensor) const {
    return names_.tensors->by_id[position(tensor)];
}

std::string TermPrinter::range(IndexId index) {
    const Index& it = program_.at(index);
    return print(it.lower, Precedence::sum) + ":" + print(it.upper, Precedence::sum);
}

std::string TermPrinter::binding(IndexId index) {
    const bool is_ranged = names_.ranged.contains(std::uint32_t(index));
    return is_ranged ? name(index) + " in " + range(index) : name(index);
}

TermPrinter::Printed TermPrinter::make(Expr e, Place place) {
    const bool is_integer = integer_terms_.contains(e);
    Printed printed = match(
        e->term,
        [&](const Literal& t) {
            const std::string text = str(t.value);
            if (text.find(' ') != std::string::npos) return Printed{text, Precedence::sum};
            return Printed{text, text[0] == '-' ? Precedence::unary : Precedence::primary};
        },
        [&](const IndexValue& t) { return Printed{name(t.index)}; },
        [&](const Size& t) { return Printed{format("size({},{})", name(t.tensor), t.dimension)}; },
        [&](const Access& t) { return access(t, place); },
        [&](const Apply& t) {
            return t.op == Op::add ? sum(t, place, is_integer) : apply(t, place);
        },
        [&](const Reduce& t) {
            return names_.transparent.contains(e->id) ? of(t.body, Place::value) : reduce(t);
        },
        [&](const Cast& t) {
            return Printed{format("{}({})", ricci::name(e->dtype), of(t.a, place).text)};
        },
        [&](const Modified& t) { return modified(t); });
    printed.is_integer = is_integer;
    return printed;
}

TermPrinter::Printed TermPrinter::access(const Access& term, Place place) {
    const std::string& tensor = name(term.tensor);
    if (term.at.empty()) {
        if (place == Place::value) return {tensor};
        const bool is_scalar = program_.at(term.tensor).role == Role::scalar;
        return {is_scalar ? "$" + tensor : tensor + "[]"};
    }
    std::vector<std::string> at;
    for (Expr e : term.at) {
        const std::string& text = of(e, Place::subscript).text;
        // A negative literal alone would count from the end.
        const bool counts_from_end = is_literal(e) && text.starts_with('-');
        at.push_back(counts_from_end ? "0" + text : text);
    }
    return {format("{}[{}]", tensor, join(at, ","))};
}

TermPrinter::Printed TermPrinter::reduce(const Reduce& term) {
    std::vector<std::string> indices;
    bool has_range = false;
    for (IndexId index : term.indices) {
        has_range |= names_.ranged.contains(std::uint32_t(index));
        indices.push_back(binding(index));
    }
    std::string head = join(indices, has_range ? ", " : ",");
    if (term.condition) head += " | " + of(term.condition, Place::value).text;
    return {
        format("{}[{}]({})", ricci::name(term.reducer), head, of(term.body, Place::value).text)};
}

/// The shortest of the forms that say the same: `pad(e)`, `pad(e, n)`, `pad(e, lo, hi, v)`.
TermPrinter::Printed TermPrinter::modified(const Modified& term) {
    const auto text = [&](Expr e) { return of(e, Place::subscript).text; };
    const bool has_value = term.value && term.value != program_.context->integer(0);
    std::string args = text(term.at);
    if (term.low) {
        args += ", " + text(term.low);
        if (has_value || term.low != term.high) args += ", " + text(term.high);
    }
    if (has_value) args += (term.low ? ", " : ", value=") + of(term.value, Place::value).text;
    return {format("{}({})", ricci::name(term.outside), args)};
}

/// `a - b` for `a + neg(b)`. Of index arithmetic, which is compared by value, `a-2*i` for
/// `a + -2*i` too; not of quotients: `-2*i//7` is no negated `2*i//7`.
TermPrinter::Printed TermPrinter::sum(const Apply& term, Place place, bool is_integer) {
    const bool is_tight = is_integer || place == Place::subscript;
    const std::string_view plus = is_tight ? "+" : " + ";
    const std::string_view minus = is_tight ? "-" : " - ";
    std::string text = operand(term.args.front(), Precedence::product, place);
    for (std::size_t n = 1; n < term.args.size(); ++n) {
        const Expr e = term.args[n];
        const std::string plain = operand(e, Precedence::product, place);
        Expr first = e;
        while (is_integer && is_apply(first, Op::mul)) first = std::get<Apply>(first->term).args[0];
        if (is_apply(e, Op::neg)) {
            const Expr negated = std::get<Apply>(e->term).args.front();
            text.append(minus).append(operand(negated, Precedence::product, place));
        } else if (is_literal(first) && plain.starts_with('-')) {
            text.append(minus).append(plain, 1);
        } else {
            text.append(plus).append(plain);
        }
    }
    return {std::move(text), Precedence::sum};
}

/// Left-associative: only the first operand may bind as weakly as the operator.
TermPrinter::Printed TermPrinter::infix(const Apply& term, std::string_view separator,
                                        Place place) {
    const Precedence strength = info(term.op).precedence;
    // A product in a product was not flattened: it keeps its parentheses. Comparisons do not chain.
    const bool keeps_first = is_apply(term.args.front(), Op::mul) && term.op == Op::mul;
    const bool is_loose = !keeps_first && strength != Precedence::comparison;
    std::string text = operand(term.args.front(), is_loose ? strength : stronger(strength), place);
    for (std::size_t n = 1; n < term.args.size(); ++n)
        text.append(separator).append(operand(term.args[n], stronger(strength), place));
    return {std::move(text), strength};
}

TermPrinter::Printed TermPrinter::call(std::string_view function, const std::vector<Expr>& args,
                                       Place place) {
    std::vector<std::string> texts;
    for (Expr e : args) texts.push_back(of(e, place).text);
    return {format("{}({})", function, join(texts, ", "))};
}

TermPrinter::Printed TermPrinter::apply(const Apply& term, Place place) {
    const OpInfo& row = info(term.op);
    const auto arg = [&](std::size_t n, Precedence weakest) {
        return operand(term.args[n], weakest, place);
    };
    switch (row.precedence) {
        case Precedence::product:     return infix(term, row.name, place);
        case Precedence::logical_or:
        case Precedence::logical_and:
        case Precedence::comparison:  return infix(term, format(" {} ", row.name), place);
        case Precedence::unary:
            return {std::string(row.name) + arg(0, Precedence::unary), Precedence::unary};
        case Precedence::power:
            return {arg(0, Precedence::primary) + "^" + arg(1, Precedence::unary),
                    Precedence::power};
        case Precedence::select:
            return {format("{} ? {} : {}", arg(0, Precedence::logical_or),
                           arg(1, Precedence::logical_or), arg(2, Precedence::select)),
                    Precedence::select};
        case Precedence::sum:  // by sum()
        case Precedence::primary: break;
    }
    return call(row.name, term.args, place);
}

}  // namespace ricci
