// codegen/gpu/choose_tile.h – which tile a contraction runs in, by an estimate of its cycles
//
// The estimate counts issue slots, the traffic of shared memory and of the second-level cache,
// registers and shared bytes (blocks that fit a multiprocessor) and rounds of blocks. It depends on
// extents, types and the target alone, so that equal programs get equal tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/target.h"

namespace ricci::codegen::gpu {

/// A block's tile of results, the reduced points staged at once, and a thread's part of it.
struct TileConfig {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t depth = 1;
    std::int64_t thread_rows = 1;
    std::int64_t thread_columns = 1;

    [[nodiscard]] constexpr std::int64_t threads() const {
        return (rows / thread_rows) * (columns / thread_columns);
    }
    bool operator==(const TileConfig&) const = default;
};
/// The tiles there are, the largest first. All numbers are powers of two.
[[nodiscard]] std::span<const TileConfig> tile_configs();

/// A contraction as the estimate sees it.
struct TileProblem {
    std::int64_t batch = 1;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t depth = 1;
    double operations = 1;           ///< issue slots of one reduced point of one result
    std::int64_t element_words = 1;  ///< 32-bit registers of an accumulator
    std::int64_t row_words = 1;      ///< of what is staged for a row at a reduced point
    std::int64_t column_words = 1;
    std::int64_t fetched_row_words = 0;     ///< of that, what comes through registers
    std::int64_t fetched_column_words = 0;  ///< and is not copied asynchronously
    std::int64_t held_words = 0;            ///< kept for each result, beside its accumulator
    std::int64_t held_row_words = 0;
    std::int64_t held_column_words = 0;
    double staging = 1;         ///< issue slots to stage one element
    double counted = 1;         ///< the share of reduced points that satisfy the conditions
    double untiled_slots = 16;  ///< issue slots of a warp for 32 of them without tiles
    bool is_matrix = true;      ///< every operand walks its rows, and the reduced points, as one
    bool may_split = true;      ///< the sum may be cut into chunks
};

struct TileChoice {
    TileConfig config;
    std::int64_t chunks = 1;          ///< of the reduced points, each with its own blocks
    std::int64_t stages = 2;          ///< tiles in shared memory at once
    double cycles = 0;                ///< of the whole kernel
    std::int64_t blocks_at_once = 0;  ///< that registers must leave room for; 0: any
    std::int64_t unroll = 0;          ///< reduced points of a tile, one after the other; 0: all

    bool operator==(const TileChoice&) const = default;
};
/// Registers of a thread: what the compiler was seen to use, at least.
[[nodiscard]] std::int64_t estimated_registers(const TileConfig& config,
                                               const TileProblem& problem);
[[nodiscard]] std::int64_t shared_bytes(const TileConfig& config, const TileProblem& problem,
                                        std::int64_t stages);

/// The tile of least cycles. Nothing where a strategy without tiles is estimated to take less.
[[nodiscard]] std::optional<TileChoice> choose_tile(const TileProblem& problem,
                                                    const GpuTarget& target);

}  // namespace ricci::codegen::gpu
