// bench/cpu/eigen.h – matrix products by Eigen, compiled for this machine apart from the rest
#pragma once

#include <cstdint>

namespace bench {

struct EigenSizes {
    std::int64_t batch = 1;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool a_transposed = false;
    bool b_transposed = false;
};
/// c[m,n] = a[m,k] b[k,n] for each of the batch, row-major.
void eigen_product(const EigenSizes& sizes, const float* a, const float* b, float* c);
void eigen_product(const EigenSizes& sizes, const double* a, const double* b, double* c);

}  // namespace bench
