// dsl/required_points.h – reducers that have no value of nothing: mean, argmax, argmin
#pragma once

#include <vector>

#include "dsl/program.h"

namespace ricci {

/// A term that is negative where such a reducer finds no point to reduce though it is evaluated,
/// and what is to be noted once a tensor holds it.
struct PointVerdict {
    Expr value;
    Requirement requirement;  ///< `a` is to read that tensor; `readers` are those of the statement
};

/// Adds to the program that the ranges of such reducers of the statement are not empty. Gives a
/// verdict for each one that a condition restricts, or that `?:` and the like may exclude: whether
/// it finds a point may depend on data.
[[nodiscard]] std::vector<PointVerdict> require_points(Program& program, const Equation& equation);

}  // namespace ricci
