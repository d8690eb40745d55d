// codegen/tile.h – the innermost pieces of every strategy: lanes, accumulators, writes
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

/// `unroll` vectors of `lanes` elements each; `limit` (how many elements there are) masks those
/// beyond.
struct Lanes {
    std::int64_t lanes = 1;
    std::int64_t unroll = 1;
    LoopBound limit = {};
};

/// The body for every element of the lanes; `body` gets the element's offset. Loops of one
/// iteration are left out; no lanes give scalar code.
[[nodiscard]] Body over_lanes(Nest& nest, const Lanes& lanes,
                              const std::function<Body(const AffineForm& offset)>& body);

/// Registers that hold the reductions in progress.
struct Accumulator {
    Reducer reducer = Reducer::sum;
    BufferId value{};
    std::optional<BufferId> place;  ///< argmax, argmin: the index of `value`
    /// Of elements that have met no point: beyond the places of all, or the first one where every
    /// element meets that, and others in the order of the index.
    std::int64_t first_place = 0;
    bool is_in_order = false;       ///< points are met in the order of the index
    bool meets_all_points = false;  ///< of each element

    /// Elements may meet no point.
    void leave_points_out(const Kernel& kernel);
};
/// A number beyond all indices of argmax and argmin.
[[nodiscard]] std::int64_t beyond_all_places(const Kernel& kernel);
/// Of points that are met in the order of the kernel's reduced axes, `innermost` inside of all
/// others if given.
[[nodiscard]] Accumulator make_accumulator(Kernel& kernel, std::int64_t elements,
                                           const Axis* innermost = nullptr);

/// One element back to the identity.
[[nodiscard]] Body reset(const Kernel& kernel, const Accumulator& accumulator,
                         const AffineForm& element);
/// One element combined with the kernel's body at a point.
[[nodiscard]] Body update(Kernel& kernel, const Accumulator& accumulator, const AffineForm& element,
                          Substitution& point);
/// The reduced value of an element, as a value for Let 0.
[[nodiscard]] Value result(const Kernel& kernel, const Accumulator& accumulator,
                           const AffineForm& element);

/// The index that the body's value stands at, at a point.
[[nodiscard]] Value place_at(const Kernel& kernel, Substitution& point);

/// One element combined with a value and, for argmax and argmin, the index it stands at. Of equal
/// values the one with the smaller index stays; the first NaN stays.
[[nodiscard]] Body combine(Kernel& kernel, const Accumulator& accumulator,
                           const AffineForm& element, const Value& value, const Value& place);

/// The kernel's writes at a point: all values first, then the stores.
[[nodiscard]] Body write_all(Kernel& kernel, Substitution& point);

/// Whether every form is at least zero at a point; empty where there is none.
[[nodiscard]] Value all_hold(const std::vector<AffineForm>& at_least_zero,
                             const Substitution& here);

/// The body under a condition; the body itself when there is none.
[[nodiscard]] Body guarded(const Value& condition, Body body);

/// The smallest power of two that is at least n.
[[nodiscard]] std::int64_t power_of_two_above(std::int64_t n);

}  // namespace ricci::codegen
