// codegen/make_kernel.cpp – terms of index notation to typed values with addresses
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/kernel.h"
#include "codegen/nest_build.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Values are walked by recursion from here on.
constexpr std::size_t max_depth = 1000;

void require_supported(DType dtype) {
    if (!is_complex(dtype)) return;
    throw Error({.kind = ErrorKind::type,
                 .message = format("`{}` is not supported yet by compiled code", name(dtype)),
                 .hint = "use f32 or f64"});
}

class KernelMaker {
  public:
    KernelMaker(const BoundProgram& program, const Group& group, const Plan& plan,
                const std::vector<std::size_t>& places)
        : program_(program), group_(group), plan_(plan), places_(places) {}

    Kernel make() {
        for (const IndexId index : group_.indices) kernel_.free.push_back(add_axis(index));
        if (group_.reduction) add_reduction(*group_.reduction);
        for (const BoundEquation& write : group_.writes) add_write(write);
        kernel_.nest.name = program_.at(group_.writes.back().target).name;
        return std::move(kernel_);
    }

  private:
    Axis add_axis(IndexId id) {
        const BoundIndex& index = program_.at(id);
        const VarId var = kernel_.nest.add(Var{index.name});
        index_forms_[std::uint32_t(id)] = form(var) + form(index.lower);
        return {var, index.extent()};
    }

    void add_reduction(const Reduction& reduction) {
        kernel_.reducer = reduction.reducer;
        for (const IndexId index : reduction.indices) kernel_.reduced.push_back(add_axis(index));
        kernel_.body = make_convert(value(group_.value), reduction.accumulator);
        if (kernel_.is_arg_reduction())
            kernel_.arg_index = index_forms_.at(std::uint32_t(reduction.indices[0]));
        if (reduction.condition) add_condition(reduction);
        if (reduction.carry)
            kernel_.carry = make_convert(value(reduction.carry), reduction.accumulator);
        values_[group_.result] = make_let_value(0, group_.result->dtype);
    }

    /// Whether a form may leave 64 bits, where values wrap and bounds of loops must not.
    [[nodiscard]] bool may_wrap(const std::vector<affine::Form>& forms,
                                const std::vector<IndexId>& indices) const {
        constexpr double most = double(std::int64_t{1} << 61);
        return std::ranges::any_of(forms, [&](const affine::Form& form) {
            double magnitude = std::abs(double(form.constant));
            for (std::size_t i = 0; i < indices.size(); ++i) {
                const BoundIndex& range = program_.at(indices[i]);
                magnitude += std::abs(double(form.at(i))) *
                             std::max(std::abs(double(range.lower)), std::abs(double(range.upper)));
            }
            return magnitude > most;
        });
    }

    void add_condition(const Reduction& reduction) {
        std::vector<IndexId> indices = group_.indices;
        indices.insert(indices.end(), reduction.indices.begin(), reduction.indices.end());
        Variables variables(indices);
        affine::System system;
        std::vector<Expr> rest;
        for (const Expr part : conjuncts(reduction.condition)) {
            affine::System own;
            const bool is_affine = ricci::add_condition(own, part, variables).empty();
            if (!is_affine || may_wrap(own.inequalities, indices) ||
                may_wrap(own.equalities, indices)) {
                rest.push_back(part);
                continue;
            }
            for (const affine::Form& row : own.inequalities) system.inequalities.push_back(row);
            for (const affine::Form& row : own.equalities) system.equalities.push_back(row);
        }
        const auto over_axes = [&](const affine::Form& numbered) {
            AffineForm result = form(numbered.constant);
            for (std::size_t i = 0; i < indices.size(); ++i)
                result = result + numbered.at(i) * index_forms_.at(std::uint32_t(indices[i]));
            return result;
        };
        for (const affine::Form& row : system.inequalities) {
            AffineForm condition = over_axes(row);
            // Every condition is tested somewhere: one that the ranges imply is none.
            if (value_range(kernel_, condition).first < 0)
                kernel_.conditions.at_least_zero.push_back(std::move(condition));
        }
        for (const affine::Form& row : system.equalities)
            kernel_.conditions.equal_zero.push_back(over_axes(row));
        for (const Expr condition : rest) {
            const Value test = make_convert(value(condition), DType::boolean);
            Value& all = kernel_.conditions.rest;
            all = all ? make_operation(Op::logical_and, {all, test}, DType::boolean) : test;
        }
    }

    void add_write(const BoundEquation& write) {
        const BoundTensor& target = program_.at(write.target);
        require_supported(target.dtype);
        const BufferId buffer = kernel_.argument(plan_, places_.at(position(write.target)), true);
        kernel_.writes.push_back({.buffer = buffer,
                                  .at = address(write.at, target.strides),
                                  .value = make_convert(value(write.value), target.dtype, true),
                                  .combine = combining(write.op)});
        add_collisions(write);
    }

    /// An axis that stands alone in some subscript writes another slice at each of its points;
    /// without such a subscript, points may meet unless the equation is known to keep them apart.
    void add_collisions(const BoundEquation& write) {
        if (write.is_injective) return;
        for (std::size_t i = 0; i < group_.indices.size(); ++i) {
            const bool is_alone = std::ranges::any_of(write.at, [&](Expr e) {
                const std::optional<AffineForm> subscript = affine_term(e);
                return subscript && subscript->terms.size() == 1 &&
                       subscript->terms[0].var == kernel_.free[i].var;
            });
            if (!is_alone && kernel_.free[i].extent > 1 && !kernel_.collides(kernel_.free[i].var))
                kernel_.colliding.push_back(kernel_.free[i].var);
        }
    }

    static std::optional<Reducer> combining(Assign op) {
        switch (op) {
            case Assign::define:
            case Assign::set:    return std::nullopt;
            case Assign::add:    return Reducer::sum;
            case Assign::mul:    return Reducer::prod;
            case Assign::max:    return Reducer::max;
            case Assign::min:    return Reducer::min;
            case Assign::sub:    break;
        }
        RICCI_ASSERT(false, "`-=` is not canonical");
    }

    /// The value of a term; shared terms give shared values.
    Value value(Expr root) {
        for (const Expr e : postorder({root})) {
            if (values_.contains(e)) continue;
            require_shallow(e);
            values_[e] = make(e);
        }
        return values_.at(root);
    }
    void require_shallow(Expr e) {
        std::size_t deepest = 0;
        for (const Expr operand : operands(e)) {
            const auto found = depth_.find(operand);
            if (found != depth_.end()) deepest = std::max(deepest, found->second);
        }
        depth_[e] = deepest + 1;
        if (deepest < max_depth) return;
        throw Error({.kind = ErrorKind::limit,
                     .message = format("a term nests more than {} operations", max_depth),
                     .hint = "make an intermediate array with `:=`"});
    }

    Value make(Expr e) {
        require_supported(e->dtype);
        return match(
            e->term, [&](const Literal& literal) { return number(literal.value, e->dtype); },
            [&](const IndexValue& index) {
                return make_convert(make_index(index_forms_.at(std::uint32_t(index.index))),
                                    e->dtype);
            },
            [&](const Access& access) { return load(access); },
            [&](const Apply& apply) { return operation(apply, e->dtype); },
            [&](const Cast& cast) {
                return make_convert(values_.at(cast.a), e->dtype, cast.wraps);
            },
            [&](const Size&) -> Value { RICCI_ASSERT(false, "a size in a bound term"); },
            [&](const Reduce&) -> Value { RICCI_ASSERT(false, "a reduction inside a term"); },
            [&](const Modified&) -> Value { RICCI_ASSERT(false, "a modified subscript"); });
    }

    static Value number(const Number& number, DType dtype) {
        return match(
            number, [&](bool value) { return make_number(dtype, value); },
            [&](std::int64_t value) {
                return is_integer(dtype) ? make_integer(value, dtype)
                                         : make_number(dtype, static_cast<double>(value));
            },
            [&](double value) { return make_number(dtype, value); },
            [&](const std::complex<double>&) -> Value {
                RICCI_ASSERT(false, "a complex literal of a real type");
            });
    }

    Value load(const Access& access) {
        const BoundTensor& tensor = program_.at(access.tensor);
        const BufferId buffer = kernel_.argument(plan_, places_.at(position(access.tensor)), false);
        return make_load(kernel_.nest, buffer, address(access.at, tensor.strides));
    }

    /// Powers that are products; every other row of the table as it is.
    Value operation(const Apply& apply, DType dtype) {
        std::vector<Value> args;
        for (const Expr arg : apply.args) args.push_back(values_.at(arg));
        if (apply.op == Op::abs2) return make_operation(Op::mul, {args[0], args[0]}, dtype);
        if (apply.op == Op::pow && is_literal(apply.args[1], 2))
            return make_operation(Op::mul, {args[0], args[0]}, dtype);
        if (apply.op == Op::pow && is_literal(apply.args[1], 3))
            return make_operation(Op::mul, {args[0], args[0], args[0]}, dtype);
        return make_operation(apply.op, std::move(args), dtype);
    }

    /// The place of an element: strides times subscripts.
    Address address(const std::vector<Expr>& subscripts, const Strides& strides) {
        Address at;
        for (std::size_t d = 0; d < subscripts.size(); ++d) add_term(at, strides[d], subscripts[d]);
        return at;
    }

    /// Adds `factor * e`: what is affine to the form, the rest to the computed part, which wraps.
    void add_term(Address& at, std::int64_t factor, Expr e) {
        if (const auto* apply = std::get_if<Apply>(&e->term); apply && apply->op == Op::add) {
            for (const Expr arg : apply->args) add_term(at, factor, arg);
            return;
        }
        if (const std::optional<AffineForm> affine = affine_term(e))
            if (const auto near = near_multiple(factor, *affine)) {
                at.affine = at.affine + *near;
                return;
            }
        Value term = make_convert(value(e), DType::i64);
        if (factor != 1) term = make_operation(Op::mul, {term, make_integer(factor)}, DType::i64);
        at.computed = at.computed ? make_operation(Op::add, {at.computed, term}, DType::i64) : term;
    }

    std::optional<AffineForm> affine_term(Expr e) {
        Variables variables;
        const std::optional<affine::Form> numbered = affine_form(e, variables);
        if (!numbered) return std::nullopt;
        AffineForm result = form(numbered->constant);
        for (std::size_t v = 0; v < variables.size(); ++v)
            result = result + numbered->at(v) * index_forms_.at(std::uint32_t(*variables.index(v)));
        return result;
    }

    const BoundProgram& program_;
    const Group& group_;
    const Plan& plan_;
    const std::vector<std::size_t>& places_;
    Kernel kernel_;
    std::unordered_map<std::uint32_t, AffineForm> index_forms_;
    ExprMap<Value> values_;
    ExprMap<std::size_t> depth_;
};

}  // namespace

Kernel make_kernel(const BoundProgram& program, const Group& group, const Plan& plan,
                   const std::vector<std::size_t>& places) {
    return KernelMaker(program, group, plan, places).make();
}

}  // namespace ricci::codegen
