// grad/derivation.cpp – what both modes of differentiation do to a program
#include "grad/derivation.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/simplify.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"
#include "grad/centred_sum.h"
#include "grad/extension.h"
#include "grad/pieces.h"
#include "grad/versions.h"

namespace ricci::grad {

Derivation::Derivation(const Program& canonical)
    : forward_(canonical),
      extents_(canonical),
      names_(canonical),
      program_(with_lasting_versions(canonical, names_, extents_)),
      context_(*program_.context) {}

TensorId Derivation::find_argument(const std::string& name) const {
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
void Derivation::require_no_integer(TensorId argument) const {
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

TensorId Derivation::find_output(const std::string& name) const {
    if (const std::optional<TensorId> output = forward_.output(name)) return *output;
    std::vector<std::string> known;
    for (const TensorId id : forward_.outputs) known.push_back(forward_.at(id).name);
    throw Error({.kind = ErrorKind::name,
                 .message = format("the program has no output `{}`", name),
                 .source = forward_.source,
                 .labels = {},
                 .hint = format("its outputs are `{}`", join(known, "`, `"))});
}

TensorId Derivation::add_companion(TensorId of, const std::string& hint) {
    const std::vector<Expr> shape = program_.at(of).shape;
    const std::string name = names_.unique("d" + forward_.at(of).name);
    const TensorId id = program_.add(Tensor{.name = name,
                                            .rank = static_cast<int>(shape.size()),
                                            .role = Role::argument,
                                            .shape = shape,
                                            .dtype_of = of});
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const Expr size = context_.size(id, static_cast<int>(d));
        const Diagnosis otherwise{
            .kind = ErrorKind::shape,
            .message = format("`{}` has the extent {{a}} in dimension {}, `{}` has {{b}}", name, d,
                              forward_.at(of).name),
            .source = nullptr,
            .labels = {},
            .hint = hint};
        // Said of each size that equals the extent: a derivative may have but one of the arguments.
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
    return id;
}

std::vector<Share> Derivation::shares(const Equation& equation) const {
    const auto is_update = [&] {
        return std::ranges::any_of(forward_.equations, [&](const Equation& each) {
            return each.target == equation.target && each.previous.has_value();
        });
    };
    const bool may_share = ties_ != Ties::first && is_update();
    return shares_of_choice(context_, equation.value, may_share ? ties_ : Ties::first);
}

Gathered Derivation::where_not_written(const Equation& equation, TensorId d) {
    const Relation writes{.array = equation.target,
                          .indices = equation.indices,
                          .reduced = 0,
                          .condition = Expr(),
                          .at = equation.at,
                          .d = {.guard = Expr(), .value = context_.integer(1)}};
    std::vector<Part> hits;
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

void Derivation::add_parts(std::vector<Part>& parts, const Relation& relation) {
    add_parts(parts, relation, "d" + program_.at(relation.array).name);
}

void Derivation::add_parts(std::vector<Part>& parts, const Relation& relation,
                           const std::string& name) {
    if (const auto further = extension(program_, names_, extents_, relation)) {
        add_parts(parts, through(*further, relation), name);
        return;
    }
    for (const Relation& piece : without_modifiers(program_, extents_, relation)) {
        Inversion how;
        Gathered gathered =
            gather(program_, names_, extents_, piece, account_ != nullptr ? &how : nullptr);
        const bool is_zero = is_centred_sum(program_, gathered.value);
        if (account_ != nullptr) {
            for (std::string& line : describe(program_, name, piece, how))
                account_->lines.push_back(std::move(line));
            if (is_zero) account_->lines.emplace_back("  0: differences to their own mean");
        }
        if (!is_zero) parts.push_back(as_part(std::move(gathered)));
    }
}

/// Defines the extended array; its elements' way to the array of the relation.
Relation Derivation::through(const Extension& further, Relation relation) {
    Relation last{.array = relation.array,
                  .indices = further.indices,
                  .reduced = 0,
                  .condition = Expr(),
                  .at = further.at_original,
                  .d = {}};
    const std::string name = names_.temporary();
    const TensorId extended = program_.add(Tensor{.name = name,
                                                  .rank = static_cast<int>(further.shape.size()),
                                                  .role = Role::temporary,
                                                  .shape = further.shape,
                                                  .dtype_of = std::nullopt});
    relation.array = extended;
    relation.at = further.at;
    std::vector<Part> parts;
    add_parts(parts, relation, name);
    define(extended, sum_of(extended, parts));
    last.d.value = context_.access(extended, values_of(further.indices));
    return last;
}

Part Derivation::as_part(Gathered gathered) const {
    const auto* access = std::get_if<Access>(&gathered.value->term);
    if (access == nullptr || access->at != values_of(gathered.indices)) return gathered;
    const std::vector<Expr>& shape = program_.at(access->tensor).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (!extents_.are_equal(program_.at(gathered.indices[d]).upper, shape[d])) return gathered;
    }
    return access->tensor;
}

Gathered Derivation::sum_of(TensorId tensor, const std::vector<Part>& parts) {
    if (parts.size() == 1) {
        if (const auto* only = std::get_if<Gathered>(&parts.front())) return *only;
    }
    Gathered sum{.indices = indices_of(tensor, parts), .value = Expr()};
    std::vector<Expr> terms;
    for (const Part& part : parts) terms.push_back(read_at(part, sum.indices));
    if (terms.size() > 1) {
        sum.value = context_.apply(Op::add, std::move(terms));
    } else {
        sum.value = terms.empty() ? context_.integer(0) : terms.front();
    }
    sum.value = simplify(program_, sum.value, {.is_derivative = true});
    return sum;
}

/// The part at the given indices; a reduction is held by a temporary.
Expr Derivation::read_at(const Part& part, const std::vector<IndexId>& indices) {
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

std::vector<IndexId> Derivation::indices_of(TensorId tensor, const std::vector<Part>& parts) {
    const Gathered* named = nullptr;
    for (const Part& part : parts) {
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

TensorId Derivation::define(Tensor tensor, const Gathered& what) {
    tensor.rank = static_cast<int>(what.indices.size());
    for (const IndexId index : what.indices) tensor.shape.push_back(program_.at(index).upper);
    const TensorId id = program_.add(std::move(tensor));
    define(id, what);
    return id;
}

void Derivation::define(TensorId target, const Gathered& what) {
    std::vector<Expr> conditions =
        support(program_, what, [&](const Access& element) { return support_of(element); });
    if (!conditions.empty()) supports_[target] = {what.indices, std::move(conditions)};
    program_.equations.push_back({.target = target,
                                  .at = values_of(what.indices),
                                  .op = Assign::define,
                                  .previous = std::nullopt,
                                  .indices = what.indices,
                                  .value = what.value,
                                  .span = {}});
}

TensorId Derivation::define_temporary(std::string name, const Gathered& what) {
    return define({.name = std::move(name),
                   .rank = 0,
                   .role = Role::temporary,
                   .shape = {},
                   .dtype_of = std::nullopt},
                  what);
}

std::vector<Expr> Derivation::support_of(const Access& element) const {
    const auto found = supports_.find(element.tensor);
    const auto is_modified = [](Expr at) { return std::holds_alternative<Modified>(at->term); };
    // `wrap(i+1)` stands in no condition.
    if (found == supports_.end() || std::ranges::any_of(element.at, is_modified)) return {};
    std::unordered_map<std::uint32_t, Expr> places;
    for (std::size_t d = 0; d < element.at.size(); ++d)
        places.emplace(static_cast<std::uint32_t>(found->second.indices[d]), element.at[d]);
    std::vector<Expr> conditions;
    for (const Expr condition : found->second.conditions)
        conditions.push_back(simplify(program_, substitute_indices(context_, condition, places)));
    return conditions;
}

TensorId Derivation::update_argument(TensorId argument, Gathered what) {
    const Expr here = context_.access(argument, values_of(what.indices));
    const bool reads_elsewhere = contains(what.value, [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        return access != nullptr && access->tensor == argument && e != here;
    });
    if (reads_elsewhere || std::holds_alternative<Reduce>(what.value->term)) {
        const TensorId held = define_temporary(names_.temporary(), what);
        what.indices = indices_of(held, {what});
        what.value = context_.access(held, values_of(what.indices));
    }
    Tensor tensor = program_.at(argument);
    tensor.role = Role::target;
    tensor.dtype_of = argument;
    const TensorId id = program_.add(std::move(tensor));
    program_.equations.push_back({.target = id,
                                  .at = values_of(what.indices),
                                  .op = Assign::set,
                                  .previous = argument,
                                  .indices = what.indices,
                                  .value = what.value,
                                  .span = {}});
    return id;
}

}  // namespace ricci::grad
