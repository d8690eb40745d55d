// codegen/gpu/lower_row_chain.cpp – chains of rows: elements in registers, results as names
#include <algorithm>
#include <map>

#include "codegen/gpu/combine_threads.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/share_out.h"

namespace ricci::codegen::gpu {

namespace {

/// Vectors of a row that a thread keeps, and bytes of registers for all that it keeps.
constexpr std::int64_t most_turns = 8;
constexpr std::int64_t most_bytes = 256;
constexpr std::int64_t most_threads = 1024;
/// Arrays so small that launches are all that counts.
constexpr std::int64_t small_points = 65'536;
/// Rows so long, and so few that multiprocessors idle, are better off in kernels of two levels.
constexpr std::int64_t longest_of_few = 32'768;

/// A load that several stages do, kept in registers.
struct Kept {
    Value load;  ///< of its first stage
    BufferId buffer{};
    Address at;
    BufferId registers{};
};

struct Shape {
    std::vector<Axis> order;  ///< the axes along a row, the one that threads run along last
    std::int64_t vector = 1;
    std::int64_t threads = 32;  ///< of a row
    std::int64_t block = 256;
    std::int64_t turns = 1;  ///< of a thread
    std::int64_t blocks = 0;
};

/// The loads of a stage: of its body, or of a pass over elements.
std::vector<Value> loads_of(const RowStage& stage) {
    std::vector<Value> roots{stage.body};
    if (!stage.reducer) {
        roots.clear();
        for (const Store& write : stage.writes) roots.push_back(write.value);
    }
    std::vector<Value> found;
    for (const Value& value : distinct_nodes(roots))
        if (std::holds_alternative<Load>(value->term)) found.push_back(value);
    return found;
}

class RowChainNest {
  public:
    RowChainNest(RowChain& chain, const Shape& shape, Schedule& schedule)
        : chain_(chain), kernel_(chain.kernel), shape_(shape), schedule_(schedule) {
        share_ = {.number = {},
                  .threads = shape.threads,
                  .unroll = power_of_two_below(std::min<std::int64_t>(shape.turns, 4)),
                  .vector = shape.vector,
                  .order = shape.order};
    }

    void run() {
        choose_kept();
        describe();
        kernel_.nest.body =
            launch(kernel_.nest, shape_.blocks, shape_.block, [&](VarId block, VarId thread) {
                thread_ = thread;
                lane_ = kernel_.nest.add(Var{"lane"});
                const VarId group = kernel_.nest.add(Var{"group"});
                const VarId row = kernel_.nest.add(Var{"row"});
                Body body = split_number(group, lane_, form(thread), shape_.threads, shape_.block);
                share_.number = form(lane_);
                const std::int64_t groups = shape_.block / shape_.threads;
                const std::int64_t rows = points(kernel_.free);
                const AffineForm number = form(block, groups) + form(group);
                // Threads beyond the last row do another row's work and write nothing.
                const bool is_full = rows % groups == 0;
                body.push_back(make_let_var(row, number, 1, is_full ? 0 : rows));
                if (!is_full) is_row_ = is_below(number, rows);
                append(body, name_axes(kernel_.free, form(row)));
                append(body, load_kept());
                for (const RowStage& stage : chain_.stages)
                    append(body, stage.reducer ? reduction(stage) : pass(stage));
                return body;
            });
    }

  private:
    /// Loads of two stages or more that move along the row, as long as registers last.
    void choose_kept() {
        if (shape_.turns > most_turns) return;
        std::vector<std::pair<Kept, std::size_t>> seen;
        std::vector<int> count;
        for (std::size_t s = 0; s < chain_.stages.size(); ++s)
            for (const Value& value : loads_of(chain_.stages[s])) {
                const auto& load = std::get<Load>(value->term);
                if (load.at.computed || !moves(load.at.affine)) continue;
                const auto found = std::ranges::find_if(seen, [&](const auto& other) {
                    return other.first.buffer == load.buffer &&
                           other.first.at.affine == load.at.affine;
                });
                if (found == seen.end()) {
                    seen.emplace_back(Kept{value, load.buffer, load.at, {}}, s);
                    count.push_back(1);
                } else if (found->second != s) {
                    ++count[std::size_t(found - seen.begin())];
                    found->second = s;
                }
            }
        std::int64_t left = most_bytes;
        for (std::size_t i = 0; i < seen.size(); ++i) {
            Kept kept = seen[i].first;
            const std::int64_t elements = shape_.turns * shape_.vector;
            const std::int64_t bytes = elements * std::int64_t(size_bytes(kept.load->dtype));
            if (count[i] < 2 || bytes > left) continue;
            left -= bytes;
            kept.registers = add_registers(kernel_.nest, kernel_.nest.at(kept.buffer).name + "_row",
                                           kept.load->dtype, elements);
            kept_.push_back(std::move(kept));
        }
    }
    [[nodiscard]] bool moves(const AffineForm& at) const {
        return std::ranges::any_of(kernel_.reduced,
                                   [&](const Axis& axis) { return at.coefficient(axis.var) != 0; });
    }

    void describe() {
        const std::string& axis = kernel_.nest.at(shape_.order.back().var).name;
        schedule_.say("chain", "", std::int64_t(chain_.stages.size()),
                      "kernels that pass over the same rows");
        schedule_.say("threads", axis, shape_.threads, "neighbours share the points of a row");
        schedule_.say("block", "", shape_.block, "threads; rows side by side in it");
        if (shape_.vector > 1)
            schedule_.say("vector", axis, shape_.vector, "aligned and contiguous");
        for (const Kept& kept : kept_)
            schedule_.say("keep", kernel_.nest.at(kept.buffer).name, shape_.turns * shape_.vector,
                          "elements a thread, for all stages");
    }

    /// This thread's turns along the row: written out where registers belong to them.
    Body over_turns(const TurnBody& body) {
        if (kept_.empty()) return share_out(kernel_, share_, body);
        std::vector<Axis> axes = shape_.order;
        axes.back().extent /= shape_.vector;
        const std::int64_t last = points(axes);
        const VarId u = kernel_.nest.add(Var{"u"});
        const AffineForm number = form(u, shape_.threads) + form(lane_);
        Turn turn{.slot = form(u), .vector = shape_.vector, .first = {}, .test = nullptr};
        for (Axis& axis : axes) {
            axis.var = kernel_.nest.add(kernel_.nest.at(axis.var));
            turn.first.push_back(form(axis.var, &axis == &axes.back() ? shape_.vector : 1));
        }
        Body inner = name_axes(axes, number);
        append(inner, body(turn));
        const bool is_full = last == shape_.threads * shape_.turns;
        inner = guarded(is_full ? nullptr : is_below(number, last), std::move(inner));
        Body loop;
        loop.push_back(make_loop(u, Bind::unroll, shape_.turns, std::move(inner)));
        return loop;
    }
    /// The same, element by element.
    Body over_points(const std::function<Body(Substitution& here, const AffineForm& lane)>& make) {
        return over_turns([&](const Turn& turn) {
            return over_lanes(kernel_.nest, {turn.vector, 1, {}}, [&](const AffineForm& lane) {
                Substitution here = at_turn(share_, turn, lane);
                for (const Kept& kept : kept_)
                    for (const Value& load : same_loads_[kept.registers])
                        here.replace(load, make_load(kernel_.nest, kept.registers,
                                                     {shape_.vector * turn.slot + lane}));
                name_results(here);
                return make(here, lane);
            });
        });
    }

    Body load_kept() {
        Body body;
        if (kept_.empty()) return body;
        append(
            body, over_turns([&](const Turn& turn) {
                return over_lanes(kernel_.nest, {turn.vector, 1, {}}, [&](const AffineForm& lane) {
                    Substitution here = at_turn(share_, turn, lane);
                    Body loads;
                    for (const Kept& kept : kept_)
                        loads.push_back(make_store(
                            kept.registers, {shape_.vector * turn.slot + lane}, here(kept.load)));
                    return loads;
                });
            }));
        for (const Kept& kept : kept_)
            for (const RowStage& stage : chain_.stages)
                for (const Value& value : loads_of(stage)) {
                    const auto& load = std::get<Load>(value->term);
                    if (load.buffer == kept.buffer && !load.at.computed &&
                        load.at.affine == kept.at.affine)
                        same_loads_[kept.registers].push_back(value);
                }
        return body;
    }

    /// Loads of results of the row are names by now.
    void name_results(Substitution& here) const {
        for (const auto& [load, name] : named_) here.replace(load, name);
    }

    Body reduction(const RowStage& stage) {
        kernel_.reducer = stage.reducer;
        kernel_.body = stage.body;
        kernel_.arg_index = stage.arg_index;
        const Accumulator accumulator = make_accumulator(kernel_, shape_.vector);
        Body body = over_lanes(kernel_.nest, {shape_.vector, 1, {}}, [&](const AffineForm& offset) {
            return reset(kernel_, accumulator, offset);
        });
        append(body, over_points([&](Substitution& here, const AffineForm& lane) {
                   return update(kernel_, accumulator, lane, here);
               }));
        append(body, combine_elements(kernel_, accumulator, shape_.vector));
        const Combined total =
            combine_neighbours(kernel_, body, accumulator, thread_, shape_.threads, shape_.block);
        append(body, write_results(stage, total));
        return body;
    }

    /// Every thread names the results; the first one of the row stores those that are read
    /// elsewhere.
    Body write_results(const RowStage& stage, const Combined& total) {
        Substitution here;
        total.name_in(kernel_, here);
        name_results(here);
        Body body;
        Body stores;
        std::vector<Value> values;
        for (const Store& write : stage.writes) values.push_back(here(write.value));
        values = share(body, std::move(values), kernel_.next_let);
        for (std::size_t w = 0; w < stage.writes.size(); ++w) {
            Store store = stage.writes[w];
            store.at = here(store.at);
            body.push_back(make_let(kernel_.next_let, values[w]));
            store.value = make_let_value(kernel_.next_let++, values[w]->dtype);
            if (contains(chain_.results, store.buffer)) name_loads(store);
            if (!contains(chain_.unread, store.buffer)) stores.push_back({std::move(store)});
        }
        const Value is_first = shape_.threads > 1 ? is_zero(form(lane_)) : nullptr;
        if (!stores.empty()) append(body, guarded(both(is_row_, is_first), std::move(stores)));
        return body;
    }
    static bool contains(const std::vector<BufferId>& buffers, BufferId buffer) {
        return std::ranges::find(buffers, buffer) != buffers.end();
    }
    void name_loads(const Store& store) {
        for (const RowStage& stage : chain_.stages) {
            std::vector<Value> roots{stage.body};
            for (const Store& write : stage.writes) {
                roots.push_back(write.value);
                roots.push_back(write.at.computed);
            }
            for (const Value& value : distinct_nodes(roots)) {
                const auto* load = std::get_if<Load>(&value->term);
                if (load != nullptr && load->buffer == store.buffer)
                    named_.emplace_back(value, store.value);
            }
        }
    }

    Body pass(const RowStage& stage) {
        kernel_.writes = stage.writes;
        return guarded(is_row_, over_points([&](Substitution& here, const AffineForm&) {
                           return write_all(kernel_, here);
                       }));
    }

    RowChain& chain_;
    Kernel& kernel_;
    const Shape& shape_;
    Schedule& schedule_;
    Share share_;
    std::vector<Kept> kept_;
    std::map<BufferId, std::vector<Value>> same_loads_;  ///< by registers
    std::vector<std::pair<Value, Value>> named_;         ///< loads of results, and their names
    VarId thread_{};
    VarId lane_{};
    Value is_row_ = nullptr;
};

/// All accesses along the rows, of all stages.
std::vector<Touch> touches_along(const RowChain& chain) {
    std::vector<Touch> along;
    for (const RowStage& stage : chain.stages) {
        Kernel view = chain.kernel;
        view.body = stage.body;
        view.writes = stage.writes;
        for (Touch& touch : touches(view)) {
            const bool moves = std::ranges::any_of(view.reduced, [&](const Axis& axis) {
                return touch.address.coefficient(axis.var) != 0;
            });
            if (moves) along.push_back(std::move(touch));
        }
    }
    return along;
}

Shape choose_shape(const RowChain& chain, const Target& target) {
    const Kernel& kernel = chain.kernel;
    const CheapestOrder cheapest =
        cheapest_order(kernel, touches_along(chain), kernel.free, kernel.reduced, Vectors::whole);
    Shape shape{.order = cheapest.order.axes, .vector = cheapest.order.vector};
    const std::int64_t rows = points(kernel.free);
    const std::int64_t vectors = points(kernel.reduced) / shape.vector;
    shape.threads = threads_of_result(rows, vectors, target);
    while (shape.threads < most_threads && vectors > most_turns * shape.threads) shape.threads *= 2;
    shape.block = std::max<std::int64_t>(256, shape.threads);
    shape.turns = ceil_div(vectors, shape.threads);
    shape.blocks = ceil_div(rows, shape.block / shape.threads);
    return shape;
}

/// Whether threads along the rows are the right ones, and rows enough of them.
bool pays(const RowChain& chain, const Target& target) {
    const std::int64_t rows = points(chain.kernel.free);
    const std::int64_t length = points(chain.kernel.reduced);
    if (rows < target.gpu.multiprocessors && length > longest_of_few) return false;
    if (rows * length <= small_points) return true;
    return std::ranges::all_of(chain.stages, [&](const RowStage& stage) {
        if (!stage.reducer) return true;
        Kernel view = chain.kernel;
        view.reducer = stage.reducer;
        view.body = stage.body;
        view.writes = stage.writes;
        return row_shape(view, target).slots <= column_shape(view, target).slots;
    });
}

}  // namespace

bool lower_row_chain(RowChain chain, PlanBuilder& builder) {
    if (!pays(chain, builder.target())) return false;
    Schedule schedule{Strategy::row_reduction, chain.kernel.nest.name, {}};
    const Shape shape = choose_shape(chain, builder.target());
    RowChainNest(chain, shape, schedule).run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen::gpu
