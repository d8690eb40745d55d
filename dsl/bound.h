// dsl/bound.h – a program bound to shapes and types: what is evaluated and compiled
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "dsl/program.h"

namespace ricci {

/// What is known of one argument when a program is bound.
struct ArgumentSpec {
    DType dtype = DType::f32;
    Shape shape;
    Strides strides;              ///< in elements; empty: row-major
    bool is_weak = false;         ///< a number given by the caller: adopts the type it meets
    std::optional<Number> value;  ///< of a scalar: needed when it stands in subscripts or ranges

    bool operator==(const ArgumentSpec&) const = default;
};
/// By name.
using Signature = std::map<std::string, ArgumentSpec, std::less<>>;

/// Places `s`, 0 <= s < extent, of an array whose elements are `step` apart along one of its axes:
/// an element is 0 unless first <= s <= last.
struct ZeroWindow {
    std::int64_t step = 0;
    std::int64_t extent = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
};

struct BoundTensor {
    std::string name;
    DType dtype = DType::none;
    Shape shape;
    Strides strides;  ///< in elements, always filled; row-major but for arguments that are views
    Role role = Role::argument;
    bool is_weak = false;
    std::optional<TensorId> previous;  ///< the version whose storage this one continues
    /// An argument in whose lines of memory this one's elements stand, one behind each of its own,
    /// as imaginary parts behind real ones.
    std::optional<TensorId> beside = {};
    bool is_partial = false;  ///< elements that its equation does not name are never read
    bool is_stored = false;   ///< made for where its elements are: readers read it
    /// Of a padded temporary: the windows outside of which its elements are 0, of all its axes.
    std::vector<ZeroWindow> zero_windows = {};
    /// What its elements count as in promotion, where that is not `dtype`: a temporary of half
    /// precision is stored as f32.
    DType counts_as = DType::none;

    [[nodiscard]] DType type() const noexcept {
        return counts_as == DType::none ? dtype : counts_as;
    }
};

/// A half-open range, present values.
struct BoundIndex {
    std::string name;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    [[nodiscard]] std::int64_t extent() const noexcept { return upper > lower ? upper - lower : 0; }
};

/// The reduction at the root of an equation.
struct Reduction {
    Reducer reducer = Reducer::sum;  ///< sum, prod, max, min, argmax or argmin
    std::vector<IndexId> indices;
    Expr condition;  ///< empty: none
    /// Of a sum under one condition, up to each result's point or from it on, that is made for a
    /// CPU: points are met in that order, and what stands before one is multiplied by this of it.
    /// Empty: not (codegen/recurrences.h).
    Expr carry = Expr();
    DType accumulator = DType::none;  ///< the type it is accumulated in: that of `value`
};

/// One canonical equation: for all free points, `target[at] op= reduce(value)` (or `value` itself).
/// `value` has the target's type; what a reduction gives is converted to it, integers keeping their
/// low bits. Terms are typed: every node has a dtype and operands of an
/// arithmetic operation have the node's own type (conversions are Cast nodes; operands of
/// comparisons have one common type; `select` has a bool condition; integer literals, sizes and
/// index values are i64, converted where floating). No Size and no Reduce is left. Subscripts are
/// i64 terms, proved in bounds for the domain.
struct BoundEquation {
    TensorId target{};
    std::vector<Expr> at;
    Assign op = Assign::define;  ///< define set add mul max min
    std::vector<IndexId> indices;
    std::optional<Reduction> reduction;
    Expr value;
    /// No two points of the free indices name one element of the target. Always true for `define`
    /// and `set` of the user; a `+=` that is not is summed in the order of its points, and the last
    /// of them stays of what a check defines.
    bool is_injective = true;
};

/// What is found out with data before anything relies on it: that gathered subscripts lie inside,
/// that the points of a target that is overwritten, or read as it was, name different elements, or
/// that a mean is one of something.
/// An equation of its own, before those that rely on it, gives the verdict.
struct BoundCheck {
    enum class Kind : std::uint8_t {
        inside,      ///< `low <= at[0] < high`, in dimension `dimension` of `tensor`
        distinct,    ///< no two points have the same `at`
        has_points,  ///< `at[0]`, the points of a reduction less one, is not negative
    };
    Kind kind = Kind::inside;
    TensorId verdict{};  ///< i64, rank 0: negative when the check fails
    TensorId tensor{};
    std::size_t dimension = 0;
    bool is_write = false;
    std::vector<Expr> at;          ///< typed, i64
    std::vector<IndexId> indices;  ///< of the points
    Expr condition;                ///< which points count; empty: all
    std::int64_t low = 0;
    std::int64_t high = 0;
    Diagnosis otherwise;  ///< the error, but for (most of) its message
};

struct BoundProgram {
    std::shared_ptr<Context> context;
    std::vector<BoundTensor> tensors;
    std::vector<BoundIndex> indices;
    std::vector<BoundEquation> equations;
    std::vector<BoundCheck> checks;  ///< in the order of their equations
    std::vector<TensorId> arguments;
    std::vector<TensorId> outputs;

    [[nodiscard]] const BoundTensor& at(TensorId id) const { return tensors.at(position(id)); }
    [[nodiscard]] const BoundIndex& at(IndexId id) const { return indices.at(position(id)); }
};

/// Binds a canonical program: evaluates shapes and ranges, checks every requirement, proves every
/// access in bounds, and types every term. Only the equations that the outputs need are kept.
/// `outputs` empty: the program's result alone.
/// Throws: `name shape range type limit`.
[[nodiscard]] BoundProgram bind(const Program& program, const Signature& signature,
                                const std::vector<std::string>& outputs = {});

/// The scalars whose values a bound program depends on: those in subscripts, ranges and shapes.
[[nodiscard]] std::vector<TensorId> structural_scalars(const Program& program);

/// Explicit text of a bound program with types, shapes and ranges (not the language).
[[nodiscard]] std::string str(const BoundProgram& program);

}  // namespace ricci
