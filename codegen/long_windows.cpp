// codegen/long_windows.cpp – sums over long windows in blocks that windows share
#include "codegen/long_windows.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/joined_indices.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Shorter windows gain nothing.
constexpr std::int64_t shortest = 32;
/// Longer terms are left alone.
constexpr std::size_t most_nodes = 128;
/// What an array in between and one for what is left over take, in points of a window.
constexpr std::int64_t array_cost = 8;
constexpr std::int64_t rest_cost = 6;

/// Points that are joined for a result.
std::int64_t cost(const WindowBlocks& blocks) {
    return blocks.blocks + blocks.length + array_cost +
           (blocks.rest > 0 ? blocks.rest + rest_cost : 0);
}

class LongWindows {
  public:
    LongWindows(BoundProgram& program, double least_points)
        : program_(program), make_(program), least_points_(least_points) {}

    bool run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        bool is_any = false;
        for (BoundEquation& equation : equations) {
            const std::optional<BoundEquation> window = as_window(equation);
            const std::optional<WindowBlocks> blocks = window ? blocks_of(*window) : std::nullopt;
            is_any |= blocks.has_value();
            if (blocks)
                split(*window, *blocks);
            else
                program_.equations.push_back(std::move(equation));
        }
        return is_any;
    }

  private:
    [[nodiscard]] IndexId summed(const BoundEquation& equation) const {
        return equation.reduction->indices[0];
    }
    /// The equation, if each result is of the points of one index that stand beside it: counted
    /// from it. Nothing for others.
    std::optional<BoundEquation> as_window(const BoundEquation& equation) {
        if (!joins_points(equation) || equation.reduction->indices.size() != 1 ||
            program_.at(summed(equation)).extent() < shortest ||
            postorder({equation.value}).size() > most_nodes)
            return std::nullopt;
        double points = double(program_.at(summed(equation)).extent());
        for (const IndexId id : equation.indices) points *= double(program_.at(id).extent());
        if (points < least_points_ || points == 0) return std::nullopt;
        if (is_window(equation)) return equation;
        std::optional<BoundEquation> counted = counted_from_result(equation);
        if (counted && is_window(*counted)) return counted;
        return std::nullopt;
    }
    /// Whether all that moves with the summed index does so with a form of it and one of the
    /// result.
    bool is_window(const BoundEquation& equation) {
        const IndexId id = summed(equation);
        std::vector<Expr> terms;
        for (const Expr factor : product_along(make_, equation, id).factors)
            terms.push_back(factor);
        for (const Expr each : conjuncts(equation.reduction->condition)) terms.push_back(each);
        std::erase_if(terms, [&](Expr e) { return !has_index(free_indices(e), id); });
        for (JoinedIndices form : forms_of_two(terms)) {
            if (form.b != id || !has_index(equation.indices, form.a) || !joined(make_, terms, form))
                continue;
            program_.indices.pop_back();  // blocks have one of their own
            return true;
        }
        return false;
    }

    /// Of `low <= y - k <= high` the sum over that difference in place of k.
    std::optional<BoundEquation> counted_from_result(const BoundEquation& equation) {
        const IndexId id = summed(equation);
        const std::vector<Expr> parts = conjuncts(equation.reduction->condition);
        for (const IndexId y : equation.indices) {
            std::optional<std::int64_t> low;
            std::optional<std::int64_t> high;
            std::vector<Expr> others;
            for (const Expr part : parts) {
                Variables variables({y, id});
                affine::System system;
                const bool is_bound = add_condition(system, part, variables).empty() &&
                                      variables.size() == 2 && system.equalities.empty() &&
                                      system.inequalities.size() == 1 &&
                                      std::abs(system.inequalities[0].at(0)) == 1 &&
                                      system.inequalities[0].at(0) == -system.inequalities[0].at(1);
                if (!is_bound) {
                    others.push_back(part);
                    continue;
                }
                const affine::Form& form = system.inequalities[0];
                if (form.at(0) == 1)
                    low = std::max(low.value_or(-form.constant), -form.constant);
                else
                    high = std::min(high.value_or(form.constant), form.constant);
            }
            const BoundIndex& points = program_.at(id);
            if (!low || !high || *high < *low || (*high - *low + 1) * 2 > points.extent()) continue;
            const std::int64_t extent = *high - *low + 1;
            const IndexId beside = make_.index(points.name, extent);
            const Expr place =
                make_.subtract(make_.value(y), make_.add(make_.value(beside), make_.integer(*low)));
            const EquationMaker::Numbers numbers{{std::uint32_t(id), place}};
            BoundEquation counted = equation;
            counted.value = make_.with(equation.value, numbers);
            counted.reduction->indices = {beside};
            Expr condition = make_.is_value_of(id, place);
            for (const Expr each : others)
                condition = make_.both(condition, make_.with(each, numbers));
            counted.reduction->condition = condition;
            return counted;
        }
        return std::nullopt;
    }

    /// Those of half of the points or more are none.
    [[nodiscard]] std::optional<WindowBlocks> blocks_of(const BoundEquation& equation) const {
        const std::int64_t extent = program_.at(summed(equation)).extent();
        std::optional<WindowBlocks> best = best_blocks(extent, cost);
        if (best && least_points_ > 0 && cost(*best) * 2 > extent) best.reset();
        return best;
    }

    void split(const BoundEquation& equation, const WindowBlocks& blocks) {
        const BoundIndex all = program_.at(summed(equation));
        const std::int64_t whole = all.lower + blocks.blocks * blocks.length;
        if (blocks.rest == 0) {
            program_.equations.push_back(in_blocks(equation, blocks));
            return;
        }
        BoundEquation rest = equation;
        program_.indices.push_back({.name = all.name, .lower = whole, .upper = all.upper});
        replace(rest, make_.value(IndexId{std::uint32_t(program_.indices.size() - 1)}));
        rest.reduction->indices = {IndexId{std::uint32_t(program_.indices.size() - 1)}};
        const Expr first = stored(in_blocks(equation, blocks));
        const Expr last = stored(std::move(rest));
        BoundEquation total = equation;
        const DType type = program_.at(equation.target).dtype;
        total.value = make_.context().apply(joining(equation), {first, last}, first->dtype);
        if (total.value->dtype != type) total.value = make_.context().cast(total.value, type, true);
        total.reduction.reset();
        program_.equations.push_back(std::move(total));
    }
    static Op joining(const BoundEquation& equation) {
        const Reducer reducer = equation.reduction->reducer;
        return reducer == Reducer::prod  ? Op::mul
               : reducer == Reducer::max ? Op::max
               : reducer == Reducer::min ? Op::min
                                         : Op::add;
    }
    BoundEquation in_blocks(const BoundEquation& equation, const WindowBlocks& blocks) {
        const BoundIndex all = program_.at(summed(equation));
        const IndexId block = make_.index(all.name + "_block", blocks.blocks);
        const IndexId point = make_.index(all.name, blocks.length);
        BoundEquation result = equation;
        replace(result, make_.add(make_.add(make_.times(make_.value(block), blocks.length),
                                            make_.value(point)),
                                  make_.integer(all.lower)));
        result.reduction->indices = {block, point};
        return result;
    }
    void replace(BoundEquation& equation, Expr place) {
        const EquationMaker::Numbers numbers{{std::uint32_t(summed(equation)), place}};
        equation.value = make_.with(equation.value, numbers);
        equation.reduction->condition = make_.with(equation.reduction->condition, numbers);
    }
    /// An element, at the equation's indices, of an array that has what the equation gives.
    Expr stored(BoundEquation equation) {
        const DType type = equation.reduction->accumulator;
        Shape shape;
        for (const IndexId id : equation.indices) shape.push_back(program_.at(id).extent());
        equation.target = make_.array(program_.at(equation.target).name + "_part", type, shape);
        equation.at = make_.offsets(equation.indices);
        equation.op = Assign::define;
        equation.is_injective = true;
        const Expr element = make_.context().access(equation.target, equation.at, type);
        program_.equations.push_back(std::move(equation));
        return element;
    }

    BoundProgram& program_;
    EquationMaker make_;
    double least_points_;
};

}  // namespace

bool split_long_windows(BoundProgram& program, double least_points) {
    return LongWindows(program, least_points).run();
}

}  // namespace ricci::codegen
