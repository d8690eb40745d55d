// runtime/tape.h – reverse-mode differentiation of composed functions
#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "runtime/function.h"

namespace ricci {

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
    /// Puts another value into a parameter, or changes whose gradient is wanted.
    /// Throws: `gradient` when it was made by a function.
    void set_value(Array value);

    struct Record;
    [[nodiscard]] const std::shared_ptr<Record>& record() const noexcept { return record_; }

  private:
    friend Var param(Array value);
    friend Var apply(const Function& function, const std::vector<Var>& arguments);
    std::shared_ptr<Record> record_;
};

/// A leaf whose gradient is wanted. Throws: `gradient` unless it is floating.
[[nodiscard]] Var param(Array value);
/// Calls a function on the tape: the forward run keeps what the gradients need. Arguments in order
/// of first appearance. `f(x, y)` does the same when an argument is a Var.
/// Throws: as calls do; `gradient` for a function that changes an argument in place.
[[nodiscard]] Var apply(const Function& function, const std::vector<Var>& arguments);
/// Adds the gradient of a scalar `loss` to every parameter it depends on; what intermediate records
/// kept is released. Only gradients that lead to a parameter are computed.
/// Throws: `shape` when the loss is not a scalar, `gradient` when it does not depend on a parameter
/// or `backward` was called on it before.
void backward(const Var& loss);

template <class... Vars>
    requires(std::same_as<Vars, Var> || ...)
Var Function::operator()(const Vars&... variables) const {
    return ricci::apply(*this, std::vector<Var>{Var(variables)...});
}

}  // namespace ricci
