// base/text.h – formatting: the only header that includes fmt
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ricci {

using fmt::format;

/// `1 item`, `2 items`.
[[nodiscard]] std::string plural(std::size_t count, std::string_view noun);

/// The candidate nearest to `word` by edit distance, or empty when none is near enough to suggest.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// Whether the word is one of these.
[[nodiscard]] bool contains(const std::vector<std::string>& words, std::string_view word);

/// The items with `separator` between them.
template <class Range>
std::string join(const Range& items, std::string_view separator) {
    return fmt::format("{}", fmt::join(items, separator));
}

}  // namespace ricci
