// examples/checkpoint.cpp – a deep network of which backward computes the inside again
//
// Two residual blocks learn to turn points of the plane. Each block is a checkpoint: its hidden
// values are not kept. Parameters are updated in place under NoGrad.
#include <cstdlib>
#include <iostream>

#include "ricci/ricci.h"

using namespace ricci;

int main() {
    const Function block = compile(
        "H[n,h] := tanh(sum[i](A[h,i]*X[n,i]))\n"
        "Y[n,i] := X[n,i] + B[i,h]*H[n,h]");
    const Function error = compile("L := mean[n](sum[i]((Y[n,i] - T[n,i])^2))");
    const Function descend = compile("W[i,j] -= rate*dW[i,j]");

    const Array X = Array::randn(DType::f64, {256, 2}, 1);
    const Array turn = Array::from<double>({0, 1, -1, 0}, {2, 2});
    const Array T = einsum("ni,ij->nj", X, turn);
    std::vector<Var> weights;
    for (std::uint64_t seed = 2; seed < 4; ++seed)
        for (const Shape& shape : {Shape{16, 2}, Shape{2, 16}}) {
            const Function small = compile("W[i,j] := 0.4*R[i,j]");
            weights.push_back(param(small(Array::randn(DType::f64, shape, seed))));
        }

    double loss = 0;
    for (int step = 0; step < 400; ++step) {
        Var Y = X;
        for (std::size_t b = 0; b < weights.size(); b += 2)
            Y = checkpoint(block, {weights[b], Y, weights[b + 1]});
        const Var L = error(Y, T);
        backward(L);
        loss = L.value().item();
        const NoGrad scope;
        for (Var& W : weights) {
            (void)descend(W, 0.05, W.grad());
            W.clear_grad();
        }
        if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss << "\n";
    }
    std::cout << "at the end  loss " << loss << "\n";
    return loss < 0.1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
