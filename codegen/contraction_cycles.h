// codegen/contraction_cycles.h – what a contraction costs in the tiles of a choice
//
// Estimates in cycles of a core that has its caches and units to itself. What candidates really
// take is what `RICCI_LOG=debug ricci bench --tune` shows.
#pragma once

#include <cstdint>

#include "codegen/cache_lines.h"
#include "codegen/contraction_choice.h"

namespace ricci::codegen {

class ContractionCycles {
  public:
    /// Of the choice, which has its contraction now and the rest when it is asked for: the tile and
    /// the readings, and for `all` the number of tiles and what packing takes.
    ContractionCycles(const Kernel& kernel, const ContractionChoice& choice, const Target& target);

    /// Operations, and what loads take beside them; panels; writes.
    [[nodiscard]] double all() const;
    /// A step of its own, in which each element is read and written; of what no cache holds the
    /// panel comes from memory again.
    [[nodiscard]] double packing() const;
    /// Elements of panels.
    [[nodiscard]] double packed_elements() const { return packed_rows() + packed_columns(); }

    [[nodiscard]] std::int64_t row_tiles() const;
    [[nodiscard]] std::int64_t column_tiles() const;
    /// Columns, without tiles.
    [[nodiscard]] double columns() const;
    /// Whether a panel would hold each element of an operand, on average, at least so often: then
    /// it is read where it stands.
    [[nodiscard]] bool is_overlapping(const Value& term, double panel_elements) const;
    /// Whether, on units of half a vector, rows that are read where they stand leave no line of
    /// their sets to columns that are, and that no cache keeps: 16x1024 by 1024x1024 takes 0.30 ms
    /// then, 0.29 with packed rows (Zen 4).
    [[nodiscard]] bool crowd_columns(const Load& rows) const;
    /// Lines of the rows of a tile at all reduced points.
    [[nodiscard]] double lines_of_rows(const Value& term) const;

  private:
    [[nodiscard]] const Contraction& c() const { return choice_.contraction; }
    [[nodiscard]] double packed_rows() const;
    [[nodiscard]] double packed_columns() const;
    [[nodiscard]] double panels() const { return double(points(c().batch)) * depth_; }
    [[nodiscard]] double of_packing(const std::vector<Operand>& operands,
                                    const std::vector<Reading>& readings, const Axis& along) const;
    [[nodiscard]] double of_lines() const;
    [[nodiscard]] double of_columns(std::size_t operand) const;
    [[nodiscard]] double of_rows(std::size_t operand) const;
    [[nodiscard]] double of_columns_apart(const Load& load, double bytes) const;
    [[nodiscard]] double of_shared(double streamed) const;
    [[nodiscard]] double of_streaming(double bytes) const;
    [[nodiscard]] double of_far_rows(const Load& load) const;
    [[nodiscard]] double of_rows_apart(const Value& term) const;
    [[nodiscard]] double of_masks() const;
    [[nodiscard]] double of_write() const;
    [[nodiscard]] double of_tile_of_turns() const;
    [[nodiscard]] double of_latency(double operations_of_row) const;
    [[nodiscard]] bool is_single_step() const;
    [[nodiscard]] bool is_kept(const Load& load) const;
    [[nodiscard]] bool is_run(const Load& load, const Axis& axis) const;
    [[nodiscard]] bool moves_in_runs(const Load& load) const;
    [[nodiscard]] bool stand_apart(const Load& load) const;
    [[nodiscard]] std::int64_t bytes_of(const Load& load) const;
    [[nodiscard]] CacheSets first_level() const;
    [[nodiscard]] CacheSets second_level() const;

    const Kernel& kernel_;
    const ContractionChoice& choice_;
    const Target& target_;
    double depth_;  ///< reduced points
    double share_;  ///< of all points: what the bounds of loops leave
};

}  // namespace ricci::codegen
