// codegen/contraction.cpp – a reduction as rows against columns
#include "codegen/contraction.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "codegen/cache_lines.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// One bit for each axis: the free ones, then the reduced ones.
using Axes = std::bitset<64>;

/// Which axes each node depends on.
class Dependence {
  public:
    explicit Dependence(const Kernel& kernel) {
        for (const Axis& axis : kernel.free) number(axis);
        for (const Axis& axis : kernel.reduced) {
            reduced_.set(bit_.size());
            number(axis);
        }
    }
    [[nodiscard]] bool fits() const { return bit_.size() <= Axes{}.size(); }
    [[nodiscard]] const Axes& reduced() const { return reduced_; }
    [[nodiscard]] Axes of(const AffineForm& form) const {
        Axes axes;
        for (const AffineForm::Term& term : form.terms)
            if (const auto found = bit_.find(std::uint32_t(term.var)); found != bit_.end())
                axes.set(found->second);
        return axes;
    }
    [[nodiscard]] Axes of(const Axis& axis) const { return of(form(axis.var)); }

    const Axes& of(const Value& value) {
        if (const auto found = memo_.find(value.get()); found != memo_.end()) return found->second;
        Axes axes;
        if (const auto* var = std::get_if<VarValue>(&value->term)) axes = of(var->form);
        if (const auto* load = std::get_if<Load>(&value->term)) axes = of(load->at.affine);
        for (const Value& operand : operands(value)) axes |= of(operand);
        kept_.push_back(value);
        return memo_[value.get()] = axes;
    }

  private:
    void number(const Axis& axis) {
        const std::size_t next = bit_.size();
        bit_[std::uint32_t(axis.var)] = next;
    }

    std::unordered_map<std::uint32_t, std::size_t> bit_;
    std::unordered_map<const ValueNode*, Axes> memo_;
    std::vector<Value> kept_;
    Axes reduced_;
};

bool is_atom(const Value& value) {
    return std::holds_alternative<Load>(value->term) ||
           std::holds_alternative<VarValue>(value->term);
}

constexpr std::int64_t unknown_step = std::numeric_limits<std::int64_t>::max();

/// Elements from one write to the next along an axis, at most: 1 where all are contiguous.
std::int64_t longest_step(const Kernel& kernel, const Axis& axis) {
    std::int64_t longest = 0;
    for (const Store& write : kernel.writes) {
        const std::int64_t step = write.at.affine.coefficient(axis.var);
        longest = std::max(longest, !write.at.computed && step > 0 ? step : unknown_step);
    }
    return longest;
}

class Finder {
  public:
    Finder(const Kernel& kernel, LaneRule rule, const std::optional<Axis>& lane)
        : kernel_(kernel), rule_(rule), given_(lane), dependence_(kernel) {}

    std::optional<Contraction> find() {
        if (!is_candidate()) return std::nullopt;
        collect_leaves(kernel_.body);
        if (leaves_.size() < 2 || !split_axes()) {
            leaves_.clear();
            visited_.clear();
            result_ = {};
            collect_factors(kernel_.body);
            if (leaves_.size() < 2 || !split_axes()) return std::nullopt;
        }
        const bool is_extreme = kernel_.reducer == Reducer::max || kernel_.reducer == Reducer::min;
        result_.body = regroup(kernel_.body, is_extreme);
        if (result_.row_operands.empty() || result_.column_operands.empty()) return std::nullopt;
        // Beside masked lanes rows with conditions are read from panels, which hold what guarded
        // reads give (codegen/joined_residues.h).
        const bool has_both = result_.row_condition && result_.column_condition;
        result_.body_cost = body_cost(has_both ? with_plain_reads(kernel_) : kernel_);
        return std::move(result_);
    }

  private:
    [[nodiscard]] bool is_candidate() const {
        if (!kernel_.body || kernel_.is_arg_reduction() || kernel_.has_meeting_writes())
            return false;
        return dependence_.fits() && kernel_.free.size() >= 2;
    }

    /// The atoms that move with a reduced axis, by the free axes they need.
    void collect_leaves(const Value& value) {
        const Axes axes = dependence_.of(value);
        if ((axes & dependence_.reduced()).none() || !visited_.insert(value.get()).second) return;
        if (is_atom(value)) {
            leaves_.push_back(axes & ~dependence_.reduced());
            return;
        }
        for (const Value& operand : operands(value)) collect_leaves(operand);
    }

    /// The factors that move with a reduced axis, by the free axes that they need in all: of
    /// `x[n,t]*exp(-(g[k]-g[t])^2)` no atom of the second says that it is one of columns.
    void collect_factors(const Value& value) {
        const Axes axes = dependence_.of(value);
        if ((axes & dependence_.reduced()).none() || !visited_.insert(value.get()).second) return;
        if (is_operation(value, Op::mul) || is_operation(value, Op::neg)) {
            for (const Value& operand : operands(value)) collect_factors(operand);
            return;
        }
        leaves_.push_back(axes & ~dependence_.reduced());
    }

    /// Batch: axes of every leaf that has any. The others fall into connected parts: the one with
    /// the best lane axis is the columns, the rest are the rows.
    bool split_axes() {
        Axes common = ~Axes{};
        for (const Axes& leaf : leaves_)
            if (leaf.any()) common &= leaf;
        std::vector<Axes> parts;
        for (Axes leaf : leaves_) {
            leaf &= ~common;
            if (leaf.none()) continue;
            std::erase_if(parts, [&](const Axes& part) {
                const bool is_connected = (part & leaf).any();
                if (is_connected) leaf |= part;
                return is_connected;
            });
            parts.push_back(leaf);
        }
        if (parts.size() < 2) return false;
        const std::optional<Axis> lane = best_lane(parts);
        if (!lane) return false;
        result_.lane = *lane;
        for (const Axes& part : parts) {
            if ((part & dependence_.of(*lane)).any())
                column_axes_ = part;
            else
                row_axes_ |= part;
        }
        for (const Axis& axis : kernel_.free) {
            const Axes self = dependence_.of(axis);
            if (axis == *lane) continue;
            if ((self & column_axes_).any())
                result_.columns.push_back(axis);
            else if ((self & row_axes_).any())
                result_.rows.push_back(axis);
            else
                result_.batch.push_back(axis);
        }
        return split_conditions();
    }

    /// Of the axes that some leaves need and others do not.
    [[nodiscard]] std::optional<Axis> best_lane(const std::vector<Axes>& parts) const {
        std::optional<Axis> best;
        for (const Axis& axis : kernel_.free) {
            if (given_ && axis != *given_) continue;
            const auto part = std::ranges::find_if(
                parts, [&](const Axes& each) { return (each & dependence_.of(axis)).any(); });
            if (part == parts.end()) continue;
            if (rule_ == LaneRule::cheapest && std::isinf(write_cycles(kernel_, axis))) continue;
            if (!best || is_better_lane(axis, *best, parts)) best = axis;
        }
        return best;
    }
    [[nodiscard]] bool is_better_lane(const Axis& a, const Axis& b,
                                      const std::vector<Axes>& parts) const {
        if (rule_ == LaneRule::cheapest) {
            if (is_good_lane(a) != is_good_lane(b)) return is_good_lane(a);
            return lane_cycles(a, parts) < lane_cycles(b, parts);
        }
        const std::int64_t step_a = longest_step(kernel_, a);
        const std::int64_t step_b = longest_step(kernel_, b);
        return step_a < step_b || (step_a == step_b && a.extent > b.extent);
    }

    /// Of the widest vectors.
    [[nodiscard]] double full_lanes() const { return 64 / double(size_bytes(kernel_.body->dtype)); }
    /// Whether lanes along an axis write near to each other and are not too few.
    [[nodiscard]] bool is_good_lane(const Axis& axis) const {
        return write_cycles(kernel_, axis) < 1 && 2 * double(axis.extent) >= full_lanes();
    }

    /// Cycles of an element of the result, roughly: vectors that may be part empty, the write, and
    /// its share of packing the columns, which every row uses.
    [[nodiscard]] double lane_cycles(const Axis& axis, const std::vector<Axes>& parts) const {
        constexpr double copied = 0.2;
        constexpr double gathered = 1.5;
        const double lanes = full_lanes();
        const auto depth = double(points(kernel_.reduced));
        const auto extent = double(axis.extent);
        double rows = 1;
        for (const Axis& other : kernel_.free)
            for (const Axes& part : parts)
                if ((part & dependence_.of(other)).any() && (part & dependence_.of(axis)).none())
                    rows *= double(other.extent);
        const double pack = is_contiguous(kernel_.body, axis.var) ? copied : gathered;
        return depth * std::ceil(extent / lanes) / extent + write_cycles(kernel_, axis) +
               depth * pack / rows;
    }

    /// The conditions by the side that they need; none may need both.
    bool split_conditions() {
        const auto add = [&](const Value& condition) {
            const Axes& axes = dependence_.of(condition);
            const bool has_columns = (axes & column_axes_).any();
            if (has_columns && (axes & row_axes_).any()) return false;
            Value& all = has_columns ? result_.column_condition : result_.row_condition;
            all =
                all ? make_operation(Op::logical_and, {all, condition}, DType::boolean) : condition;
            return true;
        };
        const auto compare = [](Op op, const AffineForm& form) {
            return make_operation(op, {make_index(form), make_integer(0)}, DType::boolean);
        };
        for (const AffineForm& form : kernel_.conditions.equal_zero)
            if (!add(compare(Op::eq, form))) return false;
        for (const AffineForm& form : kernel_.conditions.at_least_zero)
            if (!add(compare(Op::ge, form))) return false;
        return !kernel_.conditions.rest || add(kernel_.conditions.rest);
    }

    /// What a term depends on, as far as tiles care.
    struct Class {
        bool rows, columns, reduced;
    };
    Class class_of(const Value& value) {
        const Axes& axes = dependence_.of(value);
        return {(axes & row_axes_).any(), (axes & column_axes_).any(),
                (axes & dependence_.reduced()).any()};
    }

    /// Finds operands from the root down; what mixes rows and columns is kept as an operation.
    /// What is compared rounds as it is written: gradients of maxima look for the very values
    /// that another kernel found to be largest.
    Value regroup(const Value& value, bool is_compared) {
        const Class found = class_of(value);
        // A sign costs nothing in the tile, and what it stands before may need no evaluation.
        if (is_operation(value, Op::neg) && (found.rows || found.columns))
            return make_operation(Op::neg, {regroup(operands(value)[0], is_compared)},
                                  value->dtype);
        if (found.reduced && found.rows && !found.columns)
            return operand(result_.row_operands, value, found);
        if (found.reduced && found.columns && !found.rows)
            return operand(result_.column_operands, value, found);
        if (!found.reduced && (found.rows || found.columns))
            return operand(result_.held, value, found);
        if (!found.rows && !found.columns) return value;
        auto& memo = is_compared ? compared_ : regrouped_;
        if (const auto done = memo.find(value.get()); done != memo.end()) return done->second;
        Value result;
        if (const auto* convert = std::get_if<Convert>(&value->term)) {
            result = make_convert(regroup(convert->a, is_compared), value->dtype, convert->wraps);
        } else {
            const auto& operate = std::get<Operate>(value->term);
            std::vector<Value> args = operate.args;
            const bool is_compared_part = is_compared || info(operate.op).type == TypeRule::boolean;
            const bool is_grouped = (operate.op == Op::add || operate.op == Op::mul) &&
                                    !(is_compared && is_floating(value->dtype));
            if (is_grouped) args = gathered(operate, *value);
            for (Value& arg : args) arg = regroup(arg, is_compared_part);
            result = is_grouped && args.size() == 1
                         ? args[0]
                         : make_operation(operate.op, std::move(args), value->dtype);
        }
        kept_.push_back(value);
        return memo[value.get()] = result;
    }

    /// The operands of a sum or product with those of one side together, so that they are
    /// evaluated while packing. What depends on neither side joins the shorter one.
    std::vector<Value> gathered(const Operate& operate, const ValueNode& node) {
        std::vector<Value> rows;
        std::vector<Value> columns;
        std::vector<Value> neither;
        std::vector<Value> rest;
        bool rows_reduce = false;
        bool columns_reduce = false;
        for (const Value& arg : operate.args) {
            const Class found = class_of(arg);
            if (found.rows && found.columns)
                rest.push_back(arg);
            else if (found.rows)
                rows.push_back(arg), rows_reduce |= found.reduced;
            else if (found.columns)
                columns.push_back(arg), columns_reduce |= found.reduced;
            else
                neither.push_back(arg);
        }
        if (!neither.empty()) {
            std::vector<Value>& side = rows_reduce ? rows : columns_reduce ? columns : rest;
            side.insert(side.begin(), neither.begin(), neither.end());
        }
        std::vector<Value> args;
        const auto add_side = [&](std::vector<Value>& side) {
            if (side.empty()) return;
            args.push_back(side.size() == 1 ? side[0]
                                            : make_operation(operate.op, side, node.dtype));
        };
        add_side(rows);
        add_side(columns);
        args.insert(args.end(), rest.begin(), rest.end());
        return args;
    }

    static Value operand(std::vector<Operand>& operands, const Value& value, Class found) {
        const bool is_known =
            std::ranges::any_of(operands, [&](const Operand& o) { return o.term == value; });
        if (!is_known) operands.push_back({value, found.rows, found.columns});
        return value;
    }

    const Kernel& kernel_;
    LaneRule rule_;
    std::optional<Axis> given_;
    Dependence dependence_;
    std::unordered_set<const ValueNode*> visited_;  ///< a term may be shared
    std::vector<Axes> leaves_;
    Axes row_axes_;
    Axes column_axes_;
    std::unordered_map<const ValueNode*, Value> regrouped_;
    std::unordered_map<const ValueNode*, Value> compared_;  ///< the same of what is compared
    std::vector<Value> kept_;
    Contraction result_;
};

}  // namespace

std::vector<Value> terms(const std::vector<Operand>& operands) {
    std::vector<Value> result;
    for (const Operand& operand : operands) result.push_back(operand.term);
    return result;
}

std::vector<Value> all_terms(const Contraction& contraction) {
    std::vector<Value> result = terms(contraction.row_operands);
    for (const auto* operands : {&contraction.column_operands, &contraction.held})
        for (const Operand& operand : *operands) result.push_back(operand.term);
    return result;
}

double write_cycles(const Kernel& kernel, const Axis& lane) {
    constexpr double contiguous = 0.1;
    constexpr double near = 0.3;  // whole vectors with masks
    constexpr double scattered = 2.5;
    constexpr double colliding = 10;  // in one set of the caches
    const std::int64_t step = longest_step(kernel, lane);
    if (step == unknown_step) return std::numeric_limits<double>::infinity();
    if (step <= longest_short_step) return step == 1 ? contiguous : near;
    const auto bytes = std::int64_t(size_bytes(kernel.nest.at(kernel.writes[0].buffer).dtype));
    return step * bytes % sets_bytes == 0 ? colliding : scattered;
}

std::optional<Contraction> find_contraction(const Kernel& kernel, LaneRule rule,
                                            const std::optional<Axis>& lane) {
    return Finder(kernel, rule, lane).find();
}

}  // namespace ricci::codegen
