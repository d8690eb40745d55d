// codegen/contraction_order.cpp – sums of products of several factors, two factors at a time
#include "codegen/contraction_order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/made_parts.h"
#include "codegen/prefix.h"
#include "codegen/reads_inside.h"
#include "codegen/term_cost.h"
#include "dsl/affine_form.h"
#include "dsl/leave_out_index.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// All orders of so many factors are compared: 3^10 splits, some milliseconds.
constexpr std::size_t most_factors = 10;
/// Longer terms, and products of more factors, equal ones included, are left alone: one that
/// squares again and again is short, and has a factor for each of its paths.
constexpr std::size_t most_nodes = 256;
constexpr std::size_t most_equal_factors = 64;
/// An element of an array in between is written and read: as many operations as that takes.
constexpr double element_cost = 4;
/// Larger arrays are not made, however many operations that would save.
constexpr double most_bytes = 1 << 30;
/// Fewer operations by that factor are worth another order of rounding and more kernels.
constexpr double least_gain = 2;
/// Products of three sides and more have no panels: `y[n] := X[n,i]*A[i,j]*X[n,j]` of 512 by 256
/// gains nearly two, 1.15 and 0.59 ms (Zen 4).
constexpr double least_gain_of_sides = 1.5;

using Set = std::uint32_t;  ///< of factors, or of indices: a bit each

class Order {
  public:
    Order(EquationMaker& make, MadeParts& made, BoundEquation equation,
          std::vector<BoundEquation>& result)
        : make_(make),
          made_(made),
          program_(make.program()),
          equation_(std::move(equation)),
          result_(result) {}

    /// Adds the equations in a better order; false, and nothing done, where there is none.
    bool run(double least_points) {
        if (!find_factors() || !find_prefix()) return false;
        const Set all = (Set{1} << leaves_.size()) - 1;
        const double written_points = points_of_sum(indices_of(all) | prefix_.result, free_);
        double products = 0;
        for (std::size_t f = 1; f < leaves_.size(); ++f)
            products += width((Set{1} << f) - 1) * width(Set{1} << f);
        const double as_written = written_points * (products + own_cost(all));
        if (written_points * double(leaves_.size() - 1) < least_points) return false;
        find_order(all);
        const double least = has_two_sides_ ? least_gain : least_gain_of_sides;
        if (!(best_[all].cost * least <= as_written)) return false;
        finish(all);
        return true;
    }

  private:
    /// Bits of the two indices that the condition compares, of a sum up to each result, or from it
    /// on; 0 without one.
    struct PrefixSets {
        Set result = 0;
        Set reduced = 0;
        /// Which results have points: of others, sums are 0 whatever their factors are. Empty: all.
        Expr has_points = Expr();
    };
    /// Factors that have the same indices.
    struct Leaf {
        Expr value;
        Set indices = 0;
        double cost = 0;          ///< operations at a point of a product that it stands in
        bool is_divisor = false;  ///< of what no single factor has all indices of
        Expr real = Expr();       ///< the value without an imaginary part, among complex ones
    };
    /// How the product of some factors is computed best.
    struct Best {
        double cost = std::numeric_limits<double>::infinity();
        Set left = 0;        ///< the factors of one side; of a single factor itself
        Expr made = Expr();  ///< an element of an array that an earlier equation made of it
    };

    /// The factors of a product. A sign, or a scalar that divides, stays with the last factor of
    /// what it was written for: moved, it might no longer keep the products in range. What divides
    /// and is the same along an index of the sum is a factor, too.
    void add_factors(std::vector<Expr>& factors, Expr e) {
        if (factors.size() > most_equal_factors) return;
        Context& context = make_.context();
        const auto* apply = std::get_if<Apply>(&e->term);
        const bool divides = apply != nullptr && apply->op == Op::div && !is_integer(e->dtype);
        if (apply != nullptr && apply->op == Op::mul) {
            for (const Expr arg : apply->args) add_factors(factors, arg);
        } else if (apply != nullptr && apply->op == Op::conj && is_complex(e->dtype)) {
            const std::size_t first = factors.size();
            add_factors(factors, apply->args[0]);
            for (std::size_t n = first; n < factors.size(); ++n) factors[n] = conjugate(factors[n]);
        } else if (apply != nullptr &&
                   (apply->op == Op::neg || (divides && free_indices(apply->args[1]).empty()))) {
            add_factors(factors, apply->args[0]);
            std::vector<Expr> args = apply->args;
            args[0] = factors.back();
            factors.back() = context.apply(apply->op, std::move(args), e->dtype);
        } else if (divides && !is_complex(e->dtype) &&
                   is_narrower(apply->args[1], apply->args[0])) {
            const std::size_t first = factors.size();
            add_factors(factors, apply->args[0]);
            const std::size_t indices = free_indices(apply->args[0]).size();
            const bool is_of_product =
                std::none_of(factors.begin() + std::ptrdiff_t(first), factors.end(),
                             [&](Expr factor) { return free_indices(factor).size() == indices; });
            factors.push_back(
                context.apply(Op::div, {context.literal(1.0, e->dtype), apply->args[1]}, e->dtype));
            if (is_of_product) divisors_.push_back(factors.back());
        } else {
            factors.push_back(e);
        }
    }
    [[nodiscard]] Expr conjugate(Expr e) const {
        if (!is_complex(e->dtype)) return e;
        if (is_apply(e, Op::conj)) return std::get<Apply>(e->term).args[0];
        return make_.context().apply(Op::conj, {e}, e->dtype);
    }
    [[nodiscard]] DType accumulator() const { return equation_.reduction->accumulator; }
    /// The factor of a complex product in the type of its parts, if it has no imaginary one; empty
    /// if it has.
    [[nodiscard]] Expr real_value(Expr e) const {
        if (!is_complex(accumulator())) return {};
        Context& context = make_.context();
        if (!is_complex(e->dtype)) return context.cast(e, component(accumulator()), true);
        if (const auto* cast = std::get_if<Cast>(&e->term)) return real_value(cast->a);
        if (is_apply(e, Op::conj)) return real_value(std::get<Apply>(e->term).args[0]);
        return {};
    }
    /// Whether a product of these factors has no imaginary part among complex ones.
    [[nodiscard]] bool is_real(Set factors) const {
        for (std::size_t f = 0; f < leaves_.size(); ++f)
            if ((factors >> f & 1) != 0 && !leaves_[f].real) return false;
        return is_complex(accumulator());
    }
    [[nodiscard]] DType type_of(Set factors) const {
        return is_real(factors) ? component(accumulator()) : accumulator();
    }
    /// Real numbers of a product of these factors.
    [[nodiscard]] double width(Set factors) const { return is_complex(type_of(factors)) ? 2 : 1; }
    /// `a/z` where b is the factor `1/z`: quotients round as written, and `1/z` may be infinite.
    Expr times(Expr a, Expr b) {
        for (const auto& [factor, other] : {std::pair(b, a), std::pair(a, b)}) {
            const auto* quotient = std::get_if<Apply>(&factor->term);
            if (quotient == nullptr || quotient->op != Op::div) continue;
            const auto* literal = std::get_if<Literal>(&quotient->args[0]->term);
            const auto* one = literal ? std::get_if<double>(&literal->value) : nullptr;
            if (one != nullptr && *one == 1)
                return make_.context().apply(Op::div, {other, quotient->args[1]}, factor->dtype);
        }
        Context& context = make_.context();
        const bool is_wide = is_complex(a->dtype) || is_complex(b->dtype);
        const auto fitted = [&](Expr e) {
            return is_wide ? context.cast(e, accumulator(), true) : e;
        };
        return context.mul(fitted(a), fitted(b));
    }
    /// Whether the divisor is the same along an index of the sum that the dividend moves with.
    [[nodiscard]] bool is_narrower(Expr divisor, Expr dividend) const {
        const std::vector<IndexId> of_dividend = free_indices(dividend);
        const std::vector<IndexId> of_divisor = free_indices(divisor);
        return std::ranges::any_of(equation_.reduction->indices, [&](IndexId id) {
            return has_index(of_dividend, id) && !has_index(of_divisor, id);
        });
    }

    bool find_factors() {
        const Reduction& reduction = *equation_.reduction;
        domain_ = equation_.indices;
        domain_.insert(domain_.end(), reduction.indices.begin(), reduction.indices.end());
        if (domain_.size() > 32) return false;
        std::vector<Expr> factors;
        if (postorder({equation_.value}).size() > most_nodes) return false;
        add_factors(factors, equation_.value);
        if (factors.size() > most_equal_factors) return false;
        for (const Expr factor : factors) {
            Set indices = 0;
            for (const IndexId id : free_indices(factor)) {
                const Set bit = bit_of(id);
                if ((found_ & bit) == 0) appearance_.push_back(id);
                found_ |= bit;
                indices |= bit;
            }
            const auto same = std::ranges::find(leaves_, indices, &Leaf::indices);
            const bool is_divisor = std::ranges::find(divisors_, factor) != divisors_.end();
            const Expr real = real_value(factor);
            if (same == leaves_.end()) {
                leaves_.push_back({factor, indices, 0, is_divisor, real});
                continue;
            }
            same->value = times(same->value, factor);
            same->real = same->real && real ? make_.context().mul(same->real, real) : Expr();
            same->is_divisor |= is_divisor;
        }
        count_costs();
        for (const IndexId id : equation_.indices) free_ |= bit_of(id);
        // An index that no factor has would be lost.
        const bool has_all = std::ranges::all_of(
            reduction.indices, [&](IndexId id) { return (found_ & bit_of(id)) != 0; });
        return has_all && leaves_.size() >= 2 && leaves_.size() <= most_factors;
    }

    /// Reads the condition; false where it is anything but one of a prefix. Factors are read at
    /// points that it leaves out.
    bool find_prefix() {
        const Reduction& reduction = *equation_.reduction;
        if (!reduction.condition) return true;
        const std::vector<Expr> conditions = conjuncts(reduction.condition);
        if (conditions.size() != 1) return false;
        const std::optional<Prefix> prefix = as_prefix(conditions[0], reduction.indices);
        if (!prefix || !has_index(equation_.indices, prefix->result)) return false;
        if (!reads_inside(program_, domain_, Expr(), equation_.value)) return false;
        prefix_ = {.result = bit_of(prefix->result), .reduced = bit_of(prefix->reduced)};
        const BoundIndex& points = program_.at(prefix->reduced);
        const BoundIndex& results = program_.at(prefix->result);
        const bool have_all_points = prefix->is_suffix
                                         ? results.upper - 1 + prefix->shift < points.upper
                                         : results.lower + prefix->shift >= points.lower;
        if (!have_all_points) {
            const auto exists = leave_out_index(program_, conditions[0], prefix->reduced);
            if (!exists) return false;
            prefix_.has_points = *exists;
        }
        // Arrays of sums have the result where their terms have the point.
        const auto result = std::ranges::find(appearance_, prefix->result);
        const auto reduced = std::ranges::find(appearance_, prefix->reduced);
        const auto first = std::min(result, reduced) - appearance_.begin();
        std::erase(appearance_, prefix->result);
        std::erase(appearance_, prefix->reduced);
        appearance_.insert(appearance_.begin() + first, {prefix->result, prefix->reduced});
        return true;
    }

    /// A product of two sides computes the terms of a side once for all points of the other one; of
    /// more sides, terms are computed at each point. Where all of a product is divided, it is so at
    /// each point in any case.
    void count_costs() {
        const auto is_side = [&](const Leaf& leaf) {
            return std::ranges::none_of(leaves_, [&](const Leaf& other) {
                return other.indices != leaf.indices &&
                       (other.indices & leaf.indices) == leaf.indices;
            });
        };
        has_two_sides_ = std::ranges::count_if(leaves_, is_side) <= 2;
        for (Leaf& leaf : leaves_) {
            if (has_two_sides_ && !leaf.is_divisor) continue;
            for (const Expr node : postorder({leaf.value}))
                if (std::holds_alternative<Apply>(node->term)) leaf.cost += cost(node);
        }
    }

    [[nodiscard]] Set bit_of(IndexId id) const {
        return Set{1} << (std::ranges::find(domain_, id) - domain_.begin());
    }
    [[nodiscard]] double points(Set indices) const {
        double product = 1;
        for (std::size_t n = 0; n < domain_.size(); ++n)
            if ((indices >> n & 1) != 0) product *= double(program_.at(domain_[n]).extent());
        return product;
    }
    /// Of a product at so many indices, of which it keeps some: half of them where those of the
    /// condition are among them.
    [[nodiscard]] double points_of_sum(Set indices, Set kept) const {
        const bool is_half = has_condition(indices & ~kept) && (indices & prefix_.result) != 0;
        return points(indices) * (is_half ? 0.5 : 1);
    }
    /// All that some of the factors have.
    [[nodiscard]] Set indices_of(Set factors) const {
        Set found = 0;
        for (std::size_t f = 0; f < leaves_.size(); ++f)
            if ((factors >> f & 1) != 0) found |= leaves_[f].indices;
        return found;
    }
    /// Operations of the factors themselves.
    [[nodiscard]] double own_cost(Set factors) const {
        double sum = 0;
        for (std::size_t f = 0; f < leaves_.size(); ++f)
            if ((factors >> f & 1) != 0) sum += leaves_[f].cost;
        return sum;
    }
    /// Those of a side of a product, at each of its points: of a factor that was not made before.
    [[nodiscard]] double cost_in_product(Set side) const {
        const bool is_term = std::has_single_bit(side) && kept(side) == indices_of(side);
        return is_term ? own_cost(side) : 0;
    }
    /// Those that their product keeps: free, or of other factors too; and the result that a sum up
    /// to each one is for.
    [[nodiscard]] Set kept(Set factors) const {
        const Set others = ((Set{1} << leaves_.size()) - 1) & ~factors;
        const Set own = indices_of(factors);
        const Set kept = own & (free_ | indices_of(others));
        return kept | (has_condition(own & ~kept) ? prefix_.result : 0);
    }
    /// Whether the sum over these indices is the one that has the condition.
    [[nodiscard]] bool has_condition(Set summed) const { return (summed & prefix_.reduced) != 0; }

    [[nodiscard]] double cost_of_array(Set indices) const {
        const double elements = points(indices);
        const double bytes = elements * double(size_bytes(equation_.reduction->accumulator));
        return bytes <= most_bytes ? element_cost * elements
                                   : std::numeric_limits<double>::infinity();
    }

    void find_order(Set all) {
        best_.assign(std::size_t(all) + 1, {});
        for (Set set = 1; set <= all; ++set) {
            Best& best = best_[set];
            if (const auto made = set == all ? std::nullopt : made_.find(part_of(set))) {
                best = {.cost = 0, .left = set, .made = *made};
                continue;
            }
            if (std::has_single_bit(set)) {
                const Set indices = indices_of(set);
                const bool is_summed = kept(set) != indices;
                const double sum = points_of_sum(indices, kept(set)) * (1 + own_cost(set));
                best = {.cost = is_summed ? width(set) * (sum + cost_of_array(kept(set))) : 0,
                        .left = set};
                continue;
            }
            const double own = set == all ? 0 : width(set) * cost_of_array(kept(set));
            // Each split once: the left side has the lowest factor.
            const Set lowest = set & -set;
            for (Set left = (set - 1) & set; left != 0; left = (left - 1) & set) {
                if ((left & lowest) == 0) continue;
                const Set right = set & ~left;
                const double each =
                    width(left) * width(right) + cost_in_product(left) + cost_in_product(right);
                const double cost = best_[left].cost + best_[right].cost + own +
                                    points_of_sum(kept(left) | kept(right), kept(set)) * each;
                if (cost < best.cost) best = {.cost = cost, .left = left};
            }
        }
    }

    /// Those of the domain in the order in which the factors name them, so that arrays in between
    /// lie as their operands do.
    [[nodiscard]] std::vector<IndexId> ids_of(Set indices) const {
        std::vector<IndexId> ids = appearance_;
        std::erase_if(ids, [&](IndexId id) { return (indices & bit_of(id)) == 0; });
        return ids;
    }

    [[nodiscard]] Reduction reduction_over(Set indices, DType type) const {
        Reduction reduction = *equation_.reduction;
        reduction.accumulator = type;
        std::erase_if(reduction.indices, [&](IndexId id) { return (indices & bit_of(id)) == 0; });
        if (!has_condition(indices)) reduction.condition = Expr();
        return reduction;
    }

    [[nodiscard]] PartTerms part_of(Set set) const {
        PartTerms part{
            .factors = {}, .kept = ids_of(kept(set)), .condition = Expr(), .type = type_of(set)};
        for (std::size_t f = 0; f < leaves_.size(); ++f)
            if ((set >> f & 1) != 0) part.factors.push_back(leaves_[f].value);
        if (has_condition(indices_of(set) & ~kept(set)))
            part.condition = equation_.reduction->condition;
        return part;
    }

    /// The product of some factors at the indices that it keeps; arrays in between are made.
    Expr product(Set set) {
        if (best_[set].made) return best_[set].made;
        if (std::has_single_bit(set)) {
            const Leaf& leaf = leaves_[std::size_t(std::countr_zero(set))];
            const Expr value = leaf.real ? leaf.real : leaf.value;
            return kept(set) == leaf.indices ? value : part(set, value, leaf.indices);
        }
        const Set left = best_[set].left;
        const Set right = set & ~left;
        const Expr a = product(left);
        const Expr b = product(right);
        return part(set, times(a, b), kept(left) | kept(right));
    }

    /// An array of the sums of the value, which has those indices.
    Expr part(Set set, Expr value, Set indices) {
        const DType type = type_of(set);
        const std::vector<IndexId> ids = ids_of(kept(set));
        Shape shape;
        for (const IndexId id : ids) shape.push_back(program_.at(id).extent());
        const TensorId array =
            make_.array(program_.at(equation_.target).name + "_part", type, std::move(shape));
        const std::vector<Expr> at = make_.offsets(ids);
        BoundEquation equation;
        equation.target = array;
        equation.at = at;
        equation.indices = ids;
        equation.value = value;
        if (const Set summed = indices & ~kept(set); summed != 0)
            equation.reduction = reduction_over(summed, type);
        result_.push_back(std::move(equation));
        made_.add(part_of(set), array, ids);
        return make_.context().access(array, at, type);
    }

    void finish(Set all) {
        Context& context = make_.context();
        const Set left = best_[all].left;
        const Set right = all & ~left;
        const Expr a = product(left);
        const Expr b = product(right);
        const DType type = accumulator();
        const Expr product_of_all = times(a, b);
        const Expr value =
            is_complex(type) ? context.cast(product_of_all, type, true) : product_of_all;
        BoundEquation equation = equation_;
        const Set summed = (kept(left) | kept(right)) & ~free_;
        // A sum in between is 0 where it has no points: that may not meet what is infinite or NaN.
        const Expr exists = has_condition(summed) ? Expr() : prefix_.has_points;
        if (summed != 0) {
            equation.reduction = reduction_over(summed, type);
            equation.reduction->condition = make_.both(equation.reduction->condition, exists);
            equation.value = value;
        } else {
            const DType target = program_.at(equation_.target).dtype;
            equation.reduction.reset();
            const Expr whole =
                exists ? make_.choose(exists, value, identity(context, Reducer::sum, type)) : value;
            equation.value = target == type ? whole : context.cast(whole, target, true);
        }
        result_.push_back(std::move(equation));
    }

    EquationMaker& make_;
    MadeParts& made_;
    BoundProgram& program_;
    BoundEquation equation_;
    std::vector<BoundEquation>& result_;
    std::vector<IndexId> domain_;      ///< free, then reduced: the bits of a Set
    std::vector<IndexId> appearance_;  ///< the same in the order of the factors
    Set found_ = 0;                    ///< those in it
    Set free_ = 0;
    PrefixSets prefix_;
    std::vector<Expr> divisors_;  ///< factors that divide a product
    std::vector<Leaf> leaves_;
    bool has_two_sides_ = false;  ///< all factors have indices of one of two
    std::vector<Best> best_;      ///< by set of factors
};

enum class Numbers : std::uint8_t { real, complex };

bool is_sum_of_product(const BoundEquation& equation, Numbers numbers) {
    const std::optional<Reduction>& reduction = equation.reduction;
    return reduction && reduction->reducer == Reducer::sum && !reduction->carry &&
           is_complex(reduction->accumulator) == (numbers == Numbers::complex);
}

BoundProgram with_order(BoundProgram program, Numbers numbers, double least_points,
                        bool has_walks) {
    EquationMaker make(program);
    MadeParts made(make);
    std::vector<BoundEquation> result;
    for (const BoundEquation& equation : program.equations) {
        const bool may_be_ordered =
            is_sum_of_product(equation, numbers) && (has_walks || !equation.reduction->condition);
        if (!may_be_ordered || !Order(make, made, equation, result).run(least_points))
            result.push_back(equation);
    }
    program.equations = std::move(result);
    return program;
}

}  // namespace

BoundProgram with_contraction_order(BoundProgram program, double least_points, bool has_walks) {
    return with_order(std::move(program), Numbers::real, least_points, has_walks);
}

SplitProgram split_in_order(BoundProgram program, double least_points) {
    return with_joined_outputs(
        split_complex(with_order(std::move(program), Numbers::complex, least_points, false)));
}

BoundProgram in_real_numbers(BoundProgram program, double least_points) {
    if (!has_complex(program)) return program;
    return split_in_order(std::move(program), least_points).program;
}

}  // namespace ricci::codegen
