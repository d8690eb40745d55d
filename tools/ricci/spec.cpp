// tools/ricci/spec.cpp – reading a SPEC and making the array it stands for
#include "tools/ricci/spec.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"

namespace ricci::tool {
namespace {

using Fill = MadeSpec::Fill;

constexpr std::array fills = {
    std::pair{"randn", Fill::randn},   std::pair{"rand", Fill::rand},
    std::pair{"zeros", Fill::zeros},   std::pair{"ones", Fill::ones},
    std::pair{"arange", Fill::arange}, std::pair{"randint", Fill::randint}};
constexpr std::string_view forms =
    "a .npy file, a number, or a shape such as 512x784, 784:f32, 8x8:f64:randn:1";

[[noreturn]] void fail(std::string_view text, std::string message,
                       std::string hint = std::string(forms)) {
    throw Error({.kind = ErrorKind::syntax,
                 .message = format("`{}` {}", text, message),
                 .hint = std::move(hint)});
}

/// The whole text as a number of that kind, or nothing.
template <class T>
std::optional<T> whole_number(std::string_view text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || stop != end || text.empty()) return std::nullopt;
    return value;
}

std::optional<Spec> parse_number(std::string_view text, std::optional<DType> dtype) {
    // from_chars knows no leading plus.
    const bool has_plus = text.size() > 1 && text.front() == '+' && text[1] != '-';
    const std::string_view digits = has_plus ? text.substr(1) : text;
    if (const auto integer = whole_number<std::int64_t>(digits))
        return NumberSpec{*integer, dtype.value_or(DType::i64)};
    if (const auto real = whole_number<double>(digits))
        return NumberSpec{*real, dtype.value_or(DType::f64)};
    return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::optional<Shape> parse_shape(std::string_view text) {
    Shape shape;
    for (const std::string_view part : split(text, 'x')) {
        const auto extent = whole_number<std::int64_t>(part);
        if (!extent || *extent < 0) return std::nullopt;
        shape.push_back(*extent);
    }
    return shape;
}

/// Takes `randn`, `zeros`, … or `randint(lo,hi)`; false when it is none of these.
bool parse_fill(std::string_view text, std::string_view part, MadeSpec& made) {
    const std::string_view word = part.substr(0, part.find('('));
    for (const auto& [name, fill] : fills) {
        if (word != name) continue;
        made.fill = fill;
        const std::string_view rest = part.substr(word.size());
        if (fill != Fill::randint) return rest.empty();
        const bool is_closed = rest.size() > 2 && rest.ends_with(')');
        const auto bounds = is_closed ? split(rest.substr(1, rest.size() - 2), ',')
                                      : std::vector<std::string_view>{};
        const auto low = bounds.size() == 2 ? whole_number<std::int64_t>(bounds[0]) : std::nullopt;
        const auto high = bounds.size() == 2 ? whole_number<std::int64_t>(bounds[1]) : std::nullopt;
        if (!low || !high)
            fail(text, "has `randint` without its two bounds", "as in 8x8:f32:randint(0,10)");
        if (*low >= *high)
            fail(text, format("draws integers from {} to below {}: there are none", *low, *high),
                 "the first bound is below the second, as in 8x8:f32:randint(0,10)");
        made.low = *low;
        made.high = *high;
        return true;
    }
    return false;
}

/// The integers of `randint` are some that the type has.
void require_room(std::string_view text, const MadeSpec& made) {
    if (!is_integer(made.dtype)) return;
    const int bits = 8 * static_cast<int>(size_bytes(made.dtype));
    const bool has_sign = is_signed(made.dtype);
    const bool fits_below =
        has_sign ? bits == 64 || made.low >= -(std::int64_t{1} << (bits - 1)) : made.low >= 0;
    const int digits = has_sign ? bits - 1 : bits;
    const bool fits_above = digits >= 63 || made.high <= std::int64_t{1} << digits;
    if (!fits_below || !fits_above)
        fail(text,
             format("has numbers from {} to below {}, which {} does not hold", made.low, made.high,
                    name(made.dtype)),
             "choose a wider type, such as i64");
}

Spec parse_made(std::string_view text, DType dtype) {
    std::vector<std::string_view> parts = split(text, ':');
    auto shape = parse_shape(parts.front());
    if (!shape) fail(text, "is not a value for an argument");
    MadeSpec made{.shape = std::move(*shape), .dtype = dtype};
    std::size_t next = 1;
    if (next < parts.size()) {
        if (const auto named = dtype_from_name(parts[next])) {
            made.dtype = *named;
            ++next;
        }
    }
    bool has_fill = false;
    if (next < parts.size() && parse_fill(text, parts[next], made)) {
        has_fill = true;
        if (made.fill == Fill::randint) require_room(text, made);
        ++next;
    }
    if (has_fill && next < parts.size()) {
        const auto seed = whole_number<std::uint64_t>(parts[next]);
        if (!seed) fail(text, format("has the seed `{}`, not a whole number", parts[next]));
        made.seed = *seed;
        ++next;
    }
    if (next < parts.size()) {
        fail(text,
             format("has `{}`, which is no {}", parts[next],
                    has_fill ? "part of a shape" : "type and no way to fill an array"),
             "types are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128; arrays are "
             "filled by randn, rand, zeros, ones, arange or "
             "randint(lo,hi)");
    }
    return made;
}

}  // namespace

Spec parse_spec(std::string_view text, std::optional<DType> dtype) {
    if (text.ends_with(".npy")) return FileSpec{std::string(text)};
    if (const auto number = parse_number(text, dtype)) return *number;
    return parse_made(text, dtype.value_or(DType::f32));
}

Array make_array(const Spec& spec, bool is_updated) {
    return match(
        spec, [](const FileSpec& file) { return load_npy(file.path); },
        [&](const NumberSpec& number) {
            const Array array = std::visit([](auto value) { return Array(value); }, number.value);
            return is_updated ? array.to(number.stored) : array;
        },
        [](const MadeSpec& made) {
            switch (made.fill) {
                case Fill::randn:  return Array::randn(made.dtype, made.shape, made.seed);
                case Fill::rand:   return Array::rand(made.dtype, made.shape, made.seed);
                case Fill::zeros:  return Array::zeros(made.dtype, made.shape);
                case Fill::ones:   return Array::full(made.dtype, made.shape, 1);
                case Fill::arange: return Array::arange(made.dtype, made.shape);
                case Fill::randint:
                    return Array::randint(is_complex(made.dtype) ? DType::f64 : made.dtype,
                                          made.shape, made.low, made.high, made.seed)
                        .to(made.dtype);
            }
            return Array();
        });
}

ArgumentSpec argument_spec(const Spec& spec, bool is_updated) {
    ArgumentSpec result;
    match(
        spec,
        [&](const FileSpec& file) {
            const Array array = load_npy(file.path);
            result.dtype = array.dtype();
            result.shape = array.shape();
            result.strides = array.strides();
        },
        [&](const NumberSpec& number) {
            result.is_weak = !is_updated;
            result.dtype = number.value.index() == 0 ? DType::i64 : DType::f64;
            if (is_updated) result.dtype = number.stored;
            std::visit([&](auto value) { result.value = value; }, number.value);
        },
        [&](const MadeSpec& made) {
            result.dtype = made.dtype;
            result.shape = made.shape;
        });
    return result;
}

}  // namespace ricci::tool
