// codegen/gpu/pack_operands.cpp – operands laid out as tiles read them, before tiles read them
#include <algorithm>

#include "codegen/gpu/numbering.h"
#include "codegen/gpu/stage_operand.h"
#include "codegen/gpu/threads.h"
#include "codegen/gpu/tiled_contraction.h"

namespace ricci::codegen::gpu {

namespace {

// Issue slots of a warp for 32 elements, above those of vectors: each sector beyond those of
// neighbours takes its place in the first-level cache, names take some divisions.
constexpr double sector_slots = 1;
constexpr double neighbours = 8;  ///< sectors of 4-byte elements
constexpr double name_slots = 10;
constexpr double schedulers = 4;
constexpr double launch_cycles = 4000;
constexpr double memory_rate = 2400;  ///< bytes a cycle
/// A product of operands may have far more elements than all arrays of the program.
constexpr double most_bytes = 256 << 20;

class Packer {
  public:
    Packer(TiledContraction& tiled, const TileChoice& choice, PlanBuilder& builder)
        : kernel_(tiled.kernel), c_(tiled.contraction), choice_(choice), builder_(builder) {
        columns_ = c_.columns;
        columns_.push_back(c_.lane);
    }

    void run() {
        for (auto* operands : {&c_.row_operands, &c_.column_operands})
            for (Operand& operand : *operands)
                if (is_worth_it(operand)) replace(operand);
    }

  private:
    [[nodiscard]] const std::vector<Axis>& across(const Operand& operand) const {
        return operand.has_rows ? c_.rows : columns_;
    }
    /// The batch axes that the operand moves with, the reduced points, then rows or columns.
    [[nodiscard]] std::vector<Axis> axes(const Operand& operand) const {
        std::vector<Axis> result;
        for (const Axis& axis : c_.batch)
            if (depends_on(operand.term, axis.var)) result.push_back(axis);
        result.insert(result.end(), kernel_.reduced.begin(), kernel_.reduced.end());
        result.insert(result.end(), across(operand).begin(), across(operand).end());
        return result;
    }

    [[nodiscard]] bool is_worth_it(const Operand& operand) const {
        // Where conditions hold is for the tiles to find out.
        if (operand.has_rows ? c_.row_condition : c_.column_condition) return false;
        const TileConfig& tile = choice_.config;
        const std::vector<Axis> own = joined({operand.term}, across(operand));
        const std::vector<Axis> depth = joined({operand.term}, kernel_.reduced);
        const std::int64_t width = operand.has_rows ? tile.rows : tile.columns;
        const StageWay way =
            choose_way(kernel_.nest, {operand.term}, own, width, depth, tile.depth);
        const bool is_joint =
            std::ranges::count_if(depth, [](const Axis& axis) { return axis.extent != 1; }) <= 1;
        const bool stands_still = kernel_.reduced.back().extent % tile.depth == 0;
        const double words = double(size_bytes(operand.term->dtype)) / 4;
        const double slots = std::max(0.0, cost({operand.term}) - 1) +
                             sector_slots * std::max(0.0, way.sectors - neighbours * words) +
                             (is_joint || stands_still ? 0 : name_slots) / double(way.lanes);

        const double elements = double(points(axes(operand)));
        const std::int64_t others = operand.has_rows ? ceil_div(points(columns_), tile.columns)
                                                     : ceil_div(points(c_.rows), tile.rows);
        const double warps = elements * double(others) / warp;
        const double gain =
            warps * slots / (schedulers * double(builder_.target().gpu.multiprocessors));
        const double bytes = elements * double(size_bytes(operand.term->dtype));
        return bytes <= most_bytes && gain > 2 * (launch_cycles + 3 * bytes / memory_rate);
    }

    void replace(const Operand& operand) {
        const std::vector<Axis> order = axes(operand);
        const AffineForm place = row_major(order);
        Kernel pack;
        pack.nest = kernel_.nest;
        pack.nest.name += operand.has_rows ? "_rows" : "_columns";
        pack.places = kernel_.places;
        pack.next_let = kernel_.next_let;
        pack.free = order;
        const std::size_t temporary =
            builder_.temporary(pack.nest.name, operand.term->dtype, points(order));
        pack.writes = {Store{.buffer = pack.argument(builder_.plan(), temporary, true),
                             .at = {place},
                             .value = operand.term,
                             .combine = std::nullopt}};
        lower(std::move(pack), builder_, Splitting::done);

        const BufferId from = kernel_.argument(builder_.plan(), temporary, false);
        Substitution to;
        to.replace(operand.term, make_load(kernel_.nest, from, {place}));
        c_.body = to(c_.body);
        for (auto* operands : {&c_.row_operands, &c_.column_operands, &c_.held})
            for (Operand& other : *operands) other.term = to(other.term);
    }

    Kernel& kernel_;
    Contraction& c_;
    const TileChoice& choice_;
    PlanBuilder& builder_;
    std::vector<Axis> columns_;
};

}  // namespace

void pack_operands(TiledContraction& tiled, const TileChoice& choice, PlanBuilder& builder) {
    Packer(tiled, choice, builder).run();
}

}  // namespace ricci::codegen::gpu
