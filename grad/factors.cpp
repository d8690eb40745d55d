// grad/factors.cpp – the derivative of a product by one of its factors, exact with zeros
#include "grad/factors.h"

namespace ricci::grad {

Cotangent pull_back_factor(const Factors& factors, Formula factor, Formula d) {
    const Formula& zeros = factors.zeros;
    const Formula of_zero =
        (zeros == 1).choose(d * factors.others, d * factors.others * (factors.zero - factor));
    const Formula rest = d * factors.others / factor;
    const Formula of_other = (zeros == 0).choose(rest, rest * factors.zero);
    return {.guard = (zeros <= 1 || (zeros == 2 && factor == 0)).expr(),
            .value = (factor == 0).choose(of_zero, of_other).expr()};
}

Cotangent pull_back_coefficient(const Factors& factors, Formula d) {
    const Formula all = d * factors.others;
    return {.guard = (factors.zeros <= 1).expr(),
            .value = (factors.zeros == 0).choose(all, all * factors.zero).expr()};
}

}  // namespace ricci::grad
