// tests/property/language_test.cpp – what printing and rewriting must keep, on random programs
#include <algorithm>

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
void check_same_values(const RandomProgram& random, const Program& before,
                       const RandomProgram& again, const Program& after) {
    const BoundProgram expected = ricci::bind(before, random.signature);
    const BoundProgram found = ricci::bind(after, again.signature);
    const auto estimates = runtime::evaluate_with_bounds(
        expected, random_arguments(expected, random.signature, random.seed));
    const auto values =
        runtime::evaluate(found, random_arguments(found, again.signature, random.seed));
    REQUIRE(values.size() == estimates.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
        const Comparison comparison = compare(values[n], estimates[n]);
        if (!comparison.holds())
            FAIL_CHECK(
                format("{}{}\nwritten again:\n{}", str(random), comparison.failure, str(after)));
    }
}

void check_same_values(const RandomProgram& random, const Program& before, const Program& after) {
    check_same_values(random, before, random, after);
}

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

bool has_empty_array(const Signature& signature) {
    return std::ranges::any_of(
        signature, [](const auto& entry) { return element_count(entry.second.shape) == 0; });
}

/// A range that is written may not be empty, one that follows may.
bool has_empty_range(const Program& program, const Signature& signature) {
    try {
        (void)ricci::bind(program, signature);
    } catch (const Error& error) {
        const std::string& message = error.diagnosis().message;
        if (error.kind() != ErrorKind::range || !message.starts_with("the range of ") ||
            message.find(" is empty: ") == std::string::npos)
            throw;
        return true;
    }
    return false;
}

/// A derivative and what it is printed as, in f64: types are no part of the text.
void check_printed_derivatives(const RandomForms& forms) {
    std::size_t compared = 0;
    std::size_t refused = 0;
    std::size_t empty = 0;
    const auto check = [&](const RandomProgram& random, const RandomDerivative& derivative) {
        if (random.is_large || has_empty_array(derivative.signature)) return;
        const std::string text = str(derivative.program);
        if (text.starts_with("# not expressible")) {
            ++refused;
            return;
        }
        const Program again = parse_program(text);
        ++compared;
        RandomProgram derived = random;
        derived.signature.clear();
        for (const auto& [name, spec] : derivative.signature) {
            ArgumentSpec& given = derived.signature[name];
            given = spec;
            if (is_floating(given.dtype)) given.dtype = DType::f64;
        }
        const Program canonical = canonicalise(again);
        RandomProgram printed = derived;
        std::erase_if(printed.signature,
                      [&](const auto& entry) { return !again.argument(entry.first); });
        if (has_empty_range(canonical, printed.signature)) {
            ++empty;
            return;
        }
        // Of 0 alone the type is not known.
        const BoundProgram bound = ricci::bind(canonical, printed.signature);
        if (is_integer(bound.at(bound.outputs.back()).dtype)) return;
        constexpr double most_points = 1e6;  // each is evaluated twice
        if (points(bound) > most_points) return;
        check_same_values(derived, derivative.program, printed, canonical);
    };
    for_each_gradient(program_count() / 6, check, forms);
    for_each_tangent(program_count() / 6, check, forms);
    MESSAGE(compared, " derivatives compared, ", refused, " are not expressible in the language, ",
            empty, " have empty ranges");
    CHECK(compared > 10 * refused);
    CHECK(compared > 1000 * empty);
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

TEST_CASE("printed derivatives parse back to programs of the same values") {
    check_printed_derivatives({});
    check_printed_derivatives({.subscripts = true});
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
