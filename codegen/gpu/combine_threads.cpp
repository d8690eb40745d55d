// codegen/gpu/combine_threads.cpp – partial results of threads, combined
#include "codegen/gpu/combine_threads.h"

namespace ricci::codegen::gpu {

namespace {

/// The reducer that values are combined by, where places are compared beside them.
Reducer of_values(Reducer reducer) {
    if (reducer == Reducer::argmax) return Reducer::max;
    if (reducer == Reducer::argmin) return Reducer::min;
    return reducer;
}

/// A fold of values and places: makes its statement, gives its names.
Combined fold(Kernel& kernel, Body& body, const Combined& own, std::int64_t width) {
    Fold fold{.number = kernel.next_let++,
              .value = own.value,
              .reducer = of_values(*kernel.reducer),
              .width = width};
    Combined folded{make_let_value(fold.number, own.value->dtype)};
    if (own.place) {
        fold.place = own.place;
        fold.place_number = kernel.next_let++;
        folded.place = make_let_value(fold.place_number, DType::i64);
    }
    body.push_back({std::move(fold)});
    return folded;
}

/// Shared memory for results of threads.
struct Exchange {
    BufferId value{};
    std::optional<BufferId> place;

    Exchange(Kernel& kernel, std::int64_t elements)
        : value(add_shared(kernel.nest, "partial", kernel.body->dtype, elements)) {
        if (kernel.is_arg_reduction())
            place = add_shared(kernel.nest, "partial_place", DType::i64, elements);
    }
    [[nodiscard]] Body put(const AffineForm& at, const Combined& result) const {
        Body body;
        body.push_back(make_store(value, {at}, result.value));
        if (place) body.push_back(make_store(*place, {at}, result.place));
        return body;
    }
    [[nodiscard]] Combined get(const Nest& nest, const AffineForm& at) const {
        return {make_load(nest, value, {at}), place ? make_load(nest, *place, {at}) : nullptr};
    }
};

}  // namespace

void Combined::name_in(const Kernel& kernel, Substitution& here) const {
    here.replace_let(0, place ? place : value);
    if (kernel.value_let) here.replace_let(*kernel.value_let, value);
}

Combined in_registers(const Kernel& kernel, const Accumulator& accumulator,
                      const AffineForm& element) {
    const auto load = [&](BufferId buffer) { return make_load(kernel.nest, buffer, {element}); };
    return {load(accumulator.value), accumulator.place ? load(*accumulator.place) : nullptr};
}

Body combine_elements(Kernel& kernel, const Accumulator& accumulator, std::int64_t count) {
    Body body;
    for (std::int64_t half = count / 2; half > 0; half /= 2) {
        const VarId i = kernel.nest.add(Var{"i"});
        const Combined other = in_registers(kernel, accumulator, form(i) + form(half));
        body.push_back(make_loop(i, Bind::unroll, half,
                                 combine(kernel, accumulator, form(i), other.value, other.place)));
    }
    return body;
}

Combined combine_neighbours(Kernel& kernel, Body& body, const Accumulator& accumulator,
                            VarId thread, std::int64_t width, std::int64_t block) {
    Combined result = in_registers(kernel, accumulator, form(0));
    if (width == 1) return result;
    result = fold(kernel, body, result, std::min(width, warp));
    if (width <= warp) return result;
    const Exchange exchange(kernel, block / warp);
    const VarId number = kernel.nest.add(Var{"warp"});
    const VarId lane = kernel.nest.add(Var{"lane"});
    append(body, split_number(number, lane, form(thread), warp, block));
    append(body, guarded(is_zero(form(lane)), exchange.put(form(number), result)));
    body.push_back({Barrier{}});
    // Each thread takes the part of one of its group's warps, in turn.
    const std::int64_t warps = width / warp;
    const VarId group = kernel.nest.add(Var{"first"});
    const VarId part = kernel.nest.add(Var{"part"});
    body.push_back(width == block ? make_let_var(group, form(0), 1, 0)
                                  : make_let_var(group, form(thread), width, 0));
    body.push_back(make_let_var(part, form(thread), 1, warps));
    result = fold(kernel, body, exchange.get(kernel.nest, form(group, warps) + form(part)), warps);
    body.push_back({Barrier{}});
    return result;
}

Body combine_rows(Kernel& kernel, const Accumulator& accumulator, std::int64_t elements,
                  const AffineForm& row, std::int64_t rows, const AffineForm& column,
                  std::int64_t columns) {
    Body body;
    if (rows == 1) return body;
    const Exchange exchange(kernel, rows / 2 * columns * elements);
    const auto place = [&](const AffineForm& from_row) {
        return columns * elements * from_row + elements * column;
    };
    const auto each = [&](const std::function<Body(const AffineForm& offset)>& make) {
        return over_lanes(kernel.nest, {elements, 1, {}}, make);
    };
    for (std::int64_t half = rows / 2; half > 0; half /= 2) {
        // The upper half hands its results down; those above it are done.
        const Value below = 2 * half < rows ? is_below(row, 2 * half) : nullptr;
        const Value is_upper = both(below, is_at_least(row, half));
        append(body, guarded(is_upper, each([&](const AffineForm& offset) {
                                 return exchange.put(place(row - form(half)) + offset,
                                                     in_registers(kernel, accumulator, offset));
                             })));
        body.push_back({Barrier{}});
        append(body,
               guarded(is_below(row, half), each([&](const AffineForm& offset) {
                           const Combined other = exchange.get(kernel.nest, place(row) + offset);
                           return combine(kernel, accumulator, offset, other.value, other.place);
                       })));
        if (half > 1) body.push_back({Barrier{}});
    }
    return body;
}

}  // namespace ricci::codegen::gpu
