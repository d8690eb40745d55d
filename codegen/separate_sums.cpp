// codegen/separate_sums.cpp – sums of products whose indices nothing ties together
#include "codegen/separate_sums.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/product_factors.h"
#include "codegen/reads_inside.h"
#include "codegen/unread.h"
#include "dsl/affine_form.h"
#include "dsl/leave_out_index.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Indices of a sum that factors or conditions tie together, and these.
struct Part {
    std::vector<IndexId> indices;
    std::vector<Expr> factors = {};
    std::vector<Expr> conditions = {};
};

class SeparateSums {
  public:
    explicit SeparateSums(BoundProgram program)
        : program_(std::move(program)), make_(program_), factors_(make_) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (const BoundEquation& equation : equations) factors_.note(equation);
        for (BoundEquation& equation : equations)
            if (!separate(equation)) program_.equations.push_back(std::move(equation));
        return found_ ? without_unread(std::move(program_)) : std::move(program_);
    }

  private:
    /// Adds the equation as a product of sums; false, and nothing done, where it is none.
    bool separate(const BoundEquation& equation) {
        if (!equation.reduction || equation.reduction->reducer != Reducer::sum ||
            equation.reduction->indices.size() < 2 || !equation.reduction->condition ||
            is_complex(equation.reduction->accumulator) ||
            !reads_nothing_empty(program_, equation.value))
            return false;
        const std::vector<Part> parts = parts_of(equation);
        if (parts.size() < 2) return false;
        Expr condition;
        for (const Part& part : parts) {
            const std::optional<Expr> exists = has_points(part);
            if (!exists || !is_inside(equation, part)) return false;
            condition = make_.both(condition, *exists);
        }
        Product sums = outer_;
        for (const Part& part : parts) sums.factors.push_back(sum_of(equation, part));
        program_.equations.push_back(factors_.as_product(equation, sums, condition));
        return found_ = true;
    }

    /// One part where all is tied together.
    std::vector<Part> parts_of(const BoundEquation& equation) {
        std::vector<Part> parts;
        for (const IndexId id : equation.reduction->indices) parts.push_back({.indices = {id}});
        const Product all = factors_.factors_of(equation.value, equation.reduction->indices,
                                                conjuncts(equation.reduction->condition));
        outer_ = {.is_negative = all.is_negative, .factors = {}, .divisors = all.divisors};
        for (const Expr factor : all.factors) {
            Part* part = tie(parts, factor);
            (part ? part->factors : outer_.factors).push_back(factor);
        }
        for (const Expr condition : needed_conditions(equation, parts)) {
            Part* part = tie(parts, condition);
            (part ? *part : parts.front()).conditions.push_back(condition);
        }
        return parts;
    }
    /// Joins the parts whose indices stand in the term, and returns them as one; none if none do.
    static Part* tie(std::vector<Part>& parts, Expr term) {
        const std::vector<IndexId> ids = free_indices(term);
        std::optional<std::size_t> first;
        for (std::size_t n = 0; n < parts.size();) {
            const bool stands_in = std::ranges::any_of(
                parts[n].indices, [&](IndexId id) { return has_index(ids, id); });
            if (!stands_in) {
                ++n;
            } else if (!first) {
                first = n++;
            } else {
                Part& to = parts[*first];
                const auto move = [](auto& from, auto& into) {
                    into.insert(into.end(), from.begin(), from.end());
                };
                move(parts[n].indices, to.indices);
                move(parts[n].factors, to.factors);
                move(parts[n].conditions, to.conditions);
                parts.erase(parts.begin() + std::ptrdiff_t(n));
            }
        }
        return first ? &parts[*first] : nullptr;
    }

    /// Without those of several parts that the others imply.
    std::vector<Expr> needed_conditions(const BoundEquation& equation,
                                        const std::vector<Part>& parts) {
        std::vector<Expr> left = conjuncts(equation.reduction->condition);
        for (std::size_t n = 0; n < left.size();) {
            std::vector<Part> tied = parts;
            tie(tied, left[n]);
            std::vector<Expr> others = left;
            others.erase(others.begin() + std::ptrdiff_t(n));
            if (tied.size() < parts.size() && is_implied(equation, left[n], others))
                left = std::move(others);
            else
                ++n;
        }
        return left;
    }
    bool is_implied(const BoundEquation& equation, Expr conjunct, const std::vector<Expr>& others) {
        Variables variables;
        affine::System said;
        if (!add_condition(said, conjunct, variables).empty() || !said.equalities.empty())
            return false;
        affine::System known;
        for (const Expr other : others) (void)add_condition(known, other, variables);
        for (const std::vector<IndexId>* ids : {&equation.indices, &equation.reduction->indices})
            for (const IndexId id : *ids)
                known.in_range(variables.number(id), program_.at(id).lower, program_.at(id).upper);
        variables.define(known);
        return std::ranges::all_of(said.inequalities, [&](const affine::Form& form) {
            return affine::implies(known, form);
        });
    }

    /// Whether its sum can be taken where other parts have no points.
    bool is_inside(const BoundEquation& equation, const Part& part) {
        std::vector<IndexId> domain = equation.indices;
        domain.insert(domain.end(), part.indices.begin(), part.indices.end());
        Expr condition;
        for (const Expr each : part.conditions) condition = make_.both(condition, each);
        const auto is_inside = [&](Expr e) { return reads_inside(program_, domain, condition, e); };
        return std::ranges::all_of(part.factors, is_inside) &&
               std::ranges::all_of(part.conditions, is_inside);
    }

    /// When some point of the part counts. Empty: always; nothing where that cannot be told.
    std::optional<Expr> has_points(const Part& part) {
        Expr condition;
        for (const Expr each : part.conditions) condition = make_.both(condition, each);
        for (const IndexId id : part.indices) {
            if (!condition && program_.at(id).extent() == 0) return std::nullopt;
            if (!condition) break;
            const std::optional<Expr> left = leave_out_index(program_, condition, id);
            if (!left) return std::nullopt;
            condition = *left;
        }
        return condition;
    }

    /// An element of an array of the sums over a part.
    Expr sum_of(const BoundEquation& equation, const Part& part) {
        const DType type = equation.reduction->accumulator;
        BoundEquation sum;
        sum.value = factors_.term({.factors = part.factors}, type);
        sum.reduction = equation.reduction;
        sum.reduction->indices = part.indices;
        sum.reduction->condition = Expr();
        for (const Expr condition : part.conditions)
            sum.reduction->condition = make_.both(sum.reduction->condition, condition);
        std::vector<Expr> terms = {sum.value};
        if (sum.reduction->condition) terms.push_back(sum.reduction->condition);
        Shape shape;
        for (const IndexId id : equation.indices) {
            const bool moves = std::ranges::any_of(
                terms, [&](Expr term) { return has_index(free_indices(term), id); });
            if (!moves) continue;
            sum.indices.push_back(id);
            shape.push_back(program_.at(id).extent());
        }
        sum.at = make_.offsets(sum.indices);
        sum.target =
            make_.array(program_.at(equation.target).name + "_part", type, std::move(shape));
        const Expr element = make_.context().access(sum.target, sum.at, type);
        program_.equations.push_back(std::move(sum));
        return element;
    }

    BoundProgram program_;
    EquationMaker make_;
    ProductFactors factors_;
    Product outer_;  ///< factors of no index of the sum
    bool found_ = false;
};

}  // namespace

BoundProgram with_separate_sums(BoundProgram program) {
    return SeparateSums(std::move(program)).run();
}

}  // namespace ricci::codegen
