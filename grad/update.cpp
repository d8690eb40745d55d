// grad/update.cpp – derivatives of an updated array by what was there and by the values
#include "grad/update.h"

#include <algorithm>
#include <optional>

#include "dsl/extent.h"
#include "dsl/walk.h"
#include "grad/factors.h"
#include "grad/pieces.h"

namespace ricci::grad {

namespace {

class Update {
  public:
    Update(Program& program, Names& names, const Extents& extents, const Equation& equation,
           const UpdateSeeds& d)
        : program_(program),
          context_(*program.context),
          names_(names),
          extents_(extents),
          equation_(equation),
          d_(d) {}

    UpdateDerivatives product() {
        const auto factor = [&](const Point& point) { return formula(point.value); };
        const TensorId others = hold(Reducer::prod, [&](const Point& point) -> Held {
            return {.body = point.value, .condition = (factor(point) != 0).expr()};
        });
        const TensorId zeros = hold(Reducer::sum, [&](const Point& point) -> Held {
            return {.body = context_.integer(1), .condition = (factor(point) == 0).expr()};
        });
        const TensorId zero = hold(Reducer::sum, [&](const Point& point) -> Held {
            return {.body = point.value, .condition = (factor(point) == 0).expr()};
        });
        const auto factors = [&](const std::vector<Expr>& at) -> Factors {
            return {.others = read(others, at), .zeros = read(zeros, at), .zero = read(zero, at)};
        };
        UpdateDerivatives result;
        result.previous = of_previous([&](const std::vector<Expr>& at) {
            return pull_back_coefficient(factors(at), read(*d_.previous, at));
        });
        if (!d_.value) return result;
        const std::vector<Expr>& at = equation_.at;
        result.value = pull_back_factor(factors(at), formula(equation_.value),
                                        formula(d_.value) * read(*equation_.previous, at));
        return result;
    }

    /// Of equal values the old one counts, then the first point's.
    UpdateDerivatives first_extremum() {
        const TensorId best = hold_best();
        const TensorId first = hold(Reducer::min, [&](const Point& point) -> Held {
            return {.body = number(point.indices),
                    .condition = same(formula(point.value), read(best, point.at)).expr()};
        });
        UpdateDerivatives result;
        result.previous = of_previous([&](const std::vector<Expr>& at) -> Cotangent {
            return {.guard = keeps(best, at).expr(), .value = read(*d_.previous, at).expr()};
        });
        if (!d_.value) return result;
        const std::vector<Expr>& at = equation_.at;
        const Formula is_first = read(first, at) == formula(number(equation_.indices));
        result.value = {.guard = (!keeps(best, at) && is_first).expr(), .value = d_.value};
        return result;
    }

    /// Equal values share, or none gets anything: the old one counts as one of them.
    UpdateDerivatives shared_extremum(Ties ties) {
        const TensorId best = hold_best();
        const TensorId count = hold(Reducer::sum, [&](const Point& point) -> Held {
            return {.body = context_.integer(1),
                    .condition = same(formula(point.value), read(best, point.at)).expr()};
        });
        const auto meets = [&](const std::vector<Expr>& at) {
            const Formula old = read(*equation_.previous, at);
            const Formula value = read(best, at);
            return old == value || (is_nan(old) && is_nan(value));
        };
        const bool is_even = ties == Ties::even;
        UpdateDerivatives result;
        result.previous = of_previous([&](const std::vector<Expr>& at) -> Cotangent {
            const Formula d = read(*d_.previous, at);
            if (is_even)
                return {.guard = keeps(best, at).expr(),
                        .value = meets(at).choose(d / (read(count, at) + 1), d).expr()};
            // Without points the old value is alone, also where it is the identity.
            const Formula is_alone = !meets(at) || read(count, at) == 0;
            return {.guard = (keeps(best, at) && is_alone).expr(), .value = d.expr()};
        });
        if (!d_.value) return result;
        const std::vector<Expr>& at = equation_.at;
        const Formula is_best = same(formula(equation_.value), read(best, at));
        const Formula points = read(count, at);
        if (is_even)
            result.value = {
                .guard = ((!keeps(best, at) || meets(at)) && is_best).expr(),
                .value = (formula(d_.value) / meets(at).choose(points + 1, points)).expr()};
        else
            result.value = {.guard = (!keeps(best, at) && is_best && points == 1).expr(),
                            .value = d_.value};
        return result;
    }

  private:
    /// A point of the update, for an element of the array.
    struct Point {
        std::vector<Expr> at;          ///< of the element
        std::vector<IndexId> indices;  ///< of the point
        Expr value;
    };
    struct Held {
        Expr body, condition;
    };

    [[nodiscard]] bool is_max() const { return equation_.op == Assign::max; }
    TensorId hold_best() {
        return hold(is_max() ? Reducer::max : Reducer::min, [&](const Point& point) -> Held {
            return {.body = point.value, .condition = Expr()};
        });
    }
    static Formula is_nan(Formula value) { return value.apply(Op::isnan); }
    /// Whether a point's value is the extreme one: where one is NaN, that is.
    static Formula same(Formula value, Formula best) { return value == best || is_nan(value); }
    /// Whether the old value stays.
    Formula keeps(TensorId best, const std::vector<Expr>& at) {
        const Formula value = read(best, at);
        const Formula old = read(*equation_.previous, at);
        return (is_max() ? old >= value : old <= value) || is_nan(old);
    }

    Formula formula(Expr e) { return {context_, e}; }
    Formula read(TensorId tensor, const std::vector<Expr>& at) {
        return formula(context_.access(tensor, at));
    }

    /// Defines a temporary that holds, for each element of the array, a reduction over the points
    /// that update it.
    template <class OfPoint>
    TensorId hold(Reducer reducer, OfPoint of_point) {
        const std::vector<IndexId> elements = indices_of_elements();
        Point point{.at = values_of(elements), .indices = {}, .value = Expr()};
        std::unordered_map<std::uint32_t, Expr> renaming;
        for (const IndexId index : equation_.indices) {
            point.indices.push_back(program_.add(Index(program_.at(index))));
            renaming.emplace(static_cast<std::uint32_t>(index),
                             context_.index(point.indices.back()));
        }
        point.value = substitute_indices(context_, equation_.value, renaming);
        const Held held = of_point(point);
        Expr condition;
        const std::vector<Expr>& shape = program_.at(equation_.target).shape;
        for (std::size_t n = 0; n < shape.size(); ++n) {
            const Expr at = substitute_indices(context_, equation_.at[n], renaming);
            const Expr place = place_of(program_, at, extents_.preferred(shape[n]));
            condition =
                context_.logical_and(condition, context_.apply(Op::eq, {point.at[n], place}));
        }
        condition = context_.logical_and(condition, held.condition);
        std::vector<IndexId> reduced = point.indices;
        // A single point.
        if (reduced.empty())
            reduced.push_back(program_.add(Index{.name = "n",
                                                 .lower = context_.integer(0),
                                                 .upper = context_.integer(1),
                                                 .is_explicit = true}));
        Tensor tensor{.name = names_.temporary(),
                      .rank = static_cast<int>(elements.size()),
                      .role = Role::temporary,
                      .shape = {},
                      .dtype_of = std::nullopt};
        for (const IndexId index : elements) tensor.shape.push_back(program_.at(index).upper);
        const TensorId id = program_.add(std::move(tensor));
        program_.equations.push_back(
            {.target = id,
             .at = values_of(elements),
             .op = Assign::define,
             .previous = std::nullopt,
             .indices = elements,
             .value = context_.reduce(reducer, reduced, condition, held.body),
             .span = {}});
        return id;
    }

    std::vector<IndexId> indices_of_elements() {
        std::vector<IndexId> indices;
        const std::vector<Expr> shape = program_.at(equation_.target).shape;
        for (std::size_t n = 0; n < shape.size(); ++n)
            indices.push_back(program_.add(Index{.name = names_.index(n),
                                                 .lower = context_.integer(0),
                                                 .upper = extents_.preferred(shape[n]),
                                                 .is_explicit = false}));
        return indices;
    }
    std::vector<Expr> values_of(const std::vector<IndexId>& indices) const {
        std::vector<Expr> values;
        for (const IndexId index : indices) values.push_back(context_.index(index));
        return values;
    }

    /// The place of a point in the row-major order of all.
    Expr number(const std::vector<IndexId>& indices) const {
        Expr number = context_.integer(0);
        for (const IndexId index : indices) {
            const Index& range = program_.at(index);
            const Expr length = integer_difference(context_, range.upper, range.lower);
            const Expr place = integer_difference(context_, context_.index(index), range.lower);
            number = integer_sum(context_, integer_product(context_, number, length), place);
        }
        return number;
    }

    template <class OfElement>
    std::optional<Gathered> of_previous(OfElement of_element) {
        if (!d_.previous) return std::nullopt;
        const std::vector<IndexId> elements = indices_of_elements();
        return Gathered{.indices = elements,
                        .value = to_expr(context_, of_element(values_of(elements)))};
    }

    Program& program_;
    Context& context_;
    Names& names_;
    const Extents& extents_;
    const Equation& equation_;
    const UpdateSeeds& d_;
};

/// `old` and `added` of `old >= added || isnan(old) ? old : added`, or with `<=`.
std::optional<std::pair<Expr, Expr>> old_or_new(Expr value) {
    if (!is_apply(value, Op::select)) return std::nullopt;
    const std::vector<Expr>& choice = std::get<Apply>(value->term).args;
    if (!is_apply(choice[0], Op::logical_or)) return std::nullopt;
    const std::vector<Expr>& parts = std::get<Apply>(choice[0]->term).args;
    const auto keeps = std::ranges::find_if(
        parts, [](Expr e) { return is_apply(e, Op::ge) || is_apply(e, Op::le); });
    const auto is_nan = std::ranges::find_if(parts, [](Expr e) { return is_apply(e, Op::isnan); });
    if (parts.size() != 2 || keeps == parts.end() || is_nan == parts.end()) return std::nullopt;
    const std::vector<Expr> wanted = {choice[1], choice[2]};
    if (std::get<Apply>((*keeps)->term).args != wanted ||
        std::get<Apply>((*is_nan)->term).args.front() != choice[1])
        return std::nullopt;
    return std::pair(choice[1], choice[2]);
}

}  // namespace

UpdateDerivatives differentiate_update(Program& program, Names& names, const Extents& extents,
                                       const Equation& equation, const UpdateSeeds& d, Ties ties) {
    Update update(program, names, extents, equation, d);
    if (equation.op == Assign::mul) return update.product();
    return ties == Ties::first ? update.first_extremum() : update.shared_extremum(ties);
}

std::vector<Share> shares_of_choice(Context& context, Expr value, Ties ties) {
    const auto choice = ties == Ties::first ? std::nullopt : old_or_new(value);
    if (!choice) return {{.term = value, .guard = Expr(), .halved = Expr()}};
    const Formula keeps(context, std::get<Apply>(value->term).args.front());
    const Formula old(context, choice->first);
    const Formula added(context, choice->second);
    const Formula is_tie = old == added || (old.apply(Op::isnan) && added.apply(Op::isnan));
    if (ties == Ties::zero)
        return {{.term = choice->first, .guard = (keeps && !is_tie).expr(), .halved = Expr()},
                {.term = choice->second, .guard = (!keeps).expr(), .halved = Expr()}};
    return {{.term = choice->first, .guard = keeps.expr(), .halved = is_tie.expr()},
            {.term = choice->second, .guard = (!keeps || is_tie).expr(), .halved = is_tie.expr()}};
}

Cotangent weighted(Context& context, const Share& share, const Cotangent& d) {
    Cotangent result = share.guard ? where(context, share.guard, d) : d;
    if (!share.halved || !d.value) return result;
    const Formula all(context, d.value);
    result.value = Formula(context, share.halved).choose(0.5 * all, all).expr();
    return result;
}

}  // namespace ricci::grad
