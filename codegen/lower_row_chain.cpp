// codegen/lower_row_chain.cpp – chains of rows: a task passes over a row while it is in cache
#include <algorithm>
#include <map>
#include <set>

#include "codegen/fold_indices.h"
#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"
#include "codegen/row_chain.h"
#include "codegen/row_loops.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

/// A value that costs less is computed by each stage that needs it (an operation costs 1).
constexpr double least_kept_cost = 8;
/// Bytes of all rows of kept values: they stay in the second-level cache beside the row's elements.
constexpr std::int64_t most_kept_bytes = 128 << 10;
/// Longer work with fewer rows is better off in kernels of two levels, which split rows.
constexpr std::int64_t fewest_rows = 64;

bool moves_along(const Value& value, const std::vector<Axis>& along) {
    return std::ranges::any_of(along,
                               [&](const Axis& axis) { return depends_on(value, axis.var); });
}

std::vector<Value> roots_of(const RowStage& stage) {
    if (stage.reducer) return {stage.body};
    std::vector<Value> roots;
    for (const Store& write : stage.writes) {
        roots.push_back(write.value);
        if (write.at.computed) roots.push_back(write.at.computed);
    }
    return roots;
}

/// What a stage computes at a point that others compute, too, or that is the same along the row.
struct StageNodes {
    std::vector<Value> kept;  ///< computed here for later stages, operands first
    std::vector<Value> even;  ///< the same at all points of a row
};

/// Chooses the values that one stage keeps for others.
class KeptValues {
  public:
    explicit KeptValues(const RowChain& chain) : along_(chain.kernel.reduced) {
        for (const RowStage& stage : chain.stages) {
            std::set<const ValueNode*>& nodes = nodes_.emplace_back();
            for_each_node(roots_of(stage), [&](const Value& node) { nodes.insert(node.get()); });
        }
        // First as if every dear value were kept: what later stages then find is kept.
        (void)visit_all(chain);
        is_final_ = true;
        for (auto& [node, stage] : made_) stage.reset();
        stages_ = visit_all(chain);
    }
    [[nodiscard]] const std::vector<StageNodes>& stages() const { return stages_; }

  private:
    std::vector<StageNodes> visit_all(const RowChain& chain) {
        std::vector<StageNodes> all;
        for (std::size_t s = 0; s < chain.stages.size(); ++s) {
            StageNodes& own = all.emplace_back();
            std::set<const ValueNode*> seen;
            for (const Value& root : roots_of(chain.stages[s])) visit(root, s, seen, own);
        }
        return all;
    }
    void visit(const Value& node, std::size_t stage, std::set<const ValueNode*>& seen,
               StageNodes& own) {
        if (!seen.insert(node.get()).second) return;
        if (!moves_along(node, along_)) {
            const bool is_atom =
                operands(node).empty() && !std::holds_alternative<Load>(node->term);
            if (!is_atom) own.even.push_back(node);
            return;
        }
        if (made_[node.get()] && *made_[node.get()] != stage) {
            found_.insert(node.get());
            return;
        }
        for (const Value& operand : operands(node)) visit(operand, stage, seen, own);
        if (!is_needed_after(node, stage)) return;
        made_[node.get()] = stage;
        own.kept.push_back(node);
    }
    [[nodiscard]] bool is_needed_after(const Value& node, std::size_t stage) const {
        if (is_final_) return found_.contains(node.get());
        if (cost({node}) < least_kept_cost) return false;
        for (std::size_t s = stage + 1; s < nodes_.size(); ++s)
            if (nodes_[s].contains(node.get())) return true;
        return false;
    }

    const std::vector<Axis>& along_;
    std::vector<std::set<const ValueNode*>> nodes_;  ///< of each stage
    std::map<const ValueNode*, std::optional<std::size_t>> made_;
    std::set<const ValueNode*> found_;
    bool is_final_ = false;
    std::vector<StageNodes> stages_;
};

class RowChainNest {
  public:
    RowChainNest(RowChain& chain, const LanePlan& lanes, Schedule& schedule)
        : chain_(chain),
          kernel_(chain.kernel),
          lanes_(lanes.lanes),
          cycles_(lanes.cycles),
          schedule_(schedule) {
        std::vector<Axis> order = kernel_.reduced;
        std::erase(order, *lanes.axis);
        order.push_back(*lanes.axis);
        for (const Axis& axis : order) loops_.push_back({axis, bound(0), bound(axis.extent)});
        std::int64_t step = 1;
        for (std::size_t i = order.size(); i-- > 0;) {
            place_ = place_ + form(order[i].var, step);
            step *= order[i].extent;
        }
    }

    void run() {
        keep_values();
        const TaskSplit split =
            split_tasks(kernel_.nest, kernel_.free, 1, cycles_ / double(points(kernel_.free)));
        describe(split);
        Body body;
        for (std::size_t s = 0; s < chain_.stages.size(); ++s) {
            const RowStage& stage = chain_.stages[s];
            append(body, name_even(stages_[s].even));
            append(body, stage.reducer ? reduction(s) : pass(s));
        }
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    void keep_values() {
        stages_ = KeptValues(chain_).stages();
        const std::int64_t elements = points(kernel_.reduced);
        std::int64_t left = most_kept_bytes;
        for (StageNodes& stage : stages_)
            std::erase_if(stage.kept, [&](const Value& node) {
                const std::int64_t bytes = elements * std::int64_t(size_bytes(node->dtype));
                if (bytes > left) return true;
                left -= bytes;
                rows_.emplace(node.get(), add_scratch(kernel_.nest, "row", node->dtype, elements));
                return false;
            });
    }

    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(loops_.back().axis.var).name;
        schedule_.say("chain", "", std::int64_t(chain_.stages.size()),
                      "passes over a row while it is in cache");
        schedule_.say("parallel", "", split.tasks, "tasks of some 0.05 ms, by extents alone");
        schedule_.say("vector", axis, lanes_, "contiguous along the row");
        if (!rows_.empty())
            schedule_.say("keep", "", std::int64_t(rows_.size()),
                          "values of each element for later passes");
    }

    /// Values that are the same at all points of the row are computed once.
    Body name_even(const std::vector<Value>& nodes) {
        Body body;
        for (const Value& node : nodes) {
            const std::vector<Value> value = share(body, {known_(node)}, kernel_.next_let);
            if (std::holds_alternative<LetValue>(value[0]->term)) {
                known_.replace(node, value[0]);
                continue;
            }
            body.push_back(make_let(kernel_.next_let, value[0]));
            known_.replace(node, make_let_value(kernel_.next_let++, node->dtype));
        }
        return body;
    }

    /// What the stage does at one point, with what earlier stages know put in its place.
    Body point(std::size_t s, const Axis& axis, const AffineForm& at,
               const std::function<Body(Substitution&)>& make) {
        Substitution here = known_;
        here.replace(axis.var, at);
        Body body;
        for (const Value& node : made_before_)
            here.replace(node, make_load(kernel_.nest, rows_.at(node.get()), {here(place_)}));
        for (const Value& node : stages_[s].kept) {
            const std::vector<Value> value = share(body, {here(node)}, kernel_.next_let);
            body.push_back(make_let(kernel_.next_let, value[0]));
            const Value named = make_let_value(kernel_.next_let++, node->dtype);
            body.push_back(make_store(rows_.at(node.get()), {here(place_)}, named));
            here.replace(node, named);
        }
        append(body, make(here));
        return body;
    }
    Body over_points(
        std::size_t s, std::int64_t unroll,
        const std::function<Body(Substitution& here, const AffineForm& offset)>& make) {
        Body body =
            over_row(kernel_.nest, loops_, lanes_, unroll,
                     [&](const Axis& axis, const Lanes& lanes, const AffineForm& start) {
                         return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                             return point(s, axis, start + offset,
                                          [&](Substitution& here) { return make(here, offset); });
                         });
                     });
        made_before_.insert(made_before_.end(), stages_[s].kept.begin(), stages_[s].kept.end());
        return body;
    }

    Body reduction(std::size_t s) {
        const RowStage& stage = chain_.stages[s];
        kernel_.reducer = stage.reducer;
        kernel_.body = stage.body;
        kernel_.arg_index = stage.arg_index;
        const std::int64_t unroll = vectors_side_by_side(loops_.back().axis.extent, lanes_,
                                                         kernel_.is_arg_reduction() ? 2 : 4);
        const Accumulator accumulator = make_accumulator(kernel_, lanes_ * unroll);
        const Accumulator total = make_accumulator(kernel_, 1);
        Body body = reset_all(kernel_, accumulator, lanes_, unroll);
        append(body, over_points(s, unroll, [&](Substitution& here, const AffineForm& offset) {
                   return update(kernel_, accumulator, offset, here);
               }));
        append(body, fold(kernel_, accumulator, total, lanes_, unroll));
        append(body, write_results(stage, total));
        return body;
    }

    /// Names the results; stores those that are read elsewhere.
    Body write_results(const RowStage& stage, const Accumulator& total) {
        Substitution here = known_;
        here.replace_let(0, result(kernel_, total, form(0)));
        Body body;
        std::vector<Value> values;
        for (const Store& write : stage.writes) values.push_back(here(write.value));
        values = share(body, std::move(values), kernel_.next_let);
        for (std::size_t w = 0; w < stage.writes.size(); ++w) {
            Store store = stage.writes[w];
            if (store.at.computed) store.at.computed = here(store.at.computed);
            body.push_back(make_let(kernel_.next_let, values[w]));
            store.value = make_let_value(kernel_.next_let++, values[w]->dtype);
            if (contains(chain_.results, store.buffer)) name_loads(store);
            if (!contains(chain_.unread, store.buffer)) body.push_back({std::move(store)});
        }
        return body;
    }
    static bool contains(const std::vector<BufferId>& buffers, BufferId buffer) {
        return std::ranges::find(buffers, buffer) != buffers.end();
    }
    /// Loads of a result of the row are its name from now on.
    void name_loads(const Store& store) {
        for (const RowStage& stage : chain_.stages) {
            std::vector<Value> roots = roots_of(stage);
            for (const Store& write : stage.writes) roots.push_back(write.value);
            for_each_node(roots, [&](const Value& value) {
                const auto* load = std::get_if<Load>(&value->term);
                if (load != nullptr && load->buffer == store.buffer)
                    known_.replace(value, store.value);
            });
        }
    }

    Body pass(std::size_t s) {
        kernel_.body = nullptr;
        kernel_.reducer.reset();
        kernel_.writes = chain_.stages[s].writes;
        stream_large_outputs(kernel_, loops_.back().axis, lanes_, schedule_);
        return over_points(
            s, 1, [&](Substitution& here, const AffineForm&) { return write_all(kernel_, here); });
    }

    RowChain& chain_;
    Kernel& kernel_;
    std::int64_t lanes_;
    double cycles_;
    Schedule& schedule_;
    std::vector<ReducedLoop> loops_;
    AffineForm place_;  ///< of a point among those of its row
    std::vector<StageNodes> stages_;
    std::map<const ValueNode*, BufferId> rows_;  ///< of kept values
    std::vector<Value> made_before_;             ///< kept values of the stages so far
    Substitution known_;                         ///< what has a name at this place of the row
};

/// Joins axes that all stages walk as one.
void merge_axes(RowChain& chain) {
    const bool has_places = std::ranges::any_of(chain.stages, [](const RowStage& stage) {
        return stage.reducer == Reducer::argmax || stage.reducer == Reducer::argmin;
    });
    if (has_places) return;
    Kernel& kernel = chain.kernel;
    kernel.writes.clear();
    for (const RowStage& stage : chain.stages) {
        if (stage.body)
            kernel.writes.push_back({.buffer = stage.writes[0].buffer,
                                     .at = {},
                                     .value = stage.body,
                                     .combine = std::nullopt});
        kernel.writes.insert(kernel.writes.end(), stage.writes.begin(), stage.writes.end());
    }
    merge_axes(kernel);
    auto write = kernel.writes.begin();
    for (RowStage& stage : chain.stages) {
        if (stage.body) stage.body = (write++)->value;
        for (Store& own : stage.writes) own = *write++;
    }
    kernel.writes.clear();
}

/// A stage as a kernel of its own.
Kernel view(const RowChain& chain, const RowStage& stage) {
    Kernel kernel = chain.kernel;
    kernel.reducer = stage.reducer;
    kernel.body = stage.body;
    kernel.writes = stage.writes;
    if (stage.reducer) return kernel;
    kernel.free.insert(kernel.free.end(), kernel.reduced.begin(), kernel.reduced.end());
    kernel.reduced.clear();
    return kernel;
}

/// The axis along the rows that suits all stages; none where they differ.
LanePlan common_lanes(const RowChain& chain, const Target& target) {
    LanePlan common;
    for (const RowStage& stage : chain.stages) {
        const LanePlan own = choose_lanes(view(chain, stage), target);
        const bool is_along = own.axis && std::ranges::find(chain.kernel.reduced, *own.axis) !=
                                              chain.kernel.reduced.end();
        if (!is_along || (common.axis && *common.axis != *own.axis)) return {};
        common.lanes = common.axis ? std::min(common.lanes, own.lanes) : own.lanes;
        common.axis = own.axis;
        common.cycles += own.cycles;
    }
    return common;
}

}  // namespace

ChainRules chain_rules(const Target& target) {
    return {.elements_pass = true,
            .needs_gain = target.forced != Forced::chains,
            .fits = [&target](const Kernel& kernel, const std::vector<Axis>& rows) {
                if (!split_cases(kernel).empty()) return false;
                const LanePlan lanes = choose_lanes(kernel, target);
                return lanes.axis && std::ranges::find(rows, *lanes.axis) == rows.end();
            }};
}

bool lower_row_chain(RowChain chain, PlanBuilder& builder) {
    merge_axes(chain);
    const LanePlan lanes = common_lanes(chain, builder.target());
    const bool has_few_rows = builder.target().forced != Forced::chains &&
                              points(chain.kernel.free) < fewest_rows && lanes.cycles > task_cycles;
    if (!lanes.axis || has_few_rows) return false;
    Schedule schedule{Strategy::row_reduction, chain.kernel.nest.name, work_of(chain)};
    RowChainNest(chain, lanes, schedule).run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen
