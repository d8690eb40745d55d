// tests/support/golden.h – texts compared with files under tests/golden
#pragma once

#include <string_view>

namespace ricci::tests {

/// Checks that `text` is what `tests/golden/<name>.txt` says. A difference fails the case with the
/// first differing lines and the command that accepts the new text. With RICCI_ACCEPT=1 the file is
/// written instead; that is refused where CI is set.
void check_golden(std::string_view name, std::string_view text);

}  // namespace ricci::tests
