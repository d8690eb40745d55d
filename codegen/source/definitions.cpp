// codegen/source/definitions.cpp – a prelude as single definitions, of which a source takes its own
#include "codegen/source/definitions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace ricci::codegen::source {

namespace {

using Lines = std::vector<std::string>;

bool begins_name(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_ours(std::string_view name) { return name.starts_with("rc_") || name.starts_with("RC_"); }

/// The identifier that the text begins with, or nothing.
std::string_view leading_name(std::string_view text) {
    if (text.empty() || !begins_name(text[0])) return {};
    return text.substr(0, std::size_t(std::ranges::find_if_not(text, is_name) - text.begin()));
}

Lines split(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// Without spaces, and without the backslash that continues a macro, at the end.
std::string trimmed(std::string line) {
    const auto cut = [&] {
        while (line.ends_with(' ')) line.pop_back();
    };
    cut();
    if (line.ends_with('\\')) line.pop_back();
    cut();
    return line;
}

/// The parts between commas that stand in no parentheses, up to the closing one.
std::vector<std::string> list(std::string_view text) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
        if (c == ')' && depth == 0) break;
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && depth == 0)
            parts.emplace_back();
        else if (c != ' ' || !parts.back().empty())
            parts.back() += c;
    }
    return parts;
}

/// A macro that makes definitions.
struct Macro {
    std::vector<std::string> parameters;
    Lines body;

    [[nodiscard]] Lines with(const std::vector<std::string>& arguments) const {
        RICCI_ASSERT(arguments.size() == parameters.size(), "a macro of the prelude and its use");
        Lines result;
        for (const std::string& line : body) {
            std::string text = respelled(line, [&](std::string_view name, std::string_view) {
                const auto at = std::ranges::find(parameters, name);
                return at == parameters.end() ? std::string(name)
                                              : arguments[std::size_t(at - parameters.begin())];
            });
            for (std::size_t at = 0; (at = text.find("##", at)) != std::string::npos;)
                text.erase(at, 2);
            result.push_back(std::move(text));
        }
        return result;
    }
};

/// Reads the macro whose `#define` begins at line `at`, which moves past it.
Macro read_macro(const Lines& lines, std::size_t& at) {
    Macro macro;
    const std::string& head = lines[at];
    const std::size_t open = head.find('(');
    macro.parameters = list(std::string_view(head).substr(open + 1));
    Lines text{head.substr(head.find(')') + 1)};
    while (lines[at].ends_with('\\')) text.push_back(lines[++at]);
    ++at;
    std::size_t margin = std::string::npos;
    for (std::string& line : text) {
        line = trimmed(std::move(line));
        if (!line.empty()) margin = std::min(margin, line.find_first_not_of(' '));
    }
    for (std::string& line : text)
        if (!line.empty()) macro.body.push_back(line.substr(margin));
    return macro;
}

/// The lines with what passing macros make in the place of their use.
Lines expanded(const Lines& lines) {
    std::set<std::string, std::less<>> passing;
    for (const std::string& line : lines)
        if (line.starts_with("#undef ")) passing.insert(line.substr(7));
    std::map<std::string, Macro, std::less<>> macros;
    Lines result;
    for (std::size_t at = 0; at < lines.size();) {
        const std::string_view line = lines[at];
        if (line.starts_with("#define ")) {
            const std::string_view name = leading_name(line.substr(8));
            if (passing.contains(name)) {
                macros.emplace(name, read_macro(lines, at));
                continue;
            }
        }
        const auto used = macros.find(leading_name(line));
        ++at;
        if (line.starts_with("#undef ")) continue;
        if (used == macros.end()) {
            result.emplace_back(line);
            continue;
        }
        const std::string_view arguments = line.substr(used->first.size() + 1);
        for (std::string& made : used->second.with(list(arguments)))
            result.push_back(std::move(made));
        if (line.ends_with(';')) result.back() += ';';
    }
    return result;
}

/// The place behind the bracket that closes the one which opens at `at`.
std::size_t behind(std::string_view text, std::size_t at, char open, char close) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        depth += text[at] == open ? 1 : text[at] == close ? -1 : 0;
        if (depth == 0) return at + 1;
    }
    return text.size();
}

/// What the definition defines: the macro, the type, or the function in front of its parameters.
std::string defined(std::string_view text) {
    if (text.starts_with("#define ")) return std::string(leading_name(text.substr(8)));
    if (text.starts_with("template")) text.remove_prefix(behind(text, text.find('<'), '<', '>'));
    std::string last;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view name = leading_name(text.substr(at));
        if (text[at] == '<') {
            at = behind(text, at, '<', '>');
        } else if (text[at] == '(') {
            if (is_ours(last) && last != "RC_INLINE") return last;
            at = behind(text, at, '(', ')');  // of an attribute
        } else if (text[at] == '{' || text[at] == '=' || text[at] == ';' || text[at] == '[') {
            break;
        } else {
            if (is_ours(name)) last = name;
            at += std::max<std::size_t>(name.size(), 1);
        }
    }
    return last;
}

bool is_complete(const std::string& text, std::string_view line) {
    if (text.starts_with('#')) return !line.ends_with('\\');
    const auto count = [&](char c) { return std::ranges::count(text, c); };
    return count('{') == count('}') && count('(') == count(')') &&
           (line.ends_with(';') || line.ends_with('}'));
}

}  // namespace

std::string respelled(std::string_view text,
                      const std::function<std::string(std::string_view identifier,
                                                      std::string_view behind)>& spelling) {
    std::string result;
    while (!text.empty()) {
        std::size_t taken = 1;
        if (text.starts_with("//")) {
            taken = std::min(text.find('\n'), text.size());
            result += text.substr(0, taken);
        } else if (const std::string_view name = leading_name(text); !name.empty()) {
            taken = name.size();
            result += spelling(name, text.substr(taken));
        } else if (is_name(text[0])) {  // a number, with its suffix
            taken = std::size_t(std::ranges::find_if_not(text, is_name) - text.begin());
            result += text.substr(0, taken);
        } else {
            result += text[0];
        }
        text.remove_prefix(taken);
    }
    return result;
}

std::vector<Definition> definitions(std::string_view prelude) {
    std::vector<Definition> result;
    std::string comment;
    std::string text;
    for (const std::string& line : expanded(split(prelude))) {
        if (text.empty() && (line.empty() || line.starts_with("//"))) {
            if (line.empty())
                comment.clear();
            else
                comment += line + '\n';
            continue;
        }
        text += line + '\n';
        if (!is_complete(text, line)) continue;
        result.push_back({defined(text), comment + text});
        comment.clear();
        text.clear();
    }
    RICCI_ASSERT(text.empty(), format("the prelude ends inside a definition:\n{}", text));
    return result;
}

std::string str(const std::vector<Definition>& all) {
    std::string text;
    bool was_line = false;
    for (const Definition& definition : all) {
        const bool is_line = std::ranges::count(definition.text, '\n') == 1;
        if (!is_line || !was_line) text += '\n';
        text += definition.text;
        was_line = is_line;
    }
    return text;
}

std::vector<Definition> needed(const std::vector<Definition>& all, std::string_view text) {
    std::vector<bool> is_needed(all.size());
    std::vector<std::string> pending{std::string(text)};
    std::set<std::string, std::less<>> seen;
    while (!pending.empty()) {
        const std::string next = std::move(pending.back());
        pending.pop_back();
        (void)respelled(next, [&](std::string_view name, std::string_view) {
            if (!is_ours(name) || !seen.emplace(name).second) return std::string();
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (all[i].name != name) continue;
                is_needed[i] = true;
                pending.push_back(all[i].text);
            }
            return std::string();
        });
    }
    std::vector<Definition> result;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (is_needed[i]) result.push_back(all[i]);
    return result;
}

}  // namespace ricci::codegen::source
