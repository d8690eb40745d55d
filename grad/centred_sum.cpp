// grad/centred_sum.cpp – sums of differences to a mean
#include "grad/centred_sum.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "dsl/walk.h"
#include "grad/product.h"

namespace ricci::grad {

namespace {

class CentredSum {
  public:
    CentredSum(const Program& program, const Reduce& sum)
        : program_(program), context_(*program.context), sum_(sum) {}

    [[nodiscard]] bool holds() const {
        if (sum_.reducer != Reducer::sum || sum_.condition) return false;
        const Product body = product_of(sum_.body);
        std::optional<Expr> difference;
        for (const Expr factor : body.above) {
            if (!varies(factor)) continue;
            if (difference) return false;
            difference = factor;
        }
        if (std::ranges::any_of(body.below, [&](Expr divisor) { return varies(divisor); }))
            return false;
        if (!difference || !is_apply(*difference, Op::add)) return false;
        const auto& terms = std::get<Apply>((*difference)->term).args;
        if (terms.size() != 2) return false;
        const std::size_t mean = varies(terms[0]) ? 1 : 0;
        return !varies(terms[mean]) && is_mean(terms[mean], terms[1 - mean]);
    }

  private:
    [[nodiscard]] bool varies(Expr e) const {
        return std::ranges::any_of(free_indices(e), [&](IndexId index) {
            return std::ranges::find(sum_.indices, index) != sum_.indices.end();
        });
    }

    /// Whether `e` is -(the sum of what stands in `term` over the same ranges) / its points.
    [[nodiscard]] bool is_mean(Expr e, Expr term) const {
        Product quotient = product_of(e);
        bool is_negative = quotient.is_negative;
        Factors points = quotient.below;
        // From m[i] := t[i]/N to t[i] := sum[c](X[i,c]), through the names that either may have.
        constexpr std::size_t most_names = 3;
        for (std::size_t name = 0; name < most_names; ++name) {
            if (quotient.above.size() != 1) return false;
            const auto* access = std::get_if<Access>(&quotient.above.front()->term);
            if (access == nullptr) return false;
            const Equation* made = definition(access->tensor);
            if (made == nullptr) return false;
            Places places;
            for (std::size_t d = 0; d < access->at.size(); ++d)
                places.emplace(std::uint32_t(made->indices[d]), access->at[d]);
            if (const auto* total = std::get_if<Reduce>(&made->value->term))
                return is_negative && counts(points) && is_total(*total, places, term);
            quotient = product_of(substitute_indices(context_, made->value, places));
            is_negative ^= quotient.is_negative;
            points.insert(points.end(), quotient.below.begin(), quotient.below.end());
        }
        return false;
    }

    using Places = std::unordered_map<std::uint32_t, Expr>;

    /// The one equation of the tensor, if it is `t[i,j] := …`.
    [[nodiscard]] const Equation* definition(TensorId tensor) const {
        const Equation* found = nullptr;
        for (const Equation& equation : program_.equations) {
            if (equation.target != tensor) continue;
            if (found != nullptr || equation.op != Assign::define || equation.previous)
                return nullptr;
            found = &equation;
        }
        if (found == nullptr || found->at.size() != found->indices.size()) return nullptr;
        for (std::size_t d = 0; d < found->at.size(); ++d)
            if (found->at[d] != context_.index(found->indices[d])) return nullptr;
        return found;
    }

    /// Whether the factors are the extents of the sum's ranges.
    [[nodiscard]] bool counts(Factors factors) const {
        for (const IndexId index : sum_.indices) {
            const Index& range = program_.at(index);
            if (!is_literal(range.lower, 0) || !take(factors, range.upper)) return false;
        }
        return factors.empty();
    }

    [[nodiscard]] bool is_total(const Reduce& total, Places places, Expr term) const {
        if (total.reducer != Reducer::sum || total.condition) return false;
        if (total.indices.size() != sum_.indices.size()) return false;
        for (std::size_t n = 0; n < sum_.indices.size(); ++n) {
            const Index& own = program_.at(total.indices[n]);
            const Index& other = program_.at(sum_.indices[n]);
            if (own.lower != other.lower || own.upper != other.upper) return false;
            places.emplace(std::uint32_t(total.indices[n]), context_.index(sum_.indices[n]));
        }
        Product summed = product_of(substitute_indices(context_, total.body, places));
        fold_literals(context_, summed);  // a mean is a sum of 1.0*x
        return to_expr(context_, summed) == term;
    }

    const Program& program_;
    Context& context_;
    const Reduce& sum_;
};

}  // namespace

bool is_centred_sum(const Program& program, Expr e) {
    const auto* sum = std::get_if<Reduce>(&e->term);
    return sum != nullptr && CentredSum(program, *sum).holds();
}

}  // namespace ricci::grad
