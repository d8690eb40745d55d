// codegen/gpu/recognise_convolution.cpp – sums of products as convolutions
//
// The three arrays of a sum of products may be the input x, the filter w and the output y of a
// convolution in six ways; one of them is the result, which gives the direction. For each way the
// axes are told by the arrays that they move:
//
//   n  x and y      g  all three      c  x and w      o  w and y
//
// and spatial dimensions are relations x = stride*y + dilation*w - padding between three places, of
// which an axis each gives two and the relation the third: a pair of a free and a reduced axis.
// Conditions bound the third place. Or all three places are axes, tied by an equation:
//
//   result y or w   x at both axes of the pair (y and w have one each)
//   result x        y at both (w has the reduced one), or w at both, or an equation
//
// Axes that are no spatial dimension must join to one each of n, g, c, o. All ways and pairings are
// tried; the one that is nearest to what libraries do best is taken.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include "codegen/gpu/recognise.h"
#include "codegen/gpu/spatial.h"

namespace ricci::codegen::gpu {

namespace {

using Direction = Convolution::Direction;

/// Below these a call is all overhead, or the arrays are too thin; not measured.
constexpr double least_operations = 4e6;
constexpr std::int64_t least_channels = 8;
constexpr std::size_t most_dimensions = 3;
constexpr std::int64_t greatest_extent = (std::int64_t(1) << 31) - 1;

/// Slots of a Walk.
enum Slot : std::size_t { x, w, y, bias };

/// Extents of an operand's dimensions, in the order of its strides.
std::vector<std::int64_t> extents(const Convolution& c, Slot slot) {
    std::vector<std::int64_t> found;
    if (slot == x) found = {c.batch, c.groups, c.in_channels};
    if (slot == w) found = {c.groups, c.out_channels, c.in_channels};
    if (slot == y) found = {c.batch, c.groups, c.out_channels};
    for (const Convolution::Spatial& dimension : c.spatial)
        found.push_back(slot == x   ? dimension.input
                        : slot == w ? dimension.filter
                                    : dimension.output);
    return found;
}

/// Whether the operand's dimensions are nested, each longer than what lies inside it, and whether
/// all of it lies in an array of so many elements: conditions may have left parts of it unread.
bool is_sound(const std::vector<std::int64_t>& lengths, const Convolution::Operand& operand,
              std::int64_t elements) {
    std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
    std::int64_t last = operand.offset;
    for (std::size_t d = 0; d < lengths.size(); ++d) {
        if (lengths[d] < 1 || lengths[d] > greatest_extent) return false;
        if (lengths[d] > 1) dimensions.emplace_back(operand.strides[d], lengths[d]);
        last += operand.strides[d] * (lengths[d] - 1);
    }
    std::ranges::sort(dimensions);
    std::int64_t inside = 1;
    for (const auto& [stride, length] : dimensions) {
        if (stride < inside) return false;
        inside = stride * length;
    }
    return operand.offset >= 0 && last < elements;
}

/// Whether the array has no smaller strides outside, and is contiguous inside, with its dimensions
/// in that order.
bool is_nested(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& strides,
               const std::vector<std::size_t>& order) {
    std::int64_t inner = 0;
    for (std::size_t d = order.size(); d-- > 0;) {
        if (lengths[order[d]] == 1) continue;
        if (inner == 0 ? strides[order[d]] != 1 : strides[order[d]] < inner) return false;
        inner = strides[order[d]];
    }
    return true;
}

/// Whether all three arrays have their channels outside the spatial dimensions, or all inside:
/// what libraries have fast ways for.
bool is_usual(const Convolution& c) {
    std::vector<std::size_t> outside = {0, 1, 2};
    std::vector<std::size_t> inside = {0};
    std::vector<std::size_t> filter_inside = {0, 1};
    for (std::size_t d = 0; d < c.spatial.size(); ++d) {
        outside.push_back(3 + d);
        inside.push_back(3 + d);
        filter_inside.push_back(3 + d);
    }
    inside.insert(inside.end(), {1, 2});
    filter_inside.push_back(2);
    const auto all = [&](const std::vector<std::size_t>& order,
                         const std::vector<std::size_t>& filter_order) {
        return is_nested(extents(c, x), c.input.strides, order) &&
               is_nested(extents(c, w), c.filter.strides, filter_order) &&
               is_nested(extents(c, y), c.output.strides, order);
    };
    return all(outside, outside) || all(inside, filter_inside);
}

/// One way to see a sum as a convolution: smaller is better.
using Rank = std::tuple<bool, bool, double, std::size_t, std::int64_t, Direction>;

struct Candidate {
    Convolution convolution;
    Rank rank;
};

/// Tries the pairings of one assignment of roles.
class Matcher {
  public:
    Matcher(const SumOfProducts& sum, Relation relation) : sum_(sum), start_(std::move(relation)) {}

    std::optional<Candidate> find() {
        if (!find_equations()) return std::nullopt;
        pair_from(0);
        return std::move(best_);
    }

  private:
    /// The arrays that an axis moves, as bits.
    [[nodiscard]] unsigned moved(const Axis& axis) const {
        return unsigned(start_.x.at.coefficient(axis.var) != 0) |
               unsigned(start_.w.at.coefficient(axis.var) != 0) << 1U |
               unsigned(start_.y.at.coefficient(axis.var) != 0) << 2U;
    }
    static constexpr unsigned in_x = 1;
    static constexpr unsigned in_w = 2;
    static constexpr unsigned in_y = 4;

    [[nodiscard]] bool is_free(const Axis& axis) const {
        return std::ranges::find(start_.free, axis) != start_.free.end();
    }

    /// The dimensions that are equations: each of one axis of x alone and one each of y and w, or
    /// of one of these.
    bool find_equations() {
        for (const AffineForm& equation : start_.equal_zero) {
            if (start_.direction != Direction::input_gradient) return false;
            const std::optional<Pairing> dimension = pairing_of(equation);
            if (!dimension) return false;
            pairings_.push_back(*dimension);
        }
        return true;
    }
    [[nodiscard]] std::optional<Pairing> pairing_of(const AffineForm& equation) const {
        Pairing dimension{.equation = equation};
        for (const std::vector<Axis>* axes : {&start_.free, &start_.reduced}) {
            for (const Axis& axis : *axes) {
                if (equation.coefficient(axis.var) == 0) continue;
                const unsigned arrays = moved(axis);
                std::optional<Axis>* slot = arrays == in_x   ? &dimension.input
                                            : arrays == in_y ? &dimension.output
                                            : arrays == in_w ? &dimension.filter
                                                             : nullptr;
                if (slot == nullptr || *slot || is_taken(axis)) return std::nullopt;
                *slot = axis;
            }
        }
        if (!dimension.input || !is_free(*dimension.input)) return std::nullopt;
        return dimension;
    }

    [[nodiscard]] bool is_taken(const Axis& axis) const {
        return std::ranges::any_of(pairings_, [&](const Pairing& dimension) {
            return dimension.input == axis || dimension.filter == axis || dimension.output == axis;
        });
    }

    /// The pair of a free and a reduced axis as a dimension, if their arrays allow it.
    [[nodiscard]] std::optional<Pairing> pair(const Axis& free, const Axis& reduced) const {
        const unsigned a = moved(free);
        const unsigned b = moved(reduced);
        switch (start_.direction) {
            case Direction::forward:
                if (a != (in_x | in_y) || b != (in_x | in_w)) return std::nullopt;
                return Pairing{.filter = reduced, .output = free};
            case Direction::filter_gradient:
                if (a != (in_x | in_w) || b != (in_x | in_y)) return std::nullopt;
                return Pairing{.filter = free, .output = reduced};
            case Direction::input_gradient:
                if (b != (in_w | in_y)) return std::nullopt;
                if (a == (in_x | in_y)) return Pairing{.input = free, .filter = reduced};
                if (a == (in_x | in_w)) return Pairing{.input = free, .output = reduced};
                return std::nullopt;
        }
        return std::nullopt;
    }
    /// A dimension in which the filter has one point.
    [[nodiscard]] std::optional<Pairing> alone(const Axis& axis) const {
        if (moved(axis) != (in_x | in_y)) return std::nullopt;
        if (start_.direction == Direction::input_gradient) return Pairing{.input = axis};
        return Pairing{.output = axis};
    }
    /// A dimension in which the output has one point: only beside others, since it is depth.
    [[nodiscard]] std::optional<Pairing> whole(const Axis& axis) const {
        if (start_.direction != Direction::forward || moved(axis) != (in_x | in_w))
            return std::nullopt;
        return Pairing{.filter = axis};
    }

    void attempt(const std::optional<Pairing>& dimension, std::size_t next) {
        if (!dimension || pairings_.size() == most_dimensions) return;
        pairings_.push_back(*dimension);
        pair_from(next);
        pairings_.pop_back();
    }
    /// Tries everything for the axes from `at` on: the free ones, then the reduced ones left.
    void pair_from(std::size_t at) {
        const std::size_t free_count = start_.free.size();
        if (at == free_count + start_.reduced.size()) {
            consider();
            return;
        }
        pair_from(at + 1);
        const Axis& axis = at < free_count ? start_.free[at] : start_.reduced[at - free_count];
        if (is_taken(axis)) return;
        if (at >= free_count) {
            if (start_.direction == Direction::filter_gradient) attempt(alone(axis), at + 1);
            if (!pairings_.empty()) attempt(whole(axis), at + 1);
            return;
        }
        if (start_.direction != Direction::filter_gradient) attempt(alone(axis), at + 1);
        for (const Axis& reduced : start_.reduced)
            if (!is_taken(reduced)) attempt(pair(axis, reduced), at + 1);
    }

    void consider() {
        if (pairings_.empty()) return;
        std::optional<Convolution> found = build();
        if (!found) return;
        double filter = 1;
        std::int64_t paddings = 0;
        bool is_flipped = false;
        for (const Convolution::Spatial& dimension : found->spatial) {
            filter *= double(dimension.filter);
            paddings += dimension.padding;
            is_flipped |= dimension.is_flipped;
        }
        const Rank rank{!is_usual(*found),     is_flipped, filter,
                        found->spatial.size(), paddings,   found->direction};
        if (!best_ || rank < best_->rank) best_ = Candidate{std::move(*found), rank};
    }

    std::optional<Convolution> build() {
        Relation relation = start_;
        Convolution c{.direction = relation.direction,
                      .dtype = sum_.dtype,
                      .alpha = sum_.alpha,
                      .activation = sum_.activation};
        if (!add_channels(relation, c)) return std::nullopt;
        std::vector<SpatialPart> parts;
        for (const Pairing& dimension : pairings_) {
            std::optional<SpatialPart> part = spatial_part(relation, dimension);
            if (!part) return std::nullopt;
            parts.push_back(*part);
        }
        if (!relation.at_least_zero.empty()) return std::nullopt;
        add_spatial(parts, c);
        c.input.place = relation.x.place;
        c.filter.place = relation.w.place;
        c.output.place = relation.y.place;
        c.input.offset = relation.x.at.constant;
        c.filter.offset = relation.w.at.constant;
        c.output.offset = relation.y.at.constant;
        if (relation.bias) c.bias->offset = relation.bias->at.constant;
        if (!is_sound(extents(c, x), c.input, relation.x.elements) ||
            !is_sound(extents(c, w), c.filter, relation.w.elements) ||
            !is_sound(extents(c, y), c.output, relation.y.elements))
            return std::nullopt;
        return c;
    }

    /// Whether the arrays of a pair of bits move with the axis that is no spatial dimension.
    bool add_channels(Relation& relation, Convolution& c) {
        std::array<std::vector<Walk>, 8> kinds;
        for (const std::vector<Axis>& axes : {relation.free, relation.reduced}) {
            for (const Axis& axis : axes) {
                if (is_taken(axis)) continue;
                Walk found = walk(relation, axis);
                const auto* const first = std::ranges::find_if(
                    found.strides, [](std::int64_t stride) { return stride != 0; });
                if (first != found.strides.end() && *first < 0) {
                    relation.reverse(axis);
                    found = walk(relation, axis);
                }
                if (std::ranges::any_of(found.strides,
                                        [](std::int64_t stride) { return stride < 0; }))
                    return false;
                if (!may_be_channel(moved(axis), is_free(axis))) return false;
                kinds[moved(axis)].push_back(found);
            }
        }
        const auto one = [&](unsigned arrays, std::size_t by) -> std::optional<Walk> {
            const std::vector<Walk> walks = joined(kinds[arrays], by);
            if (walks.size() > 1) return std::nullopt;
            return walks.empty() ? Walk{} : walks[0];
        };
        const std::optional<Walk> n = one(in_x | in_y, y);
        const std::optional<Walk> g = one(in_x | in_w | in_y, y);
        const std::optional<Walk> in = one(in_x | in_w, x);
        const std::optional<Walk> out = one(in_w | in_y, y);
        if (!n || !g || !in || !out) return false;
        c.batch = n->extent;
        c.groups = g->extent;
        c.in_channels = in->extent;
        c.out_channels = out->extent;
        c.input.strides = {n->strides[x], g->strides[x], in->strides[x]};
        c.filter.strides = {g->strides[w], out->strides[w], in->strides[w]};
        c.output.strides = {n->strides[y], g->strides[y], out->strides[y]};
        return add_bias(relation, *n, *g, *out, c);
    }
    [[nodiscard]] bool may_be_channel(unsigned arrays, bool free) const {
        const unsigned result = start_.direction == Direction::forward           ? in_y
                                : start_.direction == Direction::filter_gradient ? in_w
                                                                                 : in_x;
        const bool is_kind = arrays == (in_x | in_y) || arrays == (in_x | in_w) ||
                             arrays == (in_w | in_y) || arrays == (in_x | in_w | in_y);
        return is_kind && free == ((arrays & result) != 0);
    }
    static Walk walk(const Relation& relation, const Axis& axis) {
        Walk found{.extent = axis.extent, .strides = {}};
        found.strides[x] = relation.x.at.coefficient(axis.var);
        found.strides[w] = relation.w.at.coefficient(axis.var);
        found.strides[y] = relation.y.at.coefficient(axis.var);
        if (relation.bias) found.strides[bias] = relation.bias->at.coefficient(axis.var);
        return found;
    }
    bool add_bias(const Relation& relation, const Walk& n, const Walk& g, const Walk& out,
                  Convolution& c) {
        c.beta = relation.beta;
        if (!relation.bias) return true;
        if (n.strides[bias] != 0) return false;
        for (const Pairing& dimension : pairings_)
            for (const std::optional<Axis>& axis : {dimension.input, dimension.output})
                if (axis && relation.bias->at.coefficient(axis->var) != 0) return false;
        if ((g.extent > 1 && g.strides[bias] == 0) || (out.extent > 1 && out.strides[bias] == 0))
            return false;
        c.bias = Convolution::Bias{.place = relation.bias->place,
                                   .group_stride = g.strides[bias],
                                   .channel_stride = out.strides[bias]};
        return true;
    }

    /// Outermost dimension first.
    static void add_spatial(std::vector<SpatialPart>& parts, Convolution& c) {
        // The elements between are not the result's to write.
        if (c.direction != Direction::input_gradient)
            fit_input(parts, {{c.batch, c.input.strides[0]},
                              {c.groups, c.input.strides[1]},
                              {c.in_channels, c.input.strides[2]}});
        std::ranges::stable_sort(parts, [](const SpatialPart& a, const SpatialPart& b) {
            return a.input_stride > b.input_stride;
        });
        for (const SpatialPart& part : parts) {
            c.spatial.push_back(part.dimension);
            c.input.strides.push_back(part.input_stride);
            c.filter.strides.push_back(part.filter_stride);
            c.output.strides.push_back(part.output_stride);
        }
    }

    const SumOfProducts& sum_;
    const Relation start_;
    std::vector<Pairing> pairings_;
    std::optional<Candidate> best_;
};

/// Whether cuDNN is faster than generated kernels. On an H200 the ways of cuDNN 9.14 that f32 and
/// the order of sums leave (no TF32, no FFT, no large Winograd transform) are as fast for two of
/// the convolutions of bench/gpu_workloads.cpp, 1.1 times faster for a 7x7 of three channels, and
/// slower, up to 3.8 times, for the others; but in gradients of strided inputs generated kernels
/// pass over the zeros between what is read: 7.5 and 0.41 ms.
bool is_worthwhile(const Convolution& c) {
    const bool is_strided = std::ranges::any_of(
        c.spatial, [](const Convolution::Spatial& dimension) { return dimension.stride > 1; });
    if (c.direction != Direction::input_gradient || !is_strided) return false;
    double operations =
        2.0 * double(c.batch) * double(c.groups) * double(c.in_channels) * double(c.out_channels);
    for (const Convolution::Spatial& dimension : c.spatial)
        operations *= double(dimension.output) * double(dimension.filter);
    const bool is_deep = c.groups == 1 ? c.out_channels >= least_channels
                                       : std::min(c.in_channels, c.out_channels) >= least_channels;
    return operations >= least_operations && is_deep && is_usual(c);
}

}  // namespace

std::optional<LibraryCall> as_convolution(const SumOfProducts& sum) {
    std::optional<Candidate> best;
    for (const Relation& relation : relations(sum)) {
        std::optional<Candidate> found = Matcher(sum, relation).find();
        if (found && (!best || found->rank < best->rank)) best = std::move(found);
    }
    if (!best) return std::nullopt;
    const bool is_faster = is_worthwhile(best->convolution);
    return LibraryCall{.call = std::move(best->convolution), .is_worthwhile = is_faster};
}

}  // namespace ricci::codegen::gpu
