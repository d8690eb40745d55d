// codegen/choose_contraction.cpp – which contraction a kernel is to a CPU, and in which tiles it
// runs
#include "codegen/choose_contraction.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/cache_lines.h"
#include "codegen/contraction_cycles.h"
#include "codegen/guarded_reads.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/pair_products.h"
#include "codegen/taken_rows.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// The narrowest vector of VDPBF16PS.
constexpr std::int64_t least_paired_lanes = 4;
/// Below this many points tiles do not pay for their code.
constexpr double least_points = 4096;
/// Panels larger than this (1 GiB of f32) are not made: an operand of many reduced points is read
/// where it stands, without tiles.
constexpr double most_packed = 268'435'456;
/// Points side by side that are read as fast where they stand as from a panel: of 784 packing took
/// a sixth of a product's time, of 196 it took nothing.
constexpr std::int64_t long_run = 256;

/// Axes of half as many rows at least, or of half the longest axis, are tried: longer ones fill
/// tiles no better. Of a dilated 3x3 convolution of 32x160x8x8 the six of an image's
/// rows, which stay where they are, took 1.03 ms, those of eleven images, gathered, 2.3.
constexpr std::int64_t long_row_axis = 12;

class Chooser {
  public:
    Chooser(const Kernel& kernel, Contraction contraction, const Target& target)
        : kernel_(kernel),
          depth_(double(points(kernel.reduced))),
          target_(target),
          choice_{.contraction = std::move(contraction)},
          cost_(kernel, choice_, target) {
        choice_.row_axis = longest_row_axis();
    }

    Chooser(const Chooser&) = delete;
    Chooser& operator=(const Chooser&) = delete;

    std::optional<ContractionChoice> run() {
        std::optional<ContractionChoice> best;
        const std::int64_t longest = std::min(longest_row_axis().extent, long_row_axis);
        for (const Axis& axis : c().rows) {
            if (2 * axis.extent < longest) continue;
            choice_.row_axis = axis;
            for (const Pairing pairing : {Pairing::none, Pairing::pairs})
                if (is_possible(pairing)) consider_tiles(pairing, best);
        }
        consider_whole_rows(best);
        return best;
    }

    /// Every tile, with each way to read its operands.
    std::vector<ContractionChoice> all(Pairing pairing) {
        std::vector<ContractionChoice> choices;
        if (!is_possible(pairing)) return choices;
        choice_.pairing = pairing;
        for (const RowVectors& of_row : row_vectors())
            for (const TileShape& tile : all_tiles(c(), choice_.row_axis.extent, of_row, target_)) {
                choice_.tile = tile;
                for (const Reading rows : {Reading::packed, Reading::in_place})
                    for (const Reading columns : {Reading::packed, Reading::in_place}) {
                        prefer(rows, columns);
                        if (estimate()) choices.push_back(choice_);
                    }
            }
        return choices;
    }

  private:
    [[nodiscard]] const Contraction& c() const { return choice_.contraction; }

    [[nodiscard]] Axis longest_row_axis() const {
        return *std::ranges::max_element(
            c().rows, [](const Axis& a, const Axis& b) { return a.extent < b.extent; });
    }
    void consider_tiles(Pairing pairing, std::optional<ContractionChoice>& best) {
        choice_.pairing = pairing;
        for (const RowVectors& of_row : row_vectors()) consider_tiles(tiles_along(of_row), best);
    }
    /// Several short axes of rows together, as the taps, and the channels, of a convolution's
    /// weight gradient: one by one they would leave most registers idle, and taps of one channel
    /// read the same lines. Each axis is tiled with shorter ones beside it, the shortest first: of
    /// three channels and longer taps, one of these and the channels. Estimates take the lines of
    /// such axes to be shared, as those of taps are; of AVX2, whose tiles have few rows, only the
    /// longest axis is tiled so: of an 11x11 convolution, stride 4, three taps with three channels
    /// took 17 ms where eleven take 14 (an Intel Xeon, RICCI_TARGET=avx2).
    void consider_whole_rows(std::optional<ContractionChoice>& best) {
        if (lanes() < 2) return;
        choice_.pairing = Pairing::none;
        std::vector<Axis> shorter = c().rows;
        const Axis longest = longest_row_axis();
        std::erase_if(shorter, [&](const Axis& axis) {
            return axis == longest || axis.extent < 2 || !may_be_whole(axis.var);
        });
        std::ranges::stable_sort(shorter, {}, &Axis::extent);
        choice_.row_axis = longest;
        if (is_conditional(longest.var)) (void)consider_all_rows(best);
        for (std::size_t i = has_short_vectors(target_) ? shorter.size() : 1; i <= shorter.size();
             ++i) {
            choice_.row_axis = i < shorter.size() ? shorter[i] : longest;
            for (std::size_t others = 1; others <= i; ++others) {
                choice_.whole_rows.assign(shorter.begin(),
                                          shorter.begin() + std::ptrdiff_t(others));
                if (!consider_all_rows(best)) break;
            }
        }
        choice_.row_axis = longest;
        choice_.whole_rows.clear();
    }
    /// Tiles that hold all rows of the axes together. False where registers do not, and will not
    /// with further axes.
    bool consider_all_rows(std::optional<ContractionChoice>& best) {
        if (!conditions_allow(may_be_whole(choice_.row_axis.var))) return true;
        choice_.tile.rows = choice_.row_axis.extent;
        const bool has_conditional = std::ranges::any_of(
            choice_.whole_rows, [&](const Axis& axis) { return is_conditional(axis.var); });
        if ((has_conditional || choice_.whole_rows.empty()) &&
            taken_rows(kernel_, choice_).axes.empty())
            return true;
        const std::int64_t rows = choice_.row_axis.extent * points(choice_.whole_rows);
        std::vector<TileShape> tiles;
        for (const RowVectors& of_row : row_vectors())
            std::ranges::move(tiles_of_rows(c(), rows, of_row, target_), std::back_inserter(tiles));
        for (TileShape& tile : tiles) tile.rows = choice_.row_axis.extent;
        consider_tiles(tiles, best);
        return !tiles.empty();
    }
    void consider_tiles(const std::vector<TileShape>& tiles,
                        std::optional<ContractionChoice>& best) {
        for (const TileShape& tile : tiles) {
            choice_.tile = tile;
            const auto consider = [&](const Stay& stay) {
                choose_places(stay);
                if (!estimate()) return false;
                if (!best || choice_.cycles < best->cycles) best = choice_;
                return true;
            };
            const bool may_stay = consider({.columns = true});
            const bool may_be_packed = consider({.columns = false});
            // Conditions may keep rows from panels.
            if (!may_stay && !may_be_packed) (void)consider({.columns = true, .rows = true});
        }
    }

    /// Of tiles whose rows need no bounds of their own, or of others.
    [[nodiscard]] bool conditions_allow(bool are_rows_whole) const {
        if (kernel_.conditions.rest) return false;
        if (are_conditions_of_batch(kernel_, c())) return true;
        if (!c().held.empty()) return false;
        // A row that a condition excludes is read all the same, and columns for any row of a tile.
        const bool has_row_conditions = !are_rows_whole && is_conditional(choice_.row_axis.var);
        if (has_row_conditions &&
            (has_lane_conditions() || !is_inside_everywhere(kernel_, c().body)))
            return false;
        for (const AffineForm& form : kernel_.conditions.equal_zero)
            if (form.coefficient(choice_.row_axis.var) != 0 || form.coefficient(c().lane.var) != 0)
                return false;
        return true;
    }
    /// Whether tiles may hold all rows of a free axis: of such that conditions exclude, each tests
    /// its own beside masked lanes, and panels hold all.
    [[nodiscard]] bool may_be_whole(VarId axis) const {
        const auto has = [&](const std::vector<AffineForm>& forms) {
            return std::ranges::any_of(
                forms, [&](const AffineForm& form) { return form.coefficient(axis) != 0; });
        };
        if (has(kernel_.conditions.equal_zero) || has(kernel_.needed_where) ||
            kernel_.collides(axis))
            return false;
        return !is_conditional(axis) ||
               (has_lane_conditions() &&
                is_inside_everywhere(kernel_, without_guarded_reads(row_body())));
    }
    [[nodiscard]] bool is_conditional(VarId axis) const {
        return std::ranges::any_of(kernel_.conditions.at_least_zero, [&](const AffineForm& form) {
            return form.coefficient(axis) != 0;
        });
    }
    /// The body with numbers for columns.
    [[nodiscard]] Value row_body() const {
        Substitution to;
        for (const Operand& operand : c().column_operands)
            to.replace(operand.term, make_number(operand.term->dtype, 0));
        return to(c().body);
    }
    [[nodiscard]] bool has_lane_conditions() const {
        return std::ranges::any_of(kernel_.conditions.at_least_zero, [&](const AffineForm& form) {
            return form.coefficient(c().lane.var) != 0;
        });
    }

    // Tiles.

    [[nodiscard]] std::int64_t lanes() const {
        return std::min(codegen::lanes(kernel_, target_), power_of_two_above(c().lane.extent));
    }
    /// The widest that columns fill, and half ones where these take half the time, which counts
    /// in long sums: results take as many more instructions.
    [[nodiscard]] std::vector<RowVectors> row_vectors() const {
        constexpr double least_depth = 16;
        const auto of = [&](std::int64_t lanes) {
            return RowVectors{lanes, is_half_vector(kernel_, lanes, target_), has_lane_conditions(),
                              has_fused_sums(kernel_, target_),
                              compares_fused_sums(kernel_, c(), target_)};
        };
        std::vector<RowVectors> all = {of(lanes())};
        const RowVectors half = of(lanes() / 2);
        if (half.is_half && !all[0].is_half && choice_.pairing == Pairing::none &&
            depth_ >= least_depth && !has_lane_conditions())
            all.push_back(half);
        return all;
    }
    /// Of AVX2 all are weighed, of AVX-512, where smaller ones are estimated less well, large ones.
    [[nodiscard]] std::vector<TileShape> tiles_along(const RowVectors& of_row) const {
        const auto& tiles = has_short_vectors(target_) ? all_tiles : large_tiles;
        return tiles(c(), choice_.row_axis.extent, of_row, target_);
    }
    [[nodiscard]] bool is_possible(Pairing pairing) const {
        if (pairing == Pairing::pairs)
            return lanes() >= least_paired_lanes && is_pair_product(kernel_, c(), target_);
        return lanes() >= 2 && conditions_allow(false);
    }
    /// The cost of a tile and its readings, if they are possible.
    [[nodiscard]] bool estimate() {
        const auto [known, is_new] = readable_.try_emplace({choice_.rows, choice_.columns});
        if (is_new) known->second = is_readable();
        if (!known->second || has_mixed_edge() || cost_.packed_elements() > most_packed)
            return false;
        choice_.tiles = cost_.row_tiles() * cost_.column_tiles() * points(c().batch);
        choice_.packing_cycles = cost_.packing();
        choice_.cycles = cost_.all();
        return true;
    }
    [[nodiscard]] bool has_row_edge() const {
        return choice_.row_axis.extent % choice_.tile.rows != 0;
    }
    /// Whether rows are left over of which some operand is packed and another one is not.
    [[nodiscard]] bool has_mixed_edge() const {
        return has_row_edge() && is_some_packed(choice_.rows) &&
               std::ranges::find(choice_.rows, Reading::in_place) != choice_.rows.end();
    }
    /// Which operands that can be read where they stand are.
    struct Stay {
        bool columns = false;
        bool rows = false;  ///< even where panels would be better
    };
    void choose_places(const Stay& stay) {
        // Where rows are read depends on where columns are.
        choice_.columns.clear();
        for (const Operand& operand : c().column_operands)
            choice_.columns.push_back(reading_of_columns(operand.term, stay.columns));
        choice_.rows.clear();
        for (const Operand& operand : c().row_operands)
            choice_.rows.push_back(stay.rows && may_rows_stay(operand.term)
                                       ? Reading::in_place
                                       : reading_of_rows(operand.term));
    }

    /// Reads operands so wherever they can be.
    void prefer(Reading rows, Reading columns) {
        choice_.rows.clear();
        for (const Operand& operand : c().row_operands)
            choice_.rows.push_back(may_rows_stay(operand.term) ? rows : Reading::packed);
        choice_.columns.clear();
        for (const Operand& operand : c().column_operands) {
            const bool is_possible = columns == Reading::packed || may_columns_stay(operand.term);
            choice_.columns.push_back(is_possible ? columns
                                                  : reading_of_columns(operand.term, true));
        }
    }

    [[nodiscard]] bool may_rows_stay(const Value& term) const {
        return std::holds_alternative<Load>(term->term) && may_all_rows_stay();
    }
    /// Where rows are left over, the last tile starts earlier, which panels and bounds do not.
    [[nodiscard]] bool may_all_rows_stay() const {
        if (!has_row_edge()) return true;
        return !is_conditional(choice_.row_axis.var) &&
               std::ranges::all_of(c().row_operands, [](const Operand& operand) {
                   return std::holds_alternative<Load>(operand.term->term);
               });
    }
    [[nodiscard]] bool may_columns_stay(const Value& term) const {
        const auto* load = std::get_if<Load>(&term->term);
        return load != nullptr && !load->at.computed &&
               load->at.affine.coefficient(c().lane.var) == 1;
    }

    /// Rows are read where they stand if few tiles of columns would read their panels, or if they
    /// share elements, as those of a convolution's weight gradient.
    [[nodiscard]] Reading reading_of_rows(const Value& term) const {
        // Of tiles that are one vector wide vectors are counted, not tiles.
        const std::int64_t few =
            has_half_units(target_) ? std::max<std::int64_t>(2, 4 / choice_.tile.vectors) : 2;
        if (!may_rows_stay(term)) return Reading::packed;
        const bool is_shared =
            cost_.is_overlapping(term, double(points(c().rows)) * depth_) && !is_scattered(term);
        return cost_.column_tiles() <= few || is_shared || stands_by_row(term) ? Reading::in_place
                                                                               : Reading::packed;
    }
    /// Whether rows stand as a panel would hold them: contiguous in the order in which the reduced
    /// points are walked, all or a long run of them, and in many sets of the caches.
    [[nodiscard]] bool stands_by_row(const Value& term) const {
        const auto& load = std::get<Load>(term->term);
        if (load.at.computed || has_lane_conditions() || cost_.crowd_columns(load)) return false;
        std::int64_t step = 1;
        for (std::size_t i = kernel_.reduced.size(); i-- > 0;) {
            if (load.at.affine.coefficient(kernel_.reduced[i].var) != step) {
                if (step < long_run) return false;
                break;
            }
            step *= kernel_.reduced[i].extent;
        }
        return is_spread(load, std::int64_t(size_bytes(term->dtype)),
                         {choice_.row_axis.var, choice_.tile.rows});
    }
    /// Whether the rows of a tile stand apart, each in lines of its own, and together with what is
    /// read between them in more than the second-level cache holds beside panels.
    [[nodiscard]] bool is_scattered(const Value& term) const {
        const Axis rows{choice_.row_axis.var, choice_.tile.rows};
        const double of_rows = lines_along(std::get<Load>(term->term), term->dtype, rows);
        return of_rows >= double(choice_.tile.rows) && of_rows > 1 &&
               4 * cost_.lines_of_rows(term) * double(line_bytes) > double(target_.l2_bytes);
    }
    /// Columns that share elements are always read where they stand; others if they may.
    [[nodiscard]] Reading reading_of_columns(const Value& term, bool may_stay) const {
        if (!std::holds_alternative<Load>(term->term)) return Reading::packed;
        if (may_columns_stay(term) &&
            (may_stay || cost_.is_overlapping(term, cost_.columns() * depth_)))
            return Reading::in_place;
        return has_lane_conditions() ? Reading::in_place : Reading::packed;
    }
    /// Where conditions exclude points, what is read at them all the same must be in bounds: panels
    /// hold all points, rows are read whatever the lanes, columns where their mask says.
    [[nodiscard]] bool is_readable() const {
        if (are_conditions_of_batch(kernel_, c())) return true;
        Substitution in_bounds;
        const auto replace = [&](const std::vector<Operand>& operands,
                                 const std::vector<Reading>& readings) {
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (readings[i] != Reading::packed)
                    in_bounds.replace(operands[i].term, make_number(operands[i].term->dtype, 0));
        };
        const auto& columns = c().column_operands;
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (has_lane_conditions() && (choice_.columns[i] == Reading::packed ||
                                          (choice_.columns[i] == Reading::in_place &&
                                           !is_contiguous(columns[i].term, c().lane.var))))
                return false;
        replace(columns, choice_.columns);
        if (!has_lane_conditions()) replace(c().row_operands, choice_.rows);
        return is_inside_everywhere(kernel_, without_guarded_reads(in_bounds(c().body)));
    }

    const Kernel& kernel_;
    double depth_;  ///< reduced points
    const Target& target_;
    ContractionChoice choice_;
    ContractionCycles cost_;  ///< of `choice_`, which stays where it is
    /// By readings of rows and columns: finding out takes longer than an estimate.
    std::map<std::pair<std::vector<Reading>, std::vector<Reading>>, bool> readable_;
};

/// Whether some operand has neighbours along the axis.
bool is_some_contiguous(const Kernel& kernel, VarId axis) {
    bool is_some = false;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        is_some |= load != nullptr && !load->at.computed && load->at.affine.coefficient(axis) == 1;
    });
    return is_some;
}

/// Cycles of an element that is written from a vector of pieces of rows. Masked stores of lines
/// that are in no cache take longer than whole ones; of elements that stand apart all are masked,
/// but of several pieces there are more: gradients of 3x3 convolutions, stride 2, of 256x8x28x28
/// take 1.43 ms so, 1.32 row by row (Zen 4).
double of_pieces(const Kernel& kernel, const Flattened& flattened, const Target& target) {
    constexpr double masked = 0.5;
    constexpr double of_piece = 0.3;
    const bool is_whole = std::ranges::any_of(kernel.writes, [&](const Store& write) {
        return write.at.affine.coefficient(flattened.inner.var) == 1;
    });
    if (is_whole) return masked;
    const std::int64_t lanes = codegen::lanes(kernel, target);
    if (flattened.pitch % lanes == 0) return 0;
    return std::min(masked, of_piece * double(lanes) / double(flattened.pitch));
}

/// Whether the terms that are evaluated apart are the same ones: then the rest of the body is, too,
/// but for the order of two factors or summands.
bool have_equal_operands(const Contraction& a, const Contraction& b) {
    const auto terms = [](const Contraction& contraction) {
        std::vector<const ValueNode*> all;
        for (const std::vector<Operand>* operands :
             {&contraction.row_operands, &contraction.column_operands, &contraction.held})
            for (const Operand& operand : *operands) all.push_back(operand.term.get());
        std::ranges::sort(all);
        return all;
    };
    return terms(a) == terms(b);
}

}  // namespace

std::optional<ContractionChoice> choose_contraction(const Kernel& kernel, const Target& target,
                                                    const std::optional<Axis>& lane) {
    if (points(kernel.free) == 0 || points(kernel.reduced) < 2) return std::nullopt;
    const double all = double(points(kernel.free)) * double(points(kernel.reduced));
    if (target.forced != Forced::tiles && all < least_points) return std::nullopt;
    std::optional<ContractionChoice> best;
    std::optional<Axis> usual;  // where lanes run when they are not told to
    const auto consider = [&](const Kernel& contracted, const std::optional<Axis>& along,
                              double more_cycles = 0) {
        std::optional<Contraction> found = find_contraction(contracted, LaneRule::cheapest, along);
        if (!found) return false;
        if (!along) usual = found->lane;
        std::optional<ContractionChoice> choice =
            Chooser(contracted, std::move(*found), target).run();
        if (!choice) return false;
        choice->cycles += more_cycles;
        // Ways that copy little are not counted as exactly, and are the better ones in doubt.
        if (along && !is_some_contiguous(contracted, along->var))
            choice->cycles += choice->packing_cycles;
        if (best && choice->cycles >= best->cycles) return false;
        best = std::move(choice);
        return true;
    };
    consider(kernel, lane);
    if (lane) return best;
    for (const Axis& axis : kernel.free)
        if (axis != usual) consider(kernel, axis);
    for (Flattened& flattened : flattenings(kernel)) {
        const double more = double(points(kernel.free)) * of_pieces(kernel, flattened, target);
        if (consider(flattened.kernel, flattened.flat, more))
            best->flattened = std::move(flattened);
    }
    return best;
}

std::vector<ContractionChoice> equal_choices(const Kernel& kernel, const ContractionChoice& usual,
                                             const Target& target,
                                             const std::optional<Axis>& lane) {
    std::vector<ContractionChoice> choices = {usual};
    const auto add = [&](Contraction contraction, const std::optional<Flattened>& flattened) {
        const Kernel& contracted = flattened ? flattened->kernel : kernel;
        for (ContractionChoice& each :
             Chooser(contracted, std::move(contraction), target).all(usual.pairing)) {
            each.flattened = flattened;
            choices.push_back(std::move(each));
        }
    };
    add(usual.contraction, usual.flattened);
    // Along another axis rows and columns may have changed places, and no more.
    if (!kernel.conditions.is_empty()) return choices;
    for (const std::optional<Axis>& other : {std::optional<Axis>(), lane}) {
        std::optional<Contraction> found = find_contraction(kernel, LaneRule::cheapest, other);
        if (found && found->lane != usual.contraction.lane &&
            have_equal_operands(*found, usual.contraction))
            add(std::move(*found), std::nullopt);
    }
    return choices;
}

}  // namespace ricci::codegen
