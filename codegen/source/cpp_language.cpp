// codegen/source/cpp_language.cpp – the prelude's names in standard C++
#include "codegen/source/cpp_language.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/source/definitions.h"

namespace ricci::codegen::source {

namespace {

struct Spelling {
    std::string_view name;
    std::string_view in_cpp;
};

/// Names that the standard library has another one for; the rest is defined.
constexpr Spelling spellings[] = {
    {"RC_INLINE", "inline"},          {"rc_i8", "std::int8_t"},
    {"rc_i16", "std::int16_t"},       {"rc_i32", "std::int32_t"},
    {"rc_i64", "std::int64_t"},       {"rc_u8", "std::uint8_t"},
    {"rc_u16", "std::uint16_t"},      {"rc_u32", "std::uint32_t"},
    {"rc_u64", "std::uint64_t"},      {"rc_is_real", "std::is_floating_point"},
    {"rc_least", "std::min"},         {"rc_most", "std::max"},
    {"rc_atan2", "std::atan2"},       {"rc_hypot", "std::hypot"},
    {"rc_isnan", "std::isnan"},       {"rc_isinf", "std::isinf"},
    {"rc_isfinite", "std::isfinite"},
};
/// Those with a type behind.
constexpr Spelling typed_spellings[] = {
    {"rc_inf<float>()", "INFINITY"},
    {"rc_inf<double>()", "HUGE_VAL"},
    {"rc_inf<T>()", "std::numeric_limits<T>::infinity()"},
    {"rc_nan<float>()", "NAN"},
    {"rc_nan<double>()", "double(NAN)"},
    {"rc_nan<T>()", "std::numeric_limits<T>::quiet_NaN()"},
};
/// Functions of real numbers that operations are called with; those of integers have their type
/// behind, as `rc_abs<rc_i64>`, and stay.
constexpr Spelling real_spellings[] = {
    {"rc_exp", "std::exp"},     {"rc_expm1", "std::expm1"}, {"rc_log", "std::log"},
    {"rc_log1p", "std::log1p"}, {"rc_log2", "std::log2"},   {"rc_log10", "std::log10"},
    {"rc_sqrt", "std::sqrt"},   {"rc_cbrt", "std::cbrt"},   {"rc_sin", "std::sin"},
    {"rc_cos", "std::cos"},     {"rc_tan", "std::tan"},     {"rc_asin", "std::asin"},
    {"rc_acos", "std::acos"},   {"rc_atan", "std::atan"},   {"rc_sinh", "std::sinh"},
    {"rc_cosh", "std::cosh"},   {"rc_tanh", "std::tanh"},   {"rc_asinh", "std::asinh"},
    {"rc_acosh", "std::acosh"}, {"rc_atanh", "std::atanh"}, {"rc_erf", "std::erf"},
    {"rc_erfc", "std::erfc"},   {"rc_floor", "std::floor"}, {"rc_ceil", "std::ceil"},
    {"rc_round", "std::rint"},  {"rc_trunc", "std::trunc"}, {"rc_abs", "std::fabs"},
    {"rc_pow", "std::pow"},     {"rc_fma", "std::fma"},
};
/// What the definitions call without a room in front.
constexpr std::string_view functions_of_std[] = {
    "exp",   "expm1", "log",  "log1p", "log2",  "log10",  "sqrt",   "cbrt",    "sin",
    "cos",   "tan",   "asin", "acos",  "atan",  "sinh",   "cosh",   "tanh",    "asinh",
    "acosh", "atanh", "erf",  "erfc",  "fabs",  "floor",  "ceil",   "rint",    "trunc",
    "pow",   "fmod",  "fma",  "atan2", "hypot", "tgamma", "lgamma", "copysign"};

/// A header, and what stands in a text that needs it.
struct Header {
    std::string_view name;
    std::string_view mark;
};
constexpr Header headers[] = {
    {"algorithm", "std::copy_n("},
    {"algorithm", "std::max("},
    {"algorithm", "std::max<"},
    {"algorithm", "std::min("},
    {"algorithm", "std::min<"},
    {"cmath", "HUGE_VAL"},
    {"cmath", "INFINITY"},
    {"cmath", "NAN"},
    {"cmath", "std::isfinite("},
    {"cmath", "std::isinf("},
    {"cmath", "std::isnan("},
    {"cstdint", "std::int"},
    {"cstdint", "std::uint"},
    {"cstring", "std::memcpy("},
    {"limits", "std::numeric_limits<"},
    {"memory", "std::unique_ptr<"},
    {"new", "std::nothrow"},
    {"type_traits", "std::conditional_t<"},
    {"type_traits", "std::is_floating_point<"},
    {"type_traits", "std::is_signed_v<"},
};

/// What the operations stand on, without a GPU.
constexpr std::string_view machine = R"prelude(
template <class T> struct rc_limits {
    using bits = std::conditional_t<sizeof(T) == 8, rc_u64, rc_u32>;
    static constexpr T low = std::numeric_limits<T>::min();
    static constexpr T high = std::numeric_limits<T>::max();
    static constexpr bool has_sign = std::is_signed_v<T>;
};
// The greater and the smaller one, NaN where one is; +0 is greater than -0.
template <class T> RC_INLINE T rc_max_real(T a, T b) {
    if (a != a || b != b) return a + b;
    return a > b || (a == b && copysign(T(1), a) > 0) ? a : b;
}
template <class T> RC_INLINE T rc_min_real(T a, T b) {
    if (a != a || b != b) return a + b;
    return a < b || (a == b && copysign(T(1), a) < 0) ? a : b;
}
template <class T> RC_INLINE T rc_rsqrt(T x) { return 1 / sqrt(x); }

// Half precision: bits in memory, floats in arithmetic.
RC_INLINE unsigned rc_bits(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
RC_INLINE float rc_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
// The bits without the lowest `count`, rounded to nearest even.
RC_INLINE unsigned rc_cut(unsigned bits, unsigned count) {
    return (bits + (1U << (count - 1)) - 1 + ((bits >> count) & 1U)) >> count;
}
RC_INLINE unsigned short rc_f16_bits(float x) {
    const unsigned bits = rc_bits(x);
    const unsigned size = bits & 0x7fffffffU;
    unsigned result = 0;
    if (size > 0x7f800000U)
        result = 0x7fff;
    else if (size >= 0x47800000U)  // 2^16
        result = 0x7c00;
    else if (size >= 0x38800000U)  // 2^-14, the least normal number
        result = rc_cut(size - 0x38000000U, 13);
    else if (size >= 0x33000000U)  // 2^-25, half the least number
        result = rc_cut((size & 0x7fffffU) | 0x800000U, 126 - (size >> 23));
    return (unsigned short)(((bits >> 16) & 0x8000U) | result);
}
RC_INLINE float rc_f16_value(unsigned short half) {
    const unsigned sign = (half & 0x8000U) << 16;
    const unsigned size = half & 0x7fffU;
    if (size >= 0x7c00U) return rc_float(sign | 0x7f800000U | (size & 0x3ffU) << 13);
    if (size >= 0x400U) return rc_float(sign | ((size << 13) + 0x38000000U));
    const float small = float(size) * 0x1p-24f;
    return sign != 0 ? -small : small;
}
)prelude";

template <class Rows>
const Spelling* find(const Rows& rows, std::string_view name) {
    const auto* row = std::ranges::find(rows, name, &Spelling::name);
    return row == std::end(rows) ? nullptr : row;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

std::string spelled(std::string text, bool is_definition) {
    for (const Spelling& row : typed_spellings)
        text = replaced(std::move(text), row.name, row.in_cpp);
    for (const std::string_view nothing : {"RC_MEMBER ", "RC_UNROLL "})
        text = replaced(std::move(text), nothing, "");
    return respelled(text, [&](std::string_view name, std::string_view behind) {
        if (const Spelling* row = find(spellings, name)) return std::string(row->in_cpp);
        const bool is_call = behind.starts_with('(');
        if (const Spelling* row = find(real_spellings, name); row && is_call && !is_definition)
            return std::string(row->in_cpp);
        const bool is_std = is_definition && is_call &&
                            std::ranges::find(functions_of_std, name) != std::end(functions_of_std);
        return is_std ? format("std::{}", name) : std::string(name);
    });
}

/// Definitions that standard C++ leaves to be made.
std::vector<Definition> make_definitions() {
    std::vector<Definition> all = definitions(machine);
    const std::size_t own = all.size();
    for (Definition& definition : definitions(cuda::operations())) {
        const auto is_same = [&](const Definition& other) { return other.name == definition.name; };
        if (find(spellings, definition.name) != nullptr) continue;
        if (std::any_of(all.begin(), all.begin() + std::ptrdiff_t(own), is_same)) continue;
        all.push_back(std::move(definition));
    }
    for (Definition& definition : all) definition.text = spelled(std::move(definition.text), true);
    return all;
}

}  // namespace

CppText in_cpp(std::string_view functions) {
    static const std::vector<Definition> all = make_definitions();
    CppText result;
    result.functions = spelled(std::string(functions), false);
    result.definitions = str(needed(all, result.functions));
    return result;
}

std::string cpp_headers(std::string_view text) {
    std::set<std::string_view> found;
    for (const Header& header : headers)
        if (text.find(header.mark) != std::string_view::npos) found.insert(header.name);
    for (const std::string_view name : functions_of_std)
        if (text.find(format("std::{}(", name)) != std::string_view::npos) found.insert("cmath");
    std::string result;
    for (const std::string_view name : found) result += format("#include <{}>\n", name);
    return result;
}

std::string_view cpp_type(DType dtype) {
    switch (dtype) {
        case DType::boolean: return "bool";
        case DType::i8:      return "std::int8_t";
        case DType::i16:     return "std::int16_t";
        case DType::i32:     return "std::int32_t";
        case DType::i64:     return "std::int64_t";
        case DType::u8:      return "std::uint8_t";
        case DType::f16:
        case DType::bf16:
        case DType::u16:     return "std::uint16_t";
        case DType::u32:     return "std::uint32_t";
        case DType::u64:     return "std::uint64_t";
        case DType::f32:     return "float";
        case DType::f64:     return "double";
        case DType::none:
        case DType::c64:
        case DType::c128:    break;
    }
    RICCI_ASSERT(false, "an array of a type that C++ has none for");
}

}  // namespace ricci::codegen::source
