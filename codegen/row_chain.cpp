// codegen/row_chain.cpp – kernels that pass over the same rows, one after the other
#include "codegen/row_chain.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/match.h"
#include "codegen/equal_values.h"
#include "codegen/kernel_places.h"

namespace ricci::codegen {

namespace {

/// The kernel without axes of one point.
Kernel without_single_axes(Kernel kernel) {
    Substitution to;
    const auto drop = [&](std::vector<Axis>& axes) {
        for (const Axis& axis : axes)
            if (axis.extent == 1) to.replace(axis.var, form(0));
        std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
    };
    drop(kernel.free);
    drop(kernel.reduced);
    if (kernel.body) kernel.body = to(kernel.body);
    kernel.arg_index = to(kernel.arg_index);
    for (Store& write : kernel.writes) {
        write.at = to(write.at);
        write.value = to(write.value);
    }
    return kernel;
}

/// Values of one nest as values of another: buffers get other numbers, equal values become one
/// node, and elements that an earlier stage wrote are the values that it gave them.
class Moved {
  public:
    Moved(std::vector<BufferId> renamed, const std::map<BufferId, Value>& elements,
          EqualValues& unify)
        : renamed_(std::move(renamed)), elements_(elements), unify_(unify) {}

    [[nodiscard]] BufferId operator()(BufferId buffer) const {
        return renamed_.at(std::size_t(buffer));
    }
    Value operator()(const Value& value) {
        if (!value) return value;
        if (const auto found = known_.find(value.get()); found != known_.end())
            return found->second;
        Value result = match(
            value->term, [&](const Constant&) { return unify_(value); },
            [&](const VarValue&) { return unify_(value); },
            [&](const LetValue&) { return unify_(value); },
            [&](const Convert& convert) {
                Convert moved = convert;
                moved.a = (*this)(convert.a);
                return unify_(make_value(moved, value->dtype));
            },
            [&](const Operate& operate) {
                std::vector<Value> args;
                for (const Value& arg : operate.args) args.push_back((*this)(arg));
                return unify_(make_value(Operate{operate.op, std::move(args)}, value->dtype));
            },
            [&](const Load& load) {
                const BufferId buffer = (*this)(load.buffer);
                if (const auto found = elements_.find(buffer); found != elements_.end())
                    return found->second;
                return unify_(make_value(Load{buffer, {load.at.affine, (*this)(load.at.computed)}},
                                         value->dtype));
            });
        kept_.push_back(value);
        known_.emplace(value.get(), result);
        return result;
    }

  private:
    std::vector<BufferId> renamed_;
    const std::map<BufferId, Value>& elements_;
    EqualValues& unify_;
    std::unordered_map<const ValueNode*, Value> known_;
    std::vector<Value> kept_;  ///< keeps the keys of known_ alive
};

/// Where a row's result is written, or an element is read, in the chain's axes.
struct Known {
    std::size_t place = 0;
    AffineForm at;
};

class Finder {
  public:
    Finder(const std::vector<Kernel>& kernels, std::size_t first, const Plan& plan,
           const ChainRules& rules, const std::set<std::size_t>& read_later)
        : kernels_(kernels), first_(first), plan_(plan), rules_(rules), read_later_(read_later) {}

    std::optional<RowChain> run() {
        if (!begin(without_single_axes(kernels_[first_]))) return std::nullopt;
        chain_.members = {first_};
        take_followers(kernels_, first_, [&](std::size_t k) {
            if (!extend(without_single_axes(kernels_[k]))) return false;
            chain_.members.push_back(k);
            return true;
        });
        if (chain_.members.size() < 2 || (rules_.needs_gain && !reads_twice())) return std::nullopt;
        chain_.kernel.nest.name = kernels_[chain_.members.back()].nest.name;
        for (const Known& result : results_) {
            const BufferId buffer = chain_.kernel.argument(plan_, result.place, true);
            chain_.results.push_back(buffer);
            if (!is_read_outside(result.place)) chain_.unread.push_back(buffer);
        }
        drop_unread_elements();
        return std::move(chain_);
    }

  private:
    static bool is_plain(const Kernel& kernel) {
        return kernel.conditions.is_empty() && !kernel.has_meeting_writes() && !kernel.arg_place &&
               !kernel.carry && !kernel.value_let && points(kernel.free) > 0 &&
               (!kernel.body || points(kernel.reduced) > 0);
    }

    bool begin(const Kernel& kernel) {
        if (!kernel.body || !is_plain(kernel) || kernel.reduced.empty()) return false;
        if (rules_.fits && !rules_.fits(kernel, kernel.free)) return false;
        Nest& nest = chain_.kernel.nest;
        const auto copy = [&](const std::vector<Axis>& axes) {
            std::vector<Axis> own;
            for (const Axis& axis : axes)
                own.push_back({nest.add(kernel.nest.at(axis.var)), axis.extent});
            return own;
        };
        chain_.kernel.slices = copy(kernel.slices);
        chain_.kernel.free = copy(kernel.free);
        chain_.kernel.reduced = copy(kernel.reduced);
        return add(kernel, kernel.free, kernel.reduced);
    }

    /// Finds the kernel's rows through a result that it reads, or else through elements.
    bool extend(const Kernel& kernel) {
        if (!is_plain(kernel)) return false;
        for (const std::vector<Known>& known : {results_, elements_})
            for (const Touch& touch : touches(kernel)) {
                const std::size_t place = kernel.places.at(std::size_t(touch.buffer));
                const auto found = std::ranges::find(known, place, &Known::place);
                if (touch.is_store || touch.is_computed || found == known.end()) continue;
                const auto rows = matching_rows(kernel.free, touch.address, found->at);
                if (!rows) continue;  // does not tell the rows: shared by all, or of others
                std::vector<Axis> along = kernel.body ? kernel.reduced : kernel.free;
                if (!kernel.body)
                    std::erase_if(along, [&](const Axis& axis) {
                        return std::ranges::find(*rows, axis) != rows->end();
                    });
                const bool has_other_axes = kernel.body && rows->size() != kernel.free.size();
                if (has_other_axes || (rules_.fits && !rules_.fits(kernel, *rows))) return false;
                return add(kernel, *rows, along);
            }
        return false;
    }

    /// The axes that move `address` as the chain's rows move `at`.
    [[nodiscard]] std::optional<std::vector<Axis>> matching_rows(const std::vector<Axis>& axes,
                                                                 const AffineForm& address,
                                                                 const AffineForm& at) const {
        std::vector<Axis> rows;
        for (const Axis& row : chain_.kernel.free) {
            const std::int64_t step = at.coefficient(row.var);
            const auto found = std::ranges::find_if(axes, [&](const Axis& axis) {
                return axis.extent == row.extent && address.coefficient(axis.var) == step &&
                       std::ranges::find(rows, axis) == rows.end();
            });
            if (step == 0 || found == axes.end()) return std::nullopt;
            rows.push_back(*found);
        }
        return rows;
    }

    /// Takes the kernel into the chain as its next stage, if it may be.
    bool add(const Kernel& kernel, const std::vector<Axis>& rows, const std::vector<Axis>& along) {
        if (kernel.body && is_rows_against_columns(kernel)) return false;
        if (!std::ranges::equal(along, chain_.kernel.reduced, {}, &Axis::extent, &Axis::extent))
            return false;
        Substitution to;
        for (std::size_t i = 0; i < kernel.slices.size(); ++i)
            to.replace(kernel.slices[i].var, form(chain_.kernel.slices[i].var));
        for (std::size_t i = 0; i < rows.size(); ++i)
            to.replace(rows[i].var, form(chain_.kernel.free[i].var));
        for (std::size_t i = 0; i < along.size(); ++i)
            to.replace(along[i].var, form(chain_.kernel.reduced[i].var));
        std::set<std::size_t> reads;
        std::set<std::size_t> writes;
        std::vector<Known> elements;
        for (const Touch& touch : touches(kernel)) {
            const std::size_t place = kernel.places.at(std::size_t(touch.buffer));
            if (!touch.is_computed) elements.push_back({place, to(touch.address)});
            const auto result = std::ranges::find(results_, place, &Known::place);
            (touch.is_store ? writes : reads).insert(place);
            if (result != results_.end()) {
                if (touch.is_store || touch.is_computed || to(touch.address) != result->at)
                    return false;
                reads.erase(place);
            } else if (!touch.is_store && written_.contains(place)) {
                // Other elements that an earlier stage writes would need memory and barriers.
                const auto passed = std::ranges::find(passed_, place, &Known::place);
                if (passed == passed_.end() || touch.is_computed || to(touch.address) != passed->at)
                    return false;
            }
        }
        if (meet(writes, reads) || meet(writes, read_) || meet(writes, written_) ||
            writes.size() != kernel.writes.size())
            return false;
        elements_.insert(elements_.end(), elements.begin(), elements.end());
        read_.merge(reads);
        written_.merge(writes);
        add_stage(kernel, to);
        return true;
    }

    void add_stage(const Kernel& kernel, Substitution& to) {
        std::vector<BufferId> renamed;
        for (std::size_t b = 0; b < kernel.places.size(); ++b)
            renamed.push_back(
                chain_.kernel.argument(plan_, kernel.places[b], kernel.nest.buffers[b].is_written));
        Moved moved(std::move(renamed), element_values_, unify_);
        RowStage stage{.reducer = kernel.reducer, .arg_index = to(kernel.arg_index), .writes = {}};
        if (kernel.body) stage.body = moved(to(kernel.body));
        for (const Store& write : kernel.writes) {
            Store own = write;
            own.buffer = moved(write.buffer);
            own.at = to(write.at);
            if (own.at.computed) own.at.computed = moved(own.at.computed);
            own.value = moved(to(write.value));
            if (!write.combine && !write.at.computed) {
                const Known known{kernel.places.at(std::size_t(write.buffer)), own.at.affine};
                if (kernel.body) {
                    results_.push_back(known);
                } else if (points(chain_.kernel.reduced) <= rules_.longest_passing) {
                    passed_.push_back(known);
                    element_values_[own.buffer] = own.value;
                }
            }
            stage.writes.push_back(std::move(own));
        }
        if (!kernel.body) stage.reducer.reset();
        chain_.stages.push_back(std::move(stage));
    }

    /// Whether two stages read the same elements along the rows.
    [[nodiscard]] bool reads_twice() const {
        std::vector<Touch> known;
        for (const RowStage& stage : chain_.stages) {
            Kernel view = chain_.kernel;
            view.body = stage.body;
            view.writes = stage.writes;
            std::vector<Touch> own = touches(view);
            std::erase_if(own, [&](const Touch& touch) {
                return touch.is_store || touch.is_computed ||
                       std::ranges::none_of(view.reduced, [&](const Axis& axis) {
                           return touch.address.coefficient(axis.var) != 0;
                       });
            });
            for (const Touch& touch : own)
                if (std::ranges::any_of(known, [&](const Touch& other) {
                        return other.buffer == touch.buffer && other.address == touch.address;
                    }))
                    return true;
            known.insert(known.end(), own.begin(), own.end());
        }
        return false;
    }

    [[nodiscard]] bool is_read_outside(std::size_t place) const {
        if (plan_.buffers.at(place).kind == PlanBuffer::Kind::tensor) return true;
        if (read_later_.contains(place)) return true;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            const bool is_inside = std::ranges::find(chain_.members, k) != chain_.members.end();
            const std::vector<std::size_t>& places = kernels_[k].places;
            if (!is_inside && std::ranges::find(places, place) != places.end()) return true;
        }
        return false;
    }

    /// Elements that pass from stage to stage and are read nowhere else need no memory.
    void drop_unread_elements() {
        for (const Known& element : passed_) {
            if (is_read_outside(element.place)) continue;
            const BufferId buffer = chain_.kernel.argument(plan_, element.place, true);
            for (RowStage& stage : chain_.stages)
                std::erase_if(stage.writes,
                              [&](const Store& write) { return write.buffer == buffer; });
        }
        std::erase_if(chain_.stages, [](const RowStage& stage) { return stage.writes.empty(); });
    }

    const std::vector<Kernel>& kernels_;
    std::size_t first_;
    const Plan& plan_;
    const ChainRules& rules_;
    const std::set<std::size_t>& read_later_;
    RowChain chain_;
    std::vector<Known> results_;
    std::vector<Known> elements_;  ///< that a stage touches
    std::vector<Known> passed_;    ///< that a stage writes and later ones may read
    std::map<BufferId, Value> element_values_;
    EqualValues unify_;
    std::set<std::size_t> read_;
    std::set<std::size_t> written_;
};

}  // namespace

std::optional<RowChain> find_row_chain(const std::vector<Kernel>& kernels, std::size_t first,
                                       const Plan& plan, const ChainRules& rules,
                                       const std::set<std::size_t>& read_later) {
    return Finder(kernels, first, plan, rules, read_later).run();
}

}  // namespace ricci::codegen
