// dsl/program.h – a checked program: equations over interned terms
//
// What an equation means, for `target[at] op value` with free indices x:
//
//     for x in the box of `indices`:   target[at(x)]  op=  value(x)
//
// `define` makes a new array whose unnamed elements are 0; the other operators update `previous`,
// whose elements keep their value where they are not named. Every update makes a new version of
// the tensor (`target` != `previous`), so that no equation's meaning depends on a later one; both
// versions share storage when the program runs. Every index carries its range: it is never inferred
// again. Points are independent of one another: an equation reads no element that it writes at
// another point.
//
// A program is *canonical* (dsl/canonical.h) when each equation's value is either free of Reduce
// or a Reduce whose body and condition are free of Reduce, `sub` is gone, every reducer is one of
// sum, prod, max, min, argmax, argmin, and equal reductions are one temporary. Gradients, the
// reference evaluator, binding and code generation see canonical programs only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dsl/expr.h"

namespace ricci {

enum class Role : std::uint8_t {
    argument,   ///< an array given by the caller
    scalar,     ///< a number given by the caller; rank 0
    target,     ///< made by a statement of the user
    temporary,  ///< made by canonicalisation or differentiation
};

struct Tensor {
    std::string name;
    int rank = 0;
    Role role = Role::argument;
    /// Extents as terms of sizes of arguments, scalars and literals. An argument's are its own
    /// `size(T, d)`.
    std::vector<Expr> shape = {};
    /// Set when the tensor has the type of another (a gradient its argument's, a cotangent its
    /// output's); otherwise the type follows from the value.
    std::optional<TensorId> dtype_of = {};
    Span span = {};  ///< of an argument: where the program names it first
};

/// An index and the half-open range it runs over, as terms of sizes, scalars and literals.
struct Index {
    std::string name;
    Expr lower;
    Expr upper;
    bool is_explicit = false;  ///< the user gave the range: the printer must
};

struct Equation {
    TensorId target{};
    std::vector<Expr> at;  ///< one subscript for each dimension of the target
    Assign op = Assign::define;
    std::optional<TensorId> previous;  ///< the version updated; unset for `define`
    std::vector<IndexId> indices;      ///< the free indices, outermost first: those of `at`
    Expr value;
    Span span;  ///< the statement's place in the source; empty when derived
};

/// What binding checks with the sizes at hand, in order; made by range inference.
struct Requirement {
    enum class Kind : std::uint8_t {
        equal,         ///< `a == b`: two extents of one index
        not_negative,  ///< `a >= 0`: the length of an inferred range
        not_empty,     ///< `a < b` where `indices` have values: an explicit range, that of a mean
        /// For all values of `indices` some point satisfies the condition: the domain of a mean.
        /// Where data decides, the tensor that `a` reads is not negative: checked when the program
        /// runs, where one of `readers` is made.
        has_points,
        positive,   ///< `a > 0`: a coefficient that ranges were solved with
        in_bounds,  ///< `0 <= a < b` for all points of `indices` where `condition` holds
        gathered,   ///< the subscript `a` is data: checked when the program runs
    };
    Kind kind;
    Expr a, b;
    std::vector<IndexId> indices;
    Expr condition;
    /// The error when it fails; `{a}`, `{b}`, `{low}`, `{high}`, `{where}` stand for the values
    /// found, `{term}` for the text of `term`: texts are dear, and most are never needed.
    Diagnosis otherwise;
    Expr term = {};
    std::vector<TensorId> readers = {};
};

/// Ranks of arrays by name.
using Ranks = std::map<std::string, int, std::less<>>;

struct Program {
    std::shared_ptr<Context> context;
    SourcePtr source;
    std::vector<Tensor> tensors;
    std::vector<Index> indices;
    std::vector<Equation> equations;
    std::vector<TensorId> arguments;  ///< arrays and scalars, in order of first appearance
    std::vector<TensorId> outputs;    ///< the final version of each user target, in order
    std::vector<Requirement> requirements;
    /// Whether there are requirements for the reducers that need a point (canonicalisation adds
    /// them; what is derived from a canonical program has no others).
    bool are_points_required = false;
    /// Set where the ranks of arguments decide what the program is (`..`): the program for given
    /// ranks of some or all of them. This one is then an example, for ranks that were supposed. A
    /// program that is made from another has one of its own, or none.
    std::function<Program(const Ranks&)> for_ranks;

    [[nodiscard]] const Tensor& at(TensorId id) const { return tensors.at(position(id)); }
    [[nodiscard]] const Index& at(IndexId id) const { return indices.at(position(id)); }
    TensorId add(Tensor tensor);
    IndexId add(Index index);
    /// The argument of that name, or nothing.
    [[nodiscard]] std::optional<TensorId> argument(std::string_view name) const;
    /// The output of that name, or nothing.
    [[nodiscard]] std::optional<TensorId> output(std::string_view name) const;
    /// Whether the program changes the argument in place.
    [[nodiscard]] bool updates(TensorId argument) const;
    /// Where the program names the argument first; nothing for what it does not name.
    [[nodiscard]] std::vector<Label> place(TensorId id) const;
    /// The last target: what a call returns unless outputs are asked for by name.
    [[nodiscard]] TensorId result() const { return outputs.back(); }
};

/// Text to checked program: lex, parse, check, infer.
/// Throws: `syntax name shape range type limit`, with the place in the text.
[[nodiscard]] Program parse_program(const SourcePtr& source);
[[nodiscard]] Program parse_program(std::string text);

/// The program in the language; parses back to the same program. Temporaries used once are written
/// in place.
[[nodiscard]] std::string str(const Program& program);
/// One equation or term with every reduction explicit.
[[nodiscard]] std::string str(const Program& program, const Equation& equation);
[[nodiscard]] std::string str(const Program& program, Expr e);
/// The same for messages: of a large term only what it is on the outside, with `…` inside.
[[nodiscard]] std::string brief(const Program& program, Expr e);

}  // namespace ricci
