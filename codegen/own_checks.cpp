// codegen/own_checks.cpp – checks of keys that the points of an update make along with it
#include "codegen/own_checks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

std::vector<Expr> terms_of(const BoundEquation& update) {
    std::vector<Expr> terms = update.at;
    terms.push_back(update.value);
    return terms;
}

/// The subscripts whose values, which are data, may be outside, each once.
std::vector<Expr> places_of(const BoundProgram& program, const BoundEquation& update) {
    std::vector<Expr> places;
    const auto add = [&](const std::vector<Expr>& at, TensorId tensor) {
        for (std::size_t d = 0; d < at.size(); ++d) {
            if (tensors_read(at[d]).empty()) continue;
            const auto range = integer_range(program.indices, at[d]);
            if (range && range->low >= 0 && range->high < program.at(tensor).shape[d]) continue;
            if (std::ranges::find(places, at[d]) == places.end()) places.push_back(at[d]);
        }
    };
    add(update.at, update.target);
    for (const Expr node : postorder(terms_of(update)))
        if (const auto* access = std::get_if<Access>(&node->term)) add(access->at, access->tensor);
    return places;
}

/// Whether a subscript in the term is data.
bool reads_at_data(Expr term) {
    return std::ranges::any_of(postorder({term}), [](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        return access != nullptr && std::ranges::any_of(access->at, [](Expr subscript) {
                   return !tensors_read(subscript).empty();
               });
    });
}

/// An element as it is stored, or that in another type.
bool is_element(Expr e) {
    const auto* cast = std::get_if<Cast>(&e->term);
    return std::holds_alternative<Access>((cast != nullptr ? cast->a : e)->term);
}

class Finder {
  public:
    Finder(EquationMaker& make, const BoundEquation& update)
        : make_(make), program_(make.program()), update_(update) {}

    std::optional<OwnChecks> find() {
        for (const Expr place : places_of(program_, update_))
            if (!find_checks(place)) return std::nullopt;
        if (checks_.empty()) return std::nullopt;
        OwnChecks result;
        result.end = checks_.rbegin()->first + 1;
        result.first = result.end;
        while (result.first > 0 && checks_.contains(result.first - 1) && is_own(result.first - 1))
            --result.first;
        if (result.first == result.end || !is_there(result.first)) return std::nullopt;
        for (std::size_t n = result.first; n < result.end; ++n) {
            const Expr holds = holds_at_point(n);
            result.holds.push_back(holds);
            result.all_hold = make_.both(result.all_hold, holds);
        }
        for (std::size_t n = result.first; n < result.end; ++n) {
            const Expr place = checks_.at(n)->at.front();
            const auto [low, high] = bounds_of(place);
            if (low >= high) return std::nullopt;
            result.inside.emplace(place, make_.choose(result.all_hold, place, make_.integer(low)));
        }
        return result;
    }

  private:
    /// Notes the checks of a subscript; false unless there are some. Those under a condition are of
    /// reads that it guards.
    bool find_checks(Expr place) {
        bool is_checked = false;
        for (const BoundCheck& check : program_.checks) {
            if (check.kind != BoundCheck::Kind::inside || check.condition ||
                check.at.front() != place)
                continue;
            const auto verdict =
                std::ranges::find(program_.equations, check.verdict, &BoundEquation::target);
            if (verdict == program_.equations.end()) return false;
            checks_.emplace(verdict - program_.equations.begin(), &check);
            is_checked = true;
        }
        return is_checked;
    }
    /// Whether a verdict is the least value of a term over the points of the update.
    [[nodiscard]] bool is_own(std::size_t number) const {
        const BoundEquation& verdict = program_.equations[number];
        return verdict.op == Assign::define && verdict.reduction &&
               verdict.reduction->reducer == Reducer::min && !verdict.reduction->condition &&
               std::ranges::is_permutation(verdict.reduction->indices, update_.indices) &&
               !reads_at_data(verdict.value) && !reads_at_data(checks_.at(number)->at.front());
    }
    /// Whether no equation from that one on makes what the update reads.
    [[nodiscard]] bool is_there(std::size_t first) const {
        std::set<TensorId> made;
        for (std::size_t n = first; n < program_.equations.size(); ++n)
            made.insert(program_.equations[n].target);
        return std::ranges::none_of(terms_of(update_), [&](Expr term) {
            return std::ranges::any_of(tensors_read(term),
                                       [&](TensorId id) { return made.contains(id); });
        });
    }
    /// Whether a check holds. Values of terms may leave 64 bits, which verdicts know of.
    [[nodiscard]] Expr holds_at_point(std::size_t number) const {
        const BoundCheck& check = *checks_.at(number);
        const Expr place = check.at.front();
        if (is_element(place))
            return make_.both(make_.compare(Op::ge, place, make_.integer(check.low)),
                              make_.compare(Op::lt, place, make_.integer(check.high)));
        const Expr verdict = program_.equations[number].value;
        const Expr zero = make_.context().literal(std::int64_t{0}, verdict->dtype);
        return make_.compare(Op::ge, verdict, zero);
    }
    /// Of all checks of a subscript: the values that pass them, from the first to one past the
    /// last.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> bounds_of(Expr place) const {
        std::int64_t low = std::numeric_limits<std::int64_t>::min();
        std::int64_t high = std::numeric_limits<std::int64_t>::max();
        for (const auto& [number, check] : checks_) {
            if (check->at.front() != place) continue;
            low = std::max(low, check->low);
            high = std::min(high, check->high);
        }
        return {low, high};
    }

    EquationMaker& make_;
    const BoundProgram& program_;
    const BoundEquation& update_;
    /// By the number of the equation of the verdict.
    std::map<std::size_t, const BoundCheck*> checks_;
};

}  // namespace

std::optional<OwnChecks> own_checks(EquationMaker& make, const BoundEquation& update) {
    return Finder(make, update).find();
}

}  // namespace ricci::codegen
