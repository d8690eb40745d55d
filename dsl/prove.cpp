// dsl/prove.cpp – proofs over the domain of a bound equation: accesses in bounds, targets injective
#include "dsl/prove.h"

#include <algorithm>

#include "affine/system.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

using affine::Form;
using affine::System;

__extension__ typedef __int128 Wide;  // holds any sum of products that a form can have

struct Box {
    std::vector<std::int64_t> low, high;  ///< inclusive, by variable
};

/// The least and greatest value of a form over a box; saturating.
std::pair<std::int64_t, std::int64_t> interval(const Form& form, const Box& box) {
    Wide low = form.constant;
    Wide high = form.constant;
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        const Wide a = static_cast<Wide>(form.at(v)) * box.low[v];
        const Wide b = static_cast<Wide>(form.at(v)) * box.high[v];
        low += std::min(a, b);
        high += std::max(a, b);
    }
    const auto clamp = [](Wide value) {
        return static_cast<std::int64_t>(std::clamp<Wide>(value, INT64_MIN / 2, INT64_MAX / 2));
    };
    return {clamp(low), clamp(high)};
}

/// The box of the variables: ranges of indices; quotients from the forms that define them.
Box box_of(const Variables& variables, const std::vector<BoundIndex>& indices,
           const System& definitions) {
    Box box;
    for (std::size_t v = 0; v < variables.size(); ++v) {
        if (const auto index = variables.index(v)) {
            const BoundIndex& range = indices.at(position(*index));
            box.low.push_back(range.lower);
            box.high.push_back(range.upper - 1);
            continue;
        }
        // The definitions hold `divisor*q <= form <= divisor*q + divisor - 1`.
        std::int64_t low = INT64_MIN / 4;
        std::int64_t high = INT64_MAX / 4;
        box.low.push_back(0);
        box.high.push_back(0);
        for (const Form& row : definitions.inequalities) {
            const std::int64_t own = row.at(v);
            const bool only_earlier = row.coefficients.size() <= v + 1;
            if (own == 0 || !only_earlier) continue;
            Form rest = row;
            rest.coefficients.resize(v);
            const auto [rest_low, rest_high] = interval(rest, box);
            // own*q + rest >= 0
            if (own > 0)
                low = std::max(low, -(rest_high / own) - (rest_high % own != 0 && rest_high > 0));
            else
                high = std::min(
                    high, rest_high >= 0 ? rest_high / -own : -((-rest_high - own - 1) / -own));
            (void)rest_low;
        }
        box.low.back() = low;
        box.high.back() = high;
    }
    return box;
}

bool is_empty_domain(const std::vector<BoundIndex>& indices, const std::vector<IndexId>& domain) {
    return std::any_of(domain.begin(), domain.end(),
                       [&](IndexId id) { return indices.at(position(id)).extent() == 0; });
}

void add_ranges(System& system, const Variables& variables,
                const std::vector<BoundIndex>& indices) {
    for (std::size_t v = 0; v < variables.size(); ++v)
        if (const auto index = variables.index(v)) {
            const BoundIndex& range = indices.at(position(*index));
            system.in_range(v, range.lower, range.upper);
        }
}

}  // namespace

SubscriptBounds prove_in_bounds(const std::vector<BoundIndex>& indices,
                                const std::vector<IndexId>& domain, Expr condition, Expr subscript,
                                std::int64_t extent) {
    SubscriptBounds result;
    Variables variables(Variables::Atoms::quotients);
    const auto form = affine_form(subscript, variables);
    result.is_affine = form.has_value();
    if (is_empty_domain(indices, domain)) {
        result.in_bounds = true;
        return result;
    }
    if (!form) return result;
    System definitions;
    variables.define(definitions);
    std::tie(result.low, result.high) = interval(*form, box_of(variables, indices, definitions));
    result.in_bounds = result.low >= 0 && result.high < extent;
    if (result.in_bounds) return result;

    // The box does not tell: use what relates the variables.
    System system;
    if (condition) (void)add_condition(system, condition, variables);
    variables.define(system);
    add_ranges(system, variables, indices);
    Form below;  // extent - 1 - form
    below.constant = extent - 1 - form->constant;
    for (std::int64_t coefficient : form->coefficients) below.coefficients.push_back(-coefficient);
    result.in_bounds = affine::implies(system, *form) && affine::implies(system, below);
    return result;
}

bool prove_injective(const std::vector<BoundIndex>& indices, const std::vector<IndexId>& domain,
                     const std::vector<Expr>& at) {
    std::vector<IndexId> open;  // indices with more than one value
    for (IndexId id : domain) {
        const std::int64_t extent = indices.at(position(id)).extent();
        if (extent == 0) return true;
        if (extent > 1) open.push_back(id);
    }
    // Plain subscripts settle their index at once.
    std::erase_if(open, [&](IndexId id) {
        return std::any_of(at.begin(), at.end(), [&](Expr e) {
            const auto* value = std::get_if<IndexValue>(&e->term);
            return value && value->index == id;
        });
    });
    if (open.empty()) return true;
    // Two points x, y with equal subscripts and x_j > y_j for one j: none may exist.
    Variables variables(domain);
    const std::size_t count = domain.size();
    System system;
    system.variables = 2 * count;
    for (std::size_t v = 0; v < count; ++v) {
        const BoundIndex& range = indices.at(position(domain[v]));
        system.in_range(v, range.lower, range.upper);
        system.in_range(count + v, range.lower, range.upper);
    }
    for (Expr e : at) {
        const auto form = affine_form(e, variables);
        if (!form || variables.size() != count) return false;
        Form difference;
        difference.coefficients.resize(2 * count);
        for (std::size_t v = 0; v < count; ++v) {
            difference.coefficients[v] = form->at(v);
            difference.coefficients[count + v] = -form->at(v);
        }
        system.equal_zero(difference);
    }
    for (std::size_t v = 0; v < count; ++v) {
        System apart = system;
        Form more{-1, std::vector<std::int64_t>(2 * count)};
        more.coefficients[v] = 1;
        more.coefficients[count + v] = -1;
        apart.at_least_zero(more);
        if (!affine::is_empty(apart)) return false;
    }
    return true;
}

}  // namespace ricci
