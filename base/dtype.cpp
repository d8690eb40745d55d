// base/dtype.cpp – element types: names, sizes, kinds, promotion
#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace ricci {
namespace {

enum class Kind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, real, complex };

struct Row {
    DType dtype;
    std::string_view name;
    Kind kind;
    std::size_t bytes;
};

// clang-format off
constexpr std::array rows = {
    Row{DType::none,    "none", Kind::none,             0},
    Row{DType::boolean, "bool", Kind::boolean,          1},
    Row{DType::i8,      "i8",   Kind::signed_integer,   1},
    Row{DType::i16,     "i16",  Kind::signed_integer,   2},
    Row{DType::i32,     "i32",  Kind::signed_integer,   4},
    Row{DType::i64,     "i64",  Kind::signed_integer,   8},
    Row{DType::u8,      "u8",   Kind::unsigned_integer, 1},
    Row{DType::u16,     "u16",  Kind::unsigned_integer, 2},
    Row{DType::u32,     "u32",  Kind::unsigned_integer, 4},
    Row{DType::u64,     "u64",  Kind::unsigned_integer, 8},
    Row{DType::f16,     "f16",  Kind::real,             2},
    Row{DType::bf16,    "bf16", Kind::real,             2},
    Row{DType::f32,     "f32",  Kind::real,             4},
    Row{DType::f64,     "f64",  Kind::real,             8},
    Row{DType::c64,     "c64",  Kind::complex,          8},
    Row{DType::c128,    "c128", Kind::complex,         16},
};
// clang-format on

const Row& row(DType dtype) noexcept { return rows[static_cast<std::size_t>(dtype)]; }

std::optional<DType> of(Kind kind, std::size_t bytes) {
    for (const Row& r : rows) {
        if (r.kind == kind && r.bytes == bytes) return r.dtype;
    }
    return std::nullopt;
}

/// The signed type that holds every value of both; there is none beyond 64 bits.
std::optional<DType> promote_signs(const Row& with_sign, const Row& without) {
    return of(Kind::signed_integer, std::max(with_sign.bytes, 2 * without.bytes));
}

}  // namespace

std::string_view name(DType dtype) noexcept { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
    for (const Row& r : rows) {
        if (r.name == name && r.dtype != DType::none) return r.dtype;
    }
    return std::nullopt;
}

std::size_t size_bytes(DType dtype) noexcept { return row(dtype).bytes; }

bool is_floating(DType dtype) noexcept { return row(dtype).kind == Kind::real; }

bool is_integer(DType dtype) noexcept {
    return row(dtype).kind == Kind::signed_integer || row(dtype).kind == Kind::unsigned_integer;
}

bool is_signed(DType dtype) noexcept {
    return row(dtype).kind == Kind::signed_integer || is_floating(dtype) || is_complex(dtype);
}

bool is_complex(DType dtype) noexcept { return row(dtype).kind == Kind::complex; }

DType component(DType complex) noexcept { return complex == DType::c128 ? DType::f64 : DType::f32; }

std::optional<DType> promote(DType a, DType b) noexcept {
    if (a == DType::none || b == DType::none) return std::nullopt;
    if (a == b) return a;
    // Kinds stand in the order of precedence; `high` has the later one.
    const bool in_order = row(a).kind <= row(b).kind;
    const Row& low = row(in_order ? a : b);
    const Row& high = row(in_order ? b : a);
    if (low.kind == high.kind) {
        // Only f16 and bf16 have one size and two meanings: f32 holds both.
        if (low.bytes == high.bytes) return DType::f32;
        return low.bytes < high.bytes ? high.dtype : low.dtype;
    }
    if (high.kind == Kind::unsigned_integer && low.kind == Kind::signed_integer) {
        return promote_signs(low, high);
    }
    if (high.kind == Kind::complex && low.kind == Kind::real) {
        return of(Kind::complex, std::max(high.bytes, 2 * low.bytes));
    }
    return high.dtype;
}

}  // namespace ricci
