// codegen/gpu/lower_transposed.cpp – one pass over memory, squares through shared memory
#include <algorithm>

#include "codegen/gpu/lower.h"
#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t side = 32;
/// One more, so that neither rows nor columns of a square lie in one bank.
constexpr std::int64_t pitch = side + 1;
constexpr std::int64_t block_threads = 256;
constexpr std::int64_t rows = block_threads / side;  ///< that a block takes at once
constexpr std::size_t most_squares = 5;
/// In and out of shared memory, and the barrier between.
constexpr double square_slots = 6;

/// Stores are contiguous along `across`, some loads along `down`.
struct Squares {
    Axis across;
    Axis down;
    std::vector<Value> loads;  ///< through shared memory
};

std::vector<Value> all_loads(const Kernel& kernel) {
    std::vector<Value> roots;
    for (const Store& write : kernel.writes) {
        roots.push_back(write.value);
        roots.push_back(write.at.computed);
    }
    std::vector<Value> found = distinct_nodes(roots);
    std::erase_if(found,
                  [](const Value& value) { return !std::holds_alternative<Load>(value->term); });
    return found;
}

/// The loads that are contiguous along `down` and far apart along `across`.
std::vector<Value> loads_along(const Kernel& kernel, const Axis& across, const Axis& down) {
    std::vector<Value> found;
    for (const Value& value : all_loads(kernel)) {
        const auto& load = std::get<Load>(value->term);
        const std::int64_t step = load.at.affine.coefficient(across.var);
        if (!load.at.computed && load.at.affine.coefficient(down.var) == 1 && step != 0 &&
            step != 1)
            found.push_back(value);
    }
    return found;
}

/// Issue slots of a warp for a point of each thread, squares that hang over counted in full.
double slots(const Kernel& kernel, const Squares& squares) {
    const auto lanes_over = [&](const Axis& slow, const Axis& fast) {
        ThreadOrder order{kernel.free, 1};
        std::erase(order.axes, slow);
        std::erase(order.axes, fast);
        order.axes.push_back(slow);
        order.axes.push_back(fast);
        return order;
    };
    std::vector<Touch> direct = touches_of(kernel, Part::writes);
    std::vector<Touch> staged;
    for (const Value& value : squares.loads) {
        const auto& load = std::get<Load>(value->term);
        const auto found = std::ranges::find_if(direct, [&](const Touch& touch) {
            return !touch.is_store && touch.buffer == load.buffer &&
                   touch.address == load.at.affine;
        });
        staged.push_back(*found);
        direct.erase(found);
    }
    const double whole = access_slots(kernel, direct, lanes_over(squares.down, squares.across)) +
                         access_slots(kernel, staged, lanes_over(squares.across, squares.down)) +
                         square_slots * double(staged.size());
    const auto hang_over = [](const Axis& axis) {
        return double(ceil_div(axis.extent, side) * side) / double(axis.extent);
    };
    return whole * hang_over(squares.across) * hang_over(squares.down);
}

std::optional<Squares> find_squares(const Kernel& kernel) {
    if (kernel.body || kernel.has_meeting_writes() || points(kernel.free) == 0) return std::nullopt;
    double best = cheapest_order(kernel, touches_of(kernel, Part::writes), {}, kernel.free,
                                 Vectors::with_tail)
                      .slots;
    std::optional<Squares> found;
    for (const Axis& across : kernel.free) {
        const bool is_contiguous = std::ranges::all_of(kernel.writes, [&](const Store& write) {
            return !write.at.computed && write.at.affine.coefficient(across.var) == 1;
        });
        if (!is_contiguous) continue;
        for (const Axis& down : kernel.free) {
            if (down == across) continue;
            Squares squares{across, down, loads_along(kernel, across, down)};
            if (squares.loads.empty() || squares.loads.size() > most_squares) continue;
            const double cost = slots(kernel, squares);
            if (cost >= best) continue;
            best = cost;
            found = std::move(squares);
        }
    }
    return found;
}

class Transposed {
  public:
    Transposed(Kernel& kernel, const Squares& squares, Schedule& schedule)
        : kernel_(kernel), squares_(squares) {
        for (const Value& load : squares.loads)
            buffers_.push_back(add_shared(kernel.nest, "square", load->dtype, side * pitch));
        schedule.directives.push_back(
            {"square",
             kernel.nest.at(squares.down.var).name + " " + kernel.nest.at(squares.across.var).name,
             {side, side},
             "loads along the first, stores along the second"});
    }

    void run() {
        std::vector<Axis> tiles = kernel_.free;
        std::erase(tiles, squares_.across);
        std::erase(tiles, squares_.down);
        across_ = kernel_.nest.add(Var{kernel_.nest.at(squares_.across.var).name + "_square"});
        down_ = kernel_.nest.add(Var{kernel_.nest.at(squares_.down.var).name + "_square"});
        tiles.push_back({across_, ceil_div(squares_.across.extent, side)});
        tiles.push_back({down_, ceil_div(squares_.down.extent, side)});
        kernel_.nest.body =
            launch(kernel_.nest, points(tiles), block_threads, [&](VarId block, VarId thread) {
                const VarId fast = kernel_.nest.add(Var{"fast"});
                const VarId slow = kernel_.nest.add(Var{"slow"});
                Body body = name_axes(tiles, form(block));
                append(body, split_number(slow, fast, form(thread), side, block_threads));
                append(body, each_row([&](const AffineForm& row) {
                           return load(form(slow) + row, form(fast));
                       }));
                body.push_back({Barrier{}});
                append(body, each_row([&](const AffineForm& row) {
                           return store(form(fast), form(slow) + row);
                       }));
                return body;
            });
    }

  private:
    Body each_row(const std::function<Body(const AffineForm& row)>& make) {
        const VarId u = kernel_.nest.add(Var{"u"});
        Body body;
        body.push_back(make_loop(u, Bind::unroll, side / rows, make(form(u, rows))));
        return body;
    }

    /// The point at a place of the square.
    Substitution at(const AffineForm& across, const AffineForm& down) const {
        Substitution here;
        here.replace(squares_.across.var, form(across_, side) + across);
        here.replace(squares_.down.var, form(down_, side) + down);
        return here;
    }
    [[nodiscard]] Value is_inside(const AffineForm& across, const AffineForm& down) const {
        const auto inside = [](const Axis& axis, const AffineForm& place) {
            return axis.extent % side == 0 ? nullptr : is_below(place, axis.extent);
        };
        return both(inside(squares_.across, form(across_, side) + across),
                    inside(squares_.down, form(down_, side) + down));
    }

    Body load(const AffineForm& across, const AffineForm& down) {
        Substitution here = at(across, down);
        Body body;
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            body.push_back(
                make_store(buffers_[i], {pitch * across + down}, here(squares_.loads[i])));
        return guarded(is_inside(across, down), std::move(body));
    }

    Body store(const AffineForm& across, const AffineForm& down) {
        Substitution here = at(across, down);
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            here.replace(squares_.loads[i],
                         make_load(kernel_.nest, buffers_[i], {pitch * across + down}));
        return guarded(is_inside(across, down), write_all(kernel_, here));
    }

    Kernel& kernel_;
    const Squares& squares_;
    std::vector<BufferId> buffers_;
    VarId across_{};
    VarId down_{};
};

}  // namespace

bool lower_transposed(const Kernel& kernel, PlanBuilder& builder) {
    const std::optional<Squares> squares = find_squares(kernel);
    if (!squares) return false;
    Kernel own = kernel;
    Schedule schedule{Strategy::pointwise, kernel.nest.name, {}};
    Transposed(own, *squares, schedule).run();
    builder.add_step(std::move(own), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen::gpu
