// codegen/placed_windows.cpp – sums over windows of whose points data says where they go
#include "codegen/placed_windows.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/joined_indices.h"
#include "codegen/reads_inside.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Of numbers and coefficients: what is made of them keeps 64 bits.
constexpr std::int64_t largest = std::int64_t{1} << 31;

/// `sum of coefficient*index + constant == place`, where the indices are digits of the place.
struct Digits {
    Expr part;                                              ///< the condition
    std::vector<std::pair<IndexId, std::int64_t>> indices;  ///< the largest coefficient first
    std::int64_t constant = 0;
    Expr place;  ///< i64
};

class PlacedWindows {
  public:
    PlacedWindows(BoundProgram program, double least)
        : program_(std::move(program)), make_(program_), least_(least) {}

    BoundProgram run() {
        for (std::size_t n = 0; n < program_.equations.size(); ++n)
            if (auto placed = placed_windows(program_.equations[n]))
                program_.equations[n] = std::move(*placed);
        return std::move(program_);
    }

  private:
    std::optional<BoundEquation> placed_windows(const BoundEquation& equation) {
        if (!equation.reduction || equation.reduction->carry ||
            equation.reduction->reducer != Reducer::sum)
            return std::nullopt;
        const BoundEquation taken = make_.with_choice_taken(equation);
        for (const Expr part : conjuncts(taken.reduction->condition)) {
            const std::optional<Digits> digits = digits_of(taken, part);
            if (!digits) continue;
            const std::size_t indices = program_.indices.size();
            if (std::optional<BoundEquation> placed = by_place(taken, *digits)) return placed;
            program_.indices.resize(indices);
        }
        return std::nullopt;
    }

    std::optional<Digits> digits_of(const BoundEquation& equation, Expr part) {
        if (!is_apply(part, Op::eq)) return std::nullopt;
        const auto& sides = std::get<Apply>(part->term).args;
        if (sides[0]->dtype != DType::i64) return std::nullopt;
        const auto form = linear_form(make_.subtract(sides[0], sides[1]));
        if (!form) return std::nullopt;
        std::optional<LinearForm::Part> place;
        for (const LinearForm::Part& each : form->parts)
            if (!tensors_read(each.atom).empty()) {
                if (place || std::abs(each.coefficient) != 1) return std::nullopt;
                place = each;
            }
        if (!place || std::abs(form->constant) > largest) return std::nullopt;
        Digits digits{.part = part,
                      .indices = {},
                      .constant = -place->coefficient * form->constant,
                      .place = place->atom};
        for (const LinearForm::Part& each : form->parts) {
            if (each.atom == place->atom) continue;
            const auto* index = std::get_if<IndexValue>(&each.atom->term);
            const std::int64_t coefficient = -place->coefficient * each.coefficient;
            if (index == nullptr || !has_index(equation.reduction->indices, index->index) ||
                coefficient < 1 || coefficient > largest)
                return std::nullopt;
            digits.indices.emplace_back(index->index, coefficient);
        }
        std::ranges::sort(digits.indices, std::ranges::greater{},
                          [](const auto& each) { return each.second; });
        return are_digits(digits) ? std::optional(std::move(digits)) : std::nullopt;
    }
    /// Whether each number is one value of each index at most, and there are many of them.
    [[nodiscard]] bool are_digits(const Digits& digits) const {
        std::int64_t next = 1;
        for (auto each = digits.indices.rbegin(); each != digits.indices.rend(); ++each) {
            const BoundIndex& index = program_.at(each->first);
            if (each->second != next || index.extent() < 1 || index.extent() > largest / next ||
                std::abs(index.lower) > largest)
                return false;
            next *= index.extent();
        }
        return !digits.indices.empty() && double(next) >= least_;
    }

    std::optional<BoundEquation> by_place(BoundEquation equation, const Digits& digits) {
        Expr place = digits.place;
        std::vector<Expr> others;
        for (const Expr each : conjuncts(equation.reduction->condition))
            if (each != digits.part) others.push_back(each);
        std::vector<JoinedIndices> windows;
        for (const auto& [index, coefficient] : digits.indices) {
            const auto window = window_of(equation, others, place, index);
            if (!window) return std::nullopt;
            windows.push_back(*window);
        }
        others = narrowed(windows, others);
        std::vector<IndexId>& reduced = equation.reduction->indices;
        for (const JoinedIndices& window : windows) {
            if (program_.at(window.joined).extent() < 1) return std::nullopt;
            std::ranges::replace(reduced, window.b, window.joined);
        }
        std::vector<IndexId> domain = equation.indices;
        domain.insert(domain.end(), reduced.begin(), reduced.end());
        for (const Expr term : {place, equation.value})
            if (!reads_inside(program_, domain, Expr(), term)) return std::nullopt;
        Expr condition = goes_to(equation, digits, windows, place);
        for (const Expr each : others) condition = make_.both(condition, each);
        equation.reduction->condition = condition;
        return equation;
    }

    /// The form with an index of the result in which all terms have a digit; takes it in them.
    std::optional<JoinedIndices> window_of(BoundEquation& equation, std::vector<Expr>& others,
                                           Expr& place, IndexId index) {
        std::vector<Expr*> terms{&equation.value, &place};
        for (Expr& each : others) terms.push_back(&each);
        std::erase_if(terms, [&](Expr* e) { return !has_index(free_indices(*e), index); });
        std::vector<Expr> now;
        for (const Expr* each : terms) now.push_back(*each);
        for (JoinedIndices form : forms_of_two(now)) {
            if (form.b != index || !has_index(equation.indices, form.a)) continue;
            const auto found = joined(make_, now, form);
            if (!found) continue;
            for (std::size_t n = 0; n < terms.size(); ++n) *terms[n] = (*found)[n];
            // A place that stands still says nothing of the window.
            return has_index(free_indices(place), form.joined) ? std::optional(form) : std::nullopt;
        }
        return std::nullopt;
    }

    /// Takes what conditions say of a joined index as its range; returns the others.
    std::vector<Expr> narrowed(const std::vector<JoinedIndices>& windows, std::vector<Expr> parts) {
        std::erase_if(parts, [&](Expr part) {
            return std::ranges::any_of(windows, [&](const JoinedIndices& window) {
                return take_as_range(program_, window.joined, part);
            });
        });
        return parts;
    }

    /// That each index of the result is where the place says.
    Expr goes_to(const BoundEquation& equation, const Digits& digits,
                 const std::vector<JoinedIndices>& windows, Expr place) {
        std::int64_t first = digits.constant;  // the number of the first point
        std::int64_t points = 1;
        for (const auto& [index, coefficient] : digits.indices) {
            first += coefficient * program_.at(index).lower;
            points *= program_.at(index).extent();
        }
        const Expr number = make_.add(place, make_.integer(-first));
        Expr condition;
        for (std::size_t n = 0; n < windows.size(); ++n) {
            const auto& [index, coefficient] = digits.indices[n];
            const BoundIndex& range = program_.at(index);
            Expr digit = make_.quotient(number, coefficient);
            if (n > 0) digit = make_.remainder(digit, range.extent());
            digit = make_.add(digit, make_.integer(range.lower));
            const JoinedIndices& window = windows[n];
            const Expr at = make_.times(
                make_.add(make_.value(window.joined), make_.times(digit, -window.b_step)),
                window.a_step);
            condition = make_.both(condition, make_.compare(Op::eq, make_.value(window.a), at));
        }
        if (!is_place_of(equation, digits.place, first, points)) {
            condition = make_.both(
                condition, make_.both(make_.compare(Op::ge, number, make_.integer(0)),
                                      make_.compare(Op::lt, number, make_.integer(points))));
        }
        return condition;
    }
    /// Whether the place is one of the points from `first` on, as that of an extreme element.
    [[nodiscard]] bool is_place_of(const BoundEquation& equation, Expr place, std::int64_t first,
                                   std::int64_t points) const {
        const auto* cast = std::get_if<Cast>(&place->term);
        const auto* access = std::get_if<Access>(&(cast ? cast->a : place)->term);
        if (access == nullptr || access->tensor == equation.target) return false;
        const auto found =
            std::ranges::find(program_.equations, access->tensor, &BoundEquation::target);
        if (found == program_.equations.end() || found->op != Assign::define || !found->reduction ||
            found->reduction->condition ||
            (found->reduction->reducer != Reducer::argmax &&
             found->reduction->reducer != Reducer::argmin))
            return false;
        const BoundIndex& range = program_.at(found->reduction->indices[0]);
        return range.lower >= first && range.upper <= first + points;
    }

    BoundProgram program_;
    EquationMaker make_;
    double least_;
};

}  // namespace

BoundProgram with_placed_windows(BoundProgram program, double least) {
    return PlacedWindows(std::move(program), least).run();
}

}  // namespace ricci::codegen
