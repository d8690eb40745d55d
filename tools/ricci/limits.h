// tools/ricci/limits.h – what this machine can do at most, measured by loops that do nothing else
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "codegen/plan.h"
#include "dsl/work.h"

namespace ricci::tool {

/// What a kernel's multiply-adds are instructions of.
struct Arithmetic {
    enum class Unit : std::uint8_t { f32, f64, bf16_pairs, bf16_tiles };
    Unit unit = Unit::f32;
    std::int64_t products = 1;  ///< of bf16 numbers for one of the kernel's

    auto operator<=>(const Arithmetic&) const = default;
};

/// Of a kernel of a plan for the CPU.
[[nodiscard]] Arithmetic arithmetic_of(const codegen::Plan& plan, std::size_t kernel);
/// Of the kernel of a plan that does the most.
[[nodiscard]] Arithmetic arithmetic_of(const codegen::Plan& plan);

/// Multiply-adds are `in` this: `f32`, `f64`, `pairs of bf16`, `tiles of bf16`, `6 tiles of bf16
/// each`.
[[nodiscard]] std::string str(const Arithmetic& arithmetic);

/// Rates of the machine on some threads.
struct Limits {
    double flops = 0;             ///< floating operations a second in fused multiply-adds
    double bytes_per_second = 0;  ///< read and written, copying arrays beyond the caches
};

/// Of the CPU, by loops of runtime/cpu_rates.h. Cost: about 0.2 s.
[[nodiscard]] Limits measure_limits(const Arithmetic& arithmetic, int threads);

/// Of the GPU at hand: multiply-adds from the number of its units and its clock rate, copies as the
/// driver makes them. Throws: `device`.
[[nodiscard]] Limits measure_gpu_limits(const Arithmetic& arithmetic);

/// `1.320 ms`.
[[nodiscard]] std::string time_text(double seconds);

/// A line of a schedule: the least time that the work takes, and which of both rates sets it.
[[nodiscard]] std::string limit_text(const Work& work, const Limits& limits);

}  // namespace ricci::tool
