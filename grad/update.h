// grad/update.h – derivatives of an updated array by what was there and by the values
#pragma once

#include <optional>

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/gather.h"
#include "grad/names.h"
#include "grad/rules.h"

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
/// largest value and which point is the first to have it – is held by temporaries added to the
/// program. Of equal values the old one counts, then the first point's. Products are exact with
/// zeros.
[[nodiscard]] UpdateDerivatives differentiate_update(Program& program, Names& names,
                                                     const Extents& extents,
                                                     const Equation& equation,
                                                     const UpdateSeeds& d);

}  // namespace ricci::grad
