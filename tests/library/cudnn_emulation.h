// tests/library/cudnn_emulation.h – cuDNN's backend on the host: reads graphs, convolves naively
#pragma once

#include <cstdint>

#include "runtime/cuda/cudnn.h"

namespace ricci::tests {

/// What the emulation is to do, and what it has seen.
struct CudnnEmulation {
    std::int64_t workspace_bytes = 1024;  ///< that its plans ask for
    bool has_engines = true;
    bool has_fused_engines = true;  ///< for graphs of several operations
    int executions = 0;
    int objects = 0;  ///< handles and descriptors that exist
};

/// Addresses are the host's. What cuDNN would not take (attributes of another type, tensors that
/// overlap, extents that do not fit, a pack without some tensor) fails with CUDNN_STATUS_BAD_PARAM.
/// Engines come in an order that tries the caller: one that uses TF32, one that makes no plan, one
/// that needs too much workspace, one that works. Its numerical notes say what it does.
[[nodiscard]] const cuda::Cudnn& emulated_cudnn();
/// The state, begun anew.
CudnnEmulation& reset_cudnn_emulation();

}  // namespace ricci::tests
