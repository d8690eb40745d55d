// dsl/derived_reducer.cpp – writes mean, count, any, all, logsumexp and norm out
#include "dsl/derived_reducer.h"

#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/some_point.h"
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

/// The number of points of the ranges of a reduction.
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

void require_point(Program& program, const Reduce& reduce, const std::vector<IndexId>& around,
                   Span span) {
    for (IndexId i : reduce.indices) {
        const Index& index = program.at(i);
        program.requirements.push_back(
            {.kind = Requirement::Kind::not_empty,
             .a = index.lower,
             .b = index.upper,
             .indices = around,
             .condition = {},
             .otherwise = {
                 .kind = ErrorKind::range,
                 .message = format("`{}` over nothing: index `{}` runs over {{a}}:{{b}}",
                                   name(reduce.reducer), index.name),
                 .source = program.source,
                 .labels = {{span, ""}},
                 .hint = format("`{}` has no value for an empty range", name(reduce.reducer))}});
    }
}

/// What values of arrays exclude is not known before they are.
void require_condition(Program& program, const Reduce& reduce, std::vector<IndexId> around,
                       Span span) {
    Context& context = *program.context;
    program.requirements.push_back(
        {.kind = Requirement::Kind::not_empty,
         .a = context.integer(0),
         .b = context.integer(1),
         .indices = std::move(around),
         .condition = reduce.condition,
         .otherwise = {.kind = ErrorKind::range,
                       .message = format("`{}` over nothing: `{{term}}` holds nowhere{{where}}",
                                         name(reduce.reducer)),
                       .source = program.source,
                       .labels = {{span, ""}},
                       .hint = format("`{}` has no value there: restrict the range with `where`",
                                      name(reduce.reducer))},
         .term = reduce.condition});
}

bool has_no_value_of_nothing(Reducer reducer) {
    return reducer == Reducer::mean || reducer == Reducer::argmax || reducer == Reducer::argmin;
}

class Expander {
  public:
    Expander(Program& program, const std::vector<IndexId>& around, Span span)
        : program_(program), context_(*program.context), around_(around), span_(span) {}

    Expr operator()(Expr e) {
        const auto* reduce = std::get_if<Reduce>(&e->term);
        if (!reduce) return e;
        // Equations without a place are a gradient's: it reads positions only where there are
        // points.
        if (has_no_value_of_nothing(reduce->reducer) && !span_.is_empty())
            require_point_around(*reduce, e);
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

    void require_point_around(const Reduce& reduce, Expr e) {
        std::vector<IndexId> around = around_;
        for (IndexId i : free_indices(e)) around.push_back(i);
        require_point(program_, reduce, around, span_);
        if (reduce.condition && reads_no_array(reduce.condition))
            require_condition(program_, reduce, around, span_);
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
    const std::vector<IndexId>& around_;
    Span span_;
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

Expr expand_derived_reducers(Program& program, Expr e, const std::vector<IndexId>& around,
                             Span span) {
    Expander expander(program, around, span);
    return rewrite(*program.context, e, [&](Expr node) { return expander(node); });
}

}  // namespace ricci
