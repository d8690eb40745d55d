// base/integer.h – division of integers that rounds down or up
#pragma once

#include <cstdint>

namespace ricci {

/// floor(a / b), b not 0.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
/// ceil(a / b), b not 0.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
    return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

}  // namespace ricci
