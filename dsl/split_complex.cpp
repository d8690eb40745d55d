// dsl/split_complex.cpp – complex programs as real ones: each complex tensor becomes two
#include "dsl/split_complex.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "base/match.h"
#include "base/text.h"
#include "dsl/complex_form.h"
#include "dsl/typed_literal.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

class Splitter {
  public:
    explicit Splitter(BoundProgram program)
        : program_(std::move(program)), context_(*program_.context) {}

    SplitProgram run() {
        SplitProgram result;
        const std::set<TensorId> updated = updated_arguments();
        imaginary_.resize(program_.tensors.size());
        for (std::size_t n = 0; n < imaginary_.size(); ++n)
            if (is_complex(program_.tensors[n].dtype)) split(TensorId(n), updated);
        std::vector<BoundEquation> whole = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : whole) split(std::move(equation));
        for (BoundCheck& check : program_.checks) {
            check.condition = real_term(check.condition);
            for (Expr& subscript : check.at) subscript = real_term(subscript);
        }
        program_.arguments = with_imaginary(program_.arguments, result.is_complex_argument);
        program_.outputs = with_imaginary(program_.outputs, result.is_complex_output);
        drop_unused();
        result.program = std::move(program_);
        return result;
    }

  private:
    [[nodiscard]] bool is_split(TensorId id) const {
        return position(id) < imaginary_.size() && imaginary_[position(id)].has_value();
    }
    [[nodiscard]] TensorId imaginary(TensorId id) const {
        RICCI_ASSERT(is_split(id), format("`{}` has no imaginary part", at(id).name));
        return *imaginary_[position(id)];
    }
    [[nodiscard]] const BoundTensor& at(TensorId id) const { return program_.at(id); }

    /// The arguments whose storage some version continues: their parts are apart.
    [[nodiscard]] std::set<TensorId> updated_arguments() const {
        std::set<TensorId> found;
        for (const BoundEquation& equation : program_.equations)
            if (at(equation.target).previous) found.insert(*at(equation.target).previous);
        return found;
    }

    /// What a caller gives is looked at in place: every other number of it.
    void split(TensorId id, const std::set<TensorId>& updated) {
        // A version may be numbered before the array that it updates.
        const std::optional<TensorId> previous = at(id).previous;
        if (previous && !is_split(*previous)) split(*previous, updated);
        BoundTensor& re = program_.tensors[position(id)];
        re.dtype = component(re.dtype);
        const bool is_given = re.role == Role::argument || re.role == Role::scalar;
        const bool is_in_place = !re.previous && is_given && !updated.contains(id);
        if (re.previous) {
            re.strides = at(*re.previous).strides;
        } else if (is_in_place) {
            for (std::int64_t& stride : re.strides) stride *= 2;
        } else if (is_given) {
            re.strides = row_major_strides(re.shape);
        }
        BoundTensor im = re;
        im.name += ".im";
        if (is_in_place) im.beside = id;
        if (im.previous) im.previous = imaginary(*im.previous);
        imaginary_[position(id)] = TensorId(program_.tensors.size());
        program_.tensors.push_back(std::move(im));
    }

    [[nodiscard]] std::vector<TensorId> with_imaginary(const std::vector<TensorId>& ids,
                                                       std::vector<bool>& are_complex) const {
        std::vector<TensorId> result;
        for (TensorId id : ids) {
            are_complex.push_back(is_split(id));
            result.push_back(id);
            if (is_split(id)) result.push_back(imaginary(id));
        }
        return result;
    }

    /// Parts that nothing reads, as of numbers whose real part alone is taken.
    void drop_unused() {
        std::set<TensorId> needed(program_.outputs.begin(), program_.outputs.end());
        const auto need = [&](Expr e) {
            if (!e) return;
            for (TensorId id : tensors_read(e)) needed.insert(id);
        };
        for (const BoundCheck& check : program_.checks) {
            needed.insert(check.verdict);
            need(check.condition);
            for (Expr subscript : check.at) need(subscript);
        }
        std::vector<BoundEquation> kept;
        for (BoundEquation& equation : std::views::reverse(program_.equations)) {
            if (!needed.contains(equation.target)) continue;
            need(equation.value);
            for (Expr subscript : equation.at) need(subscript);
            if (equation.reduction) need(equation.reduction->condition);
            if (const auto previous = at(equation.target).previous) needed.insert(*previous);
            kept.push_back(std::move(equation));
        }
        std::ranges::reverse(kept);
        program_.equations = std::move(kept);
    }

    // --- terms -----------------------------------------------------------------------------------

    Parts parts(Expr root) {
        for (Expr e : postorder({root}))
            if (!known_.contains(e)) known_.emplace(e, parts_of(e));
        return known_.at(root);
    }
    Expr real_term(Expr e) { return e ? parts(e).re : e; }

    Parts parts_of(Expr e) {
        return match(
            e->term, [&](const Literal& t) { return literal(t, e); },
            [&](const IndexValue&) { return Parts{e, {}}; },
            [&](const Access& t) {
                std::vector<Expr> subscripts;
                for (Expr subscript : t.at) subscripts.push_back(known_.at(subscript).re);
                const auto read = [&](TensorId id) {
                    return context_.access(id, subscripts, at(id).dtype);
                };
                if (!is_split(t.tensor)) return Parts{read(t.tensor), {}};
                return Parts{read(t.tensor), read(imaginary(t.tensor))};
            },
            [&](const Apply& t) { return apply(t, e); },
            [&](const Cast& t) {
                const Parts a = known_.at(t.a);
                if (!is_complex(e->dtype)) return Parts{context_.cast(a.re, e->dtype, t.wraps), {}};
                const DType real = component(e->dtype);
                return Parts{converted(a.re, real), a.im ? converted(a.im, real) : a.im};
            },
            [&](const Size&) -> Parts { RICCI_ASSERT(false, "a size in a bound term"); },
            [&](const Reduce&) -> Parts { RICCI_ASSERT(false, "a reduction inside a term"); },
            [&](const Modified&) -> Parts { RICCI_ASSERT(false, "a modified subscript"); });
    }

    Expr converted(Expr e, DType real) {
        return is_literal(e) ? saturated_literal(context_, e, real) : context_.cast(e, real);
    }

    Parts literal(const Literal& t, Expr e) {
        if (!is_complex(e->dtype)) return {e, {}};
        const DType real = component(e->dtype);
        const auto number = [&](double value) {
            return saturated_literal(context_, context_.literal(value, DType::f64), real);
        };
        const auto* value = std::get_if<std::complex<double>>(&t.value);
        if (!value) return {number(real_value(e)), {}};
        return {number(value->real()), value->imag() != 0 ? number(value->imag()) : Expr()};
    }

    Parts apply(const Apply& t, Expr e) {
        std::vector<Parts> args;
        DType complex = e->dtype;
        for (Expr arg : t.args) {
            args.push_back(known_.at(arg));
            if (is_complex(arg->dtype)) complex = arg->dtype;
        }
        if (!is_complex(complex)) {
            std::vector<Expr> real;
            for (const Parts& arg : args) real.push_back(arg.re);
            return {context_.apply(t.op, std::move(real), e->dtype), {}};
        }
        const DType real = component(complex);
        if (t.op != Op::select) return complex_form(context_, t.op, args, real);
        const auto choose = [&](Expr yes, Expr no) {
            return context_.apply(Op::select, {args[0].re, yes, no}, real);
        };
        Parts chosen{choose(args[1].re, args[2].re), {}};
        if (args[1].im || args[2].im)
            chosen.im = choose(full(args[1].im, real), full(args[2].im, real));
        return chosen;
    }

    Expr full(Expr part, DType real) { return part ? part : context_.literal(0.0, real); }

    // --- equations -------------------------------------------------------------------------------

    void split(BoundEquation equation) {
        for (Expr& subscript : equation.at) subscript = real_term(subscript);
        auto& reduction = equation.reduction;
        if (reduction) reduction->condition = real_term(reduction->condition);
        const Parts value = parts(equation.value);
        if (!is_split(equation.target)) {
            equation.value = value.re;
            program_.equations.push_back(std::move(equation));
            return;
        }
        if (reduction && is_complex(reduction->accumulator)) {
            reduction->accumulator = component(reduction->accumulator);
            if (reduction->reducer == Reducer::prod) return split_product(equation, value);
        }
        if (equation.op == Assign::mul) return split_scaling(equation, value);
        add_both(equation, value);
    }

    void add_both(const BoundEquation& equation, const Parts& value) {
        const DType real = equation.reduction && value.im ? equation.reduction->accumulator
                                                          : at(equation.target).dtype;
        BoundEquation re = equation;
        re.value = value.re;
        BoundEquation im = equation;
        im.target = imaginary(equation.target);
        im.value = full(value.im, real);
        if (!value.im) im.reduction.reset();
        program_.equations.push_back(std::move(re));
        // Where nothing is added, too: later versions follow the equations of earlier ones.
        program_.equations.push_back(with_own_indices(std::move(im)));
    }

    /// No two equations share an index.
    BoundEquation with_own_indices(BoundEquation equation) {
        ExprMap<Expr> renamed;
        const auto renew = [&](IndexId& id) {
            program_.indices.push_back(program_.at(id));
            const auto own = IndexId(program_.indices.size() - 1);
            renamed.emplace(number_of(id), number_of(own));
            id = own;
        };
        std::ranges::for_each(equation.indices, renew);
        if (equation.reduction) std::ranges::for_each(equation.reduction->indices, renew);
        const auto now = [&](Expr e) { return e ? substitute(context_, e, renamed) : e; };
        for (Expr& subscript : equation.at) subscript = now(subscript);
        if (equation.reduction) equation.reduction->condition = now(equation.reduction->condition);
        equation.value = now(equation.value);
        return equation;
    }

    Expr number_of(IndexId id) { return context_.intern(IndexValue{id}, DType::i64); }

    /// A temporary with an element for each point of the indices of an equation, whose value it has
    /// there, and how that equation reads it.
    Expr held(BoundEquation equation, std::string_view suffix, Expr value) {
        BoundTensor tensor;
        tensor.name = at(equation.target).name + std::string(suffix);
        tensor.role = Role::temporary;
        tensor.dtype = value->dtype;
        equation.at.clear();
        for (IndexId id : equation.indices) {
            const BoundIndex& index = program_.at(id);
            tensor.shape.push_back(index.extent());
            const Expr from_zero = context_.literal(-index.lower, DType::i64);
            equation.at.push_back(
                index.lower == 0 ? number_of(id)
                                 : context_.apply(Op::add, {number_of(id), from_zero}, DType::i64));
        }
        tensor.strides = row_major_strides(tensor.shape);
        const auto id = TensorId(program_.tensors.size());
        program_.tensors.push_back(std::move(tensor));
        const Expr read = context_.access(id, equation.at, value->dtype);
        equation.target = id;
        equation.op = Assign::define;
        equation.value = value;
        equation.is_injective = true;
        program_.equations.push_back(with_own_indices(std::move(equation)));
        return read;
    }

    /// The product of magnitudes, turned by the sum of angles.
    void split_product(const BoundEquation& equation, const Parts& value) {
        const DType real = equation.reduction->accumulator;
        BoundEquation turn = equation;
        turn.reduction->reducer = Reducer::sum;
        const Expr size =
            held(equation, "_size", complex_form(context_, Op::abs, {value}, real).re);
        const Expr angle =
            held(turn, "_angle", complex_form(context_, Op::angle, {value}, real).re);
        const auto turned = [&](Op op) {
            const Expr by = context_.apply(op, {angle}, real);
            return context_.cast(context_.apply(Op::mul, {size, by}, real),
                                 at(equation.target).dtype);
        };
        BoundEquation whole = equation;
        whole.reduction.reset();
        const Parts product{turned(Op::cos), turned(Op::sin)};
        if (equation.op == Assign::mul) return split_scaling(whole, product);
        add_both(whole, product);
    }

    /// `B *= v`: both parts of the product are made before one of B is overwritten.
    void split_scaling(const BoundEquation& equation, const Parts& value) {
        if (!equation.is_injective)
            throw Error({.kind = ErrorKind::type,
                         .message = format("`*=` names elements of the complex array `{}` twice",
                                           at(equation.target).name),
                         .hint = "multiply with `prod[…](…)` first"});
        const DType real = at(equation.target).dtype;
        Parts factor = value;
        if (equation.reduction) {
            factor.re = context_.cast(held(equation, "_factor", value.re), real);
            if (value.im) factor.im = held(equation, "_factor", value.im);
        }
        BoundEquation whole = equation;
        whole.reduction.reset();
        const auto old = [&](TensorId id) {
            return context_.access(*at(id).previous, equation.at, real);
        };
        const Parts before{old(equation.target), old(imaginary(equation.target))};
        const Parts product = complex_form(context_, Op::mul, {before, factor}, real);
        const Parts made{held(whole, "_new", product.re), held(whole, "_new", product.im)};
        whole.op = Assign::set;
        add_both(whole, made);
    }

    BoundProgram program_;
    Context& context_;
    std::vector<std::optional<TensorId>> imaginary_;  ///< by tensor: where its parts are two
    ExprMap<Parts> known_;
};

}  // namespace

bool has_complex(const BoundProgram& program) noexcept {
    const auto is_in = [](Expr e) {
        return e && contains(e, [](Expr node) { return is_complex(node->dtype); });
    };
    return std::ranges::any_of(program.tensors,
                               [](const BoundTensor& t) { return is_complex(t.dtype); }) ||
           std::ranges::any_of(program.equations, [&](const BoundEquation& e) {
               return is_in(e.value) || (e.reduction && is_in(e.reduction->condition));
           });
}

SplitProgram split_complex(BoundProgram program) { return Splitter(std::move(program)).run(); }

SplitProgram with_joined_outputs(SplitProgram split) {
    BoundProgram& program = split.program;
    Context& context = *program.context;
    std::vector<TensorId> outputs;
    auto next = program.outputs.begin();
    for (const bool is_complex : split.is_complex_output) {
        const TensorId re = *next++;
        if (!is_complex) {
            outputs.push_back(re);
            continue;
        }
        const TensorId im = *next++;
        BoundTensor joined{.name = program.at(re).name,
                           .dtype = program.at(re).dtype,
                           .shape = program.at(re).shape,
                           .strides = {},
                           .role = Role::target,
                           .previous = {}};
        joined.shape.push_back(2);
        joined.strides = row_major_strides(joined.shape);
        BoundEquation equation;
        equation.target = TensorId(program.tensors.size());
        for (const std::int64_t extent : joined.shape) {
            const auto id = IndexId(program.indices.size());
            program.indices.push_back(
                {.name = format("i{}", equation.at.size()), .lower = 0, .upper = extent});
            equation.indices.push_back(id);
            equation.at.push_back(context.intern(IndexValue{id}, DType::i64));
        }
        const std::vector<Expr> element(equation.at.begin(), equation.at.end() - 1);
        const Expr is_real = context.apply(
            Op::eq, {equation.at.back(), context.literal(std::int64_t{0}, DType::i64)},
            DType::boolean);
        equation.value = context.apply(Op::select,
                                       {is_real, context.access(re, element, joined.dtype),
                                        context.access(im, element, joined.dtype)},
                                       joined.dtype);
        outputs.push_back(equation.target);
        program.tensors[position(re)].name += ".re";
        program.tensors.push_back(std::move(joined));
        program.equations.push_back(std::move(equation));
    }
    program.outputs = std::move(outputs);
    return split;
}

}  // namespace ricci
