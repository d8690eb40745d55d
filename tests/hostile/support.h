// tests/hostile/support.h – what becomes of a program, how long it takes, and what it says
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ricci::tests {

/// Runs `step`, which is to succeed or to throw an Error that is no `internal` one, with a text
/// that a person can read, in some two seconds and a gigabyte (more where sanitizers watch). Fails
/// the case otherwise. Gives the error's first line, or an empty text. `what` names the input.
std::string survives(std::string_view what, const std::function<void()>& step);

/// Parses, checks, and brings the program into canonical form.
void understand(const std::string& text);

/// The programs of tests/hostile/programs.txt, and the examples of docs/language.md.
[[nodiscard]] const std::vector<std::string>& valid_programs();

/// `count` times the text.
[[nodiscard]] std::string repeated(std::string_view text, std::size_t count);

}  // namespace ricci::tests
