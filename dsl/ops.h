// dsl/ops.h – the operations of the language, one row each
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ricci {

/// Scalar operations. Sums and products are n-ary; `a - b` is `add(a, neg(b))`.
enum class Op : std::uint8_t {
    // arithmetic
    add,
    mul,
    neg,
    div,
    floordiv,
    mod,
    pow,
    // comparison and logic
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    logical_and,
    logical_or,
    logical_not,
    select,
    // functions
    exp,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sqrt,
    rsqrt,
    cbrt,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    atan2,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    erf,
    erfc,
    gamma,
    lgamma,
    digamma,
    sigmoid,
    softplus,
    relu,
    leaky_relu,
    gelu,
    silu,
    abs,
    abs2,
    sign,
    floor,
    ceil,
    round,
    trunc,
    min,
    max,
    hypot,
    fma,
    clamp,
    isnan,
    isinf,
    isfinite,
    real,
    imag,
    conj,
    angle,
};

/// Numbers from here on are functions that a user registered (dsl/scalar_function.h).
inline constexpr std::size_t first_registered = 128;
inline constexpr std::size_t max_registered = 127;
[[nodiscard]] constexpr bool is_registered(Op op) noexcept {
    return std::size_t(op) >= first_registered;
}

/// How the result type follows from the promoted operand type.
enum class TypeRule : std::uint8_t {
    promoted,   ///< the promoted type of the operands
    floating,   ///< the promoted type; integers and bool become f64
    boolean,    ///< bool
    component,  ///< the promoted type; a complex type becomes its real part's type
};

/// How the printer writes it; weakest first. A function call binds strongest.
enum class Precedence : std::uint8_t {
    select,
    logical_or,
    logical_and,
    comparison,
    sum,
    product,
    unary,
    power,
    primary
};

/// One operation. `name` is the function's name or the operator's text.
struct OpInfo {
    Op op{};
    std::string_view name;
    int min_arity = 0;
    int max_arity = 0;  ///< -1: any number from `min_arity`
    Precedence precedence{};
    TypeRule type{};
    double sample_low = 0;  ///< operands of tests are drawn from [sample_low, sample_high]
    double sample_high = 0;
    bool is_function = false;  ///< written `name(args)`
};

[[nodiscard]] const OpInfo& info(Op op) noexcept;
/// The row of the function of that name, registered ones included, or nothing.
[[nodiscard]] const OpInfo* find_function(std::string_view name) noexcept;
/// The language's own.
[[nodiscard]] std::span<const OpInfo> all_ops() noexcept;
/// The names by which a call may give the operands of a function, in order; none for most.
[[nodiscard]] std::span<const std::string_view> parameters(Op op) noexcept;

/// What a reducer does with the values of its domain.
enum class Reducer : std::uint8_t {
    sum,
    prod,
    max,
    min,
    mean,
    any,
    all,
    count,
    argmax,
    argmin,
    logsumexp,
    norm
};
[[nodiscard]] std::string_view name(Reducer reducer) noexcept;
[[nodiscard]] std::optional<Reducer> reducer_from_name(std::string_view name) noexcept;

/// How a statement combines its right side with the target: `:=`, `=`, `+=`, `-=`, `*=`, `max=`,
/// `min=`.
enum class Assign : std::uint8_t { define, set, add, sub, mul, max, min };
[[nodiscard]] std::string_view name(Assign assign) noexcept;

}  // namespace ricci
