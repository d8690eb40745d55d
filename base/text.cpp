// base/text.cpp – plurals and suggestions
#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ricci {
namespace {

/// Longer words are no slips of the pen, and comparing them would cost a hostile program's square.
constexpr std::size_t longest_word = 64;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_but_for_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, lower, lower);
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from `a` to `b`.
/// Source: Damerau, CACM 7 (1964) 171; the restricted form (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> two_above(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        two_above = std::exchange(above, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substitution = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
        }
    }
    return row[b.size()];
}

}  // namespace

std::string plural(std::size_t count, std::string_view noun) {
    static constexpr std::array irregular = {
        std::pair<std::string_view, std::string_view>{"index", "indices"},
        std::pair<std::string_view, std::string_view>{"axis", "axes"},
    };
    if (count == 1) return format("1 {}", noun);
    for (const auto& [one, many] : irregular) {
        if (noun == one) return format("{} {}", count, many);
    }
    return format("{} {}s", count, noun);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.empty() || word.size() > longest_word) return {};
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::string best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > word.size() + limit) continue;
        const bool same_letters = equal_but_for_case(word, candidate);
        const std::size_t distance = same_letters ? 0 : edit_distance(word, candidate);
        // With nothing in common (`W` for `X`) a suggestion would be a guess.
        const bool is_near = same_letters || distance < std::max(word.size(), candidate.size());
        if (is_near && distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

}  // namespace ricci
