// tests/property/language_test.cpp – what printing and rewriting must keep, on random programs
#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "dsl/simplify.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

/// Checks that two canonical programs have the same values, up to the rounding of each.
void check_same_values(const RandomProgram& random, const Program& before, const Program& after) {
    const BoundProgram expected = ricci::bind(before, random.signature);
    const BoundProgram found = ricci::bind(after, random.signature);
    const auto estimates = runtime::evaluate_with_bounds(
        expected, random_arguments(expected, random.signature, random.seed));
    const auto values =
        runtime::evaluate(found, random_arguments(found, random.signature, random.seed));
    REQUIRE(values.size() == estimates.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
        const Comparison comparison = compare(values[n], estimates[n]);
        if (!comparison.holds())
            FAIL_CHECK(
                format("{}{}\nwritten again:\n{}", str(random), comparison.failure, str(after)));
    }
}

}  // namespace

namespace {

void check_printed_programs(const RandomForms& forms) {
    const auto check = [](const RandomProgram& random, const Program& program) {
        const std::string text = str(parse_program(random.text));
        const Program again = parse_program(text);
        if (str(again) != text)
            FAIL_CHECK(format("{}printed:\n{}\nprinted again:\n{}", str(random), text, str(again)));
        check_same_values(random, program, canonicalise(again));
    };
    for_each_program(program_count(), check, forms);
}

void check_printed_canonical_programs(const RandomForms& forms) {
    std::size_t refused = 0;
    const auto check = [&](const RandomProgram& random, const Program& program) {
        const std::string text = str(program);
        // A temporary over a range that begins at `max(0, size(A,0)-4)` has no subscript in the
        // language; the printer says so.
        if (text.starts_with("# not expressible"))
            ++refused;
        else
            check_same_values(random, program, canonicalise(parse_program(text)));
    };
    for_each_program(program_count(), check, forms);
    MESSAGE(refused, " canonical programs are not expressible in the language");
}

}  // namespace

TEST_CASE("a printed program parses back to one of the same values, printed the same") {
    check_printed_programs({});
}

TEST_CASE("a printed canonical program parses back to one of the same values") {
    check_printed_canonical_programs({});
}

TEST_CASE("programs of gathered and modified subscripts are printed so that they parse back") {
    check_printed_programs({.subscripts = true});
    check_printed_canonical_programs({.subscripts = true});
}

TEST_CASE("canonical form is stable") {
    for_each_program(program_count(), [](const RandomProgram& random, const Program& program) {
        const Program again = canonicalise(program);
        bool same = again.equations.size() == program.equations.size();
        for (std::size_t n = 0; same && n < again.equations.size(); ++n)
            same = again.equations[n].value == program.equations[n].value;
        if (!same) FAIL_CHECK(str(random));
    });
}

TEST_CASE("simplification keeps values") {
    for_each_program(program_count(), [](const RandomProgram& random, const Program& program) {
        check_same_values(random, program, simplify(program));
    });
}

}  // namespace ricci::tests
