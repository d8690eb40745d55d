// codegen/gpu/share_out.h – the points of a reduction, shared out among threads
#pragma once

#include <functional>

#include "codegen/kernel.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

/// Who takes part: thread `number` of `threads`, each with `unroll` turns side by side. A turn is
/// `vector` points along the last axis of `order`.
struct Share {
    AffineForm number;
    std::int64_t threads = 1;
    std::int64_t unroll = 1;
    std::int64_t vector = 1;
    std::vector<Axis> order;  ///< the reduced axes, the one that threads run along last
};

/// What a thread does in one turn. `slot` counts the turns side by side; `vector` points begin at
/// `first`, the places of the axes. `test` is what must still hold of a point, or nothing.
struct Turn {
    AffineForm slot;
    std::int64_t vector = 1;
    std::vector<AffineForm> first = {};
    Value test = nullptr;
};
using TurnBody = std::function<Body(const Turn& turn)>;

/// Whether the affine conditions of the kernel leave a box: then all points are one running number,
/// else loops have bounds that move.
[[nodiscard]] bool is_box(const Kernel& kernel);

/// Loops over this thread's points. Turns of one thread go in order of the running number; in a
/// box, thread after thread takes the next turn.
[[nodiscard]] Body share_out(Kernel& kernel, const Share& share, const TurnBody& body);

/// The substitution that puts `offset` elements further along the last axis of a turn.
[[nodiscard]] Substitution at_turn(const Share& share, const Turn& turn, const AffineForm& offset);

}  // namespace ricci::codegen::gpu
