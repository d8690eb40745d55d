// grad/extension.cpp – reads beyond a border as reads of an array that extends as far as they reach
#include "grad/extension.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "dsl/extent.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"
#include "grad/bounds.h"

namespace ricci::grad {

namespace {

/// Wider steps leave gaps that nobody reads.
constexpr std::int64_t widest_step = 8;

/// The indices of a sum of small multiples, one of them of 1, which takes nearly all values between
/// its bounds; none of another term.
std::set<IndexId> window(Expr e) {
    const auto form = linear_form(e);
    if (!form) return {};
    std::set<IndexId> indices;
    bool has_unit = false;
    for (const LinearForm::Part& part : form->parts) {
        if (free_indices(part.atom).empty()) continue;
        const auto* value = std::get_if<IndexValue>(&part.atom->term);
        if (value == nullptr || std::abs(part.coefficient) > widest_step) return {};
        has_unit |= std::abs(part.coefficient) == 1;
        indices.insert(value->index);
    }
    return has_unit ? indices : std::set<IndexId>{};
}

const Modified* modified_at(Expr subscript) { return std::get_if<Modified>(&subscript->term); }

/// A dimension in which a window may cross the border.
struct Crossing {
    std::size_t dimension = 0;
    Modified modified;
    Bounds bounds;  ///< of what is modified
};
/// The first one, if any.
std::optional<Crossing> find_crossing(const Program& program, const Extents& extents,
                                      const Relation& relation) {
    const std::vector<Expr>& shape = program.at(relation.array).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const Modified* modified = modified_at(relation.at[d]);
        const bool crosses = modified != nullptr && modified->outside != Outside::pad &&
                             !reads_data(program, modified->at) &&
                             window(modified->at).size() >= 2 &&
                             !extents.is_inside(program, modified->at, shape[d]);
        if (!crosses) continue;
        if (const auto bounds = bounds_of(program, modified->at))
            return Crossing{.dimension = d, .modified = *modified, .bounds = *bounds};
    }
    return std::nullopt;
}

/// Whether the points lie densely in the box of the subscripts: each dimension has indices of its
/// own, and what is one index runs over the whole of it.
bool is_box(const Program& program, const Extents& extents, const Relation& relation) {
    const std::vector<Expr>& shape = program.at(relation.array).shape;
    std::set<IndexId> seen;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const Modified* modified = modified_at(relation.at[d]);
        const std::set<IndexId> indices = window(modified ? modified->at : relation.at[d]);
        if (indices.empty()) return false;
        for (const IndexId index : indices)
            if (!seen.insert(index).second) return false;
        const auto* plain = std::get_if<IndexValue>(&relation.at[d]->term);
        if (plain == nullptr) continue;
        const Index& range = program.at(plain->index);
        const bool is_whole =
            is_literal(range.lower, 0) && extents.are_equal(range.upper, shape[d]);
        if (!is_whole) return false;
    }
    return true;
}

/// The index that a dimension is read at, by name where it is one; another letter than those that
/// the dimensions of the array get.
std::string name_of(const Program& program, const Names& names, const Relation& relation,
                    std::size_t d) {
    const auto* plain = std::get_if<IndexValue>(&relation.at[d]->term);
    return plain != nullptr ? program.at(plain->index).name : names.index(relation.at.size() + d);
}

}  // namespace

std::optional<Extension> extension(Program& program, const Names& names, const Extents& extents,
                                   const Relation& relation) {
    const std::optional<Crossing> crossing = find_crossing(program, extents, relation);
    if (!crossing || !is_box(program, extents, relation)) return std::nullopt;
    const auto& [d, modified, bounds] = *crossing;
    Context& context = *program.context;
    std::vector<Expr> shape;
    for (const Expr extent : program.at(relation.array).shape)
        shape.push_back(extents.preferred(extent));
    shape[d] = integer_sum(context, integer_difference(context, bounds.high, bounds.low),
                           context.integer(1));
    if (!extents.is_never_negative(program, shape[d]))
        shape[d] = larger(context, shape[d], context.integer(0));
    Extension result{.shape = shape, .at = relation.at, .indices = {}, .at_original = {}};
    for (std::size_t each = 0; each < shape.size(); ++each) {
        result.indices.push_back(program.add(Index{.name = name_of(program, names, relation, each),
                                                   .lower = context.integer(0),
                                                   .upper = shape[each],
                                                   .is_explicit = false}));
        result.at_original.push_back(context.index(result.indices.back()));
    }
    result.at[d] = integer_difference(context, modified.at, bounds.low);
    Modified place = modified;
    place.at = integer_sum(context, result.at_original[d], bounds.low);
    result.at_original[d] = context.intern(place);
    return result;
}

}  // namespace ricci::grad
