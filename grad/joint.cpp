// grad/joint.cpp – reverse mode over the equations of a program
//
// Equations are visited last to first. Each read of a tensor that depends on a wanted argument
// contributes a relation, gathered into a function of that tensor's own indices; when a tensor's
// own equation is reached all its readers have been visited, and the sum of the contributions is
// its cotangent.
#include "grad/joint.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "dsl/walk.h"
#include "grad/common_factors.h"
#include "grad/derivation.h"
#include "grad/neutral_shifts.h"
#include "grad/pullback.h"
#include "grad/reduction.h"
#include "grad/update.h"

namespace ricci::grad {

namespace {

class Reverse : Derivation {
  public:
    Reverse(const Program& canonical, Account* account) : Derivation(canonical) {
        account_ = account;
    }

    Joint run(const std::vector<std::string>& arguments, const Options& options) {
        std::vector<TensorId> wanted;
        ties_ = options.ties;
        is_complex_ = !options.complex_arguments.empty() || makes_complex(forward_);
        for (const std::string& name : arguments) wanted.push_back(find_argument(name));
        if (!is_complex_) neutral_ = neutral_shifts(forward_, differentiated_outputs(options));
        find_active(wanted);
        give_cotangents(options);
        const std::vector<Equation> equations = program_.equations;
        for (const Equation& equation : equations | std::views::reverse)
            pull_back_through(equation);
        std::vector<TensorId> gradients;
        for (const TensorId argument : wanted)
            gradients.push_back(define_gradient(argument, options));
        program_.outputs = std::move(gradients);
        return {.program = with_common_factors(std::move(program_), cotangents_),
                .cotangents = std::move(cotangents_)};
    }

  private:
    [[nodiscard]] std::vector<TensorId> differentiated_outputs(const Options& options) const;
    void find_active(const std::vector<TensorId>& wanted);
    void give_cotangents(const Options& options);
    void give_cotangent(TensorId output);

    void pull_back_through(const Equation& equation);
    void pull_back_previous(const Equation& equation, TensorId d);
    void pull_back_combination(const Equation& equation, TensorId d);
    void pull_back_value(const Equation& equation, TensorId d);
    void pull_back_term(const Differentiated& what, Relation relation);
    std::vector<Expr> asked_of_cotangent(const Equation& equation, Expr element);

    TensorId cotangent_of(const Equation& equation);
    Gathered total(TensorId tensor) { return sum_of(tensor, contributions_[tensor]); }
    TensorId define_gradient(TensorId argument, const Options& options);
    Gathered gradient_from(Gathered total, bool is_complex);

    std::vector<TensorId> cotangents_;  ///< inside, those of a complex program are conjugates
    std::map<TensorId, std::vector<Part>> contributions_;
};

// --- what is wanted, and what is given ---------------------------

void Reverse::find_active(const std::vector<TensorId>& wanted) {
    active_.assign(program_.tensors.size(), false);
    for (const TensorId id : wanted) active_[position(id)] = true;
    for (const Equation& equation : program_.equations) {
        active_[position(equation.target)] = !neutral_.contains(equation.target) &&
                                             (depends_on(equation.value, active_) ||
                                              (equation.previous && is_active(*equation.previous)));
    }
}

/// The outputs that have cotangents.
std::vector<TensorId> Reverse::differentiated_outputs(const Options& options) const {
    if (options.cotangents.empty()) return {forward_.result()};
    std::vector<TensorId> outputs;
    for (const std::string& name : options.cotangents) outputs.push_back(find_output(name));
    return outputs;
}

void Reverse::give_cotangents(const Options& options) {
    for (const TensorId output : differentiated_outputs(options)) give_cotangent(output);
}

void Reverse::give_cotangent(TensorId output) {
    const TensorId id = add_companion(output, "a cotangent has the shape of its output");
    cotangents_.push_back(id);
    if (!is_complex_) {
        contributions_[output].emplace_back(id);
        return;
    }
    const std::vector<IndexId> indices = indices_of(output, {});
    const Expr given = context_.access(id, values_of(indices));
    contributions_[output].emplace_back(
        Gathered{.indices = indices, .value = context_.apply(Op::conj, {given})});
}

// --- equations ---------------------------------------------------

void Reverse::pull_back_through(const Equation& equation) {
    const auto given = contributions_.find(equation.target);
    const bool has_cotangent = given != contributions_.end() && !given->second.empty();
    if (!is_active(equation.target) || !has_cotangent) return;
    const TensorId d = cotangent_of(equation);
    const bool combines = equation.op != Assign::add && equation.op != Assign::set;
    if (equation.previous && combines) {
        pull_back_combination(equation, d);
        return;
    }
    if (equation.previous) pull_back_previous(equation, d);
    if (depends_on(equation.value, active_)) pull_back_value(equation, d);
}

/// Gives the cotangent of an update of a part of an array to the version before.
void Reverse::pull_back_previous(const Equation& equation, TensorId d) {
    if (!is_active(*equation.previous)) return;
    // What `=` overwrites has no further effect.
    contributions_[*equation.previous].push_back(
        equation.op == Assign::add ? Part(d) : where_not_written(equation, d));
}

/// The same of `*=`, `max=` and `min=`, and the cotangent of the values.
void Reverse::pull_back_combination(const Equation& equation, TensorId d) {
    const auto& values = std::get<Access>(equation.value->term);
    UpdateSeeds seeds;
    if (is_active(*equation.previous)) seeds.previous = d;
    if (is_active(values.tensor)) seeds.value = context_.access(d, equation.at);
    const UpdateDerivatives cotangents =
        differentiate_update(program_, names_, extents_, equation, seeds, ties_);
    if (cotangents.previous) contributions_[*equation.previous].emplace_back(*cotangents.previous);
    if (!seeds.value) return;
    const Relation relation{.array = values.tensor,
                            .indices = equation.indices,
                            .reduced = 0,
                            .condition = Expr(),
                            .at = values.at,
                            .d = cotangents.value};
    add_parts(contributions_[values.tensor], relation);
}

void Reverse::pull_back_value(const Equation& equation, TensorId d) {
    const Expr element = context_.access(d, equation.at);
    Cotangent upstream{.guard = Expr(), .value = element};
    for (const Expr condition : asked_of_cotangent(equation, element))
        upstream = where(context_, condition, upstream);
    Relation relation{.array = {},
                      .indices = equation.indices,
                      .reduced = 0,
                      .condition = Expr(),
                      .at = {},
                      .d = upstream};
    Differentiated what{
        .term = equation.value, .saved = Expr(), .span = equation.span, .is_complex = is_complex_};
    if (const auto* reduce = std::get_if<Reduce>(&equation.value->term)) {
        what.term = reduce->body;
        relation.indices.insert(relation.indices.end(), reduce->indices.begin(),
                                reduce->indices.end());
        relation.reduced = reduce->indices.size();
        relation.condition = reduce->condition;
        relation.d =
            pull_back_reduction(program_, names_, equation, *reduce, element, {ties_, is_complex_});
        relation.d.guard = context_.logical_and(relation.d.guard, upstream.guard);
        pull_back_term(what, relation);
        return;
    }
    const std::vector<Share> parts = shares(equation);
    const bool is_whole = parts.size() == 1;
    if (is_whole && equation.op == Assign::define && !program_.at(equation.target).dtype_of)
        what.saved = context_.access(equation.target, equation.at);
    for (const Share& part : parts) {
        what.term = part.term;
        relation.d = weighted(context_, part, upstream);
        pull_back_term(what, relation);
    }
}

/// Gives the reads in the term their parts; the relation is that of the whole term.
void Reverse::pull_back_term(const Differentiated& what, Relation relation) {
    for (const ReadCotangent& read : pull_back(program_, what, relation.d, active_)) {
        const auto& access = std::get<Access>(read.access->term);
        relation.array = access.tensor;
        relation.at = access.at;
        relation.d = read.d;
        add_parts(contributions_[access.tensor], relation);
    }
}

// --- cotangents --------------------------------------------------

/// The tensor that holds the sum of the contributions to the target.
TensorId Reverse::cotangent_of(const Equation& equation) {
    const std::vector<Part>& parts = contributions_.at(equation.target);
    const auto* whole = std::get_if<TensorId>(&parts.front());
    if (parts.size() == 1 && whole != nullptr) return *whole;
    const TensorId d = define_temporary(names_.unique("d" + program_.at(equation.target).name),
                                        total(equation.target));
    if (equation.previous) return d;
    // `pull_back_value` is the only reader, and asks for the same conditions.
    Equation& made = program_.equations.back();
    made.value = without_known_guards(context_, made.value,
                                      asked_of_cotangent(equation, context_.access(d, made.at)));
    return d;
}

/// What the pullback of an equation asks of its points: conditions that hold wherever the cotangent
/// is not 0. What the equation makes of other points may be infinite. Products and sums of finite
/// numbers make 0 of 0; what they reduce is asked for bounds of loops alone.
std::vector<Expr> Reverse::asked_of_cotangent(const Equation& equation, Expr element) {
    const auto* reduce = std::get_if<Reduce>(&equation.value->term);
    const bool is_finite =
        reduce != nullptr && !contains(reduce->body, [](Expr e) {
            const auto* apply = std::get_if<Apply>(&e->term);
            if (apply == nullptr || (apply->op == Op::pow && is_literal(apply->args[1], 2)))
                return false;
            return apply->op != Op::mul && apply->op != Op::add && apply->op != Op::neg &&
                   apply->op != Op::abs2;
        });
    std::vector<Expr> conditions = support_of(std::get<Access>(element->term));
    if (is_finite) std::erase_if(conditions, [](Expr each) { return !is_loop_bound(each); });
    return conditions;
}

/// Back from conjugates; of a real argument, which moves along the real axis, the real part.
Gathered Reverse::gradient_from(Gathered total, bool is_complex) {
    if (!is_complex_) return total;
    const Op op = is_complex ? Op::conj : Op::real;
    if (const auto* sum = std::get_if<Reduce>(&total.value->term))
        total.value = context_.reduce(sum->reducer, sum->indices, sum->condition,
                                      context_.apply(op, {sum->body}));
    else
        total.value = context_.apply(op, {total.value});
    return total;
}

/// The gradient of an argument that the forward updates takes the place of its cotangent.
TensorId Reverse::define_gradient(TensorId argument, const Options& options) {
    const std::string& name = forward_.at(argument).name;
    const bool is_complex =
        std::ranges::find(options.complex_arguments, name) != options.complex_arguments.end();
    const Gathered gradient = gradient_from(total(argument), is_complex);
    for (const TensorId cotangent : cotangents_) {
        const TensorId output = program_.at(cotangent).dtype_of.value();
        if (forward_.at(output).name == name) return update_argument(cotangent, gradient);
    }
    return define({.name = names_.unique("d" + name),
                   .rank = 0,
                   .role = Role::target,
                   .shape = {},
                   .dtype_of = argument},
                  gradient);
}

}  // namespace

Joint differentiate(const Program& canonical, const std::vector<std::string>& arguments,
                    const Options& options, Account* account) {
    return Reverse(canonical, account).run(arguments, options);
}

}  // namespace ricci::grad
