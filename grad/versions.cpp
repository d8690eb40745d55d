// grad/versions.cpp – a program whose updates leave older versions as they were
#include "grad/versions.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

/// Whether the equation writes every element of its target.
bool writes_all(const Program& program, const Equation& equation, const Extents& extents) {
    std::set<IndexId> seen;
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const auto* plain = std::get_if<IndexValue>(&equation.at[d]->term);
        if (plain == nullptr || !seen.insert(plain->index).second) return false;
        const Index& index = program.at(plain->index);
        const Expr extent = program.at(*equation.previous).shape[d];
        if (!is_literal(index.lower, 0) || !extents.are_equal(index.upper, extent)) return false;
    }
    return true;
}

/// A definition of a new array with the elements of `tensor`.
Equation copy_of(Program& program, Names& names, TensorId tensor) {
    Context& context = *program.context;
    Tensor copy = program.at(tensor);
    copy.name = names.temporary();
    copy.role = Role::temporary;
    if (!copy.dtype_of) copy.dtype_of = tensor;
    Equation equation{.target = program.add(std::move(copy)),
                      .at = {},
                      .op = Assign::define,
                      .previous = std::nullopt,
                      .indices = {},
                      .value = Expr(),
                      .span = {}};
    const std::vector<Expr> shape = program.at(tensor).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        equation.indices.push_back(program.add(Index{.name = names.index(d),
                                                     .lower = context.integer(0),
                                                     .upper = shape[d],
                                                     .is_explicit = false}));
        equation.at.push_back(context.index(equation.indices.back()));
    }
    equation.value = context.access(tensor, equation.at);
    return equation;
}

/// What combines with a factor, a largest or a smallest value: where several points meet, how the
/// values compare decides where the cotangent goes.
bool compares_values(const Equation& equation) {
    return equation.op == Assign::mul || equation.op == Assign::max || equation.op == Assign::min;
}

/// A temporary for the values of an update, which then reads them.
Equation take_values_out(Program& program, Names& names, Equation& update) {
    Context& context = *program.context;
    Tensor tensor{.name = names.temporary(),
                  .rank = static_cast<int>(update.indices.size()),
                  .role = Role::temporary,
                  .shape = {},
                  .dtype_of = std::nullopt};
    Equation values{.target = {},
                    .at = {},
                    .op = Assign::define,
                    .previous = std::nullopt,
                    .indices = update.indices,
                    .value = update.value,
                    .span = update.span};
    std::unordered_map<std::uint32_t, Expr> renaming;
    std::vector<Expr> read_at;
    for (IndexId& index : update.indices) {
        const Index range = program.at(index);
        const IndexId copy = program.add(Index(range));
        const auto from_lower = [&](IndexId id) {
            return integer_difference(context, context.index(id), range.lower);
        };
        tensor.shape.push_back(integer_difference(context, range.upper, range.lower));
        values.at.push_back(from_lower(index));
        read_at.push_back(from_lower(copy));
        renaming.emplace(static_cast<std::uint32_t>(index), context.index(copy));
        index = copy;
    }
    values.target = program.add(std::move(tensor));
    for (Expr& subscript : update.at) subscript = substitute_indices(context, subscript, renaming);
    update.value = context.access(values.target, std::move(read_at));
    return values;
}

}  // namespace

Program with_lasting_versions(Program program, Names& names, const Extents& extents) {
    std::vector<Equation> equations;
    for (Equation& equation : program.equations) {
        if (equation.previous) {
            Tensor& target = program.tensors[position(equation.target)];
            target.name = names.unique(target.name);
            target.dtype_of = equation.previous;
            if (equation.op == Assign::set && writes_all(program, equation, extents)) {
                equation.op = Assign::define;
                equation.previous.reset();
            } else {
                equations.push_back(copy_of(program, names, *equation.previous));
                equation.previous = equations.back().target;
                if (compares_values(equation))
                    equations.push_back(take_values_out(program, names, equation));
            }
        }
        program.tensors[position(equation.target)].role = Role::temporary;
        equations.push_back(std::move(equation));
    }
    program.equations = std::move(equations);
    return program;
}

}  // namespace ricci::grad
