// grad/gather.cpp – a scattered sum as a gather: inversion of the write map
//
// A point x of the relation's domain writes to t = at(x). Solving some of these equations for
// indices of x turns the sum over x into one over the indices that remain, for each t. What is not
// solved stays as a condition; the range of a solved index is one, too. Conditions that guard
// accesses must stand in a reducer (`?:` takes no part in the bounds proof): where no index remains
// to be summed, those that need their range checked are kept and tied to t by an equation.
#include "grad/gather.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/simplify.h"
#include "dsl/subscript.h"

namespace ricci::grad {

namespace {

bool is_affine(Expr e) {
    const auto form = linear_form(e);
    return form && std::ranges::all_of(form->parts, [](const auto& part) {
               return std::holds_alternative<IndexValue>(part.atom->term) ||
                      std::holds_alternative<Size>(part.atom->term);
           });
}

class Inverter {
  public:
    Inverter(Program& program, const Names& names, const Extents& extents, const Relation& relation)
        : program_(program),
          context_(*program.context),
          names_(names),
          extents_(extents),
          relation_(relation) {}

    Gathered run() {
        name_targets();
        solve({});
        if (remaining().empty()) {
            const std::set<IndexId> needed = indices_that_guard();
            if (!needed.empty()) solve(needed);
        }
        return finish();
    }

    /// After run().
    [[nodiscard]] Inversion how() const {
        Inversion how{
            .dimensions = {}, .by_condition = {}, .summed = remaining(), .condition = condition_};
        for (std::size_t d = 0; d < targets_.size(); ++d) {
            Inversion::Dimension dimension{.way = Inversion::Way::equation,
                                           .target = targets_[d],
                                           .subscript = relation_.at[d]};
            if (renamed_[d]) dimension.way = Inversion::Way::name;
            if (pivots_[d]) {
                dimension.way = Inversion::Way::pivot;
                dimension.solved = pivots_[d];
                dimension.solution = solutions_.at(number(*pivots_[d]));
            }
            how.dimensions.push_back(dimension);
        }
        for (const IndexId index : solved_by_condition_)
            how.by_condition.emplace_back(index, solutions_.at(number(index)));
        return how;
    }

  private:
    /// Makes one index for each dimension of the array, named when its fate is known.
    void name_targets() {
        for (const Expr extent : program_.at(relation_.array).shape) {
            targets_.push_back(program_.add(Index{.name = {},
                                                  .lower = context_.integer(0),
                                                  .upper = extents_.preferred(extent),
                                                  .is_explicit = false}));
        }
    }

    /// Solves as many subscripts for indices as possible, leaving those in `keep`.
    void solve(const std::set<IndexId>& keep) {
        keep_ = keep;
        solutions_.clear();
        places_.clear();
        equations_.clear();
        renamed_.assign(targets_.size(), std::nullopt);
        pivots_.assign(targets_.size(), std::nullopt);
        solved_by_condition_.clear();
        std::vector<std::size_t> rest;
        for (std::size_t d = 0; d < targets_.size(); ++d) {
            const auto* plain = std::get_if<IndexValue>(&relation_.at[d]->term);
            if (plain != nullptr && is_open(plain->index)) {
                solutions_.emplace(number(plain->index), context_.index(targets_[d]));
                renamed_[d] = plain->index;
            } else {
                rest.push_back(d);
            }
        }
        for (std::size_t n = 0; n < rest.size(); ++n) {
            const std::vector<std::size_t> later(rest.begin() + static_cast<std::ptrdiff_t>(n) + 1,
                                                 rest.end());
            if (!eliminate(rest[n], later)) equations_.push_back(rest[n]);
        }
        solve_by_condition();
    }

    /// An index that the condition says is data, `t == J[i]`, needs no sum.
    void solve_by_condition() {
        for (const Expr part : conjuncts(relation_.condition)) {
            if (!is_apply(part, Op::eq)) continue;
            const auto& args = std::get<Apply>(part->term).args;
            for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
                const auto* value = std::get_if<IndexValue>(&args[side]->term);
                const Expr data = args[1 - side];
                if (value == nullptr || !is_open(value->index) || !reads_data(program_, data) ||
                    mentions(now(data), value->index))
                    continue;
                const Expr solution = now(data);
                for (auto& [other, solved] : solutions_) {
                    solved = tidy(
                        substitute_indices(context_, solved, {{number(value->index), solution}}));
                }
                solutions_.emplace(number(value->index), solution);
                solved_by_condition_.push_back(value->index);
                break;
            }
        }
    }

    /// Solves subscript `d` for the index that is best eliminated. False when there is none.
    bool eliminate(std::size_t d, const std::vector<std::size_t>& later) {
        const Expr subscript = now(relation_.at[d]);
        const auto form = linear_form(subscript);
        if (!form) return false;
        std::optional<LinearForm::Part> best;
        for (const LinearForm::Part& part : form->parts) {
            const auto* value = std::get_if<IndexValue>(&part.atom->term);
            if (value == nullptr || !is_open(value->index)) continue;
            if (part.coefficient != 1 && part.coefficient != -1) continue;
            const bool is_elsewhere =
                std::ranges::any_of(form->parts, [&](const LinearForm::Part& other) {
                    return other.atom != part.atom && mentions(other.atom, value->index);
                });
            if (is_elsewhere) continue;
            if (!best || cost(part.atom, later) < cost(best->atom, later)) best = part;
        }
        if (!best) return false;
        // t = c*x + rest with c = 1 or -1, so x = c*(t - rest).
        const Expr rest = integer_difference(
            context_, subscript, integer_scale(context_, best->atom, best->coefficient));
        const Expr target = context_.index(targets_[d]);
        const Expr solution =
            integer_scale(context_, integer_difference(context_, target, rest), best->coefficient);
        pivots_[d] = std::get<IndexValue>(best->atom->term).index;
        const std::uint32_t index = number(*pivots_[d]);
        for (auto& [other, value] : solutions_) {
            value = tidy(substitute_indices(context_, value, {{index, solution}}));
        }
        solutions_.emplace(index, solution);
        places_.emplace(as_written(relation_.at[d]), target);
        return true;
    }
    /// The subscript without the conversions to i64 that conditions need; others change values.
    Expr as_written(Expr subscript) const {
        return rewrite(context_, subscript, [](Expr node) {
            const auto* cast = std::get_if<Cast>(&node->term);
            return cast && node->dtype == DType::i64 ? cast->a : node;
        });
    }

    /// Prefers an index that no later subscript uses, one that the forward did not reduce (outputs
    /// are larger than windows), and the longest: arrays are taken to be longer than the windows
    /// and shifts that numbers bound, and shorter than what large numbers do.
    std::tuple<std::size_t, bool, std::int64_t> cost(Expr atom,
                                                     const std::vector<std::size_t>& later) const {
        const IndexId index = std::get<IndexValue>(atom->term).index;
        const auto uses = static_cast<std::size_t>(std::ranges::count_if(
            later, [&](std::size_t d) { return mentions(relation_.at[d], index); }));
        const auto place = static_cast<std::size_t>(std::ranges::find(relation_.indices, index) -
                                                    relation_.indices.begin());
        const bool is_reduced = place + relation_.reduced >= relation_.indices.size();
        const Index& range = program_.at(index);
        const auto extent = linear_form(integer_difference(context_, range.upper, range.lower));
        const bool is_literal_extent = extent && extent->parts.empty();
        constexpr std::int64_t length_of_array = 48;
        return {uses, is_reduced, -(is_literal_extent ? extent->constant : length_of_array)};
    }

    /// The conditions that keep a solved index in its range, but for those that always hold.
    std::vector<Expr> range_conditions(IndexId index, Expr solution) const {
        const Index& range = program_.at(index);
        const Expr lower = extents_.preferred(range.lower);
        const Expr upper = extents_.preferred(range.upper);
        std::vector<Expr> conditions;
        const Expr above = integer_difference(context_, solution, lower);
        const Expr below = integer_difference(
            context_, integer_difference(context_, range.upper, context_.integer(1)), solution);
        if (!extents_.is_never_negative(program_, above)) {
            conditions.push_back(context_.apply(Op::ge, {solution, lower}));
        }
        if (!extents_.is_never_negative(program_, below)) {
            conditions.push_back(context_.apply(Op::lt, {solution, upper}));
        }
        return conditions;
    }

    /// The indices that must be summed, where all are solved, so that conditions have a reducer to
    /// stand in: those whose range is not the array's, or of these the quotient of a remainder,
    /// which leaves the others solved; and for a condition of the forward that accesses need, the
    /// last it mentions.
    std::set<IndexId> indices_that_guard() const {
        std::set<IndexId> result;
        for (const IndexId index : relation_.indices) {
            const Expr solution = solutions_.at(number(index));
            // Of data, `?:` restricts what is read as reducers do.
            if (reads_data(program_, solution)) continue;
            if (range_conditions(index, solution).empty()) continue;
            if (has_index(relation_.quotients, index)) return {index};
            result.insert(index);
        }
        if (!result.empty() || !relation_.condition || is_safe_without_condition()) return result;
        if (!relation_.quotients.empty()) return {relation_.quotients.back()};
        for (const IndexId index : relation_.indices) {
            if (mentions(relation_.condition, index)) result = {index};
        }
        return result;
    }

    bool is_safe_without_condition() const {
        return is_safe(relation_.d.value) && (!relation_.d.guard || is_safe(relation_.d.guard));
    }

    /// Whether every access in the term is in bounds whatever conditions hold.
    bool is_safe(Expr term) const {
        const std::vector<Expr> nodes = postorder({term});
        return std::ranges::all_of(nodes, [&](Expr e) {
            const auto* access = std::get_if<Access>(&e->term);
            if (access == nullptr) return true;
            const std::vector<Expr>& shape = program_.at(access->tensor).shape;
            for (std::size_t d = 0; d < access->at.size(); ++d) {
                // Of data, `?:` restricts what is read as reducers do.
                if (reads_data(program_, access->at[d])) continue;
                if (!extents_.is_inside(program_, access->at[d], shape[d])) return false;
            }
            return true;
        });
    }

    /// `target == subscript`; of a quotient by a literal, the two inequalities it stands for.
    Expr equation(std::size_t d) const {
        const Expr subscript = now(relation_.at[d]);
        const Expr target = context_.index(targets_[d]);
        if (is_apply(subscript, Op::floordiv)) {
            const auto& args = std::get<Apply>(subscript->term).args;
            const auto divisor = linear_form(args[1]);
            if (divisor && divisor->parts.empty() && divisor->constant > 0) {
                const Expr first = integer_scale(context_, target, divisor->constant);
                const Expr end = integer_sum(context_, first, context_.integer(divisor->constant));
                return context_.logical_and(context_.apply(Op::ge, {args[0], first}),
                                            context_.apply(Op::lt, {args[0], end}));
            }
        }
        return context_.apply(Op::eq, {target, subscript});
    }

    Gathered finish() {
        std::size_t letters = 0;
        for (std::size_t d = 0; d < targets_.size(); ++d) {
            Index& target = program_.indices[position(targets_[d])];
            target.name = renamed_[d] ? program_.at(*renamed_[d]).name : names_.index(letters++);
        }
        Expr condition;
        const auto add_range = [&](IndexId index) {
            const auto solution = solutions_.find(number(index));
            if (solution == solutions_.end()) return;
            for (const Expr part : range_conditions(index, solution->second))
                condition = context_.logical_and(condition, part);
        };
        // What is read at a place that is data comes behind what keeps the place inside.
        for (const bool is_of_data : {false, true}) {
            for (const Expr part : conjuncts(relation_.condition)) {
                const Expr solved = now(part);
                if (reads_data(program_, solved) != is_of_data) continue;
                if ((is_identity(solved) && !is_identity(part)) || always_holds(solved)) continue;
                condition = context_.logical_and(condition, solved);
            }
            if (is_of_data) break;
            for (const IndexId index : solved_by_condition_) add_range(index);
        }
        for (const std::size_t d : equations_) {
            condition = context_.logical_and(condition, equation(d));
        }
        for (const IndexId index : relation_.indices)
            if (!has_index(solved_by_condition_, index)) add_range(index);
        condition_ = condition;
        Cotangent d{.guard = relation_.d.guard ? now(relation_.d.guard) : Expr(),
                    .value = now(relation_.d.value)};
        const std::vector<IndexId> summed = remaining();
        Expr value;
        if (summed.empty()) {
            // What the guard reads may be inside only where the condition holds.
            d.guard = context_.logical_and(condition, d.guard);
            value = to_expr(context_, d);
        } else {
            sort_conditions(d.guard, condition);
            value = sum_over(summed, condition, to_expr(context_, d));
        }
        return {.indices = targets_, .value = simplify(program_, value, {.is_derivative = true})};
    }

    /// Of a comparison of integer terms: at all points.
    bool always_holds(Expr part) const {
        const auto* literal = std::get_if<Literal>(&part->term);
        if (literal != nullptr) return literal->value == Number(true);
        for (const Op op : {Op::ge, Op::lt}) {
            if (!is_apply(part, op)) continue;
            const auto& args = std::get<Apply>(part->term).args;
            if (!is_affine(args[0]) || !is_affine(args[1])) return false;
            const Expr difference = op == Op::ge ? integer_difference(context_, args[0], args[1])
                                                 : integer_difference(context_, args[1], args[0]);
            return extents_.is_never_negative(
                program_, op == Op::ge
                              ? difference
                              : integer_difference(context_, difference, context_.integer(1)));
        }
        return false;
    }

    /// `J[k] == J[k]`, of an index that was solved to be J[k].
    static bool is_identity(Expr part) {
        if (!is_apply(part, Op::eq)) return false;
        const auto& args = std::get<Apply>(part->term).args;
        return args[0] == args[1];
    }

    /// Conjuncts of the guard that are affine in indices restrict the sum, and so become bounds of
    /// loops. Conjuncts of the condition that read arrays at places which only the others keep in
    /// bounds become part of the guard.
    void sort_conditions(Expr& guard, Expr& condition) const {
        Expr outer;
        Expr inner;
        for (const Expr part : conjuncts(condition)) {
            Expr& place = is_safe(part) ? outer : inner;
            place = context_.logical_and(place, part);
        }
        for (const Expr part : conjuncts(guard)) {
            Expr& place = is_loop_bound(part) ? outer : inner;
            place = context_.logical_and(place, part);
        }
        condition = outer;
        guard = inner;
    }

    /// The sum over fresh copies of the indices.
    Expr sum_over(const std::vector<IndexId>& indices, Expr condition, Expr body) {
        std::vector<IndexId> fresh;
        std::unordered_map<std::uint32_t, Expr> renaming;
        for (const IndexId index : indices) {
            Index copy = program_.at(index);
            copy.lower = extents_.preferred(copy.lower);
            copy.upper = extents_.preferred(copy.upper);
            fresh.push_back(program_.add(std::move(copy)));
            renaming.emplace(number(index), context_.index(fresh.back()));
        }
        const auto rename = [&](Expr e) {
            return e ? substitute_indices(context_, e, renaming) : e;
        };
        return context_.reduce(Reducer::sum, fresh, rename(condition), rename(body));
    }

    std::vector<IndexId> remaining() const {
        std::vector<IndexId> result;
        for (const IndexId index : relation_.indices) {
            if (!solutions_.contains(number(index))) result.push_back(index);
        }
        return result;
    }

    /// The term with solved indices replaced. What reads where the array was read, as in
    /// `v[p[i]+k]*x[c[p[i]+k]]`, reads at the place itself, not at `p[i]+(t-p[i])`.
    Expr now(Expr e) const {
        const Expr placed = rewrite(context_, e, [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            if (access == nullptr || places_.empty()) return node;
            std::vector<Expr> at = access->at;
            for (Expr& each : at) each = substitute(context_, each, places_);
            return at == access->at ? node : context_.access(access->tensor, at, node->dtype);
        });
        return tidy(substitute_indices(context_, placed, solutions_));
    }
    /// Integer terms in affine order.
    Expr tidy(Expr e) const { return simplify(program_, e); }

    bool is_open(IndexId index) const {
        return !keep_.contains(index) && !solutions_.contains(number(index)) &&
               std::ranges::find(relation_.indices, index) != relation_.indices.end();
    }
    static bool mentions(Expr e, IndexId index) {
        const std::vector<IndexId> found = free_indices(e);
        return std::ranges::find(found, index) != found.end();
    }
    static std::uint32_t number(IndexId index) { return static_cast<std::uint32_t>(index); }

    Program& program_;
    Context& context_;
    const Names& names_;
    const Extents& extents_;
    const Relation& relation_;
    std::vector<IndexId> targets_;
    std::set<IndexId> keep_;
    std::unordered_map<std::uint32_t, Expr> solutions_;
    ExprMap<Expr> places_;                ///< indices of the array by what it was read at
    std::vector<std::size_t> equations_;  ///< dimensions whose subscript is not solved
    std::vector<std::optional<IndexId>> renamed_;
    std::vector<std::optional<IndexId>> pivots_;  ///< by dimension: the index it was solved for
    std::vector<IndexId> solved_by_condition_;
    Expr condition_;
};

}  // namespace

Gathered gather(Program& program, const Names& names, const Extents& extents,
                const Relation& relation, Inversion* how) {
    Inverter inverter(program, names, extents, relation);
    Gathered gathered = inverter.run();
    if (how != nullptr) *how = inverter.how();
    return gathered;
}

bool is_loop_bound(Expr condition) {
    const auto* comparison = std::get_if<Apply>(&condition->term);
    return comparison != nullptr && comparison->args.size() == 2 &&
           info(comparison->op).precedence == Precedence::comparison && comparison->op != Op::ne &&
           is_affine(comparison->args[0]) && is_affine(comparison->args[1]);
}

}  // namespace ricci::grad
