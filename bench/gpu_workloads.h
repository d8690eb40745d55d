// bench/gpu_workloads.h – what bench/gpu.cpp times
#pragma once

#include <string>
#include <vector>

#include "ricci/ricci.h"

namespace bench {

/// A program, what it is called on, and the arguments whose gradients are timed, too.
struct GpuWorkload {
    std::string name;
    std::string text;
    ricci::Arguments arguments;
    std::vector<std::string> wrt;
};

/// Of bench/gpu_torch.py, too, by the same names.
[[nodiscard]] std::vector<GpuWorkload> gpu_workloads();

}  // namespace bench
