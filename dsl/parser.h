// dsl/parser.h – text to syntax tree
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsl/ast.h"

namespace ricci {

/// How deep expressions may be nested: parentheses, subscripts, calls, reducers, branches of `?:`,
/// chains of unary operators and of powers.
inline constexpr std::uint32_t max_nesting = 256;
/// The most statements and definitions of one program.
inline constexpr std::size_t max_statements = 10'000;

namespace ast {

/// The syntax tree of a program; nothing is known of its names yet.
/// Throws: `syntax`, with what was found and what was expected there; `name` for a reserved word
/// used as a name; `limit`.
[[nodiscard]] Program parse(const SourcePtr& source);

}  // namespace ast
}  // namespace ricci
