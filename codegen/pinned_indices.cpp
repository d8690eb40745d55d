// codegen/pinned_indices.cpp – reduced indices that a condition says are data
#include "codegen/pinned_indices.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/keyed_windows.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Of fewer values each is compared.
constexpr double least_values = 16;
/// Of larger ones, numbers that indices make are left alone: no sum of them leaves 64 bits.
constexpr double largest_number = 1LL << 40;

class Pinned {
  public:
    Pinned(EquationMaker& make, BoundEquation equation)
        : make_(make), program_(make.program()), equation_(std::move(equation)) {}

    /// Whether some index is data.
    bool run() {
        const Reducer reducer = equation_.reduction->reducer;
        if (reducer == Reducer::argmax || reducer == Reducer::argmin) return false;
        equation_ = make_.with_choice_taken(equation_);
        parts_ = conjuncts(equation_.reduction->condition);
        for (const Expr part : parts_)
            if (pin(part)) return true;
        return false;
    }
    [[nodiscard]] BoundEquation equation() && { return std::move(equation_); }

  private:
    [[nodiscard]] bool is_reduced(IndexId id) const {
        return has_index(equation_.reduction->indices, id);
    }

    /// Reduced indices of an equation with their positive coefficients, the largest first, and the
    /// number that they make.
    struct Digits {
        std::vector<std::pair<IndexId, std::int64_t>> indices;
        Expr number;
    };
    std::optional<Digits> digits(Expr part) {
        if (!is_apply(part, Op::eq)) return std::nullopt;
        const auto& sides = std::get<Apply>(part->term).args;
        if (sides[0]->dtype != DType::i64) return std::nullopt;
        const auto form = linear_form(integer_difference(make_.context(), sides[0], sides[1]));
        if (!form) return std::nullopt;
        std::int64_t sign = 0;
        double magnitude = std::abs(double(form->constant));
        for (const LinearForm::Part& each : form->parts) {
            const auto* value = std::get_if<IndexValue>(&each.atom->term);
            if (value == nullptr || !is_reduced(value->index)) continue;
            const BoundIndex& range = program_.at(value->index);
            magnitude += std::abs(double(each.coefficient)) *
                         std::max(std::abs(double(range.lower)), std::abs(double(range.upper)));
            const std::int64_t own = each.coefficient > 0 ? 1 : -1;
            if (sign == -own) return std::nullopt;
            sign = own;
        }
        if (sign == 0 || magnitude > largest_number) return std::nullopt;
        // sign * (indices) + rest == 0, and the number is what the indices' offsets make.
        Digits result;
        Expr number = make_.integer(-sign * form->constant);
        for (const LinearForm::Part& each : form->parts) {
            const auto* value = std::get_if<IndexValue>(&each.atom->term);
            if (value != nullptr && is_reduced(value->index)) {
                const std::int64_t coefficient = sign * each.coefficient;
                result.indices.emplace_back(value->index, coefficient);
                const std::int64_t lower = program_.at(value->index).lower;
                number = make_.subtract(number, make_.integer(coefficient * lower));
            } else {
                number = make_.add(number, make_.times(typed(each.atom), -sign * each.coefficient));
            }
        }
        result.number = number;
        std::ranges::sort(result.indices, std::ranges::greater{},
                          [](const auto& each) { return each.second; });
        return is_data(result) ? std::optional(std::move(result)) : std::nullopt;
    }
    Expr typed(Expr atom) {
        return atom->dtype == DType::i64 ? atom : make_.context().cast(atom, DType::i64);
    }
    /// Whether data decides the number, and every number gives one value for each index at most.
    [[nodiscard]] bool is_data(const Digits& digits) const {
        if (tensors_read(digits.number).empty()) return false;
        const std::vector<IndexId> moving = free_indices(digits.number);
        for (const auto& [index, coefficient] : digits.indices)
            if (has_index(moving, index)) return false;
        std::int64_t reach = 0;
        double values = 1;
        for (auto each = digits.indices.rbegin(); each != digits.indices.rend(); ++each) {
            const auto& [index, coefficient] = *each;
            if (each == digits.indices.rbegin() ? coefficient != 1 : coefficient <= reach)
                return false;
            reach += coefficient * (program_.at(index).extent() - 1);
            values *= double(program_.at(index).extent());
        }
        return values >= least_values;
    }

    /// Whether one of the indices chooses where the term reads; not where it only decides, as in
    /// `c ? place : 0`, that something is read.
    static bool reads_at(Expr term, const EquationMaker::Numbers& indices) {
        return std::ranges::any_of(postorder({term}), [&](Expr e) {
            const auto* access = std::get_if<Access>(&e->term);
            return access != nullptr && std::ranges::any_of(access->at, [&](Expr at) {
                       return is_made_of(at, indices);
                   });
        });
    }
    static bool is_made_of(Expr e, const EquationMaker::Numbers& indices) {
        if (const auto* value = std::get_if<IndexValue>(&e->term))
            return indices.contains(std::uint32_t(value->index));
        if (const auto* cast = std::get_if<Cast>(&e->term)) return is_made_of(cast->a, indices);
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr) return false;
        const auto* first = apply->args.data() + (apply->op == Op::select ? 1 : 0);
        return std::any_of(first, apply->args.data() + apply->args.size(),
                           [&](Expr arg) { return is_made_of(arg, indices); });
    }

    bool pin(Expr part) {
        const auto found = digits(part);
        if (!found) return false;
        EquationMaker::Numbers numbers;
        Expr range;
        std::int64_t modulus = 0;
        for (const auto& [index, coefficient] : found->indices) {
            Expr offset = found->number;
            if (modulus != 0) offset = make_.remainder(offset, modulus);
            if (coefficient != 1) offset = make_.quotient(offset, coefficient);
            const BoundIndex& of = program_.at(index);
            const Expr value = of.lower == 0 ? offset : make_.add(offset, make_.integer(of.lower));
            numbers.emplace(std::uint32_t(index), value);
            if (modulus == 0 || coefficient * of.extent() < modulus)
                range = make_.both(range, make_.is_value_of(index, value));
            modulus = coefficient;
        }
        // What decides which points count may only be read inside.
        Expr before;
        Expr behind;
        for (const Expr other : parts_) {
            if (other == part) continue;
            const bool moves = std::ranges::any_of(free_indices(other), [&](IndexId id) {
                return numbers.contains(std::uint32_t(id));
            });
            if (moves && reads_at(other, numbers)) return false;
            Expr& side = moves ? behind : before;
            side = make_.both(side, make_.with(other, numbers));
        }
        Reduction& reduction = *equation_.reduction;
        std::erase_if(reduction.indices,
                      [&](IndexId id) { return numbers.contains(std::uint32_t(id)); });
        if (reduction.indices.empty()) reduction.indices.push_back(make_.index("once", 1));
        reduction.condition = make_.both(make_.both(before, range), behind);
        equation_.value = make_.with(equation_.value, numbers);
        return true;
    }

    EquationMaker& make_;
    BoundProgram& program_;
    BoundEquation equation_;
    std::vector<Expr> parts_;
};

/// A reduced index that a conjunct says is an index of the result, all of whose values it has.
struct Matched {
    IndexId reduced{};
    Expr result;
    Expr conjunct;
};
std::optional<Matched> find_matched(const BoundProgram& program, const BoundEquation& equation) {
    const std::vector<IndexId>& reduced = equation.reduction->indices;
    for (const Expr part : conjuncts(equation.reduction->condition)) {
        if (!is_apply(part, Op::eq)) continue;
        const std::vector<Expr>& sides = std::get<Apply>(part->term).args;
        for (std::size_t n = 0; n < 2; ++n) {
            const auto* k = std::get_if<IndexValue>(&sides[n]->term);
            const auto* u = std::get_if<IndexValue>(&sides[1 - n]->term);
            if (k == nullptr || u == nullptr || !has_index(reduced, k->index) ||
                has_index(reduced, u->index))
                continue;
            const BoundIndex& own = program.at(k->index);
            const BoundIndex& other = program.at(u->index);
            if (other.lower >= own.lower && other.upper <= own.upper)
                return Matched{k->index, sides[1 - n], part};
        }
    }
    return std::nullopt;
}

/// `max[i,k | s[i] == t && k == u](X[i,k])` for t, u is that of X[i,u] over i.
void replace_matched(EquationMaker& make, BoundEquation& equation) {
    Reduction& reduction = *equation.reduction;
    if (reduction.reducer == Reducer::argmax || reduction.reducer == Reducer::argmin) return;
    while (reduction.indices.size() > 1) {
        const std::optional<Matched> matched = find_matched(make.program(), equation);
        if (!matched) return;
        EquationMaker::Numbers numbers;
        numbers.emplace(std::uint32_t(matched->reduced), matched->result);
        Expr left;
        for (const Expr part : conjuncts(reduction.condition))
            if (part != matched->conjunct) left = make.both(left, make.with(part, numbers));
        reduction.condition = left;
        equation.value = make.with(equation.value, numbers);
        std::erase(reduction.indices, matched->reduced);
    }
}

/// Reduced indices of which conditions say that they lie in a window at a place of data,
/// `t >= p[i] && t < p[i]+8`, are that place and one in the window.
void pin_windows(EquationMaker& make, BoundEquation& equation) {
    const Reducer reducer = equation.reduction->reducer;
    if (reducer == Reducer::argmax || reducer == Reducer::argmin) return;
    equation = with_windows_as_keys(make, equation, equation.reduction->indices);
}

}  // namespace

BoundProgram with_pinned_indices(BoundProgram program) {
    EquationMaker make(program);
    for (std::size_t n = 0; n < program.equations.size(); ++n) {
        if (program.equations[n].reduction) replace_matched(make, program.equations[n]);
        while (program.equations[n].reduction) {
            Pinned pinned(make, program.equations[n]);
            if (!pinned.run()) break;
            program.equations[n] = std::move(pinned).equation();
        }
        if (program.equations[n].reduction) pin_windows(make, program.equations[n]);
    }
    return program;
}

}  // namespace ricci::codegen
