// codegen/gpu/coalescing.h – what the accesses of a warp cost, by the axes its lanes run over
//
// Memory is read and written in sectors of 32 bytes. The estimate counts, for the 32 threads of a
// warp, the distinct sectors of each access and the instructions it takes; its unit is an issue
// slot. An H200 moves some 19 bytes a clock and multiprocessor to or from memory, twice to three
// times that to or from its second cache, and issues 4 instructions: a sector is worth 3 slots.
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"
#include "codegen/kernel.h"

namespace ricci::codegen::gpu {

/// Which accesses of a kernel are looked at.
enum class Part : std::uint8_t { body, writes };

/// Axes that consecutive threads run over, the last one fastest, and the elements that a thread
/// takes at once along the last one.
struct ThreadOrder {
    std::vector<Axis> axes;
    std::int64_t vector = 1;
};

/// Issue slots of a warp for one access by every thread (to `vector` points each). Over the
/// `repeated` axes a thread goes itself, the last one fastest: sectors that it meets again there
/// are in the first cache.
[[nodiscard]] double access_slots(const Kernel& kernel, const std::vector<Touch>& touches,
                                  const ThreadOrder& order, const std::vector<Axis>& repeated = {});

/// The accesses of one part of a kernel.
[[nodiscard]] std::vector<Touch> touches_of(const Kernel& kernel, Part part);

/// Whether an access by vectors of that many elements along the axis is one instruction.
[[nodiscard]] bool is_vector_access(const Kernel& kernel, const Touch& touch, VarId axis,
                                    std::int64_t vector);

/// What a thread costs besides its accesses: its places, its part in the writes.
inline constexpr double thread_slots = 30;

/// Which vectors come into question: none; those whose length divides the extent of their axis; or
/// any, where it is the only axis (what is left over goes element by element). Some access has to
/// become one instruction.
enum class Vectors : std::uint8_t { none, whole, with_tail };

/// The cheapest order and vector for the accesses: each axis is tried as the fastest, the others
/// stay in their order. `outside` are slower axes, which lanes run over when `axes` are short.
struct CheapestOrder {
    ThreadOrder order;
    double slots = 0;  ///< of a warp, for each point that a thread takes
};
[[nodiscard]] CheapestOrder cheapest_order(const Kernel& kernel, const std::vector<Touch>& touches,
                                           const std::vector<Axis>& outside,
                                           const std::vector<Axis>& axes, Vectors vectors,
                                           const std::vector<Axis>& repeated = {});

}  // namespace ricci::codegen::gpu
