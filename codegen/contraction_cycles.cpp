// codegen/contraction_cycles.cpp – what a contraction costs in the tiles of a choice
#include "codegen/contraction_cycles.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <ranges>

#include "base/integer.h"
#include "codegen/kernel_work.h"
#include "codegen/nest_walk.h"
#include "codegen/taken_rows.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Columns are read where they stand when a panel would hold each element so often, on average.
constexpr double least_shared = 2;

/// The part of the points that the bounds of loops leave: conditions of lanes are masks. None at
/// all is taken for a few.
double share_of_loops(const Kernel& kernel, const Axis& lane) {
    constexpr double least = 1.0 / 1024;
    Conditions bounds;
    const auto is_bound = [&](const AffineForm& form) { return form.coefficient(lane.var) == 0; };
    std::ranges::copy_if(kernel.conditions.at_least_zero, std::back_inserter(bounds.at_least_zero),
                         is_bound);
    std::ranges::copy_if(kernel.conditions.equal_zero, std::back_inserter(bounds.equal_zero),
                         is_bound);
    if (bounds.is_empty()) return 1;
    std::vector<Axis> axes = kernel.free;
    axes.insert(axes.end(), kernel.reduced.begin(), kernel.reduced.end());
    const double left = points_left(axes, std::move(bounds));
    return std::max(least, left / (double(points(kernel.free)) * double(points(kernel.reduced))));
}

}  // namespace

ContractionCycles::ContractionCycles(const Kernel& kernel, const ContractionChoice& choice,
                                     const Target& target)
    : kernel_(kernel),
      choice_(choice),
      target_(target),
      depth_(double(points(kernel.reduced))),
      share_(share_of_loops(kernel, choice.contraction.lane)) {}

std::int64_t ContractionCycles::row_tiles() const {
    const std::int64_t extent = choice_.row_axis.extent;
    return points(c().rows) / (extent * points(choice_.whole_rows)) *
           ceil_div(extent, choice_.tile.rows);
}
std::int64_t ContractionCycles::column_tiles() const {
    return points(c().columns) * ceil_div(c().lane.extent, choice_.tile.columns());
}
double ContractionCycles::columns() const {
    return double(points(c().columns)) * double(c().lane.extent);
}

bool ContractionCycles::is_overlapping(const Value& term, double panel_elements) const {
    const auto* load = std::get_if<Load>(&term->term);
    if (load == nullptr || load->at.computed) return false;
    const auto [first, last] = value_range(kernel_, load->at.affine);
    return least_shared * double(last - first + 1) <= double(points(c().batch)) * panel_elements;
}
double ContractionCycles::lines_of_rows(const Value& term) const {
    std::vector<Axis> axes = kernel_.reduced;
    axes.push_back({choice_.row_axis.var, choice_.tile.rows});
    return lines_along(std::get<Load>(term->term), term->dtype, axes);
}

// Caches.

std::int64_t ContractionCycles::bytes_of(const Load& load) const {
    return std::int64_t(size_bytes(kernel_.nest.at(load.buffer).dtype));
}
CacheSets ContractionCycles::first_level() const { return {way_bytes, target_.l1_bytes}; }
/// Of eight ways, as those of CPUs with short vectors: Zen to Zen 3, Haswell. What is read beside
/// takes one of them.
CacheSets ContractionCycles::second_level() const {
    const std::int64_t way = target_.l2_bytes / 8;
    return {way, target_.l2_bytes - way};
}
/// Whether points along an axis are read from one run of lines that hardware would fetch.
bool ContractionCycles::is_run(const Load& load, const Axis& axis) const {
    constexpr std::int64_t run = 1024;
    return std::abs(load.at.affine.coefficient(axis.var)) * bytes_of(load) <= run;
}
/// Whether those along the innermost reduced axis that it moves with are.
bool ContractionCycles::moves_in_runs(const Load& load) const {
    const auto moves = [&](const Axis& axis) { return load.at.affine.coefficient(axis.var) != 0; };
    const auto inwards = std::views::reverse(kernel_.reduced);
    const auto innermost = std::ranges::find_if(inwards, moves);
    return innermost == inwards.end() || is_run(load, *innermost);
}
/// Whether no two reduced points are.
bool ContractionCycles::stand_apart(const Load& load) const {
    return std::ranges::none_of(kernel_.reduced,
                                [&](const Axis& axis) { return is_run(load, axis); });
}
/// Whether the first-level cache has sets for the lines of columns of all reduced points.
bool ContractionCycles::is_kept(const Load& load) const {
    return has_short_vectors(target_)
               ? !overflow_sets(load, bytes_of(load), kernel_.reduced, first_level())
               : is_spread(load, bytes_of(load), kernel_.reduced);
}

// Panels.

double ContractionCycles::packed_rows() const {
    return is_some_packed(choice_.rows) ? double(points(c().rows)) * panels() : 0;
}
double ContractionCycles::packed_columns() const {
    return is_some_packed(choice_.columns) ? columns() * panels() : 0;
}

double ContractionCycles::packing() const {
    constexpr double from_memory = 1;
    // `C[a,b,c,d,e] := A[e,f,b,a,d]*B[c,f]` of 24 to 32 each: 40 ms (Zen 3), not 20.
    constexpr double single = 2;
    constexpr double step = 500;
    const double elements = packed_elements();
    if (elements == 0) return 0;
    const double bytes = elements * double(size_bytes(panel_dtype(kernel_, choice_)));
    const bool is_kept = bytes <= 8 * double(target_.l2_bytes);
    const auto of_element = [&](const auto& operands, const auto& readings, const Axis& along) {
        const double moved = of_packing(operands, readings, along);
        if (is_kept) return moved;
        return moved +
               (packs_single_elements(kernel_, operands, readings, along) ? single : from_memory);
    };
    return step + packed_rows() * of_element(c().row_operands, choice_.rows, choice_.row_axis) +
           packed_columns() * of_element(c().column_operands, choice_.columns, c().lane);
}
/// Of an element of a panel along `along`: of AVX2 those that stand neither side by side nor in
/// rows of a square are gathered one by one.
double ContractionCycles::of_packing(const std::vector<Operand>& operands,
                                     const std::vector<Reading>& readings,
                                     const Axis& along) const {
    constexpr double copied = 0.3;
    // 128x4096 by 4096x128: 1.15 ms, 1.22 with packed rows.
    constexpr double copied_by_halves = 0.5;
    constexpr double gathered = 3;    // as packing counts: eight of them take 24 (codegen/pack.cpp)
    constexpr std::int64_t side = 8;  // shorter rows make no squares
    if (has_half_units(target_)) return copied_by_halves;
    if (!has_short_vectors(target_)) return copied;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const auto* load = std::get_if<Load>(&operands[i].term->term);
        if (readings[i] != Reading::packed || load == nullptr) continue;
        const auto is_near = [&](const Axis& axis) {
            return std::abs(load->at.affine.coefficient(axis.var)) == 1;
        };
        const auto is_row = [&](const Axis& axis) { return is_near(axis) && axis.extent >= side; };
        if (!is_near(along) && std::ranges::none_of(kernel_.reduced, is_row) &&
            std::ranges::none_of(kernel_.free, is_row))
            return gathered;
    }
    return copied;
}

// Lines.

/// What lines take to come, of operands that are read where they stand and that no cache keeps
/// until the next tile asks for them.
double ContractionCycles::of_lines() const {
    double cycles = 0;
    for (std::size_t i = 0; i < choice_.columns.size(); ++i) cycles += of_columns(i);
    for (std::size_t i = 0; i < choice_.rows.size(); ++i) cycles += of_rows(i);
    return cycles;
}
double ContractionCycles::of_columns(std::size_t operand) const {
    const Value& term = c().column_operands[operand].term;
    const double bytes = double(choice_.tile.columns()) * double(size_bytes(term->dtype));
    const double all = double(choice_.tiles) * depth_;
    const double streamed = all * of_streaming(bytes);
    if (choice_.columns[operand] == Reading::packed) return streamed;
    // Of AVX2 what columns in place take is counted by their lines alone.
    const bool is_streamed = !has_short_vectors(target_);
    if (is_overlapping(term, columns() * depth_)) return is_streamed ? of_shared(streamed) : 0;
    const auto& load = std::get<Load>(term->term);
    const bool is_lost = 3 * depth_ * bytes > double(target_.l2_bytes) && stand_apart(load);
    // Of a line that is read in part, the next tile reads the rest.
    const bool is_part = has_short_vectors(target_) && bytes < line_bytes;
    const bool is_read_again = row_tiles() > 1 || is_part;
    const bool is_apart = is_read_again && (is_lost || !is_kept(load));
    const double apart = is_apart ? all * of_columns_apart(load, bytes) : 0;
    return is_streamed ? streamed + apart : apart;
}
/// Of columns that share elements, which come in short runs: in the operations of a tile as much as
/// a usual one of a panel that streams, whatever its shape, so that either may win. For nothing, a
/// padded 3x3 convolution of 8x128x28x28 would take 11.1 ms in runs of its columns, not 10.3 in
/// panels; twice as dear by the point, of 8x64x58x58 12.9 in rows of pixels, not 12.1 in runs (an
/// Intel Xeon with AMX).
double ContractionCycles::of_shared(double streamed) const {
    constexpr double usual_area = 24;
    return streamed * double(choice_.rows_of_tile() * choice_.tile.vectors) / usual_area;
}
/// Of a tile at a reduced point, of which it reads so many bytes of a panel, where all of that come
/// from the second-level cache: beside single operations of AVX2 each line takes a while, of
/// AVX-512 all of a point do. A linear layer of 1024x784x1024 takes 9.1 ms in tiles of 8x2 vectors
/// of AVX-512, 9.0 of 8x3, 8.7 of 14x2 (an Intel Xeon with AMX).
double ContractionCycles::of_streaming(double bytes) const {
    constexpr double of_line = 0.5;
    constexpr double of_point = 1;
    if (2 * depth_ * bytes <= double(target_.l1_bytes)) return 0;
    if (has_short_vectors(target_)) return bytes / line_bytes * of_line;
    // Longer operations hide it: of units that are half as wide, of several steps, of pairs.
    const bool is_hidden = has_half_units(target_) || !is_single_step();
    return is_hidden ? 0 : of_point;
}
/// Whether a point of a vector is one multiply-add.
bool ContractionCycles::is_single_step() const {
    return choice_.pairing == Pairing::none && has_fused_sums(kernel_, target_) &&
           is_operation(kernel_.body, Op::mul);
}
/// Of a tile at a reduced point, whose lines of columns come from the second-level cache or, where
/// their sets of it are too few, the third-level one. Those of a tile are asked for ahead; of AVX2
/// fewer operations hide that each takes a while (Zen 3, products of 256x256, 64x4096 by 4096x64
/// and 16x1024 by 1024x1024 in tiles of 4x2 and 6x2 vectors). Of AVX-512 on units of half the width
/// all of a point take a while together: 32x2048 by 2048x2048 takes 5.2 ms in tiles of 8x1 vectors,
/// 2.9 of 8x2, 2.5 of 8x3 (Zen 4).
double ContractionCycles::of_columns_apart(const Load& load, double bytes) const {
    constexpr double at_least = 0.8;
    constexpr double of_second_level = 5;
    constexpr double of_third_level = 12;
    constexpr double of_turns = 18;
    const double lines = std::ceil(bytes / double(line_bytes));
    const double hidden = double(choice_.rows_of_tile() * choice_.tile.vectors) *
                          vector_cycles(kernel_, choice_, target_);
    if (has_half_units(target_)) return std::max(lines * at_least, of_turns - hidden);
    if (!has_short_vectors(target_)) return lines * at_least;
    const bool is_third = !moves_in_runs(load) &&
                          overflow_sets(load, bytes_of(load), kernel_.reduced, second_level());
    const double each = is_third ? of_third_level : of_second_level;
    return std::max(lines * at_least, lines * each - hidden);
}
double ContractionCycles::of_rows(std::size_t operand) const {
    constexpr double of_row = 20;  // each from a page of its own, of much memory
    constexpr double of_second_level = 1.2;
    const Value& term = c().row_operands[operand].term;
    if (choice_.rows[operand] != Reading::in_place) return 0;
    const auto& load = std::get<Load>(term->term);
    const auto bytes = double(bytes_of(load));
    const auto tiles = double(choice_.tiles);
    const double from_afar = of_far_rows(load);
    if (load.at.affine.coefficient(choice_.row_axis.var) != 1)
        return from_afar + tiles * of_rows_apart(term);
    double cycles = from_afar;
    const double lines = depth_ * std::ceil(double(choice_.tile.rows) * bytes / double(line_bytes));
    if (overflow_sets(load, bytes_of(load), kernel_.reduced, first_level()))
        cycles += tiles * lines * of_second_level;
    const bool is_far =
        double(kernel_.nest.at(load.buffer).elements) * bytes > 4 * double(target_.l2_bytes);
    if (is_far && !is_spread(load, bytes_of(load), kernel_.reduced))
        cycles += double(row_tiles()) * double(points(c().batch)) * lines * of_row;
    return cycles;
}
bool ContractionCycles::crowd_columns(const Load& rows) const {
    const Axis beside{choice_.row_axis.var, choice_.tile.rows + 1};
    if (!has_half_units(target_) ||
        !share_too_few_sets(rows, bytes_of(rows), beside, first_level()))
        return false;
    for (std::size_t i = 0; i < choice_.columns.size(); ++i)
        if (choice_.columns[i] == Reading::in_place &&
            !is_kept(std::get<Load>(c().column_operands[i].term->term)))
            return true;
    return false;
}
/// Of short rows beyond the second-level cache, whose lines come while tiles use those before them:
/// of two turns a vector, the tiles of one vector are too short. 32 products of 256x256 by 256x64
/// take 3.1 ms in tiles of 8x1 vectors, 2.8 in 8x2; of longer rows, which hardware fetches,
/// 1024x1024 by 1024x16 takes what its operations take (Zen 4).
double ContractionCycles::of_far_rows(const Load& load) const {
    constexpr double of_line = 37;
    constexpr double long_row = 1024;
    const double bytes = double(kernel_.nest.at(load.buffer).elements) * double(bytes_of(load));
    if (!has_half_units(target_) || bytes <= double(target_.l2_bytes) ||
        depth_ * double(bytes_of(load)) > long_row)
        return 0;
    const double points_of_line = double(line_bytes) / double(bytes_of(load));
    const double beside =
        points_of_line * double(choice_.tile.vectors) * vector_cycles(kernel_, choice_, target_);
    return bytes / double(line_bytes) * std::max(0.0, of_line - beside);
}
/// Of a tile whose rows stand in lines of their own: those that the first-level cache does not hold
/// come again, unless they are read so fully that hardware has fetched them.
double ContractionCycles::of_rows_apart(const Value& term) const {
    constexpr double of_conflict = 1.3;  // 8x2048 by 2048x2048 transposed: 2.0 ms, not 1.1
    constexpr double points_of_full_line = 8;
    const bool is_short = has_short_vectors(target_);
    // They overlap. Beyond the second level 6 would leave 3x3 kernels of 8x512x7x7 to masked lanes,
    // 36 ms, not 23. Of AVX2: `dX[n,c,t,p] := sum[o,u,v](dY[n,o,t-u,p-v]*W[o,c,2*u,2*v])` of
    // 8x64x29x29 and 2x2 taps, four images a tile, 4.9 ms, not 2.4 (Zen 3).
    const double of_second_level = is_short ? 2.4 : 0.6;
    const double of_third_level = is_short ? 3 : 4;
    const auto& load = std::get<Load>(term->term);
    const std::int64_t of_columns = is_short ? 1 : 0;  // a line beside the rows
    const Axis rows{choice_.row_axis.var, choice_.tile.rows + of_columns};
    // `C[a,d] := A[a,b,c]*B[c,b,d]` of 64 each: 0.50 ms, 0.32 with packed columns (Zen 4).
    if (share_too_few_sets(load, bytes_of(load), rows, first_level()) || crowd_columns(load))
        return of_conflict * double(choice_.tile.rows) * depth_;
    const double lines = lines_of_rows(term);
    const bool is_sparse = points_of_full_line * lines > double(choice_.tile.rows) * depth_;
    // Those that hardware fetches take a while, too, where no block of tiles holds them, nor chunks
    // make them fewer: the gradient of a 3x3 convolution, stride 2, of 64 channels by its weights
    // in tiles of 13 channels took 5.1 ms, of its nine taps 2.6 (an Intel Xeon with AMX).
    if (!is_short && !is_sparse && 4 * lines * double(line_bytes) > double(target_.l2_bytes) &&
        chunks_in_cache(kernel_, choice_, target_) == 1)
        return lines * of_third_level;
    const double panel = is_short ? depth_ * double(choice_.tile.columns() * bytes_of(load)) : 0;
    // Another axis along which neighbours stand side by side has its rows in fewer lines:
    // `dB[c,b,d] := A[a,b,c]*dC[a,d]` of 64 each, 0.69 ms with rows along b, 0.32 along c (Zen 4),
    // 0.84 and 0.38 in vectors of AVX2.
    std::vector<Axis> of_tile = kernel_.reduced;
    of_tile.push_back({choice_.row_axis.var, choice_.tile.rows});
    const bool is_held = lines * line_bytes + panel <= double(target_.l1_bytes) &&
                         !overflow_sets(load, bytes_of(load), of_tile, first_level());
    if (!is_sparse || is_held) return 0;
    // Tiles until one reads the same lines again: the next along another axis does, or, where
    // neighbours are those of a batch, the same tile of the next one.
    const bool is_of_batch = std::ranges::any_of(
        c().batch, [&](const Axis& axis) { return load.at.affine.coefficient(axis.var) == 1; });
    const double between = is_of_batch
                               ? double(row_tiles())
                               : double(ceil_div(choice_.row_axis.extent, choice_.tile.rows));
    const bool is_lost = 2 * between * lines * double(line_bytes) > double(target_.l2_bytes);
    return lines * (is_lost ? of_third_level : of_second_level);
}

// All.

/// An element of the result. Where neighbours in a large one are those of a batch, lines are gone
/// from caches before the next element is written to them.
double ContractionCycles::of_write() const {
    // `C[a,c,b,z] := A[k,z,b,a]*B[c,z,k]` of 9x67x159x28 and 32x67x9 took some 8 cycles an element
    // beside its products (Zen 4).
    constexpr double scattered_far = 7.5;
    // AVX2 has no scatters: what does not stand side by side is stored one by one.
    const double step = write_cycles(kernel_, c().lane);
    const bool is_single =
        has_short_vectors(target_) && std::ranges::any_of(kernel_.writes, [&](const Store& write) {
            return std::abs(write.at.affine.coefficient(c().lane.var)) > 1;
        });
    const double near = is_single ? 2 * step : step;
    const bool is_far = std::ranges::any_of(kernel_.writes, [&](const Store& write) {
        const Buffer& buffer = kernel_.nest.at(write.buffer);
        const bool is_large =
            double(buffer.elements) * double(size_bytes(buffer.dtype)) > double(target_.l2_bytes);
        return is_large && std::ranges::any_of(c().batch, [&](const Axis& axis) {
                   return write.at.affine.coefficient(axis.var) == 1;
               });
    });
    return is_far && near > 1 ? std::max(near, scattered_far) : near;
}

/// Of an operation, in parts: masks of columns took a fifth of the gradients of 3x3 convolutions
/// with 64 and 128 channels on Zen 3, copies that need none (codegen/padded_factors.h) less.
double ContractionCycles::of_masks() const {
    constexpr double masked = 1.1;
    const bool has_masks = std::ranges::any_of(
        kernel_.conditions.at_least_zero,
        [&](const AffineForm& form) { return form.coefficient(c().lane.var) != 0; });
    return has_masks && has_short_vectors(target_) ? masked : 1;
}

/// Of a tile of vectors of two turns, what its operations do not hide. Its results are written at
/// once: those of one vector in a row are on the way beside the next tile's operations, of
/// several they wait. Where the second-level cache sends its rows and columns, wider tiles ask for
/// rows less often. Zen 4 takes for 1x1 convolutions of 8x64x56x56 to 256 channels 7.4 ms in tiles
/// of 8x1 vectors, 8.2 in 8x3, of 8x512x7x7 to 2048 7.3 and 7.2; for products of 1024x1024 19.0 in
/// 8x1, 19.1 in 8x2.
double ContractionCycles::of_tile_of_turns() const {
    constexpr double of_vector = 6;
    constexpr double of_point = 0.1;
    const auto rows = double(choice_.rows_of_tile());
    const auto columns = double(choice_.tile.columns());
    const double ends = of_vector * rows * double(choice_.tile.vectors - 1);
    const double bytes = depth_ * (rows + columns) * double(size_bytes(c().body->dtype));
    return ends + (bytes > double(target_.l1_bytes) ? depth_ * of_point : 0);
}

/// Each sum waits for its last operation alone, four cycles, in which two units do eight. At points
/// that few rows take, it waits the longer.
double ContractionCycles::of_latency(double operations_of_row) const {
    constexpr double in_progress = 8;
    const TakenRows taken = taken_rows(kernel_, choice_);
    if (taken.axes.empty())
        return std::max(1.0, in_progress / (operations_of_row * double(choice_.rows_of_tile())));
    double all = 0;
    double waiting = 0;
    for (const std::int64_t rows : taken.rows) {
        const double operations = operations_of_row * double(rows);
        all += operations;
        waiting += rows > 0 ? std::max(operations, in_progress) : 0;
    }
    return all > 0 ? waiting / all : 1;
}

double ContractionCycles::all() const {
    const TileShape& tile = choice_.tile;
    const auto rows = double(choice_.rows_of_tile());
    // A unit of the target is busy for so long with one vector.
    const bool is_half = is_half_vector(kernel_, tile.lanes, target_);
    const double turns = has_half_units(target_) && !is_half ? 2 : 1;
    const double area = turns * rows * double(tile.vectors);
    // Of a point and a vector: what a body costs beside its two loads, where a multiply-add is two.
    // Pairs of points are one operation.
    const double operations =
        choice_.pairing == Pairing::pairs ? 1 : std::max(1.0, (c().body_cost - 2) / 2);
    // As many loads as operations can be done in a cycle: two. Where that is enough, each still
    // takes an issue slot beside them, of which multiply-adds on such units leave enough.
    const bool has_slots = has_half_units(target_) && is_single_step();
    const double busy = (rows + turns * double(tile.vectors)) / (area * operations);
    const double slots = turns * (rows + double(tile.vectors)) / area;
    const double loads = std::max(1.0, busy) + (has_slots ? 0.01 : 0.1) * slots;
    const double latency = of_latency(turns * double(tile.vectors) * operations);
    const double vectors = double(choice_.tiles) * depth_ * rows * double(tile.vectors);
    const double of_vectors =
        vectors * vector_cycles(kernel_, choice_, target_) * latency * loads * of_masks();
    const double of_tiles = has_slots && !is_half ? double(choice_.tiles) * of_tile_of_turns() : 0;
    return share_ * (of_vectors + of_lines()) + choice_.packing_cycles + of_tiles +
           of_write() * double(points(kernel_.free));
}

}  // namespace ricci::codegen
