// codegen/gather_update.cpp – updates at affine places as sums over what each element is given
#include "codegen/gather_update.h"

#include <algorithm>
#include <cstdlib>

#include "codegen/keyed_intervals.h"
#include "codegen/padded_updates.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

class Gather {
  public:
    Gather(EquationMaker& make, const BoundEquation& equation)
        : make_(make),
          program_(make.program()),
          equation_(equation),
          is_padded_(equation.at.size(), false) {}

    std::optional<BoundEquation> run(const BoundEquation* sum) {
        if (equation_.op != Assign::add || equation_.is_injective ||
            updates_intervals(program_, equation_))
            return std::nullopt;
        if (equation_.reduction && equation_.reduction->reducer != Reducer::sum)
            return std::nullopt;
        // An element of half precision is rounded after each value that it is given.
        const DType dtype = program_.at(equation_.target).dtype;
        if (dtype == DType::boolean || is_half(dtype)) return std::nullopt;
        take_padding();
        if (sum != nullptr) take_sum(*sum);
        for (const Expr subscript : equation_.at) occurring_.push_back(free_indices(subscript));
        reduced_ = equation_.indices;
        for (std::size_t d = 0; d < equation_.at.size(); ++d)
            if (!(keeps(d) || solves(d))) return std::nullopt;
        return result();
    }

  private:
    /// What lies in the padding is given to no element.
    void take_padding() {
        std::optional<PaddedUpdate> padded = find_padded_update(make_, equation_);
        if (!padded) return;
        equation_.at = std::move(padded->at);
        equation_.value = padded->value;
        is_padded_ = std::move(padded->is_padded);
        condition_ = padded->condition;
    }
    /// The values of a temporary, each read at one point, are what is summed for each.
    void take_sum(const BoundEquation& sum) {
        const auto* read = std::get_if<Access>(&equation_.value->term);
        if (read == nullptr || read->tensor != sum.target || equation_.reduction) return;
        const std::vector<IndexId> named = free_indices(equation_.value);
        const auto is_named = [&](IndexId id) { return has_index(named, id); };
        if (!std::ranges::all_of(equation_.indices, is_named)) return;
        EquationMaker::Numbers places;
        for (std::size_t d = 0; d < sum.at.size(); ++d) {
            const auto* plain = std::get_if<IndexValue>(&sum.at[d]->term);
            if (plain == nullptr) return;
            places.emplace(std::uint32_t(plain->index), read->at[d]);
        }
        if (places.size() != sum.indices.size() || places.size() != sum.at.size()) return;
        equation_.reduction = sum.reduction;
        equation_.reduction->condition = make_.with(sum.reduction->condition, places);
        equation_.value = make_.with(sum.value, places);
    }

    [[nodiscard]] bool is_elsewhere(IndexId id, std::size_t dimension) const {
        for (std::size_t d = 0; d < occurring_.size(); ++d)
            if (d != dimension && has_index(occurring_[d], id)) return true;
        return false;
    }

    /// A subscript that is an index stays, once.
    bool keeps(std::size_t d) {
        const auto* plain = std::get_if<IndexValue>(&equation_.at[d]->term);
        if (!plain || is_padded_[d] || has_index(free_, plain->index)) return false;
        at_.push_back(equation_.at[d]);
        free_.push_back(plain->index);
        std::erase(reduced_, plain->index);
        return true;
    }

    /// `t == c*p + rest` for the longest index p of the subscript alone with c = ±1: p disappears.
    bool solves(std::size_t d) {
        Variables variables(occurring_[d]);
        const std::optional<affine::Form> form = affine_form(equation_.at[d], variables);
        if (!form || variables.size() != occurring_[d].size()) return false;
        std::optional<std::size_t> pivot;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            const IndexId id = occurring_[d][v];
            if (std::abs(form->at(v)) != 1 || is_elsewhere(id, d)) continue;
            const auto extent = [&](std::size_t of) {
                return program_.at(occurring_[d][of]).extent();
            };
            if (!pivot || extent(v) > extent(*pivot)) pivot = v;
        }
        if (!pivot) return false;
        const IndexId solved = occurring_[d][*pivot];
        // The places that some point names; all are inside, or those that are count.
        std::int64_t low = form->constant;
        std::int64_t high = form->constant;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            const BoundIndex& range = program_.at(occurring_[d][v]);
            const std::int64_t first = form->at(v) * range.lower;
            const std::int64_t last = form->at(v) * (range.upper - 1);
            low += std::min(first, last);
            high += std::max(first, last);
        }
        if (is_padded_[d]) {
            low = std::max<std::int64_t>(low, 0);
            high = std::min(high, program_.at(equation_.target).shape[d] - 1);
            if (low > high) return false;
        }
        program_.indices.push_back({.name = "t", .lower = low, .upper = high + 1});
        const IndexId t{static_cast<std::uint32_t>(program_.indices.size() - 1)};
        // p = ±(t - rest)
        Expr rest = make_.integer(form->constant);
        for (std::size_t v = 0; v < variables.size(); ++v)
            if (v != *pivot)
                rest = make_.add(rest, make_.times(make_.value(occurring_[d][v]), form->at(v)));
        const Expr value = make_.times(make_.subtract(make_.value(t), rest), form->at(*pivot));
        condition_ = make_.both(condition_, make_.is_value_of(solved, value));
        numbers_.emplace(std::uint32_t(solved), value);
        at_.push_back(make_.value(t));
        free_.push_back(t);
        std::erase(reduced_, solved);
        return true;
    }

    std::optional<BoundEquation> result() {
        BoundEquation gather = equation_;
        gather.at = at_;
        gather.indices = free_;
        gather.is_injective = true;
        gather.value = make_.with(equation_.value, numbers_);
        if (!gather.reduction)
            gather.reduction = Reduction{.reducer = Reducer::sum,
                                         .indices = {},
                                         .condition = Expr(),
                                         .accumulator = gather.value->dtype};
        Reduction& reduction = *gather.reduction;
        reduction.condition = make_.with(make_.both(condition_, reduction.condition), numbers_);
        reduction.indices.insert(reduction.indices.begin(), reduced_.begin(), reduced_.end());
        if (reduction.indices.empty()) return std::nullopt;
        return gather;
    }

    EquationMaker& make_;
    BoundProgram& program_;
    BoundEquation equation_;
    std::vector<bool> is_padded_;                  ///< which subscripts may lie outside
    std::vector<std::vector<IndexId>> occurring_;  ///< indices of each subscript
    std::vector<Expr> at_;
    std::vector<IndexId> free_;
    std::vector<IndexId> reduced_;
    EquationMaker::Numbers numbers_;
    Expr condition_;
};

}  // namespace

std::optional<BoundEquation> as_gather(EquationMaker& make, const BoundEquation& equation,
                                       const BoundEquation* sum) {
    return Gather(make, equation).run(sum);
}

}  // namespace ricci::codegen
