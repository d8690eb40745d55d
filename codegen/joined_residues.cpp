// codegen/joined_residues.cpp – residue classes as rows of one product
#include "codegen/joined_residues.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/taken_rows.h"
#include "dsl/affine_form.h"
#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Rows of a tile: one or two vectors of each are in registers.
constexpr std::int64_t most_rows = 12;
/// Tiles of so many rows do not wait for their columns: transposed convolutions of 8x64x56x56 to
/// four channels, 4x4 and stride 2, take 2.5 ms with two classes joined, 2.1 with none (Zen 4).
constexpr std::int64_t enough_rows = 4;
/// Points of a band, each of which is written out in a tile with the rows that it is of.
constexpr std::int64_t most_points_of_band = 4;
/// Of the reduced indices that no condition ties to others: shorter sums are written as fast as
/// computed.
constexpr std::int64_t least_depth = 8;
/// Elements that second-level caches do not hold: of single rows only these are worth reading once.
constexpr std::int64_t large = 1 << 19;

using Indices = std::set<std::uint32_t>;

bool is_read_at(const Access& access, IndexId id) {
    return std::ranges::any_of(access.at, [&](Expr at) { return has_index(free_indices(at), id); });
}

/// The arrays that a sum multiplies, by the indices they are read at.
struct Sides {
    Indices rows;     ///< of those that both indices of the band move
    Indices columns;  ///< of the others
    bool has_large_columns = false;
};

/// Nothing where some array is no number of a product, or is moved by the free index alone.
std::optional<Sides> sides_of(const BoundProgram& program, const BoundEquation& equation,
                              const BandIndices& band) {
    Sides sides;
    for (const Expr node : postorder({equation.value})) {
        const auto* access = std::get_if<Access>(&node->term);
        if (access == nullptr) continue;
        const bool is_of_rows = is_read_at(*access, band.free);
        if (!is_floating(node->dtype) || (is_of_rows && !is_read_at(*access, band.solved)))
            return std::nullopt;
        Indices& side = is_of_rows ? sides.rows : sides.columns;
        for (const Expr at : access->at)
            for (const IndexId id : free_indices(at)) side.insert(std::uint32_t(id));
        sides.has_large_columns |=
            !is_of_rows && element_count(program.at(access->tensor).shape) >= large;
    }
    const bool has_both = !sides.rows.empty() && sides.columns.contains(std::uint32_t(band.solved));
    return has_both ? std::optional(std::move(sides)) : std::nullopt;
}

/// Whether a condition ties an index to one of some others.
bool is_tied(const BoundEquation& equation, IndexId id, const Indices& others) {
    return std::ranges::any_of(conjuncts(equation.reduction->condition), [&](Expr part) {
        const std::vector<IndexId> tied = free_indices(part);
        return has_index(tied, id) && std::ranges::any_of(tied, [&](IndexId each) {
                   return each != id && others.contains(std::uint32_t(each));
               });
    });
}

/// The points of an equation's rows, by whether these are residues of another band.
struct Rows {
    std::int64_t own = 1;
    std::int64_t joined = 1;
    Indices residues;
};
Rows rows_of(const BoundProgram& program, const BoundEquation& equation, const BandIndices& band,
             const Sides& sides) {
    Rows rows;
    for (const IndexId id : equation.indices) {
        const auto number = std::uint32_t(id);
        if (id == band.free || !sides.rows.contains(number) || sides.columns.contains(number))
            continue;
        const bool is_tied_to_columns = is_tied(equation, id, sides.columns);
        const bool is_place = std::ranges::any_of(equation.at, [&](Expr at) {
            const auto* index = std::get_if<IndexValue>(&at->term);
            return index != nullptr && index->index == id;
        });
        if (is_place && is_tied_to_columns) continue;  // of a band that is to be gone through
        std::int64_t& of_kind = is_tied_to_columns ? rows.joined : rows.own;
        of_kind = std::min(of_kind * program.at(id).extent(), most_rows + 1);
        if (is_tied_to_columns) rows.residues.insert(number);
    }
    return rows;
}

}  // namespace

bool joins_residues(const BoundProgram& program, const BoundEquation& equation,
                    const BandIndices& band, JoinedResidues which) {
    const std::optional<Sides> sides = sides_of(program, equation, band);
    if (!sides || band.points > most_points_of_band) return false;
    const Rows rows = rows_of(program, equation, band, *sides);
    if (rows.own * rows.joined * band.classes > most_rows) return false;
    std::int64_t points = band.points;  // of all bands together
    for (const IndexId id : equation.reduction->indices)
        if (is_tied(equation, id, rows.residues))
            points = std::min(points * program.at(id).extent(), most_written_out + 1);
    if (points > most_written_out) return false;
    if (which != JoinedResidues::few_rows) return which == JoinedResidues::always;
    Indices all;
    for (const std::vector<IndexId>* ids : {&equation.indices, &equation.reduction->indices})
        for (const IndexId id : *ids) all.insert(std::uint32_t(id));
    std::int64_t depth = 1;
    for (const IndexId id : equation.reduction->indices)
        if (!is_tied(equation, id, all))
            depth = std::min(depth * program.at(id).extent(), least_depth);
    return rows.own < enough_rows && depth >= least_depth &&
           (rows.own > 1 || sides->has_large_columns);
}

Expr with_guarded_rows(EquationMaker& make, const BoundEquation& equation, IndexId residue,
                       Expr condition) {
    std::vector<IndexId> domain = equation.indices;
    domain.insert(domain.end(), equation.reduction->indices.begin(),
                  equation.reduction->indices.end());
    Context& context = make.context();
    return rewrite(context, equation.value, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (access == nullptr) return node;
        const Shape& shape = make.program().at(access->tensor).shape;
        std::vector<Expr> at = access->at;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const bool is_inside =
                prove_in_bounds(make.program().indices, domain, Expr(), at[d], shape[d]).in_bounds;
            if (is_inside || !has_index(free_indices(at[d]), residue)) continue;
            at[d] = context.apply(Op::clamp, {at[d], make.integer(0), make.integer(shape[d] - 1)},
                                  DType::i64);
        }
        if (at == access->at) return node;
        return make.choose(condition, context.access(access->tensor, std::move(at), node->dtype),
                           context.literal(0.0, node->dtype));
    });
}

}  // namespace ricci::codegen
