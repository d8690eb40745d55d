// codegen/row_loops.cpp – loops along a row in vectors, and accumulators folded at its end
#include "codegen/row_loops.h"

#include <algorithm>
#include <limits>

namespace ricci::codegen {

namespace {

Value partial(const Kernel& kernel, const Accumulator& accumulator, const AffineForm& element) {
    return make_load(kernel.nest, accumulator.value, {element});
}

/// Adds the later half of the vectors to the first ones until one is left.
Body halve_by(Kernel& kernel, std::int64_t lanes, std::int64_t unroll, const AffineForm& first,
              const std::function<Body(const AffineForm& at, const AffineForm& other)>& combine) {
    Body body;
    for (std::int64_t left = unroll; left > 1;) {
        const std::int64_t kept = (left + 1) / 2;
        append(body,
               over_lanes(kernel.nest, {lanes, left - kept, {}}, [&](const AffineForm& offset) {
                   const AffineForm at = first + offset;
                   return combine(at, at + form(kept * lanes));
               }));
        left = kept;
    }
    return body;
}

/// Halves the vectors, then folds the lanes of the last.
Body fold_values(Kernel& kernel, const Accumulator& accumulator, const Accumulator& total,
                 std::int64_t lanes, std::int64_t unroll, const AffineForm& first) {
    Body body = halve(kernel, accumulator, lanes, unroll, first);
    append(body, reset(kernel, total, form(0)));
    append(body, over_lanes(kernel.nest, {lanes, 1, {}}, [&](const AffineForm& offset) {
               return combine(kernel, total, form(0), partial(kernel, accumulator, first + offset),
                              {});
           }));
    return body;
}

/// The best value, then the first of its places: of NaN, where there is one.
Body fold_pairs(Kernel& kernel, const Accumulator& accumulator, const Accumulator& total,
                std::int64_t lanes, std::int64_t unroll, const AffineForm& first) {
    const Nest& nest = kernel.nest;
    const auto place = [&](const AffineForm& element) {
        return make_load(nest, *accumulator.place, {element});
    };
    Body body =
        halve_by(kernel, lanes, unroll, first, [&](const AffineForm& at, const AffineForm& other) {
            return combine(kernel, accumulator, at, partial(kernel, accumulator, other),
                           place(other));
        });
    append(body, reset(kernel, total, form(0)));
    const Lanes vector{lanes, 1, {}};
    const Reducer extreme = accumulator.reducer == Reducer::argmax ? Reducer::max : Reducer::min;
    append(body, over_lanes(kernel.nest, vector, [&](const AffineForm& offset) {
               Body fold;
               fold.push_back(make_store(total.value, {form(0)},
                                         partial(kernel, accumulator, first + offset), extreme));
               return fold;
           }));
    const Value beyond = make_integer(std::numeric_limits<std::int64_t>::max());
    body.push_back(make_store(*total.place, {form(0)}, beyond));
    append(body, over_lanes(kernel.nest, vector, [&](const AffineForm& offset) {
               const Value value = partial(kernel, accumulator, first + offset);
               const Value best = make_load(nest, total.value, {form(0)});
               Value is_best = make_operation(Op::eq, {value, best}, DType::boolean);
               if (is_floating(value->dtype))
                   is_best = make_operation(
                       Op::logical_or,
                       {is_best, make_operation(Op::ne, {value, value}, DType::boolean)},
                       DType::boolean);
               Body fold;
               fold.push_back(make_store(
                   *total.place, {form(0)},
                   make_operation(Op::select, {is_best, place(first + offset), beyond}, DType::i64),
                   Reducer::min));
               return fold;
           }));
    return body;
}

/// The loop over the last axis.
Body over_vectors(Nest& nest, const ReducedLoop& loop, std::int64_t lanes, std::int64_t unroll,
                  const RowVectors& vectors, Bind bind) {
    const VarId first = nest.add(Var{nest.at(loop.axis.var).name + "0"});
    const bool is_whole = loop.lower.size() == 1 && loop.upper.size() == 1 &&
                          loop.lower[0].form.is_constant() && loop.upper[0].form.is_constant();
    Body body;
    if (!is_whole) {
        // The row's ends move with the outer axes: every vector is masked.
        Lanes masked{lanes, 1, {}};
        for (const BoundTerm& term : loop.upper)
            masked.limit.push_back({term.form - term.divisor * form(first), term.divisor});
        body.push_back(make_loop(first, Bind::serial, loop.lower, loop.upper,
                                 vectors(loop.axis, masked, form(first)), lanes));
        return body;
    }
    const std::int64_t lower = loop.lower[0].form.constant;
    const std::int64_t upper = loop.upper[0].form.constant;
    const std::int64_t width = lanes * unroll;
    const std::int64_t full = lower + (upper - lower) / width * width;
    if (full > lower)
        body.push_back(make_loop(first, bind, bound(lower), bound(full),
                                 vectors(loop.axis, {lanes, unroll, {}}, form(first)), width));
    if (full < upper) {
        const VarId rest = nest.add(Var{nest.at(loop.axis.var).name + "1"});
        Lanes masked{lanes, 1, {}};
        if ((upper - full) % lanes != 0) masked.limit = bound(form(upper) - form(rest));
        body.push_back(make_loop(rest, bind, bound(full), bound(upper),
                                 vectors(loop.axis, masked, form(rest)), lanes));
    }
    return body;
}

}  // namespace

std::int64_t vectors_side_by_side(std::int64_t extent, std::int64_t lanes, std::int64_t most) {
    std::int64_t count = 1;
    while (count * 2 <= std::min(most, extent / lanes)) count *= 2;
    // Rows that so many or a few more vectors fill have no rest.
    if (count == most && extent % lanes == 0)
        for (std::int64_t more = count; more < 2 * most; ++more)
            if (extent / lanes % more == 0) return more;
    return count;
}

Body over_row(Nest& nest, const std::vector<ReducedLoop>& loops, std::int64_t lanes,
              std::int64_t unroll, const RowVectors& vectors, Bind bind) {
    Body body = over_vectors(nest, loops.back(), lanes, unroll, vectors, bind);
    for (std::size_t i = loops.size() - 1; i-- > 0;) {
        Body outer;
        outer.push_back(make_loop(loops[i].axis.var, Bind::serial, loops[i].lower, loops[i].upper,
                                  std::move(body)));
        body = std::move(outer);
    }
    return body;
}

Body reset_all(Kernel& kernel, const Accumulator& accumulator, std::int64_t lanes,
               std::int64_t unroll) {
    return over_lanes(kernel.nest, {lanes, unroll, {}},
                      [&](const AffineForm& offset) { return reset(kernel, accumulator, offset); });
}

Body halve(Kernel& kernel, const Accumulator& accumulator, std::int64_t lanes, std::int64_t unroll,
           const AffineForm& first) {
    return halve_by(
        kernel, lanes, unroll, first, [&](const AffineForm& at, const AffineForm& other) {
            return combine(kernel, accumulator, at, partial(kernel, accumulator, other), {});
        });
}

Body fold(Kernel& kernel, const Accumulator& accumulator, const Accumulator& total,
          std::int64_t lanes, std::int64_t unroll, const AffineForm& first) {
    return kernel.is_arg_reduction()
               ? fold_pairs(kernel, accumulator, total, lanes, unroll, first)
               : fold_values(kernel, accumulator, total, lanes, unroll, first);
}

}  // namespace ricci::codegen
