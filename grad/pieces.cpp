// grad/pieces.cpp – relations whose subscripts are affine or data, from those that are modified
#include "grad/pieces.h"

#include <optional>
#include <utility>

#include "dsl/extent.h"
#include "dsl/subscript.h"
#include "grad/bounds.h"
#include "grad/remainders.h"

namespace ricci::grad {

namespace {

Expr at_least_one(Context& context, Expr extent) {
    return larger(context, extent, context.integer(1));
}

/// Of the mirrored array, which has one element more than half of it on each side.
Expr period(Context& context, Expr extent) {
    const Expr twice = integer_scale(context, extent, 2);
    return at_least_one(context, integer_difference(context, twice, context.integer(2)));
}

class Pieces {
  public:
    Pieces(Program& program, const Extents& extents)
        : program_(program), context_(*program.context), extents_(extents) {}

    std::vector<Relation> of(const Relation& relation) {
        std::vector<Relation> pieces{relation};
        for (std::size_t d = 0; d < relation.at.size(); ++d) {
            std::vector<Relation> next;
            for (const Relation& piece : pieces) {
                std::vector<Relation> parts = in_dimension(piece, d);
                next.insert(next.end(), parts.begin(), parts.end());
            }
            pieces = std::move(next);
        }
        return pieces;
    }

  private:
    std::vector<Relation> in_dimension(Relation relation, std::size_t d) {
        const Expr subscript = relation.at[d];
        const auto* modified = std::get_if<Modified>(&subscript->term);
        const Expr e = modified != nullptr ? modified->at : subscript;
        const bool is_data = reads_data(program_, e);
        if (modified == nullptr) {
            if (is_data) relation.at[d] = with_wide_data(program_, e);
            return {relation};
        }
        const Expr extent = extents_.preferred(program_.at(relation.array).shape[d]);
        const std::optional<Bounds> bounds = is_data ? std::nullopt : bounds_of(program_, e);
        const bool is_simple =
            modified->outside == Outside::pad || extents_.is_inside(program_, e, extent);
        if (!is_data && is_simple) {
            relation.at[d] = e;
            return {relation};
        }
        const bool is_clamped = modified->outside == Outside::clamp;
        if (is_data || (!bounds && !is_clamped)) {
            relation.at[d] = place_of(program_, subscript, extent);
            return {relation};
        }
        if (is_clamped) return clamped(relation, d, e, extent);
        if (modified->outside == Outside::wrap) return {wrapped(relation, d, e, *bounds, extent)};
        return reflected(relation, d, e, *bounds, extent);
    }

    static void restrict(Context& context, Relation& relation, Op op, Expr a, Expr b) {
        relation.condition = context.logical_and(relation.condition, context.apply(op, {a, b}));
    }

    std::vector<Relation> clamped(const Relation& relation, std::size_t d, Expr e, Expr extent) {
        const Expr zero = context_.integer(0);
        const Expr last = integer_difference(context_, extent, context_.integer(1));
        std::vector<Relation> pieces{relation};
        pieces[0].at[d] = e;
        if (!extents_.is_never_negative(program_, e)) {
            Relation below = relation;
            below.at[d] = zero;
            restrict(context_, below, Op::lt, e, zero);
            pieces.push_back(std::move(below));
        }
        if (!extents_.is_never_negative(program_, integer_difference(context_, last, e))) {
            Relation beyond = relation;
            beyond.at[d] = last;
            restrict(context_, beyond, Op::ge, e, extent);
            pieces.push_back(std::move(beyond));
        }
        return pieces;
    }

    /// `e = t + step*m`: the relation with one index more.
    Relation wrapped(Relation relation, std::size_t d, Expr e, const Bounds& bounds, Expr extent) {
        relation.at[d] = integer_difference(
            context_, e, multiple(relation, bounds, at_least_one(context_, extent)));
        return relation;
    }

    /// `e = t + P*m` and, but for the two ends, `e = P*m - t`.
    std::vector<Relation> reflected(const Relation& relation, std::size_t d, Expr e,
                                    const Bounds& bounds, Expr extent) {
        Relation same = relation;
        same.at[d] =
            integer_difference(context_, e, multiple(same, bounds, period(context_, extent)));
        Relation mirrored = relation;
        // Between the ends: one period more than the bounds of e itself have.
        const Bounds wider{bounds.low,
                           integer_sum(context_, bounds.high, period(context_, extent))};
        mirrored.at[d] =
            integer_difference(context_, multiple(mirrored, wider, period(context_, extent)), e);
        const Expr last = integer_difference(context_, extent, context_.integer(1));
        restrict(context_, mirrored, Op::gt, mirrored.at[d], context_.integer(0));
        restrict(context_, mirrored, Op::lt, mirrored.at[d], last);
        return {same, mirrored};
    }

    /// `step*m` with a new index m, over the multiples at or below what lies in the bounds.
    Expr multiple(Relation& relation, const Bounds& bounds, Expr step) {
        const Expr first = floor_quotient(context_, bounds.low, step);
        const Expr last = floor_quotient(context_, bounds.high, step);
        const IndexId m =
            program_.add(Index{.name = "m",
                               .lower = first,
                               .upper = integer_sum(context_, last, context_.integer(1)),
                               .is_explicit = false});
        relation.indices.push_back(m);
        relation.reduced += 1;
        return integer_product(context_, step, context_.index(m));
    }

    Program& program_;
    Context& context_;
    const Extents& extents_;
};

}  // namespace

std::vector<Relation> without_modifiers(Program& program, const Extents& extents,
                                        const Relation& relation) {
    return Pieces(program, extents).of(without_remainders(program, relation));
}

Expr place_of(const Program& program, Expr subscript, Expr extent) {
    Context& context = *program.context;
    const auto* modified = std::get_if<Modified>(&subscript->term);
    const Expr e = with_wide_data(program, modified != nullptr ? modified->at : subscript);
    if (modified == nullptr) return e;
    const Expr last = integer_difference(context, extent, context.integer(1));
    switch (modified->outside) {
        case Outside::pad:     return e;
        case Outside::clamp:   return context.apply(Op::clamp, {e, context.integer(0), last});
        case Outside::wrap:    return context.apply(Op::mod, {e, at_least_one(context, extent)});
        case Outside::reflect: break;
    }
    const Expr folded = context.sub(context.apply(Op::mod, {e, period(context, extent)}), last);
    return context.sub(last, context.apply(Op::abs, {folded}));
}

}  // namespace ricci::grad
