// codegen/stored_terms.cpp – sums of what another equation stores read it
#include "codegen/stored_terms.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/group.h"
#include "codegen/term_cost.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// A term of this cost takes longer than what it reads: a function (an addition or a load is 1).
constexpr int dear_cost = 16;
/// Larger terms are not looked for in others.
constexpr std::size_t most_nodes = 512;

/// Index values to those that stand for them.
using Renaming = ExprMap<Expr>;

std::optional<IndexId> index_of(Expr e) {
    const auto* index = std::get_if<IndexValue>(&e->term);
    return index == nullptr ? std::nullopt : std::optional(index->index);
}

class StoredTerms {
  public:
    explicit StoredTerms(BoundProgram program) : program_(std::move(program)) {}

    BoundProgram run() {
        // Each equation moves at most once: those before which it moves are behind it then.
        std::vector<TensorId> stored;
        for (const BoundEquation& equation : program_.equations)
            if (may_be_read(equation)) stored.push_back(equation.target);
        for (const TensorId target : stored) read_instead(target);
        return std::move(program_);
    }

  private:
    /// Whether reductions may read what the equation stores instead of its term.
    [[nodiscard]] bool may_be_read(const BoundEquation& equation) const {
        if (equation.reduction || equation.op != Assign::define || !is_output(equation.target) ||
            is_updated(equation.target) ||
            program_.at(equation.target).dtype != equation.value->dtype)
            return false;
        const std::vector<Expr> nodes = postorder({equation.value});
        if (nodes.size() > most_nodes) return false;
        int total = 0;
        for (const Expr e : nodes) total += cost(e);
        const std::size_t whole = std::size_t(
            std::ranges::count_if(nodes, [&](Expr e) { return names_all(e, equation.indices); }));
        const auto name_all = [&] {
            std::vector<IndexId> named;
            for (const Expr subscript : equation.at)
                if (const auto index = index_of(subscript)) named.push_back(*index);
            return std::ranges::all_of(equation.indices,
                                       [&](IndexId index) { return has_index(named, index); });
        };
        return name_all() && (whole >= 2 || (whole == 1 && total >= dear_cost));
    }
    [[nodiscard]] bool is_output(TensorId tensor) const {
        return std::ranges::find(program_.outputs, tensor) != program_.outputs.end();
    }
    [[nodiscard]] bool is_updated(TensorId tensor) const {
        return std::ranges::any_of(
            program_.tensors, [&](const BoundTensor& other) { return other.previous == tensor; });
    }
    /// Whether the node reads an element of its own at each point of the indices; of none, any
    /// element is.
    static bool names_all(Expr e, const std::vector<IndexId>& indices) {
        const auto* access = std::get_if<Access>(&e->term);
        if (access == nullptr) return false;
        return std::ranges::all_of(indices, [&](IndexId index) {
            return std::ranges::any_of(access->at, [&](Expr at) { return index_of(at) == index; });
        });
    }

    void read_instead(TensorId target) {
        const auto begin = program_.equations.begin();
        const auto storing = std::ranges::find(program_.equations, target, &BoundEquation::target);
        const BoundEquation stored = *storing;
        auto first = program_.equations.end();
        for (auto reader = begin; reader != program_.equations.end(); ++reader)
            if (reader->reduction && reader != storing && may_meet(reader, storing) &&
                replace(stored, *reader))
                first = std::min(first, reader);
        if (first < storing) std::rotate(first, storing, storing + 1);
    }

    using Place = std::vector<BoundEquation>::iterator;
    /// Whether the terms of both mean the same where the first of them stands. Checks of data need
    /// no look: their verdicts stand before the first of equal terms, as before any.
    [[nodiscard]] bool may_meet(Place a, Place b) const {
        const auto [first, last] = std::minmax(a, b);
        const std::vector<TensorId> read = tensors_read(b->value);
        return std::none_of(first, last, [&](const BoundEquation& between) {
            return std::ranges::any_of(read, [&](TensorId tensor) {
                return storage(program_, tensor) == storage(program_, between.target);
            });
        });
    }

    /// Reads of the stored array in the place of its term, at the points that the first read which
    /// both have in common says; false where that does not occur. A term that stands there once
    /// more, at other points, stays.
    bool replace(const BoundEquation& stored, BoundEquation& reader) {
        Context& context = *program_.context;
        const std::vector<Expr> theirs = postorder({reader.value});
        for (const Expr mine : postorder({stored.value})) {
            if (!names_all(mine, stored.indices)) continue;
            for (const Expr read : theirs) {
                const std::optional<Renaming> renamed = match(mine, read);
                if (!renamed) continue;
                const Expr term = substitute(context, stored.value, *renamed);
                if (std::ranges::find(theirs, term) == theirs.end()) continue;
                std::vector<Expr> at;
                for (const Expr subscript : stored.at)
                    at.push_back(substitute(context, subscript, *renamed));
                reader.value =
                    substitute(context, reader.value,
                               {{term, context.access(stored.target, std::move(at), term->dtype)}});
                return true;
            }
            return false;  // where the term stands, each of its reads does
        }
        return false;
    }
    /// The indices of `theirs` for those of `mine`, if both read one array with each index as a
    /// subscript of its own, of the same range.
    [[nodiscard]] std::optional<Renaming> match(Expr mine, Expr theirs) const {
        const auto& from = std::get<Access>(mine->term);
        const auto* to = std::get_if<Access>(&theirs->term);
        if (to == nullptr || to->tensor != from.tensor) return std::nullopt;
        Renaming renamed;
        for (std::size_t d = 0; d < from.at.size(); ++d) {
            const std::optional<IndexId> a = index_of(from.at[d]);
            if (!a) continue;
            const std::optional<IndexId> b = index_of(to->at[d]);
            if (!b || program_.at(*a).lower != program_.at(*b).lower ||
                program_.at(*a).upper != program_.at(*b).upper)
                return std::nullopt;
            const auto [entry, is_new] = renamed.emplace(from.at[d], to->at[d]);
            if (!is_new && entry->second != to->at[d]) return std::nullopt;
        }
        return renamed;
    }

    BoundProgram program_;
};

}  // namespace

BoundProgram with_stored_terms(BoundProgram program) {
    return StoredTerms(std::move(program)).run();
}

}  // namespace ricci::codegen
