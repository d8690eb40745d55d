// dsl/builder.h – programs written with C++ operators
//
//     using namespace ricci::builder;
//     Index i("i"), j("j"), k("k");
//     Tensor A("A"), B("B"), C("C");
//     Function product = compile(C(i, j) = sum(k, A(i, k) * B(k, j)));
//
// Every expression is a piece of text in the language: what is built is the program that the text
// says, parsed and checked like any other, and errors point into it. So the rules of
// docs/language.md hold as they stand there, implied sums among them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ops.h"

namespace ricci::builder {

/// An expression.
class Term {
  public:
    /// A number: `2`, `0.5`, `true`.
    template <class T>
        requires std::integral<T> || std::floating_point<T>
    Term(T number) : Term(of(number)) {}  // NOLINT(google-explicit-constructor)
    Term(std::string text, Precedence binding) : text_(std::move(text)), binding_(binding) {}

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// In parentheses unless it binds at least so strongly.
    [[nodiscard]] std::string text(Precedence least) const;

  private:
    static Term of(bool value);
    static Term of(double value);
    static Term of(std::int64_t value);
    template <std::integral T>
    static Term of(T value) {
        return of(static_cast<std::int64_t>(value));
    }

    std::string text_;
    Precedence binding_ = Precedence::primary;
};

/// A range for an index: `k in 0:3`.
struct Range {
    std::string text;
};

/// The name of an index.
class Index : public Term {
  public:
    explicit Index(std::string name) : Term(std::move(name), Precedence::primary) {}
    /// `i in lower:upper`, half-open.
    [[nodiscard]] Range in(const Term& lower, const Term& upper) const;
};

/// A number given by the caller, by name.
class Scalar : public Term {
  public:
    explicit Scalar(const std::string& name) : Term("$" + name, Precedence::primary) {}
};

/// A statement of a program.
class Statement {
  public:
    explicit Statement(std::string text) : text_(std::move(text)) {}
    /// With ranges that the rules of inference do not give, or give otherwise.
    template <std::same_as<Range>... R>
    [[nodiscard]] Statement where(const Range& first, R... more) const {
        std::string text = text_ + " where " + first.text;
        ((text += ", " + more.text), ...);
        return Statement(std::move(text));
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    operator std::string_view() const noexcept { return text_; }  // NOLINT(google-explicit-*)
    operator std::string() const { return text_; }                // NOLINT(google-explicit-*)

  private:
    std::string text_;
};

/// An element of an array: a term, or the target of a statement.
class Access : public Term {
  public:
    explicit Access(std::string text) : Term(std::move(text), Precedence::primary) {}
    Access(const Access&) = default;
    ~Access() = default;

    /// `:=`, a new array.
    // NOLINTBEGIN(misc-unconventional-assign-operator): it writes a statement, and assigns nothing
    Statement operator=(const Term& value) const { return statement(":=", value); }
    Statement operator=(const Access& value) const { return statement(":=", value); }
    // NOLINTEND(misc-unconventional-assign-operator)
    /// `=`, elements of an array that exists.
    [[nodiscard]] Statement set(const Term& value) const { return statement("=", value); }
    Statement operator+=(const Term& value) const { return statement("+=", value); }
    Statement operator-=(const Term& value) const { return statement("-=", value); }
    Statement operator*=(const Term& value) const { return statement("*=", value); }
    [[nodiscard]] Statement set_max(const Term& value) const { return statement("max=", value); }
    [[nodiscard]] Statement set_min(const Term& value) const { return statement("min=", value); }

  private:
    [[nodiscard]] Statement statement(std::string_view op, const Term& value) const;
};

/// The name of an array. `A(i, k)` is an element, `A()` that of an array without dimensions.
class Tensor {
  public:
    explicit Tensor(std::string name) : name_(std::move(name)) {}
    template <std::convertible_to<Term>... T>
    [[nodiscard]] Access operator()(const T&... at) const {
        return access({Term(at)...});
    }
    [[nodiscard]] Term size(int dimension) const;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    [[nodiscard]] Access access(const std::vector<Term>& at) const;

    std::string name_;
};

/// Subscripts: `_` in a target, all further dimensions, the last element.
extern const Term any_place;
extern const Term rest;
extern const Term end;
/// `i+_` in a target: the new array begins where the index begins.
[[nodiscard]] Term from_first(const Index& index);

/// What a reducer runs over.
class Over {
  public:
    template <class... T>
    Over(const Index& first, const T&... more)  // NOLINT(google-explicit-constructor)
        : Over{Range{first.text()}, as_range(more)...} {}
    template <class... T>
    Over(const Range& first, const T&... more)
        : text_(first.text) {  // NOLINT(google-explicit-constructor)
        ((text_ += "," + as_range(more).text), ...);
    }
    /// Only the points where the condition holds: the others are skipped.
    [[nodiscard]] Over when(const Term& condition) const;
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    static Range as_range(const Index& index) { return {index.text()}; }
    static Range as_range(const Range& range) { return range; }

    std::string text_;
};
[[nodiscard]] Term sum(const Over& over, const Term& value);
[[nodiscard]] Term prod(const Over& over, const Term& value);
[[nodiscard]] Term max(const Over& over, const Term& value);
[[nodiscard]] Term min(const Over& over, const Term& value);
[[nodiscard]] Term mean(const Over& over, const Term& value);
[[nodiscard]] Term any(const Over& over, const Term& value);
[[nodiscard]] Term all(const Over& over, const Term& value);
[[nodiscard]] Term count(const Over& over, const Term& value);
[[nodiscard]] Term argmax(const Over& over, const Term& value);
[[nodiscard]] Term argmin(const Over& over, const Term& value);
[[nodiscard]] Term logsumexp(const Over& over, const Term& value);
[[nodiscard]] Term norm(const Over& over, const Term& value);

[[nodiscard]] Term operator+(const Term& a, const Term& b);
[[nodiscard]] Term operator-(const Term& a, const Term& b);
[[nodiscard]] Term operator*(const Term& a, const Term& b);
[[nodiscard]] Term operator/(const Term& a, const Term& b);
[[nodiscard]] Term operator%(const Term& a, const Term& b);
[[nodiscard]] Term operator-(const Term& a);
[[nodiscard]] Term operator!(const Term& a);
[[nodiscard]] Term operator==(const Term& a, const Term& b);
[[nodiscard]] Term operator!=(const Term& a, const Term& b);
[[nodiscard]] Term operator<(const Term& a, const Term& b);
[[nodiscard]] Term operator<=(const Term& a, const Term& b);
[[nodiscard]] Term operator>(const Term& a, const Term& b);
[[nodiscard]] Term operator>=(const Term& a, const Term& b);
[[nodiscard]] Term operator&&(const Term& a, const Term& b);
[[nodiscard]] Term operator||(const Term& a, const Term& b);
/// `a // b`, the quotient rounded down.
[[nodiscard]] Term floordiv(const Term& a, const Term& b);
[[nodiscard]] Term pow(const Term& a, const Term& b);
/// `condition ? a : b`.
[[nodiscard]] Term select(const Term& condition, const Term& a, const Term& b);

/// A function of the language, a conversion (`i64`) or a modifier of a subscript (`pad`), by name.
[[nodiscard]] Term call(std::string_view function, std::initializer_list<Term> args);
[[nodiscard]] Term exp(const Term& x);
[[nodiscard]] Term log(const Term& x);
[[nodiscard]] Term sqrt(const Term& x);
[[nodiscard]] Term tanh(const Term& x);
[[nodiscard]] Term sin(const Term& x);
[[nodiscard]] Term cos(const Term& x);
[[nodiscard]] Term abs(const Term& x);
[[nodiscard]] Term relu(const Term& x);
[[nodiscard]] Term gelu(const Term& x);
[[nodiscard]] Term silu(const Term& x);
[[nodiscard]] Term sigmoid(const Term& x);
[[nodiscard]] Term softplus(const Term& x);
/// The functions `max(a, b)` and `min(a, b)`; `max` and `min` are the reducers here.
[[nodiscard]] Term maximum(const Term& a, const Term& b);
[[nodiscard]] Term minimum(const Term& a, const Term& b);
[[nodiscard]] Term pad(const Term& at);
[[nodiscard]] Term pad(const Term& at, const Term& width);
[[nodiscard]] Term wrap(const Term& at);
[[nodiscard]] Term reflect(const Term& at);
[[nodiscard]] Term clamp(const Term& at);

/// Several statements, one after the other.
template <std::same_as<Statement>... S>
[[nodiscard]] Statement program(const Statement& first, const S&... more) {
    std::string text = first.text();
    ((text += "\n" + more.text()), ...);
    return Statement(std::move(text));
}

}  // namespace ricci::builder
