// codegen/source/definitions.h – a prelude as single definitions, of which a source takes its own
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ricci::codegen::source {

/// A function, a type or a macro, with the comment in front of it.
struct Definition {
    std::string name;
    std::string text;
};

/// The definitions of a prelude in order. Those that a macro makes, which the prelude undefines in
/// the end, are written out.
[[nodiscard]] std::vector<Definition> definitions(std::string_view prelude);

/// Their text, each behind an empty line but for those of one line without a comment.
[[nodiscard]] std::string str(const std::vector<Definition>& all);

/// Those that the text names, and those that these name in turn, in order.
[[nodiscard]] std::vector<Definition> needed(const std::vector<Definition>& all,
                                             std::string_view text);

/// The text with every identifier outside comments replaced by what `spelling` makes of it; the
/// rest of the text behind the identifier is given, too.
[[nodiscard]] std::string respelled(
    std::string_view text,
    const std::function<std::string(std::string_view identifier, std::string_view behind)>&
        spelling);

}  // namespace ricci::codegen::source
