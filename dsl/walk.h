// dsl/walk.h – traversals of terms: iterative, each shared node once
#pragma once

#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "dsl/expr.h"

namespace ricci {

struct ExprHash {
    std::size_t operator()(Expr e) const noexcept { return std::hash<const void*>{}(&*e); }
};
template <class T>
using ExprMap = std::unordered_map<Expr, T, ExprHash>;

/// The distinct nodes of the terms, operands before users.
[[nodiscard]] std::vector<Expr> postorder(const std::vector<Expr>& roots);

/// The nodes whose values make the term's value: all but those inside subscripts.
[[nodiscard]] std::vector<Expr> value_nodes(Expr root);

/// Rebuilds a term bottom-up: `step` gets each node after its operands were replaced, and returns
/// the node to use instead (itself for no change). Nodes are rebuilt through the building
/// functions of `context`, keeping dtypes.
[[nodiscard]] Expr rewrite(Context& context, Expr root, const std::function<Expr(Expr)>& step);

/// The term with the given nodes replaced, outermost first; a replacement is not searched again.
[[nodiscard]] Expr substitute(Context& context, Expr root, const ExprMap<Expr>& replacement);
/// The term with indices replaced by terms.
[[nodiscard]] Expr substitute_indices(Context& context, Expr root,
                                      const std::unordered_map<std::uint32_t, Expr>& replacement);

/// The indices that occur in the term and are not bound by a reducer inside it, in order of first
/// occurrence (reading order).
[[nodiscard]] std::vector<IndexId> free_indices(Expr root);
[[nodiscard]] bool has_index(const std::vector<IndexId>& list, IndexId index);
/// The tensors read (not merely measured by `size`), in order of first occurrence.
[[nodiscard]] std::vector<TensorId> tensors_read(Expr root);
/// Whether a node for which `test` holds occurs.
[[nodiscard]] bool contains(Expr root, const std::function<bool(Expr)>& test);

}  // namespace ricci
