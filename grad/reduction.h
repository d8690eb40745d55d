// grad/reduction.h – from the cotangent of a reduction to that of its body
#pragma once

#include "dsl/program.h"
#include "grad/names.h"
#include "grad/rules.h"
#include "grad/ties.h"

namespace ricci::grad {

/// How reductions are differentiated.
struct ReductionRules {
    Ties ties = Ties::first;
    bool is_complex = false;  ///< a program of complex numbers
};

/// The cotangent of the body of the reduction that is the equation's value, at each point of its
/// domain, from the cotangent `d` of that value. What this needs of the forward – which element is
/// the largest, how many factors are zero – is held by temporaries added to the program.
/// Which of several largest elements counts is said by `ties`; products are exact with zeros among
/// the factors. Of real numbers, those between bounds that other indices give are the products
/// before and behind each factor, which stay walks; complex ones have none (codegen/recurrences.h).
/// Throws: nothing for sum, prod, max and min; `argmax` and `argmin` have no cotangent to pull
/// back.
[[nodiscard]] Cotangent pull_back_reduction(Program& program, Names& names,
                                            const Equation& equation, const Reduce& reduce, Expr d,
                                            const ReductionRules& rules);

}  // namespace ricci::grad
