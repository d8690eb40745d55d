// codegen/nest_walk.h – traversals of nests that passes and checks share
#pragma once

#include <functional>
#include <vector>

#include "codegen/nest.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

/// Calls `visit` for every buffer that a statement or value names.
void for_each_buffer(const Body& body, const std::function<void(BufferId)>& visit);

/// Calls `visit` for every store of the body's own statements and those inside.
void for_each_store(const Body& body, const std::function<void(const Store&)>& visit);

/// The same for every product of tiles.
void for_each_tile_product(const Body& body, const std::function<void(const TileProduct&)>& visit);

/// Calls `visit` for every value of the body's own statements and those inside, with whole terms
/// (not their parts).
void for_each_value(const Body& body, const std::function<void(const Value&)>& visit);

/// Calls `visit` for every distinct node of the values.
void for_each_node(const std::vector<Value>& roots, const std::function<void(const Value&)>& visit);

/// The first number that no Let of the body has.
[[nodiscard]] std::uint32_t next_let(const Body& body);

/// Whether a bound of the loop depends on the variable.
[[nodiscard]] bool is_bounded_by(const Loop& loop, VarId var);

/// Replaces every whole value, in place.
void rewrite_values(Body& body, const std::function<Value(const Value&)>& to);

/// Applies a substitution to every bound, address and value.
void substitute(Body& body, Substitution& to);

/// Numbers buffers anew: `renamed[old]` is the new one.
void rename_buffers(Body& body, const std::vector<BufferId>& renamed);

}  // namespace ricci::codegen
