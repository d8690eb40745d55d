// tests/grad/rules_test.cpp – the derivative of every operation against central differences
#include "grad/rules.h"

#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/grad/numeric.h"
#include "tests/support/error_text.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// `A[i]`, `B[i]`, …
std::string operand(std::size_t n) { return format("{}[i]", char('A' + n)); }

/// The operation written in the language, on arrays of its own.
std::string text_of(const OpInfo& op, std::size_t arity) {
    std::vector<std::string> operands;
    for (std::size_t n = 0; n < arity; ++n) operands.push_back(operand(n));
    if (op.op == Op::select) operands[0] += " > 1";
    if (op.is_function) return format("Y[i] := {}({})", op.name, join(operands, ", "));
    if (arity == 1) return format("Y[i] := {}{}", op.name, operands[0]);
    return "Y[i] := " + join(operands, format(" {} ", op.name));
}

Arrays sample(const OpInfo& op, std::size_t arity) {
    Arrays arrays;
    for (std::size_t n = 0; n < arity; ++n) {
        arrays.emplace(std::string(1, char('A' + n)),
                       uniform({5}, op.sample_low, op.sample_high, 10 * n + std::size_t(op.op)));
    }
    return arrays;
}

/// Functions of complex numbers, which are not supported yet.
bool is_of_complex(Op op) {
    return op == Op::real || op == Op::imag || op == Op::conj || op == Op::angle;
}

/// `1.0*op` is a number where `op` is a bool.
std::string as_number(const OpInfo& op, std::string text) {
    if (op.type != TypeRule::boolean) return text;
    return "Y[i] := 1.0*(" + text.substr(8) + ")";
}

}  // namespace

TEST_CASE("every operation with a derivative agrees with central differences") {
    std::size_t compared = 0;
    for (const OpInfo& op : all_ops()) {
        CAPTURE(op.name);
        if (grad::dependence(op.op) == grad::Dependence::unknown) continue;
        if (is_of_complex(op.op)) continue;
        ++compared;
        const auto most = std::size_t(op.max_arity < 0 ? 3 : op.max_arity);
        for (auto arity = std::size_t(op.min_arity); arity <= most; ++arity) {
            check_gradients(as_number(op, text_of(op, arity)), sample(op, arity));
        }
    }
    CHECK(compared == all_ops().size() - 5);  // digamma, and functions of complex numbers
}

TEST_CASE("a derivative that the language lacks is an error that names the operation") {
    const Program program = parse_program("Y[i] := 2*digamma(A[i])");
    CHECK(error_text([&] { (void)grad::gradient(program, "A"); }) ==
          "gradient: the derivative of `digamma` is not a function of the language\n"
          "  | Y[i] := 2*digamma(A[i])\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: ask only for gradients of arguments that do not pass through it");
}

TEST_CASE("constant exponents need no logarithm") {
    check_gradients("Y[i] := A[i]^3 + A[i]^2 + A[i]^1 + A[i]^0", {{"A", uniform({6}, -2, 2, 1)}});
    check_gradients("Y[i] := A[i]^-2 + A[i]^2.5 + A[i]^0.5", {{"A", uniform({6}, 0.5, 2, 2)}});
}

TEST_CASE("where a function has no derivative the conventions of the language hold") {
    const auto gradient_at = [](const std::string& text, double x) {
        const Program program = parse_program(text);
        const Arrays at = {{"A", Array::full(DType::f64, {1}, x)},
                           {"dY", Array::full(DType::f64, {1}, 1.0)}};
        return evaluate(grad::gradient(program, "A"), at).at("dA").item();
    };
    CHECK(gradient_at("Y[i] := relu(A[i])", 0) == 0);
    CHECK(gradient_at("Y[i] := abs(A[i])", 0) == 0);
    CHECK(gradient_at("Y[i] := clamp(A[i], 0, 1)", 0) == 1);
    CHECK(gradient_at("Y[i] := clamp(A[i], 0, 1)", 1) == 1);
    CHECK(gradient_at("Y[i] := max(A[i], 2)", 2) == 0.5);
    CHECK(gradient_at("Y[i] := min(A[i], 2)", 2) == 0.5);
    CHECK(gradient_at("Y[i] := 2^A[i] * 0^(A[i] + 1)", 0) == 0);
    CHECK(gradient_at("Y[i] := hypot(A[i], 0)", 0) == 0);
}

TEST_CASE("a branch not taken does not leak what it would have computed") {
    const Arrays at = {{"A", Array::from<double>({0, 4}, {2})},
                       {"dY", Array::from<double>({1, 1}, {2})}};
    for (const char* text :
         {"Y[i] := A[i] > 0 ? log(A[i]) : 0", "Y[i] := A[i] > 0 ? 1/A[i]^2 : A[i]",
          "Y[i] := select(A[i] > 0, sqrt(A[i])*3, 0) + (A[i] > 1 ? 1/A[i] : 0)"}) {
        CAPTURE(text);
        const Arrays found = evaluate(grad::gradient(parse_program(text), "A"), at);
        for (const double value : found.at("dA").span<double>()) CHECK(std::isfinite(value));
    }
}
