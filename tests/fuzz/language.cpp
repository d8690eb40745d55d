// tests/fuzz/language.cpp – any text: read, checked, printed, and read again
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/source.h"
#include "base/text.h"
#include "dsl/ast.h"
#include "dsl/canonical.h"
#include "dsl/einsum.h"
#include "dsl/parser.h"
#include "dsl/program.h"
#include "tests/fuzz/targets.h"

namespace ricci::tests {
namespace {

/// Errors are fine, but for those that are defects.
void refuse_internal(const Error& error) {
    if (error.kind() == ErrorKind::internal) throw std::logic_error(error.what());
}

/// What is printed is a program, unless it says that it is none, or is too long to be one.
void check_round_trip(const Program& program, std::string_view what) {
    std::string text;
    try {
        text = str(program);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::limit) return;
        throw std::logic_error(format("{}: not printed: {}", what, error.what()));
    }
    if (text.starts_with('#')) return;
    try {
        const std::string again = str(parse_program(text));
        if (again != text)
            throw std::logic_error(format("{}: printed\n{}\nthen\n{}", what, text, again));
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::limit) return;
        throw std::logic_error(format("{}: printed\n{}\n{}", what, text, error.what()));
    }
}

void try_einsum(const std::string& text) {
    try {
        const auto einsum =
            translate_einsum(make_source(text), {{2, 3}, {3, 1}}, {DType::f32, DType::i8});
        (void)parse_program(einsum.program);
    } catch (const Error& error) {
        refuse_internal(error);
    }
}

}  // namespace

void fuzz_language(std::string_view input) {
    const std::string text(input);
    if (text.size() < 64) try_einsum(text);
    try {
        (void)ast::str(ast::parse(make_source(text)));
        const Program program = parse_program(text);
        check_round_trip(program, "the program");
        check_round_trip(canonicalise(program), "its canonical form");
    } catch (const Error& error) {
        refuse_internal(error);
    }
}

}  // namespace ricci::tests
