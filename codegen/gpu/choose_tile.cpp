// codegen/gpu/choose_tile.cpp – which tile a contraction runs in, by an estimate of its cycles
#include "codegen/gpu/choose_tile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::array configs = {
    // clang-format off
    TileConfig{128, 128, 16, 8, 8},
    TileConfig{128,  64,  8, 8, 8},
    TileConfig{ 64, 128,  8, 8, 8},
    TileConfig{ 64,  64, 16, 8, 4},
    TileConfig{ 64,  64, 16, 4, 4},
    TileConfig{128,  32,  8, 8, 4},
    TileConfig{ 32, 128,  8, 4, 8},
    TileConfig{ 64,  32, 16, 4, 4},
    TileConfig{ 32,  64, 16, 4, 4},
    TileConfig{ 32,  32, 16, 4, 4},
    TileConfig{128,  16, 16, 4, 4},
    TileConfig{ 16, 128, 16, 4, 4},
    // clang-format on
};

// A multiprocessor of compute capability 8.0 and 9.0.
constexpr std::int64_t registers = 65536;
constexpr std::int64_t most_warps = 64;
constexpr double schedulers = 4;
/// Bytes of a cycle that one multiprocessor gets from the second-level cache, and the whole chip
/// from memory.
constexpr double cache_rate = 32;
constexpr double memory_rate = 2400;
/// Cycles of a barrier and of what a tile waits for, with one block on a multiprocessor.
constexpr double tile_latency = 120;
/// Cycles from one kernel to the next.
constexpr double launch_cycles = 4000;
constexpr std::int64_t least_tiles_a_chunk = 4;
constexpr std::int64_t most_chunks = 64;

/// Parts of a thread's tile that are loaded at once.
double fragment_loads(std::int64_t elements, std::int64_t words) {
    return double(elements * words) / 4;
}

struct Estimate {
    const TileConfig& config;
    const TileProblem& problem;
    const GpuTarget& target;

    [[nodiscard]] std::int64_t tiles() const {
        return problem.batch * ceil_div(problem.rows, config.rows) *
               ceil_div(problem.columns, config.columns);
    }
    /// Of the multiprocessor that has most.
    [[nodiscard]] std::int64_t blocks_each(std::int64_t chunks) const {
        return ceil_div(tiles() * chunks, std::int64_t(target.multiprocessors));
    }
    /// Copies far ahead, unless they take the place of a block.
    [[nodiscard]] std::int64_t stages(std::int64_t chunks) const {
        if (problem.fetched_row_words + problem.fetched_column_words > 0) return 2;
        return blocks_at_once(4) >= std::min(blocks_at_once(2), blocks_each(chunks)) ? 4 : 2;
    }
    [[nodiscard]] double warps() const { return double(config.threads()) / warp; }

    [[nodiscard]] std::int64_t blocks_at_once(std::int64_t stages) const {
        // Registers are given out to a warp by 8 a thread.
        const std::int64_t each = ceil_div(estimated_registers(config, problem), 8) * 8;
        const std::int64_t by_registers = registers / (each * config.threads());
        const std::int64_t by_warps = most_warps * warp / config.threads();
        const std::int64_t bytes = shared_bytes(config, problem, stages) + 1024;
        return std::min(
            {by_registers, by_warps, (target.shared_bytes + 1024) / bytes, std::int64_t(32)});
    }

    /// Cycles of a multiprocessor for one block to go over one tile of reduced points, when others
    /// fill its waits.
    [[nodiscard]] double tile_cycles() const {
        const auto area = double(config.thread_rows * config.thread_columns);
        const double loads = fragment_loads(config.thread_rows, problem.row_words) +
                             fragment_loads(config.thread_columns, problem.column_words);
        const double elements = double(config.rows + config.columns) * double(config.depth);
        const double staged = elements / double(config.threads());
        const double slots = double(config.depth) * (area * problem.operations + loads) +
                             staged * problem.staging + 16;
        const double issue = slots * warps() / schedulers;
        // A warp's load of 16 bytes a thread takes two cycles where neighbours read the same.
        const double shared = double(config.depth) * loads * 2 * warps();
        const double bytes =
            4 * double(config.depth) *
            double(config.rows * problem.row_words + config.columns * problem.column_words);
        return std::max({issue, shared, bytes / cache_rate});
    }

    [[nodiscard]] double cycles(std::int64_t chunks, std::int64_t stages) const {
        const std::int64_t at_once = blocks_at_once(stages);
        const std::int64_t depth_tiles = ceil_div(ceil_div(problem.depth, config.depth), chunks);
        const std::int64_t a_multiprocessor = blocks_each(chunks);
        const auto together = double(std::min(a_multiprocessor, at_once));
        // Warps in flight, each with the independent operations of its tile, hide latencies.
        const auto area = double(config.thread_rows * config.thread_columns);
        const double in_flight = together * warps() * std::sqrt(area) / 8;
        const double busy = in_flight / (in_flight + 1);
        const double work = double(depth_tiles) * (tile_cycles() / busy + tile_latency / together);
        const double results = double(problem.batch) * double(problem.rows) *
                               double(problem.columns) * double(problem.element_words) * 4;
        const double bytes = results * (chunks == 1 ? 1 : 2 * double(chunks) + 1);
        const double blocks_work = double(a_multiprocessor) * work;
        return launch_cycles * (chunks == 1 ? 1 : 2) + blocks_work + bytes / memory_rate;
    }
};

/// Operations of a body without functions are few.
double own_operations(const TileProblem& problem) {
    return problem.operations / double(problem.element_words);
}
bool has_functions(const TileProblem& problem) { return own_operations(problem) >= 8; }

/// Reduced points of a tile whose code stays in the instruction cache.
std::int64_t unrolled_points(const TileConfig& config, const TileProblem& problem) {
    constexpr double most_operations = 4096;
    const double each =
        double(config.thread_rows * config.thread_columns) * own_operations(problem);
    std::int64_t points = config.depth;
    while (points > 1 && double(points) * each > most_operations) points /= 2;
    return points == config.depth ? 0 : points;
}

/// Blocks that are to fit a multiprocessor at once; 0: as may be.
std::int64_t wanted_blocks(const TileConfig& config, const TileProblem& problem) {
    // Where 128 registers are just enough for 64 accumulators, the compiler takes a few more and
    // leaves room for one block less.
    constexpr std::int64_t most_registers = 128;
    const std::int64_t accumulators =
        config.thread_rows * config.thread_columns * problem.element_words;
    if (accumulators != 64 || has_functions(problem) || !problem.is_matrix) return 0;
    if (estimated_registers(config, problem) > most_registers) return 0;
    return registers / (most_registers * config.threads());
}

double untiled_cycles(const TileProblem& problem, const GpuTarget& target) {
    const double work = double(problem.batch) * double(problem.rows) * double(problem.columns) *
                        double(problem.depth) * problem.counted / warp;
    const double slots = problem.untiled_slots + problem.operations;
    return launch_cycles + work * slots / (schedulers * double(target.multiprocessors));
}

}  // namespace

std::span<const TileConfig> tile_configs() { return configs; }

std::int64_t estimated_registers(const TileConfig& config, const TileProblem& problem) {
    const std::int64_t area = config.thread_rows * config.thread_columns;
    const std::int64_t accumulators = area * (problem.element_words + problem.held_words) +
                                      config.thread_rows * problem.held_row_words +
                                      config.thread_columns * problem.held_column_words;
    const std::int64_t fragments =
        config.thread_rows * problem.row_words + config.thread_columns * problem.column_words;
    const std::int64_t fetched = ceil_div(
        (config.rows * problem.fetched_row_words + config.columns * problem.fetched_column_words) *
            config.depth,
        config.threads());
    // Fragments of the next point are loaded before the last one is done with. Beside addresses the
    // body needs some of its own, functions more.
    const std::int64_t body = has_functions(problem) ? 16 : own_operations(problem) > 1 ? 12 : 0;
    const std::int64_t own = 24 + body * problem.element_words;
    return accumulators + fragments * 3 / 2 + fetched + own;
}

std::int64_t shared_bytes(const TileConfig& config, const TileProblem& problem,
                          std::int64_t stages) {
    const std::int64_t line =
        (config.rows + 4) * problem.row_words + (config.columns + 4) * problem.column_words;
    return 4 * stages * config.depth * line;
}

std::optional<TileChoice> choose_tile(const TileProblem& problem, const GpuTarget& target) {
    constexpr std::int64_t most_registers = 220;
    std::optional<TileChoice> best;
    for (const TileConfig& config : configs) {
        if (estimated_registers(config, problem) > most_registers) continue;
        if (shared_bytes(config, problem, 2) > target.shared_bytes) continue;
        const Estimate estimate{config, problem, target};
        const std::int64_t depth_tiles = ceil_div(problem.depth, config.depth);
        const bool may_split =
            problem.may_split && estimate.tiles() < 4 * std::int64_t(target.multiprocessors);
        for (std::int64_t wanted = 1; wanted <= most_chunks; ++wanted) {
            if (wanted > 1 && (!may_split || depth_tiles < wanted * least_tiles_a_chunk)) break;
            // Equal chunks where they can be: the last one should not be a sliver.
            const std::int64_t chunks = ceil_div(depth_tiles, ceil_div(depth_tiles, wanted));
            if (chunks < wanted) continue;
            const std::int64_t stages = estimate.stages(chunks);
            const double cycles = estimate.cycles(chunks, stages);
            if (best && cycles >= best->cycles) continue;
            best = {config,
                    chunks,
                    stages,
                    cycles,
                    wanted_blocks(config, problem),
                    unrolled_points(config, problem)};
        }
    }
    if (best && best->cycles >= untiled_cycles(problem, target)) return std::nullopt;
    return best;
}

}  // namespace ricci::codegen::gpu
