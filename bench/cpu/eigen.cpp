// bench/cpu/eigen.cpp – matrix products by Eigen, compiled for this machine apart from the rest
#include "bench/cpu/eigen.h"

#include <Eigen/Core>

namespace bench {
namespace {

template <class T>
void product(const EigenSizes& s, const T* a, const T* b, T* c) {
    using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    for (std::int64_t e = 0; e < s.batch; ++e) {
        const Eigen::Map<const Rows> x(a + e * s.m * s.k, s.a_transposed ? s.k : s.m,
                                       s.a_transposed ? s.m : s.k);
        const Eigen::Map<const Rows> y(b + e * s.k * s.n, s.b_transposed ? s.n : s.k,
                                       s.b_transposed ? s.k : s.n);
        Eigen::Map<Rows> z(c + e * s.m * s.n, s.m, s.n);
        if (s.a_transposed && s.b_transposed)
            z.noalias() = x.transpose() * y.transpose();
        else if (s.a_transposed)
            z.noalias() = x.transpose() * y;
        else if (s.b_transposed)
            z.noalias() = x * y.transpose();
        else
            z.noalias() = x * y;
    }
}

}  // namespace

void eigen_product(const EigenSizes& sizes, const float* a, const float* b, float* c) {
    product(sizes, a, b, c);
}
void eigen_product(const EigenSizes& sizes, const double* a, const double* b, double* c) {
    product(sizes, a, b, c);
}

}  // namespace bench
