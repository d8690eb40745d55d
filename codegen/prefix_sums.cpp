// codegen/prefix_sums.cpp – sums up to each point, block by block
#include "codegen/prefix_sums.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/nest_build.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// A vector of numbers.
constexpr std::int64_t least_block = 16;
/// Longer ones leave the first-level cache before their lines are used up, which rows far apart
/// read a part of each.
constexpr std::int64_t most_block = 4096;
/// Blocks of all rows, for as many threads as share a cache.
constexpr std::int64_t blocks_of_all = 256;
/// Shorter rows are walked as they are.
constexpr std::int64_t least_extent = 4 * least_block;

/// `l <= k + shift`, or `l >= k + shift`.
struct Prefix {
    IndexId result{};   ///< k
    IndexId reduced{};  ///< l
    std::int64_t shift = 0;
    bool is_suffix = false;
    std::vector<Expr> others = {};  ///< conjuncts
    /// The values of l that some result takes: others may not be read.
    std::int64_t lower = 0;
    std::int64_t extent = 0;
    std::int64_t block = 0;  ///< none: rows stay whole

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
        const std::optional<Prefix> prefix = find(equation);
        if (prefix && equation.reduction->indices.size() > 1)
            sum_others(std::move(equation), *prefix);
        else if (prefix && prefix->block > 0)
            write(equation, *prefix);
        else
            program_.equations.push_back(std::move(equation));
    }

    [[nodiscard]] std::int64_t extent(IndexId id) const { return program_.at(id).extent(); }

    [[nodiscard]] std::optional<Prefix> find(const BoundEquation& equation) const {
        if (!equation.reduction || !equation.reduction->condition || !equation.is_injective ||
            is_place(equation.reduction->reducer) ||
            equation.reduction->accumulator != equation.value->dtype ||
            equation.value->dtype != program_.at(equation.target).dtype)
            return std::nullopt;
        const std::vector<Expr> parts = conjuncts(equation.reduction->condition);
        for (std::size_t n = 0; n < parts.size(); ++n) {
            std::optional<Prefix> prefix = as_prefix(parts[n], equation);
            if (!prefix) continue;
            prefix->others = parts;
            prefix->others.erase(prefix->others.begin() + std::ptrdiff_t(n));
            if (!find_range(*prefix, equation)) continue;
            prefix->block = block_of(*prefix, equation);
            return prefix;
        }
        return std::nullopt;
    }

    /// A conjunct that compares a reduced index with one of the results.
    [[nodiscard]] std::optional<Prefix> as_prefix(Expr part, const BoundEquation& equation) const {
        const std::vector<Comparison> all = comparisons(part);
        const std::vector<IndexId> ids = free_indices(part);
        if (all.size() != 1 || all[0].op == Op::eq || ids.size() != 2) return std::nullopt;
        const bool is_first = has_index(equation.reduction->indices, ids[0]);
        const IndexId l = ids[is_first ? 0 : 1];
        const IndexId k = ids[is_first ? 1 : 0];
        if (!has_index(equation.reduction->indices, l) || !has_index(equation.indices, k))
            return std::nullopt;
        Variables variables({l, k});
        const std::optional<affine::Form> left = affine_form(all[0].left, variables);
        const std::optional<affine::Form> right = affine_form(all[0].right, variables);
        if (!left || !right || variables.size() != 2) return std::nullopt;
        const bool is_greater = all[0].op == Op::gt || all[0].op == Op::ge;
        const bool is_strict = all[0].op == Op::gt || all[0].op == Op::lt;
        const std::int64_t sign = is_greater ? 1 : -1;
        // step*l + of_k*k + constant >= 0
        const std::int64_t step = sign * (left->at(0) - right->at(0));
        const std::int64_t of_k = sign * (left->at(1) - right->at(1));
        const std::int64_t constant =
            sign * (left->constant - right->constant) - (is_strict ? 1 : 0);
        if (std::abs(step) != 1 || of_k != -step) return std::nullopt;
        return Prefix{.result = k, .reduced = l, .shift = -step * constant, .is_suffix = step == 1};
    }

    /// Finds what results take. False where they are few, or take nothing or all beyond the ends,
    /// or something else relates the two indices.
    [[nodiscard]] bool find_range(Prefix& prefix, const BoundEquation& equation) const {
        const BoundIndex& k = program_.at(prefix.result);
        const BoundIndex& l = program_.at(prefix.reduced);
        const std::int64_t least = k.lower + prefix.shift;
        const std::int64_t most = k.upper - 1 + prefix.shift;
        prefix.lower = prefix.is_suffix ? std::max(l.lower, least) : l.lower;
        prefix.extent = (prefix.is_suffix ? l.upper : std::min(l.upper, most + 1)) - prefix.lower;
        const bool is_inside = prefix.is_suffix ? least >= l.lower && most <= l.upper + 1
                                                : least >= l.lower - 1 && most < l.upper;
        if (!is_inside || prefix.extent < least_extent || k.extent() < least_extent ||
            has(equation.value, prefix.result))
            return false;
        return std::ranges::none_of(prefix.others, [&](Expr other) {
            return has(other, prefix.result) || has(other, prefix.reduced);
        });
    }
    /// Points of a block, an odd number of vectors: rows of a power of two meet in few sets of a
    /// cache.
    [[nodiscard]] std::int64_t block_of(const Prefix& prefix, const BoundEquation& equation) const {
        double rows = 1;
        for (const IndexId id : equation.indices)
            if (id != prefix.result) rows *= double(extent(id));
        if (rows >= double(limits_.rows) || rows * double(prefix.extent) < limits_.points) return 0;
        const auto wanted = std::int64_t(rows) * prefix.extent / blocks_of_all;
        const std::int64_t block =
            std::clamp(wanted / least_block * least_block, least_block, most_block);
        return block / least_block % 2 == 0 ? block - least_block : block;
    }
    static bool has(Expr term, IndexId id) { return has_index(free_indices(term), id); }

    /// What the other indices give at each point, then the sums up to it.
    void sum_others(BoundEquation equation, const Prefix& prefix) {
        const IndexId point = make_.index(program_.at(prefix.reduced).name, prefix.extent);
        EquationMaker::Numbers numbers;
        numbers.emplace(std::uint32_t(prefix.reduced),
                        make_.add(make_.value(point), make_.integer(prefix.lower)));
        BoundEquation each;
        each.value = make_.with(equation.value, numbers);
        each.reduction = equation.reduction;
        std::erase(each.reduction->indices, prefix.reduced);
        Expr others;
        for (const Expr other : prefix.others) others = make_.both(others, other);
        each.reduction->condition = make_.with(others, numbers);
        std::vector<IndexId> rest;
        for (const IndexId id : equation.indices)
            if (has(each.value, id) || (others && has(others, id))) rest.push_back(id);
        const TensorId values = array(equation, rest, prefix.extent);
        define(values, rest, make_.value(point), point, std::move(each));

        const IndexId met = make_.index(program_.at(prefix.reduced).name, prefix.extent);
        std::vector<Expr> at = make_.offsets(rest);
        at.push_back(make_.value(met));
        equation.value = make_.context().access(values, std::move(at), equation.value->dtype);
        equation.reduction->indices = {met};
        const Expr last = make_.add(make_.value(prefix.result), make_.integer(prefix.first()));
        equation.reduction->condition =
            make_.compare(prefix.is_suffix ? Op::ge : Op::le, make_.value(met), last);
        add(std::move(equation));
    }

    void write(const BoundEquation& equation, const Prefix& prefix) {
        const std::int64_t block = prefix.block;
        const Reduction& whole = *equation.reduction;
        const std::int64_t blocks = (prefix.extent + block - 1) / block;
        std::vector<IndexId> rest = equation.indices;
        std::erase(rest, prefix.result);
        // Of each block, then of all before or behind it.
        const IndexId b = make_.index("b", blocks);
        const TensorId parts = array(equation, rest, blocks);
        define(parts, rest, make_.value(b), b, in_block(equation, prefix, make_.value(b), Expr()));
        const IndexId block_of = make_.index("b", blocks + 1);
        const IndexId earlier = make_.index("c", blocks);
        const TensorId sums = array(equation, rest, blocks + 1);
        std::vector<Expr> at = make_.offsets(rest);
        at.push_back(make_.value(earlier));
        BoundEquation total;
        total.value = make_.context().access(parts, std::move(at), equation.value->dtype);
        total.reduction =
            Reduction{.reducer = whole.reducer,
                      .indices = {earlier},
                      .condition = make_.compare(prefix.is_suffix ? Op::gt : Op::lt,
                                                 make_.value(earlier), make_.value(block_of)),
                      .accumulator = whole.accumulator};
        define(sums, rest, make_.value(block_of), block_of, std::move(total));
        // Of each point in its block, then both.
        const bool is_exclusive =
            !prefix.is_suffix && prefix.first() + program_.at(prefix.result).lower < 0;
        const Expr place = make_.add(make_.value(prefix.result),
                                     make_.integer(prefix.first() + (is_exclusive ? 1 : 0)));
        const Expr turn = make_.quotient(place, block);
        const Op within = prefix.is_suffix ? Op::ge : is_exclusive ? Op::lt : Op::le;
        BoundEquation inner =
            in_block(equation, prefix, turn, make_.remainder(place, block), within);
        const TensorId near = array(equation, rest, extent(prefix.result));
        define(near, rest, make_.offset(prefix.result), prefix.result, std::move(inner));
        std::vector<Expr> far_at = make_.offsets(rest);
        far_at.push_back(turn);
        std::vector<Expr> near_at = make_.offsets(rest);
        near_at.push_back(make_.offset(prefix.result));
        const DType dtype = equation.value->dtype;
        BoundEquation result = equation;
        result.reduction.reset();
        result.value =
            make_.context().apply(combining_op(whole.reducer, dtype),
                                  {make_.context().access(sums, std::move(far_at), dtype),
                                   make_.context().access(near, std::move(near_at), dtype)},
                                  dtype);
        program_.equations.push_back(std::move(result));
    }

    /// The reduction of the points `s` of a block that stand so to a place in it.
    BoundEquation in_block(const BoundEquation& equation, const Prefix& prefix, Expr turn,
                           Expr place, Op within = Op::lt) {
        const std::int64_t n = prefix.extent;
        const std::int64_t block = prefix.block;
        const IndexId s = make_.index("s", block);
        const Expr at = make_.add(make_.times(turn, block), make_.value(s));
        EquationMaker::Numbers numbers;
        numbers.emplace(std::uint32_t(prefix.reduced), make_.add(at, make_.integer(prefix.lower)));
        BoundEquation part;
        part.value = make_.with(equation.value, numbers);
        part.reduction = equation.reduction;
        std::ranges::replace(part.reduction->indices, prefix.reduced, s);
        Expr condition;
        for (const Expr other : prefix.others) condition = make_.both(condition, other);
        if (place) condition = make_.both(condition, make_.compare(within, make_.value(s), place));
        const bool is_ragged = n % block != 0 && (!place || prefix.is_suffix);
        const bool may_be_behind = place && prefix.is_suffix;
        if (is_ragged || may_be_behind)
            condition = make_.both(condition, make_.compare(Op::lt, at, make_.integer(n)));
        part.reduction->condition = condition;
        return part;
    }

    TensorId array(const BoundEquation& equation, const std::vector<IndexId>& rest,
                   std::int64_t last) {
        Shape shape;
        for (const IndexId id : rest) shape.push_back(extent(id));
        shape.push_back(last);
        return make_.array(program_.at(equation.target).name, equation.value->dtype,
                           std::move(shape));
    }
    void define(TensorId target, const std::vector<IndexId>& rest, Expr at, IndexId last,
                BoundEquation equation) {
        equation.target = target;
        equation.at = make_.offsets(rest);
        equation.at.push_back(at);
        equation.indices = rest;
        equation.indices.push_back(last);
        equation.op = Assign::define;
        equation.is_injective = true;
        add(std::move(equation));
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
