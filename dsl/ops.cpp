// dsl/ops.cpp – the table of operations, reducers and assignment operators
#include "dsl/ops.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "dsl/scalar_function.h"

namespace ricci {
namespace {

using enum TypeRule;
using P = Precedence;

constexpr int any_number = -1;

// One row each, in the order of the enumeration. The sample interval keeps away from poles, kinks
// and jumps by more than any step of finite differences, for every operand alike. A function with
// an operator (`pow`, `select`) may be written either way and is printed as the operator.
// clang-format off
constexpr OpInfo table[] = {
    // op                name         arity           precedence      type       sample
    {Op::add,         "+",           2, any_number, P::sum,         promoted,  -2.0, 2.0,  false},
    {Op::mul,         "*",           2, any_number, P::product,     promoted,  -2.0, 2.0,  false},
    {Op::neg,         "-",           1, 1,          P::unary,       promoted,  -2.0, 2.0,  false},
    {Op::div,         "/",           2, 2,          P::product,     floating,   0.5, 2.0,  false},
    {Op::floordiv,    "//",          2, 2,          P::product,     promoted,   0.5, 2.0,  false},
    {Op::mod,         "%",           2, 2,          P::product,     promoted,   0.5, 2.0,  false},
    {Op::pow,         "pow",         2, 2,          P::power,       promoted,   0.3, 2.0,  true},

    {Op::eq,          "==",          2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::ne,          "!=",          2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::lt,          "<",           2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::le,          "<=",          2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::gt,          ">",           2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::ge,          ">=",          2, 2,          P::comparison,  boolean,   -2.0, 2.0,  false},
    {Op::logical_and, "&&",          2, 2,          P::logical_and, boolean,   -2.0, 2.0,  false},
    {Op::logical_or,  "||",          2, 2,          P::logical_or,  boolean,   -2.0, 2.0,  false},
    {Op::logical_not, "!",           1, 1,          P::unary,       boolean,   -2.0, 2.0,  false},
    {Op::select,      "select",      3, 3,          P::select,      promoted,   0.2, 2.0,  true},

    {Op::exp,         "exp",         1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::expm1,       "expm1",       1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::log,         "log",         1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::log1p,       "log1p",       1, 1,          P::primary,     floating,  -0.6, 3.0,  true},
    {Op::log2,        "log2",        1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::log10,       "log10",       1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::sqrt,        "sqrt",        1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::rsqrt,       "rsqrt",       1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::cbrt,        "cbrt",        1, 1,          P::primary,     floating,   0.3, 3.0,  true},
    {Op::sin,         "sin",         1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::cos,         "cos",         1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::tan,         "tan",         1, 1,          P::primary,     floating,  -1.2, 1.2,  true},
    {Op::asin,        "asin",        1, 1,          P::primary,     floating,  -0.8, 0.8,  true},
    {Op::acos,        "acos",        1, 1,          P::primary,     floating,  -0.8, 0.8,  true},
    {Op::atan,        "atan",        1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::atan2,       "atan2",       2, 2,          P::primary,     floating,   0.3, 2.0,  true},
    {Op::sinh,        "sinh",        1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::cosh,        "cosh",        1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::tanh,        "tanh",        1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::asinh,       "asinh",       1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::acosh,       "acosh",       1, 1,          P::primary,     floating,   1.3, 3.0,  true},
    {Op::atanh,       "atanh",       1, 1,          P::primary,     floating,  -0.8, 0.8,  true},
    {Op::erf,         "erf",         1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::erfc,        "erfc",        1, 1,          P::primary,     floating,  -2.0, 2.0,  true},
    {Op::gamma,       "gamma",       1, 1,          P::primary,     floating,   0.5, 4.0,  true},
    {Op::lgamma,      "lgamma",      1, 1,          P::primary,     floating,   0.5, 4.0,  true},
    {Op::digamma,     "digamma",     1, 1,          P::primary,     floating,   0.5, 4.0,  true},
    {Op::sigmoid,     "sigmoid",     1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::softplus,    "softplus",    1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::relu,        "relu",        1, 1,          P::primary,     promoted,   0.2, 2.0,  true},
    {Op::leaky_relu,  "leaky_relu",  1, 2,          P::primary,     floating,   0.2, 2.0,  true},
    {Op::gelu,        "gelu",        1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::silu,        "silu",        1, 1,          P::primary,     floating,  -3.0, 3.0,  true},
    {Op::abs,         "abs",         1, 1,          P::primary,     component,  0.2, 2.0,  true},
    {Op::abs2,        "abs2",        1, 1,          P::primary,     component, -2.0, 2.0,  true},
    {Op::sign,        "sign",        1, 1,          P::primary,     promoted,   0.2, 2.0,  true},
    {Op::floor,       "floor",       1, 1,          P::primary,     promoted,   0.1, 0.9,  true},
    {Op::ceil,        "ceil",        1, 1,          P::primary,     promoted,   0.1, 0.9,  true},
    {Op::round,       "round",       1, 1,          P::primary,     promoted,   0.6, 1.4,  true},
    {Op::trunc,       "trunc",       1, 1,          P::primary,     promoted,   0.1, 0.9,  true},
    {Op::min,         "min",         2, 2,          P::primary,     promoted,  -2.0, 2.0,  true},
    {Op::max,         "max",         2, 2,          P::primary,     promoted,  -2.0, 2.0,  true},
    {Op::hypot,       "hypot",       2, 2,          P::primary,     floating,   0.3, 2.0,  true},
    {Op::fma,         "fma",         3, 3,          P::primary,     promoted,  -2.0, 2.0,  true},
    {Op::clamp,       "clamp",       3, 3,          P::primary,     promoted,  -2.0, 2.0,  true},
    {Op::isnan,       "isnan",       1, 1,          P::primary,     boolean,   -2.0, 2.0,  true},
    {Op::isinf,       "isinf",       1, 1,          P::primary,     boolean,   -2.0, 2.0,  true},
    {Op::isfinite,    "isfinite",    1, 1,          P::primary,     boolean,   -2.0, 2.0,  true},
    {Op::real,        "real",        1, 1,          P::primary,     component, -2.0, 2.0,  true},
    {Op::imag,        "imag",        1, 1,          P::primary,     component, -2.0, 2.0,  true},
    {Op::conj,        "conj",        1, 1,          P::primary,     promoted,  -2.0, 2.0,  true},
    {Op::angle,       "angle",       1, 1,          P::primary,     floating,   0.2, 2.0,  true},
};
// clang-format on

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < std::size(table); ++i)
        if (std::size_t(table[i].op) != i) return false;
    return std::size(table) == std::size_t(Op::angle) + 1;
}
static_assert(is_in_order(), "row n of the table is operation n");
static_assert(std::size(table) <= first_registered);

constexpr std::array<std::string_view, 12> reducer_names = {
    "sum", "prod",  "max",    "min",    "mean",      "any",
    "all", "count", "argmax", "argmin", "logsumexp", "norm"};
static_assert(reducer_names.size() == std::size_t(Reducer::norm) + 1);

constexpr std::array<std::string_view, 7> assign_names = {
    ":=", "=", "+=", "-=", "*=", "max=", "min="};
static_assert(assign_names.size() == std::size_t(Assign::min) + 1);

}  // namespace

const OpInfo& info(Op op) noexcept {
    return is_registered(op) ? registered_info(op) : table[std::size_t(op)];
}

const OpInfo* find_function(std::string_view name) noexcept {
    const auto* row = std::ranges::find_if(
        table, [&](const OpInfo& each) { return each.is_function && each.name == name; });
    return row == std::end(table) ? find_registered(name) : row;
}

std::span<const OpInfo> all_ops() noexcept { return table; }

std::span<const std::string_view> parameters(Op op) noexcept {
    static constexpr std::string_view of_leaky_relu[] = {"x", "slope"};
    static constexpr std::string_view of_clamp[] = {"x", "lo", "hi"};
    if (op == Op::leaky_relu) return of_leaky_relu;
    if (op == Op::clamp) return of_clamp;
    return {};
}

std::string_view name(Reducer reducer) noexcept { return reducer_names[std::size_t(reducer)]; }

std::optional<Reducer> reducer_from_name(std::string_view name) noexcept {
    const auto* found = std::ranges::find(reducer_names, name);
    if (found == reducer_names.end()) return std::nullopt;
    return Reducer(found - reducer_names.begin());
}

std::string_view name(Assign assign) noexcept { return assign_names[std::size_t(assign)]; }

}  // namespace ricci
