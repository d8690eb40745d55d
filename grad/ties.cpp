// grad/ties.cpp – where the gradient of a largest or smallest value goes when several are equal
#include "grad/ties.h"

#include <algorithm>
#include <array>

namespace ricci::grad {
namespace {

constexpr std::array<std::string_view, 3> names = {"first", "even", "zero"};

}  // namespace

std::string_view name(Ties ties) noexcept { return names[static_cast<std::size_t>(ties)]; }

std::optional<Ties> ties_from_name(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Ties>(found - names.begin());
}

}  // namespace ricci::grad
