// tools/ricci/limits.h – what this machine can do at most, measured by loops that do nothing else
#pragma once

#include <string>

#include "base/dtype.h"
#include "dsl/work.h"

namespace ricci::tool {

/// Rates of the machine on some threads.
struct Limits {
    double flops = 0;             ///< floating operations a second in fused multiply-adds
    double bytes_per_second = 0;  ///< read and written, copying arrays beyond the caches
};

/// Plain C++ over GCC's vector types, compiled for every width of vectors and chosen at run time.
/// Cost: about 0.2 s.
[[nodiscard]] Limits measure_limits(DType dtype, int threads);

/// Of the GPU at hand: multiply-adds from the number of its units and its clock rate, copies as the
/// driver makes them. Throws: `device`.
[[nodiscard]] Limits measure_gpu_limits(DType dtype);

/// `1.320 ms`.
[[nodiscard]] std::string time_text(double seconds);

/// A line of a schedule: the least time that the work takes, and which of both rates sets it.
[[nodiscard]] std::string limit_text(const Work& work, const Limits& limits);

}  // namespace ricci::tool
