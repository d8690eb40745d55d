// examples/matmul.cpp – a matrix product: result, time, and the rate reached
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "base/text.h"

#include "ricci/ricci.h"

int main(int argc, char** argv) {
    using namespace ricci;
    using Clock = std::chrono::steady_clock;
    const std::int64_t n = argc > 1 ? std::max(1L, std::atol(argv[1])) : 512;
    const Function matmul = compile("C[i,j] := A[i,k]*B[k,j]");
    const Array A = Array::randn(DType::f32, {n, n});
    const Array B = Array::randn(DType::f32, {n, n}, 1);

    Array C = matmul(A, B);  // compiles for these sizes
    synchronize(matmul.device());
    double best = 1e30;
    for (int round = 0; round < 10; ++round) {
        const auto start = Clock::now();
        C = matmul(A, B);
        synchronize(matmul.device());  // on a GPU (RICCI_DEVICE=cuda) a call only starts the work
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::cout << str(C) << "\n"
              << format("{0} x {0} x {0}: {1:.3f} ms, {2:.1f} GFLOP/s\n", n, best * 1e3,
                        2e-9 * static_cast<double>(n * n * n) / best);
}
