// grad/reduction.cpp – from the cotangent of a reduction to that of its body
#include "grad/reduction.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"
#include "grad/factors.h"

namespace ricci::grad {

namespace {

/// Adds temporaries that hold reductions of the forward's terms.
class Holder {
  public:
    Holder(Program& program, Names& names) : program_(program), names_(names) {}

    /// Defines a temporary over copies of `indices` that holds the reduction, and returns a read of
    /// it in terms of `indices`.
    Expr hold(const std::vector<IndexId>& indices, const Reduce& reduce) {
        return hold(indices, reduce.indices, [&](const auto& renamed, const auto& reduced) {
            return program_.context->reduce(reduce.reducer, reduced, renamed(reduce.condition),
                                            renamed(reduce.body));
        });
    }
    /// The same of a term.
    Expr hold(const std::vector<IndexId>& indices, Expr value) {
        return hold(indices, {}, [&](const auto& renamed, const auto&) { return renamed(value); });
    }

  private:
    template <class MakeValue>
    Expr hold(const std::vector<IndexId>& indices, const std::vector<IndexId>& bound,
              MakeValue make_value) {
        Context& context = *program_.context;
        std::unordered_map<std::uint32_t, Expr> renaming;
        const auto copies = [&](const std::vector<IndexId>& originals) {
            std::vector<IndexId> result;
            for (const IndexId index : originals) {
                result.push_back(program_.add(Index(program_.at(index))));
                renaming.emplace(static_cast<std::uint32_t>(index), context.index(result.back()));
            }
            return result;
        };
        const auto renamed = [&](Expr e) {
            return e ? substitute_indices(context, e, renaming) : e;
        };
        Tensor tensor{.name = names_.temporary(),
                      .rank = static_cast<int>(indices.size()),
                      .role = Role::temporary,
                      .shape = {},
                      .dtype_of = std::nullopt};
        Equation equation;
        equation.indices = copies(indices);
        std::vector<Expr> read_at;
        for (std::size_t n = 0; n < indices.size(); ++n) {
            const Index& range = program_.at(indices[n]);
            tensor.shape.push_back(integer_difference(context, range.upper, range.lower));
            const auto from_lower = [&](IndexId index) {
                return integer_difference(context, context.index(index), range.lower);
            };
            equation.at.push_back(from_lower(equation.indices[n]));
            read_at.push_back(from_lower(indices[n]));
        }
        const std::vector<IndexId> reduced = copies(bound);
        equation.value = make_value(renamed, reduced);
        equation.target = program_.add(std::move(tensor));
        const TensorId target = equation.target;
        program_.equations.push_back(std::move(equation));
        return context.access(target, std::move(read_at));
    }

    Program& program_;
    Names& names_;
};

/// Reduced indices as one, which counts their points in order.
struct Flattened {
    IndexId index{};
    Expr place;                                      ///< its value at the point of the others
    std::unordered_map<std::uint32_t, Expr> solved;  ///< the others' values
};

/// Of r in 0:R and s in 0:S: p in 0:R*S, at the place S*r + s, where r is p // S and s is p % S.
Flattened flatten(Program& program, const std::vector<IndexId>& indices) {
    Context& context = *program.context;
    Flattened flat;
    flat.place = context.integer(0);
    std::vector<Expr> extents;
    Expr points = context.integer(1);
    for (const IndexId index : indices) {
        const Index& range = program.at(index);
        extents.push_back(integer_difference(context, range.upper, range.lower));
        points = integer_product(context, points, extents.back());
        flat.place = integer_sum(context, integer_product(context, flat.place, extents.back()),
                                 integer_difference(context, context.index(index), range.lower));
    }
    flat.index = program.add(
        Index{.name = "p", .lower = context.integer(0), .upper = points, .is_explicit = true});
    Expr slower = context.index(flat.index);
    for (std::size_t n = indices.size(); n-- > 0;) {
        const Expr here = n > 0 ? context.apply(Op::mod, {slower, extents[n]}) : slower;
        flat.solved.emplace(static_cast<std::uint32_t>(indices[n]),
                            integer_sum(context, program.at(indices[n]).lower, here));
        slower = context.apply(Op::floordiv, {slower, extents[n]});
    }
    return flat;
}

/// The first element that equals the extremum takes all; of several reduced indices the first in
/// their order.
Cotangent pull_back_extremum(Holder& holder, Program& program, const Equation& equation,
                             const Reduce& reduce, Expr d) {
    Context& context = *program.context;
    Reduce first = reduce;
    first.reducer = reduce.reducer == Reducer::max ? Reducer::argmax : Reducer::argmin;
    Expr place = context.index(reduce.indices.front());
    if (reduce.indices.size() > 1) {
        const Flattened flat = flatten(program, reduce.indices);
        first.indices = {flat.index};
        if (first.condition)
            first.condition = substitute_indices(context, first.condition, flat.solved);
        first.body = substitute_indices(context, first.body, flat.solved);
        place = flat.place;
    }
    const Expr held = holder.hold(equation.indices, first);
    return {.guard = context.apply(Op::eq, {place, held}), .value = d};
}

/// Whether a term is an element of an array as it is stored: equal to itself wherever it is read.
bool is_element(Expr e) {
    const auto* access = std::get_if<Access>(&e->term);
    return access && std::ranges::none_of(access->at, [](Expr at) {
               const auto* modified = std::get_if<Modified>(&at->term);
               return modified && modified->value;
           });
}

/// Every element that equals the extremum takes its share, or the only one takes all. Elements are
/// compared as they were stored, never as values computed again.
Cotangent pull_back_equal_extrema(Holder& holder, Program& program, const Equation& equation,
                                  const Reduce& reduce, Expr d, Ties ties) {
    Context& context = *program.context;
    Reduce stored = reduce;
    if (!is_element(reduce.body)) {
        std::vector<IndexId> domain = equation.indices;
        domain.insert(domain.end(), reduce.indices.begin(), reduce.indices.end());
        // What the condition excludes may not be read.
        const IndexId once = program.add(Index{.name = "n",
                                               .lower = context.integer(0),
                                               .upper = context.integer(1),
                                               .is_explicit = true});
        stored.body = reduce.condition ? holder.hold(domain, {.reducer = reduce.reducer,
                                                              .indices = {once},
                                                              .condition = reduce.condition,
                                                              .body = reduce.body})
                                       : holder.hold(domain, reduce.body);
    }
    const Formula element(context, stored.body);
    const Formula best(context, holder.hold(equation.indices, stored));
    const Formula is_best = element == best || element.apply(Op::isnan);
    const Formula count(
        context, holder.hold(equation.indices,
                             {.reducer = Reducer::sum,
                              .indices = reduce.indices,
                              .condition = context.logical_and(reduce.condition, is_best.expr()),
                              .body = context.integer(1)}));
    if (ties == Ties::even)
        return {.guard = is_best.expr(), .value = (Formula(context, d) / count).expr()};
    return {.guard = (is_best && count == 1).expr(), .value = d};
}

/// The factor of the index where a conjunct says that a form is not negative: bounds from below
/// have one above 0. Nothing for other conjuncts.
std::optional<std::int64_t> step_of(Expr conjunct, IndexId index) {
    const std::vector<Comparison> all = comparisons(conjunct);
    if (all.size() != 1 || all[0].op == Op::eq) return std::nullopt;
    Variables variables({index});
    const std::optional<affine::Form> left = affine_form(all[0].left, variables);
    const std::optional<affine::Form> right = affine_form(all[0].right, variables);
    if (!left || !right) return std::nullopt;
    const bool is_greater = all[0].op == Op::gt || all[0].op == Op::ge;
    const std::int64_t difference = left->at(0) - right->at(0);
    return is_greater ? difference : -difference;
}

/// Whether the body can be evaluated in the whole range of the index without the conjunct:
/// it reads along that range only, and is the same for the other indices of the conjunct.
bool can_do_without(const Program& program, Expr body, IndexId index, Expr conjunct) {
    const std::vector<IndexId> in_body = free_indices(body);
    for (const IndexId id : free_indices(conjunct))
        if (id != index && has_index(in_body, id)) return false;
    const Index& range = program.at(index);
    return std::ranges::all_of(postorder({body}), [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (access == nullptr) return true;
        for (std::size_t d = 0; d < access->at.size(); ++d) {
            if (!has_index(free_indices(access->at[d]), index)) continue;
            const bool is_plain = std::holds_alternative<IndexValue>(access->at[d]->term) &&
                                  is_literal(range.lower, 0) &&
                                  program.at(access->tensor).shape.at(d) == range.upper;
            if (!is_plain) return false;
        }
        return true;
    });
}

/// Whether other indices bound the one of a product, one for one, each on a side: then products up
/// to each factor, and between two, are walks (codegen/recurrences.h).
bool is_bounded_product(const Reduce& reduce) {
    const IndexId index = reduce.indices.front();
    std::vector<IndexId> others;
    std::int64_t sides = 0;
    for (const Expr conjunct : conjuncts(reduce.condition)) {
        const std::int64_t step = step_of(conjunct, index).value_or(0);
        const std::vector<IndexId> ids = free_indices(conjunct);
        if (ids.size() != 2 || std::abs(step) != 1) return false;
        others.push_back(ids[ids[0] == index ? 1 : 0]);
        if (step_of(conjunct, others.back()) != -step) return false;
        sides += step;
    }
    const bool is_one_side = others.size() == 1;
    const bool is_between = others.size() == 2 && sides == 0 && others[0] != others[1];
    return reduce.indices.size() == 1 && (is_one_side || is_between);
}

/// Of a product over an index that others bound, as `prod[s | s <= t](a[s])`, the factors before
/// and behind each one, which are products between bounds again: zeros need no counting, and what
/// is up to each point stays so. Conjuncts that a factor satisfies hold for all on one side of it.
Cotangent pull_back_bounded_product(Holder& holder, Program& program, const Equation& equation,
                                    const Reduce& reduce, Expr d) {
    Context& context = *program.context;
    const IndexId here = reduce.indices.front();
    Formula value(context, d);
    for (const Op side : {Op::lt, Op::gt}) {
        const IndexId other = program.add(Index(program.at(here)));
        const std::unordered_map<std::uint32_t, Expr> renaming{
            {static_cast<std::uint32_t>(here), context.index(other)}};
        const auto renamed = [&](Expr e) { return substitute_indices(context, e, renaming); };
        Reduce factors{.reducer = Reducer::prod,
                       .indices = {other},
                       .condition = {},
                       .body = renamed(reduce.body)};
        for (const Expr conjunct : conjuncts(reduce.condition)) {
            const std::optional<std::int64_t> step = step_of(conjunct, here);
            const bool holds = step && (side == Op::lt ? *step <= 0 : *step >= 0);
            if (!holds || !can_do_without(program, reduce.body, here, conjunct))
                factors.condition = context.logical_and(factors.condition, renamed(conjunct));
        }
        const Expr beside = context.apply(side, {context.index(other), context.index(here)});
        factors.condition = context.logical_and(factors.condition, beside);
        std::vector<IndexId> domain = free_indices(factors.body);
        for (const IndexId id : free_indices(factors.condition))
            if (!has_index(domain, id)) domain.push_back(id);
        std::vector<IndexId> ordered;
        for (const std::vector<IndexId>* all : {&equation.indices, &reduce.indices})
            for (const IndexId id : *all)
                if (has_index(domain, id)) ordered.push_back(id);
        value = value * Formula(context, holder.hold(ordered, factors));
    }
    return {.guard = Expr(), .value = value.expr()};
}

/// d/df of a product is the product of the other factors.
Cotangent pull_back_product(Holder& holder, Context& context, const Equation& equation,
                            const Reduce& reduce, Expr d) {
    const Formula factor(context, reduce.body);
    const Formula upstream(context, d);
    const auto hold = [&](Reducer reducer, Expr condition, Expr body) {
        return Formula(context, holder.hold(equation.indices, {.reducer = reducer,
                                                               .indices = reduce.indices,
                                                               .condition = condition,
                                                               .body = body}));
    };
    const std::vector<Expr> conditions = conjuncts(reduce.condition);
    if (std::ranges::find(conditions, (factor != 0).expr()) != conditions.end()) {
        const Formula all = hold(Reducer::prod, reduce.condition, reduce.body);
        return {.guard = Expr(), .value = (upstream * all / factor).expr()};
    }
    const auto where = [&](Formula condition) {
        return context.logical_and(reduce.condition, condition.expr());
    };
    const Factors factors{.others = hold(Reducer::prod, where(factor != 0), reduce.body),
                          .zeros = hold(Reducer::sum, where(factor == 0), context.integer(1)),
                          .zero = hold(Reducer::sum, where(factor == 0), reduce.body)};
    return pull_back_factor(factors, factor, upstream);
}

}  // namespace

Cotangent pull_back_reduction(Program& program, Names& names, const Equation& equation,
                              const Reduce& reduce, Expr d, const ReductionRules& rules) {
    Context& context = *program.context;
    Holder holder(program, names);
    switch (reduce.reducer) {
        case Reducer::sum: return {.guard = Expr(), .value = d};
        case Reducer::prod:
            return !rules.is_complex && is_bounded_product(reduce)
                       ? pull_back_bounded_product(holder, program, equation, reduce, d)
                       : pull_back_product(holder, context, equation, reduce, d);
        case Reducer::max:
        case Reducer::min:
            return rules.ties == Ties::first
                       ? pull_back_extremum(holder, program, equation, reduce, d)
                       : pull_back_equal_extrema(holder, program, equation, reduce, d, rules.ties);
        case Reducer::argmax:
        case Reducer::argmin:
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    RICCI_ASSERT(false, "canonical form leaves no other reducer that depends on its body");
    return {};
}

}  // namespace ricci::grad
