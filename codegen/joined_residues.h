// codegen/joined_residues.h – residue classes as rows of one product
//
// The gradient of a strided convolution by an image of three channels has a sum for each residue
// class, of which every one reads the same few results with other weights. A register tile of three
// rows waits for what it reads. Joined, the classes are further rows of one sum,
//
//     for q, rho in 0:2:  dA[c,2*q+rho] :=
//         sum[o, m | 0 <= 2*m + rho < 7](dO[o,q-m]*(0 <= 2*m + rho < 7 ? F[o,c,2*m+rho] : 0))
//
// whose conditions say of which rows a point m is: tiles leave the other ones out, so that no
// operation is done that single classes would not do (codegen/taken_rows.h). The choice is for
// panels, which hold all points: places outside of F are brought inside, and 0 stands for them.
#pragma once

#include <cstdint>

#include "codegen/equation_maker.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// A free index t and a reduced one y whose combinations a band keeps together.
struct BandIndices {
    IndexId free{};
    IndexId solved{};
    std::int64_t classes = 0;  ///< of t
    std::int64_t points = 0;   ///< of one t, at most
};

/// Which sums have their classes joined.
enum class JoinedResidues : std::uint8_t {
    never,
    few_rows,  ///< those that have better tiles so
    always,    ///< wherever a tile holds all rows
};

/// Whether a sum has so few rows that all residue classes of t together make better tiles: some of
/// its arrays are read at places of both indices, the others at places of y, and free indices that
/// only the first ones have are few.
[[nodiscard]] bool joins_residues(const BoundProgram& program, const BoundEquation& equation,
                                  const BandIndices& band, JoinedResidues which);

/// The value of an equation with a choice for each read that a residue may move out of its array:
/// the element where the condition holds, else 0, which no sum takes.
[[nodiscard]] Expr with_guarded_rows(EquationMaker& make, const BoundEquation& equation,
                                     IndexId residue, Expr condition);

}  // namespace ricci::codegen
