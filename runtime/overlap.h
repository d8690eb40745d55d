// runtime/overlap.h – arguments that share memory with one that is updated
#pragma once

#include <span>
#include <vector>

#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::runtime {

/// Positions in `program.arguments` of those that an equation updates.
[[nodiscard]] std::vector<std::size_t> updated_arguments(const BoundProgram& program);

/// Checks the arguments of a program that updates those at the positions `updated` in place. An
/// argument may share memory with an updated one only if it is the same array and is read where it
/// is written and nowhere else; it is then replaced by a copy in `copies`, and its pointer in
/// `arguments` changed. Throws: `range` naming both arguments.
void resolve_overlaps(const BoundProgram& program, std::span<const std::size_t> updated,
                      std::span<const Array*> arguments, std::vector<Array>& copies);

/// Whether two arrays have a byte in common. Views are taken as the whole span from their lowest to
/// their highest element.
[[nodiscard]] bool overlaps(const Array& a, const Array& b) noexcept;

}  // namespace ricci::runtime
