// tests/support/golden.cpp – texts compared with files under tests/golden
#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"

namespace ricci::tests {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t lines_shown = 5;

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

fs::path golden_path(std::string_view name) {
    return source_root() / "tests" / "golden" / format("{}.txt", name);
}

std::optional<std::string> read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

void write(const fs::path& path, std::string_view text) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text;
    REQUIRE_MESSAGE(file.good(), format("cannot write {}", path.string()));
}

std::vector<std::string_view> lines(std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        found.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
}

/// The lines from the first one that differs: `-` what the file says, `+` what there is now.
std::string difference(std::string_view expected, std::string_view actual) {
    const auto old_lines = lines(expected);
    const auto new_lines = lines(actual);
    const auto first = std::ranges::mismatch(old_lines, new_lines);
    const auto at = static_cast<std::size_t>(first.in1 - old_lines.begin());
    std::string out = format("first difference in line {}:\n", at + 1);
    for (std::size_t i = at; i < std::min(at + lines_shown, old_lines.size()); ++i) {
        out += format("  - {}\n", old_lines[i]);
    }
    for (std::size_t i = at; i < std::min(at + lines_shown, new_lines.size()); ++i) {
        out += format("  + {}\n", new_lines[i]);
    }
    return out;
}

}  // namespace

fs::path source_root() {
    const char* root = std::getenv("RICCI_SOURCE_DIR");
    return root != nullptr ? root : ".";
}

void check_golden(std::string_view name, std::string_view text) {
    std::string actual(text);
    if (!actual.ends_with('\n')) actual += '\n';  // files end with a newline, texts need not
    const fs::path path = golden_path(name);
    const std::optional<std::string> expected = read(path);
    if (expected == actual) {
        CHECK(true);
        return;
    }
    if (is_set("RICCI_ACCEPT")) {
        REQUIRE_MESSAGE(!is_set("CI"), "RICCI_ACCEPT is refused where CI is set");
        write(path, actual);
        MESSAGE(format("accepted {}", path.string()));
        return;
    }
    const std::string what =
        expected ? difference(*expected, actual) : format("there is no such file yet\n{}", actual);
    FAIL_CHECK(format("tests/golden/{}.txt: {}  to accept: RICCI_ACCEPT=1 ctest -R '{}'", name,
                      what, doctest::getContextOptions()->currentTest->m_name));
}

}  // namespace ricci::tests
