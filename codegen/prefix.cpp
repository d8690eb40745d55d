// codegen/prefix.cpp – conditions that bound an index by another one
#include "codegen/prefix.h"

#include <cstdlib>

#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

std::optional<Prefix> as_prefix(Expr conjunct, const std::vector<IndexId>& reduced) {
    const std::vector<Comparison> all = comparisons(conjunct);
    const std::vector<IndexId> ids = free_indices(conjunct);
    if (all.size() != 1 || all[0].op == Op::eq || ids.size() != 2) return std::nullopt;
    const bool is_first = has_index(reduced, ids[0]);
    const IndexId l = ids[is_first ? 0 : 1];
    const IndexId k = ids[is_first ? 1 : 0];
    if (!has_index(reduced, l) || has_index(reduced, k)) return std::nullopt;
    Variables variables({l, k});
    const std::optional<affine::Form> left = affine_form(all[0].left, variables);
    const std::optional<affine::Form> right = affine_form(all[0].right, variables);
    if (!left || !right || variables.size() != 2) return std::nullopt;
    const bool is_greater = all[0].op == Op::gt || all[0].op == Op::ge;
    const bool is_strict = all[0].op == Op::gt || all[0].op == Op::lt;
    const std::int64_t sign = is_greater ? 1 : -1;
    // step*l + of_k*k + constant >= 0
    const std::int64_t step = sign * (left->at(0) - right->at(0));
    const std::int64_t of_k = sign * (left->at(1) - right->at(1));
    const std::int64_t constant = sign * (left->constant - right->constant) - (is_strict ? 1 : 0);
    if (std::abs(step) != 1 || of_k != -step || constant > most_prefix_shift ||
        constant < -most_prefix_shift)
        return std::nullopt;
    return Prefix{.result = k, .reduced = l, .shift = -step * constant, .is_suffix = step == 1};
}

}  // namespace ricci::codegen
