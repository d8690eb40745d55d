// bench/cpu/torch_peer.h – PyTorch as a peer, in a process of its own
#pragma once

#include "bench/cpu/suite.h"

namespace bench {

/// Starts a process with PyTorch on so many threads; none where Python has none.
void open_torch(int threads);

/// Adds the value of a Python expression of `torch` and the workload's arguments, or, where the
/// workload asks for gradients, of its backward with the last argument as the cotangent. It is
/// timed inside the process, in the same rounds as ours, while ours waits.
void add_torch_peer(Workload& workload, const std::string& expression);

}  // namespace bench
