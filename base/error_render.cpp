// base/error_render.cpp – the text of a diagnosis: source lines, markers, notes
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ricci {
namespace {

constexpr std::size_t widest_line = 100;   ///< longer source lines are shown in part
constexpr std::size_t context_width = 30;  ///< columns kept on each side of a marked place
constexpr std::size_t longest_mark = 40;   ///< columns of a marked place that are always kept
constexpr std::string_view tab = "    ";
constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";     // U+2026

/// A label within one line; `begin` and `end` are columns.
struct Mark {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t number = 0;  ///< position among the labels; the first is drawn with `^`
    std::string_view text;
};

/// A line as it is displayed: one printable character for each column.
struct DrawnLine {
    std::vector<std::string> cells;
    std::vector<std::size_t> column_of_byte;  ///< one more than the line has bytes
};

/// Control characters would reach the reader's terminal; C1 controls are two bytes of UTF-8.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return first < 0x20 || first == 0x7F;
    return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

DrawnLine draw(std::string_view line) {
    DrawnLine drawn;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t length = character_length(line, at);
        const std::string_view character = line.substr(at, std::max<std::size_t>(length, 1));
        drawn.column_of_byte.insert(drawn.column_of_byte.end(), character.size(),
                                    drawn.cells.size());
        if (character == "\t") {
            drawn.cells.insert(drawn.cells.end(), tab.size(), " ");
        } else if (length == 0 || is_control(character)) {
            drawn.cells.emplace_back(replacement);
        } else {
            drawn.cells.emplace_back(character);
        }
        at += character.size();
    }
    drawn.column_of_byte.push_back(drawn.cells.size());
    return drawn;
}

/// Replaces what is far from every mark by an ellipsis and moves the marks along.
void elide(DrawnLine& line, std::vector<Mark>& marks) {
    if (line.cells.size() <= widest_line) return;
    std::vector<bool> is_kept(line.cells.size() + 1, false);
    is_kept.back() = true;  // the column past the end, where a mark may stand
    for (const Mark& mark : marks) {
        const std::size_t from = mark.begin - std::min(mark.begin, context_width);
        const std::size_t to = std::min(mark.end, mark.begin + longest_mark) + context_width;
        for (std::size_t c = from; c < std::min(to, line.cells.size()); ++c) is_kept[c] = true;
    }
    std::vector<std::string> cells;
    std::vector<std::size_t> moved(is_kept.size());
    for (std::size_t c = 0; c < is_kept.size(); ++c) {
        if (!is_kept[c] && (c == 0 || is_kept[c - 1])) cells.emplace_back(ellipsis);
        moved[c] = is_kept[c] ? cells.size() : cells.size() - 1;
        if (is_kept[c] && c < line.cells.size()) cells.push_back(line.cells[c]);
    }
    line.cells = std::move(cells);
    for (Mark& mark : marks) {
        mark.begin = moved[mark.begin];
        mark.end = moved[mark.end];
    }
}

void write_over(std::string& row, std::size_t column, std::string_view text) {
    if (row.size() < column + text.size()) row.resize(column + text.size(), ' ');
    row.replace(column, text.size(), text);
}

/// The row of `^` and `~`, then a row for each note, the rightmost first, with connectors to the
/// notes that are still to come.
std::vector<std::string> marker_rows(std::vector<Mark> marks) {
    std::vector<std::string> rows(1);
    // The first label is drawn last: where places overlap, its `^` is what is seen.
    std::ranges::sort(marks, std::ranges::greater{}, &Mark::number);
    for (const Mark& mark : marks) {
        const std::size_t width =
            std::max<std::size_t>(1, mark.end - std::min(mark.end, mark.begin));
        write_over(rows[0], mark.begin, std::string(width, mark.number == 0 ? '^' : '~'));
    }
    std::ranges::sort(marks, [](const Mark& a, const Mark& b) {
        return std::pair(b.begin, a.number) < std::pair(a.begin, b.number);
    });
    for (const Mark& mark : marks) {
        if (mark.text.empty()) continue;
        std::string row;
        for (const Mark& other : marks) {
            if (other.begin < mark.begin && !other.text.empty()) write_over(row, other.begin, "|");
        }
        write_over(row, mark.begin, mark.text);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// The lines of a source with the labels that begin in them.
class Excerpt {
  public:
    /// `labels` are not empty and outlive the excerpt, as the source does.
    Excerpt(const Source& source, const std::vector<Label>& labels)
        : source_name_(source.name), first_(labels.data()) {
        // A place past the end is shown after the last word, not on the empty line below.
        text_ = source.text;
        text_ = text_.substr(0, text_.find_last_not_of(" \t\r\n") + 1);
        for (std::size_t i = 0; i < text_.size(); ++i) {
            if (text_[i] == '\n') line_begins_.push_back(i + 1);
        }
        for (const Label& label : labels) by_line_[line_of(label.span)].push_back(&label);
        if (is_numbered()) gutter_ = std::to_string(by_line_.rbegin()->first + 1).size();
    }

    [[nodiscard]] std::string indent() const { return std::string(gutter_, ' '); }

    [[nodiscard]] std::string str() const {
        std::string out;
        if (!source_name_.empty()) out += place(first_->span);
        for (const auto& [line, labels] : by_line_) out += str(line, labels);
        return out;
    }

  private:
    [[nodiscard]] bool is_numbered() const { return line_begins_.size() > 1; }

    [[nodiscard]] std::size_t line_of(Span span) const {
        const std::size_t begin = std::min<std::size_t>(span.begin, text_.size());
        const auto after = std::ranges::upper_bound(line_begins_, begin);
        return static_cast<std::size_t>(std::distance(line_begins_.begin(), after)) - 1;
    }

    [[nodiscard]] std::string_view line_text(std::size_t line) const {
        const std::size_t begin = line_begins_[line];
        std::string_view text = text_.substr(begin);
        text = text.substr(0, text.find('\n'));
        if (text.ends_with('\r')) text.remove_suffix(1);
        return text;
    }

    /// ` --> file.ricci:3:12`
    [[nodiscard]] std::string place(Span span) const {
        const std::size_t line = line_of(span);
        const std::size_t byte = std::min<std::size_t>(span.begin, text_.size());
        const DrawnLine drawn = draw(line_text(line).substr(0, byte - line_begins_[line]));
        return format("{} --> {}:{}:{}\n", indent(), source_name_, line + 1,
                      drawn.cells.size() + 1);
    }

    [[nodiscard]] std::string str(std::size_t line, const std::vector<const Label*>& labels) const {
        const std::string_view text = line_text(line);
        DrawnLine drawn = draw(text);
        const auto column = [&](std::size_t byte) {
            const std::size_t in_line = byte - std::min(byte, line_begins_[line]);
            return drawn.column_of_byte[std::min(in_line, text.size())];
        };
        std::vector<Mark> marks;
        marks.reserve(labels.size());
        for (const Label* label : labels) {
            marks.push_back({.begin = column(label->span.begin),
                             .end = column(label->span.end),
                             .number = static_cast<std::size_t>(label - first_),
                             .text = label->text});
        }
        elide(drawn, marks);
        const std::string number = is_numbered() ? std::to_string(line + 1) : std::string{};
        std::string out = format("{:>{}} | {}\n", number, gutter_, join(drawn.cells, ""));
        for (const std::string& row : marker_rows(std::move(marks))) {
            out += format("{} | {}\n", indent(), row);
        }
        return out;
    }

    std::string_view source_name_;
    std::string_view text_;
    std::vector<std::size_t> line_begins_ = {0};
    std::map<std::size_t, std::vector<const Label*>> by_line_;
    const Label* first_;
    std::size_t gutter_ = 1;  ///< columns of the line numbers
};

}  // namespace

std::string render(const Diagnosis& diagnosis) {
    std::string out = format("{}: {}\n", name(diagnosis.kind), diagnosis.message);
    std::string indent = " ";
    if (diagnosis.source != nullptr && !diagnosis.labels.empty()) {
        const Excerpt excerpt(*diagnosis.source, diagnosis.labels);
        out += excerpt.str();
        indent = excerpt.indent();
    }
    if (!diagnosis.hint.empty()) out += format("{} = hint: {}\n", indent, diagnosis.hint);
    out.pop_back();  // the last newline is the printer's affair
    return out;
}

}  // namespace ricci
