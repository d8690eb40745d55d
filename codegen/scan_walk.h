// codegen/scan_walk.h – reductions up to each point, as a walk over the points
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "codegen/kernel.h"
#include "codegen/nest.h"
#include "dsl/work.h"

namespace ricci::codegen {

/// Points q are met one after the other, and place p is written once all q <= p + shift are in.
struct ScanWalk {
    Axis results;  ///< p counts from its first point on, or from its last one back
    Axis points;   ///< q likewise
    bool has_results_backwards = false;
    bool has_points_backwards = false;
    std::int64_t shift = 0;
    Value value = nullptr;  ///< of a point, which some result takes
    Value test = nullptr;   ///< which points count, for all results alike

    [[nodiscard]] AffineForm result_at(const AffineForm& p) const {
        return has_results_backwards ? form(results.extent - 1) - p : p;
    }
    [[nodiscard]] AffineForm point_at(const AffineForm& q) const {
        return has_points_backwards ? form(points.extent - 1) - q : q;
    }
    /// The first result of which some point counts, and the one past the last that has a point of
    /// its own.
    [[nodiscard]] std::int64_t first() const { return std::clamp(-shift, std::int64_t(0), end()); }
    [[nodiscard]] std::int64_t end() const {
        return std::clamp(points.extent - shift, std::int64_t(0), results.extent);
    }
    /// Points that some result takes.
    [[nodiscard]] std::int64_t taken() const {
        return std::clamp(results.extent + shift, std::int64_t(0), points.extent);
    }
    /// Points before the own one of the first result.
    [[nodiscard]] std::int64_t points_before() const {
        return std::clamp(shift, std::int64_t(0), points.extent);
    }
};

/// Of fewer results or points sums up to each one are left to masked lanes.
inline constexpr std::int64_t least_walked = 16;

/// The walk of a kernel, if it is one of at least so many results and points: a condition relates
/// its one reduced axis to a free one, one for one, and nothing else of a point depends on that.
[[nodiscard]] std::optional<ScanWalk> find_walk(const Kernel& kernel, std::int64_t least);

/// Each point is met once, and each result written.
[[nodiscard]] Work work_of(const Kernel& kernel, const ScanWalk& walk);

/// The walk of a kernel that has one, for the row that the other free axes name, point by point
/// (codegen/lower_scan.cpp). Only these axes are left free.
[[nodiscard]] Body walk_row(Kernel& kernel);

}  // namespace ricci::codegen
