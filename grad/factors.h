// grad/factors.h – the derivative of a product by one of its factors, exact with zeros
#pragma once

#include "grad/formula.h"
#include "grad/rules.h"

namespace ricci::grad {

/// What is known of the factors of a product.
struct Factors {
    Formula others;  ///< the product of those that are not zero
    Formula zeros;   ///< how many are zero
    /// The sum of those that are zero. It is 0, but its derivatives are not: where one factor is
    /// zero it stands for that one, and so makes derivatives of derivatives right.
    Formula zero;
};

/// The derivative of the product by one factor, times `d`: without a zero P / f; with one, not 0
/// for that factor alone, but changing with it for the others; with two, changing with the one for
/// the other. With more it is 0, and so are its own derivatives.
[[nodiscard]] Cotangent pull_back_factor(const Factors& factors, Formula factor, Formula d);
/// The product times `d`, which with one zero changes with that factor.
[[nodiscard]] Cotangent pull_back_coefficient(const Factors& factors, Formula d);

}  // namespace ricci::grad
