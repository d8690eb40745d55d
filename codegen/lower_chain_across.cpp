// codegen/lower_chain_across.cpp – chains of rows side by side: lanes are rows, and a task passes
// over all points of a block of them while they are in cache
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/chain_lanes.h"
#include "codegen/kept_values.h"
#include "codegen/kernel_work.h"
#include "codegen/nest_walk.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// What a block of rows reads, keeps and writes may take of the second-level cache. Narrower blocks
/// of longer rows gain nothing: softmax of 2.6 million numbers along an axis of 400 takes 0.7 of
/// the time of its steps apart, of 800 as long, of 1600 (one or two vectors wide) 1.7 times (Zen 4,
/// `ricci bench --threads 1` of softmax over the first axis of 400x6500, 800x3250, 1600x1625).
constexpr std::int64_t part_of_l2 = 2;
/// Of CPUs with short vectors, Zen to Zen 3 and Haswell; others have as many or more.
constexpr std::int64_t ways_of_l2 = 8;
/// Vectors of rows: they hide latencies, and read more of each page at once.
constexpr std::int64_t most_side_by_side = 4;

class ChainAcrossNest {
  public:
    ChainAcrossNest(RowChain& chain, const LanePlan& plan, const Target& target, Schedule& schedule)
        : chain_(chain),
          kernel_(chain.kernel),
          rows_(*plan.axis),
          cycles_(plan.cycles),
          target_(target),
          schedule_(schedule),
          stages_(values_of_stages(chain)) {
        const std::int64_t vectors = ceil_div(rows_.extent, plan.lanes);
        whole_ = {plan.lanes, ceil_div(vectors, ceil_div(vectors, most_side_by_side)), {}};
        std::int64_t step = 1;
        for (std::size_t i = kernel_.reduced.size(); i-- > 0;) {
            place_ = place_ + form(kernel_.reduced[i].var, step);
            step *= kernel_.reduced[i].extent;
        }
    }

    /// Whether a block stays in cache from stage to stage.
    [[nodiscard]] bool fits() const {
        return width() * points(kernel_.reduced) * bytes_of_point(chain_, stages_) <=
                   target_.l2_bytes / part_of_l2 &&
               !meets_in_few_sets();
    }

    void run() {
        for (const StageNodes& stage : stages_)
            for (const Value& node : stage.kept) {
                const BufferId column = add_scratch(kernel_.nest, "column", node->dtype,
                                                    points(kernel_.reduced) * width());
                kernel_.nest.buffers[std::size_t(column)].has_spare_lanes = true;
                kept_.add(node, column);
            }
        std::vector<Axis> order = kernel_.free;
        std::erase(order, rows_);
        order.push_back(rows_);
        TaskSplit split =
            split_tasks(kernel_, order, width(), cycles_ / double(points(kernel_.free)));
        describe(split);
        stream_outputs();
        const AxisRange rows = split.loops.back();
        split.loops.pop_back();
        kernel_.nest.body = parallel(split, wrap(split.loops, blocks(rows)));
    }

  private:
    /// Whether points of a row stand so far apart, as those of a power of two do, that their lines
    /// are more than the sets hold that they fall into: the gradient of the norm of 64x512x512
    /// along its first axis took 41 ms, as two kernels 7.8 (Zen 3).
    [[nodiscard]] bool meets_in_few_sets() const {
        const CacheSets sets{.way = target_.l2_bytes / ways_of_l2, .bytes = target_.l2_bytes};
        return std::ranges::any_of(chain_.stages, [&](const RowStage& stage) {
            Kernel view = kernel_;
            view.body = stage.body;
            view.writes = stage.writes;
            return std::ranges::any_of(touches(view), [&](const Touch& touch) {
                const auto bytes = std::int64_t(size_bytes(kernel_.nest.at(touch.buffer).dtype));
                return !touch.is_store && !touch.is_computed &&
                       overflow_sets({touch.buffer, {touch.address}}, bytes, kernel_.reduced, sets);
            });
        });
    }
    [[nodiscard]] std::int64_t width() const { return whole_.lanes * whole_.unroll; }

    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(rows_.var).name;
        schedule_.say("chain", "", std::int64_t(chain_.stages.size()),
                      "passes over a block of rows while it is in cache");
        schedule_.say("parallel", "", split.tasks, "tasks of some 0.05 ms, by extents alone");
        schedule_.say("vector", axis, whole_.lanes, "rows side by side");
        schedule_.say("unroll", axis, whole_.unroll, "vectors of rows in a block");
        if (kept_.size() > 0)
            schedule_.say("keep", "", std::int64_t(kept_.size()),
                          "values of each element for later passes");
    }

    void stream_outputs() {
        kernel_.body = nullptr;
        for (RowStage& stage : chain_.stages) {
            if (stage.reducer) continue;
            kernel_.writes = stage.writes;
            stream_large_outputs(kernel_, rows_, whole_.lanes, target_, schedule_);
            stage.writes = kernel_.writes;
        }
    }
    /// Whether a store is made of whole lines and goes past the caches.
    [[nodiscard]] bool is_streamed(const Store& write) const {
        const auto bytes = std::int64_t(size_bytes(kernel_.nest.at(write.buffer).dtype));
        return write.hint == StoreHint::streaming && whole_.lanes * bytes % line_bytes == 0;
    }

    /// Blocks of whole vectors, and the one of the rows that they leave over.
    Body blocks(const AxisRange& rows) {
        const std::int64_t whole = rows_.extent / width() * width();
        const std::string name = kernel_.nest.at(rows_.var).name;
        Body body;
        if (whole > 0) {
            const VarId first = kernel_.nest.add(Var{name + "0"});
            body.push_back(make_loop(first, Bind::serial, rows.lower, with(rows.upper, form(whole)),
                                     block(whole_, form(first)), width()));
        }
        if (whole < rows_.extent) {
            const VarId first = kernel_.nest.add(Var{name + "1"});
            Lanes rest{whole_.lanes, ceil_div(rows_.extent - whole, whole_.lanes), {}};
            if (rows_.extent % rest.lanes != 0) rest.limit = bound(rows_.extent - whole);
            // One turn, of the last task.
            body.push_back(make_loop(first, Bind::serial, with(rows.lower, form(whole)), rows.upper,
                                     block(rest, form(whole)), width()));
        }
        return body;
    }

    /// All stages over the rows from `first` on.
    Body block(const Lanes& lanes, const AffineForm& first) {
        lanes_ = lanes;
        first_ = first;
        names_.clear();
        kept_.restart();
        Body body;
        for (std::size_t s = 0; s < chain_.stages.size(); ++s) {
            append(body, name_even(stages_[s].even));
            append(body, chain_.stages[s].reducer ? reduction(s) : pass(s));
        }
        return body;
    }

    /// What the lane's row, and what has a name there, is replaced by.
    [[nodiscard]] Substitution at_lane(const AffineForm& lane) const {
        Substitution row;
        row.replace(rows_.var, first_ + lane);
        Substitution here = row;
        for (const auto& [node, name] : names_) here.replace(node, row(name));
        return here;
    }
    /// A place for a value of each row of the block, and the value where it is read.
    std::pair<BufferId, Value> add_row_values(DType dtype) {
        const BufferId buffer =
            add_registers(kernel_.nest, "of_row", dtype, lanes_.lanes * lanes_.unroll);
        return {buffer, make_load(kernel_.nest, buffer, {form(rows_.var) - first_})};
    }

    /// Values that are the same at all points of a row are computed once.
    Body name_even(const std::vector<Value>& nodes) {
        Body body;
        for (const Value& node : nodes) {
            const auto is_node = [&](const auto& named) { return named.first == node; };
            if (std::ranges::any_of(names_, is_node)) continue;
            const auto [buffer, read] = add_row_values(node->dtype);
            append(body, over_lanes(kernel_.nest, lanes_, [&](const AffineForm& lane) {
                       Substitution here = at_lane(lane);
                       Body store;
                       const std::vector<Value> value =
                           share(store, {here(node)}, kernel_.next_let);
                       store.push_back(make_store(buffer, {lane}, value[0]));
                       return store;
                   }));
            names_.emplace_back(node, read);
        }
        return body;
    }

    /// What a stage does at all points of the block's rows.
    Body over_points(std::size_t s,
                     const std::function<Body(Substitution& here, const AffineForm& lane)>& make) {
        Body body = over_lanes(kernel_.nest, lanes_, [&](const AffineForm& lane) {
            return kept_.at_point(kernel_, stages_[s], width() * place_ + lane, at_lane(lane),
                                  [&](Substitution& here) { return make(here, lane); });
        });
        kept_.finish(stages_[s]);
        append(body, request_outputs(s));
        for (std::size_t i = kernel_.reduced.size(); i-- > 0;) {
            Body loop;
            loop.push_back(make_loop(kernel_.reduced[i].var, Bind::serial,
                                     kernel_.reduced[i].extent, std::move(body)));
            body = std::move(loop);
        }
        return body;
    }

    /// Of what the pass behind a reduction writes, the lines of this point: each row's piece of a
    /// large output lies far from the others, and stores alone would wait for one after the other.
    /// What lies behind the last row is asked for in vain.
    Body request_outputs(std::size_t s) {
        Body body;
        if (s + 1 == chain_.stages.size() || chain_.stages[s + 1].reducer) return body;
        for (const Store& write : chain_.stages[s + 1].writes) {
            const Buffer& buffer = kernel_.nest.at(write.buffer);
            const std::int64_t bytes = buffer.elements * std::int64_t(size_bytes(buffer.dtype));
            const bool is_row = write.at.affine.coefficient(rows_.var) == 1;
            if (write.at.computed || !is_row || bytes <= target_.l2_bytes || is_streamed(write))
                continue;
            Substitution first;
            first.replace(rows_.var, first_);
            append(body, prefetch_lines(kernel_.nest, write.buffer, {first(write.at.affine)},
                                        lanes_.lanes * lanes_.unroll, 2));
        }
        return body;
    }

    Body reduction(std::size_t s) {
        const RowStage& stage = chain_.stages[s];
        kernel_.reducer = stage.reducer;
        kernel_.body = stage.body;
        kernel_.arg_index = stage.arg_index;
        const Accumulator accumulator = make_accumulator(kernel_, lanes_.lanes * lanes_.unroll);
        Body body =
            over_lanes(kernel_.nest, {lanes_.lanes, lanes_.unroll, {}},
                       [&](const AffineForm& lane) { return reset(kernel_, accumulator, lane); });
        append(body, over_points(s, [&](Substitution& here, const AffineForm& lane) {
                   return update(kernel_, accumulator, lane, here);
               }));
        append(body, write_results(stage, accumulator));
        return body;
    }
    /// Names the results of each row; stores those that are read elsewhere.
    Body write_results(const RowStage& stage, const Accumulator& accumulator) {
        std::vector<std::pair<BufferId, Value>> places;
        for (const Store& write : stage.writes)
            places.push_back(add_row_values(write.value->dtype));
        Body body = over_lanes(kernel_.nest, lanes_, [&](const AffineForm& lane) {
            Substitution here = at_lane(lane);
            here.replace_let(0, result(kernel_, accumulator, lane));
            Body row;
            std::vector<Value> values;
            for (const Store& write : stage.writes) values.push_back(here(write.value));
            values = share(row, std::move(values), kernel_.next_let);
            for (std::size_t w = 0; w < values.size(); ++w) {
                Store store = stage.writes[w];
                store.at = here(store.at);
                row.push_back(make_let(kernel_.next_let, values[w]));
                store.value = make_let_value(kernel_.next_let++, values[w]->dtype);
                row.push_back(make_store(places[w].first, {lane}, store.value));
                if (!chain_.is_unread(store.buffer)) row.push_back({std::move(store)});
            }
            return row;
        });
        for (std::size_t w = 0; w < places.size(); ++w)
            if (chain_.is_result(stage.writes[w].buffer))
                name_loads(stage.writes[w].buffer, places[w].second);
        return body;
    }
    /// Loads of a result of the row are its name from now on.
    void name_loads(BufferId buffer, const Value& name) {
        for (const Value& load : loads_of(chain_, buffer)) names_.emplace_back(load, name);
    }

    Body pass(std::size_t s) {
        kernel_.body = nullptr;
        kernel_.reducer.reset();
        kernel_.writes = chain_.stages[s].writes;
        return over_points(
            s, [&](Substitution& here, const AffineForm&) { return write_all(kernel_, here); });
    }

    RowChain& chain_;
    Kernel& kernel_;
    Axis rows_;  ///< those side by side
    double cycles_;
    const Target& target_;
    Schedule& schedule_;
    std::vector<StageNodes> stages_;
    Lanes whole_;       ///< of a block
    AffineForm place_;  ///< of a point among those of its row
    KeptPlaces kept_;
    // Of the block that is being made.
    Lanes lanes_;
    AffineForm first_;
    std::vector<std::pair<Value, Value>> names_;  ///< what is known of each row, and its name
};

}  // namespace

bool lower_chain_across(RowChain chain, PlanBuilder& builder) {
    merge_axes(chain);
    const LanePlan lanes = common_lanes(chain, LanesOfChain::across_rows, builder.target());
    if (!lanes.axis) return false;
    Schedule schedule{Strategy::strided_reduction, chain.kernel.nest.name, work_of(chain)};
    ChainAcrossNest nest(chain, lanes, builder.target(), schedule);
    if (!nest.fits() && builder.target().forced != Forced::chains_across) return false;
    nest.run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen
