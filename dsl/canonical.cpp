// dsl/canonical.cpp – lifts nested reductions into temporaries, each made once
//
// A reduction is recognised by its pattern: its body and condition with the indices numbered in
// order of first occurrence, together with the ranges of those indices. Terms are interned, so two
// reductions are equal up to renaming when their patterns are the same few numbers.
#include "dsl/canonical.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/match.h"
#include "base/text.h"
#include "dsl/affine_form.h"
#include "dsl/derived_reducer.h"
#include "dsl/extent.h"
#include "dsl/path_guards.h"
#include "dsl/required_points.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

constexpr std::size_t max_temporaries = 10'000;

/// Indices in patterns: numbers that no index of a program has.
IndexId pattern_index(std::size_t n) { return IndexId{(1U << 31) + static_cast<std::uint32_t>(n)}; }

struct Pattern {
    std::vector<std::uint64_t> key;
    std::vector<IndexId> indices;  ///< number n of the pattern stands for `indices[n]`
};

/// A tensor that holds the values of a reduction: dimension d is the pattern's index
/// `dimensions[d]`, counted from its lower bound.
struct Holder {
    TensorId tensor{};
    std::vector<std::size_t> dimensions;
};

/// Where a term stands: the indices bound around it, outermost first, and what is known of them.
struct Scope {
    std::vector<IndexId> indices;
    std::vector<Expr> conditions;  ///< of reducers, that read no arrays
    std::vector<Expr> guards;      ///< all that must hold for the term to be evaluated
};

/// The reductions of a term that stand in no other reduction.
std::vector<Expr> outermost_reductions(Expr root) {
    std::vector<Expr> found;
    std::set<std::uint32_t> seen;
    std::vector<Expr> stack{root};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(e->id).second) continue;
        if (std::holds_alternative<Reduce>(e->term)) {
            found.push_back(e);
            continue;
        }
        const std::vector<Expr> below = operands(e);
        stack.insert(stack.end(), below.rbegin(), below.rend());
    }
    return found;
}

class Canonicaliser {
  public:
    explicit Canonicaliser(Program program)
        : program_(std::move(program)), context_(*program_.context) {
        for (const Tensor& tensor : program_.tensors) names_.insert(tensor.name);
        find_equal_extents();
    }

    Program run() && {
        std::vector<Equation> equations = std::exchange(program_.equations, {});
        for (const Equation& equation : equations)
            if (equation.previous) overwritten_.insert(*equation.previous);
        const bool are_points_required = std::exchange(program_.are_points_required, true);
        for (Equation& equation : equations) {
            const std::size_t known = program_.requirements.size();
            if (!are_points_required) add_verdicts(equation);
            add(std::move(equation));
            if (known == program_.requirements.size()) continue;
            const std::vector<TensorId> readers = made_with(program_.equations.back());
            for (std::size_t n = known; n < program_.requirements.size(); ++n)
                program_.requirements[n].readers = readers;
        }
        return std::move(program_);
    }

  private:
    enum class Sharing : std::uint8_t { shared, alone };
    void add(Equation equation, Sharing sharing = Sharing::shared);
    void add_verdicts(const Equation& equation);
    std::vector<TensorId> made_with(const Equation& statement) const;
    void unify_operator(Equation& equation);
    Expr updated(const Equation& equation) const;
    bool covers_previous(const Equation& equation) const;
    static bool has_padded_target(const Equation& equation);

    Expr lift(Expr root, const Scope& scope);
    Expr lift_guarded(Expr root, const std::vector<Expr>& reductions, const Scope& scope);
    Reduce with_lifted_operands(const Reduce& reduce, const Scope& scope);
    bool reads_scalars_alone(Expr condition) const;
    Reduce guarded(Reduce reduce, const Scope& scope) const;
    Expr temporary(const Reduce& unguarded, const Scope& scope);
    Holder make_temporary(const Reduce& reduce, const Pattern& pattern, const Scope& scope);

    Pattern pattern(const Reduce& reduce) const;
    Expr read(const Holder& holder, const Pattern& pattern) const;
    void remember(const Equation& equation);

    void find_equal_extents();
    Expr representative(Expr extent) const;
    bool is_surely_inside(TensorId tensor, std::size_t dimension, Expr subscript) const;
    Expr extent(IndexId i) const;
    Expr place(IndexId i) const;

    Program program_;
    Context& context_;
    std::set<std::string> names_;
    std::size_t temporaries_ = 0;
    std::size_t verdicts_ = 1;
    std::set<TensorId> overwritten_;
    std::map<std::vector<std::uint64_t>, Holder> holders_;
    ExprMap<Expr> equal_extents_;
    Span span_;
};

// --- statements ----------------------------------------------------------------------------------

/// An equation that stands alone is made whatever holds the same value.
void Canonicaliser::add(Equation equation, Sharing sharing) {
    span_ = equation.span;
    unify_operator(equation);
    equation.value = expand_derived_reducers(program_, equation.value);
    const Scope scope{equation.indices, {}, {}};
    const auto* root = std::get_if<Reduce>(&equation.value->term);
    if (root && !has_padded_target(equation)) {
        const Reduce reduce = with_lifted_operands(*root, scope);
        const Pattern shape = pattern(reduce);
        const auto known = holders_.find(shape.key);
        const bool is_held = known != holders_.end() && sharing == Sharing::shared;
        equation.value = is_held ? read(known->second, shape)
                                 : context_.reduce(reduce.reducer, reduce.indices, reduce.condition,
                                                   reduce.body);
    } else {
        equation.value = lift(equation.value, scope);
    }
    if (sharing == Sharing::shared) remember(equation);
    program_.equations.push_back(std::move(equation));
}

/// In front of a statement, what tells whether its reducers have something to reduce.
void Canonicaliser::add_verdicts(const Equation& equation) {
    for (PointVerdict& verdict : require_points(program_, equation)) {
        std::string name = "points";
        while (!names_.insert(name).second) name = format("points{}", ++verdicts_);
        Tensor tensor;
        tensor.name = std::move(name);
        tensor.role = Role::temporary;
        const TensorId target = program_.add(std::move(tensor));
        verdict.requirement.a = context_.access(target, {});
        program_.requirements.push_back(std::move(verdict.requirement));
        Equation of;
        of.target = target;
        of.value = verdict.value;
        of.span = equation.span;
        add(std::move(of),
            Sharing::alone);  // a check is one of its own: it is made before all else
    }
}

/// The statement's tensor and the temporaries that hold parts of its value.
std::vector<TensorId> Canonicaliser::made_with(const Equation& statement) const {
    std::vector<TensorId> found{statement.target};
    const auto add_temporaries = [&](const Equation& equation) {
        for (TensorId id : tensors_read(equation.value)) {
            const bool is_new = std::ranges::find(found, id) == found.end();
            if (is_new && program_.at(id).role == Role::temporary) found.push_back(id);
        }
    };
    add_temporaries(statement);
    // Temporaries stand in front of what reads them.
    std::size_t left = found.size() - 1;
    for (auto equation = program_.equations.rbegin();
         equation != program_.equations.rend() && left > 0; ++equation) {
        if (equation->target == statement.target) continue;
        if (std::ranges::find(found, equation->target) == found.end()) continue;
        const std::size_t before = found.size();
        add_temporaries(*equation);
        left += found.size() - before - 1;
    }
    return found;
}

/// Whether some points write nothing: then the value is not what is reduced, but chosen after.
bool Canonicaliser::has_padded_target(const Equation& equation) {
    return std::ranges::any_of(equation.at, [](Expr at) {
        const auto* modified = std::get_if<Modified>(&at->term);
        return modified && modified->outside == Outside::pad;
    });
}

/// Turns an update of every element into the computation of the new value from the old one, which
/// is then pointwise like any other, and other uses of `-=` into `+=`.
void Canonicaliser::unify_operator(Equation& equation) {
    if (equation.op == Assign::define || equation.op == Assign::set) return;
    if (covers_previous(equation)) {
        equation.value = updated(equation);
        equation.op = Assign::set;
    } else if (equation.op == Assign::sub) {
        const auto* sum = std::get_if<Reduce>(&equation.value->term);
        const bool is_sum = sum && sum->reducer == Reducer::sum;
        equation.value = is_sum ? context_.reduce(Reducer::sum, sum->indices, sum->condition,
                                                  context_.neg(sum->body))
                                : context_.neg(equation.value);
        equation.op = Assign::add;
    }
}

/// The value of an element after an update of all.
Expr Canonicaliser::updated(const Equation& equation) const {
    const Expr value = equation.value;
    const Expr old = context_.access(*equation.previous, equation.at);
    if (equation.op == Assign::add) return context_.add(old, value);
    if (equation.op == Assign::sub) return context_.sub(old, value);
    if (equation.op == Assign::mul) return context_.mul(old, value);
    // Not Op::max: of equal values the old one is taken, which decides where gradients go.
    const Op keeps = equation.op == Assign::max ? Op::ge : Op::le;
    const Expr keep = context_.apply(
        Op::logical_or, {context_.apply(keeps, {old, value}), context_.apply(Op::isnan, {old})});
    return context_.apply(Op::select, {keep, old, value});
}

/// Whether the target's subscripts are different indices that each run over the whole dimension.
bool Canonicaliser::covers_previous(const Equation& equation) const {
    std::vector<IndexId> seen;
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const auto* value = std::get_if<IndexValue>(&equation.at[d]->term);
        if (!value || has_index(seen, value->index)) return false;
        seen.push_back(value->index);
        if (!is_surely_inside(equation.target, d, equation.at[d])) return false;
    }
    return equation.previous.has_value();
}

// --- reductions ----------------------------------------------------------------------------------

/// The term with every reduction in it replaced by a read of a temporary.
Expr Canonicaliser::lift(Expr root, const Scope& scope) {
    const std::vector<Expr> reductions = outermost_reductions(root);
    if (reductions.empty()) return root;
    if (holds_gather(program_, reductions)) return lift_guarded(root, reductions, scope);
    ExprMap<Expr> replacement;
    for (Expr e : reductions)
        replacement.emplace(
            e, temporary(with_lifted_operands(std::get<Reduce>(e->term), scope), scope));
    return substitute(context_, root, replacement);
}

/// The same where reductions gather: they are not evaluated where `?:` and the like exclude them.
Expr Canonicaliser::lift_guarded(Expr root, const std::vector<Expr>& reductions,
                                 const Scope& scope) {
    const PathGuards guards(context_, root, scope.indices, Nesting::outermost);
    ExprMap<Expr> replacement;
    for (Expr e : reductions) {
        Scope inner = scope;
        if (const Expr guard = guards.of(e)) inner.guards.push_back(lift(guard, scope));
        replacement.emplace(
            e, temporary(with_lifted_operands(std::get<Reduce>(e->term), inner), inner));
    }
    return substitute(context_, root, replacement);
}

Reduce Canonicaliser::with_lifted_operands(const Reduce& reduce, const Scope& scope) {
    Scope inner = scope;
    inner.indices.insert(inner.indices.end(), reduce.indices.begin(), reduce.indices.end());
    const Expr condition = reduce.condition ? lift(reduce.condition, inner) : Expr();
    for (Expr e : conjuncts(condition)) {
        if (reads_scalars_alone(e)) inner.conditions.push_back(e);
        inner.guards.push_back(e);
    }
    return {reduce.reducer, reduce.indices, condition, lift(reduce.body, inner)};
}

/// Numbers given by the caller may keep subscripts inside: `A[t-$c]` where `t - c >= 0`.
bool Canonicaliser::reads_scalars_alone(Expr condition) const {
    return std::ranges::all_of(tensors_read(condition),
                               [&](TensorId id) { return program_.at(id).role == Role::scalar; });
}

/// The reduction restricted to points that its scope lets happen, where that matters: an access
/// inside may be in bounds only because of the conditions around it. A condition that ties an
/// index in doubt to another one makes the temporary depend on that one, too.
Reduce Canonicaliser::guarded(Reduce reduce, const Scope& scope) const {
    const std::vector<Expr> roots =
        reduce.condition ? std::vector{reduce.body, reduce.condition} : std::vector{reduce.body};
    std::vector<IndexId> doubtful;
    for (Expr e : postorder(roots)) {
        const auto* access = std::get_if<Access>(&e->term);
        if (!access) continue;
        for (std::size_t d = 0; d < access->at.size(); ++d) {
            if (is_surely_inside(access->tensor, d, access->at[d])) continue;
            const std::vector<IndexId> indices = free_indices(access->at[d]);
            doubtful.insert(doubtful.end(), indices.begin(), indices.end());
        }
    }
    const bool gathers = holds_gather(program_, roots);
    const std::vector<Expr>& around = gathers ? scope.guards : scope.conditions;
    std::vector<bool> is_taken(around.size());
    const auto concerns_doubtful = [&](Expr condition) {
        const std::vector<IndexId> indices = free_indices(condition);
        return (gathers && indices.empty()) ||
               std::ranges::any_of(indices, [&](IndexId i) { return has_index(doubtful, i); });
    };
    for (bool is_new = true; std::exchange(is_new, false);) {
        for (std::size_t n = 0; n < around.size(); ++n) {
            if (is_taken[n] || !concerns_doubtful(around[n])) continue;
            is_taken[n] = is_new = true;
            const std::vector<IndexId> indices = free_indices(around[n]);
            doubtful.insert(doubtful.end(), indices.begin(), indices.end());
        }
    }
    // In their order, in which each keeps inside what the next ones read.
    Expr taken;
    for (std::size_t n = 0; n < around.size(); ++n)
        if (is_taken[n]) taken = taken ? context_.logical_and(taken, around[n]) : around[n];
    // What guards a gather stands in front of it.
    if (taken)
        reduce.condition = gathers ? context_.logical_and(taken, reduce.condition)
                                   : context_.logical_and(reduce.condition, taken);
    return reduce;
}

/// The read of the temporary that holds the reduction, whose operands hold none.
Expr Canonicaliser::temporary(const Reduce& unguarded, const Scope& scope) {
    const Reduce reduce = guarded(unguarded, scope);
    const Pattern shape = pattern(reduce);
    auto found = holders_.find(shape.key);
    if (found == holders_.end())
        found = holders_.emplace(shape.key, make_temporary(reduce, shape, scope)).first;
    return read(found->second, shape);
}

Holder Canonicaliser::make_temporary(const Reduce& reduce, const Pattern& pattern,
                                     const Scope& scope) {
    if (++temporaries_ > max_temporaries)
        throw Error(
            {.kind = ErrorKind::limit,
             .message = format("the program has more than {} nested reductions", max_temporaries),
             .source = program_.source,
             .labels = {{span_, ""}}});
    std::string name;
    for (std::size_t n = temporaries_; name.empty() || names_.contains(name); ++n)
        name = format("t{}", n);
    names_.insert(name);

    std::vector<IndexId> fresh;
    std::unordered_map<std::uint32_t, Expr> renamed;
    for (IndexId i : pattern.indices) {
        fresh.push_back(program_.add(Index(program_.at(i))));
        renamed.emplace(static_cast<std::uint32_t>(i), context_.index(fresh.back()));
    }
    const auto number = [&](IndexId i) {
        return static_cast<std::size_t>(std::ranges::find(pattern.indices, i) -
                                        pattern.indices.begin());
    };
    const auto now = [&](Expr e) { return e ? substitute_indices(context_, e, renamed) : e; };

    // Dimensions follow the scope, so that a temporary is laid out like what reads it.
    Tensor tensor;
    tensor.name = name;
    tensor.role = Role::temporary;
    Holder holder;
    Equation equation;
    equation.span = span_;
    for (IndexId i : scope.indices)
        if (has_index(pattern.indices, i) && !has_index(reduce.indices, i)) {
            holder.dimensions.push_back(number(i));
            equation.indices.push_back(fresh[number(i)]);
            equation.at.push_back(place(equation.indices.back()));
        }
    RICCI_ASSERT(equation.indices.size() + reduce.indices.size() == pattern.indices.size(),
                 "every index of a reduction is bound by it or around it");
    tensor.rank = static_cast<int>(equation.indices.size());
    for (IndexId i : equation.indices) tensor.shape.push_back(extent(i));
    holder.tensor = program_.add(std::move(tensor));
    equation.target = holder.tensor;
    std::vector<IndexId> bound;
    for (IndexId i : reduce.indices) bound.push_back(fresh[number(i)]);
    equation.value =
        context_.reduce(reduce.reducer, bound, now(reduce.condition), now(reduce.body));
    program_.equations.push_back(std::move(equation));
    return holder;
}

// --- equal reductions ----------------------------------------------------------------------------

Pattern Canonicaliser::pattern(const Reduce& reduce) const {
    Pattern pattern;
    const auto note = [&](const std::vector<IndexId>& indices) {
        for (IndexId i : indices)
            if (!has_index(pattern.indices, i)) pattern.indices.push_back(i);
    };
    note(free_indices(reduce.body));
    if (reduce.condition) note(free_indices(reduce.condition));
    note(reduce.indices);

    std::unordered_map<std::uint32_t, Expr> numbered;
    pattern.key = {static_cast<std::uint64_t>(reduce.reducer)};
    for (std::size_t n = 0; n < pattern.indices.size(); ++n) {
        const IndexId i = pattern.indices[n];
        numbered.emplace(static_cast<std::uint32_t>(i), context_.index(pattern_index(n)));
        pattern.key.push_back(has_index(reduce.indices, i) ? 1 : 0);
        pattern.key.push_back(representative(program_.at(i).lower)->id);
        pattern.key.push_back(representative(program_.at(i).upper)->id);
    }
    const auto id = [&](Expr e) {
        return e ? substitute_indices(context_, e, numbered)->id : UINT64_MAX;
    };
    pattern.key.push_back(id(reduce.body));
    pattern.key.push_back(id(reduce.condition));
    return pattern;
}

Expr Canonicaliser::read(const Holder& holder, const Pattern& pattern) const {
    std::vector<Expr> at;
    for (std::size_t n : holder.dimensions) at.push_back(place(pattern.indices[n]));
    return context_.access(holder.tensor, std::move(at));
}

/// Notes a statement whose array holds exactly the values of a reduction.
void Canonicaliser::remember(const Equation& equation) {
    const auto* reduce = std::get_if<Reduce>(&equation.value->term);
    const Tensor& tensor = program_.at(equation.target);
    if (!reduce || equation.op != Assign::define || tensor.dtype_of ||
        overwritten_.contains(equation.target))
        return;
    const Pattern shape = pattern(*reduce);
    if (equation.indices.size() + reduce->indices.size() != shape.indices.size()) return;
    Holder holder{equation.target, {}};
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const auto found = std::ranges::find_if(shape.indices, [&](IndexId i) {
            return has_index(equation.indices, i) && equation.at[d] == place(i);
        });
        if (found == shape.indices.end() ||
            representative(tensor.shape[d]) != representative(extent(*found)))
            return;
        holder.dimensions.push_back(static_cast<std::size_t>(found - shape.indices.begin()));
    }
    const std::set<std::size_t> distinct(holder.dimensions.begin(), holder.dimensions.end());
    if (distinct.size() != equation.indices.size()) return;
    holders_.emplace(shape.key, std::move(holder));
}

// --- extents -------------------------------------------------------------------------------------

/// Extents that binding requires to be equal count as one.
void Canonicaliser::find_equal_extents() {
    for (const Requirement& requirement : program_.requirements) {
        if (requirement.kind != Requirement::Kind::equal) continue;
        const Expr a = representative(requirement.a);
        const Expr b = representative(requirement.b);
        if (a == b) continue;
        // A literal stands for what equals it: a bound that must be 0 is 0.
        if (is_literal(b))
            equal_extents_.emplace(a, b);
        else
            equal_extents_.emplace(b, a);
    }
}

Expr Canonicaliser::representative(Expr extent) const {
    for (auto it = equal_extents_.find(extent); it != equal_extents_.end();
         it = equal_extents_.find(extent))
        extent = it->second;
    return extent;
}

/// Whether the subscript is an index that runs from 0 to the dimension's extent, or may lie
/// anywhere.
bool Canonicaliser::is_surely_inside(TensorId tensor, std::size_t dimension, Expr subscript) const {
    const auto* modified = std::get_if<Modified>(&subscript->term);
    if (modified && !modified->low) return true;
    const auto* value = std::get_if<IndexValue>(&subscript->term);
    if (!value) return false;
    const Index& index = program_.at(value->index);
    return is_literal(representative(index.lower), 0) &&
           representative(index.upper) == representative(program_.at(tensor).shape[dimension]);
}

Expr Canonicaliser::extent(IndexId i) const {
    const Index& index = program_.at(i);
    return integer_difference(context_, index.upper, representative(index.lower));
}

/// The index counted from its lower bound.
Expr Canonicaliser::place(IndexId i) const {
    return integer_difference(context_, context_.index(i), representative(program_.at(i).lower));
}

}  // namespace

Program canonicalise(Program program) { return Canonicaliser(std::move(program)).run(); }

}  // namespace ricci
