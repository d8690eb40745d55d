// tools/ricci/gpu_limits.cpp – what a GPU can do at most: by its data sheet, and by copying
#include <algorithm>
#include <chrono>

#include "runtime/cuda/gpu.h"

#include "tools/ricci/limits.h"

namespace ricci::tool {
namespace {

constexpr int attribute_clock_khz = 13;  // CU_DEVICE_ATTRIBUTE_CLOCK_RATE
constexpr std::size_t copied_bytes = std::size_t{256} << 20;
constexpr int copies = 10;

/// Multiply-adds that a multiprocessor begins in a cycle.
/// Source: CUDA C++ Programming Guide, table of the throughput of arithmetic instructions.
double units(int capability, Arithmetic::Unit unit) {
    const bool is_data_center = capability == 80 || capability == 90 || capability == 100;
    if (unit == Arithmetic::Unit::f64) return !is_data_center ? 2 : capability == 80 ? 32 : 64;
    return capability == 80 ? 64 : 128;
}

double copy_rate(cuda::Gpu& gpu) {
    using Clock = std::chrono::steady_clock;
    // Where memory is short: a quarter of it.
    const std::size_t bytes = std::min(copied_bytes, gpu.memory_bytes() / 8);
    gpu.make_current();
    const auto from = gpu.allocate(bytes);
    const auto to = gpu.allocate(bytes);
    gpu.copy(to->pointer(), from->pointer(), bytes);  // warm
    gpu.synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < copies; ++i) gpu.copy(to->pointer(), from->pointer(), bytes);
    gpu.synchronize();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return 2.0 * copies * static_cast<double>(bytes) / seconds;
}

}  // namespace

Limits measure_gpu_limits(const Arithmetic& arithmetic) {
    const auto gpu = cuda::Gpu::current();
    const GpuTarget& target = gpu->target().gpu;
    const double hertz = 1e3 * gpu->attribute(attribute_clock_khz);
    return {.flops = 2 * hertz * target.multiprocessors *
                     units(target.compute_capability, arithmetic.unit),
            .bytes_per_second = copy_rate(*gpu)};
}

}  // namespace ricci::tool
