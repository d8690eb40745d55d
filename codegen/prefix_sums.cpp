// codegen/prefix_sums.cpp – sums up to each point, block by block
#include "codegen/prefix_sums.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/nest_build.h"
#include "codegen/prefix.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// A vector of numbers.
constexpr std::int64_t least_block = 16;
/// Longer ones leave the first-level cache before their lines are used up, which rows far apart
/// read a part of each.
constexpr std::int64_t most_block = 4096;
/// Blocks of all rows: tasks for some threads, of several vectors of rows each.
constexpr std::int64_t blocks_of_all = 256;
/// Shorter rows are walked as they are.
constexpr std::int64_t least_extent = 4 * least_block;
/// Fewer results are left to other strategies (codegen/lower_scan).
constexpr std::int64_t least_results = 16;
/// So many times as many points as results are summed apart where all results take them.
constexpr std::int64_t many_common = 2;

/// The results and points of one reduction.
struct Range : Prefix {
    std::vector<Expr> others = {};  ///< conjuncts
    /// The values of l that some result takes: others may not be read.
    std::int64_t lower = 0;
    std::int64_t extent = 0;
    /// Of these, how many all results take.
    std::int64_t common = 0;

    /// `k` plus this is the place, among these values, of the last or the first one it takes.
    [[nodiscard]] std::int64_t first() const { return shift - lower; }
};

bool is_place(Reducer reducer) { return reducer == Reducer::argmax || reducer == Reducer::argmin; }

class PrefixSums {
  public:
    PrefixSums(BoundProgram program, const PrefixLimits& limits)
        : program_(std::move(program)), make_(program_), limits_(limits) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) add(std::move(equation));
        return std::move(program_);
    }

  private:
    void add(BoundEquation equation) {
        const std::optional<Range> prefix = find(equation);
        const std::int64_t block = prefix ? block_of(*prefix, equation) : 0;
        if (prefix && prefix->common >= many_common * extent(prefix->result))
            sum_common(equation, *prefix);
        else if (prefix && equation.reduction->indices.size() > 1)
            sum_others(std::move(equation), *prefix);
        else if (block > 0)
            sum_blocks(equation, *prefix, block);
        else
            program_.equations.push_back(std::move(equation));
    }

    [[nodiscard]] std::int64_t extent(IndexId id) const { return program_.at(id).extent(); }

    [[nodiscard]] std::optional<Range> find(const BoundEquation& equation) const {
        if (!equation.reduction || !equation.reduction->condition || equation.reduction->carry ||
            !equation.is_injective || is_place(equation.reduction->reducer) ||
            equation.reduction->accumulator != equation.value->dtype ||
            equation.value->dtype != program_.at(equation.target).dtype)
            return std::nullopt;
        const std::vector<Expr> parts = conjuncts(equation.reduction->condition);
        for (std::size_t n = 0; n < parts.size(); ++n) {
            const std::optional<Prefix> prefix = as_prefix(parts[n], equation.reduction->indices);
            if (!prefix || !has_index(equation.indices, prefix->result)) continue;
            Range range{*prefix, parts};
            range.others.erase(range.others.begin() + std::ptrdiff_t(n));
            if (find_range(range, equation)) return range;
        }
        return std::nullopt;
    }

    /// Finds what results take. False where they, or the points, are few; where a result inside
    /// of their range takes no point or all of them; and where something else relates the two
    /// indices.
    [[nodiscard]] bool find_range(Range& prefix, const BoundEquation& equation) const {
        const BoundIndex& k = program_.at(prefix.result);
        const BoundIndex& l = program_.at(prefix.reduced);
        const std::int64_t least = k.lower + prefix.shift;
        const std::int64_t most = k.upper - 1 + prefix.shift;
        prefix.lower = prefix.is_suffix ? std::max(l.lower, least) : l.lower;
        prefix.extent = (prefix.is_suffix ? l.upper : std::min(l.upper, most + 1)) - prefix.lower;
        const bool is_inside = prefix.is_suffix ? least >= l.lower && most <= l.upper + 1
                                                : least >= l.lower - 1 && most < l.upper;
        if (!is_inside || prefix.extent < least_extent || k.extent() < least_results ||
            has(equation.value, prefix.result))
            return false;
        const std::int64_t first = least - prefix.lower;
        const std::int64_t behind_last = most + 1 - prefix.lower;
        prefix.common = prefix.is_suffix ? prefix.extent - behind_last : first;
        return std::ranges::none_of(prefix.others, [&](Expr other) {
            return has(other, prefix.result) || has(other, prefix.reduced);
        });
    }
    /// Points of a block, an odd number of vectors: rows of a power of two meet in few sets of a
    /// cache. 0 where rows stay whole.
    [[nodiscard]] std::int64_t block_of(const Range& prefix, const BoundEquation& equation) const {
        double rows = 1;
        for (const IndexId id : equation.indices)
            if (id != prefix.result) rows *= double(extent(id));
        if (extent(prefix.result) < least_extent || rows >= double(limits_.rows) ||
            rows * double(prefix.extent) < limits_.points)
            return 0;
        const double wanted = rows * double(prefix.extent) / double(blocks_of_all);
        const auto block =
            std::int64_t(std::clamp(wanted, double(least_block), double(most_block)));
        const std::int64_t vectors = block / least_block;
        return (vectors % 2 == 0 ? vectors - 1 : vectors) * least_block;
    }
    static bool has(Expr term, IndexId id) { return has_index(free_indices(term), id); }

    /// What all results take, once, and then the rest of the points.
    void sum_common(const BoundEquation& equation, const Range& prefix) {
        const std::int64_t rest = prefix.extent - prefix.common;
        const IndexId s = make_.index("s", prefix.common);
        const IndexId met = make_.index(name(prefix.reduced), rest);
        const std::int64_t first_common = prefix.is_suffix ? rest : 0;
        const std::int64_t first_met = prefix.is_suffix ? 0 : prefix.common;
        const TensorId common = array(equation, without(equation, prefix.result));
        define(common, without(equation, prefix.result),
               over(equation, prefix, s, make_.add(make_.value(s), make_.integer(first_common))));
        const Expr point = make_.add(make_.value(met), make_.integer(first_met));
        const TensorId near = array(equation, in_order(equation));
        define(near, in_order(equation), over(equation, prefix, met, point, up_to(prefix, point)));
        combine(equation, make_.offsets(without(equation, prefix.result)), common,
                make_.offsets(in_order(equation)), near);
    }

    /// What the other indices give at each point, then the sums up to it.
    void sum_others(BoundEquation equation, const Range& prefix) {
        const IndexId point = make_.index(name(prefix.reduced), prefix.extent);
        BoundEquation each = over(equation, prefix, std::nullopt, make_.value(point));
        std::vector<IndexId> indices;
        for (const IndexId id : in_order(equation))
            if (id == prefix.result)
                indices.push_back(point);
            else if (has(each.value, id) ||
                     (each.reduction->condition && has(each.reduction->condition, id)))
                indices.push_back(id);
        const TensorId values = array(equation, indices);
        define(values, indices, std::move(each));

        const IndexId met = make_.index(name(prefix.reduced), prefix.extent);
        std::ranges::replace(indices, point, met);
        equation.value =
            make_.context().access(values, make_.offsets(indices), equation.value->dtype);
        equation.reduction->indices = {met};
        equation.reduction->condition = up_to(prefix, make_.value(met));
        add(std::move(equation));
    }

    /// Blocks, what stands before each or behind, and each point in its block.
    void sum_blocks(const BoundEquation& equation, const Range& prefix, std::int64_t block) {
        const std::int64_t blocks = (prefix.extent + block - 1) / block;
        const std::vector<IndexId> all = in_order(equation);
        const auto with = [&](IndexId id) {
            std::vector<IndexId> indices = all;
            std::ranges::replace(indices, prefix.result, id);
            return indices;
        };
        const IndexId b = make_.index("b", blocks);
        const TensorId parts = array(equation, with(b));
        define(parts, with(b), in_block(equation, prefix, block, make_.value(b), Expr()));
        const IndexId block_of = make_.index("b", blocks + 1);
        const IndexId earlier = make_.index("c", blocks);
        const TensorId sums = array(equation, with(block_of));
        BoundEquation total;
        total.value =
            make_.context().access(parts, make_.offsets(with(earlier)), equation.value->dtype);
        total.reduction =
            Reduction{.reducer = equation.reduction->reducer,
                      .indices = {earlier},
                      .condition = make_.compare(prefix.is_suffix ? Op::gt : Op::lt,
                                                 make_.value(earlier), make_.value(block_of)),
                      .accumulator = equation.reduction->accumulator};
        define(sums, with(block_of), std::move(total));
        const bool is_exclusive =
            !prefix.is_suffix && prefix.first() + program_.at(prefix.result).lower < 0;
        const Expr place = make_.add(make_.value(prefix.result),
                                     make_.integer(prefix.first() + (is_exclusive ? 1 : 0)));
        const Expr turn = make_.quotient(place, block);
        const Op within = prefix.is_suffix ? Op::ge : is_exclusive ? Op::lt : Op::le;
        const TensorId near = array(equation, all);
        define(near, all,
               in_block(equation, prefix, block, turn, make_.remainder(place, block), within));
        std::vector<Expr> at_sums = make_.offsets(all);
        at_sums[std::size_t(std::ranges::find(all, prefix.result) - all.begin())] = turn;
        combine(equation, std::move(at_sums), sums, make_.offsets(all), near);
    }

    /// The reduction of the points `s` of a block that stand so to a place in it.
    BoundEquation in_block(const BoundEquation& equation, const Range& prefix, std::int64_t block,
                           Expr turn, Expr place, Op within = Op::lt) {
        const IndexId s = make_.index("s", block);
        const Expr at = make_.add(make_.times(turn, block), make_.value(s));
        Expr condition;
        if (place) condition = make_.compare(within, make_.value(s), place);
        const bool is_ragged = prefix.extent % block != 0 && (!place || prefix.is_suffix);
        const bool may_be_behind = place && prefix.is_suffix;
        if (is_ragged || may_be_behind)
            condition =
                make_.both(condition, make_.compare(Op::lt, at, make_.integer(prefix.extent)));
        return over(equation, prefix, s, at, condition);
    }

    /// The reduction over `s` instead, and over what else there is, of what the point `at` of those
    /// that some result takes gives.
    BoundEquation over(const BoundEquation& equation, const Range& prefix, std::optional<IndexId> s,
                       Expr at, Expr condition = Expr()) {
        EquationMaker::Numbers numbers;
        numbers.emplace(std::uint32_t(prefix.reduced), make_.add(at, make_.integer(prefix.lower)));
        BoundEquation part;
        part.value = make_.with(equation.value, numbers);
        part.reduction = equation.reduction;
        if (s)
            std::ranges::replace(part.reduction->indices, prefix.reduced, *s);
        else
            std::erase(part.reduction->indices, prefix.reduced);
        Expr others;
        for (const Expr other : prefix.others) others = make_.both(others, other);
        part.reduction->condition = make_.both(others, condition);
        return part;
    }
    /// Whether a result takes such a point.
    Expr up_to(const Range& prefix, Expr point) {
        const Expr last = make_.add(make_.value(prefix.result), make_.integer(prefix.first()));
        return make_.compare(prefix.is_suffix ? Op::ge : Op::le, point, last);
    }

    /// The indices of the results in the order in which these stand in memory.
    static std::vector<IndexId> in_order(const BoundEquation& equation) {
        std::vector<IndexId> order;
        const auto add = [&](IndexId id) {
            if (has_index(equation.indices, id) && !has_index(order, id)) order.push_back(id);
        };
        for (const Expr at : equation.at) std::ranges::for_each(free_indices(at), add);
        std::ranges::for_each(equation.indices, add);
        return order;
    }
    static std::vector<IndexId> without(const BoundEquation& equation, IndexId id) {
        std::vector<IndexId> order = in_order(equation);
        std::erase(order, id);
        return order;
    }
    [[nodiscard]] std::string name(IndexId id) const { return program_.at(id).name; }

    TensorId array(const BoundEquation& equation, const std::vector<IndexId>& indices) {
        Shape shape;
        for (const IndexId id : indices) shape.push_back(extent(id));
        return make_.array(program_.at(equation.target).name, equation.value->dtype,
                           std::move(shape));
    }
    void define(TensorId target, std::vector<IndexId> indices, BoundEquation equation) {
        equation.target = target;
        equation.at = make_.offsets(indices);
        equation.indices = std::move(indices);
        equation.op = Assign::define;
        equation.is_injective = true;
        add(std::move(equation));
    }
    /// The equation as what two arrays give together.
    void combine(const BoundEquation& equation, std::vector<Expr> at_first, TensorId first,
                 std::vector<Expr> at_second, TensorId second) {
        const DType dtype = equation.value->dtype;
        BoundEquation result = equation;
        result.reduction.reset();
        result.value =
            make_.context().apply(combining_op(equation.reduction->reducer, dtype),
                                  {make_.context().access(first, std::move(at_first), dtype),
                                   make_.context().access(second, std::move(at_second), dtype)},
                                  dtype);
        program_.equations.push_back(std::move(result));
    }

    BoundProgram program_;
    EquationMaker make_;
    PrefixLimits limits_;
};

}  // namespace

BoundProgram with_prefix_sums(BoundProgram program, const PrefixLimits& limits) {
    return PrefixSums(std::move(program), limits).run();
}

}  // namespace ricci::codegen
