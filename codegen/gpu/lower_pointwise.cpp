// codegen/gpu/lower_pointwise.cpp – one pass over memory, vectors along the contiguous axis
#include <algorithm>

#include "codegen/gpu/lower.h"
#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t block_threads = 256;
/// Two full loads of a multiprocessor (2048 threads): blocks that end early leave no gap.
constexpr std::int64_t blocks_of_multiprocessor = 16;
/// Bytes that a thread has under way to hide the latency of memory: 4.3 TB/s times 0.7 us are 23 KB
/// a multiprocessor, a tenth of what its threads then ask for.
constexpr std::int64_t bytes_under_way = 64;

/// Items are vectors of points; a chunk is `unroll` items for each thread of a block.
struct Shape {
    ThreadOrder order;
    std::int64_t unroll = 1;
    std::int64_t items = 0;
    std::int64_t blocks = 0;
};

std::int64_t bytes_loaded(const Kernel& kernel, const ThreadOrder& order) {
    std::int64_t bytes = 0;
    for (const Touch& touch : touches(kernel))
        if (!touch.is_store && !order.axes.empty() &&
            touch.address.coefficient(order.axes.back().var) != 0)
            bytes += order.vector * std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype));
    return bytes;
}

Shape choose_shape(const Kernel& kernel, const Target& target) {
    const bool collides = !kernel.colliding.empty();
    // Neighbours add in one transaction what one thread would add in several.
    const Vectors vectors = kernel.has_meeting_writes() ? Vectors::none : Vectors::with_tail;
    Shape shape{.order = cheapest_order(kernel, touches_of(kernel, Part::writes), {},
                                        apart_axes(kernel), vectors)
                             .order};
    std::vector<Axis> axes = shape.order.axes;
    if (!axes.empty()) axes.back().extent /= shape.order.vector;
    shape.items = points(axes);
    const std::int64_t resident = std::int64_t(target.gpu.multiprocessors) * 2048;
    const std::int64_t loaded = std::max<std::int64_t>(bytes_loaded(kernel, shape.order), 1);
    const bool is_cheap = write_cost(kernel) < 64;
    while (!collides && is_cheap && shape.unroll < 4 &&
           2 * shape.unroll * loaded <= bytes_under_way &&
           shape.items >= 2 * shape.unroll * resident)
        shape.unroll *= 2;
    const std::int64_t most = std::int64_t(target.gpu.multiprocessors) * blocks_of_multiprocessor;
    shape.blocks =
        std::clamp<std::int64_t>(ceil_div(shape.items, block_threads * shape.unroll), 1, most);
    return shape;
}

class Pointwise {
  public:
    Pointwise(Kernel& kernel, const Shape& shape, Schedule& schedule)
        : kernel_(kernel), shape_(shape), schedule_(schedule), axes_(shape.order.axes) {
        if (!axes_.empty()) axes_.back().extent /= shape.order.vector;
    }

    void run() {
        describe();
        kernel_.nest.body =
            launch(kernel_.nest, shape_.blocks, block_threads, [&](VarId block, VarId thread) {
                block_ = block;
                thread_ = thread;
                const std::int64_t chunk = block_threads * shape_.unroll;
                const std::int64_t whole = shape_.unroll > 1 ? shape_.items / chunk * chunk : 0;
                Body body;
                const std::int64_t vectors = shape_.items * shape_.order.vector;
                // Few enough to stand in a scope of their own: the items may name the axes for
                // the rest of the body.
                if (!axes_.empty() && shape_.order.axes.back().extent % shape_.order.vector != 0)
                    append(body, left_over(vectors, shape_.order.axes.back().extent));
                if (whole > 0) append(body, whole_chunks(whole / chunk));
                append(body, over_items(whole, shape_.items));
                return body;
            });
    }

  private:
    void describe() {
        const std::string axis = axes_.empty() ? "" : kernel_.nest.at(axes_.back().var).name;
        const auto say = [&](std::string verb, std::string subject, std::int64_t number,
                             std::string why) {
            schedule_.directives.push_back(
                {std::move(verb), std::move(subject), {number}, std::move(why)});
        };
        say("threads", axis, block_threads, "neighbours along the cheapest axis");
        if (!kernel_.colliding.empty()) {
            say("in order", "", points(colliding_axes(kernel_)), "writes that may meet");
            return;
        }
        if (kernel_.has_meeting_writes()) say("atomic", "", points(axes_), "writes that may meet");
        if (shape_.order.vector > 1)
            say("vector", axis, shape_.order.vector, "aligned and contiguous");
        if (shape_.unroll > 1) say("unroll", "", shape_.unroll, "loads under way at once");
        if (shape_.items > shape_.blocks * block_threads * shape_.unroll)
            say("stride", "", shape_.blocks, "blocks, each takes several chunks");
    }

    /// Chunks of which no item is missing: all loads of a thread, then all stores.
    Body whole_chunks(std::int64_t chunks) {
        const VarId chunk = kernel_.nest.add(Var{"chunk"});
        const VarId u = kernel_.nest.add(Var{"u"});
        const VarId again = kernel_.nest.add(Var{"u"});
        const auto item = [&](VarId turn) {
            return form(chunk, block_threads * shape_.unroll) + form(turn, block_threads) +
                   form(thread_);
        };
        const std::vector<Value> loads = staged_loads();
        std::vector<BufferId> stages;
        for (const Value& load : loads)
            stages.push_back(add_registers(kernel_.nest, "stage", load->dtype,
                                           shape_.unroll * shape_.order.vector));
        Body load = name_axes(axes_, item(u));
        append(load, over_vector([&](const AffineForm& offset) {
                   Body stores;
                   for (std::size_t s = 0; s < stages.size(); ++s) {
                       Substitution here = at_item(offset);
                       stores.push_back(make_store(stages[s], {slot(u, offset)}, here(loads[s])));
                   }
                   return stores;
               }));
        Body store = name_axes(axes_, item(again));
        append(store, over_vector([&](const AffineForm& offset) {
                   Substitution here = at_item(offset);
                   for (std::size_t s = 0; s < stages.size(); ++s)
                       here.replace(loads[s],
                                    make_load(kernel_.nest, stages[s], {slot(again, offset)}));
                   return write_all(kernel_, here);
               }));
        const auto unrolled = [&](VarId turn, Body items) {
            Body loop;
            loop.push_back(make_loop(turn, Bind::unroll, shape_.unroll, std::move(items)));
            return loop;
        };
        Body body = stages.empty() ? Body{} : unrolled(u, std::move(load));
        append(body, unrolled(again, std::move(store)));
        return stride(chunk, chunks, std::move(body));
    }
    [[nodiscard]] AffineForm slot(VarId turn, const AffineForm& offset) const {
        return form(turn, shape_.order.vector) + offset;
    }

    /// The loads that move with the threads and need no other load.
    [[nodiscard]] std::vector<Value> staged_loads() const {
        std::vector<Value> roots;
        for (const Store& write : kernel_.writes) {
            roots.push_back(write.value);
            roots.push_back(write.at.computed);
        }
        std::vector<Value> loads;
        for (const Value& value : distinct_nodes(roots)) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr || load->at.computed || axes_.empty()) continue;
            if (load->at.affine.coefficient(axes_.back().var) == 0) continue;
            loads.push_back(value);
        }
        return loads;
    }

    /// This block's part of `chunks`.
    Body stride(VarId chunk, std::int64_t chunks, Body body) {
        if (chunks == shape_.blocks) {
            body.insert(body.begin(), make_let_var(chunk, form(block_), 1, 0));
            return body;
        }
        Body loop;
        loop.push_back(make_loop(chunk, Bind::serial, bound(form(block_)), bound(chunks),
                                 std::move(body), shape_.blocks));
        return loop;
    }

    /// Items one by one, thread after thread.
    Body over_items(std::int64_t from, std::int64_t to) {
        if (from == to) return {};
        const VarId item = kernel_.nest.add(Var{"item"});
        Body body = name_axes(axes_, form(item));
        append(body, in_order(over_vector([&](const AffineForm& offset) {
                   Substitution here = at_item(offset);
                   return write_all(kernel_, here);
               })));
        return one_by_one(item, from, to, std::move(body));
    }

    /// The elements of the one axis that fill no vector.
    Body left_over(std::int64_t from, std::int64_t to) {
        Substitution here;
        return one_by_one(axes_.back().var, from, to, write_all(kernel_, here));
    }

    Body one_by_one(VarId var, std::int64_t from, std::int64_t to, Body body) {
        const AffineForm first = form(from) + form(block_, block_threads) + form(thread_);
        const std::int64_t together = shape_.blocks * block_threads;
        if (to - from <= together) {
            body.insert(body.begin(), make_let_var(var, first, 1, 0));
            return to - from == together ? std::move(body)
                                         : guarded(is_below(first, to), std::move(body));
        }
        Body loop;
        loop.push_back(
            make_loop(var, Bind::serial, bound(first), bound(to), std::move(body), together));
        return loop;
    }

    /// Points whose writes meet follow each other.
    Body in_order(Body body) {
        const std::vector<Axis> colliding = colliding_axes(kernel_);
        for (std::size_t i = colliding.size(); i-- > 0;) {
            Body loop;
            loop.push_back(
                make_loop(colliding[i].var, Bind::serial, colliding[i].extent, std::move(body)));
            body = std::move(loop);
        }
        return body;
    }

    Body over_vector(const std::function<Body(const AffineForm& offset)>& make) {
        return over_lanes(kernel_.nest, {shape_.order.vector, 1, {}}, make);
    }
    /// The last axis counts in vectors; in the kernel's terms it is the axis itself.
    [[nodiscard]] Substitution at_item(const AffineForm& offset) const {
        Substitution here;
        if (shape_.order.vector == 1) return here;
        const VarId last = axes_.back().var;
        here.replace(last, form(last, shape_.order.vector) + offset);
        return here;
    }

    Kernel& kernel_;
    const Shape& shape_;
    Schedule& schedule_;
    std::vector<Axis> axes_;  ///< the last one in vectors
    VarId block_{};
    VarId thread_{};
};

}  // namespace

void lower_pointwise(Kernel kernel, PlanBuilder& builder) {
    Schedule schedule{Strategy::pointwise, kernel.nest.name, {}};
    Pointwise(kernel, choose_shape(kernel, builder.target()), schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen::gpu
