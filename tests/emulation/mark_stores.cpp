// tests/emulation/mark_stores.cpp – kernel text in which stores can be told from loads
#include "tests/emulation/mark_stores.h"

#include <cctype>
#include <set>

namespace ricci::emulation {
namespace {

bool is_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

class Marker {
  public:
    explicit Marker(std::string_view text) : text_(text) {}

    std::string run() {
        while (at_ < text_.size()) {
            if (!is_name(text_[at_])) {
                result_ += text_[at_++];
                continue;
            }
            const std::size_t begin = at_;
            while (at_ < text_.size() && is_name(text_[at_])) ++at_;
            name(text_.substr(begin, at_ - begin), begin);
        }
        return std::move(result_);
    }

  private:
    void name(std::string_view word, std::size_t begin) {
        result_ += word;
        if (word == "RC_KERNEL") written_.clear();
        if (word == "RC_OUT") written_.insert(word_after(closing(at_)));
        if (word == "RC_SHARED") written_.insert(word_after(text_.find(',', at_)));
        const bool is_member = begin > 0 && text_[begin - 1] == '.';
        if (is_member || at_ >= text_.size() || text_[at_] != '[' || !written_.contains(word))
            return;
        const std::size_t end = closing(at_);
        if (!is_assignment(end + 1)) return;
        result_ += ".put(";
        result_ += text_.substr(at_ + 1, end - at_ - 1);
        result_ += ')';
        at_ = end + 1;
    }

    /// The bracket that closes the one there.
    [[nodiscard]] std::size_t closing(std::size_t open) const {
        int depth = 0;
        for (std::size_t n = open; n < text_.size(); ++n) {
            if (text_[n] == '(' || text_[n] == '[') ++depth;
            if (text_[n] == ')' || text_[n] == ']') --depth;
            if (depth == 0) return n;
        }
        return text_.size();
    }
    [[nodiscard]] std::string_view word_after(std::size_t n) const {
        ++n;
        while (n < text_.size() && !is_name(text_[n])) ++n;
        std::size_t end = n;
        while (end < text_.size() && is_name(text_[end])) ++end;
        return text_.substr(n, end - n);
    }
    [[nodiscard]] bool is_assignment(std::size_t n) const {
        while (n < text_.size() && text_[n] == ' ') ++n;
        const std::string_view rest = text_.substr(n, 2);
        if (rest.size() < 2) return false;
        if (rest[0] == '=') return rest[1] != '=';
        return rest[1] == '=' && std::string_view("+-*|&").find(rest[0]) != std::string_view::npos;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string result_;
    std::set<std::string_view> written_;
};

}  // namespace

std::string mark_stores(std::string_view kernels) { return Marker(kernels).run(); }

}  // namespace ricci::emulation
