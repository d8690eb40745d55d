// codegen/repeated_terms.cpp – dear terms that few indices move, computed once
#include "codegen/repeated_terms.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// A value is taken so often at least.
constexpr double least_repetitions = 8;
/// A temporary of these is no matter.
constexpr double few_elements = 1 << 20;
/// Larger equations are not looked through.
constexpr std::size_t most_nodes = 512;

/// Whether the node's own operation takes many instructions.
bool is_dear(Expr e) {
    constexpr std::array dear = {Op::exp,      Op::expm1, Op::log,    Op::log1p,  Op::log2,
                                 Op::log10,    Op::cbrt,  Op::sin,    Op::cos,    Op::tan,
                                 Op::asin,     Op::acos,  Op::atan,   Op::atan2,  Op::sinh,
                                 Op::cosh,     Op::tanh,  Op::asinh,  Op::acosh,  Op::atanh,
                                 Op::erf,      Op::erfc,  Op::gamma,  Op::gelu,   Op::sigmoid,
                                 Op::softplus, Op::silu,  Op::lgamma, Op::digamma};
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || !is_floating(e->dtype)) return false;
    if (apply->op == Op::pow) return !std::holds_alternative<Literal>(apply->args[1]->term);
    return std::ranges::find(dear, apply->op) != dear.end();
}

/// Whether what the term gives is rounded once, by a function or a conversion: an addition that
/// stands alone in a temporary would not be contracted as it is elsewhere, and equal terms of two
/// equations would differ.
bool is_rounded(Expr e) {
    if (is_dear(e)) return true;
    const auto* cast = std::get_if<Cast>(&e->term);
    if (cast == nullptr) return false;
    const auto is_product = [](Expr part) {
        return is_dear(part) ||
               (is_apply(part, Op::mul) &&
                std::ranges::all_of(std::get<Apply>(part->term).args, [](Expr factor) {
                    return is_dear(factor) || std::holds_alternative<Literal>(factor->term);
                }));
    };
    return is_product(cast->a);
}

class RepeatedTerms {
  public:
    RepeatedTerms(BoundProgram program, double least_points)
        : program_(std::move(program)), make_(program_), least_points_(least_points) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            all_ = equation.indices;
            if (equation.reduction)
                all_.insert(all_.end(), equation.reduction->indices.begin(),
                            equation.reduction->indices.end());
            if (points(all_) >= least_points_ && !equation.at.empty()) take_out(equation);
            program_.equations.push_back(std::move(equation));
        }
        return std::move(program_);
    }

  private:
    [[nodiscard]] double points(const std::vector<IndexId>& indices) const {
        double product = 1;
        for (const IndexId id : indices) product *= double(program_.at(id).extent());
        return product;
    }

    void take_out(BoundEquation& equation) {
        if (postorder({equation.value}).size() > most_nodes) return;
        if (equation.reduction && equation.reduction->carry) return;
        const bool is_sum = equation.reduction.has_value();
        ExprMap<Expr> elements;
        std::vector<Expr> left = {equation.value};
        while (!left.empty()) {
            const Expr e = left.back();
            left.pop_back();
            if (elements.contains(e) || std::holds_alternative<Access>(e->term)) continue;
            if (may_be_taken_out(e, equation)) {
                elements.emplace(e, taken_out(e));
                continue;
            }
            const auto* apply = std::get_if<Apply>(&e->term);
            // What a product of rows and columns packs.
            const bool is_packed = is_sum && e == equation.value && is_apply(e, Op::mul);
            if (apply != nullptr && !is_packed)
                left.insert(left.end(), apply->args.begin(), apply->args.end());
            if (const auto* cast = std::get_if<Cast>(&e->term)) left.push_back(cast->a);
        }
        if (!elements.empty())
            equation.value = substitute(make_.context(), equation.value, elements);
    }

    [[nodiscard]] bool may_be_taken_out(Expr e, const BoundEquation& equation) const {
        if (!is_floating(e->dtype) || is_half(e->dtype) || !is_rounded(e)) return false;
        const std::vector<IndexId> own = free_indices(e);
        const auto is_own = [&](IndexId id) { return has_index(own, id); };
        const bool moves =
            equation.reduction || std::ranges::any_of(free_indices(equation.at.back()), is_own);
        // Conditions leave points out that are not counted.
        const bool is_conditional =
            equation.reduction && equation.reduction->condition &&
            std::ranges::any_of(free_indices(equation.reduction->condition), is_own);
        return !own.empty() && moves && !is_conditional &&
               points(own) * least_repetitions <= points(all_) &&
               points(own) <= largest_array(equation) && is_inside(e);
    }
    /// Elements of the largest array that the equation touches, or a few.
    [[nodiscard]] double largest_array(const BoundEquation& equation) const {
        double largest = few_elements;
        std::vector<TensorId> arrays = tensors_read(equation.value);
        arrays.push_back(equation.target);
        for (const TensorId array : arrays) {
            double elements = 1;
            for (const std::int64_t extent : program_.at(array).shape) elements *= double(extent);
            largest = std::max(largest, elements);
        }
        return largest;
    }
    /// Whether all that a term reads is inside at all points, whatever conditions say.
    [[nodiscard]] bool is_inside(Expr e) const {
        return !contains(e, [&](Expr node) {
            const auto* read = std::get_if<Access>(&node->term);
            if (read == nullptr) return false;
            const Shape& shape = program_.at(read->tensor).shape;
            for (std::size_t d = 0; d < shape.size(); ++d) {
                const auto* index = std::get_if<IndexValue>(&read->at[d]->term);
                if (index == nullptr || program_.at(index->index).lower < 0 ||
                    program_.at(index->index).upper > shape[d])
                    return true;
            }
            return false;
        });
    }

    /// An element of a temporary that holds the term.
    Expr taken_out(Expr e) {
        const std::vector<IndexId> own = in_order_of_target(free_indices(e));
        Shape shape;
        for (const IndexId id : own) shape.push_back(program_.at(id).extent());
        const TensorId array = make_.array("term", e->dtype, std::move(shape));
        program_.tensors.back().is_stored = true;
        make_.define(array, make_.offsets(own), own, e);
        return make_.context().access(array, make_.offsets(own), e->dtype);
    }
    [[nodiscard]] std::vector<IndexId> in_order_of_target(std::vector<IndexId> own) const {
        std::ranges::stable_sort(
            own, {}, [&](IndexId id) { return std::ranges::find(all_, id) - all_.begin(); });
        return own;
    }

    BoundProgram program_;
    EquationMaker make_;
    double least_points_;
    std::vector<IndexId> all_;  ///< of the equation: those of its target, then reduced ones
};

}  // namespace

BoundProgram with_repeated_terms(BoundProgram program, double least_points) {
    return RepeatedTerms(std::move(program), least_points).run();
}

}  // namespace ricci::codegen
