// dsl/derived_reducer.cpp – writes mean, count, any, all, logsumexp and norm out
#include "dsl/derived_reducer.h"

#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The number 1 or 0 as the term holds or not.
Expr truth(Context& context, Expr e) {
    if (is_apply(e, Op::logical_not) || is_apply(e, Op::logical_and) || is_apply(e, Op::logical_or))
        return e;
    for (Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge, Op::isnan, Op::isinf})
        if (is_apply(e, op)) return e;
    return context.apply(Op::ne, {e, context.integer(0)});
}

class Expander {
  public:
    explicit Expander(Program& program) : program_(program), context_(*program.context) {}

    Expr operator()(Expr e) {
        const auto* reduce = std::get_if<Reduce>(&e->term);
        if (!reduce) return e;
        switch (reduce->reducer) {
            case Reducer::sum:
            case Reducer::prod:
            case Reducer::max:
            case Reducer::min:
            case Reducer::argmax:
            case Reducer::argmin:    return e;
            case Reducer::mean:      return mean(*reduce);
            case Reducer::count:     return count(*reduce);
            case Reducer::any:       return extreme_truth(*reduce, Reducer::max);
            case Reducer::all:       return extreme_truth(*reduce, Reducer::min);
            case Reducer::logsumexp: return logsumexp(*reduce);
            case Reducer::norm:      return norm(*reduce);
        }
        return e;
    }

  private:
    Expr like(const Reduce& reduce, Reducer reducer, Expr body) {
        return with_new_indices(program_, Reduce{reducer, reduce.indices, reduce.condition, body});
    }

    Expr mean(const Reduce& reduce) {
        const Expr points = reduce.condition ? like(reduce, Reducer::sum, context_.integer(1))
                                             : box_size(program_, reduce);
        return context_.div(like(reduce, Reducer::sum, floating(reduce.body)), points);
    }

    /// Integers as f64, others as they are: binding drops factors of 1.
    Expr floating(Expr body) { return context_.mul(context_.literal(1.0), body); }

    /// A count is an i64, never a weak number.
    Expr count(const Reduce& reduce) {
        return like(reduce, Reducer::sum, context_.cast(truth(context_, reduce.body), DType::i64));
    }

    Expr extreme_truth(const Reduce& reduce, Reducer reducer) {
        return like(reduce, reducer, truth(context_, reduce.body));
    }

    /// Subtracting the maximum keeps exp from overflowing. Where the maximum is not finite it is
    /// left in place: exp and log then give -inf, inf and NaN by themselves.
    Expr logsumexp(const Reduce& reduce) {
        const Expr largest = like(reduce, Reducer::max, reduce.body);
        const Expr shift = context_.apply(
            Op::select, {context_.apply(Op::isfinite, {largest}), largest, context_.literal(0.0)});
        const Expr shifted = context_.apply(Op::exp, {context_.sub(reduce.body, shift)});
        return context_.add(shift, context_.apply(Op::log, {like(reduce, Reducer::sum, shifted)}));
    }

    Expr norm(const Reduce& reduce) {
        const Expr square = context_.apply(Op::abs2, {floating(reduce.body)});
        return context_.apply(Op::sqrt, {like(reduce, Reducer::sum, square)});
    }

    Program& program_;
    Context& context_;
};

}  // namespace

bool is_basic(Reducer reducer) noexcept {
    return reducer == Reducer::sum || reducer == Reducer::prod || reducer == Reducer::max ||
           reducer == Reducer::min || reducer == Reducer::argmax || reducer == Reducer::argmin;
}

Expr with_new_indices(Program& program, const Reduce& reduce) {
    Context& context = *program.context;
    std::unordered_map<std::uint32_t, Expr> renamed;
    std::vector<IndexId> indices;
    for (IndexId i : reduce.indices) {
        indices.push_back(program.add(Index(program.at(i))));
        renamed.emplace(static_cast<std::uint32_t>(i), context.index(indices.back()));
    }
    const auto now = [&](Expr e) { return e ? substitute_indices(context, e, renamed) : e; };
    return context.reduce(reduce.reducer, std::move(indices), now(reduce.condition),
                          now(reduce.body));
}

Expr box_size(const Program& program, const Reduce& reduce) {
    Context& context = *program.context;
    Expr count = context.integer(1);
    for (IndexId i : reduce.indices) {
        const Index& index = program.at(i);
        count =
            integer_product(context, count, integer_difference(context, index.upper, index.lower));
    }
    return count;
}

Expr expand_derived_reducers(Program& program, Expr e) {
    Expander expander(program);
    return rewrite(*program.context, e, [&](Expr node) { return expander(node); });
}

}  // namespace ricci
