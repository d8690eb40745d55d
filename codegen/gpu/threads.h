// codegen/gpu/threads.h – blocks, threads, and axes named from a running number
#pragma once

#include <functional>
#include <vector>

#include "base/integer.h"
#include "codegen/kernel.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

inline constexpr std::int64_t warp = 32;

/// The loops of a launch around a body; variables `block` and `thread`.
[[nodiscard]] Body launch(Nest& nest, std::int64_t blocks, std::int64_t threads,
                          const std::function<Body(VarId block, VarId thread)>& body);

/// LetVars that give every axis its place in the row-major box of the axes, from a running number
/// in [0, points(axes)). Axes of extent 1 are 0.
[[nodiscard]] Body name_axes(const std::vector<Axis>& axes, const AffineForm& number);

/// LetVars for the place of `number`, which is below `count`, in rows of `width`: `low` in its row,
/// `high` the row.
[[nodiscard]] Body split_number(VarId high, VarId low, const AffineForm& number, std::int64_t width,
                                std::int64_t count);

/// `form < limit`, `form >= limit`, `form == 0`.
[[nodiscard]] Value is_below(const AffineForm& form, std::int64_t limit);
[[nodiscard]] Value is_at_least(const AffineForm& form, std::int64_t limit);
[[nodiscard]] Value is_zero(const AffineForm& form);
/// Both; an empty one holds always.
[[nodiscard]] Value both(const Value& a, const Value& b);

/// A shared buffer of the nest.
[[nodiscard]] BufferId add_shared(Nest& nest, std::string name, DType dtype, std::int64_t elements);
/// The most that is known to divide an address as the axes move, in elements: of its constant, of
/// the coefficients but that of `lane`, and of the alignment of the buffer. A vector access of n
/// elements along `lane` is aligned when n divides it.
[[nodiscard]] std::int64_t known_divisor(const Nest& nest, BufferId buffer,
                                         const AffineForm& address, VarId lane);

/// Every node of the values once, in an order that follows from the values alone.
[[nodiscard]] std::vector<Value> distinct_nodes(const std::vector<Value>& roots);

/// The axes without those along which writes collide, and those.
[[nodiscard]] std::vector<Axis> apart_axes(const Kernel& kernel);
[[nodiscard]] std::vector<Axis> colliding_axes(const Kernel& kernel);

/// Whether the kernel reads a buffer that it writes.
[[nodiscard]] bool updates_what_it_reads(const Kernel& kernel);

/// The greatest power of two that is at most n (n >= 1).
[[nodiscard]] std::int64_t power_of_two_below(std::int64_t n);

}  // namespace ricci::codegen::gpu
