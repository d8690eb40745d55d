// codegen/lower_row_chain.cpp – chains of rows: a task passes over a row while it is in cache
#include <algorithm>
#include <map>

#include "base/error.h"
#include "codegen/chain_lanes.h"
#include "codegen/interleave_vectors.h"
#include "codegen/kept_values.h"
#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"
#include "codegen/row_chain.h"
#include "codegen/row_loops.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

/// Bytes of all rows of kept values: they stay in the second-level cache beside the row's elements.
constexpr std::int64_t most_kept_bytes = 128 << 10;
/// Bytes of the rows that stages take together, read, kept and written: they stay in the
/// first-level cache. On Zen 5 a softmax of rows of 128 (f32) then takes 0.85 of the time, of 256
/// 1.4 times.
constexpr std::int64_t most_block_bytes = 24 << 10;
/// Longer work with fewer rows is better off in kernels of two levels, which split rows.
constexpr std::int64_t fewest_rows = 64;

class RowChainNest {
  public:
    /// Blocks hold `least_rows` of all rows at least.
    RowChainNest(RowChain& chain, const LanePlan& lanes, std::int64_t least_rows,
                 const Target& target, Schedule& schedule)
        : chain_(chain),
          kernel_(chain.kernel),
          lanes_(lanes.lanes),
          cycles_(lanes.cycles),
          least_rows_(least_rows),
          target_(target),
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
        stages_ = values_of_stages(chain_);
        choose_block();
    }

    [[nodiscard]] bool has_blocks() const noexcept { return block_.has_value(); }

    void run() {
        keep_values();
        TaskSplit split = split_tasks(kernel_, kernel_.free, rows_at_once(),
                                      cycles_ / double(points(kernel_.free)));
        describe(split);
        AxisRange rows;
        if (block_) {
            rows = split.loops.back();
            split.loops.pop_back();
            block_->upper = with(rows.upper, form(block_->first) + form(rows_at_once()));
        }
        Body body;
        for (std::size_t s = 0; s < chain_.stages.size(); ++s) {
            const RowStage& stage = chain_.stages[s];
            append(body, name_even(stages_[s].even));
            append(body, stage.reducer ? reduction(s) : pass(s));
        }
        if (block_) {
            Body blocks;
            if (!is_in_whole_blocks()) blocks = clear_partial();
            blocks.push_back(make_loop(block_->first, Bind::serial, rows.lower, rows.upper,
                                       std::move(body), rows_at_once()));
            body = std::move(blocks);
        }
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    /// Short rows that each stage takes together: results of one row are waited for by the next
    /// stage, other rows are not; and what is computed of results runs in lanes over the rows.
    struct RowBlock {
        Axis axis;        ///< the rows: the innermost ones
        VarId first;      ///< the first row of the block
        LoopBound upper;  ///< of the rows
    };

    void choose_block() {
        if (kernel_.free.empty() || lanes_ == 1) return;
        const Axis& rows = kernel_.free.back();
        if (rows.extent < least_rows_ ||
            lanes_ * points(kernel_.reduced) * bytes_of_point(chain_, stages_) > most_block_bytes)
            return;
        block_ = RowBlock{rows, kernel_.nest.add(Var{kernel_.nest.at(rows.var).name + "0"}), {}};
    }
    [[nodiscard]] std::int64_t rows_at_once() const { return block_ ? lanes_ : 1; }
    /// Tasks hold whole blocks, but for the last one where rows are left over.
    [[nodiscard]] bool is_in_whole_blocks() const {
        return block_->axis.extent % rows_at_once() == 0;
    }
    /// The row's number in the block.
    [[nodiscard]] AffineForm row_in_block() const {
        return block_ ? form(block_->axis.var) - form(block_->first) : form(0);
    }
    /// One row after the other.
    Body each_row(Body body) {
        if (!block_) return body;
        Body loop;
        loop.push_back(make_loop(block_->axis.var, Bind::serial, bound(form(block_->first)),
                                 block_->upper, std::move(body)));
        return loop;
    }
    /// All rows of the block in lanes. The body is of one row.
    Body rows_in_lanes(const std::function<Body(Substitution& row)>& body) {
        Lanes lanes{rows_at_once(), 1, {}};
        for (const BoundTerm& term : block_->upper)
            lanes.limit.push_back({term.form - term.divisor * form(block_->first), term.divisor});
        if (is_in_whole_blocks()) lanes.limit.clear();
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& lane) {
            Substitution row;
            row.replace(block_->axis.var, form(block_->first) + lane);
            return body(row);
        });
    }
    /// A place for a value of each row of the block, and the value where it is read.
    std::pair<BufferId, Value> add_row_values(DType dtype) {
        const BufferId buffer = add_scratch(kernel_.nest, "of_row", dtype, rows_at_once());
        return {buffer, make_load(kernel_.nest, buffer, {row_in_block()})};
    }

    void keep_values() {
        const std::int64_t elements = points(kernel_.reduced);
        std::int64_t left = most_kept_bytes;
        for (StageNodes& stage : stages_)
            std::erase_if(stage.kept, [&](const Value& node) {
                const std::int64_t bytes = elements * std::int64_t(size_bytes(node->dtype));
                if (bytes > left) return true;
                left -= bytes;
                kept_.add(node,
                          add_scratch(kernel_.nest, "row", node->dtype, elements * rows_at_once()));
                return false;
            });
    }

    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(loops_.back().axis.var).name;
        if (chain_.stages.size() > 1)
            schedule_.say("chain", "", std::int64_t(chain_.stages.size()),
                          "passes over a row while it is in cache");
        schedule_.say("parallel", "", split.tasks, "tasks of some 0.05 ms, by extents alone");
        schedule_.say("vector", axis, lanes_, "contiguous along the row");
        if (block_)
            schedule_.say("block", kernel_.nest.at(block_->axis.var).name, lanes_,
                          "short rows: each pass takes several before the next");
        if (kept_.size() > 0)
            schedule_.say("keep", "", std::int64_t(kept_.size()),
                          "values of each element for later passes");
    }

    /// Whether it is what `add_row_values` reads.
    [[nodiscard]] bool is_of_row(const Value& value) const {
        const auto* load = std::get_if<Load>(&value->term);
        return block_ && load != nullptr && load->at.affine == row_in_block() &&
               kernel_.nest.at(load->buffer).space == Space::scratch;
    }

    /// Values that are the same at all points of the row are computed once.
    Body name_even(const std::vector<Value>& nodes) {
        Body body;
        for (const Value& node : nodes) {
            const Value own = known_(node);
            if (is_of_row(own)) {
                known_.replace(node, own);
                continue;
            }
            if (block_ && depends_on(own, block_->axis.var)) {
                const auto [buffer, read] = add_row_values(node->dtype);
                append(
                    body, rows_in_lanes([&](Substitution& row) {
                        Body lane;
                        const std::vector<Value> value = share(lane, {row(own)}, kernel_.next_let);
                        lane.push_back(make_store(buffer, row(Address{row_in_block()}), value[0]));
                        return lane;
                    }));
                known_.replace(node, read);
                continue;
            }
            const std::vector<Value> value = share(body, {own}, kernel_.next_let);
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
        const AffineForm place = here(place_) + points(kernel_.reduced) * row_in_block();
        return kept_.at_point(kernel_, stages_[s], place, std::move(here), make);
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
        kept_.finish(stages_[s]);
        return body;
    }

    Body reduction(std::size_t s) {
        const RowStage& stage = chain_.stages[s];
        kernel_.reducer = stage.reducer;
        kernel_.body = stage.body;
        kernel_.arg_index = stage.arg_index;
        const std::int64_t unroll =
            vectors_side_by_side(loops_.back().axis.extent, lanes_, 4, vectors_together(s));
        const Axis& innermost = loops_.back().axis;
        const Accumulator accumulator = make_accumulator(kernel_, lanes_ * unroll, &innermost);
        Body body = reset_all(kernel_, accumulator, lanes_, unroll);
        append(body, over_points(s, unroll, [&](Substitution& here, const AffineForm& offset) {
                   return update(kernel_, accumulator, offset, here);
               }));
        if (!block_) {
            const Accumulator total = make_accumulator(kernel_, 1, &innermost);
            append(body, fold(kernel_, accumulator, total, lanes_, unroll));
            append(body, write_results(stage, result(kernel_, total, form(0))));
            return body;
        }
        const Value of_row = kernel_.is_arg_reduction() ? fold_each(body, accumulator, unroll)
                                                        : fold_together(body, accumulator, unroll);
        append(body, write_results(stage, of_row));
        return body;
    }
    /// The lanes of one row after the other. The body, which is of one row, becomes that of all.
    Value fold_each(Body& body, const Accumulator& accumulator, std::int64_t unroll) {
        const Accumulator total = make_accumulator(kernel_, 1, &loops_.back().axis);
        append(body, fold(kernel_, accumulator, total, lanes_, unroll));
        const Value reduced = result(kernel_, total, form(0));
        const auto [buffer, read] = add_row_values(reduced->dtype);
        body.push_back(make_store(buffer, {row_in_block()}, reduced));
        body = each_row(std::move(body));
        return read;
    }
    /// What stands for the rows that a block lacks.
    Body clear_partial() {
        Body body;
        for (const auto& [dtype, partial] : partial_) {
            const VarId row = kernel_.nest.add(Var{kernel_.nest.at(block_->axis.var).name});
            Body lanes = over_lanes(kernel_.nest, {lanes_, 1, {}}, [&](const AffineForm& lane) {
                Body store;
                store.push_back(
                    make_store(partial, {form(row, lanes_) + lane}, make_number(dtype, 0)));
                return store;
            });
            body.push_back(make_loop(row, Bind::serial, rows_at_once(), std::move(lanes)));
        }
        return body;
    }
    /// The lanes of all rows of the block, those that it lacks too: nothing reads what they give.
    Value fold_together(Body& body, const Accumulator& accumulator, std::int64_t unroll) {
        const DType dtype = kernel_.body->dtype;
        // One for all stages: the first-level cache is full.
        const auto [it, is_new] = partial_.try_emplace(dtype);
        if (is_new)
            it->second = add_scratch(kernel_.nest, "partial", dtype, lanes_ * rows_at_once());
        const BufferId partial = it->second;
        append(body, halve(kernel_, accumulator, lanes_, unroll));
        append(body, over_lanes(kernel_.nest, {lanes_, 1, {}}, [&](const AffineForm& lane) {
                   Body store;
                   store.push_back(make_store(partial, {lanes_ * row_in_block() + lane},
                                              make_load(kernel_.nest, accumulator.value, {lane})));
                   return store;
               }));
        body = each_row(std::move(body));
        const auto [buffer, read] = add_row_values(dtype);
        const Accumulator total{*kernel_.reducer, buffer, {}};
        append(body, reset_all(kernel_, total, rows_at_once(), 1));
        const VarId row = kernel_.nest.add(Var{kernel_.nest.at(block_->axis.var).name});
        Body lanes = over_lanes(kernel_.nest, {lanes_, 1, {}}, [&](const AffineForm& lane) {
            return combine(kernel_, total, form(row),
                           make_load(kernel_.nest, partial, {form(row, lanes_) + lane}), {});
        });
        body.push_back(make_loop(row, Bind::unroll, rows_at_once(), std::move(lanes)));
        return read;
    }

    /// Names the results, of the row or of each row of the block; stores those that are read
    /// elsewhere.
    Body write_results(const RowStage& stage, const Value& reduced) {
        Substitution here = known_;
        here.replace_let(0, reduced);
        std::vector<Store> writes = stage.writes;
        for (Store& write : writes) {
            write.value = here(write.value);
            if (write.at.computed) write.at.computed = here(write.at.computed);
        }
        if (!block_) {
            Substitution same;
            return write_row(writes, same, nullptr);
        }
        // A value that is the reduced one needs no copy.
        std::erase_if(writes, [&](const Store& write) {
            if (write.value != reduced || !chain_.is_result(write.buffer)) return false;
            name_loads(write.buffer, reduced);
            return chain_.is_unread(write.buffer);
        });
        if (writes.empty()) return {};
        // Lanes write where each row's element is next to the one before.
        const bool is_in_lanes = std::ranges::all_of(writes, [&](const Store& write) {
            return chain_.is_unread(write.buffer) ||
                   (!write.combine && !write.at.computed &&
                    write.at.affine.coefficient(block_->axis.var) == 1);
        });
        if (is_in_lanes)
            return rows_in_lanes(
                [&](Substitution& row) { return write_row(writes, row, reduced); });
        Substitution same;
        return each_row(write_row(writes, same, reduced));
    }
    /// Values that are `named` have their names.
    Body write_row(const std::vector<Store>& writes, Substitution& row, const Value& named) {
        Body body;
        std::vector<Value> values;
        for (const Store& write : writes) values.push_back(row(write.value));
        values = share(body, std::move(values), kernel_.next_let);
        for (std::size_t w = 0; w < writes.size(); ++w) {
            Store store = writes[w];
            store.at = row(store.at);
            body.push_back(make_let(kernel_.next_let, values[w]));
            store.value = make_let_value(kernel_.next_let++, values[w]->dtype);
            if (chain_.is_result(store.buffer) && writes[w].value != named) {
                Value name = store.value;
                if (block_) {
                    const auto [buffer, read] = add_row_values(name->dtype);
                    body.push_back(make_store(buffer, row(Address{row_in_block()}), name));
                    name = read;
                }
                name_loads(store.buffer, name);
            }
            if (!chain_.is_unread(store.buffer)) body.push_back({std::move(store)});
        }
        return body;
    }
    /// Loads of a result of the row are its name from now on.
    void name_loads(BufferId buffer, const Value& name) {
        for (const Value& load : loads_of(chain_, buffer)) known_.replace(load, name);
    }

    Body pass(std::size_t s) {
        kernel_.body = nullptr;
        kernel_.reducer.reset();
        kernel_.writes = chain_.stages[s].writes;
        stream_large_outputs(kernel_, loops_.back().axis, lanes_, target_, schedule_);
        return each_row(over_points(
            s, vectors_together(s),
            [&](Substitution& here, const AffineForm&) { return write_all(kernel_, here); }));
    }
    [[nodiscard]] std::int64_t vectors_together(std::size_t s) const {
        std::vector<Value> known = stages_[s].found;
        known.insert(known.end(), stages_[s].even.begin(), stages_[s].even.end());
        const RowStage& stage = chain_.stages[s];
        return interleaved_vectors(
            {roots_of(stage), stage.reducer ? std::vector<Store>() : stage.writes, known},
            loops_.back().axis, lanes_, target_);
    }

    RowChain& chain_;
    Kernel& kernel_;
    std::int64_t lanes_;
    double cycles_;
    std::int64_t least_rows_;
    const Target& target_;
    Schedule& schedule_;
    std::vector<ReducedLoop> loops_;
    AffineForm place_;  ///< of a point among those of its row
    std::vector<StageNodes> stages_;
    KeptPlaces kept_;
    std::map<DType, BufferId> partial_;  ///< a vector of partial results for each row
    Substitution known_;                 ///< what has a name at this place of the row
    std::optional<RowBlock> block_;
};

}  // namespace

bool lower_row_chain(RowChain chain, PlanBuilder& builder) {
    merge_axes(chain);
    const LanePlan lanes = common_lanes(chain, LanesOfChain::along_rows, builder.target());
    const bool is_forced = builder.target().forced == Forced::chains;
    const bool has_few_rows =
        !is_forced && points(chain.kernel.free) < fewest_rows && lanes.cycles > task_cycles;
    if (!lanes.axis || has_few_rows) return false;
    Schedule schedule{Strategy::row_reduction, chain.kernel.nest.name, work_of(chain)};
    RowChainNest(chain, lanes, is_forced ? 2 : 2 * lanes.lanes, builder.target(), schedule).run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

bool are_short_rows(const Kernel& kernel, std::int64_t lanes, std::int64_t results) {
    if (!kernel.body || results > 1 || kernel.is_arg_reduction() || !kernel.conditions.is_empty() ||
        kernel.has_meeting_writes() || kernel.free.empty() || lanes < 2)
        return false;
    const Axis& row = kernel.free.back();
    const bool are_in_lanes = std::ranges::none_of(kernel.writes, [&](const Store& write) {
        return write.combine || write.at.computed || write.at.affine.coefficient(row.var) != 1;
    });
    const std::int64_t elements = lanes * points(kernel.reduced);
    // A block is no more than a task: as many points as lanes are computed at once.
    return are_in_lanes && row.extent >= 2 * lanes &&
           elements * bytes_along({kernel.body}, kernel) <= most_block_bytes &&
           double(points(kernel.reduced)) * body_cost(kernel) <= task_cycles;
}

bool lower_short_rows(const Kernel& kernel, const LanePlan& lanes, PlanBuilder& builder) {
    if (!are_short_rows(kernel, lanes.lanes, lanes.tile.results())) return false;
    RowChain chain{
        .kernel = kernel,
        .stages = {{.reducer = kernel.reducer, .body = kernel.body, .writes = kernel.writes}},
        .members = {},
        .results = {},
        .unread = {}};
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, work_of(kernel)};
    RowChainNest nest(chain, lanes, 2 * lanes.lanes, builder.target(), schedule);
    RICCI_ASSERT(nest.has_blocks(), "short rows are taken in blocks");
    nest.run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen
