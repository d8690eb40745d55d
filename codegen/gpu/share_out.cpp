// codegen/gpu/share_out.cpp – the points of a reduction, shared out among threads
#include "codegen/gpu/share_out.h"

#include <algorithm>

#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

/// A box: turns are numbers of vectors, `unroll` of them side by side while they last.
class BoxTurns {
  public:
    BoxTurns(Kernel& kernel, const Share& share, const TurnBody& body)
        : kernel_(kernel), share_(share), body_(body), axes_(share.order) {
        axes_.back().extent /= share.vector;
    }

    Body run() {
        const std::int64_t turns = points(axes_);
        const std::int64_t together = share_.threads * share_.unroll;
        const std::int64_t full = share_.unroll > 1 ? turns / together : 0;
        Body body;
        if (full > 0) append(body, side_by_side(full));
        const std::int64_t done = full * together;
        if (done < turns) append(body, one_by_one(done, turns));
        const std::int64_t extent = share_.order.back().extent;
        if (extent % share_.vector != 0) append(body, single(turns * share_.vector, extent));
        return body;
    }

  private:
    Body side_by_side(std::int64_t rounds) {
        const VarId round = kernel_.nest.add(Var{"round"});
        const VarId u = kernel_.nest.add(Var{"u"});
        const AffineForm number =
            form(round, share_.threads * share_.unroll) + form(u, share_.threads) + share_.number;
        Body unrolled;
        unrolled.push_back(make_loop(u, Bind::unroll, share_.unroll, turn(number, form(u))));
        Body loop;
        loop.push_back(make_loop(round, Bind::serial, rounds, std::move(unrolled)));
        return loop;
    }

    Body one_by_one(std::int64_t from, std::int64_t to) {
        const std::int64_t rounds = ceil_div(to - from, share_.threads);
        const bool is_full = (to - from) % share_.threads == 0;
        const AffineForm first = form(from) + share_.number;
        if (rounds <= share_.unroll) return few(first, rounds - (is_full ? 0 : 1), to, is_full);
        const VarId round = kernel_.nest.add(Var{"round"});
        Body body;
        if (is_full)
            body.push_back(make_loop(round, Bind::serial, rounds,
                                     turn(first + form(round, share_.threads), form(0))));
        else
            body.push_back(make_loop(round, Bind::serial, bound(first), bound(to),
                                     turn(form(round), form(0)), share_.threads));
        return body;
    }

    /// Rounds written out: those in which every thread takes part, and one for some of them.
    Body few(const AffineForm& first, std::int64_t full, std::int64_t to, bool is_full) {
        Body body;
        if (full > 0) {
            const VarId u = kernel_.nest.add(Var{"u"});
            body.push_back(
                make_loop(u, Bind::unroll, full, turn(first + form(u, share_.threads), form(u))));
        }
        const AffineForm last = first + form(full * share_.threads);
        if (!is_full) append(body, guarded(is_below(last, to), turn(last, form(full))));
        return body;
    }

    /// The turn of that number. Its axes have names of their own: turns may follow each other.
    Body turn(const AffineForm& number, const AffineForm& slot) {
        std::vector<Axis> named = axes_;
        Turn turn{.slot = slot, .vector = share_.vector, .first = {}, .test = rest()};
        for (Axis& axis : named) {
            axis.var = kernel_.nest.add(kernel_.nest.at(axis.var));
            turn.first.push_back(form(axis.var, &axis == &named.back() ? share_.vector : 1));
        }
        Body body = name_axes(named, number);
        append(body, body_(turn));
        return body;
    }

    /// The elements of the one axis that fill no vector.
    Body single(std::int64_t from, std::int64_t to) {
        const VarId place = kernel_.nest.add(kernel_.nest.at(axes_.back().var));
        Body turn = body_({.slot = form(0), .vector = 1, .first = {form(place)}, .test = rest()});
        Body body;
        body.push_back(make_loop(place, Bind::serial, bound(form(from) + share_.number), bound(to),
                                 std::move(turn), share_.threads));
        return body;
    }
    [[nodiscard]] const Value& rest() const { return kernel_.conditions.rest; }

    Kernel& kernel_;
    const Share& share_;
    const TurnBody& body_;
    std::vector<Axis> axes_;  ///< the last one in vectors
};

/// Loops with bounds that move: the threads share the last one.
class MovingTurns {
  public:
    MovingTurns(Kernel& kernel, const Share& share, const TurnBody& body)
        : kernel_(kernel), share_(share), body_(body) {}

    Body run() {
        const ReducedLoops reduced = reduced_loops(kernel_, share_.order);
        const std::vector<ReducedLoop>& loops = reduced.loops;
        Turn turn{.slot = form(0), .vector = 1, .first = {}, .test = reduced.test};
        for (const Axis& axis : share_.order) turn.first.push_back(form(axis.var));
        Body body = body_(turn);
        for (std::size_t i = loops.size(); i-- > 0;) {
            LoopBound lower = loops[i].lower;
            const bool is_shared = i + 1 == loops.size();
            if (is_shared)
                for (BoundTerm& term : lower) term.form = term.form + term.divisor * share_.number;
            Body outer;
            outer.push_back(make_loop(loops[i].axis.var, Bind::serial, std::move(lower),
                                      loops[i].upper, std::move(body),
                                      is_shared ? share_.threads : 1));
            body = std::move(outer);
        }
        return body;
    }

  private:
    Kernel& kernel_;
    const Share& share_;
    const TurnBody& body_;
};

}  // namespace

bool is_box(const Kernel& kernel) {
    return kernel.conditions.at_least_zero.empty() && kernel.conditions.equal_zero.empty();
}

Body share_out(Kernel& kernel, const Share& share, const TurnBody& body) {
    if (points(share.order) == 0) return {};
    if (is_box(kernel)) return BoxTurns(kernel, share, body).run();
    return MovingTurns(kernel, share, body).run();
}

Substitution at_turn(const Share& share, const Turn& turn, const AffineForm& offset) {
    Substitution here;
    for (std::size_t i = 0; i < share.order.size(); ++i) {
        const bool is_last = i + 1 == share.order.size();
        here.replace(share.order[i].var, is_last ? turn.first[i] + offset : turn.first[i]);
    }
    return here;
}

}  // namespace ricci::codegen::gpu
