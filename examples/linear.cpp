// examples/linear.cpp – a layer, its gradients, and what they are
#include <iostream>

#include "ricci/ricci.h"

int main() {
    using namespace ricci;
    Function linear = compile("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    Array W = Array::randn(DType::f32, {10, 784}), X = Array::randn(DType::f32, {64, 784}, 1);
    Array b = Array::zeros(DType::f32, {10}), dY = Array::full(DType::f32, {64, 10}, 1);
    std::cout << str(linear(W, X, b)) << "\n";
    for (const char* name : {"W", "X", "b"}) {
        Function gradient = linear.grad(name);
        Array value = gradient({{"W", W}, {"X", X}, {"b", b}, {"dY", dY}});
        std::cout << str(gradient) << "   # " << str(value.shape()) << "\n";
    }
}
