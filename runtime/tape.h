// runtime/tape.h – reverse-mode differentiation of composed functions
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/function.h"

namespace ricci {

namespace runtime {
struct TapeAccess;
}

/// An array that remembers how it was made. Copies share the record.
class Var {
  public:
    Var() = default;
    Var(Array value);  ///< NOLINT(google-explicit-constructor): a constant of the tape
    /// A number, as an argument of a function (see Array).
    template <std::convertible_to<Array> T>
        requires(!std::same_as<T, Array>)
    Var(T number)  // NOLINT(google-explicit-constructor)
        : Var(Array(number)) {}

    [[nodiscard]] const Array& value() const;
    /// The gradient that `backward` left; an empty handle before, and always for intermediates.
    [[nodiscard]] const Array& grad() const;
    void clear_grad();
    [[nodiscard]] bool requires_grad() const;
    /// Puts another value into a leaf. What was recorded before keeps the value it was made from.
    /// Throws: `gradient` when it was made by a function.
    void set_value(Array value);
    /// A constant of the same value.
    [[nodiscard]] Var detach() const;

    // Views as those of Array: they share the value's memory, and gradients go through them.
    [[nodiscard]] Var slice(int dimension, std::int64_t lower, std::int64_t upper) const;
    [[nodiscard]] Var transpose(const std::vector<int>& order) const;
    [[nodiscard]] Var reshape(Shape shape) const;

    struct Record;
    [[nodiscard]] const std::shared_ptr<Record>& record() const noexcept { return record_; }

  private:
    friend struct runtime::TapeAccess;
    std::shared_ptr<Record> record_;
};

/// A leaf whose gradient is wanted. Throws: `gradient` unless it is floating.
[[nodiscard]] Var param(Array value);

/// Calls a function on the tape: the forward run keeps what the gradients need. Arguments in order
/// of first appearance. `f(x, y)` does the same when an argument is a Var.
/// Throws: as calls do; `gradient` for a function that changes an argument in place, unless under
/// NoGrad.
[[nodiscard]] Var apply(const Function& function, const std::vector<Var>& arguments);

/// An operation written in C++, with its gradients.
struct TapeOperation {
    std::string name;  ///< for errors
    std::function<Array(const std::vector<Array>& arguments)> value;
    /// One gradient for each argument, of its shape and type; an empty handle where there is none.
    std::function<std::vector<Array>(const std::vector<Array>& arguments, const Array& result,
                                     const Array& cotangent)>
        gradients;
};
/// Throws: what the operation throws; `backward` throws `gradient` for gradients that do not fit.
[[nodiscard]] Var apply(const TapeOperation& operation, const std::vector<Var>& arguments);

/// `einsum` (runtime/einsum.h) on the tape; `einsum("ij,jk->ik", x, y)` does the same when an
/// operand is a Var.
[[nodiscard]] Var apply_einsum(std::string_view subscripts, const std::vector<Var>& operands,
                               Device device = default_device());
template <class... Vars>
    requires(std::same_as<Vars, Var> || ...)
[[nodiscard]] Var einsum(std::string_view subscripts, const Vars&... operands) {
    return apply_einsum(subscripts, std::vector<Var>{Var(operands)...});
}

using Composition = std::function<Var(const std::vector<Var>&)>;
/// The value of `f(arguments)`, of which nothing but the arguments is kept: `backward` computes the
/// inside again. `f` may use other variables; it has to do the same both times.
/// Throws: what `f` throws; `backward` throws `gradient` when it used other variables when it was
/// computed again, gave another shape, or when a value it used was replaced in between.
[[nodiscard]] Var checkpoint(Composition f, const std::vector<Var>& arguments);
[[nodiscard]] Var checkpoint(const Function& f, const std::vector<Var>& arguments);

/// While one is alive, this thread records nothing: what it computes are constants.
class NoGrad {
  public:
    NoGrad();
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

  private:
    bool was_recording_;
    std::vector<std::shared_ptr<Var::Record>>* was_used_;
};

struct BackwardOptions {
    /// Of the value, of its shape and type; may be left out for a scalar, where it is 1.
    Array cotangent = {};
    /// Keeps what was recorded, so that `backward` may be called again.
    bool retain = false;
};
/// Adds the gradient of `value`, weighted with its cotangent, to every parameter it depends on;
/// what intermediate records kept is released. Only gradients that lead to a parameter are
/// computed. When it throws, no gradient was changed. Throws: `shape` when the value is not a
/// scalar and no cotangent is given, `shape` and `type` for a cotangent that does not fit,
/// `gradient` when the value does not depend on a parameter or what was recorded has been released
/// before.
void backward(const Var& value, const BackwardOptions& options = {});

template <class... Vars>
    requires(std::same_as<Vars, Var> || ...)
Var Function::operator()(const Vars&... variables) const {
    return ricci::apply(*this, std::vector<Var>{Var(variables)...});
}

}  // namespace ricci
