// tests/fuzz/targets.h – what is done with any bytes: they may be wrong, but nothing may go wrong
#pragma once

#include <string_view>

namespace ricci::tests {

/// Lexes, parses, checks and canonicalises the text, and prints it: what is printed reads back to a
/// program that prints the same. Throws: std::logic_error for what is a defect.
void fuzz_language(std::string_view text);

/// The text up to a NUL is a program; the bytes that follow choose extents from 0 to 5, types and
/// values. Binds it and its gradients, evaluates them by the reference and compiled for the CPU,
/// and compares. Throws: std::logic_error for what is a defect.
void fuzz_pipeline(std::string_view input);

}  // namespace ricci::tests
