// tests/support/random_program.h – seeded random programs in the language, with their arguments
#pragma once

#include <cstdint>
#include <string>

#include "dsl/bound.h"

namespace ricci::tests {

/// A program of one to three statements and the shapes and types it is to be bound to. The same
/// seed gives the same program on every machine.
struct RandomProgram {
    std::uint64_t seed = 0;
    bool is_large = false;  ///< fills vectors, register tiles, packed panels: one in fifty
    std::string text;
    Signature signature;
};

/// Which forms are drawn beside those of affine programs in f32, f64 or both.
struct RandomForms {
    bool subscripts = false;  ///< gathered and modified ones
    bool all_types = false;   ///< arrays of one, two or three of all types
    /// All reducers, definitions, `..`, `//`, `%`, conversions, complex numbers in between.
    bool language = false;
    bool products = false;  ///< instead: those of random_layers.h
    bool rows = false;
};

/// Draws a program. Most are valid; the few that are not are refused with an error by the checks of
/// the language, which is for the caller to look at: draw another one. Of all types more are
/// refused: u64 with a signed integer, a floating value for an array of integers. The same seed
/// without further forms gives the same program as ever.
[[nodiscard]] RandomProgram random_program(std::uint64_t seed, const RandomForms& forms = {});

/// Everything needed to look at a failure: seed, text, shapes.
[[nodiscard]] std::string str(const RandomProgram& program);

}  // namespace ricci::tests
