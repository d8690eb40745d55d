// grad/update.h – from the cotangent of an updated array to those of what was there and of the
// values
#pragma once

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/gather.h"
#include "grad/names.h"
#include "grad/rules.h"
#include "grad/ties.h"

namespace ricci::grad {

/// What an update leaves.
struct UpdateCotangents {
    Gathered previous;  ///< of the array before, as a function of its indices
    Cotangent value;    ///< of the equation's value, at each of its points
};

/// Of an update of a part of an array with `*=`, `max=` or `min=`, whose value is a read of what
/// was stored. What meets in an element – the product of the factors and how many are zero, the
/// largest value and which point is the first to have it, or how many have it – is held by
/// temporaries added to the program. Of equal values `Ties::first` takes the old one, then the
/// first point's. Products are exact with zeros.
[[nodiscard]] UpdateCotangents pull_back_update(Program& program, Names& names,
                                                const Extents& extents, const Equation& equation,
                                                TensorId d, Ties ties);

/// A part of a value and the cotangent that reaches it.
struct Share {
    Expr term;
    Cotangent d;
};
/// Of an update of every element, whose value is the choice between an old and a new value that
/// `max=` and `min=` become, with equal values sharing as `ties` says; of any other value itself.
[[nodiscard]] std::vector<Share> shares_of_choice(Context& context, Expr value, Expr d, Ties ties);

}  // namespace ricci::grad
