// dsl/expand.cpp – multiplies out the body of a sum, and sums each product over what it depends on
#include "dsl/expand.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/derived_reducer.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// More are no contraction and a few small sums any more; also keeps counts from overflowing.
constexpr std::size_t max_products = 16;
/// Of sums and products in one another: walks over terms are not recursive without bound.
constexpr int max_nesting = 16;

/// `count * above / below`.
struct Product {
    std::int64_t count = 1;
    std::vector<Expr> above = {};  ///< in order of creation: equal products have equal lists
    std::vector<Expr> below = {};
};
using Products = std::vector<Product>;  ///< their sum

bool is_part(const std::vector<IndexId>& part, const std::vector<IndexId>& of) {
    return std::ranges::all_of(part, [&](IndexId i) { return has_index(of, i); });
}

void add_indices(std::vector<IndexId>& to, const std::vector<IndexId>& more) {
    for (IndexId i : more)
        if (!has_index(to, i)) to.push_back(i);
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
    for (Expr part : sum.args) add_indices(all, free_indices(part));
    return std::ranges::none_of(sum.args,
                                [&](Expr part) { return is_part(all, free_indices(part)); });
}

class Expander {
  public:
    explicit Expander(Program program)
        : program_(std::move(program)), context_(*program_.context) {}

    Program run() && {
        for (Equation& equation : program_.equations) {
            if (!is_of_one_type(equation.value)) other_types_.insert(equation.target);
            equation.value =
                rewrite(context_, equation.value, [&](Expr node) { return expanded(node); });
        }
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
        if (!is_of_one_type(reduce.body)) return node;
        const std::optional<Products> products = multiplied_out(reduce.body);
        if (!products || products->size() < 2) return node;
        std::vector<IndexId> all = reduce.indices;
        add_indices(all, free_indices(reduce.body));
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

    /// Whether the value has the type of the arguments, which is one: no conversion, place or truth
    /// is part of it.
    bool is_of_one_type(Expr value) const {
        bool has_elements = false;
        for (Expr node : value_nodes(value)) {
            if (std::holds_alternative<Cast>(node->term)) return false;
            if (const auto* reduce = std::get_if<Reduce>(&node->term))
                if (reduce->reducer == Reducer::argmax || reduce->reducer == Reducer::argmin)
                    return false;
            if (const auto* apply = std::get_if<Apply>(&node->term))
                if (info(apply->op).type == TypeRule::boolean ||
                    info(apply->op).type == TypeRule::component)
                    return false;
            if (const auto* access = std::get_if<Access>(&node->term)) {
                if (other_types_.contains(access->tensor)) return false;
                has_elements = true;
            }
        }
        return has_elements;
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
        a.count *= b.count;
        a.above.insert(a.above.end(), b.above.begin(), b.above.end());
        a.below.insert(a.below.end(), b.below.begin(), b.below.end());
        return a;
    }

    /// Equal products of one sign are counted; those of two are kept apart, for a product that is
    /// NaN or infinite does not vanish.
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

    /// How a product is summed: what stays in the sum, over which of its indices.
    struct Split {
        Product inside;
        Product outside;
        std::vector<IndexId> depends_on = {};  ///< with the indices summed over
        std::vector<IndexId> summed = {};
        std::vector<IndexId> left = {};  ///< the product is the same at each of their points
    };
    Split split(const Product& product, const Reduce& reduce) const {
        std::vector<Expr> all = product.above;
        all.insert(all.end(), product.below.begin(), product.below.end());
        // What no point of the sum asks for is neither read nor checked: a gather keeps its sum.
        const bool is_whole = holds_gather(program_, all);
        const auto is_inside = [&](Expr factor) {
            const std::vector<IndexId> indices = free_indices(factor);
            return is_whole || std::ranges::any_of(indices, [&](IndexId i) {
                       return has_index(reduce.indices, i);
                   });
        };
        Split result;
        for (Expr factor : product.above)
            (is_inside(factor) ? result.inside : result.outside).above.push_back(factor);
        for (Expr factor : product.below)
            (is_inside(factor) ? result.inside : result.outside).below.push_back(factor);
        for (const auto* factors : {&result.inside.above, &result.inside.below})
            for (Expr factor : *factors) add_indices(result.depends_on, free_indices(factor));
        for (IndexId i : reduce.indices) {
            const bool is_used = is_whole || reduce.condition || has_index(result.depends_on, i);
            (is_used ? result.summed : result.left).push_back(i);
        }
        add_indices(result.depends_on, result.summed);
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
        if (!parts.summed.empty()) factors.push_back(with_new_indices(program_, sum));
        factors.insert(factors.end(), parts.outside.above.begin(), parts.outside.above.end());
        if (!parts.left.empty())
            factors.push_back(box_size(program_, {Reducer::sum, parts.left, {}, {}}));
        const Expr value = quotient(std::move(factors), parts.outside.below);
        return product.count < 0 ? context_.neg(value) : value;
    }

    Program program_;
    Context& context_;
    std::set<TensorId> other_types_;  ///< tensors whose type may not be that of the arguments
};

}  // namespace

void require_one_type(const Program& program, const Signature& given) {
    std::optional<std::pair<std::string, DType>> first;
    for (const Equation& equation : program.equations)
        for (Expr node : value_nodes(equation.value)) {
            const auto* access = std::get_if<Access>(&node->term);
            if (access == nullptr) continue;
            const std::string& argument = program.at(access->tensor).name;
            const auto found = given.find(argument);
            if (found == given.end() || found->second.is_weak) continue;
            const DType type = found->second.dtype;
            const bool is_one = type == DType::f32 || type == DType::f64 || is_complex(type);
            if (is_one && !first) first = {argument, type};
            if (is_one && first->second == type) continue;
            std::string message = format(
                "sums are multiplied out for arrays of one type, f32, "
                "f64, c64 or c128: `{}` is {}",
                argument, name(type));
            if (is_one) message += format(", `{}` is {}", first->first, name(first->second));
            throw Error({.kind = ErrorKind::type,
                         .message = std::move(message),
                         .source = program.source,
                         .labels = program.place(access->tensor),
                         .hint = "convert the arrays before, or take the program as it stands"});
        }
}

Program expand(const Program& program) {
    Program result = canonicalise(Expander(canonicalise(program)).run());
    if (program.for_ranks)
        result.for_ranks = [again = program.for_ranks](const Ranks& ranks) {
            return expand(again(ranks));
        };
    return result;
}

}  // namespace ricci
