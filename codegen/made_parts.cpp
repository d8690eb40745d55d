// codegen/made_parts.cpp – sums of products that earlier equations of a program have made
#include "codegen/made_parts.h"

#include <algorithm>

namespace ricci::codegen {

class MadeParts::Names {
  public:
    explicit Names(MadeParts& parts) : parts_(parts) {}

    Expr operator()(Expr term) {
        if (!term) return term;
        for (const IndexId id : free_indices(term)) (void)(*this)(id);
        return parts_.make_.with(term, numbers_);
    }
    IndexId operator()(IndexId id) {
        const auto known = std::ranges::find(own_, id);
        if (known != own_.end()) return standard_[std::size_t(known - own_.begin())];
        const BoundIndex range = parts_.make_.program().at(id);
        const IndexId name =
            parts_.standard(range.lower, range.upper, used_[{range.lower, range.upper}]++);
        own_.push_back(id);
        standard_.push_back(name);
        numbers_.emplace(std::uint32_t(id), parts_.make_.value(name));
        return name;
    }
    /// The index of the terms that has the name.
    [[nodiscard]] IndexId own(IndexId name) const {
        return own_[std::size_t(std::ranges::find(standard_, name) - standard_.begin())];
    }

  private:
    MadeParts& parts_;
    std::vector<IndexId> own_;
    std::vector<IndexId> standard_;
    EquationMaker::Numbers numbers_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> used_;
};

IndexId MadeParts::standard(std::int64_t lower, std::int64_t upper, std::size_t number) {
    std::vector<IndexId>& all = standard_[{lower, upper}];
    while (all.size() <= number) {
        all.push_back(make_.index("u", 0));
        BoundIndex& range = make_.program().indices[std::size_t(all.back())];
        range.lower = lower;
        range.upper = upper;
    }
    return all[number];
}

std::size_t MadeParts::number_of(Expr factor) {
    if (const auto known = number_of_.find(factor); known != number_of_.end()) return known->second;
    Names names(*this);
    const Expr named = names(factor);
    const auto known = std::ranges::find(factors_, named);
    const auto number = std::size_t(known - factors_.begin());
    if (known == factors_.end()) factors_.push_back(named);
    number_of_.emplace(factor, number);
    return number;
}

MadeParts::Ordered MadeParts::ordered(const std::vector<Expr>& factors) {
    Ordered result;
    for (const Expr factor : factors) result.emplace_back(number_of(factor), factor);
    std::ranges::stable_sort(result, {}, &Ordered::value_type::first);
    return result;
}

MadeParts::Key MadeParts::key_of(const PartTerms& part, const Ordered& factors, Names& names) {
    Key key{.numbers = {}, .factors = {}, .kept = {}, .condition = Expr(), .type = part.type};
    for (const auto& [number, factor] : factors) {
        key.numbers.push_back(number);
        key.factors.push_back(names(factor));
    }
    key.condition = names(part.condition);
    for (const IndexId id : part.kept) key.kept.push_back(names(id));
    std::ranges::sort(key.kept);
    return key;
}

std::optional<Expr> MadeParts::find(const PartTerms& part) {
    if (made_.empty()) return std::nullopt;
    const Ordered factors = ordered(part.factors);
    const auto has_same_factors = [&](const Made& made) {
        return std::ranges::equal(made.key.numbers, factors, {}, {}, &Ordered::value_type::first);
    };
    if (std::ranges::none_of(made_, has_same_factors)) return std::nullopt;
    Names names(*this);
    const Key key = key_of(part, factors, names);
    const auto made = std::ranges::find(made_, key, &Made::key);
    if (made == made_.end()) return std::nullopt;
    std::vector<Expr> at;
    for (const IndexId name : made->dimensions) at.push_back(make_.offset(names.own(name)));
    return make_.context().access(made->array, std::move(at), part.type);
}

void MadeParts::add(const PartTerms& part, TensorId array, const std::vector<IndexId>& dimensions) {
    Names names(*this);
    Made made{.key = key_of(part, ordered(part.factors), names), .array = array, .dimensions = {}};
    for (const IndexId id : dimensions) made.dimensions.push_back(names(id));
    made_.push_back(std::move(made));
}

}  // namespace ricci::codegen
