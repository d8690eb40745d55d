// base/source.cpp – program text and places in it
#include "base/source.h"

#include <algorithm>
#include <utility>

namespace ricci {

Span join(Span a, Span b) noexcept {
    return {.begin = std::min(a.begin, b.begin), .end = std::max(a.end, b.end)};
}

SourcePtr make_source(std::string text, std::string name) {
    return std::make_shared<const Source>(Source{.name = std::move(name), .text = std::move(text)});
}

}  // namespace ricci
