// codegen/recurrences.cpp – sums up to each point whose terms a factor carries on
#include "codegen/recurrences.h"

#include <algorithm>
#include <cstdlib>
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
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Sums of larger shifts and bounds may leave 64 bits.
constexpr std::int64_t most_shift = std::int64_t{1} << 60;

class Recurrences {
  public:
    explicit Recurrences(BoundProgram program)
        : program_(std::move(program)),
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
        const std::vector<Expr> conditions = conjuncts(equation.reduction->condition);
        if (conditions.size() != 1) return false;
        const std::optional<Prefix> prefix = as_prefix(conditions[0], equation.reduction->indices);
        if (!prefix || !has_index(equation.indices, prefix->result) ||
            std::abs(prefix->shift) > most_shift || !leaves_points_out(*prefix))
            return false;
        const DType type = equation.reduction->accumulator;
        Product carries;
        Product inner;
        Product outer;
        // Places of data are chosen by the condition, too.
        Context& context = make_.context();
        const Expr value =
            substitute(context, equation.value,
                       {{conditions[0], context.literal(Number(true), DType::boolean)}});
        const Product all = factors_.factors_of(value, equation.reduction->indices);
        inner.is_negative = all.is_negative;
        outer.divisors = all.divisors;
        for (const Expr factor : all.factors) {
            if (const std::optional<Carry> carry = carried_.carry_of(factor, {equation, *prefix})) {
                carries.factors.push_back(carry->value);
                if (carry->own) inner.factors.push_back(carry->own);
                if (carry->outer) outer.factors.push_back(carry->outer);
            } else {
                (has(factor, prefix->reduced) ? inner : outer).factors.push_back(factor);
            }
        }
        const auto is_of_results = [&](Expr e) { return has(e, prefix->result); };
        if (carries.factors.empty() || std::ranges::any_of(inner.factors, is_of_results))
            return false;
        BoundEquation sum = equation;
        sum.value = factors_.term(inner, type);
        sum.reduction->indices = {prefix->reduced};
        sum.reduction->carry = factors_.term(carries, type);
        if (outer.is_one() && equation.reduction->indices.size() == 1)
            program_.equations.push_back(std::move(sum));
        else if (!finish(equation, std::move(outer), sum))
            return false;
        found_ = true;
        return true;
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
        const std::optional<Expr> exists = leave_out_index(program_, reduction.condition, point);
        if (!exists || !reads_nothing_empty(program_, equation.value)) return false;
        const std::vector<Expr> terms = {sum.value, sum.reduction->carry, reduction.condition};
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
    EquationMaker make_;
    ProductFactors factors_;
    CarriedFactors carried_;
    bool found_ = false;
};

}  // namespace

BoundProgram with_recurrences(BoundProgram program) {
    return Recurrences(std::move(program)).run();
}

}  // namespace ricci::codegen
