// codegen/gpu/tile_results.cpp – a thread's results: what is held for them, and their writes
#include "codegen/gpu/tile_results.h"

#include <algorithm>

#include "codegen/gpu/numbering.h"
#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

TileResults::TileResults(Kernel& kernel, const Contraction& contraction, const TileSide& rows,
                         const TileSide& columns, const ThreadPlaces& places)
    : kernel_(kernel), c_(contraction), rows_(rows), columns_(columns), places_(places) {
    const TileConfig& tile = places.tile;
    accumulator_ = make_accumulator(kernel, tile.thread_rows * tile.thread_columns);
    for (const Operand& operand : c_.held)
        held_.push_back(add_registers(kernel.nest, "held", operand.term->dtype,
                                      (operand.has_rows ? tile.thread_rows : 1) *
                                          (operand.has_columns ? tile.thread_columns : 1)));
}

AffineForm TileResults::element(const AffineForm& r, const AffineForm& c) const {
    return places_.tile.thread_columns * r + c;
}
AffineForm TileResults::held_element(const Operand& operand, const AffineForm& r,
                                     const AffineForm& c) const {
    if (!operand.has_columns) return operand.has_rows ? r : form(0);
    return operand.has_rows ? element(r, c) : c;
}

Body TileResults::begin() {
    const TileConfig& tile = places_.tile;
    Body body = unrolled(kernel_.nest, "e", tile.thread_rows * tile.thread_columns,
                         [&](const AffineForm& e) { return reset(kernel_, accumulator_, e); });
    for (std::size_t i = 0; i < held_.size(); ++i) append(body, load_held(i));
    return body;
}

/// Beyond the edges it is 0 that is computed with.
Body TileResults::load_held(std::size_t number) {
    const Operand& operand = c_.held[number];
    const BufferId held = held_[number];
    const bool has_edge =
        (operand.has_rows && rows_.has_edge()) || (operand.has_columns && columns_.has_edge());
    Body body;
    if (has_edge)
        body =
            unrolled(kernel_.nest, "e", kernel_.nest.at(held).elements, [&](const AffineForm& e) {
                Body zero;
                zero.push_back(make_store(held, {e}, make_number(operand.term->dtype, 0)));
                return zero;
            });
    const AtPlace load = [&](const Substitution& place, const AffineForm& r, const AffineForm& c) {
        Substitution here = place;
        Body one;
        const std::vector<Value> values = share(one, {here(operand.term)}, kernel_.next_let);
        one.push_back(make_store(held, {held_element(operand, r, c)}, values[0]));
        return one;
    };
    if (operand.has_columns)
        append(body, each_column(1, operand.has_rows, load));
    else if (operand.has_rows)
        append(body, each_row(Substitution{}, form(0), load));
    else
        append(body, load(Substitution{}, form(0), form(0)));
    return body;
}

Body TileResults::combine_at(Substitution& here, const AffineForm& r, const AffineForm& c) {
    for (std::size_t i = 0; i < held_.size(); ++i)
        here.replace(c_.held[i].term,
                     make_load(kernel_.nest, held_[i], {held_element(c_.held[i], r, c)}));
    Body body;
    const std::vector<Value> values = share(body, {here(c_.body)}, kernel_.next_let);
    append(body, combine(kernel_, accumulator_, element(r, c), values[0], {}));
    return body;
}

/// Names the rows or columns at a place of the tile, a multiple of `step`, and tells where there
/// are such.
Value TileResults::name_place(const TileSide& side, const AffineForm& place, std::int64_t step,
                              Body& names, Substitution& here) {
    AffineForm number{.constant = place.constant / step};
    for (const AffineForm::Term& term : place.terms)
        number = number + form(term.var, term.coefficient / step);
    number = number + (side.width / step) * side.tile;
    name_point(kernel_.nest, side.axes, {.number = number, .lanes = step}, names, here);
    if (!side.has_edge()) return nullptr;
    return is_below(side.width * side.tile + place, side.extent());
}

Body TileResults::each_row(const Substitution& at_column, const AffineForm& c,
                           const AtPlace& make) {
    const std::int64_t fragment = places_.fragment;
    const std::int64_t parts = places_.tile.thread_rows / fragment;
    return unrolled(kernel_.nest, "p", parts, [&](const AffineForm& part) {
        return unrolled(kernel_.nest, "r", fragment, [&](const AffineForm& r) {
            Body body;
            Substitution here = at_column;
            const Value is_row = name_place(rows_, places_.row(part, r), 1, body, here);
            append(body, guarded(is_row, make(here, fragment * part + r, c)));
            return body;
        });
    });
}

/// Columns outside, so that their names are found once.
Body TileResults::each_column(std::int64_t step, bool has_rows, const AtPlace& make) {
    const std::int64_t fragment = places_.fragment;
    const std::int64_t parts = places_.tile.thread_columns / fragment;
    return unrolled(kernel_.nest, "q", parts, [&](const AffineForm& part) {
        return unrolled(kernel_.nest, "s", fragment / step, [&](const AffineForm& s) {
            Body body;
            Substitution here;
            const AffineForm place = places_.column(part, step * s);
            const Value is_column = name_place(columns_, place, step, body, here);
            const AffineForm c = fragment * part + step * s;
            Body rows = has_rows ? each_row(here, c, make) : make(here, form(0), c);
            append(body, guarded(is_column, std::move(rows)));
            return body;
        });
    });
}

std::int64_t TileResults::write_lanes() const {
    const std::int64_t fragment = places_.fragment;
    if (columns_.axes.back().extent % fragment != 0) return 1;
    const VarId lane = c_.lane.var;
    const bool is_aligned = std::ranges::all_of(kernel_.writes, [&](const Store& write) {
        if (write.at.computed || write.at.affine.coefficient(lane) != 1) return false;
        return known_divisor(kernel_.nest, write.buffer, write.at.affine, lane) % fragment == 0;
    });
    return is_aligned ? fragment : 1;
}

Body TileResults::write() {
    const std::int64_t step = write_lanes();
    const VarId last = c_.lane.var;
    return each_column(
        step, true, [&](const Substitution& place, const AffineForm& r, const AffineForm& c) {
            return over_lanes(kernel_.nest, {step, 1, {}}, [&](const AffineForm& lane) {
                Substitution here = place;
                here.replace(last, place(form(last)) + lane);
                here.replace_let(0, result(kernel_, accumulator_, element(r, c) + lane));
                return write_all(kernel_, here);
            });
        });
}

}  // namespace ricci::codegen::gpu
