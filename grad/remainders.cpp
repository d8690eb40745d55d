// grad/remainders.cpp – subscripts with `%` as affine ones, of an index more
#include "grad/remainders.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"
#include "grad/bounds.h"

namespace ricci::grad {

namespace {

Expr unmodified(Expr subscript) {
    const auto* modified = std::get_if<Modified>(&subscript->term);
    return modified != nullptr ? modified->at : subscript;
}

class Rewriter {
  public:
    Rewriter(Program& program, const Relation& relation)
        : program_(program), context_(*program.context), relation_(relation) {}

    Relation run() {
        std::set<IndexId> taken;
        for (const Expr subscript : relation_.at)
            if (const auto* plain = std::get_if<IndexValue>(&subscript->term))
                taken.insert(plain->index);
        for (std::size_t d = 0; d < relation_.at.size(); ++d) {
            if (!find(d) || unit_index(d, taken)) continue;
            const Relation before = relation_;
            while (const auto remainder = find(d)) replace(*remainder);
            const auto index = unit_index(d, taken);
            if (index && pays(before, *index))
                taken.insert(*index);
            else
                relation_ = before;
        }
        return relation_;
    }

  private:
    /// An index that the subscript can be solved for, but for what is solved for already.
    [[nodiscard]] std::optional<IndexId> unit_index(std::size_t d,
                                                    const std::set<IndexId>& taken) const {
        const auto form = linear_form(unmodified(relation_.at[d]));
        if (!form) return std::nullopt;
        for (const LinearForm::Part& part : form->parts) {
            const auto* value = std::get_if<IndexValue>(&part.atom->term);
            if (value == nullptr || std::abs(part.coefficient) != 1) continue;
            if (taken.contains(value->index) || has_index(relation_.quotients, value->index))
                continue;
            const auto is_in = [&](const LinearForm::Part& other) {
                return other.atom != part.atom && has_index(free_indices(other.atom), value->index);
            };
            if (std::ranges::none_of(form->parts, is_in)) return value->index;
        }
        return std::nullopt;
    }

    /// Whether the sum over the new indices has no more points than the one over the index that is
    /// solved for: one new index at most that no subscript is, and no longer than the solved one
    /// where both have extents that are known.
    [[nodiscard]] bool pays(const Relation& before, IndexId solved) const {
        std::vector<IndexId> summed;
        for (std::size_t n = before.quotients.size(); n < relation_.quotients.size(); ++n)
            if (std::ranges::find(relation_.at, context_.index(relation_.quotients[n])) ==
                relation_.at.end())
                summed.push_back(relation_.quotients[n]);
        if (summed.empty()) return true;
        const auto more =
            linear_form(integer_difference(context_, extent(summed.front()), extent(solved)));
        return summed.size() == 1 && more && (!more->parts.empty() || more->constant <= 0);
    }
    [[nodiscard]] Expr extent(IndexId index) const {
        const Index& range = program_.at(index);
        return integer_difference(context_, range.upper, range.lower);
    }

    /// `e % N`
    struct Remainder {
        Expr dividend;
        Expr divisor;
        Bounds bounds;  ///< of e
    };

    /// An innermost remainder of the subscript.
    [[nodiscard]] std::optional<Remainder> find(std::size_t d) const {
        for (const Expr node : postorder({relation_.at[d]})) {
            if (!is_apply(node, Op::mod) || free_indices(node).empty()) continue;
            const auto& args = std::get<Apply>(node->term).args;
            if (!free_indices(args[1]).empty() || reads_data(program_, node)) continue;
            if (const auto bounds = bounds_of(program_, args[0]))
                return Remainder{args[0], args[1], *bounds};
        }
        return std::nullopt;
    }

    void replace(const Remainder& r) {
        const Expr step = larger(context_, r.divisor, context_.integer(1));
        const Expr end = integer_sum(context_, floor_quotient(context_, r.bounds.high, step),
                                     context_.integer(1));
        const IndexId m = program_.add(Index{.name = name(),
                                             .lower = floor_quotient(context_, r.bounds.low, step),
                                             .upper = end,
                                             .is_explicit = false});
        const Expr quotient = context_.index(m);
        const Expr rest = integer_difference(context_, r.dividend,
                                             integer_product(context_, r.divisor, quotient));
        const ExprMap<Expr> values = {
            {context_.apply(Op::mod, {r.dividend, r.divisor}), rest},
            {context_.apply(Op::floordiv, {r.dividend, r.divisor}), quotient}};
        const auto rewritten = [&](Expr e) { return e ? substitute(context_, e, values) : e; };
        for (Expr& subscript : relation_.at) subscript = rewritten(subscript);
        relation_.condition = rewritten(relation_.condition);
        relation_.d.guard = rewritten(relation_.d.guard);
        relation_.d.value = rewritten(relation_.d.value);
        for (const Expr bound : {context_.apply(Op::ge, {rest, context_.integer(0)}),
                                 context_.apply(Op::lt, {rest, r.divisor})})
            relation_.condition = context_.logical_and(relation_.condition, bound);
        relation_.indices.push_back(m);
        relation_.reduced += 1;
        relation_.quotients.push_back(m);
    }

    /// `m`, `m2`, …
    [[nodiscard]] std::string name() const {
        const auto taken = std::ranges::count_if(relation_.indices, [&](IndexId index) {
            return program_.at(index).name.starts_with('m');
        });
        return taken == 0 ? "m" : format("m{}", taken + 1);
    }

    Program& program_;
    Context& context_;
    Relation relation_;
};

}  // namespace

Relation without_remainders(Program& program, const Relation& relation) {
    return Rewriter(program, relation).run();
}

}  // namespace ricci::grad
