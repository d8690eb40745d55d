// tests/library/cublaslt_emulation.h – cuBLASLt on the host: reads descriptors, multiplies naively
#pragma once

#include <cstddef>

#include "runtime/cuda/cublaslt.h"

namespace ricci::tests {

/// What the emulation is to do, and what it has seen.
struct LtEmulation {
    std::size_t workspace_bytes = 512;  ///< that its algorithm asks for
    bool has_algorithm = true;
    int fails_in_run = 0;     ///< status that cublasLtMatmul gives
    int products = 0;         ///< calls of cublasLtMatmul
    int objects = 0;          ///< handles, operations, layouts, preferences that exist
    std::size_t asked_a = 0;  ///< alignment of a that the last heuristic was asked for
};

/// Addresses are the host's. A call whose descriptors cuBLASLt would not take (overlapping columns,
/// extents that do not fit, pointers less aligned than was said, a foreign algorithm) fails with
/// CUBLAS_STATUS_INVALID_VALUE.
[[nodiscard]] const cuda::CublasLt& emulated_cublaslt();
/// The state, begun anew.
LtEmulation& reset_lt_emulation();

}  // namespace ricci::tests
