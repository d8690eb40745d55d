// tests/support/golden.h – texts compared with files under tests/golden
#pragma once

#include <filesystem>
#include <string_view>

namespace ricci::tests {

/// The root of the source tree: RICCI_SOURCE_DIR, which ctest sets, or the current directory.
[[nodiscard]] std::filesystem::path source_root();

/// Checks that `text` is what `tests/golden/<name>.txt` says. A difference fails the case with the
/// first differing lines and the command that accepts the new text. With RICCI_ACCEPT=1 the file is
/// written instead; that is refused where CI is set.
void check_golden(std::string_view name, std::string_view text);

}  // namespace ricci::tests
