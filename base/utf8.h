// base/utf8.h – characters of UTF-8 text
#pragma once

#include <cstddef>
#include <string_view>

namespace ricci {

/// Bytes of the UTF-8 character at `at`, or 0 when there is none.
[[nodiscard]] std::size_t character_length(std::string_view text, std::size_t at) noexcept;

}  // namespace ricci
