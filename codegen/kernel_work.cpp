// codegen/kernel_work.cpp – counting the operations and the elements of a kernel
#include "codegen/kernel_work.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// Points looked at one by one to count those of which conditions hold.
constexpr double most_looked_at = 1 << 14;

double count(const std::vector<Axis>& axes) {
    double product = 1;
    for (const Axis& axis : axes) product *= double(axis.extent);
    return product;
}

// Points.

/// Counts the points of some axes at which affine conditions hold: one after the other on all axes
/// but the longest, at once on that one.
class ConditionalPoints {
  public:
    ConditionalPoints(std::vector<Axis> axes, const Conditions& conditions)
        : axes_(std::move(axes)), conditions_(conditions) {
        std::ranges::stable_sort(axes_, {}, &Axis::extent);
        longest_ = axes_.back();
        axes_.pop_back();
    }

    double run() {
        if (count(axes_) > most_looked_at) return count(axes_) * double(longest_.extent);
        for (const Axis& axis : axes_) at_.resize(std::max(at_.size(), std::size_t(axis.var) + 1));
        over(0);
        return points_;
    }

  private:
    void over(std::size_t axis) {
        if (axis == axes_.size()) {
            points_ += double(on_longest());
            return;
        }
        for (std::int64_t at = 0; at < axes_[axis].extent; ++at) {
            at_[std::size_t(axes_[axis].var)] = at;
            over(axis + 1);
        }
    }
    [[nodiscard]] std::int64_t rest(const AffineForm& form) const {
        std::int64_t value = form.constant;
        for (const AffineForm::Term& term : form.terms)
            if (term.var != longest_.var) value += term.coefficient * at_[std::size_t(term.var)];
        return value;
    }
    [[nodiscard]] std::int64_t on_longest() const {
        std::int64_t low = 0;
        std::int64_t high = longest_.extent - 1;
        for (const AffineForm& form : conditions_.at_least_zero) {
            const std::int64_t step = form.coefficient(longest_.var);
            const std::int64_t start = rest(form);
            if (step > 0) low = std::max(low, ceil_div(-start, step));
            if (step < 0) high = std::min(high, floor_div(start, -step));
            if (step == 0 && start < 0) return 0;
        }
        for (const AffineForm& form : conditions_.equal_zero) {
            const std::int64_t step = form.coefficient(longest_.var);
            const std::int64_t start = rest(form);
            if (step == 0 ? start != 0 : start % step != 0) return 0;
            if (step == 0) continue;
            low = std::max(low, -start / step);
            high = std::min(high, -start / step);
        }
        return std::max<std::int64_t>(high - low + 1, 0);
    }

    std::vector<Axis> axes_;
    Axis longest_;
    const Conditions& conditions_;
    std::vector<std::int64_t> at_;  ///< by variable
    double points_ = 0;
};

// Operations.

/// A subtraction, `add(a, neg(b))`, is one; a choice is none.
double operations(const Value& value) {
    const auto* operate = std::get_if<Operate>(&value->term);
    if (operate == nullptr || !is_floating(value->dtype)) return 0;
    if (operate->op == Op::neg || operate->op == Op::select) return 0;
    if (operate->op == Op::fma) return 2;
    const bool is_chain = operate->op == Op::add || operate->op == Op::mul;
    return is_chain ? double(operate->args.size()) - 1 : 1;
}

// Elements.

/// How many elements an address names at the points of the axes: exact for nested and for dense
/// walks, else at most that.
double distinct(const AffineForm& address, const std::vector<Axis>& axes, std::int64_t elements) {
    /// A progression; what stands below it fits between two of its members.
    struct Level {
        std::int64_t step = 1;
        std::int64_t length = 1;
    };
    std::vector<Level> walks;
    std::int64_t lowest = address.constant;
    for (const Axis& axis : axes) {
        const std::int64_t step = address.coefficient(axis.var);
        if (step < 0) lowest += step * (axis.extent - 1);
        if (step != 0 && axis.extent > 1) walks.push_back({std::abs(step), axis.extent});
    }
    std::ranges::sort(walks, {}, &Level::step);
    std::vector<Level> levels;
    std::int64_t reach = 0;  // from the lowest element
    double product = 1;
    bool is_regular = true;
    for (const Level& walk : walks) {
        product *= double(walk.length);
        Level* const top = levels.empty() ? nullptr : &levels.back();
        if (top != nullptr && walk.step % top->step == 0 && walk.step / top->step <= top->length)
            top->length += walk.step / top->step * (walk.length - 1);
        else if (walk.step > reach)
            levels.push_back(walk);
        else
            is_regular = false;
        reach += walk.step * (walk.length - 1);
    }
    if (!is_regular) return std::min({product, double(reach) + 1, double(elements)});
    if (levels.size() == 1) {  // what conditions keep inside
        const auto [step, length] = levels[0];
        const std::int64_t first = std::max<std::int64_t>(0, ceil_div(-lowest, step));
        const std::int64_t last = std::min(length - 1, floor_div(elements - 1 - lowest, step));
        return double(std::max<std::int64_t>(0, last - first + 1));
    }
    double all = 1;
    for (const Level& level : levels) all *= double(level.length);
    return std::min(all, double(elements));
}

/// What is read of a buffer, or written to it.
struct Elements {
    double sum = 0;  ///< of each address by itself
    std::int64_t low = std::numeric_limits<std::int64_t>::max();
    std::int64_t high = std::numeric_limits<std::int64_t>::min();
    std::vector<AffineForm> known;
};

class Counter {
  public:
    explicit Counter(const Kernel& kernel) : kernel_(kernel), axes_(kernel.slices) {
        axes_.insert(axes_.end(), kernel.free.begin(), kernel.free.end());
        rows_ = count(axes_);
        axes_.insert(axes_.end(), kernel.reduced.begin(), kernel.reduced.end());
        all_ = points_left(axes_, kernel.conditions);
    }

    /// Values at every point that count, each node once.
    void evaluate(const std::vector<Value>& values) {
        for (const Value& value : values) (void)moves(value);
    }
    void combine(const Value& body) {
        if (body && is_floating(body->dtype)) work_.operations += all_;
    }
    /// A write at the free points, or, where its value moves along the others, at all.
    void write(const Store& store) {
        evaluate({store.value, store.at.computed});
        if (store.combine && is_floating(store.value->dtype))
            work_.operations += moves(store.value) ? all_ : rows_;
    }
    /// Nodes are new ones again: another stage's Let 0 is another value.
    void forget_free_values() {
        std::erase_if(moving_, [](const auto& known) { return !known.second; });
    }

    void touch(const Touch& touch) {
        if (rows_ == 0 || (touch.is_reduced && all_ == 0)) return;
        const std::int64_t elements = kernel_.nest.at(touch.buffer).elements;
        Elements& of = elements_[{touch.buffer, touch.is_store}];
        if (touch.is_computed) {
            std::vector<Axis> moving;
            for (const Axis& axis : axes_)
                if (touch.address.coefficient(axis.var) != 0 ||
                    depends_on(touch.computed, axis.var))
                    moving.push_back(axis);
            of.sum += count(moving);
            of.low = 0;
            of.high = elements - 1;
            return;
        }
        if (std::ranges::find(of.known, touch.address) != of.known.end()) return;
        of.known.push_back(touch.address);
        of.sum += distinct(touch.address, axes_, elements);
        const auto [low, high] = value_range(kernel_, touch.address);
        of.low = std::max<std::int64_t>(0, std::min(of.low, low));
        of.high = std::min(elements - 1, std::max(of.high, high));
    }

    [[nodiscard]] Work work() const {
        Work work = work_;
        for (const auto& [key, of] : elements_)
            work.bytes += std::min(of.sum, std::max(0.0, double(of.high - of.low + 1))) *
                          double(size_bytes(kernel_.nest.at(key.first).dtype));
        return work;
    }

  private:
    /// Whether the value moves along the reduced axes; counts it when it is new.
    bool moves(const Value& value) {
        if (!value) return false;
        if (const auto found = moving_.find(value.get()); found != moving_.end())
            return found->second;
        const auto has_reduced = [&](const AffineForm& form) {
            return std::ranges::any_of(
                kernel_.reduced, [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
        };
        const auto* load = std::get_if<Load>(&value->term);
        const auto* index = std::get_if<VarValue>(&value->term);
        bool is_moving = (load != nullptr && has_reduced(load->at.affine)) ||
                         (index != nullptr && has_reduced(index->form));
        for (const Value& operand : operands(value)) is_moving |= moves(operand);
        moving_.emplace(value.get(), is_moving);
        work_.operations += operations(value) * (is_moving ? all_ : rows_);
        return is_moving;
    }

    const Kernel& kernel_;
    std::vector<Axis> axes_;
    double rows_ = 0;
    double all_ = 0;
    Work work_;
    std::unordered_map<const ValueNode*, bool> moving_;
    std::map<std::pair<BufferId, bool>, Elements> elements_;
};

/// What a combining store finds is read.
void count_touches(Counter& counter, const Kernel& kernel,
                   const std::function<bool(const Touch&)>& is_memory) {
    for (const Touch& touch : touches(kernel))
        if (is_memory(touch)) counter.touch(touch);
    for (const Store& write : kernel.writes)
        if (write.combine)
            counter.touch({write.buffer, write.at.affine, write.at.computed != nullptr, false,
                           false, write.at.computed});
}

}  // namespace

// Axes that no condition ties together multiply.
double points_left(std::vector<Axis> axes, Conditions conditions) {
    double product = 1;
    while (!axes.empty()) {
        std::vector<Axis> tied = {axes.back()};
        Conditions own;
        const auto is_tied = [&](const AffineForm& form) {
            return std::ranges::any_of(
                tied, [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
        };
        const auto take = [&](std::vector<AffineForm>& from, std::vector<AffineForm>& to) {
            const auto taken = std::ranges::stable_partition(
                from, [&](const AffineForm& form) { return !is_tied(form); });
            to.insert(to.end(), taken.begin(), taken.end());
            from.erase(taken.begin(), taken.end());
        };
        for (std::size_t known = 0; known != tied.size();) {
            known = tied.size();
            take(conditions.at_least_zero, own.at_least_zero);
            take(conditions.equal_zero, own.equal_zero);
            for (const std::vector<AffineForm>* forms : {&own.at_least_zero, &own.equal_zero})
                for (const AffineForm& form : *forms)
                    for (const Axis& axis : axes)
                        if (form.coefficient(axis.var) != 0 &&
                            std::ranges::find(tied, axis) == tied.end())
                            tied.push_back(axis);
        }
        std::erase_if(
            axes, [&](const Axis& axis) { return std::ranges::find(tied, axis) != tied.end(); });
        product *= ConditionalPoints(std::move(tied), own).run();
    }
    const bool never_hold =
        std::ranges::any_of(conditions.at_least_zero,
                            [](const AffineForm& form) { return form.constant < 0; }) ||
        std::ranges::any_of(conditions.equal_zero,
                            [](const AffineForm& form) { return form.constant != 0; });
    return never_hold ? 0 : product;
}

Work work_of(const Kernel& kernel) {
    Counter counter(kernel);
    if (kernel.body) {
        counter.evaluate({kernel.body, kernel.carry, kernel.conditions.rest});
        counter.combine(kernel.body);
        if (kernel.carry) counter.combine(kernel.carry);
    }
    for (const Store& write : kernel.writes) counter.write(write);
    count_touches(counter, kernel, [](const Touch&) { return true; });
    return counter.work();
}

Work work_of(const RowChain& chain) {
    Counter counter(chain.kernel);
    for (const RowStage& stage : chain.stages) {
        counter.evaluate({stage.body});
        counter.combine(stage.body);
        for (const Store& write : stage.writes) counter.write(write);
        counter.forget_free_values();
        Kernel view = chain.kernel;
        view.body = stage.body;
        view.writes = stage.writes;
        count_touches(counter, view, [&](const Touch& touch) {
            return touch.is_store ? !chain.is_unread(touch.buffer) : !chain.is_result(touch.buffer);
        });
    }
    return counter.work();
}

}  // namespace ricci::codegen
