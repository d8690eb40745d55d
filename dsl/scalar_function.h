// dsl/scalar_function.h – functions of numbers that a user adds to the language
//
//   double bessel(double x) { return std::cyl_bessel_j(0, x); }
//   double bessel1(double x) { return std::cyl_bessel_j(1, x); }
//
//   ricci::register_function({.name = "bessel", .value = &bessel, .derivatives = {"-bessel1(x)"}});
//   ricci::register_function({.name = "bessel1", .value = &bessel1,
//                             .derivatives = {"x == 0 ? 0.5 : bessel(x) - bessel1(x)/x"}});
//   ricci::compile("Y[n,i] := bessel(X[n,i])");
//
// It is applied to elements one by one, not in vectors: what can be written in the language is
// better written there, with `def`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/expr.h"

namespace ricci {

struct ScalarFunction {
    using Unary = double (*)(double);
    using Binary = double (*)(double, double);
    using Ternary = double (*)(double, double, double);

    std::string name;
    /// Called from several threads at once; must give the same for the same operands, and not
    /// throw. Operands of other types are converted; the result has the type of the operands as
    /// with `exp`, f64 for integers.
    std::variant<Unary, Binary, Ternary> value;
    /// By operand, in the language: terms of `x`, `y`, `z`, the operands, and of any functions.
    /// None: the function has no gradient.
    std::vector<std::string> derivatives = {};
    /// The value in CUDA C++, a term of `double`s `x`, `y`, `z`, such as `j0(x)`. Empty: not on a
    /// GPU.
    std::string cuda = {};
};

/// Adds the function to the language, for all programs that are parsed from now on and for good.
/// The same once more changes nothing. May be called from any thread.
/// Throws: `name` when it is no name or has another meaning, `type` when there are derivatives but
/// not one for each operand, `syntax` for a derivative that is no term of its operands, `limit`
/// after 127 functions.
void register_function(ScalarFunction function);

/// The registered function of an operation; null for one of the language's own.
[[nodiscard]] const ScalarFunction* registered(Op op) noexcept;
/// All that were registered so far.
[[nodiscard]] std::vector<const ScalarFunction*> registered_functions();

/// Their rows, as in dsl/ops.h.
[[nodiscard]] const OpInfo& registered_info(Op op) noexcept;
[[nodiscard]] const OpInfo* find_registered(std::string_view name) noexcept;

[[nodiscard]] int arity(const ScalarFunction& function) noexcept;
[[nodiscard]] double call(const ScalarFunction& function, std::span<const double> operands);
[[nodiscard]] const void* address(const ScalarFunction& function) noexcept;

/// The derivative by an operand, with the operands put in. Throws: `name` when it uses a function
/// that is not registered.
[[nodiscard]] Expr derivative(Context& context, const ScalarFunction& function, std::size_t operand,
                              std::span<const Expr> operands);

}  // namespace ricci
