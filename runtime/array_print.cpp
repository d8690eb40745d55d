// runtime/array_print.cpp – arrays as text: nested brackets, aligned, long ones shortened
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "runtime/array.h"
#include "runtime/element.h"

namespace ricci {
namespace {

// Everything is shown up to this many elements; beyond, each long dimension shows its two ends.
constexpr std::int64_t max_shown = 1000;
constexpr std::int64_t shown_at_each_end = 3;
// A row wider than this is broken into lines.
constexpr std::size_t line_width = 96;

/// NaN has no sign to speak of.
std::string real_number(double value, int digits) {
    return std::isnan(value) ? "nan" : format("{:.{}g}", value, digits);
}

std::string number(const Array& array, std::int64_t offset) {
    return runtime::with_any_element(
        array.dtype(), [&]<class T>(runtime::Element<T>) -> std::string {
            const T value = static_cast<const T*>(array.data())[offset];
            if constexpr (runtime::is_complex_number<T>) {
                const std::string imaginary = real_number(double{value.imag()}, 6);
                return format("{}{}{}i", real_number(double{value.real()}, 6),
                              imaginary.starts_with('-') ? "" : "+", imaginary);
            }
            if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
            if constexpr (std::floating_point<T>) return real_number(double{value}, 6);
            if constexpr (runtime::is_half<T>) return real_number(static_cast<double>(value), 5);
            if constexpr (std::integral<T>) return format("{}", value);
        });
}

/// The text of one array: first all shown numbers, so that they can be given one width.
class Printer {
  public:
    explicit Printer(const Array& array) : array_(array), is_shortened_(array.size() > max_shown) {}

    std::string text() {
        if (array_.rank() == 0) return number(array_, 0);
        collect(0, 0);
        for (const std::string& item : items_) width_ = std::max(width_, item.size());
        std::string out;
        write(0, out);
        return out;
    }

  private:
    [[nodiscard]] bool has_gap(std::size_t d) const {
        return is_shortened_ && array_.shape()[d] > 2 * shown_at_each_end;
    }
    /// Calls `visit(position)` for each shown position of a dimension, `gap()` in between.
    template <class Visit, class Gap>
    void for_shown(std::size_t d, Visit&& visit, Gap&& gap) const {
        const std::int64_t extent = array_.shape()[d];
        for (std::int64_t i = 0; i < extent; ++i) {
            if (has_gap(d) && i == shown_at_each_end) {
                gap();
                i = extent - shown_at_each_end;
            }
            visit(i);
        }
    }
    [[nodiscard]] bool is_innermost(std::size_t d) const { return d + 1 == array_.shape().size(); }

    void collect(std::size_t d, std::int64_t offset) {
        for_shown(
            d,
            [&](std::int64_t i) {
                const std::int64_t place = offset + i * array_.strides()[d];
                if (is_innermost(d))
                    items_.push_back(number(array_, place));
                else
                    collect(d + 1, place);
            },
            [] {});
    }

    void write(std::size_t d, std::string& out) {
        const std::string indent(d + 1, ' ');
        out += '[';
        bool is_first = true;
        std::size_t column = indent.size();
        const auto separate = [&](std::size_t item_width) {
            if (is_innermost(d)) {
                if (!is_first) out += ", ";
                column += item_width + 2;
                if (column > line_width && !is_first) {
                    out.pop_back();
                    out += '\n' + indent;
                    column = indent.size() + item_width + 2;
                }
            } else if (!is_first) {
                // A blank line between matrices, two between blocks of matrices, and so on.
                out += ',' + std::string(array_.shape().size() - d - 1, '\n') + indent;
            }
            is_first = false;
        };
        for_shown(
            d,
            [&](std::int64_t) {
                separate(width_);
                if (is_innermost(d))
                    out += format("{:>{}}", items_[next_++], width_);
                else
                    write(d + 1, out);
            },
            [&] {
                separate(3);
                out += "...";
            });
        out += ']';
    }

    const Array& array_;
    bool is_shortened_;
    std::vector<std::string> items_;
    std::size_t width_ = 0;
    std::size_t next_ = 0;
};

}  // namespace

std::string str(const Array& array) {
    if (array.is_empty_handle()) return "(no array)";
    return Printer(array).text();
}

}  // namespace ricci
