// bench/cpu/xsmm.cpp – small and batched matrix products by LIBXSMM's generated kernels
#include "bench/cpu/xsmm.h"

#include <memory>

#include <libxsmm.h>

namespace bench {
namespace {

using namespace ricci;

/// `c = a b` for some rows of `a` and `c`. The library counts by columns, in which `c` is `b a`.
libxsmm_smmfunction kernel(std::int64_t rows, std::int64_t columns, std::int64_t points,
                           const Matrix& a, const Matrix& b) {
    // Leading dimensions are those of whole arrays.
    const int step_a = int(a.array.shape().back());
    const int step_b = int(b.array.shape().back());
    const int step_c = int(columns);
    const float one = 1;
    const float zero = 0;
    const int flags = (b.is_transposed ? LIBXSMM_GEMM_FLAG_TRANS_A : 0) |
                      (a.is_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : 0);
    return libxsmm_smmdispatch(int(columns), int(rows), int(points), &step_b, &step_a, &step_c,
                               &one, &zero, &flags, nullptr);
}

}  // namespace

std::optional<Peer> xsmm_peer(const Matrix& a, const Matrix& b, const Shape& c, int threads) {
    const bool is_batch = c.size() == 3;
    const std::int64_t rows = c[c.size() - 2];
    const std::int64_t columns = c.back();
    const std::int64_t points = a.array.shape()[a.array.shape().size() - (a.is_transposed ? 2 : 1)];
    // A thread takes some of the batch, or of the rows.
    const std::int64_t parts = is_batch ? c[0] : rows % threads == 0 ? threads : 1;
    const std::int64_t share = is_batch ? rows : rows / parts;
    const auto product = kernel(share, columns, points, a, b);
    if (product == nullptr) return std::nullopt;
    const std::int64_t step_a = is_batch ? rows * points : a.is_transposed ? share : share * points;
    const std::int64_t step_b = is_batch ? points * columns : 0;
    Peer peer{.name = "LIBXSMM", .run = {}, .result = Array(DType::f32, c)};
    peer.run = [=, to = peer.result] {
        const auto* x = static_cast<const float*>(a.array.data());
        const auto* y = static_cast<const float*>(b.array.data());
        auto* z = const_cast<float*>(static_cast<const float*>(to.data()));
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
        for (std::int64_t part = 0; part < parts; ++part)
            product(y + part * step_b, x + part * step_a, z + part * share * columns);
    };
    return peer;
}

}  // namespace bench
