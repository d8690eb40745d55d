// codegen/nest_build.h – short constructors of forms, values and statements, and substitution
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen {

// Forms and bounds.

[[nodiscard]] AffineForm form(std::int64_t constant);
[[nodiscard]] AffineForm form(VarId var, std::int64_t coefficient = 1);
[[nodiscard]] AffineForm operator-(const AffineForm& a, const AffineForm& b);
[[nodiscard]] LoopBound bound(std::int64_t constant);
[[nodiscard]] LoopBound bound(AffineForm form);
/// The bound with a further term: the smaller of both as an upper bound.
[[nodiscard]] LoopBound with(LoopBound bound, AffineForm form);

// Values.

[[nodiscard]] Value make_value(decltype(ValueNode::term) term, DType dtype);
/// The number in that type (integers: truncated; bool: not 0).
[[nodiscard]] Value make_number(DType dtype, double value);
[[nodiscard]] Value make_integer(std::int64_t value, DType dtype = DType::i64);
[[nodiscard]] Value make_index(AffineForm form);
[[nodiscard]] Value make_load(const Nest& nest, BufferId buffer, Address at);
[[nodiscard]] Value make_operation(Op op, std::vector<Value> args, DType dtype);
/// The value itself when it already has the type.
[[nodiscard]] Value make_convert(Value a, DType dtype, bool wraps = false);
[[nodiscard]] Value make_let_value(std::uint32_t number, DType dtype);
/// The operands of a value: arguments, the computed part of an address, what is converted.
[[nodiscard]] std::vector<Value> operands(const Value& value);
[[nodiscard]] bool is_operation(const Value& value, Op op) noexcept;
/// The parts of a conjunction; of anything else, itself.
[[nodiscard]] std::vector<Value> conjuncts(const Value& condition);

// Buffers of a task or a thread.

[[nodiscard]] BufferId add_registers(Nest& nest, std::string name, DType dtype,
                                     std::int64_t elements);
[[nodiscard]] BufferId add_scratch(Nest& nest, std::string name, DType dtype,
                                   std::int64_t elements);

// Statements.

[[nodiscard]] Stmt make_loop(VarId var, Bind bind, std::int64_t extent, Body body);
[[nodiscard]] Stmt make_loop(VarId var, Bind bind, LoopBound lower, LoopBound upper, Body body,
                             std::int64_t step = 1);
/// How far apart the bounds are, where that is one number.
[[nodiscard]] std::optional<std::int64_t> constant_length(const LoopBound& lower,
                                                          const LoopBound& upper);
/// The body at `lower` and each `step` further, below `upper`: a loop, or none around one turn.
[[nodiscard]] Body make_turns(Nest& nest, const std::string& name, LoopBound lower, LoopBound upper,
                              std::int64_t step,
                              const std::function<Body(const AffineForm& start)>& body);
[[nodiscard]] Stmt make_store(BufferId buffer, Address at, Value value,
                              std::optional<Reducer> combine = std::nullopt);
[[nodiscard]] Stmt make_let(std::uint32_t number, Value value);
[[nodiscard]] Stmt make_let_var(VarId var, AffineForm form, std::int64_t divisor,
                                std::int64_t modulus);
void append(Body& body, Body more);

/// What a reduction starts from: `sum` 0, `prod` 1, `max` the least value, `min` the greatest.
[[nodiscard]] Value identity(Reducer reducer, DType dtype);
/// The operation that combines two values of a reduction.
[[nodiscard]] Op combining_op(Reducer reducer, DType dtype);

/// Replaces variables by forms and nodes by values. Shared nodes stay shared: one substitution
/// gives one result for one node.
class Substitution {
  public:
    Substitution() = default;
    /// From now on `var` becomes `to`.
    Substitution& replace(VarId var, AffineForm to);
    /// From now on `var` becomes data, an i64, where values and addresses name it; no bound may.
    Substitution& replace(VarId var, Value to);
    /// From now on references to that Let become `to`.
    Substitution& replace_let(std::uint32_t number, Value to);
    /// From now on that node becomes `to`, which is not searched again.
    Substitution& replace(const Value& node, Value to);

    [[nodiscard]] AffineForm operator()(const AffineForm& form) const;
    [[nodiscard]] LoopBound operator()(const LoopBound& bound) const;
    [[nodiscard]] Value operator()(const Value& value);
    [[nodiscard]] Address operator()(const Address& address);

  private:
    /// What a form becomes: the part that stays affine, and what is data, if anything.
    [[nodiscard]] Address split(const AffineForm& form) const;

    std::unordered_map<std::uint32_t, AffineForm> forms_;
    std::unordered_map<std::uint32_t, Value> data_;
    std::unordered_map<std::uint32_t, Value> lets_;
    std::unordered_map<const ValueNode*, Value> memo_;
    std::vector<Value> kept_;  ///< keeps the keys of memo_ alive
};

/// Gives the nodes that occur more than once in the values their own Let, so that every statement
/// is a tree: appends the Lets to `body` and returns the values with references to them. Numbers
/// are taken from `next`.
[[nodiscard]] std::vector<Value> share(Body& body, std::vector<Value> values, std::uint32_t& next);

}  // namespace ricci::codegen
