// codegen/shared_operands.h – padded, wrapped and strided operands of contractions, evaluated once
// an element
#pragma once

#include <cstdint>

#include "dsl/bound.h"

namespace ricci::codegen {

/// When an array of its own pays for an operand.
struct SharedOperandLimits {
    double points = 1 << 18;  ///< of the equation, at least: smaller ones are tested at each point
    double reuse = 1;         ///< evaluations of the operand for each element, at least
    double users = 8;  ///< free points for each evaluation that the operand does not depend on ...
    double strided_users = 2;  ///< instead, where neighbours would be apart: panels are no better
    std::int64_t strided_extent = 8;  ///< of a row of such neighbours, at least: they fill lanes
    /// Unit of vectors that rows of such neighbours are to fill: where they leave more of it idle
    /// than another index of the result would, that one has the lanes. 1: any row fills it.
    std::int64_t unit_lanes = 1;
    double much_reuse = 4;  ///< ... unless each element is evaluated that often
    /// Lanes that read beyond the ends of padded arrays are masked: `much_reuse` is no reason then.
    bool masks_padding = false;
    /// Arrays of what are numbers of bf16 are of bf16: products take them in pairs.
    bool keeps_bf16 = false;
};

/// `Y[o,y] := sum[r](X[pad(y+r-1)]*W[o,r])` reads each element of the padded X for many (y, r), and
/// all of them for each o; a depthwise convolution reads each for many (y, r) alone. Such an
/// operand becomes an array of its own over `u = y+r`, which the contraction reads without a
/// condition.
/// `Y[o,y] := X[2*y+r]*W[o,r]` reads X in lanes that are two elements apart. With r = 2*q+rho it
/// reads an array of the residues rho and of u = y+q, in which they are neighbours, as those of an
/// image are from row to row; conditions keep r to its range.
[[nodiscard]] BoundProgram with_shared_operands(BoundProgram program,
                                                const SharedOperandLimits& limits = {});

}  // namespace ricci::codegen
