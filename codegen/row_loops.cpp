// codegen/row_loops.cpp – loops along a row in vectors, and accumulators folded at its end
#include "codegen/row_loops.h"

#include <algorithm>
#include <optional>

namespace ricci::codegen {

namespace {

Value partial(const Kernel& kernel, const Accumulator& accumulator, const AffineForm& element) {
    return make_load(kernel.nest, accumulator.value, {element});
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
    Nest& nest = kernel.nest;
    const DType dtype = kernel.body->dtype;
    const BufferId best = add_registers(nest, "best", dtype, lanes);
    const BufferId place = add_registers(nest, "first", DType::i64, lanes);
    const Reducer extreme = accumulator.reducer == Reducer::argmax ? Reducer::max : Reducer::min;
    Body body;
    // What each vector gives, lane by lane, then the lanes.
    const auto fold = [&](BufferId lane, BufferId all, Reducer reducer, const auto& value) {
        for (std::int64_t n = 0; n < unroll; ++n)
            append(body, over_lanes(nest, {lanes, 1, {}}, [&](const AffineForm& offset) {
                       Body of_vector;
                       of_vector.push_back(
                           make_store(lane, {offset}, value(first + form(n * lanes) + offset),
                                      n == 0 ? std::nullopt : std::optional(reducer)));
                       return of_vector;
                   }));
        append(body, over_lanes(nest, {lanes, 1, {}}, [&](const AffineForm& offset) {
                   Body of_lanes;
                   of_lanes.push_back(
                       make_store(all, {form(0)}, make_load(nest, lane, {offset}), reducer));
                   return of_lanes;
               }));
    };
    append(body, reset(kernel, total, form(0)));
    fold(best, total.value, extreme,
         [&](const AffineForm& element) { return partial(kernel, accumulator, element); });
    const Value none = make_integer(beyond_all_places(kernel));
    body.push_back(make_store(*total.place, {form(0)}, none));
    fold(place, *total.place, Reducer::min, [&](const AffineForm& element) {
        const Value value = partial(kernel, accumulator, element);
        Value is_best = make_operation(Op::eq, {value, make_load(nest, total.value, {form(0)})},
                                       DType::boolean);
        if (is_floating(dtype))
            is_best = make_operation(
                Op::logical_or, {is_best, make_operation(Op::ne, {value, value}, DType::boolean)},
                DType::boolean);
        return make_operation(Op::select,
                              {is_best, make_load(nest, *accumulator.place, {element}), none},
                              DType::i64);
    });
    return body;
}

/// The loop over the last axis where its ends are data.
Body over_interval(Nest& nest, const ReducedLoop& loop, std::int64_t lanes, std::int64_t unroll,
                   const RowVectors& vectors, const AroundFull& around_full) {
    const auto add = [&](const char* text) {
        return nest.add(Var{nest.at(loop.axis.var).name + text});
    };
    const AffineForm lower = loop.lower[0].form;
    const AffineForm upper = loop.upper[0].form;
    AffineForm rest_lower = lower;
    Body body = loop.names;
    if (unroll > 1) {
        const VarId first = add("0");
        const VarId turns = add("_turns");
        const std::int64_t width = lanes * unroll;
        body.push_back(make_let_var(turns, upper - lower, width, 0));
        rest_lower = lower + form(turns, width);
        Body main;
        main.push_back(make_loop(first, Bind::serial, bound(lower), bound(rest_lower),
                                 vectors(loop.axis, {lanes, unroll, {}}, form(first)), width));
        const Value is_any =
            make_operation(Op::gt, {make_index(form(turns)), make_integer(0)}, DType::boolean);
        append(body, guarded(is_any, around_full(std::move(main))));
    }
    const VarId rest = add("1");
    body.push_back(make_loop(rest, Bind::serial, bound(rest_lower), bound(upper),
                             vectors(loop.axis, {lanes, 1, bound(upper - form(rest))}, form(rest)),
                             lanes));
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

std::int64_t vectors_side_by_side(std::int64_t extent, std::int64_t lanes, std::int64_t most,
                                  std::int64_t together) {
    std::int64_t count = 1;
    while (count * 2 <= std::min(most, extent / lanes)) count *= 2;
    // Rows that so many or a few more vectors fill have no rest.
    if (count == most && extent % lanes == 0)
        for (std::int64_t more = count; more < 2 * most; ++more)
            if (extent / lanes % more == 0 && more % together == 0) return more;
    return count;
}

Body over_row(Nest& nest, const std::vector<ReducedLoop>& loops, std::int64_t lanes,
              std::int64_t unroll, const RowVectors& vectors, Bind bind,
              const AroundFull& around_full) {
    Body body = loops.back().names.empty()
                    ? over_vectors(nest, loops.back(), lanes, unroll, vectors, bind)
                    : over_interval(nest, loops.back(), lanes, unroll, vectors, around_full);
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
    Body body;
    for (std::int64_t left = unroll; left > 1;) {
        const std::int64_t kept = (left + 1) / 2;
        append(body,
               over_lanes(kernel.nest, {lanes, left - kept, {}}, [&](const AffineForm& offset) {
                   const AffineForm at = first + offset;
                   return combine(kernel, accumulator, at,
                                  partial(kernel, accumulator, at + form(kept * lanes)), {});
               }));
        left = kept;
    }
    return body;
}

Body fold(Kernel& kernel, const Accumulator& accumulator, const Accumulator& total,
          std::int64_t lanes, std::int64_t unroll, const AffineForm& first) {
    return kernel.is_arg_reduction()
               ? fold_pairs(kernel, accumulator, total, lanes, unroll, first)
               : fold_values(kernel, accumulator, total, lanes, unroll, first);
}

}  // namespace ricci::codegen
