// grad/joint.cpp – reverse mode over the equations of a program
//
// Equations are visited last to first. Each read of a tensor that depends on a wanted argument
// contributes a relation, gathered into a function of that tensor's own indices; when a tensor's
// own equation is reached all its readers have been visited, and the sum of the contributions is
// its cotangent.
#include "grad/joint.h"

#include <algorithm>
#include <map>
#include <variant>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/simplify.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"
#include "grad/gather.h"
#include "grad/pieces.h"
#include "grad/pullback.h"
#include "grad/reduction.h"
#include "grad/update.h"
#include "grad/versions.h"

namespace ricci::grad {

namespace {

/// A part of a tensor's cotangent: another tensor of its shape, or a function of its indices.
using Contribution = std::variant<TensorId, Gathered>;

class Reverse {
  public:
    explicit Reverse(const Program& canonical)
        : forward_(canonical),
          extents_(canonical),
          names_(canonical),
          program_(with_lasting_versions(canonical, names_, extents_)),
          context_(*program_.context) {}

    Joint run(const std::vector<std::string>& arguments, const Options& options) {
        std::vector<TensorId> wanted;
        ties_ = options.ties;
        is_complex_ = !options.complex_arguments.empty() || makes_complex(forward_);
        for (const std::string& name : arguments) wanted.push_back(find_argument(name));
        find_active(wanted);
        give_cotangents(options);
        const std::vector<Equation> equations = program_.equations;
        for (auto equation = equations.rbegin(); equation != equations.rend(); ++equation) {
            pull_back_through(*equation);
        }
        std::vector<TensorId> gradients;
        for (const TensorId argument : wanted)
            gradients.push_back(define_gradient(argument, options));
        program_.outputs = std::move(gradients);
        return {.program = std::move(program_), .cotangents = std::move(cotangents_)};
    }

  private:
    TensorId find_argument(const std::string& name) const;
    void require_no_integer(TensorId argument) const;
    void find_active(const std::vector<TensorId>& wanted);
    void give_cotangents(const Options& options);
    void give_cotangent(TensorId output);

    void pull_back_through(const Equation& equation);
    void pull_back_previous(const Equation& equation, TensorId d);
    void pull_back_combination(const Equation& equation, TensorId d);
    Gathered where_not_written(const Equation& equation, TensorId d);
    void pull_back_value(const Equation& equation, TensorId d);
    void pull_back_term(const Differentiated& what, Relation relation);
    Contribution as_contribution(Gathered gathered) const;

    TensorId cotangent_of(TensorId tensor);
    Gathered total(TensorId tensor);
    Gathered sum_of(TensorId tensor, const std::vector<Contribution>& parts);
    Expr read_at(const Contribution& part, const std::vector<IndexId>& indices);
    std::vector<IndexId> indices_of(TensorId tensor, const std::vector<Contribution>& parts);
    TensorId define(Tensor tensor, const Gathered& what);
    TensorId define_temporary(std::string name, const Gathered& what);
    TensorId define_gradient(TensorId argument, const Options& options);
    Gathered gradient_from(Gathered total, bool is_complex);
    TensorId update_cotangent(TensorId cotangent, Gathered what);

    /// Whether the statement that makes it was an update.
    bool is_update(TensorId id) const {
        return std::ranges::any_of(forward_.equations, [&](const Equation& equation) {
            return equation.target == id && equation.previous.has_value();
        });
    }
    bool is_active(TensorId id) const { return active_[position(id)]; }
    std::vector<Expr> values_of(const std::vector<IndexId>& indices) const {
        std::vector<Expr> values;
        for (const IndexId index : indices) values.push_back(context_.index(index));
        return values;
    }

    const Program& forward_;
    Extents extents_;
    Names names_;
    Program program_;
    Context& context_;
    Active active_;            ///< of the forward's tensors
    bool is_complex_ = false;  ///< cotangents inside are conjugates (see Step)
    Ties ties_ = Ties::first;
    std::vector<TensorId> cotangents_;
    std::map<TensorId, std::vector<Contribution>> contributions_;
};

// --- what is wanted, and what is given ---------------------------

TensorId Reverse::find_argument(const std::string& name) const {
    if (const std::optional<TensorId> id = forward_.argument(name)) {
        require_no_integer(*id);
        return *id;
    }
    std::vector<std::string> known;
    for (const TensorId id : forward_.arguments) known.push_back(forward_.at(id).name);
    const std::string suggestion = nearest(name, known);
    throw Error({.kind = ErrorKind::name,
                 .message = format("the program has no argument `{}`", name),
                 .source = forward_.source,
                 .labels = {},
                 .hint = suggestion.empty() ? format("its arguments are `{}`", join(known, "`, `"))
                                            : format("did you mean `{}`?", suggestion)});
}

/// What stands in subscripts and ranges is whole.
void Reverse::require_no_integer(TensorId argument) const {
    const auto is_argument = [&](TensorId id) { return id == argument; };
    const auto stands_in = [&](Expr subscript) {
        return std::ranges::any_of(integers_in_place(forward_, subscript), is_argument);
    };
    bool is_integer = std::ranges::any_of(structural_scalars(forward_), is_argument);
    for (const Equation& equation : forward_.equations) {
        is_integer |= std::ranges::any_of(equation.at, stands_in);
        for (const Expr e : postorder({equation.value}))
            if (const auto* access = std::get_if<Access>(&e->term))
                is_integer |= std::ranges::any_of(access->at, stands_in);
    }
    if (!is_integer) return;
    throw Error({.kind = ErrorKind::gradient,
                 .message = format("the argument `{}` stands in a subscript or a range: it is an "
                                   "integer, which has no gradient",
                                   forward_.at(argument).name),
                 .source = forward_.source,
                 .labels = {},
                 .hint = "ask for the gradient of a floating argument"});
}

void Reverse::find_active(const std::vector<TensorId>& wanted) {
    active_.assign(program_.tensors.size(), false);
    for (const TensorId id : wanted) active_[position(id)] = true;
    for (const Equation& equation : program_.equations) {
        active_[position(equation.target)] = depends_on(equation.value, active_) ||
                                             (equation.previous && is_active(*equation.previous));
    }
}

void Reverse::give_cotangents(const Options& options) {
    if (options.cotangents.empty()) give_cotangent(forward_.result());
    for (const std::string& name : options.cotangents) {
        const std::optional<TensorId> output = forward_.output(name);
        if (!output) {
            std::vector<std::string> known;
            for (const TensorId id : forward_.outputs) known.push_back(forward_.at(id).name);
            throw Error({.kind = ErrorKind::name,
                         .message = format("the program has no output `{}`", name),
                         .source = forward_.source,
                         .labels = {},
                         .hint = format("its outputs are `{}`", join(known, "`, `"))});
        }
        give_cotangent(*output);
    }
}

/// Adds an argument of the shape and type of the output.
void Reverse::give_cotangent(TensorId output) {
    const std::vector<Expr> shape = program_.at(output).shape;
    const std::string name = names_.unique("d" + forward_.at(output).name);
    const TensorId id = program_.add(Tensor{.name = name,
                                            .rank = static_cast<int>(shape.size()),
                                            .role = Role::argument,
                                            .shape = shape,
                                            .dtype_of = output});
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const Expr size = context_.size(id, static_cast<int>(d));
        const Diagnosis otherwise{
            .kind = ErrorKind::shape,
            .message = format("`{}` has the extent {{a}} in dimension {}, `{}` has {{b}}", name, d,
                              forward_.at(output).name),
            .source = nullptr,
            .labels = {},
            .hint = "a cotangent has the shape of its output"};
        // Said of each size that equals the extent: a gradient may have but one of the arguments.
        for (const Expr extent : extents_.all_equal(shape[d])) {
            program_.requirements.push_back({.kind = Requirement::Kind::equal,
                                             .a = size,
                                             .b = extent,
                                             .indices = {},
                                             .condition = Expr(),
                                             .otherwise = otherwise});
        }
        extents_.equate(shape[d], size);
        extents_.write_as(shape[d], size);
    }
    program_.arguments.push_back(id);
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
    if (!is_active(equation.target) || !contributions_.contains(equation.target)) return;
    const TensorId d = cotangent_of(equation.target);
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
        equation.op == Assign::add ? Contribution(d) : where_not_written(equation, d));
}

/// The same of `*=`, `max=` and `min=`, and the cotangent of the values.
void Reverse::pull_back_combination(const Equation& equation, TensorId d) {
    const UpdateCotangents cotangents =
        pull_back_update(program_, names_, extents_, equation, d, ties_);
    if (is_active(*equation.previous))
        contributions_[*equation.previous].emplace_back(cotangents.previous);
    const auto& values = std::get<Access>(equation.value->term);
    if (!is_active(values.tensor)) return;
    const Relation relation{.array = values.tensor,
                            .indices = equation.indices,
                            .reduced = 0,
                            .condition = Expr(),
                            .at = values.at,
                            .d = cotangents.value};
    contributions_[values.tensor].push_back(
        as_contribution(gather(program_, names_, extents_, relation)));
}

Gathered Reverse::where_not_written(const Equation& equation, TensorId d) {
    const Relation writes{.array = equation.target,
                          .indices = equation.indices,
                          .reduced = 0,
                          .condition = Expr(),
                          .at = equation.at,
                          .d = {.guard = Expr(), .value = context_.integer(1)}};
    std::vector<Contribution> hits;
    for (const Relation& piece : without_modifiers(program_, extents_, writes))
        hits.emplace_back(gather(program_, names_, extents_, piece));
    const std::vector<IndexId> indices = indices_of(equation.target, hits);
    const TensorId written = define_temporary(names_.temporary(), sum_of(equation.target, hits));
    const Expr is_kept =
        context_.apply(Op::eq, {context_.access(written, values_of(indices)), context_.integer(0)});
    return {.indices = indices,
            .value = to_expr(context_,
                             {.guard = is_kept, .value = context_.access(d, values_of(indices))})};
}

void Reverse::pull_back_value(const Equation& equation, TensorId d) {
    const Expr upstream = context_.access(d, equation.at);
    Relation relation{.array = {},
                      .indices = equation.indices,
                      .reduced = 0,
                      .condition = Expr(),
                      .at = {},
                      .d = {.guard = Expr(), .value = upstream}};
    Differentiated what{
        .term = equation.value, .saved = Expr(), .span = equation.span, .is_complex = is_complex_};
    if (const auto* reduce = std::get_if<Reduce>(&equation.value->term)) {
        what.term = reduce->body;
        relation.indices.insert(relation.indices.end(), reduce->indices.begin(),
                                reduce->indices.end());
        relation.reduced = reduce->indices.size();
        relation.condition = reduce->condition;
        relation.d = pull_back_reduction(program_, names_, equation, *reduce, upstream, ties_);
    } else if (equation.op == Assign::define && !program_.at(equation.target).dtype_of) {
        what.saved = context_.access(equation.target, equation.at);
    }
    const bool is_reduced = relation.reduced > 0;
    if (is_reduced || ties_ == Ties::first || !is_update(equation.target)) {
        pull_back_term(what, relation);
        return;
    }
    for (const Share& share : shares_of_choice(context_, what.term, upstream, ties_)) {
        if (what.term != share.term) what.saved = Expr();
        what.term = share.term;
        relation.d = share.d;
        pull_back_term(what, relation);
    }
}

/// Gives the reads in the term their contributions; the relation is that of the whole term.
void Reverse::pull_back_term(const Differentiated& what, Relation relation) {
    for (const ReadCotangent& read : pull_back(program_, what, relation.d, active_)) {
        const auto& access = std::get<Access>(read.access->term);
        relation.array = access.tensor;
        relation.at = access.at;
        relation.d = read.d;
        for (const Relation& piece : without_modifiers(program_, extents_, relation))
            contributions_[access.tensor].push_back(
                as_contribution(gather(program_, names_, extents_, piece)));
    }
}

/// What copies a whole tensor is that tensor.
Contribution Reverse::as_contribution(Gathered gathered) const {
    const auto* access = std::get_if<Access>(&gathered.value->term);
    if (access == nullptr || access->at != values_of(gathered.indices)) return gathered;
    const std::vector<Expr>& shape = program_.at(access->tensor).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (!extents_.are_equal(program_.at(gathered.indices[d]).upper, shape[d])) return gathered;
    }
    return access->tensor;
}

// --- cotangents --------------------------------------------------

/// The tensor that holds the sum of the contributions to another.
TensorId Reverse::cotangent_of(TensorId tensor) {
    const std::vector<Contribution>& parts = contributions_.at(tensor);
    const auto* whole = std::get_if<TensorId>(&parts.front());
    if (parts.size() == 1 && whole != nullptr) return *whole;
    return define_temporary(names_.unique("d" + program_.at(tensor).name), total(tensor));
}

/// The sum of the contributions; reductions among several become temporaries.
Gathered Reverse::total(TensorId tensor) { return sum_of(tensor, contributions_[tensor]); }

Gathered Reverse::sum_of(TensorId tensor, const std::vector<Contribution>& parts) {
    if (parts.size() == 1) {
        if (const auto* only = std::get_if<Gathered>(&parts.front())) return *only;
    }
    Gathered sum{.indices = indices_of(tensor, parts), .value = Expr()};
    std::vector<Expr> terms;
    for (const Contribution& part : parts) terms.push_back(read_at(part, sum.indices));
    if (terms.size() > 1) {
        sum.value = context_.apply(Op::add, std::move(terms));
    } else {
        sum.value = terms.empty() ? context_.integer(0) : terms.front();
    }
    sum.value = simplify(program_, sum.value, {.is_derivative = true});
    return sum;
}

/// The contribution at the given indices; a reduction is held by a temporary.
Expr Reverse::read_at(const Contribution& part, const std::vector<IndexId>& indices) {
    if (const auto* whole = std::get_if<TensorId>(&part)) {
        return context_.access(*whole, values_of(indices));
    }
    const auto& gathered = std::get<Gathered>(part);
    if (std::holds_alternative<Reduce>(gathered.value->term)) {
        const TensorId held = define_temporary(names_.temporary(), gathered);
        return context_.access(held, values_of(indices));
    }
    std::unordered_map<std::uint32_t, Expr> renaming;
    for (std::size_t n = 0; n < indices.size(); ++n) {
        renaming.emplace(static_cast<std::uint32_t>(gathered.indices[n]),
                         context_.index(indices[n]));
    }
    return substitute_indices(context_, gathered.value, renaming);
}

/// New indices over the tensor's dimensions, named as in the first part that names them.
std::vector<IndexId> Reverse::indices_of(TensorId tensor, const std::vector<Contribution>& parts) {
    const Gathered* named = nullptr;
    for (const Contribution& part : parts) {
        if (named == nullptr) named = std::get_if<Gathered>(&part);
    }
    std::vector<IndexId> indices;
    const std::vector<Expr> shape = program_.at(tensor).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        indices.push_back(program_.add(
            Index{.name = named != nullptr ? program_.at(named->indices[d]).name : names_.index(d),
                  .lower = context_.integer(0),
                  .upper = extents_.preferred(shape[d]),
                  .is_explicit = false}));
    }
    return indices;
}

/// Adds the equation that makes a tensor with one dimension for each index.
TensorId Reverse::define(Tensor tensor, const Gathered& what) {
    tensor.rank = static_cast<int>(what.indices.size());
    for (const IndexId index : what.indices) tensor.shape.push_back(program_.at(index).upper);
    const TensorId id = program_.add(std::move(tensor));
    program_.equations.push_back({.target = id,
                                  .at = values_of(what.indices),
                                  .op = Assign::define,
                                  .previous = std::nullopt,
                                  .indices = what.indices,
                                  .value = what.value,
                                  .span = {}});
    return id;
}

TensorId Reverse::define_temporary(std::string name, const Gathered& what) {
    return define({.name = std::move(name),
                   .rank = 0,
                   .role = Role::temporary,
                   .shape = {},
                   .dtype_of = std::nullopt},
                  what);
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

TensorId Reverse::define_gradient(TensorId argument, const Options& options) {
    const std::string& name = forward_.at(argument).name;
    const bool is_complex =
        std::ranges::find(options.complex_arguments, name) != options.complex_arguments.end();
    const Gathered gradient = gradient_from(total(argument), is_complex);
    for (const TensorId cotangent : cotangents_) {
        const TensorId output = program_.at(cotangent).dtype_of.value();
        if (forward_.at(output).name == name) return update_cotangent(cotangent, gradient);
    }
    return define({.name = names_.unique("d" + name),
                   .rank = 0,
                   .role = Role::target,
                   .shape = {},
                   .dtype_of = argument},
                  gradient);
}

/// The gradient of an argument that the forward updates takes the place of its cotangent.
TensorId Reverse::update_cotangent(TensorId cotangent, Gathered what) {
    const Expr here = context_.access(cotangent, values_of(what.indices));
    const bool reads_elsewhere = contains(what.value, [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        return access != nullptr && access->tensor == cotangent && e != here;
    });
    if (reads_elsewhere || std::holds_alternative<Reduce>(what.value->term)) {
        const TensorId held = define_temporary(names_.temporary(), what);
        what.indices = indices_of(held, {what});
        what.value = context_.access(held, values_of(what.indices));
    }
    Tensor tensor = program_.at(cotangent);
    tensor.role = Role::target;
    tensor.dtype_of = cotangent;
    const TensorId id = program_.add(std::move(tensor));
    program_.equations.push_back({.target = id,
                                  .at = values_of(what.indices),
                                  .op = Assign::set,
                                  .previous = cotangent,
                                  .indices = what.indices,
                                  .value = what.value,
                                  .span = {}});
    return id;
}

}  // namespace

Joint differentiate(const Program& canonical, const std::vector<std::string>& arguments,
                    const Options& options) {
    return Reverse(canonical).run(arguments, options);
}

}  // namespace ricci::grad
