// examples/distance.cpp – squared distances between columns, and both gradients
#include <iostream>

#include "ricci/ricci.h"

int main() {
    using namespace ricci;
    const Function distance = compile("D[i,j] := (w[k,i] - x[k,j])^2");
    const Array w = Array::randn(DType::f32, {784, 5});
    const Array x = Array::randn(DType::f32, {784, 3}, 1);
    const Array D = distance(w, x);
    const Array dD = Array::full(DType::f32, D.shape(), 1.0);
    std::cout << str(distance) << "\n" << str(D) << "\n\n";

    // Each argument has a gradient expression of its own, in the same language.
    for (const char* name : {"w", "x"}) {
        const Function gradient = distance.grad(name);
        const Array value = gradient({{"w", w}, {"x", x}, {"dD", dD}});
        std::cout << str(gradient) << "\n" << str(value) << "\n\n";
    }
}
