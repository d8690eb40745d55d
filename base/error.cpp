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

Error::Error(Diagnosis diagnosis) : diagnosis_(std::move(diagnosis)), text_(render(diagnosis_)) {}

void assertion_failed(std::string_view condition, std::string_view message,
                      std::source_location where) {
    throw Error({.kind = ErrorKind::internal,
                 .message = format("{} (`{}` does not hold at {}:{})", message, condition,
                                   short_path(where.file_name()), where.line()),
                 .hint = "this is a defect of Ricci: please report it with the program"});
}

}  // namespace ricci
