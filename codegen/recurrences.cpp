// codegen/recurrences.cpp – sums up to each point whose terms a factor carries on
#include "codegen/recurrences.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/carried_factors.h"
#include "codegen/equation_maker.h"
#include "codegen/prefix.h"
#include "codegen/product_factors.h"
#include "codegen/reads_inside.h"
#include "codegen/unread.h"
#include "dsl/affine_form.h"
#include "dsl/leave_out_index.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

class Recurrences {
  public:
    Recurrences(BoundProgram program, bool takes_sums)
        : program_(std::move(program)),
          takes_sums_(takes_sums),
          make_(program_),
          factors_(make_),
          carried_(make_, factors_) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (const BoundEquation& equation : equations) {
            factors_.note(equation);
            carried_.note(equation);
        }
        for (BoundEquation& equation : equations)
            if (!walk(equation)) program_.equations.push_back(std::move(equation));
        return found_ ? without_unread(std::move(program_)) : std::move(program_);
    }

  private:
    /// Adds the equation as a walk; false, and nothing done, where it is none.
    bool walk(const BoundEquation& equation) {
        if (!equation.reduction || equation.reduction->reducer != Reducer::sum ||
            !equation.is_injective || is_complex(equation.reduction->accumulator))
            return false;
        const std::optional<Prefix> prefix = find_prefix(equation);
        if (!prefix) return false;
        Product carries;
        Product inner;
        Product outer;
        DType type = equation.reduction->accumulator;
        if (!sort_factors(equation, *prefix, carries, inner, outer, type)) return false;
        BoundEquation sum = equation;
        sum.reduction->indices = {prefix->reduced};
        sum.reduction->accumulator = type;
        sum.reduction->condition = condition_;
        sum.value = converted(inner, type);
        if (!carries.factors.empty()) sum.reduction->carry = converted(carries, type);
        // The walk goes over all points and results, also those that other conditions exclude.
        std::vector<IndexId> domain = equation.indices;
        domain.insert(domain.end(), equation.reduction->indices.begin(),
                      equation.reduction->indices.end());
        if ((of_points_ || of_results_) && !reads_inside(program_, domain, condition_, sum.value))
            return false;
        if (of_points_)
            sum.value =
                make_.choose(of_points_, sum.value, identity(make_.context(), Reducer::sum, type));
        if (outer.is_one() && !of_results_ && equation.reduction->indices.size() == 1)
            program_.equations.push_back(std::move(sum));
        else if (!finish(equation, std::move(outer), sum))
            return false;
        return found_ = true;
    }

    /// The conjunct that relates points and results, if there is one; the others say which points
    /// count, or which results.
    std::optional<Prefix> find_prefix(const BoundEquation& equation) {
        std::optional<Prefix> found;
        condition_ = Expr();
        std::vector<Expr> others;
        for (const Expr each : conjuncts(equation.reduction->condition)) {
            const std::optional<Prefix> prefix = as_prefix(each, equation.reduction->indices);
            if (prefix && !found && has_index(equation.indices, prefix->result)) {
                found = prefix;
                condition_ = each;
            } else {
                others.push_back(each);
            }
        }
        if (!found || !leaves_points_out(*found)) return std::nullopt;
        of_points_ = Expr();
        of_results_ = Expr();
        for (const Expr each : others) {
            const std::vector<IndexId>& reduced = equation.reduction->indices;
            const bool is_of_points =
                std::ranges::any_of(reduced, [&](IndexId id) { return has(each, id); });
            if (is_of_points && has(each, found->result)) return std::nullopt;
            Expr& all = is_of_points ? of_points_ : of_results_;
            all = make_.both(all, each);
        }
        return found;
    }

    /// What carries the sum on, what is of points, and what is of results; the type they are
    /// computed in. False where they are not apart.
    bool sort_factors(const BoundEquation& equation, const Prefix& prefix, Product& carries,
                      Product& inner, Product& outer, DType& type) {
        // Places of data are chosen by the condition, too.
        Context& context = make_.context();
        const Expr value = substitute(
            context, equation.value, {{condition_, context.literal(Number(true), DType::boolean)}});
        const Product all = factors_.factors_of(value, equation.reduction->indices,
                                                conjuncts(equation.reduction->condition));
        inner.is_negative = all.is_negative;
        outer.divisors = all.divisors;
        for (const Expr factor : all.factors) {
            const std::optional<Carry> carry =
                carried_.carry_of(factor, {equation, prefix, condition_});
            if (!carry) {
                (has(factor, prefix.reduced) ? inner : outer).factors.push_back(factor);
                continue;
            }
            carries.factors.push_back(carry->value);
            if (carry->own) inner.factors.push_back(carry->own);
            if (carry->outer) outer.factors.push_back(carry->outer);
            if (carry->is_rate) type = carry->value->dtype;
        }
        return (!carries.factors.empty() || (takes_sums_ && of_results_)) &&
               std::ranges::none_of(inner.factors, [&](Expr e) { return has(e, prefix.result); });
    }
    Expr converted(Product product, DType type) {
        for (Expr& factor : product.factors) factor = make_.context().cast(factor, type);
        return factors_.term(product, type);
    }

    /// Whether results take different points, and one that has something to carry.
    [[nodiscard]] bool leaves_points_out(const Prefix& prefix) const {
        const BoundIndex& p = program_.at(prefix.reduced);
        const BoundIndex& r = program_.at(prefix.result);
        const auto [first, last] = taken_points(program_, prefix);
        return first < last && (prefix.is_suffix ? p.lower < r.upper - 1 + prefix.shift
                                                 : p.upper - 1 > r.lower + prefix.shift);
    }
    static bool has(Expr e, IndexId id) { return has_index(free_indices(e), id); }

    /// Adds the sum, and the equation as what it gives times the factors, summed over its other
    /// indices.
    bool finish(const BoundEquation& equation, Product outer, BoundEquation& sum) {
        const Reduction& reduction = *equation.reduction;
        const IndexId point = sum.reduction->indices[0];
        std::optional<Expr> exists = leave_out_index(program_, condition_, point);
        if (exists) exists = make_.both(*exists, of_results_);
        if (!exists || !reads_nothing_empty(program_, equation.value)) return false;
        std::vector<Expr> terms = {sum.value, condition_};
        if (sum.reduction->carry) terms.push_back(sum.reduction->carry);
        Shape shape;
        sum.indices.clear();
        for (const std::vector<IndexId>* ids : {&equation.indices, &reduction.indices})
            for (const IndexId id : *ids) {
                if (id == point || std::ranges::none_of(terms, [&](Expr e) { return has(e, id); }))
                    continue;
                sum.indices.push_back(id);
                shape.push_back(program_.at(id).extent());
            }
        const DType type = reduction.accumulator;
        sum.at = make_.offsets(sum.indices);
        sum.op = Assign::define;
        sum.target = make_.array(program_.at(equation.target).name + "_sum", type, shape);
        program_.equations.push_back(sum);
        outer.factors.push_back(make_.context().access(sum.target, sum.at, type));
        if (reduction.indices.size() == 1) {
            program_.equations.push_back(factors_.as_product(equation, outer, *exists));
            return true;
        }
        BoundEquation result = equation;
        result.value = factors_.term(outer, type);
        std::erase(result.reduction->indices, point);
        result.reduction->condition = *exists;
        program_.equations.push_back(std::move(result));
        return true;
    }

    BoundProgram program_;
    bool takes_sums_;
    EquationMaker make_;
    ProductFactors factors_;
    CarriedFactors carried_;
    Expr condition_;   ///< of points and results
    Expr of_points_;   ///< which points count
    Expr of_results_;  ///< which results
    bool found_ = false;
};

}  // namespace

BoundProgram with_recurrences(BoundProgram program, bool takes_sums) {
    return Recurrences(std::move(program), takes_sums).run();
}

}  // namespace ricci::codegen
