// grad/ties.h – where the gradient of a largest or smallest value goes when several are equal
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ricci::grad {

/// Of reductions `max` and `min`, and of `max=` and `min=`. A NaN among the values is the extreme
/// one; several count as equal. The operations `max(a, b)` and `min(a, b)` give half each.
enum class Ties : std::uint8_t {
    first,  ///< the first in the order of the indices takes all; of an update the old value
    even,   ///< equal ones share equally
    zero,   ///< no element takes any where there are several
};

/// `first`, `even`, `zero`.
[[nodiscard]] std::string_view name(Ties ties) noexcept;
[[nodiscard]] std::optional<Ties> ties_from_name(std::string_view name) noexcept;

}  // namespace ricci::grad
