// tests/fuzz/replay_test.cpp – inputs that once failed, and every valid program as it stands
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "tests/fuzz/targets.h"
#include "tests/support/golden.h"

namespace ricci::tests {
namespace {

/// Calls `replay` with every file of tests/fuzz/regressions, or of the directory that
/// RICCI_FUZZ_INPUTS names.
template <class Replay>
void for_each_input(Replay replay) {
    const char* const given = std::getenv("RICCI_FUZZ_INPUTS");
    const std::filesystem::path directory =
        given != nullptr ? given : source_root() / "tests/fuzz/regressions";
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string input((std::istreambuf_iterator<char>(file)), {});
        CAPTURE(entry.path().filename().string());
        CHECK_NOTHROW(replay(input));
        ++count;
    }
    CHECK(count > 0);
}

}  // namespace

TEST_CASE("texts that once failed are read and printed") {
    for_each_input([](const std::string& input) { fuzz_language(input); });
}

TEST_CASE("programs that once failed are computed") {
    for_each_input([](const std::string& input) { fuzz_pipeline(input); });
}

}  // namespace ricci::tests
