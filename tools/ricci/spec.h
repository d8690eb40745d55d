// tools/ricci/spec.h – NAME=SPEC: what is given for an argument
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/dtype.h"
#include "base/shape.h"
#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::tool {

/// A .npy file.
struct FileSpec {
    std::string path;
};
/// A number, which adopts the type of what it meets.
struct NumberSpec {
    std::variant<std::int64_t, double> value;
    DType stored;  ///< of the array that is made of it where the program updates it
};
/// An array that is made: `512x784:f32:randn:7`.
struct MadeSpec {
    enum class Fill : std::uint8_t { randn, rand, zeros, ones, arange, randint };
    Shape shape;
    DType dtype = DType::f32;
    Fill fill = Fill::randn;
    std::int64_t low = 0;   ///< randint
    std::int64_t high = 0;  ///< randint
    std::uint64_t seed = 0;
};
using Spec = std::variant<FileSpec, NumberSpec, MadeSpec>;

/// Reads `file.npy`, a number, or `512x784[:dtype][:fill[:seed]]`; `dtype` is the type of arrays
/// that name none: f32 when it is absent, and for numbers that are updated f64 or i64.
/// Throws: `syntax` showing the text, `type` for an unknown dtype.
[[nodiscard]] Spec parse_spec(std::string_view text, std::optional<DType> dtype);

/// The array: loaded or made. A number that is updated becomes an array of rank 0.
[[nodiscard]] Array make_array(const Spec& spec, bool is_updated = false);
/// What a program is bound to, without making the array (files are loaded).
[[nodiscard]] ArgumentSpec argument_spec(const Spec& spec, bool is_updated = false);

}  // namespace ricci::tool
