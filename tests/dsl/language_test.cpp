// tests/dsl/language_test.cpp – what docs/language.md shows is what the language does
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/ops.h"
#include "dsl/program.h"

using namespace ricci;

namespace {

std::vector<std::string> page_lines() {
    const char* const root = std::getenv("RICCI_SOURCE_DIR");
    REQUIRE(root != nullptr);
    std::ifstream file(std::string(root) + "/docs/language.md");
    REQUIRE(file.good());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// The blocks fenced as `ricci`.
std::vector<std::string> examples() {
    std::vector<std::string> found;
    bool is_inside = false;
    for (const std::string& line : page_lines()) {
        if (line == "```ricci") {
            is_inside = true;
            found.emplace_back();
        } else if (line == "```") {
            is_inside = false;
        } else if (is_inside) {
            found.back() += line + "\n";
        }
    }
    return found;
}

std::string type_name(TypeRule rule) {
    switch (rule) {
        case TypeRule::promoted:  return "promoted";
        case TypeRule::floating:  return "floating";
        case TypeRule::boolean:   return "boolean";
        case TypeRule::component: return "component";
    }
    return "?";
}

std::string operands(const OpInfo& row) {
    if (row.max_arity == row.min_arity) return format("{}", row.min_arity);
    return row.max_arity < 0 ? format("{} or more", row.min_arity)
                             : format("{} or {}", row.min_arity, row.max_arity);
}

}  // namespace

TEST_CASE("the examples of the language page are programs, and print as such") {
    const auto all = examples();
    CHECK(all.size() >= 8);
    for (const std::string& example : all) {
        CAPTURE(example);
        const std::string printed = str(parse_program(example));
        CHECK_FALSE(printed.starts_with('#'));
        CHECK(str(parse_program(printed)) == printed);
    }
}

TEST_CASE("the function table of the language page is the table of operations") {
    const auto lines = page_lines();
    std::vector<std::string> shown;
    bool is_inside = false;
    for (const std::string& line : lines) {
        if (line.starts_with("<!-- functions")) is_inside = true;
        if (line.starts_with("```")) is_inside = false;
        if (is_inside && line.starts_with("| `")) shown.push_back(line);
    }
    std::size_t n = 0;
    for (const OpInfo& row : all_ops()) {
        if (!row.is_function) continue;
        REQUIRE(n < shown.size());
        const std::string expected =
            format("| `{}` | {} | {} | ", row.name, operands(row), type_name(row.type));
        CHECK(shown[n].substr(0, expected.size()) == expected);
        ++n;
    }
    CHECK(n == shown.size());
}
