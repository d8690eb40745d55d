// codegen/equation_maker.cpp – equations over temporaries, added to a bound program
#include "codegen/equation_maker.h"

#include <utility>

#include "dsl/affine_form.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

IndexId EquationMaker::index(std::string name, std::int64_t extent) {
    program_.indices.push_back({.name = std::move(name), .lower = 0, .upper = extent});
    return IndexId{static_cast<std::uint32_t>(program_.indices.size() - 1)};
}

TensorId EquationMaker::array(std::string name, DType dtype, Shape shape) {
    BoundTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = dtype;
    tensor.strides = row_major_strides(shape);
    tensor.shape = std::move(shape);
    tensor.role = Role::temporary;
    program_.tensors.push_back(std::move(tensor));
    return TensorId{static_cast<std::uint32_t>(program_.tensors.size() - 1)};
}

DType EquationMaker::type_for(std::int64_t limit) noexcept {
    return limit <= INT32_MAX ? DType::i32 : DType::i64;
}

Expr EquationMaker::operate(Op op, std::vector<Expr> args, DType dtype) {
    return context().apply(op, std::move(args), dtype);
}

Expr EquationMaker::integer(std::int64_t value) { return context().literal(value, DType::i64); }
Expr EquationMaker::value(IndexId id) { return context().intern(IndexValue{id}, DType::i64); }
Expr EquationMaker::offset(IndexId id) {
    return subtract(value(id), integer(program_.at(id).lower));
}
std::vector<Expr> EquationMaker::offsets(const std::vector<IndexId>& ids) {
    std::vector<Expr> result;
    for (const IndexId id : ids) result.push_back(offset(id));
    return result;
}
Expr EquationMaker::is_value_of(IndexId id, Expr term) {
    const BoundIndex& range = program_.at(id);
    return both(compare(Op::ge, term, integer(range.lower)),
                compare(Op::lt, term, integer(range.upper)));
}
Expr EquationMaker::element(TensorId tensor, std::vector<Expr> at) {
    const DType dtype = program_.at(tensor).dtype;
    const Expr element = context().access(tensor, std::move(at), dtype);
    return is_integer(dtype) && dtype != DType::i64 ? context().cast(element, DType::i64) : element;
}

Expr EquationMaker::add(Expr a, Expr b) { return operate(Op::add, {a, b}, DType::i64); }
Expr EquationMaker::subtract(Expr a, Expr b) { return add(a, operate(Op::neg, {b}, DType::i64)); }
Expr EquationMaker::times(Expr a, std::int64_t factor) {
    return operate(Op::mul, {integer(factor), a}, DType::i64);
}
Expr EquationMaker::quotient(Expr a, std::int64_t divisor) {
    return divisor == 1 ? a : operate(Op::floordiv, {a, integer(divisor)}, DType::i64);
}
Expr EquationMaker::remainder(Expr a, std::int64_t divisor) {
    return divisor == 1 ? integer(0) : operate(Op::mod, {a, integer(divisor)}, DType::i64);
}
Expr EquationMaker::min(Expr a, Expr b) { return operate(Op::min, {a, b}, DType::i64); }
Expr EquationMaker::max(Expr a, Expr b) { return operate(Op::max, {a, b}, DType::i64); }
Expr EquationMaker::compare(Op op, Expr a, Expr b) { return operate(op, {a, b}, DType::boolean); }
Expr EquationMaker::both(Expr a, Expr b) { return context().logical_and(a, b); }
Expr EquationMaker::choose(Expr condition, Expr a, Expr b) {
    return operate(Op::select, {condition, a, b}, a->dtype);
}

Expr EquationMaker::with(Expr e, const Numbers& numbers) {
    if (!e) return e;
    ExprMap<Expr> values;
    for (const auto& [index, number] : numbers) values.emplace(value(IndexId{index}), number);
    return substitute(context(), e, values);
}

std::optional<EquationMaker::Numbers> EquationMaker::indices_at(const BoundEquation& equation,
                                                                const Access& access) {
    Numbers numbers;
    const Shape& shape = program_.at(equation.target).shape;
    for (std::size_t d = 0; d < access.at.size(); ++d) {
        Variables variables;
        const std::optional<affine::Form> at = affine_form(equation.at[d], variables);
        if (!at || variables.size() != 1 || at->at(0) != 1 || !variables.index(0))
            return std::nullopt;
        const BoundIndex& index = program_.at(*variables.index(0));
        const bool names_all =
            index.lower + at->constant == 0 && index.upper + at->constant == shape[d];
        const Expr number =
            at->constant == 0 ? access.at[d] : subtract(access.at[d], integer(at->constant));
        if (!names_all || !numbers.emplace(std::uint32_t(*variables.index(0)), number).second)
            return std::nullopt;
    }
    if (numbers.size() != equation.indices.size()) return std::nullopt;
    return numbers;
}

void EquationMaker::define(TensorId target, std::vector<Expr> at, std::vector<IndexId> indices,
                           Expr value, std::optional<Reduction> reduction) {
    const DType dtype = reduction ? reduction->accumulator : program_.at(target).dtype;
    BoundEquation equation;
    equation.target = target;
    equation.at = std::move(at);
    equation.op = Assign::define;
    equation.indices = std::move(indices);
    equation.value = value->dtype == dtype ? value : context().cast(value, dtype);
    equation.reduction = std::move(reduction);
    program_.equations.push_back(std::move(equation));
}

void EquationMaker::define(TensorId target, const std::vector<IndexId>& indices, Expr value,
                           std::optional<Reduction> reduction) {
    std::vector<Expr> at;
    for (const IndexId id : indices) at.push_back(this->value(id));
    define(target, std::move(at), indices, value, std::move(reduction));
}

Reduction EquationMaker::sum(IndexId over, DType accumulator, Expr condition) {
    return {.reducer = Reducer::sum,
            .indices = {over},
            .condition = condition,
            .accumulator = accumulator};
}

BoundEquation EquationMaker::with_choice_taken(const BoundEquation& equation) {
    if (!equation.reduction || equation.reduction->reducer != Reducer::sum) return equation;
    const Expr value = equation.value;
    Expr condition;
    BoundEquation taken = equation;
    const auto* cast = std::get_if<Cast>(&value->term);
    const Expr nothing = identity(context(), Reducer::sum, value->dtype);
    if (is_apply(value, Op::select) && std::get<Apply>(value->term).args[2] == nothing) {
        condition = std::get<Apply>(value->term).args[0];
        taken.value = std::get<Apply>(value->term).args[1];
    } else if (cast != nullptr && cast->a->dtype == DType::boolean) {
        condition = cast->a;
        taken.value = is_integer(value->dtype) ? context().literal(std::int64_t{1}, value->dtype)
                                               : context().literal(1.0, value->dtype);
    } else {
        return equation;
    }
    taken.reduction->condition = both(taken.reduction->condition, condition);
    return taken;
}

}  // namespace ricci::codegen
