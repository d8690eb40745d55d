// base/target.h – the machine that code is generated for
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ricci {

/// A GPU as code generation sees it.
struct GpuTarget {
    int compute_capability = 0;  ///< 80, 90, …; 0: none
    int multiprocessors = 132;
    std::int64_t shared_bytes = 99 << 10;  ///< of a block, at most (227 KiB on sm_90)
    std::int64_t argument_alignment = 16;  ///< bytes, of every argument's first element
    /// Sums whose points may meet in one element may use atomics: fast, the order another in each
    /// run.
    bool has_fast_gathers = false;

    bool operator==(const GpuTarget&) const = default;
};

/// What code generation for a CPU takes wherever it can, whatever it costs: strategies that no
/// small program would get are tested by this.
enum class Forced : std::uint8_t {
    nothing,
    tiles,          ///< sums of two operands in register tiles, however thin
    reduced_lanes,  ///< no tiles, lanes over a reduced axis
    free_lanes,     ///< no tiles, lanes over a free axis
    scalar,         ///< no tiles, no lanes
    chains,         ///< passes over the same rows as one kernel
    joint_sums,     ///< reductions over the same points in the same loops
    chains_across,  ///< such passes over rows side by side, in lanes across them
    no_chains,
    slices,      ///< kernels that can run slice by slice do, in small slices
    two_levels,  ///< partial results, then their total
    scans,       ///< sums up to each point in one walk, however few the points
    rewritings,  ///< residue classes, sums written out, shared operands, orders of products, cores
};

/// What sums of products of f32 numbers are computed from. The bf16 ones are for targets with
/// tiles of bf16 numbers: each number is a sum of bf16 pieces, whose products are exact and are
/// added in f32. Subnormal numbers, pieces and sums count as 0, so the bounds of errors hold for
/// numbers from 2^-110 on; results that are infinite or NaN are computed again in f32.
enum class Precision : std::uint8_t {
    f32,
    bf16x3,  ///< two pieces, 16 bits of each number: relative errors of products up to 2^-15
    bf16x6,  ///< three pieces, all 24 bits: up to 2^-23
};
/// `f32`, `bf16x3`, `bf16x6`.
[[nodiscard]] std::string_view name(Precision precision) noexcept;
[[nodiscard]] std::optional<Precision> precision_from_name(std::string_view name) noexcept;

/// The machine, as code generation sees it: a CPU, or a GPU. Part of every kernel's key.
struct Target {
    std::string cpu;        ///< LLVM's name: `znver5`, `x86-64-v3`, ...; of a GPU `sm_90`, ...
    std::string features;   ///< LLVM's feature string
    int vector_bytes = 16;  ///< width of a vector register: 64 AVX-512, 32 AVX2, 16 SSE2
    int vector_registers = 16;
    bool has_fma = false;
    /// Sums of two products of bf16 numbers are one instruction, about as fast as a multiply-add.
    bool has_bf16_dot = false;
    /// The same of i16 and i32 (AVX512_VNNI); without it a product of pairs is one instruction.
    bool has_integer_dot = false;
    /// Products of tiles of bf16 numbers, 16 by 32 and 32 by 16, are one instruction (AMX).
    bool has_bf16_tiles = false;
    Precision precision = Precision::f32;
    std::int64_t l1_bytes = 32 << 10;
    std::int64_t l2_bytes = 1 << 20;
    std::int64_t l3_bytes = 32 << 20;  ///< shared by all cores, and by who else runs on the machine
    int stream_level = 1;              ///< the cache to ask for what loops over memory read soon
    bool has_fast_l3 = false;          ///< loops over it take as long without asking
    /// What one unit computes at a time: a wider vector takes two turns.
    int unit_bytes = 64;
    GpuTarget gpu = {};  ///< with a compute capability: code is for this GPU
    /// Loops one after the other, without lanes, tiles and tasks: code for people to read.
    bool is_plain = false;
    Forced forced = Forced::nothing;

    [[nodiscard]] bool is_gpu() const noexcept { return gpu.compute_capability != 0; }
    bool operator==(const Target&) const = default;
};

/// `znver5 512-bit fma`.
[[nodiscard]] std::string str(const Target& target);

}  // namespace ricci
