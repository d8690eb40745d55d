// codegen/gpu/lower_row_chain.cpp – chains of rows: elements in registers, results as names
//
// What two stages read or compute at the same point is kept in registers of the thread that has the
// point, as far as they last: elements are read once, and values that are dear made once.
#include <algorithm>
#include <span>

#include "codegen/gpu/combine_threads.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/share_out.h"
#include "codegen/kept_values.h"

namespace ricci::codegen::gpu {

namespace {

/// Vectors of a row that a thread keeps, and bytes of registers for all that it keeps from one
/// stage to the next.
constexpr std::int64_t most_turns = 8;
constexpr std::int64_t most_bytes = 256;
constexpr std::int64_t most_threads = 1024;
/// Arrays so small that launches are all that counts.
constexpr std::int64_t small_points = 65'536;
/// Rows so long, and so few that multiprocessors idle, are better off in kernels of two levels.
constexpr std::int64_t longest_of_few = 32'768;

/// A load that several stages do, or a value that several need, kept in registers. Equal values of
/// all stages are one node.
struct Kept {
    Value value;
    bool is_load = false;   ///< done before the first stage
    std::size_t first = 0;  ///< the stage that makes it
    std::size_t last = 0;   ///< the last one that needs it
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
                for (std::size_t s = 0; s < chain_.stages.size(); ++s)
                    append(body, chain_.stages[s].reducer ? reduction(s) : pass(s));
                return body;
            });
    }

  private:
    /// Loads of two stages or more that move along the row, and what values_of_stages keeps, as
    /// long as registers last: those that are alive from one stage to the next.
    void choose_kept() {
        if (shape_.turns > most_turns) return;
        const std::vector<StageNodes> stages = values_of_stages(chain_);
        std::vector<Kept> wanted;
        for (std::size_t s = 0; s < stages.size(); ++s) {
            for (const Value& load : stages[s].read) need(wanted, load, s, true);
            for (const Value& value : stages[s].kept) need(wanted, value, s, false);
            for (const Value& value : stages[s].found) need(wanted, value, s, false);
        }
        std::vector<std::int64_t> left(stages.size(), most_bytes);  // behind each stage
        for (Kept& kept : wanted) {
            const std::int64_t elements = shape_.turns * shape_.vector;
            const std::int64_t bytes = elements * std::int64_t(size_bytes(kept.value->dtype));
            const std::span alive(left.begin() + std::ptrdiff_t(kept.is_load ? 0 : kept.first),
                                  left.begin() + std::ptrdiff_t(kept.last));
            if (kept.first == kept.last || std::ranges::any_of(alive, [&](std::int64_t bytes_left) {
                    return bytes > bytes_left;
                }))
                continue;
            for (std::int64_t& bytes_left : alive) bytes_left -= bytes;
            kept.registers =
                add_registers(kernel_.nest, name_of(kept), kept.value->dtype, elements);
            kept_.push_back(kept);
        }
    }
    static void need(std::vector<Kept>& wanted, const Value& value, std::size_t stage,
                     bool is_load) {
        if (is_load && std::get<Load>(value->term).at.computed) return;
        const auto known = std::ranges::find(wanted, value, &Kept::value);
        if (known != wanted.end())
            known->last = stage;
        else
            wanted.push_back({value, is_load, stage, stage, {}});
    }
    [[nodiscard]] std::string name_of(const Kept& kept) const {
        const auto* load = std::get_if<Load>(&kept.value->term);
        return load != nullptr ? kernel_.nest.at(load->buffer).name + "_row" : "kept";
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
            schedule_.say("keep", kernel_.nest.at(kept.registers).name,
                          shape_.turns * shape_.vector, "elements a thread, for later stages");
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
    /// What a stage does element by element, with what is kept in its place.
    Body over_points(std::size_t stage,
                     const std::function<Body(Substitution& here, const AffineForm& lane)>& make) {
        return over_turns([&](const Turn& turn) {
            return over_lanes(kernel_.nest, {turn.vector, 1, {}}, [&](const AffineForm& lane) {
                Substitution here = at_turn(share_, turn, lane);
                name_results(here);
                Body body;
                for (const Kept& kept : kept_) {
                    const Address at{shape_.vector * turn.slot + lane};
                    if (kept.is_load || kept.first < stage)
                        here.replace(kept.value, make_load(kernel_.nest, kept.registers, at));
                    else if (kept.first == stage)
                        append(body, keep(kept, at, here));
                }
                append(body, make(here, lane));
                return body;
            });
        });
    }
    /// Names the value and stores it for later stages.
    Body keep(const Kept& kept, const Address& at, Substitution& here) {
        Body body;
        const std::vector<Value> value = share(body, {here(kept.value)}, kernel_.next_let);
        body.push_back(make_let(kernel_.next_let, value[0]));
        const Value named = make_let_value(kernel_.next_let++, kept.value->dtype);
        body.push_back(make_store(kept.registers, at, named));
        here.replace(kept.value, named);
        return body;
    }

    Body load_kept() {
        if (std::ranges::none_of(kept_, &Kept::is_load)) return {};
        return over_turns([&](const Turn& turn) {
            return over_lanes(kernel_.nest, {turn.vector, 1, {}}, [&](const AffineForm& lane) {
                Substitution here = at_turn(share_, turn, lane);
                Body loads;
                for (const Kept& kept : kept_)
                    if (kept.is_load)
                        loads.push_back(make_store(
                            kept.registers, {shape_.vector * turn.slot + lane}, here(kept.value)));
                return loads;
            });
        });
    }

    /// Loads of results of the row are names by now.
    void name_results(Substitution& here) const {
        for (const auto& [load, name] : named_) here.replace(load, name);
    }

    Body reduction(std::size_t number) {
        const RowStage& stage = chain_.stages[number];
        kernel_.reducer = stage.reducer;
        kernel_.body = stage.body;
        kernel_.arg_index = stage.arg_index;
        const Accumulator accumulator = make_accumulator(kernel_, shape_.vector);
        Body body = over_lanes(kernel_.nest, {shape_.vector, 1, {}}, [&](const AffineForm& offset) {
            return reset(kernel_, accumulator, offset);
        });
        append(body, over_points(number, [&](Substitution& here, const AffineForm& lane) {
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

    /// Threads of no row compute what is kept as the others do, so that later stages may read it.
    Body pass(std::size_t number) {
        kernel_.writes = chain_.stages[number].writes;
        const bool makes_kept = std::ranges::any_of(
            kept_, [&](const Kept& kept) { return !kept.is_load && kept.first == number; });
        const Value around = makes_kept ? nullptr : is_row_;
        const Value inside = makes_kept ? is_row_ : nullptr;
        return guarded(around, over_points(number, [&](Substitution& here, const AffineForm&) {
                           return guarded(inside, write_all(kernel_, here));
                       }));
    }

    RowChain& chain_;
    Kernel& kernel_;
    const Shape& shape_;
    Schedule& schedule_;
    Share share_;
    std::vector<Kept> kept_;
    std::vector<std::pair<Value, Value>> named_;  ///< loads of results, and their names
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

/// In longer rows than registers hold, elements that pass would be computed again by each stage.
ChainRules chain_rules() { return {.longest_passing = most_turns * most_threads * 4}; }

bool lower_row_chain(RowChain chain, PlanBuilder& builder) {
    if (!pays(chain, builder.target())) return false;
    Schedule schedule{Strategy::row_reduction, chain.kernel.nest.name, {}};
    const Shape shape = choose_shape(chain, builder.target());
    RowChainNest(chain, shape, schedule).run();
    builder.add_step(std::move(chain.kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen::gpu
