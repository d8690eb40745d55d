// bench/cpu/xsmm.h – small and batched matrix products by LIBXSMM's generated kernels
#pragma once

#include <optional>

#include "bench/cpu/peers.h"

namespace bench {

/// The peer for `c[m,n] = a[m,k] b[k,n]` in f32, or for a batch of such products, each thread with
/// a share of the rows or of the batch; nothing for forms that the library has no kernels for.
[[nodiscard]] std::optional<Peer> xsmm_peer(const Matrix& a, const Matrix& b, const ricci::Shape& c,
                                            int threads);

}  // namespace bench
