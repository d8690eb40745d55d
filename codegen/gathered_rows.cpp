// codegen/gathered_rows.cpp – rows whose places are data: asked for before they are used
#include "codegen/gathered_rows.h"

#include <algorithm>

#include "codegen/cache_lines.h"
#include "codegen/nest_build.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// So far ahead, in bytes of rows: less is there too late, more is driven out of the first-level
/// cache again. Of short rows so many: a core looks as far ahead itself.
constexpr std::int64_t bytes_ahead = 8 << 10;
constexpr std::int64_t most_rows_ahead = 16;
/// The rest of a longer row is a stream that hardware sees.
constexpr std::int64_t most_bytes_of_row = 4 << 10;
constexpr std::int64_t most_side_by_side = 16;

}  // namespace

std::vector<GatheredRow> gathered_rows(const Kernel& kernel, const Axis& lanes) {
    std::vector<GatheredRow> rows;
    for (const Touch& touch : touches(kernel)) {
        if (!touch.computed || touch.address.coefficient(lanes.var) != 1 ||
            depends_on(touch.computed, lanes.var) || !is_inside_everywhere(kernel, touch.computed))
            continue;
        const bool is_known = std::ranges::any_of(rows, [&](const GatheredRow& row) {
            return row.buffer == touch.buffer && row.computed == touch.computed;
        });
        if (!is_known) rows.push_back({touch.buffer, touch.address, touch.computed});
    }
    return rows;
}

std::int64_t side_by_side(std::int64_t extent, std::int64_t elements) {
    for (std::int64_t pieces = most_side_by_side; pieces > 1; --pieces)
        if (extent % (pieces * elements) == 0) return pieces;
    return 1;
}

bool is_far(const Kernel& kernel, const GatheredRow& row, const Target& target) {
    const Buffer& buffer = kernel.nest.at(row.buffer);
    return buffer.elements * std::int64_t(size_bytes(buffer.dtype)) > target.l2_bytes;
}

Body prefetch_rows(Kernel& kernel, const std::vector<GatheredRow>& rows, const Axis& across,
                   const AxisRange& along, const Target& target) {
    Body body;
    const std::optional<std::int64_t> piece = constant_length(along.lower, along.upper);
    for (const GatheredRow& row : rows) {
        const Buffer& buffer = kernel.nest.at(row.buffer);
        const auto bytes = std::int64_t(size_bytes(buffer.dtype));
        if (!is_far(kernel, row, target) || !depends_on(row.computed, across.var)) continue;
        const std::int64_t ahead =
            std::clamp<std::int64_t>(bytes_ahead / (along.axis.extent * bytes), 1, most_rows_ahead);
        Substitution later;
        later.replace(across.var, form(across.var) + form(ahead));
        LoopBound upper = along.upper;
        if (piece.value_or(along.axis.extent) * bytes > most_bytes_of_row)
            upper = with(upper, along.lower[0].form + form(most_bytes_of_row / bytes));
        Body prefetch;
        std::vector<Value> place = share(prefetch, {later(row.computed)}, kernel.next_let);
        prefetch.push_back(make_let(kernel.next_let, place[0]));
        const Value start = make_let_value(kernel.next_let++, DType::i64);
        const std::int64_t elements = line_bytes / bytes;
        // Of pieces that differ, no request may lie behind the last one.
        const std::int64_t lines = piece ? side_by_side(*piece, elements) : 1;
        const VarId next = kernel.nest.add(Var{"next"});
        const auto touch = [&](const AffineForm& first) {
            later.replace(along.axis.var, first + form(next, elements));
            Body one;
            one.push_back({Prefetch{row.buffer, {later(row.affine), start}, 1}});
            Body all;
            all.push_back(make_loop(next, Bind::unroll, lines, std::move(one)));
            return all;
        };
        append(prefetch, make_turns(kernel.nest, "line", along.lower, std::move(upper),
                                    lines * elements, touch));
        const Value exists = make_operation(
            Op::lt, {make_index(form(across.var) + form(ahead)), make_integer(across.extent)},
            DType::boolean);
        append(body, guarded(exists, std::move(prefetch)));
    }
    return body;
}

}  // namespace ricci::codegen
