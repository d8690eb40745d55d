// codegen/source/cpp_language.h – the prelude's names in standard C++
#pragma once

#include <string>
#include <string_view>

#include "base/dtype.h"

namespace ricci::codegen::source {

/// Functions written in the prelude's names as C++17: what the standard library has gets its name
/// there, and the definitions that they need beside.
struct CppText {
    std::string definitions;  ///< may be empty
    std::string functions;
};
[[nodiscard]] CppText in_cpp(std::string_view functions);

/// The `#include` lines of a text of which those are all.
[[nodiscard]] std::string cpp_headers(std::string_view text);

/// The type of an array's elements in an interface: sixteen bits for f16 and bf16.
[[nodiscard]] std::string_view cpp_type(DType dtype);

}  // namespace ricci::codegen::source
