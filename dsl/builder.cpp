// dsl/builder.cpp – programs written with C++ operators
#include "dsl/builder.h"

#include <cmath>

#include "base/text.h"

namespace ricci::builder {
namespace {

Precedence above(Precedence binding) { return Precedence(std::uint8_t(binding) + 1); }

/// Operators of one strength are taken from left to right.
Term binary(const Term& a, std::string_view op, const Term& b, Precedence binding) {
    return {format("{} {} {}", a.text(binding), op, b.text(above(binding))), binding};
}
/// Comparisons do not chain.
Term comparison(const Term& a, std::string_view op, const Term& b) {
    return {format("{} {} {}", a.text(Precedence::sum), op, b.text(Precedence::sum)),
            Precedence::comparison};
}
Term reduction(std::string_view reducer, const Over& over, const Term& value) {
    return {format("{}[{}]({})", reducer, over.text(), value.text()), Precedence::primary};
}

}  // namespace

const Term any_place("_", Precedence::primary);
const Term rest("..", Precedence::primary);
const Term end("end", Precedence::primary);

std::string Term::text(Precedence least) const {
    return binding_ < least ? format("({})", text_) : text_;
}

Term Term::of(bool value) { return {value ? "true" : "false", Precedence::primary}; }
Term Term::of(std::int64_t value) {
    return {format("{}", value), value < 0 ? Precedence::unary : Precedence::primary};
}
Term Term::of(double value) {
    if (std::isnan(value)) return {"nan", Precedence::primary};
    const Precedence binding = std::signbit(value) ? Precedence::unary : Precedence::primary;
    std::string text = format("{}", value);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return {std::move(text), binding};
}

Range Index::in(const Term& lower, const Term& upper) const {
    return {
        format("{} in {}:{}", text(), lower.text(Precedence::sum), upper.text(Precedence::sum))};
}

Statement Access::statement(std::string_view op, const Term& value) const {
    return Statement(format("{} {} {}", text(), op, value.text()));
}

Access Tensor::access(const std::vector<Term>& at) const {
    std::vector<std::string> texts;
    for (const Term& subscript : at) texts.push_back(subscript.text());
    return Access(format("{}[{}]", name_, join(texts, ",")));
}
Term Tensor::size(int dimension) const {
    return {format("size({},{})", name_, dimension), Precedence::primary};
}

Term from_first(const Index& index) { return {index.text() + "+_", Precedence::sum}; }

Over Over::when(const Term& condition) const {
    Over result = *this;
    result.text_ += format(" | {}", condition.text());
    return result;
}

Term sum(const Over& over, const Term& value) { return reduction("sum", over, value); }
Term prod(const Over& over, const Term& value) { return reduction("prod", over, value); }
Term max(const Over& over, const Term& value) { return reduction("max", over, value); }
Term min(const Over& over, const Term& value) { return reduction("min", over, value); }
Term mean(const Over& over, const Term& value) { return reduction("mean", over, value); }
Term any(const Over& over, const Term& value) { return reduction("any", over, value); }
Term all(const Over& over, const Term& value) { return reduction("all", over, value); }
Term count(const Over& over, const Term& value) { return reduction("count", over, value); }
Term argmax(const Over& over, const Term& value) { return reduction("argmax", over, value); }
Term argmin(const Over& over, const Term& value) { return reduction("argmin", over, value); }
Term logsumexp(const Over& over, const Term& value) { return reduction("logsumexp", over, value); }
Term norm(const Over& over, const Term& value) { return reduction("norm", over, value); }

Term operator+(const Term& a, const Term& b) { return binary(a, "+", b, Precedence::sum); }
Term operator-(const Term& a, const Term& b) { return binary(a, "-", b, Precedence::sum); }
Term operator*(const Term& a, const Term& b) { return binary(a, "*", b, Precedence::product); }
Term operator/(const Term& a, const Term& b) { return binary(a, "/", b, Precedence::product); }
Term operator%(const Term& a, const Term& b) { return binary(a, "%", b, Precedence::product); }
Term floordiv(const Term& a, const Term& b) { return binary(a, "//", b, Precedence::product); }
Term operator-(const Term& a) {
    return {format("-{}", a.text(Precedence::power)), Precedence::unary};
}
Term operator!(const Term& a) {
    return {format("!{}", a.text(Precedence::power)), Precedence::unary};
}
Term operator==(const Term& a, const Term& b) { return comparison(a, "==", b); }
Term operator!=(const Term& a, const Term& b) { return comparison(a, "!=", b); }
Term operator<(const Term& a, const Term& b) { return comparison(a, "<", b); }
Term operator<=(const Term& a, const Term& b) { return comparison(a, "<=", b); }
Term operator>(const Term& a, const Term& b) { return comparison(a, ">", b); }
Term operator>=(const Term& a, const Term& b) { return comparison(a, ">=", b); }
Term operator&&(const Term& a, const Term& b) {
    return binary(a, "&&", b, Precedence::logical_and);
}
Term operator||(const Term& a, const Term& b) { return binary(a, "||", b, Precedence::logical_or); }
Term pow(const Term& a, const Term& b) {
    return {format("{}^{}", a.text(Precedence::primary), b.text(Precedence::unary)),
            Precedence::power};
}
Term select(const Term& condition, const Term& a, const Term& b) {
    return {format("{} ? {} : {}", condition.text(Precedence::logical_or), a.text(), b.text()),
            Precedence::select};
}

Term call(std::string_view function, std::initializer_list<Term> args) {
    std::vector<std::string> texts;
    for (const Term& arg : args) texts.push_back(arg.text());
    return {format("{}({})", function, join(texts, ", ")), Precedence::primary};
}
Term exp(const Term& x) { return call("exp", {x}); }
Term log(const Term& x) { return call("log", {x}); }
Term sqrt(const Term& x) { return call("sqrt", {x}); }
Term tanh(const Term& x) { return call("tanh", {x}); }
Term sin(const Term& x) { return call("sin", {x}); }
Term cos(const Term& x) { return call("cos", {x}); }
Term abs(const Term& x) { return call("abs", {x}); }
Term relu(const Term& x) { return call("relu", {x}); }
Term gelu(const Term& x) { return call("gelu", {x}); }
Term silu(const Term& x) { return call("silu", {x}); }
Term sigmoid(const Term& x) { return call("sigmoid", {x}); }
Term softplus(const Term& x) { return call("softplus", {x}); }
Term maximum(const Term& a, const Term& b) { return call("max", {a, b}); }
Term minimum(const Term& a, const Term& b) { return call("min", {a, b}); }
Term pad(const Term& at) { return call("pad", {at}); }
Term pad(const Term& at, const Term& width) { return call("pad", {at, width}); }
Term wrap(const Term& at) { return call("wrap", {at}); }
Term reflect(const Term& at) { return call("reflect", {at}); }
Term clamp(const Term& at) { return call("clamp", {at}); }

}  // namespace ricci::builder
