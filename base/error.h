// base/error.h – the one exception: what is wrong, where, and what to type instead
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace ricci {

enum class ErrorKind : std::uint8_t {
    syntax,
    name,
    shape,
    range,
    type,
    gradient,
    limit,
    io,
    device,
    internal
};

[[nodiscard]] std::string_view name(ErrorKind kind) noexcept;

/// A marked place: the first label of a diagnosis is drawn with `^`, the others with `~`.
struct Label {
    Span span;
    std::string text;  ///< may be empty: the place is marked without a note
};

/// Everything an error says. Messages are lower case, without a full stop; names stand in
/// backticks; both facts are given with their numbers.
struct Diagnosis {
    ErrorKind kind = ErrorKind::internal;
    std::string message;
    SourcePtr source = nullptr;
    std::vector<Label> labels = {};
    std::string hint = {};
};

/// The text of a diagnosis:
/// ```
/// shape: index `k` has two extents, 32 and 64
///   | C[i,j] := A[i,k] * B[k,j]
///   |               ^      ~
///   |               |      64 here: dimension 0 of B [64, 16]
///   |               32 here: dimension 1 of A [8, 32]
///   = hint: slice one operand, or give the two dimensions different index names
/// ```
[[nodiscard]] std::string render(const Diagnosis& diagnosis);

class Error : public std::exception {
  public:
    explicit Error(Diagnosis diagnosis);

    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    [[nodiscard]] const Diagnosis& diagnosis() const noexcept { return diagnosis_; }
    [[nodiscard]] ErrorKind kind() const noexcept { return diagnosis_.kind; }

  private:
    Diagnosis diagnosis_;
    std::string text_;
};

/// The error with a place, where it shows none and there is one.
[[nodiscard]] Error with_place(const Error& error, const SourcePtr& source, Span span);

/// Runs `step`; errors of it that show no place show this one.
template <class Step>
void at_place(const SourcePtr& source, Span span, Step&& step) {
    try {
        step();
    } catch (const Error& error) {
        throw with_place(error, source, span);
    }
}

/// Raises `internal` with file and line. Use through RICCI_ASSERT.
[[noreturn]] void assertion_failed(std::string_view condition, std::string_view message,
                                   std::source_location where = std::source_location::current());

}  // namespace ricci

/// Checked in every build: a broken invariant of Ricci's own is an `internal` error, never a crash.
#define RICCI_ASSERT(condition, message)                    \
    do {                                                    \
        if (!(condition)) [[unlikely]]                      \
            ::ricci::assertion_failed(#condition, message); \
    } while (false)
