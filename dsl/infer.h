// dsl/infer.h – ranges of indices and shapes of targets, as formulas of the arguments' sizes
#pragma once

#include <vector>

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {

/// Where an access stands in the source.
struct AccessSpans {
    Span whole;
    std::vector<Span> at;  ///< one for each subscript
};

/// One binding of an index in a statement.
struct Binding {
    enum class Kind : std::uint8_t { target, implied, reducer };
    IndexId index{};
    Kind kind{};
    Span span;
};

/// What inference needs to know of a statement beyond its equation.
struct StatementScope {
    std::vector<Binding> bindings;  ///< those with a user's range are marked in the program
    ExprMap<AccessSpans> spans;     ///< of the accesses of the value
    AccessSpans target_spans;
    std::vector<bool> is_shifted;  ///< by dimension of a `:=` target: written `i+_`
};

/// Gives every binding of the equation its range and a `:=` target its shape, and records what
/// binding has to check (docs/language.md §4).
/// Throws: `range` for an index that nothing bounds.
void infer_ranges(Program& program, Equation& equation, const StatementScope& scope);

}  // namespace ricci
