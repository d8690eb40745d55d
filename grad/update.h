// grad/update.h – derivatives of an updated array by what was there and by the values
#pragma once

#include <optional>
#include <vector>

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/gather.h"
#include "grad/names.h"
#include "grad/rules.h"
#include "grad/ties.h"

namespace ricci::grad {

/// What the derivatives of an update are multiplied with: in reverse mode the cotangent of the
/// updated array, as a tensor and as read at each point; in forward mode the tangents of the array
/// before and of the equation's value at each point.
struct UpdateSeeds {
    std::optional<TensorId> previous;  ///< unset: not wanted
    Expr value;                        ///< empty: not wanted
};

/// The products of the derivatives with the seeds, those that are wanted.
struct UpdateDerivatives {
    std::optional<Gathered> previous;  ///< of the array before, as a function of its indices
    Cotangent value;                   ///< of the equation's value, at each of its points
};

/// Of an update of a part of an array with `*=`, `max=` or `min=`, whose value is a read of what
/// was stored. What meets in an element – the product of the factors and how many are zero, the
/// largest value and which point is the first to have it, or how many have it – is held by
/// temporaries added to the program. Of equal values `Ties::first` takes the old one, then the
/// first point's. Products are exact with zeros.
[[nodiscard]] UpdateDerivatives differentiate_update(Program& program, Names& names,
                                                     const Extents& extents,
                                                     const Equation& equation, const UpdateSeeds& d,
                                                     Ties ties);

/// A part of a value, where its derivative counts, and where only half of it does.
struct Share {
    Expr term;
    Expr guard;   ///< empty: everywhere
    Expr halved;  ///< empty: nowhere
};
/// Of an update of every element, whose value is the choice between an old and a new value that
/// `max=` and `min=` become: both, sharing as `ties` says; of any other value itself.
[[nodiscard]] std::vector<Share> shares_of_choice(Context& context, Expr value, Ties ties);
/// The derivative by the term as far as it counts.
[[nodiscard]] Cotangent weighted(Context& context, const Share& share, const Cotangent& d);

}  // namespace ricci::grad
