// tests/emulation/example_plans.h – plans made by hand: what strategies do, where all can be seen
#pragma once

#include <string>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"

namespace ricci::tests {

struct ExamplePlan {
    std::string text;  ///< the program that it computes
    Signature signature;
    BoundProgram program;
    codegen::Plan plan;
};

/// `y[i] := x[i]` by asynchronous copies to two halves of shared memory that take turns.
[[nodiscard]] ExamplePlan pipeline_plan();
/// `y[i] := A[i,k]`, a warp for each row.
[[nodiscard]] ExamplePlan warp_rows_plan();
/// `y[i] := max[k](A[i,k])`, a block for each row: warps, then the first warp.
[[nodiscard]] ExamplePlan block_rows_plan();
/// `Y[j,i] := X[i,j]` by squares in shared memory, several of them in each block.
[[nodiscard]] ExamplePlan squares_plan();

}  // namespace ricci::tests
