// codegen/gpu/spatial.cpp – the spatial dimensions of convolutions, from strides and conditions
#include "codegen/gpu/spatial.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

namespace {

using Direction = Convolution::Direction;

/// A place that two axes give: `a * first + b * second`, where an axis may be missing.
struct Place {
    std::optional<Axis> first;
    std::optional<Axis> second;
    std::int64_t a = 0;
    std::int64_t b = 0;
};

struct Interval {
    std::int64_t low = 0;
    std::int64_t high = 0;
};

Interval reach(const Place& place) {
    Interval found;
    const auto add = [&](const std::optional<Axis>& axis, std::int64_t factor) {
        if (axis) (factor < 0 ? found.low : found.high) += factor * (axis->extent - 1);
    };
    add(place.first, place.a);
    add(place.second, place.b);
    return found;
}

/// Takes the conditions on the place out of the relation: what they leave of its reach. Conditions
/// on its axes that are none on the place stay.
Interval take_bounds(Relation& relation, const Place& place) {
    Interval bounds = reach(place);
    std::erase_if(relation.at_least_zero, [&](const AffineForm& condition) {
        const auto coefficient = [&](const std::optional<Axis>& axis) {
            return axis ? condition.coefficient(axis->var) : 0;
        };
        const std::int64_t f = coefficient(place.first);
        const std::int64_t g = coefficient(place.second);
        const std::size_t own = std::size_t(f != 0) + std::size_t(g != 0);
        if (own == 0 || own != condition.terms.size()) return false;
        // The condition is `factor * place + constant >= 0`.
        const std::int64_t factor = place.a != 0 ? f / place.a : g / place.b;
        if (factor == 0 || factor * place.a != f || factor * place.b != g) return false;
        if (factor > 0)
            bounds.low = std::max(bounds.low, ceil_div(-condition.constant, factor));
        else
            bounds.high = std::min(bounds.high, floor_div(condition.constant, -factor));
        return true;
    });
    return bounds;
}

std::int64_t extent(const std::optional<Axis>& axis) { return axis ? axis->extent : 1; }
std::int64_t stride(const ArrayAt& array, const std::optional<Axis>& axis) {
    return axis ? array.at.coefficient(axis->var) : 0;
}

/// Lets an axis run such that the array walks it forwards.
void forwards(Relation& relation, const std::optional<Axis>& axis, const ArrayAt& array) {
    if (axis && array.at.coefficient(axis->var) < 0) relation.reverse(*axis);
}

/// Gives the filter's stride its sign back: a filter that is walked backwards is flipped, and
/// begins at its last place.
void flip_filter(Relation& relation, SpatialPart& part) {
    if (part.filter_stride >= 0) return;
    relation.w.at.constant += part.filter_stride * (part.dimension.filter - 1);
    part.filter_stride = -part.filter_stride;
    part.dimension.is_flipped = true;
}

/// x read or summed at `stride*output + dilation*filter`: the result is y or w.
std::optional<SpatialPart> inner_input(Relation& relation, const Pairing& pairing) {
    forwards(relation, pairing.output, relation.y);
    forwards(relation, pairing.filter, relation.x);
    const std::int64_t a = stride(relation.x, pairing.output);
    const std::int64_t b = stride(relation.x, pairing.filter);
    if (a < 0 || b < 0) return std::nullopt;
    const std::int64_t unit = std::gcd(a, b);
    const Place place{pairing.output, pairing.filter, a / unit, b / unit};
    const Interval bounds = take_bounds(relation, place);
    if (bounds.low > bounds.high) return std::nullopt;
    SpatialPart part{.dimension = {.input = bounds.high - bounds.low + 1,
                                   .filter = extent(pairing.filter),
                                   .output = extent(pairing.output),
                                   .stride = std::max<std::int64_t>(place.a, 1),
                                   .dilation = std::max<std::int64_t>(place.b, 1),
                                   .padding = bounds.low},
                     .input_stride = unit,
                     .filter_stride = stride(relation.w, pairing.filter),
                     .output_stride = stride(relation.y, pairing.output)};
    relation.x.at.constant += unit * bounds.low;
    flip_filter(relation, part);
    return part;
}

/// Whether the places of x reach as far as those of y and w do, and not much farther: what is left
/// over must be less than a stride.
bool covers_input(const Convolution::Spatial& dimension) {
    return dimension.padding >= 0 && dimension.padding_behind() > -dimension.stride;
}

/// y read at `input - dilation*filter`: the result is x, the stride 1.
std::optional<SpatialPart> inner_output(Relation& relation, const Pairing& pairing) {
    forwards(relation, pairing.input, relation.x);
    const std::int64_t unit = stride(relation.y, pairing.input);
    if (pairing.filter && stride(relation.y, pairing.filter) > 0) relation.reverse(*pairing.filter);
    const std::int64_t b = stride(relation.y, pairing.filter);
    if (unit <= 0 || b % unit != 0) return std::nullopt;
    const Place place{pairing.input, pairing.filter, 1, b / unit};
    const Interval bounds = take_bounds(relation, place);
    if (bounds.low > bounds.high) return std::nullopt;
    SpatialPart part{.dimension = {.input = extent(pairing.input),
                                   .filter = extent(pairing.filter),
                                   .output = bounds.high - bounds.low + 1,
                                   .stride = 1,
                                   .dilation = std::max<std::int64_t>(-place.b, 1),
                                   .padding = -bounds.low},
                     .input_stride = stride(relation.x, pairing.input),
                     .filter_stride = stride(relation.w, pairing.filter),
                     .output_stride = unit};
    if (!covers_input(part.dimension)) return std::nullopt;
    relation.y.at.constant += unit * bounds.low;
    flip_filter(relation, part);
    return part;
}

/// w read at `input - stride*output`, or at its mirror: the result is x, the dilation 1.
std::optional<SpatialPart> inner_filter(Relation& relation, const Pairing& pairing) {
    forwards(relation, pairing.input, relation.x);
    forwards(relation, pairing.output, relation.y);
    const std::int64_t unit = stride(relation.w, pairing.input);
    const std::int64_t b = stride(relation.w, pairing.output);
    if (unit == 0 || b % unit != 0 || b / unit > 0) return std::nullopt;
    const Place place{pairing.input, pairing.output, 1, b / unit};
    const Interval bounds = take_bounds(relation, place);
    if (bounds.low > bounds.high) return std::nullopt;
    SpatialPart part{.dimension = {.input = extent(pairing.input),
                                   .filter = bounds.high - bounds.low + 1,
                                   .output = extent(pairing.output),
                                   .stride = -place.b,
                                   .dilation = 1,
                                   .padding = -bounds.low},
                     .input_stride = stride(relation.x, pairing.input),
                     .filter_stride = unit,
                     .output_stride = stride(relation.y, pairing.output)};
    if (!covers_input(part.dimension)) return std::nullopt;
    relation.w.at.constant += unit * bounds.low;
    flip_filter(relation, part);
    return part;
}

/// Drops the conditions on the place that hold wherever `place + constant` lies in [0, input).
void drop_implied(Relation& relation, const Place& place, std::int64_t constant,
                  std::int64_t input) {
    const Interval whole = reach(place);
    std::vector<AffineForm> others;
    std::swap(others, relation.at_least_zero);
    for (AffineForm& condition : others) {
        relation.at_least_zero = {condition};
        const Interval bounds = take_bounds(relation, place);
        const bool is_implied = relation.at_least_zero.empty() &&
                                (bounds.low == whole.low || bounds.low + constant <= 0) &&
                                (bounds.high == whole.high || bounds.high + constant >= input - 1);
        if (is_implied) condition = form(0);
    }
    std::erase(others, form(0));
    relation.at_least_zero = std::move(others);
}

/// All three places are axes, tied by `input == stride*output + dilation*filter - padding`.
std::optional<SpatialPart> tied(Relation& relation, const Pairing& pairing) {
    // Axes are turned in a copy of the equation too.
    relation.equal_zero = {*pairing.equation};
    forwards(relation, pairing.input, relation.x);
    forwards(relation, pairing.output, relation.y);
    const auto factors = [&] {
        const AffineForm& equation = relation.equal_zero[0];
        const auto of = [&](const std::optional<Axis>& axis) {
            return axis ? equation.coefficient(axis->var) : 0;
        };
        // With the input on the other side.
        const std::int64_t sign = of(pairing.input) > 0 ? -1 : 1;
        return std::array{sign * of(pairing.input), sign * of(pairing.output),
                          sign * of(pairing.filter), sign * equation.constant};
    };
    if (factors()[2] < 0) relation.reverse(*pairing.filter);
    const auto [input, a, b, constant] = factors();
    if (input != -1 || a < 0 || b < 0) return std::nullopt;
    SpatialPart part{.dimension = {.input = extent(pairing.input),
                                   .filter = extent(pairing.filter),
                                   .output = extent(pairing.output),
                                   .stride = std::max<std::int64_t>(a, 1),
                                   .dilation = std::max<std::int64_t>(b, 1),
                                   .padding = -constant},
                     .input_stride = stride(relation.x, pairing.input),
                     .filter_stride = stride(relation.w, pairing.filter),
                     .output_stride = stride(relation.y, pairing.output)};
    if (!covers_input(part.dimension)) return std::nullopt;
    drop_implied(relation, {pairing.output, pairing.filter, a, b}, constant, part.dimension.input);
    flip_filter(relation, part);
    return part;
}

}  // namespace

void Relation::reverse(const Axis& axis) {
    Substitution turned;
    turned.replace(axis.var, form(axis.extent - 1) - form(axis.var));
    for (ArrayAt* array : {&x, &w, &y}) array->at = turned(array->at);
    if (bias) bias->at = turned(bias->at);
    for (AffineForm& condition : at_least_zero) condition = turned(condition);
    for (AffineForm& condition : equal_zero) condition = turned(condition);
}

std::vector<Relation> relations(const SumOfProducts& sum) {
    Relation common{.free = sum.free,
                    .reduced = sum.reduced,
                    .at_least_zero = sum.at_least_zero,
                    .equal_zero = sum.equal_zero};
    for (const Addend& addend : sum.addends) {
        if (addend.array == sum.result) {
            common.beta = addend.factor;
            continue;
        }
        if (common.bias || addend.factor != 1) return {};
        common.bias = addend.array;
    }
    std::vector<Relation> found;
    for (const auto& [first, second] :
         {std::pair{&sum.left, &sum.right}, std::pair{&sum.right, &sum.left}}) {
        const auto add = [&](Direction direction, const ArrayAt& x, const ArrayAt& w,
                             const ArrayAt& y) {
            Relation relation = common;
            relation.direction = direction;
            relation.x = x;
            relation.w = w;
            relation.y = y;
            found.push_back(std::move(relation));
        };
        add(Direction::forward, *first, *second, sum.result);
        if (common.bias) continue;
        add(Direction::filter_gradient, *first, sum.result, *second);
        add(Direction::input_gradient, sum.result, *first, *second);
    }
    return found;
}

std::optional<SpatialPart> spatial_part(Relation& relation, const Pairing& pairing) {
    if (pairing.equation) return tied(relation, pairing);
    if (!pairing.input) return inner_input(relation, pairing);
    return pairing.output ? inner_filter(relation, pairing) : inner_output(relation, pairing);
}

namespace {

/// Sees the places of x `factor` times as dense.
void refine(SpatialPart& part, std::int64_t factor) {
    Convolution::Spatial& dimension = part.dimension;
    part.input_stride /= factor;
    dimension.input = (dimension.input - 1) * factor + 1;
    dimension.padding *= factor;
    if (dimension.output > 1) dimension.stride *= factor;
    if (dimension.filter > 1) dimension.dilation *= factor;
}

/// The factor by which the part fits between what lies inside it, `inside` elements, and the next
/// stride outside; 1 when none does. A factor of 0 is wished: what makes it dense.
std::int64_t fitting(const SpatialPart& part, std::int64_t inside, std::int64_t outside,
                     std::int64_t wished) {
    const std::int64_t stride = part.input_stride;
    const auto fits = [&](std::int64_t factor) {
        return stride % factor == 0 && stride / factor >= inside &&
               stride * (part.dimension.input - 1) + stride / factor <= outside;
    };
    const std::int64_t dense = stride % inside == 0 ? stride / inside : 1;
    if (wished == 0) wished = dense;
    if (fits(wished)) return wished;
    if (fits(1)) return 1;
    if (fits(dense)) return dense;
    for (std::int64_t factor = 2; factor <= stride / inside; ++factor)
        if (fits(factor)) return factor;
    return 1;
}

}  // namespace

void fit_input(std::vector<SpatialPart>& parts, const std::vector<Stride>& others) {
    const bool all_single = std::ranges::all_of(
        parts, [](const SpatialPart& part) { return part.dimension.filter == 1; });
    std::vector<SpatialPart*> inside_out;
    for (SpatialPart& part : parts) inside_out.push_back(&part);
    std::ranges::stable_sort(inside_out, [](const SpatialPart* a, const SpatialPart* b) {
        return a->input_stride < b->input_stride;
    });
    std::int64_t wished = 1;  // what the dimension inside it has become
    for (std::size_t i = 0; i < inside_out.size(); ++i) {
        SpatialPart& part = *inside_out[i];
        std::int64_t inside = 1;
        std::int64_t outside = std::numeric_limits<std::int64_t>::max();
        const auto consider = [&](std::int64_t extent, std::int64_t stride) {
            if (extent > 1 && stride < part.input_stride)
                inside = std::max(inside, extent * stride);
            if (extent > 1 && stride > part.input_stride) outside = std::min(outside, stride);
        };
        for (const Stride& other : others) consider(other.extent, other.stride);
        for (const SpatialPart& other : parts) consider(other.dimension.input, other.input_stride);
        // Where channels are innermost, what lies between may be other channels.
        if (i == 0) wished = inside == 1 || all_single ? 0 : 1;
        wished = fitting(part, inside, outside, wished);
        refine(part, wished);
    }
}

}  // namespace ricci::codegen::gpu
