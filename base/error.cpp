// base/error.cpp – the kinds of error, the exception, broken invariants
#include "base/error.h"

#include <utility>

#include "base/text.h"

namespace ricci {
namespace {

/// The last two components of a path: `dsl/check.cpp`, wherever the source tree stands.
std::string_view short_path(std::string_view path) {
    const std::size_t last = path.rfind('/');
    if (last == std::string_view::npos || last == 0) return path;
    const std::size_t before = path.rfind('/', last - 1);
    return before == std::string_view::npos ? path : path.substr(before + 1);
}

/// The text with its middle left out where it is long: names and numbers may be a mebibyte.
std::string shortened(std::string text) {
    constexpr std::size_t most = 1000;
    constexpr std::size_t kept = 300;
    if (text.size() <= most) return text;
    const auto is_inside = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    std::size_t end = kept;
    while (is_inside(end)) --end;
    std::size_t begin = text.size() - kept;
    while (begin < text.size() && is_inside(begin)) ++begin;
    return format("{} … {}", text.substr(0, end), text.substr(begin));
}

Diagnosis with_short_texts(Diagnosis diagnosis) {
    diagnosis.message = shortened(std::move(diagnosis.message));
    diagnosis.hint = shortened(std::move(diagnosis.hint));
    for (Label& label : diagnosis.labels) label.text = shortened(std::move(label.text));
    return diagnosis;
}

}  // namespace

std::string_view name(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::syntax:   return "syntax";
        case ErrorKind::name:     return "name";
        case ErrorKind::shape:    return "shape";
        case ErrorKind::range:    return "range";
        case ErrorKind::type:     return "type";
        case ErrorKind::gradient: return "gradient";
        case ErrorKind::limit:    return "limit";
        case ErrorKind::io:       return "io";
        case ErrorKind::device:   return "device";
        case ErrorKind::internal: return "internal";
    }
    return "internal";
}

Error::Error(Diagnosis diagnosis)
    : diagnosis_(with_short_texts(std::move(diagnosis))), text_(render(diagnosis_)) {}

Error with_place(const Error& error, const SourcePtr& source, Span span) {
    const Diagnosis& known = error.diagnosis();
    const bool is_placed = known.source != nullptr && !known.labels.empty();
    if (is_placed || source == nullptr || span.is_empty()) return error;
    Diagnosis placed = known;
    placed.source = source;
    placed.labels = {{span, ""}};
    return Error(std::move(placed));
}

void assertion_failed(std::string_view condition, std::string_view message,
                      std::source_location where) {
    throw Error({.kind = ErrorKind::internal,
                 .message = format("{} (`{}` does not hold at {}:{})", message, condition,
                                   short_path(where.file_name()), where.line()),
                 .hint = "this is a defect of Ricci: please report it with the program"});
}

}  // namespace ricci
