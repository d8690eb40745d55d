// codegen/contraction.h – a reduction as rows against columns
//
// The free axes that the reduced operands depend on fall into rows and columns such that no operand
// needs both; axes that every operand has are the batch. The body is written over operands:
//   row operand     depends on rows and reduced axes (and batch): one scalar a row
//   column operand  depends on columns and reduced axes: one vector of lanes
//   held term       does not depend on reduced axes: loaded once for a tile
// Operands are whole subterms: they are evaluated while they are packed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// A subterm of the body that is evaluated outside the innermost loop.
struct Operand {
    Value term;
    bool has_rows = false;
    bool has_columns = false;
};

struct Contraction {
    std::vector<Axis> batch;
    std::vector<Axis> rows;
    std::vector<Axis> columns;  ///< but the lane axis
    Axis lane;
    Value body;            ///< the kernel's body with sums and products regrouped
    double body_cost = 0;  ///< of a point of the kernel; every tile's estimate asks for it
    std::vector<Operand> row_operands;
    std::vector<Operand> column_operands;
    std::vector<Operand> held;
    /// Which points count, a bool of rows (or neither) and reduced axes, and one of
    /// columns and reduced axes. Empty where all do.
    Value row_condition = nullptr;
    Value column_condition = nullptr;
};

[[nodiscard]] std::vector<Value> terms(const std::vector<Operand>& operands);
/// Those of rows, of columns and what is held.
[[nodiscard]] std::vector<Value> all_terms(const Contraction& contraction);

/// Whether neighbouring points of the last reduced axis stand side by side (pair_products.h).
enum class Pairing : std::uint8_t { none, pairs };

/// Which free axis runs in lanes.
enum class LaneRule : std::uint8_t {
    nearest,   ///< the longest in which every write is contiguous, else that of the shortest steps
    cheapest,  ///< also one of longer steps, where it fills vectors and sums are long
};

/// Cycles of writing one element by lanes along an axis, roughly; infinite where lanes may meet.
[[nodiscard]] double write_cycles(const Kernel& kernel, const Axis& lane);

/// Nothing when the kernel is no contraction: one operand, operands that cannot be told apart, or a
/// condition between rows and columns. The lanes run along `lane`, if it is given.
[[nodiscard]] std::optional<Contraction> find_contraction(
    const Kernel& kernel, LaneRule rule, const std::optional<Axis>& lane = std::nullopt);

}  // namespace ricci::codegen
