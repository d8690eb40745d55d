// dsl/expr.h – interned scalar terms of index notation
//
// A term is a value of one point of an iteration domain. Terms are immutable and interned in the
// Context of their program: equal terms are one node, so equality is a pointer compare, shared
// subterms are computed once, and side tables are keyed by node. A node's id is larger than the
// ids of its operands: walks go in order of id (see dsl/walk.h) and need no recursion.
//
// Indices are numbered per program; two binders never share an index. Terms that differ only in
// the numbers of bound indices become one when dsl/canonical.h lifts reductions into equations.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "dsl/ops.h"

namespace ricci {

enum class TensorId : std::uint32_t {};
enum class IndexId : std::uint32_t {};
[[nodiscard]] constexpr std::size_t position(TensorId id) noexcept { return std::size_t(id); }
[[nodiscard]] constexpr std::size_t position(IndexId id) noexcept { return std::size_t(id); }

/// A literal's value. Interned by bit pattern (NaN, -0.0).
using Number = std::variant<bool, std::int64_t, double, std::complex<double>>;

struct Node;

/// A handle on an interned term; empty by default. The Context keeps the node alive.
class Expr {
  public:
    Expr() = default;
    explicit Expr(const Node* node) : node_(node) {}
    const Node* operator->() const noexcept { return node_; }
    const Node& operator*() const noexcept { return *node_; }
    explicit operator bool() const noexcept { return node_ != nullptr; }
    bool operator==(const Expr&) const noexcept = default;

  private:
    const Node* node_ = nullptr;
};

struct Literal {
    Number value;
};
/// The value of an index.
struct IndexValue {
    IndexId index;
};
/// The extent of one dimension (0 <= dimension < rank).
struct Size {
    TensorId tensor;
    int dimension;
};
/// An element of a tensor; `at.size()` is the rank. A scalar argument is a tensor of rank 0.
struct Access {
    TensorId tensor;
    std::vector<Expr> at;
};
/// An operation of the table, with a number of operands that its row allows.
struct Apply {
    Op op;
    std::vector<Expr> args;
};
/// The reduction of `body` over the points of the ranges of `indices` where `condition` holds.
struct Reduce {
    Reducer reducer;
    std::vector<IndexId> indices;
    Expr condition;  ///< empty: no condition
    Expr body;
};
/// The operand converted to the node's dtype; integers saturate, or keep their low bits.
struct Cast {
    Expr a;
    bool wraps = false;
};
/// What a subscript means where it lies outside of its dimension.
enum class Outside : std::uint8_t {
    pad,      ///< reads `value`; writes nothing
    clamp,    ///< the nearest element
    wrap,     ///< the array repeated
    reflect,  ///< the array mirrored, its ends not repeated
};
[[nodiscard]] std::string_view name(Outside outside) noexcept;
/// The modifier of that name, or nothing.
[[nodiscard]] std::optional<Outside> outside_from_name(std::string_view text) noexcept;
/// A whole subscript that may lie outside. Stands nowhere else, and in no bound term.
struct Modified {
    Outside outside;
    Expr at;
    Expr low = {};    ///< of `pad`: how far below 0 `at` may lie; empty: anywhere
    Expr high = {};   ///< of `pad`: how far beyond the extent; set with `low`
    Expr value = {};  ///< of `pad`: a literal
};
using Term = std::variant<Literal, IndexValue, Size, Access, Apply, Reduce, Cast, Modified>;

struct Node {
    Term term;
    DType dtype;       ///< `none` in a program that is not bound
    std::uint32_t id;  ///< order of creation in its context: operands come first
    std::uint64_t hash;
};

/// The operands of a node, subscripts and conditions included, in order.
[[nodiscard]] std::vector<Expr> operands(Expr e);
/// The type of a bound term; `none` of one that is not, though a conversion always has a type.
[[nodiscard]] DType bound_type(Expr e) noexcept;

/// Owns and interns nodes. Not thread-safe; a program being compiled belongs to one thread.
class Context {
  public:
    Context();
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// The one node of that term and dtype. Makes no change to the term.
    /// Throws: `limit` past the limit of distinct nodes, a sum or product of n operands counted as
    /// n-1 operations.
    Expr intern(Term term, DType dtype = DType::none);

    // The following build with light, always valid clean-up: sums and products are flattened where
    // they are not long, zeros and ones dropped, literals of one kind folded, double negation
    // removed, `x + neg(x)` kept (infinities). They accept both bound and unbound operands (all
    // operands of one dtype).
    Expr literal(Number value, DType dtype = DType::none);
    Expr integer(std::int64_t value) { return literal(value); }
    Expr index(IndexId index);
    Expr size(TensorId tensor, int dimension);
    Expr access(TensorId tensor, std::vector<Expr> at, DType dtype = DType::none);
    Expr apply(Op op, std::vector<Expr> args, DType dtype = DType::none);
    Expr reduce(Reducer reducer, std::vector<IndexId> indices, Expr condition, Expr body,
                DType dtype = DType::none);
    /// `wraps`: an integer keeps its low bits in an integer type that cannot hold it.
    Expr cast(Expr a, DType dtype, bool wraps = false);

    Expr add(Expr a, Expr b) { return apply(Op::add, {a, b}, bound_type(a)); }
    Expr sub(Expr a, Expr b) { return apply(Op::add, {a, neg(b)}, bound_type(a)); }
    Expr neg(Expr a) { return apply(Op::neg, {a}, bound_type(a)); }
    Expr mul(Expr a, Expr b) { return apply(Op::mul, {a, b}, bound_type(a)); }
    Expr div(Expr a, Expr b) { return apply(Op::div, {a, b}, bound_type(a)); }
    Expr logical_and(Expr a, Expr b);  ///< either may be empty, meaning true

    [[nodiscard]] std::size_t size() const noexcept;

    /// Of a program as it is written, and with all that is derived from it, which is the limit
    /// unless another is set.
    static constexpr std::size_t max_written_nodes = 1'000'000;
    static constexpr std::size_t max_nodes = 4'000'000;
    void set_limit(std::size_t nodes) noexcept;

  private:
    struct Table;
    std::unique_ptr<Table> table_;
};

/// Throws: `limit`.
[[noreturn]] void refuse_too_many_nodes(std::size_t limit);

[[nodiscard]] bool is_literal(Expr e) noexcept;
[[nodiscard]] bool is_literal(Expr e, double value) noexcept;  ///< a real literal of that value
[[nodiscard]] bool is_apply(Expr e, Op op) noexcept;

}  // namespace ricci
