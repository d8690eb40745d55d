// bench/limits.h – what the machine can do, measured by loops that do nothing else
#pragma once

namespace bench {

/// Runs `seconds`-long loops on every thread and gives the sum of their rates, in floating
/// operations a second on f32 at the machine's full vector width.
/// fma: one fused multiply-add (2 operations) in each slot.
double fma_limit(int threads, double seconds = 0.05);
/// A subtraction and a fused multiply-add (3 operations in 2 slots): the inner step of a squared
/// distance. Processors with adders beside their FMA units can do better than two slots.
double distance_limit(int threads, double seconds = 0.05);
/// Sums of two products of bf16 numbers (4 operations a lane), where `has_bf16_dot`.
double bf16_limit(int threads, double seconds = 0.05);
/// Whether this machine has an instruction for them.
bool has_bf16_dot();
/// Products of tiles of bf16 numbers, 16 by 32 and 32 by 16, loaded from the first-level cache, on
/// AMX: after Ricci has asked the system for tiles.
double tile_limit(int threads, double seconds = 0.05);

}  // namespace bench
