// grad/bounds.h – between which values a subscript lies
#pragma once

#include <optional>

#include "dsl/program.h"

namespace ricci::grad {

/// The least and the greatest value of an integer term.
struct Bounds {
    Expr low, high;
};

/// Over the ranges of its indices; nothing for what is no sum of multiples of indices and their
/// quotients.
[[nodiscard]] std::optional<Bounds> bounds_of(const Program& program, Expr e);

}  // namespace ricci::grad
