// codegen/source/wrap.cpp – long lines cut where the least is torn apart
#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/source/entry.h"

namespace ricci::codegen::source {

namespace {

constexpr std::size_t widest_line = 100;
constexpr std::size_t narrowest_line = 60;  ///< what a cut should leave, where it can
constexpr std::size_t hanging = 4;          ///< columns that what follows stands further right

/// How well a line is cut behind the text: smaller is better; none where words belong together.
std::optional<int> badness(std::string_view before) {
    if (before.ends_with(';')) return 0;
    for (const std::string_view end : {",", " &&", " ||", " ?", " :", " =", " +=", " *="})
        if (before.ends_with(end)) return 1;
    for (const std::string_view end : {" +", " -", " *", " /", " %"})
        if (before.ends_with(end)) return 2;
    for (const std::string_view end : {" <", " >", " <=", " >=", " ==", " !=", ")"})
        if (before.ends_with(end)) return 3;
    return std::nullopt;
}

/// The space to cut at: outside quotes, in the fewest brackets, then the best one, then the last.
std::optional<std::size_t> cut(std::string_view line, std::size_t from) {
    std::optional<std::size_t> best;
    std::pair<int, int> least;
    int depth = 0;
    bool is_quoted = false;
    for (std::size_t at = 0; at < std::min(line.size(), widest_line + 1); ++at) {
        const char c = line[at];
        if (c == '"') is_quoted = !is_quoted;
        if (is_quoted) continue;
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (c != ' ' || at < from) continue;
        const std::optional<int> bad = badness(line.substr(0, at));
        // An operator stays behind its left operand.
        const bool is_followed =
            line.substr(at + 1) == "{" || badness(line.substr(0, line.find(' ', at + 1))) == 2;
        if (!bad || (*bad == 3 && is_followed)) continue;
        if (best && std::pair(depth, *bad) > least) continue;
        best = at;
        least = {depth, *bad};
    }
    return best;
}

void add(std::string& text, std::string line) {
    const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
    const std::string indent(margin + (line.ends_with('{') ? 2 * hanging : hanging), ' ');
    while (line.size() > widest_line) {
        std::optional<std::size_t> at = cut(line, narrowest_line);
        if (!at) at = cut(line, line.find_first_not_of(' ') + 1);
        if (!at) break;
        text += line.substr(0, *at) + '\n';
        line.replace(0, *at + 1, indent);
    }
    text += line + '\n';
}

}  // namespace

std::string wrapped(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (line.starts_with("//"))
            result += std::string(line) + '\n';
        else
            add(result, std::string(line));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

}  // namespace ricci::codegen::source
