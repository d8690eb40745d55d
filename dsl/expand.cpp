// dsl/expand.cpp – multiplies out the body of a sum, and sums each product over what it depends on
#include "dsl/expand.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dsl/canonical.h"
#include "dsl/derived_reducer.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

constexpr std::size_t max_products = 16;
constexpr int max_nesting = 16;  // of sums and products in one another

/// `count * above / below`.
struct Product {
    std::int64_t count = 1;
    std::vector<Expr> above = {};  ///< in order of creation: equal products have equal lists
    std::vector<Expr> below = {};
};
using Products = std::vector<Product>;  ///< their sum

bool has_element(const std::vector<IndexId>& list, IndexId i) {
    return std::ranges::find(list, i) != list.end();
}

bool is_part(const std::vector<IndexId>& part, const std::vector<IndexId>& of) {
    return std::ranges::all_of(part, [&](IndexId i) { return has_element(of, i); });
}

void append_indices(std::vector<IndexId>& to, Expr e) {
    for (IndexId i : free_indices(e))
        if (!has_element(to, i)) to.push_back(i);
}

void sort(std::vector<Expr>& factors) {
    std::ranges::sort(factors, {}, [](Expr e) { return e->id; });
}

/// The exponent of a small positive integer power.
std::optional<std::int64_t> small_power(Expr e) {
    if (!is_apply(e, Op::pow)) return std::nullopt;
    const auto* literal = std::get_if<Literal>(&std::get<Apply>(e->term).args[1]->term);
    const auto* value = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
    if (value == nullptr || *value < 1 || *value > 4) return std::nullopt;
    return *value;
}

/// Whether each part of a sum depends on fewer indices than all of them do.
bool is_mixed(const Apply& sum) {
    std::vector<IndexId> all;
    for (Expr part : sum.args) append_indices(all, part);
    return std::ranges::none_of(sum.args,
                                [&](Expr part) { return is_part(all, free_indices(part)); });
}

class Expander {
  public:
    explicit Expander(Program program)
        : program_(std::move(program)), context_(*program_.context) {}

    Program run() && {
        for (Equation& equation : program_.equations)
            equation.value =
                rewrite(context_, equation.value, [&](Expr node) { return expanded(node); });
        return std::move(program_);
    }

  private:
    /// The node itself, where it is no sum or nothing is won.
    Expr expanded(Expr node) {
        const auto* found = std::get_if<Reduce>(&node->term);
        if (found == nullptr || found->reducer != Reducer::sum) return node;
        const Reduce reduce = *found;
        // What a condition ties to other indices may be what keeps a read inside.
        if (reduce.condition && !is_part(free_indices(reduce.condition), reduce.indices))
            return node;
        const std::optional<Products> products = multiplied_out(reduce.body);
        if (!products || products->size() < 2) return node;
        std::vector<IndexId> all = reduce.indices;
        append_indices(all, reduce.body);
        // The contraction comes last: the others are at hand then, and are added as it is stored.
        std::vector<Expr> terms;
        Expr contraction;
        for (const Product& product : *products) {
            const Split parts = split(product, reduce);
            const bool is_full = is_part(all, parts.depends_on);
            if (is_full && contraction) return node;
            const Expr term = summed(product, parts, reduce.condition);
            if (is_full)
                contraction = term;
            else
                terms.push_back(term);
        }
        if (contraction) terms.push_back(contraction);
        return context_.apply(Op::add, terms);
    }

    /// Nothing where there would be too many products.
    std::optional<Products> multiplied_out(Expr e, int nesting = 0) {
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr || ++nesting > max_nesting) return Products{{.above = {e}}};
        if (apply->op == Op::neg) return negated(multiplied_out(apply->args[0], nesting));
        if (apply->op == Op::div) {
            std::optional<Products> above = multiplied_out(apply->args[0], nesting);
            if (above)
                for (Product& product : *above) product.below.push_back(apply->args[1]);
            return above;
        }
        if (apply->op == Op::mul) return product_of(apply->args, nesting);
        if (apply->op == Op::add && is_mixed(*apply)) return sum_of(apply->args, nesting);
        if (const auto n = small_power(e)) {
            const std::vector<Expr> factors(static_cast<std::size_t>(*n), apply->args[0]);
            std::optional<Products> power = product_of(factors, nesting);
            if (!power || power->size() > 1) return power;
        }
        return Products{{.above = {e}}};
    }

    static std::optional<Products> negated(std::optional<Products> products) {
        if (products)
            for (Product& product : *products) product.count = -product.count;
        return products;
    }

    std::optional<Products> sum_of(std::span<const Expr> parts, int nesting) {
        Products sum;
        for (Expr part : parts) {
            const std::optional<Products> products = multiplied_out(part, nesting);
            if (!products) return std::nullopt;
            for (const Product& product : *products) add(sum, product);
            if (sum.size() > max_products) return std::nullopt;
        }
        return sum;
    }

    std::optional<Products> product_of(std::span<const Expr> factors, int nesting) {
        Products product{{}};
        for (Expr factor : factors) {
            const std::optional<Products> more = multiplied_out(factor, nesting);
            if (!more || product.size() * more->size() > max_products) return std::nullopt;
            Products next;
            for (const Product& a : product)
                for (const Product& b : *more) add(next, times(a, b));
            product = std::move(next);
        }
        return product;
    }

    static Product times(Product a, const Product& b) {
        a.count *= b.count;  // at most 24: of four factors
        a.above.insert(a.above.end(), b.above.begin(), b.above.end());
        a.below.insert(a.below.end(), b.below.begin(), b.below.end());
        return a;
    }

    /// Equal products are counted, none is dropped: what it reads may be NaN.
    static void add(Products& sum, Product product) {
        sort(product.above);
        sort(product.below);
        const auto same = std::ranges::find_if(sum, [&](const Product& other) {
            return other.above == product.above && other.below == product.below &&
                   (other.count > 0) == (product.count > 0);
        });
        if (same == sum.end())
            sum.push_back(std::move(product));
        else
            same->count += product.count;
    }

    /// Whether a factor stays in the sum: it changes there, or it is arithmetic of integers for all
    /// that is known, which a sum does in 64 bits.
    static bool is_inside(Expr factor, const Reduce& reduce) {
        const auto* apply = std::get_if<Apply>(&factor->term);
        return (apply != nullptr && info(apply->op).type != TypeRule::floating) ||
               std::ranges::any_of(free_indices(factor),
                                   [&](IndexId i) { return has_element(reduce.indices, i); });
    }

    /// How a product is summed: what stays in the sum, over which of its indices.
    struct Split {
        Product inside;
        Product outside;
        std::vector<IndexId> depends_on = {};  ///< with the indices summed over
        std::vector<IndexId> summed = {};
        std::vector<IndexId> left = {};  ///< the product is the same at each of their points
    };
    static Split split(const Product& product, const Reduce& reduce) {
        Split result;
        for (Expr factor : product.above)
            (is_inside(factor, reduce) ? result.inside : result.outside).above.push_back(factor);
        for (Expr factor : product.below)
            (is_inside(factor, reduce) ? result.inside : result.outside).below.push_back(factor);
        const auto depend = [&] {
            for (const auto* factors : {&result.inside.above, &result.inside.below})
                for (Expr factor : *factors) append_indices(result.depends_on, factor);
        };
        depend();
        for (IndexId i : reduce.indices) {
            const bool is_used = reduce.condition || has_element(result.depends_on, i);
            (is_used ? result.summed : result.left).push_back(i);
        }
        // Something is summed always: that makes integers of 64 bits.
        if (result.summed.empty()) {
            std::swap(result.summed, result.left);
            result.inside = times(result.inside, std::exchange(result.outside, {}));
            depend();
        }
        for (IndexId i : result.summed)
            if (!has_element(result.depends_on, i)) result.depends_on.push_back(i);
        return result;
    }

    Expr quotient(std::vector<Expr> above, const std::vector<Expr>& below) {
        Expr value =
            above.empty() ? context_.integer(1) : context_.apply(Op::mul, std::move(above));
        for (Expr divisor : below) value = context_.div(value, divisor);
        return value;
    }

    /// The sum of one product, over the indices that it depends on, times the points of the rest
    /// and what the sum does not change.
    Expr summed(const Product& product, const Split& parts, Expr condition) {
        const Reduce sum{Reducer::sum, parts.summed, condition,
                         quotient(parts.inside.above, parts.inside.below)};
        std::vector<Expr> factors;
        if (const std::int64_t count = std::abs(product.count); count != 1)
            factors.push_back(context_.integer(count));
        factors.push_back(with_new_indices(program_, sum));
        factors.insert(factors.end(), parts.outside.above.begin(), parts.outside.above.end());
        if (!parts.left.empty())
            factors.push_back(box_size(program_, {Reducer::sum, parts.left, {}, {}}));
        const Expr value = quotient(std::move(factors), parts.outside.below);
        return product.count < 0 ? context_.neg(value) : value;
    }

    Program program_;
    Context& context_;
};

}  // namespace

Program expand(const Program& program) {
    Program result = canonicalise(Expander(canonicalise(program)).run());
    if (program.for_ranks)
        result.for_ranks = [again = program.for_ranks](const Ranks& ranks) {
            return expand(again(ranks));
        };
    return result;
}

}  // namespace ricci
