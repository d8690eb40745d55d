// dsl/print_term.h – terms in the language, with the parentheses they need and no others
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/integer_facts.h"
#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {

/// What the tensors of a program are called.
struct TensorNames {
    std::vector<std::string> by_id;  ///< by TensorId; versions of a tensor share their name
    std::set<std::string, std::less<>> all;
};

/// How things are called where a term is printed.
struct PrintNames {
    std::shared_ptr<const TensorNames> tensors;
    std::unordered_map<std::uint32_t, std::string> indices = {};  ///< by IndexId
    std::set<std::uint32_t> ranged = {};  ///< indices whose range stands in their reducer
    std::set<std::uint32_t> transparent =
        {};  ///< ids of reductions written as their body: implied sums
};

/// Prints the terms of one program. Text is built from operands to users, each shared node once:
/// no term is too deep. Scalars in subscripts are written `$s`; index arithmetic and subscripts
/// have no blanks.
/// Throws: `limit` when a text grows longer than a program may be.
class TermPrinter {
  public:
    TermPrinter(const Program& program, const PrintNames& names)
        : program_(program), names_(names) {}

    enum class Place : std::uint8_t { value, subscript };

    /// The term, in parentheses when it binds weaker than `weakest`.
    [[nodiscard]] std::string print(Expr e, Precedence weakest = Precedence::select,
                                    Place place = Place::value);
    /// `i`, or `i in 0:3` when its range is written at its reducer.
    [[nodiscard]] std::string binding(IndexId index);
    /// `0:3`.
    [[nodiscard]] std::string range(IndexId index);
    [[nodiscard]] const std::string& name(IndexId index) const;
    [[nodiscard]] const std::string& name(TensorId tensor) const;

  private:
    struct Printed {
        std::string text;
        Precedence strength = Precedence::primary;
        bool is_integer = false;  ///< index arithmetic
    };
    using Key = std::pair<Expr, Place>;

    void prepare(Expr root, Place place);
    Printed make(Expr e, Place place);
    Printed apply(const Apply& term, Place place);
    Printed sum(const Apply& term, Place place, bool is_integer);
    Printed call(std::string_view function, const std::vector<Expr>& args, Place place);
    Printed infix(const Apply& term, std::string_view separator, Place place);
    Printed access(const Access& term, Place place);
    Printed reduce(const Reduce& term);
    Printed modified(const Modified& term);

    const Printed& of(Expr e, Place place) const;
    std::string operand(Expr e, Precedence weakest, Place place) const;

    const Program& program_;
    const PrintNames& names_;
    IntegerTerms integer_terms_;
    ExprMap<Printed> printed_[2];  ///< by Place
    std::size_t length_ = 0;       ///< of all texts
};

/// A literal as it is written: `2`, `0.5`, `1e-5`, `-inf`. A floating one is never written as an
/// integer.
[[nodiscard]] std::string str(const Number& number);

}  // namespace ricci
