// codegen/keyed_windows.cpp – windows whose places are data, as keys of their points
#include "codegen/keyed_windows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// No sum of numbers up to this and of indices leaves 64 bits.
constexpr std::int64_t largest_number = std::int64_t{1} << 40;

/// What a conjunct says of an index t: `sign*(step*t - place) + constant >= 0`. It compares `data`
/// with a sum of indices: two of the same data bound one value, also where that has left 64 bits.
struct Side {
    std::int64_t sign = 1;
    std::int64_t step = 1;
    LinearForm place;  ///< without a constant
    std::int64_t constant = 0;
    LinearForm data;
    Expr conjunct;
};

bool is_of_indices(const LinearForm& form) {
    return std::ranges::all_of(form.parts, [](const LinearForm::Part& part) {
        return std::holds_alternative<IndexValue>(part.atom->term);
    });
}

bool are_equal(const LinearForm& a, const LinearForm& b) {
    return a.constant == b.constant && a.parts.size() == b.parts.size() &&
           std::ranges::all_of(a.parts, [&](const LinearForm::Part& part) {
               return b.coefficient(part.atom) == part.coefficient;
           });
}

class Windows {
  public:
    Windows(EquationMaker& make, BoundEquation equation)
        : make_(make), equation_(std::move(equation)) {}

    BoundEquation run(const std::vector<IndexId>& indices) && {
        for (const IndexId index : indices) take(index);
        return std::move(equation_);
    }

  private:
    [[nodiscard]] Expr value_of(IndexId index) const { return make_.value(index); }

    std::optional<Side> side(Expr conjunct, IndexId index) {
        const std::vector<Comparison> all = comparisons(conjunct);
        if (all.size() != 1 || all[0].op == Op::eq || all[0].left->dtype != DType::i64)
            return std::nullopt;
        const bool is_greater = all[0].op == Op::ge || all[0].op == Op::gt;
        const bool is_strict = all[0].op == Op::gt || all[0].op == Op::lt;
        const Expr least = is_greater ? all[0].right : all[0].left;
        const Expr most = is_greater ? all[0].left : all[0].right;
        const auto form = linear_form(integer_difference(make_.context(), most, least));
        const auto left = linear_form(all[0].left);
        const auto right = linear_form(all[0].right);
        if (!form || !left || !right || is_of_indices(*left) == is_of_indices(*right) ||
            std::abs(form->constant) > largest_number)
            return std::nullopt;
        const std::int64_t factor = form->coefficient(value_of(index));
        if (factor == 0 || std::abs(factor) > largest_number) return std::nullopt;
        Side result{.sign = factor > 0 ? 1 : -1,
                    .step = std::abs(factor),
                    .place = {},
                    .constant = form->constant - (is_strict ? 1 : 0),
                    .data = is_of_indices(*left) ? *right : *left,
                    .conjunct = conjunct};
        for (const LinearForm::Part& part : form->parts) {
            if (part.atom == value_of(index)) continue;
            if (has_index(free_indices(part.atom), index) || part.atom->dtype != DType::i64)
                return std::nullopt;
            result.place.parts.push_back({part.atom, -result.sign * part.coefficient});
        }
        return tensors_read(conjunct).empty() ? std::nullopt : std::optional(std::move(result));
    }

    /// Gives the index t, if conditions say that it lies in a window, a place in it.
    void take(IndexId index) {
        std::vector<Side> sides;
        for (const Expr conjunct : conjuncts(equation_.reduction->condition))
            if (std::optional<Side> found = side(conjunct, index))
                sides.push_back(std::move(*found));
        for (const Side& low : sides)
            for (const Side& high : sides) {
                // -low <= step*t - place <= high
                if (low.sign != 1 || high.sign != -1 || low.step != high.step ||
                    !are_equal(low.place, high.place) || !are_equal(low.data, high.data))
                    continue;
                const std::int64_t extent = high.constant + low.constant + 1;
                const std::int64_t most =
                    low.step == 1 ? make_.program().at(index).extent() / 2 : low.step;
                if (extent < 1 || extent > most) continue;
                // What decides which points count may only be read inside.
                if (has_index(equation_.reduction->indices, index) &&
                    (low.step > 1 || is_read_at(index, low, high)))
                    continue;
                if (low.step == 1)
                    replace(index, low, high, extent);
                else
                    divide(index, high, extent == low.step ? &low : nullptr);
                return;
            }
    }

    /// The one t of which step*t is at most what the conjunct `high` says. Where the window is as
    /// wide as the step, as `low` says then, that is all that both say.
    void divide(IndexId index, const Side& high, const Side* low) {
        LinearForm most = high.place;
        most.constant = high.constant;
        Expr condition =
            make_.compare(Op::eq, value_of(index), make_.quotient(number(most), high.step));
        for (const Expr conjunct : conjuncts(equation_.reduction->condition))
            if (low == nullptr || (conjunct != low->conjunct && conjunct != high.conjunct))
                condition = make_.both(condition, conjunct);
        equation_.reduction->condition = condition;
    }

    /// Whether other conditions read at places that the index has a part in.
    [[nodiscard]] bool is_read_at(IndexId index, const Side& low, const Side& high) const {
        return std::ranges::any_of(conjuncts(equation_.reduction->condition), [&](Expr conjunct) {
            return conjunct != low.conjunct && conjunct != high.conjunct &&
                   std::ranges::any_of(postorder({conjunct}), [&](Expr e) {
                       const auto* access = std::get_if<Access>(&e->term);
                       return access != nullptr && std::ranges::any_of(access->at, [&](Expr at) {
                                  return has_index(free_indices(at), index);
                              });
                   });
        });
    }

    void replace(IndexId index, const Side& low, const Side& high, std::int64_t extent) {
        const IndexId place = make_.index("w", extent);
        LinearForm form = low.place;
        form.constant = -low.constant;
        form.parts.push_back({value_of(place), 1});
        const Expr key = number(form);
        Expr condition = make_.compare(Op::eq, value_of(index), key);
        for (const Expr conjunct : conjuncts(equation_.reduction->condition))
            if (conjunct != low.conjunct && conjunct != high.conjunct)
                condition = make_.both(condition, in_window(conjunct, index, key));
        equation_.reduction->indices.push_back(place);
        equation_.value = in_window(equation_.value, index, key);
        equation_.reduction->condition = condition;
        if (has_index(equation_.reduction->indices, index)) put_in_place(index, key);
    }
    /// A reduced index that a condition says is the key, is it: `t == key` is that it has the
    /// value.
    void put_in_place(IndexId index, Expr key) {
        EquationMaker::Numbers there;
        there.emplace(std::uint32_t(index), key);
        const std::vector<Expr> parts = conjuncts(equation_.reduction->condition);
        Expr condition = make_.is_value_of(index, key);
        for (const Expr part : std::vector<Expr>(parts.begin() + 1, parts.end()))
            condition = make_.both(condition, make_.with(part, there));
        equation_.reduction->condition = condition;
        equation_.value = make_.with(equation_.value, there);
        std::erase(equation_.reduction->indices, index);
    }

    /// The term with numbers that are places in the window, such as `t-J[n]`, by their index.
    Expr in_window(Expr term, IndexId index, Expr key) {
        Context& context = make_.context();
        const Expr apart = integer_difference(context, key, value_of(index));
        ExprMap<Expr> places;
        for (const Expr e : postorder({term})) {
            const auto form = e->dtype == DType::i64 ? linear_form(e) : std::nullopt;
            const std::int64_t factor = form ? form->coefficient(value_of(index)) : 0;
            if (factor == 0) continue;
            const auto place =
                linear_form(integer_sum(context, e, integer_scale(context, apart, factor)));
            if (place && is_of_indices(*place)) places.emplace(e, number(*place));
        }
        return substitute(context, term, places);
    }
    Expr number(const LinearForm& form) {
        Expr sum = make_.integer(form.constant);
        for (const LinearForm::Part& part : form.parts)
            sum = make_.add(sum, make_.times(part.atom, part.coefficient));
        return sum;
    }

    EquationMaker& make_;
    BoundEquation equation_;
};

}  // namespace

BoundEquation with_windows_as_keys(EquationMaker& make, const BoundEquation& equation,
                                   const std::vector<IndexId>& indices) {
    if (!equation.reduction || !equation.reduction->condition || equation.reduction->carry ||
        equation.op != Assign::define)
        return equation;
    return Windows(make, equation).run(indices);
}

}  // namespace ricci::codegen
