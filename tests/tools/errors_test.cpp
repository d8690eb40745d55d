// tests/tools/errors_test.cpp – the catalogue of wrong programs, each with what is said of it
//
// wrong_programs.txt has a program a line, with its arguments behind ` # `; lines that begin with
// `#` are headings. tests/golden/errors.txt is the catalogue with all texts.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/runtime/temporary_folder.h"
#include "tests/support/golden.h"
#include "tests/tools/command.h"

namespace ricci::tests {
namespace {

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

}  // namespace

TEST_CASE("every wrong program is refused with its fact, its place and a hint") {
    std::ifstream file(source_root() / "tests/tools/wrong_programs.txt");
    REQUIRE(file);
    const TemporaryFolder folder;
    std::string catalogue;
    std::size_t programs = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) {
            catalogue += format("{}\n\n", line);
            continue;
        }
        CAPTURE(line);
        const std::size_t end = line.find("    # ");
        std::vector<std::string> command = {"run", line.substr(0, end)};
        if (end != std::string::npos)
            for (const std::string& word : words(line.substr(end + 6))) command.push_back(word);
        const Outcome result = ricci_command(folder.path().string(), command);
        CHECK(result.status == 1);
        CHECK(result.out.empty());
        CHECK(result.err.find("  = hint: ") != std::string::npos);
        catalogue += format("{}\n{}\n", line, result.err);
        ++programs;
    }
    CHECK(programs >= 80);
    check_golden("errors", catalogue);
}

}  // namespace ricci::tests
