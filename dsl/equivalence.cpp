// dsl/equivalence.cpp – whether two programs say the same, statement by statement
#include "dsl/equivalence.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/match.h"
#include "dsl/affine_form.h"
#include "dsl/integer_facts.h"
#include "dsl/size_relations.h"
#include "dsl/transplant.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// Index numbers and tensors of the other program as those of the original.
class Correspondence {
  public:
    /// Pairs them, or tells whether they are a pair already.
    bool pair(IndexId original, IndexId other) {
        const auto [forward, is_new] = to_original_.emplace(other, original);
        const auto [backward, is_new_too] = to_other_.emplace(original, other);
        return forward->second == original && backward->second == other && is_new == is_new_too;
    }
    bool pair(TensorId original, TensorId other) {
        return tensors_.emplace(other, original).first->second == original;
    }
    [[nodiscard]] bool knows(IndexId other) const { return to_original_.contains(other); }
    [[nodiscard]] bool has_partner(IndexId original) const { return to_other_.contains(original); }
    [[nodiscard]] bool knows(TensorId other) const { return tensors_.contains(other); }
    [[nodiscard]] IndexId original(IndexId other) const { return to_original_.at(other); }
    [[nodiscard]] TensorId original(TensorId other) const { return tensors_.at(other); }

  private:
    std::map<IndexId, IndexId> to_original_;
    std::map<IndexId, IndexId> to_other_;
    std::map<TensorId, TensorId> tensors_;
};

/// Compares one pair of equations, in step from the roots down.
class EquationComparison {
  public:
    EquationComparison(const Program& original, const CommonNames& names, const Program& other,
                       const SizeRelations& relations, Correspondence& correspondence)
        : original_(original),
          names_(names),
          other_(other),
          relations_(relations),
          correspondence_(correspondence) {}

    Difference run(const Equation& a, const Equation& b) {
        Difference other_term{.is_other_term = true, .ranges = {}};
        if (!has_same_head(a, b)) return other_term;
        for (std::size_t d = 0; d < a.at.size(); ++d) push(a.at[d], b.at[d], true);
        push(a.value, b.value, false);
        const bool is_same = follow_pairs() && compare_arithmetic() &&
                             pair_bound(a.indices, b.indices) && pair_reduced_indices();
        return is_same ? Difference{.ranges = different_ranges()} : other_term;
    }

    /// Whether both terms are formulas of sizes that the original knows to be equal.
    bool is_known_equality(const Requirement& requirement) {
        const auto a = import(requirement.a);
        const auto b = import(requirement.b);
        return a && b && relations_.are_equal(*a, *b);
    }

  private:
    struct Pair {
        Expr a, b;
        bool is_subscript;
    };

    bool has_same_head(const Equation& a, const Equation& b) {
        const bool is_same_target = correspondence_.pair(a.target, b.target);
        if (!is_same_target || a.op != b.op || a.at.size() != b.at.size() ||
            a.previous.has_value() != b.previous.has_value())
            return false;
        return !a.previous || same_tensor(*a.previous, *b.previous);
    }
    bool same_tensor(TensorId a, TensorId b) const {
        return correspondence_.knows(b) && correspondence_.original(b) == a;
    }

    void push(Expr a, Expr b, bool is_subscript) {
        if (seen_.emplace(a->id, b->id).second) pending_.push_back({a, b, is_subscript});
    }
    bool push_all(const std::vector<Expr>& a, const std::vector<Expr>& b, bool is_subscript) {
        if (a.size() != b.size()) return false;
        // Backwards, so that pairs are taken up in reading order.
        for (std::size_t n = a.size(); n-- > 0;) push(a[n], b[n], is_subscript);
        return true;
    }

    bool follow_pairs() {
        std::ranges::reverse(pending_);
        while (!pending_.empty()) {
            const Pair pair = pending_.back();
            pending_.pop_back();
            if (!compare_nodes(pair)) return false;
        }
        return true;
    }

    /// Whether the term is compared by its value: sums and sizes of index arithmetic.
    static bool is_arithmetic(Expr e, IntegerTerms& integers, bool is_subscript) {
        if (std::holds_alternative<Size>(e->term)) return true;
        const bool is_linear = is_apply(e, Op::add) || is_apply(e, Op::mul) || is_apply(e, Op::neg);
        return is_linear && (is_subscript || integers.contains(e));
    }

    bool compare_nodes(const Pair& pair) {
        const auto& [a, b, is_subscript] = pair;
        if (is_arithmetic(a, integers_a_, is_subscript) ||
            is_arithmetic(b, integers_b_, is_subscript)) {
            arithmetic_.push_back(pair);
            return true;
        }
        if (a->term.index() != b->term.index() || a->dtype != b->dtype) return false;
        return match(
            a->term, [&](const Literal&) { return same_literal(a, b); },
            [&](const IndexValue& t) {
                return correspondence_.pair(t.index, std::get<IndexValue>(b->term).index);
            },
            [](const Size&) { return false; },  // by is_arithmetic()
            [&](const Access& t) {
                const auto& u = std::get<Access>(b->term);
                return same_tensor(t.tensor, u.tensor) && push_all(t.at, u.at, true);
            },
            [&](const Apply& t) { return compare_operations(t, a, b, is_subscript); },
            [&](const Reduce& t) { return compare_reductions(t, std::get<Reduce>(b->term)); },
            [&](const Cast& t) {
                push(t.a, std::get<Cast>(b->term).a, is_subscript);
                return true;
            },
            [&](const Modified& t) { return compare_modified(t, std::get<Modified>(b->term)); });
    }
    /// Interned by bit pattern, literals are compared in one context.
    bool same_literal(Expr a, Expr b) const {
        return original_.context->literal(std::get<Literal>(b->term).value, a->dtype) == a;
    }
    bool compare_operations(const Apply& t, Expr a, Expr b, bool is_subscript) {
        const auto& u = std::get<Apply>(b->term);
        if (t.op != u.op) return false;
        if (t.op == Op::logical_and) return push_all(conjuncts(a), conjuncts(b), is_subscript);
        return push_all(t.args, u.args, is_subscript);
    }
    bool compare_modified(const Modified& t, const Modified& u) {
        const bool is_same =
            t.outside == u.outside && bool(t.low) == bool(u.low) && bool(t.value) == bool(u.value);
        if (!is_same) return false;
        push(t.at, u.at, true);
        if (t.low) push(t.low, u.low, true);
        if (t.high) push(t.high, u.high, true);
        if (t.value) push(t.value, u.value, false);
        return true;
    }
    bool compare_reductions(const Reduce& t, const Reduce& u) {
        const bool is_same = t.reducer == u.reducer && t.indices.size() == u.indices.size() &&
                             bool(t.condition) == bool(u.condition);
        if (!is_same) return false;
        // The order of a sum is free; that of `max` decides which of equal values is the first.
        if (t.reducer != Reducer::sum)
            for (std::size_t n = 0; n < t.indices.size(); ++n)
                if (!correspondence_.pair(t.indices[n], u.indices[n])) return false;
        reductions_.emplace_back(t, u);
        push(t.body, u.body, false);
        if (t.condition) push(t.condition, u.condition, false);
        return true;
    }

    /// Index arithmetic comes last, when the terms around it have told which indices are partners.
    bool compare_arithmetic() {
        const auto is_ready = [&](const Pair& pair) {
            return std::ranges::all_of(free_indices(pair.b),
                                       [&](IndexId index) { return correspondence_.knows(index); });
        };
        std::ranges::partition(arithmetic_, is_ready);
        for (const Pair& pair : arithmetic_) {
            while (!is_ready(pair))
                if (!pair_by_name(pair)) return false;
            const auto imported = import(pair.b);
            if (!imported || !relations_.are_equal(pair.a, *imported)) return false;
        }
        return true;
    }
    /// Pairs the first index that has no partner with one of its name. (Other indices may have that
    /// name too; then the terms are found different, and printed in another way.)
    bool pair_by_name(const Pair& pair) {
        for (IndexId other : free_indices(pair.b)) {
            if (correspondence_.knows(other)) continue;
            for (IndexId index : free_indices(pair.a))
                if (!correspondence_.has_partner(index) &&
                    names_.indices.at(std::uint32_t(index)) == other_.at(other).name)
                    return correspondence_.pair(index, other);
        }
        return false;
    }

    bool pair_reduced_indices() {
        return std::ranges::all_of(reductions_, [&](const auto& pair) {
            return pair_bound(pair.first.indices, pair.second.indices);
        });
    }
    /// Indices that no term mentions are paired in order; then one list must be the other's.
    bool pair_bound(const std::vector<IndexId>& originals, const std::vector<IndexId>& others) {
        const auto is_unknown = [&](IndexId other) { return !correspondence_.knows(other); };
        for (IndexId index : originals) {
            if (correspondence_.has_partner(index)) continue;
            const auto partner = std::ranges::find_if(others, is_unknown);
            if (partner == others.end()) return false;
            correspondence_.pair(index, *partner);
        }
        const std::set<IndexId> expected(originals.begin(), originals.end());
        for (IndexId other : others) {
            if (is_unknown(other) || !expected.contains(correspondence_.original(other)))
                return false;
            bound_.insert(other);
        }
        return expected.size() == others.size();
    }

    std::vector<IndexId> different_ranges() {
        std::vector<IndexId> found;
        for (IndexId other : bound_) {
            const IndexId index = correspondence_.original(other);
            const auto lower = import(other_.at(other).lower);
            const auto upper = import(other_.at(other).upper);
            const bool is_same = lower && upper &&
                                 relations_.are_equal(original_.at(index).lower, *lower) &&
                                 relations_.are_equal(original_.at(index).upper, *upper);
            if (!is_same) found.push_back(index);
        }
        return found;
    }

    /// The term in the original's context; nothing when it names what the original lacks.
    std::optional<Expr> import(Expr e) {
        bool is_known = true;
        Transplant transplant(
            *original_.context,
            [&](TensorId id) {
                is_known &= correspondence_.knows(id);
                return correspondence_.knows(id) ? correspondence_.original(id) : id;
            },
            [&](IndexId id) {
                is_known &= correspondence_.knows(id);
                return correspondence_.knows(id) ? correspondence_.original(id) : id;
            });
        const Expr imported = transplant(e);
        return is_known ? std::optional(imported) : std::nullopt;
    }

    const Program& original_;
    const CommonNames& names_;
    const Program& other_;
    const SizeRelations& relations_;
    Correspondence& correspondence_;
    IntegerTerms integers_a_, integers_b_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
    std::vector<Pair> pending_;
    std::vector<Pair> arithmetic_;
    std::vector<std::pair<Reduce, Reduce>> reductions_;
    std::set<IndexId> bound_;  ///< of the other program
};

/// The equation whose statement holds that place of the source. Equations are in source order.
std::size_t equation_at(const Program& program, Span place) {
    const auto found =
        std::ranges::upper_bound(program.equations, place.begin, {},
                                 [](const Equation& equation) { return equation.span.begin; });
    return std::size_t(found - program.equations.begin()) - 1;
}

}  // namespace

std::vector<Difference> differences(const Program& original, const CommonNames& names,
                                    const Program& other) {
    const std::size_t count = original.equations.size();
    std::vector<Difference> found(count);
    if (other.equations.size() != count) {
        for (Difference& each : found) each.is_other_term = true;
        return found;
    }
    Correspondence correspondence;
    std::map<std::string, TensorId> arguments;
    for (TensorId id : original.arguments) arguments.emplace(names.tensors[position(id)], id);
    for (TensorId id : other.arguments)
        if (const auto partner = arguments.find(other.at(id).name); partner != arguments.end())
            correspondence.pair(partner->second, id);
    const SizeRelations relations(original);
    for (std::size_t n = 0; n < count; ++n)
        found[n] = EquationComparison(original, names, other, relations, correspondence)
                       .run(original.equations[n], other.equations[n]);
    for (const Requirement& requirement : other.requirements) {
        if (requirement.kind != Requirement::Kind::equal || requirement.otherwise.labels.empty())
            continue;
        EquationComparison comparison(original, names, other, relations, correspondence);
        if (comparison.is_known_equality(requirement)) continue;
        const auto n = equation_at(other, requirement.otherwise.labels.front().span);
        if (n < count) found[n].is_stricter = true;
    }
    return found;
}

}  // namespace ricci
