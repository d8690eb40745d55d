// codegen/separable_windows.cpp – sums over windows, one index after the other
#include "codegen/separable_windows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/joined_indices.h"
#include "codegen/long_windows.h"
#include "codegen/reads_inside.h"
#include "dsl/affine_form.h"
#include "dsl/leave_out_index.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// An element of an array in between is written and read: as many operations as that takes.
constexpr double element_cost = 8;
/// Fewer operations by that factor are worth another order of rounding and more kernels.
constexpr double least_gain = 2;
/// Larger arrays are not made, however many operations that would save.
constexpr double most_bytes = 1 << 30;
/// Longer terms are left alone.
constexpr std::size_t most_nodes = 128;

/// A reduction over one index that is taken first.
struct Inner {
    IndexId summed{};
    std::vector<Expr> factors;  ///< of what has the index, in terms of the joined indices
    std::vector<Expr> conditions;
    Product others;  ///< what does not have it, as it is written
    std::vector<Expr> other_conditions;
    std::vector<JoinedIndices> windows;
    std::vector<IndexId> kept;  ///< those of the array in between
    double cost = 0;            ///< operations after it
};

class SeparableWindows {
  public:
    SeparableWindows(BoundProgram program, double least_points)
        : program_(std::move(program)), make_(program_), least_points_(least_points) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            while (may_be_split(equation)) {
                const std::optional<Inner> inner = best_inner(equation);
                if (!inner) break;
                take_first(equation, *inner);
            }
            program_.equations.push_back(std::move(equation));
        }
        return std::move(program_);
    }

  private:
    [[nodiscard]] double points(const std::vector<IndexId>& ids) const {
        double all = 1;
        for (const IndexId id : ids) all *= double(program_.at(id).extent());
        return all;
    }
    [[nodiscard]] double points(const BoundEquation& equation) const {
        double all = points(equation.indices);
        for (const IndexId id : equation.reduction->indices)
            all *= double(most_values(program_, equation.reduction->condition, id));
        return all;
    }
    [[nodiscard]] bool may_be_split(const BoundEquation& equation) const {
        if (!joins_points(equation) || equation.reduction->indices.size() < 2) return false;
        const double all = points(equation);
        return all > 0 && all >= least_points_ && postorder({equation.value}).size() <= most_nodes;
    }

    std::optional<Inner> best_inner(const BoundEquation& equation) {
        std::optional<Inner> best;
        const double as_written = points(equation);
        for (const IndexId id : equation.reduction->indices) {
            const std::size_t indices = program_.indices.size();
            std::optional<Inner> inner = inner_over(equation, id);
            const bool is_forced = least_points_ == 0;
            if (!inner ||
                (!is_forced && (inner->cost * least_gain > as_written ||
                                as_written - inner->cost < least_points_)) ||
                (best && best->cost <= inner->cost)) {
                program_.indices.resize(indices);
                continue;
            }
            best = std::move(inner);
        }
        return best;
    }

    /// The reduction over one index that shares points of windows; nothing where it shares none.
    std::optional<Inner> inner_over(const BoundEquation& equation, IndexId id) {
        Inner inner;
        inner.summed = id;
        const auto has = [&](Expr e) { return has_index(free_indices(e), id); };
        inner.others = product_along(make_, equation, id);
        const std::vector<Expr> factors = std::exchange(inner.others.factors, {});
        for (const Expr factor : factors)
            (has(factor) ? inner.factors : inner.others.factors).push_back(factor);
        for (const Expr each : conjuncts(equation.reduction->condition))
            (has(each) ? inner.conditions : inner.other_conditions).push_back(each);
        if (inner.factors.empty() || !std::ranges::all_of(inner.factors, is_harmless) ||
            std::ranges::any_of(inner.conditions, reads_data))
            return std::nullopt;
        while (join_two(inner)) {
        }
        // Without windows, parts are those of an order (codegen/contraction_order.h), which takes
        // sums without conditions alone.
        if ((inner.windows.empty() && inner.conditions.empty()) || !narrow(inner) ||
            !keep_existing(equation, inner))
            return std::nullopt;
        find_kept(equation, inner);
        std::vector<IndexId> domain = inner.kept;
        domain.push_back(id);
        Expr condition;
        for (const Expr each : inner.conditions) condition = make_.both(condition, each);
        if (std::ranges::any_of(inner.factors, [&](Expr factor) {
                return !reads_inside(program_, domain, condition, factor);
            }))
            return std::nullopt;
        const double elements = points(inner.kept);
        const double extent = double(most_values(program_, equation.reduction->condition, id));
        if (elements >= points(equation) / extent ||  // nothing is shared
            elements * double(size_bytes(equation.reduction->accumulator)) > most_bytes)
            return std::nullopt;
        inner.cost = elements * (extent + element_cost) + points(equation) / extent;
        return inner;
    }
    static bool reads_data(Expr e) { return !tensors_read(e).empty(); }
    /// Joins two indices that all terms have in one form; false where there are none.
    bool join_two(Inner& inner) {
        std::vector<Expr> terms = inner.factors;
        terms.insert(terms.end(), inner.conditions.begin(), inner.conditions.end());
        for (JoinedIndices window : forms_of_two(terms, inner.summed)) {
            const std::optional<BoundIndex> values = values_of(program_, window);
            // As many as before are none shared.
            if (!values ||
                values->extent() >= program_.at(window.a).extent() * program_.at(window.b).extent())
                continue;
            const auto found = joined(make_, terms, window);
            if (!found) continue;
            const auto conditions = found->begin() + std::ssize(inner.factors);
            inner.factors.assign(found->begin(), conditions);
            inner.conditions.assign(conditions, found->end());
            inner.windows.push_back(window);
            return true;
        }
        return false;
    }

    /// Leaves out what no point of the sum reads: values of joined indices that other conditions
    /// exclude. False where none are left.
    bool narrow(Inner& inner) {
        for (Expr each : inner.other_conditions) {
            for (const JoinedIndices& window : inner.windows)
                each = with_joined(make_, each, window);
            for (const JoinedIndices& window : inner.windows)
                (void)take_as_range(program_, window.joined, each);
        }
        return std::ranges::all_of(inner.windows, [&](const JoinedIndices& window) {
            return program_.at(window.joined).extent() > 0;
        });
    }

    /// Where the sum in between has no points, other factors are neither read nor meet its 0: they
    /// may be infinite. False where that cannot be said.
    bool keep_existing(const BoundEquation& equation, Inner& inner) {
        if (inner.others.is_one()) return true;
        Expr all;
        for (const Expr each : conjuncts(equation.reduction->condition))
            if (has_index(free_indices(each), inner.summed)) all = make_.both(all, each);
        if (!all) return true;
        const std::optional<Expr> exists = leave_out_index(program_, all, inner.summed);
        if (!exists) return false;
        for (const Expr each : conjuncts(*exists)) inner.other_conditions.push_back(each);
        return true;
    }

    /// The indices of the array in between, in the order in which the largest array has them; those
    /// of the result among them as the result has them.
    void find_kept(const BoundEquation& equation, Inner& inner) const {
        std::vector<Expr> accesses;
        for (const Expr node : postorder(inner.factors))
            if (std::holds_alternative<Access>(node->term)) accesses.push_back(node);
        std::ranges::stable_sort(accesses, std::ranges::greater{}, [](Expr access) {
            return std::get<Access>(access->term).at.size();
        });
        std::vector<Expr> terms = std::move(accesses);
        terms.insert(terms.end(), inner.factors.begin(), inner.factors.end());
        terms.insert(terms.end(), inner.conditions.begin(), inner.conditions.end());
        for (const Expr term : terms)
            for (const IndexId id : free_indices(term))
                if (id != inner.summed && !has_index(inner.kept, id)) inner.kept.push_back(id);
        const auto rank = [&](IndexId id) {
            return std::ranges::find_if(equation.at,
                                        [&](Expr subscript) {
                                            return has_index(free_indices(subscript),
                                                             free_part(inner, equation, id));
                                        }) -
                   equation.at.begin();
        };
        std::vector<IndexId> ranked = inner.kept;
        std::erase_if(ranked, [&](IndexId id) { return rank(id) == std::ssize(equation.at); });
        std::ranges::stable_sort(ranked, {}, rank);
        auto next = ranked.begin();
        for (IndexId& id : inner.kept)
            if (rank(id) != std::ssize(equation.at)) id = *next++;
    }
    /// What a joined index is of: that of its two which is free, the other one if neither is.
    static IndexId free_part(const Inner& inner, const BoundEquation& equation, IndexId id) {
        for (auto window = inner.windows.rbegin(); window != inner.windows.rend(); ++window)
            if (window->joined == id)
                id = has_index(equation.indices, window->a) ? window->a : window->b;
        return id;
    }

    /// The array in between; what is left of the equation reads it.
    void take_first(BoundEquation& equation, const Inner& inner) {
        Context& context = make_.context();
        const DType type = equation.reduction->accumulator;
        Shape shape;
        for (const IndexId id : inner.kept) shape.push_back(program_.at(id).extent());
        BoundEquation first;
        first.target = make_.array(program_.at(equation.target).name + "_window", type, shape);
        first.at = make_.offsets(inner.kept);
        first.indices = inner.kept;
        first.reduction = equation.reduction;
        first.reduction->indices = {inner.summed};
        first.reduction->condition = Expr();
        for (const Expr each : inner.conditions)
            first.reduction->condition = make_.both(first.reduction->condition, each);
        first.value = ProductFactors(make_).term({.factors = inner.factors}, type);

        EquationMaker::Numbers places;
        for (const JoinedIndices& window : inner.windows)
            places.emplace(std::uint32_t(window.joined),
                           make_.add(make_.times(make_.value(window.a), window.a_step),
                                     make_.times(make_.value(window.b), window.b_step)));
        std::vector<Expr> at = first.at;
        for (std::size_t n = 0; n < inner.windows.size(); ++n)  // joined indices of joined ones
            for (Expr& place : at) place = make_.with(place, places);
        Product value = inner.others;
        value.factors.push_back(context.access(first.target, std::move(at), type));
        equation.value = ProductFactors(make_).term(value, type);
        std::erase(equation.reduction->indices, inner.summed);
        equation.reduction->condition = Expr();
        for (const Expr each : inner.other_conditions)
            equation.reduction->condition = make_.both(equation.reduction->condition, each);
        program_.equations.push_back(std::move(first));
    }

    BoundProgram program_;
    EquationMaker make_;
    double least_points_;
};

}  // namespace

BoundProgram with_separable_windows(BoundProgram program, double least_points) {
    program = SeparableWindows(std::move(program), least_points).run();
    for (int level = 0; level < most_levels_of_blocks && split_long_windows(program, least_points);
         ++level)
        program = SeparableWindows(std::move(program), least_points).run();
    return program;
}

}  // namespace ricci::codegen
