// grad/jvp.cpp – forward mode over the equations of a program
//
// Equations are visited first to last. The tangent of a tensor is a tensor of its own, made at the
// same places by an equation over the same points: a read of the one becomes a read of the other
// with the very same subscripts. Updates become sums of what was there and of what is gathered from
// the points that write, as in reverse mode, so that nothing is scattered here either.
#include "grad/jvp.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/simplify.h"
#include "dsl/walk.h"
#include "grad/derivation.h"
#include "grad/gradient.h"
#include "grad/joint.h"
#include "grad/neutral_shifts.h"
#include "grad/pushforward.h"
#include "grad/reduction.h"
#include "grad/update.h"

namespace ricci::grad {

namespace {

class Forward : Derivation {
  public:
    explicit Forward(const Program& canonical) : Derivation(canonical) {}

    Program run(const std::vector<std::string>& arguments, const JvpOptions& options) {
        ties_ = options.ties;
        is_complex_ = !options.complex_arguments.empty() || makes_complex(forward_);
        active_.assign(program_.tensors.size(), false);
        give_tangents(arguments);
        std::vector<TensorId> outputs;
        if (options.outputs.empty()) outputs.push_back(forward_.result());
        for (const std::string& name : options.outputs) outputs.push_back(find_output(name));
        for (const TensorId output : outputs) name_output(output);
        if (!is_complex_) neutral_ = neutral_shifts(forward_, outputs);
        const std::vector<Equation> equations = program_.equations;
        for (const Equation& equation : equations) push_through(equation);
        std::vector<TensorId> tangents;
        for (const TensorId output : outputs)
            tangents.push_back(define_output(output, outputs.size() == 1));
        program_.outputs = std::move(tangents);
        return with_sizes_at_hand(without_unused(std::move(program_)));
    }

  private:
    void give_tangents(const std::vector<std::string>& arguments);
    void name_output(TensorId output);

    void push_through(const Equation& equation);
    void add_tangent(const Equation& equation);
    [[nodiscard]] TensorId tangent_of(TensorId tensor) const;
    [[nodiscard]] Relation tangent_of_value(const Equation& equation);
    [[nodiscard]] Expr tangent_of_read(const Access& access) const;
    void define_tangent(const Equation& equation);
    void update_tangent(const Equation& equation);
    void combine_tangents(const Equation& equation);
    void hold(TensorId of, const std::vector<Part>& parts);
    [[nodiscard]] Tensor tensor_for_tangent(TensorId of);
    TensorId define_output(TensorId output, bool is_only);
    Gathered take_definition(TensorId output, TensorId tangent, bool is_only);
    std::vector<IndexId> indices_like(TensorId output);

    [[nodiscard]] Program with_sizes_at_hand(Program program) const;

    std::map<TensorId, TensorId> tangents_;  ///< of active tensors
    std::map<TensorId, Error> unknown_;      ///< in place of tangents: an error where one is needed
    std::map<TensorId, std::string> names_of_;    ///< of the tangents of outputs
    std::map<std::string, TensorId> of_updated_;  ///< tangents given, by the argument's name
};

// --- what is given, and what is wanted ---------------------------

void Forward::give_tangents(const std::vector<std::string>& arguments) {
    for (const std::string& name : arguments) {
        const TensorId argument = find_argument(name);
        if (tangents_.contains(argument)) continue;
        const TensorId tangent = add_companion(argument, "a tangent has the shape of its argument");
        tangents_.emplace(argument, tangent);
        of_updated_.emplace(name, tangent);
        active_[position(argument)] = true;
    }
}

void Forward::name_output(TensorId output) {
    const std::string& name = forward_.at(output).name;
    if (of_updated_.contains(name) || names_of_.contains(output)) return;
    names_of_.emplace(output, names_.unique("d" + name));
}

// --- equations ---------------------------------------------------

void Forward::push_through(const Equation& equation) {
    if (neutral_.contains(equation.target)) return;
    const bool is_moved = depends_on(equation.value, active_);
    if (!is_moved && !(equation.previous && is_active(*equation.previous))) return;
    try {
        add_tangent(equation);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::gradient) throw;
        unknown_.emplace(equation.target, error);
    }
    // It may have turned out that nothing moves.
    active_[position(equation.target)] =
        tangents_.contains(equation.target) || unknown_.contains(equation.target);
}

/// Throws: `gradient` where it is unknown.
TensorId Forward::tangent_of(TensorId tensor) const {
    if (const auto unknown = unknown_.find(tensor); unknown != unknown_.end())
        throw unknown->second;
    return tangents_.at(tensor);
}

void Forward::add_tangent(const Equation& equation) {
    if (!equation.previous)
        define_tangent(equation);
    else if (equation.op == Assign::add || equation.op == Assign::set)
        update_tangent(equation);
    else
        combine_tangents(equation);
}

/// The tangent with the subscripts of the read; in the padding, which is constant, it is 0.
Expr Forward::tangent_of_read(const Access& access) const {
    std::vector<Expr> at = access.at;
    for (Expr& subscript : at) {
        const auto* modified = std::get_if<Modified>(&subscript->term);
        if (modified == nullptr || modified->outside != Outside::pad) continue;
        Modified empty = *modified;
        empty.value = context_.integer(0);
        subscript = context_.intern(empty);
    }
    return context_.access(tangent_of(access.tensor), std::move(at));
}

/// The tangent of the equation's value at each of its points, which are to be summed where the
/// equation reduces.
Relation Forward::tangent_of_value(const Equation& equation) {
    Relation relation{.array = equation.target,
                      .indices = equation.indices,
                      .reduced = 0,
                      .condition = Expr(),
                      .at = equation.at,
                      .d = {}};
    Differentiated what{
        .term = equation.value, .saved = Expr(), .span = equation.span, .is_complex = is_complex_};
    const auto* reduce = std::get_if<Reduce>(&equation.value->term);
    const auto pushed = [&] {
        return push_forward(program_, what, active_,
                            [&](const Access& access) { return tangent_of_read(access); });
    };
    if (reduce != nullptr) {
        what.term = reduce->body;
        relation.d = pushed();
    } else {
        const std::vector<Share> parts = shares(equation);
        const bool is_whole = parts.size() == 1;
        if (is_whole && equation.op == Assign::define && !program_.at(equation.target).dtype_of)
            what.saved = context_.access(equation.target, equation.at);
        std::vector<Cotangent> tangents;
        for (const Share& part : parts) {
            what.term = part.term;
            if (!depends_on(part.term, active_)) continue;
            const Cotangent d = pushed();
            if (d.value) tangents.push_back(weighted(context_, part, d));
        }
        if (!tangents.empty()) relation.d = sum(context_, tangents);
    }
    if (reduce == nullptr || !relation.d.value) return relation;
    relation.indices.insert(relation.indices.end(), reduce->indices.begin(), reduce->indices.end());
    relation.reduced = reduce->indices.size();
    relation.condition = reduce->condition;
    const Cotangent factor = pull_back_reduction(program_, names_, equation, *reduce,
                                                 relation.d.value, {ties_, is_complex_});
    relation.d.value = factor.value;
    // The point that is the largest is one of all; which factors are zero is looked at inside.
    if (reduce->reducer == Reducer::prod)
        relation.d.guard = context_.logical_and(factor.guard, relation.d.guard);
    else
        relation.condition = context_.logical_and(relation.condition, factor.guard);
    return relation;
}

/// The tangent of a new array.
void Forward::define_tangent(const Equation& equation) {
    const Relation relation = tangent_of_value(equation);
    if (!relation.d.value) return;
    std::unordered_map<std::uint32_t, Expr> renaming;
    std::vector<IndexId> copies;
    for (const IndexId index : relation.indices) {
        copies.push_back(program_.add(Index(program_.at(index))));
        renaming.emplace(static_cast<std::uint32_t>(index), context_.index(copies.back()));
    }
    const auto renamed = [&](Expr e) { return e ? substitute_indices(context_, e, renaming) : e; };
    const auto first_reduced =
        copies.begin() + static_cast<std::ptrdiff_t>(equation.indices.size());
    const std::vector<IndexId> reduced(first_reduced, copies.end());
    Equation result{.target = {},
                    .at = {},
                    .op = Assign::define,
                    .previous = std::nullopt,
                    .indices = std::vector<IndexId>(copies.begin(), first_reduced),
                    .value = renamed(to_expr(context_, relation.d)),
                    .span = {}};
    for (const Expr subscript : equation.at) result.at.push_back(renamed(subscript));
    if (!reduced.empty())
        result.value =
            context_.reduce(Reducer::sum, reduced, renamed(relation.condition), result.value);
    result.value = simplify(program_, result.value, {.is_derivative = true});
    if (is_literal(result.value)) return;
    if (result.at == values_of(result.indices)) {
        const Part part = as_part({.indices = result.indices, .value = result.value});
        if (const auto* same = std::get_if<TensorId>(&part)) {
            tangents_.emplace(equation.target, *same);
            return;
        }
    }
    Tensor tensor = tensor_for_tangent(equation.target);
    tensor.rank = program_.at(equation.target).rank;
    tensor.shape = program_.at(equation.target).shape;
    result.target = program_.add(std::move(tensor));
    tangents_.emplace(equation.target, result.target);
    program_.equations.push_back(std::move(result));
}

/// The tangent of an array after `=` or `+=` of a part of it.
void Forward::update_tangent(const Equation& equation) {
    std::vector<Part> parts;
    if (is_active(*equation.previous)) {
        const TensorId before = tangent_of(*equation.previous);
        // What `=` overwrites is gone.
        parts.push_back(equation.op == Assign::add ? Part(before)
                                                   : Part(where_not_written(equation, before)));
    }
    if (depends_on(equation.value, active_)) {
        const Relation relation = tangent_of_value(equation);
        if (relation.d.value) add_parts(parts, relation);
    }
    hold(equation.target, parts);
}

/// The tangent of an array after `*=`, `max=` or `min=` of a part of it.
void Forward::combine_tangents(const Equation& equation) {
    UpdateSeeds seeds;
    const auto& value = std::get<Access>(equation.value->term);
    if (is_active(*equation.previous)) seeds.previous = tangent_of(*equation.previous);
    if (is_active(value.tensor)) seeds.value = tangent_of_read(value);
    const UpdateDerivatives found =
        differentiate_update(program_, names_, extents_, equation, seeds, ties_);
    std::vector<Part> parts;
    if (found.previous) parts.emplace_back(*found.previous);
    if (seeds.value)
        add_parts(parts, {.array = equation.target,
                          .indices = equation.indices,
                          .reduced = 0,
                          .condition = Expr(),
                          .at = equation.at,
                          .d = found.value});
    hold(equation.target, parts);
}

/// Makes the sum of the parts the tangent of a tensor.
void Forward::hold(TensorId of, const std::vector<Part>& parts) {
    if (parts.empty()) return;
    const auto* whole = std::get_if<TensorId>(&parts.front());
    if (parts.size() == 1 && whole != nullptr) {
        tangents_.emplace(of, *whole);
        return;
    }
    const Gathered total = sum_of(of, parts);
    if (is_literal(total.value)) return;
    tangents_.emplace(of, define(tensor_for_tangent(of), total));
}

/// An output's tangent has the output's name and is one itself.
Tensor Forward::tensor_for_tangent(TensorId of) {
    const auto output = names_of_.find(of);
    return {.name = output != names_of_.end() ? output->second
                                              : names_.unique("d" + program_.at(of).name),
            .rank = 0,
            .role = output != names_of_.end() ? Role::target : Role::temporary,
            .shape = {},
            .dtype_of = std::nullopt};
}

// --- outputs -----------------------------------------------------

TensorId Forward::define_output(TensorId output, bool is_only) {
    const bool is_moved = is_active(output);
    const TensorId tangent = is_moved ? tangent_of(output) : TensorId{};
    if (is_moved && names_of_.contains(output) && program_.at(tangent).name == names_of_.at(output))
        return tangent;
    const Gathered what =
        is_moved ? take_definition(output, tangent, is_only)
                 : Gathered{.indices = indices_like(output), .value = context_.literal(0.0)};
    const auto given = of_updated_.find(forward_.at(output).name);
    if (given != of_updated_.end()) return update_argument(given->second, what);
    Tensor tensor = tensor_for_tangent(output);
    return define(std::move(tensor), what);
}

/// A read of the tangent, or what it was made to be when nothing else reads it.
Gathered Forward::take_definition(TensorId output, TensorId tangent, bool is_only) {
    if (is_only && !program_.equations.empty() && program_.equations.back().target == tangent) {
        const Equation last = program_.equations.back();
        if (last.at == values_of(last.indices)) {
            program_.equations.pop_back();
            return {.indices = last.indices, .value = last.value};
        }
    }
    const std::vector<IndexId> indices = indices_like(output);
    return {.indices = indices, .value = context_.access(tangent, values_of(indices))};
}

/// Indices over the output's dimensions, named as where it is made.
std::vector<IndexId> Forward::indices_like(TensorId output) {
    for (const Equation& equation : program_.equations)
        if (equation.target == output && equation.at == values_of(equation.indices))
            return indices_of(output, {Gathered{.indices = equation.indices, .value = Expr()}});
    return indices_of(output, {});
}

/// The program with the sizes of arguments that it does not read replaced by equal ones of arrays
/// that it does.
Program Forward::with_sizes_at_hand(Program program) const {
    std::set<TensorId> read;
    const auto note = [&](Expr e) {
        for (const TensorId id : tensors_read(e)) read.insert(id);
    };
    for (const Equation& equation : program.equations) {
        for (const Expr subscript : equation.at) note(subscript);
        note(equation.value);
        if (equation.previous) read.insert(*equation.previous);
    }
    ExprMap<Expr> equal;
    for (const TensorId id : forward_.arguments) {
        if (read.contains(id)) continue;
        for (int d = 0; d < program.at(id).rank; ++d) {
            const Expr size = context_.size(id, d);
            for (const Expr other : extents_.all_equal(size)) {
                const auto* found = std::get_if<Size>(&other->term);
                if (found == nullptr || !read.contains(found->tensor)) continue;
                equal.emplace(size, other);
                break;
            }
        }
    }
    if (equal.empty()) return program;
    const auto replaced = [&](Expr e) { return e ? substitute(context_, e, equal) : e; };
    for (Equation& equation : program.equations) {
        for (Expr& subscript : equation.at) subscript = replaced(subscript);
        equation.value = replaced(equation.value);
    }
    for (Index& index : program.indices) {
        index.lower = replaced(index.lower);
        index.upper = replaced(index.upper);
    }
    for (Tensor& tensor : program.tensors)
        if (tensor.role != Role::argument)
            for (Expr& extent : tensor.shape) extent = replaced(extent);
    for (Requirement& requirement : program.requirements)
        for (Expr* term : {&requirement.a, &requirement.b, &requirement.condition})
            *term = replaced(*term);
    return without_unused(std::move(program));
}

}  // namespace

Program jvp(const Program& forward, const std::vector<std::string>& arguments,
            const JvpOptions& options) {
    const Program canonical = canonicalise(forward);
    Program result = Forward(canonical).run(arguments, options);
    serve_any_ranks(
        result, forward, outputs_of_cotangents(forward, result),
        [arguments, options](const Program& again) { return jvp(again, arguments, options); });
    return result;
}

}  // namespace ricci::grad
