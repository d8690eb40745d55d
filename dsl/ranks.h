// dsl/ranks.h – programs that serve arrays of any rank: `..`, written out for the ranks at hand
#pragma once

#include "dsl/ast.h"
#include "dsl/program.h"

namespace ricci {

/// Whether what the program means depends on ranks that its subscripts do not tell: by `..`, or by
/// the `size` of a dimension counted from the last.
[[nodiscard]] bool depends_on_ranks(const ast::Program& tree);

/// The program for arrays of these ranks: every `..` is written out as indices, the same in all of
/// a statement. Ranks that are not given follow from the others; where nothing tells, `..` stands
/// for one dimension. Throws: `shape` where ranks contradict each other, `syntax`.
[[nodiscard]] ast::Program write_out_runs(const ast::Program& tree, const Ranks& ranks);

/// The error for `size(A, d)` of an array that has no such dimension.
[[nodiscard]] Diagnosis no_dimension(const SourcePtr& source, Span place, std::string_view array,
                                     int rank, std::int64_t asked);
/// Its hint: which dimensions there are.
[[nodiscard]] std::string dimensions_hint(std::string_view array, std::size_t rank);

}  // namespace ricci
