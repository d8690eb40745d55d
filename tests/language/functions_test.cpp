// tests/language/functions_test.cpp – derivatives as docs/language.md gives them
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/ops.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// The cells of a row of a table, without spaces around them.
std::vector<std::string> cells(const std::string& line) {
    static const std::regex cell(R"(\|\s*((?:[^|\\]|\\.)*?)\s*(?=\|))");
    std::vector<std::string> found;
    for (std::sregex_iterator each(line.begin(), line.end(), cell), end; each != end; ++each)
        found.push_back((*each)[1]);
    return found;
}

Array evenly(double low, double high) {
    Array x(DType::f64, {50});
    const auto values = x.span<double>();
    for (std::size_t n = 0; n < values.size(); ++n)
        values[n] = low + (high - low) * (double(n) + 0.5) / double(values.size());
    return x;
}

TEST_CASE("the derivatives of the function table are the gradients of the functions") {
    const char* const root = std::getenv("RICCI_SOURCE_DIR");
    REQUIRE(root != nullptr);
    std::ifstream file(std::string(root) + "/docs/language.md");
    REQUIRE(file.good());
    int compared = 0;
    bool is_inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("<!-- functions")) is_inside = true;
        if (line.starts_with("```")) is_inside = false;
        if (!is_inside || !line.starts_with("| `")) continue;
        const std::vector<std::string> row = cells(line);
        REQUIRE(row.size() == 7);
        const std::string function = row[0].substr(1, row[0].size() - 2);
        CAPTURE(function);
        const OpInfo* const op = find_function(function);
        REQUIRE(op != nullptr);
        const std::size_t end = row[5].find('`', 1);
        if (op->min_arity != 1 || !row[5].starts_with('`') || end == std::string::npos) continue;
        const std::string derivative =
            std::regex_replace(row[5].substr(1, end - 1), std::regex("\\bx\\b"), "x[i]");
        const Array x = evenly(op->sample_low, op->sample_high);
        const Array found = compile(format("y[i] := {}(x[i])", function), "f", Device::reference)
                                .grad("x")({{"x", x}, {"dy", Array::full(DType::f64, {50}, 1)}});
        const Array expected =
            compile(format("y[i] := 0*x[i] + {}", derivative), "f", Device::reference)(x);
        for (std::int64_t n = 0; n < 50; ++n)
            CHECK(found.at({n}) == doctest::Approx(expected.at({n})).epsilon(1e-12));
        ++compared;
    }
    CHECK(compared > 30);
}

}  // namespace
}  // namespace ricci::tests
