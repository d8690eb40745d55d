// runtime/tape.h – reverse-mode differentiation of composed functions
#pragma once

#include <memory>
#include <vector>

#include "runtime/function.h"

namespace ricci {

/// An array that remembers how it was made. Copies share the record.
class Var {
  public:
    Var() = default;
    Var(Array value);  ///< NOLINT(google-explicit-constructor): a constant of the tape

    [[nodiscard]] const Array& value() const;
    /// The gradient that `backward` left; an empty handle before.
    [[nodiscard]] const Array& grad() const;
    void clear_grad();
    [[nodiscard]] bool requires_grad() const;

    struct Record;
    [[nodiscard]] const std::shared_ptr<Record>& record() const noexcept { return record_; }

  private:
    friend Var param(Array value);
    friend Var apply(const Function& function, const std::vector<Var>& arguments);
    std::shared_ptr<Record> record_;
};

/// A leaf whose gradient is wanted.
[[nodiscard]] Var param(Array value);
/// Calls a function on the tape. Arguments in order of first appearance.
[[nodiscard]] Var apply(const Function& function, const std::vector<Var>& arguments);
/// Adds the gradient of a scalar `loss` to every parameter it depends on; intermediate records
/// are released. Throws: `shape` when the loss is not a scalar, `gradient`.
void backward(const Var& loss);

}  // namespace ricci
