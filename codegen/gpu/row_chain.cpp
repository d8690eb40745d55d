// codegen/gpu/row_chain.cpp – kernels that pass over the same rows, one after the other
#include "codegen/gpu/row_chain.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/match.h"
#include "codegen/gpu/coalescing.h"
#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

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

/// Values of one nest as values of another: buffers get other numbers, shared nodes stay shared.
class Moved {
  public:
    explicit Moved(std::vector<BufferId> renamed) : renamed_(std::move(renamed)) {}

    [[nodiscard]] BufferId operator()(BufferId buffer) const {
        return renamed_.at(std::size_t(buffer));
    }
    Value operator()(const Value& value) {
        if (!value) return value;
        if (const auto found = known_.find(value.get()); found != known_.end())
            return found->second;
        Value result = match(
            value->term, [&](const Constant&) { return value; },
            [&](const VarValue&) { return value; }, [&](const LetValue&) { return value; },
            [&](const Convert& convert) {
                Convert moved = convert;
                moved.a = (*this)(convert.a);
                return make_value(moved, value->dtype);
            },
            [&](const Operate& operate) {
                std::vector<Value> args;
                for (const Value& arg : operate.args) args.push_back((*this)(arg));
                return make_value(Operate{operate.op, std::move(args)}, value->dtype);
            },
            [&](const Load& load) {
                return make_value(
                    Load{(*this)(load.buffer), {load.at.affine, (*this)(load.at.computed)}},
                    value->dtype);
            });
        known_.emplace(value.get(), result);
        return result;
    }

  private:
    std::vector<BufferId> renamed_;
    std::unordered_map<const ValueNode*, Value> known_;
};

/// Where a row's result is written, or an element is read, in the chain's axes.
struct Known {
    std::size_t place = 0;
    AffineForm at;
};

class Finder {
  public:
    Finder(const std::vector<Kernel>& kernels, std::size_t first, const Plan& plan)
        : kernels_(kernels), first_(first), plan_(plan) {}

    std::optional<RowChain> run() {
        if (!begin(without_single_axes(kernels_[first_]))) return std::nullopt;
        std::size_t end = first_ + 1;
        while (end < kernels_.size() && extend(without_single_axes(kernels_[end]))) ++end;
        if (end - first_ < 2 || !reads_twice()) return std::nullopt;
        chain_.kernel.nest.name = kernels_[end - 1].nest.name;
        for (const Known& result : results_) {
            const BufferId buffer = chain_.kernel.argument(plan_, result.place, true);
            chain_.results.push_back(buffer);
            if (!is_read_outside(result.place, end)) chain_.unread.push_back(buffer);
        }
        return std::move(chain_);
    }

  private:
    static bool is_plain(const Kernel& kernel) {
        return kernel.conditions.is_empty() && !kernel.has_meeting_writes() && !kernel.arg_place &&
               points(kernel.free) > 0 && (!kernel.body || points(kernel.reduced) > 0);
    }

    /// Two loads along the rows of which each belongs to rows that the other knows nothing of:
    /// tiles of rows against columns do better.
    static bool is_contraction(const Kernel& kernel) {
        std::vector<Touch> loads = touches_of(kernel, Part::body);
        const auto moves = [](const Touch& touch, const std::vector<Axis>& axes) {
            return std::ranges::any_of(
                axes, [&](const Axis& axis) { return touch.address.coefficient(axis.var) != 0; });
        };
        std::erase_if(loads, [&](const Touch& touch) { return !moves(touch, kernel.reduced); });
        const auto has_own_row = [&](const Touch& a, const Touch& b) {
            return std::ranges::any_of(kernel.free, [&](const Axis& axis) {
                return a.address.coefficient(axis.var) != 0 && b.address.coefficient(axis.var) == 0;
            });
        };
        return std::ranges::any_of(loads, [&](const Touch& a) {
            return std::ranges::any_of(
                loads, [&](const Touch& b) { return has_own_row(a, b) && has_own_row(b, a); });
        });
    }

    bool begin(const Kernel& kernel) {
        if (!kernel.body || !is_plain(kernel) || kernel.reduced.empty()) return false;
        Nest& nest = chain_.kernel.nest;
        const auto copy = [&](const std::vector<Axis>& axes) {
            std::vector<Axis> own;
            for (const Axis& axis : axes)
                own.push_back({nest.add(kernel.nest.at(axis.var)), axis.extent});
            return own;
        };
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
                if (!rows) return false;
                std::vector<Axis> along = kernel.body ? kernel.reduced : kernel.free;
                if (!kernel.body)
                    std::erase_if(along, [&](const Axis& axis) {
                        return std::ranges::find(*rows, axis) != rows->end();
                    });
                const bool has_other_axes = kernel.body && rows->size() != kernel.free.size();
                return !has_other_axes && add(kernel, *rows, along);
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
        if (kernel.body && is_contraction(kernel)) return false;
        if (!std::ranges::equal(along, chain_.kernel.reduced, {}, &Axis::extent, &Axis::extent))
            return false;
        Substitution to;
        for (std::size_t i = 0; i < rows.size(); ++i)
            to.replace(rows[i].var, form(chain_.kernel.free[i].var));
        for (std::size_t i = 0; i < along.size(); ++i)
            to.replace(along[i].var, form(chain_.kernel.reduced[i].var));
        std::set<std::size_t> reads;
        std::set<std::size_t> writes;
        std::vector<Known> elements;
        for (const Touch& touch : touches(kernel)) {
            const std::size_t place = kernel.places.at(std::size_t(touch.buffer));
            if (!touch.is_store && !touch.is_computed)
                elements.push_back({place, to(touch.address)});
            const auto result = std::ranges::find(results_, place, &Known::place);
            (touch.is_store ? writes : reads).insert(place);
            if (result == results_.end()) continue;
            if (touch.is_store || touch.is_computed || to(touch.address) != result->at)
                return false;
            reads.erase(place);
        }
        // Elements that one stage writes and another touches would need memory and barriers.
        const auto meets = [](const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
            return std::ranges::any_of(a, [&](std::size_t place) { return b.contains(place); });
        };
        if (meets(writes, reads) || meets(writes, read_) || meets(writes, written_) ||
            meets(reads, written_) || writes.size() != kernel.writes.size())
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
        Moved moved(std::move(renamed));
        RowStage stage{.reducer = kernel.reducer, .arg_index = to(kernel.arg_index), .writes = {}};
        if (kernel.body) stage.body = moved(to(kernel.body));
        for (const Store& write : kernel.writes) {
            Store own = write;
            own.buffer = moved(write.buffer);
            own.at = to(write.at);
            if (own.at.computed) own.at.computed = moved(own.at.computed);
            own.value = moved(to(write.value));
            if (kernel.body && !write.combine && !write.at.computed)
                results_.push_back({kernel.places.at(std::size_t(write.buffer)), own.at.affine});
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

    [[nodiscard]] bool is_read_outside(std::size_t place, std::size_t end) const {
        if (plan_.buffers.at(place).kind == PlanBuffer::Kind::tensor) return true;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            const bool is_inside = k >= first_ && k < end;
            const std::vector<std::size_t>& places = kernels_[k].places;
            if (!is_inside && std::ranges::find(places, place) != places.end()) return true;
        }
        return false;
    }

    const std::vector<Kernel>& kernels_;
    std::size_t first_;
    const Plan& plan_;
    RowChain chain_;
    std::vector<Known> results_;
    std::vector<Known> elements_;
    std::set<std::size_t> read_;
    std::set<std::size_t> written_;
};

}  // namespace

std::optional<RowChain> find_row_chain(const std::vector<Kernel>& kernels, std::size_t first,
                                       const Plan& plan) {
    return Finder(kernels, first, plan).run();
}

}  // namespace ricci::codegen::gpu
