// base/source.h – program text and places in it
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ricci {

/// A half-open range of bytes of a source text.
struct Span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool is_empty() const noexcept { return begin == end; }
    bool operator==(const Span&) const noexcept = default;
};

/// The smallest span that covers both.
[[nodiscard]] Span join(Span a, Span b) noexcept;

/// A text that errors may point into. Shared: an error outlives the program that raised it.
struct Source {
    std::string name;  ///< file name, or empty for text given directly
    std::string text;
};
using SourcePtr = std::shared_ptr<const Source>;

[[nodiscard]] SourcePtr make_source(std::string text, std::string name = {});

}  // namespace ricci
