// codegen/segment_sums.cpp – values of points combined by the key of each, with an inverse index
#include "codegen/segment_sums.h"

#include "base/integer.h"

namespace ricci::codegen {

namespace {

constexpr std::int64_t fan = 16;
/// So many blocks of the last level are looked at one by one.
constexpr std::int64_t few_blocks = 4 * fan;

/// What is stored of every segment on a level: of its places those outside of whole blocks, `count`
/// of them from `begin` on, with `gap` places left out after the first `head`.
enum Edge : std::int8_t { begin, head, gap, count };

class SegmentSums {
  public:
    SegmentSums(EquationMaker& make, InverseIndices& indices, const KeyedValues& keyed)
        : make_(make), indices_(indices), keyed_(keyed) {}

    TensorId run() {
        Shape shape;
        for (const KeyedValues::Place& place : keyed_.places) shape.push_back(extent(place.index));
        for (const IndexId id : keyed_.row) shape.push_back(extent(id));
        std::int64_t points = 1;
        for (const IndexId id : keyed_.points) points *= extent(id);
        std::int64_t segments = 1;
        for (const KeyedValues::Place& place : keyed_.places) segments *= extent(place.index);
        const IndexId p = indices_.point(points);
        inverse_ = indices_.invert(keyed_.name, key_of(make_.value(p), segments), points, segments);
        return keyed_.reducer ? combined(shape) : last(shape);
    }

  private:
    std::int64_t extent(IndexId id) { return make_.program().at(id).extent(); }
    std::int64_t lower(IndexId id) { return make_.program().at(id).lower; }
    using Numbers = EquationMaker::Numbers;
    /// The values of indices that are numbered row by row.
    template <class Range, class Index>
    Numbers numbered(Expr number, const Range& range, Index index) {
        Numbers result;
        std::int64_t stride = 1;
        for (auto each = range.rbegin(); each != range.rend(); ++each) {
            const IndexId id = index(*each);
            Expr at = make_.quotient(number, stride);
            if (std::next(each) != range.rend()) at = make_.remainder(at, extent(id));
            result.emplace(std::uint32_t(id), make_.add(at, make_.integer(lower(id))));
            stride *= extent(id);
        }
        return result;
    }
    Numbers at_point(Expr point) {
        return numbered(point, keyed_.points, [](IndexId id) { return id; });
    }
    Numbers at_segment(Expr segment) {
        return numbered(segment, keyed_.places,
                        [](const KeyedValues::Place& place) { return place.index; });
    }
    /// The number of a point's segment; `segments` when the point does not count.
    Expr key_of(Expr point, std::int64_t segments) {
        const Numbers numbers = at_point(point);
        Expr valid = make_.with(keyed_.valid, numbers);
        Expr number = make_.integer(0);
        std::int64_t stride = segments;
        for (const KeyedValues::Place& place : keyed_.places) {
            const std::int64_t size = extent(place.index);
            const Expr low = make_.integer(lower(place.index));
            const Expr key = make_.with(place.key, numbers);
            valid = make_.both(valid, make_.is_value_of(place.index, key));
            stride /= size;
            number = make_.add(number, make_.times(make_.subtract(key, low), stride));
        }
        return make_.choose(valid, number, make_.integer(segments));
    }

    /// The number of the segment that the free indices name.
    Expr segment() {
        Expr number = make_.integer(0);
        std::int64_t stride = inverse_.segments;
        for (const KeyedValues::Place& place : keyed_.places) {
            stride /= extent(place.index);
            number = make_.add(number, make_.times(make_.offset(place.index), stride));
        }
        return number;
    }
    std::vector<IndexId> free() const {
        std::vector<IndexId> result;
        for (const KeyedValues::Place& place : keyed_.places) result.push_back(place.index);
        result.insert(result.end(), keyed_.row.begin(), keyed_.row.end());
        return result;
    }
    Expr value_at(Expr place) {
        const Expr last_place = make_.integer(inverse_.points - 1);
        return make_.with(keyed_.value,
                          at_point(make_.element(inverse_.order, {make_.min(place, last_place)})));
    }

    TensorId last(const Shape& shape) {
        const TensorId total = make_.array(keyed_.name, keyed_.value->dtype, shape);
        make_.program().tensors[position(total)].is_partial = true;
        const Expr after = make_.element(inverse_.first, {make_.add(segment(), make_.integer(1))});
        const Expr place = make_.max(make_.add(after, make_.integer(-1)), make_.integer(0));
        make_.define(total, make_.offsets(free()), free(), value_at(place));
        return total;
    }

    TensorId combined(const Shape& shape) {
        const std::vector<std::int64_t> lengths = level_lengths();
        std::optional<TensorId> level;
        std::optional<TensorId> total;
        std::optional<TensorId> edges;
        for (std::size_t l = 0; l < lengths.size(); ++l) {
            if (l == 1) level = blocks_of_points(lengths[1]);
            if (l > 1) level = blocks_of(*level, lengths[l - 1], lengths[l]);
            const bool is_top = l + 1 == lengths.size();
            edges = store_edges(edges, is_top);
            const IndexId e = make_.index("e", is_top ? lengths[l] : 2 * (fan - 1));
            const auto edge = [&](Edge which) { return edge_of(*edges, segment(), which); };
            Expr place = make_.add(edge(begin), make_.value(e));
            if (!is_top)
                place =
                    make_.add(place, make_.choose(make_.compare(Op::ge, make_.value(e), edge(head)),
                                                  edge(gap), make_.integer(0)));
            add_level(total, shape, e, make_.compare(Op::lt, make_.value(e), edge(count)),
                      level ? element_of(*level, make_.min(place, make_.integer(lengths[l] - 1)))
                            : value_at(place));
        }
        return *total;
    }

    std::vector<std::int64_t> level_lengths() const {
        std::vector<std::int64_t> lengths = {inverse_.points};
        while (lengths.back() > few_blocks) lengths.push_back(ceil_div(lengths.back(), fan));
        return lengths;
    }

    Expr edge_of(TensorId edges, Expr segment, Edge which) {
        return make_.element(edges, {segment, make_.integer(which)});
    }

    /// From those of the level below.
    TensorId store_edges(std::optional<TensorId> below, bool is_top) {
        const DType number = EquationMaker::type_for(inverse_.points);
        const TensorId edges = make_.array(keyed_.name + "_edges", number, {inverse_.segments, 4});
        const IndexId g = make_.index("g", inverse_.segments);
        const IndexId w = make_.index("w", 4);
        const Expr own = make_.value(g);
        Expr a = make_.element(inverse_.first, {own});
        Expr b = make_.element(inverse_.first, {make_.add(own, make_.integer(1))});
        if (below) {
            const Expr from = edge_of(*below, own, begin);
            const Expr to =
                make_.add(from, make_.add(edge_of(*below, own, count), edge_of(*below, own, gap)));
            a = blocks_from(from);
            b = make_.max(make_.quotient(to, fan), a);
        }
        Expr left_out = make_.integer(0);
        Expr before = make_.subtract(b, a);
        if (!is_top) {
            const Expr head_end = make_.min(make_.times(blocks_from(a), fan), b);
            const Expr tail = make_.max(head_end, make_.times(make_.quotient(b, fan), fan));
            before = make_.subtract(head_end, a);
            left_out = make_.subtract(tail, head_end);
        }
        const Expr outside = make_.subtract(make_.subtract(b, a), left_out);
        const auto choose = [&](Edge which, Expr value, Expr otherwise) {
            return make_.choose(make_.compare(Op::eq, make_.value(w), make_.integer(which)), value,
                                otherwise);
        };
        make_.define(edges, {g, w},
                     choose(begin, a, choose(head, before, choose(gap, left_out, outside))));
        return edges;
    }
    /// The first block that begins at the place or after it.
    Expr blocks_from(Expr place) {
        return make_.quotient(make_.add(place, make_.integer(fan - 1)), fan);
    }

    Expr element_of(TensorId level, Expr place) {
        std::vector<Expr> subscripts = make_.offsets(keyed_.row);
        subscripts.insert(subscripts.begin(), place);
        return make_.context().access(level, subscripts, keyed_.value->dtype);
    }

    Reduction reduction(IndexId over, Expr condition) const {
        return {.reducer = *keyed_.reducer,
                .indices = {over},
                .condition = condition,
                .accumulator = keyed_.value->dtype};
    }

    /// The first level defines the total, the others update it.
    void add_level(std::optional<TensorId>& total, const Shape& shape, IndexId e, Expr condition,
                   Expr value) {
        const TensorId now = make_.array(keyed_.name, value->dtype, shape);
        make_.program().tensors[position(now)].previous = total;
        make_.define(now, make_.offsets(free()), free(), value, reduction(e, condition));
        if (total) make_.program().equations.back().op = *update_of(*keyed_.reducer);
        total = now;
    }

    TensorId new_level(std::int64_t length) {
        Shape shape = {length};
        for (const IndexId id : keyed_.row) shape.push_back(extent(id));
        return make_.array(keyed_.name + "_blocks", keyed_.value->dtype, shape);
    }
    void define_level(TensorId level, IndexId c, IndexId e, Expr exists, Expr value) {
        std::vector<IndexId> free = keyed_.row;
        free.insert(free.begin(), c);
        make_.define(level, make_.offsets(free), free, value, reduction(e, exists));
    }

    TensorId blocks_of_points(std::int64_t length) {
        const TensorId level = new_level(length);
        const IndexId c = make_.index("c", length);
        const IndexId e = make_.index("e", fan);
        const Expr place = make_.add(make_.times(make_.value(c), fan), make_.value(e));
        const Expr last_place = make_.integer(inverse_.points - 1);
        const Expr key = make_.element(inverse_.key, {make_.min(place, last_place)});
        const Expr own_segment = make_.min(key, make_.integer(inverse_.segments - 1));
        define_level(level, c, e, make_.compare(Op::lt, place, make_.integer(inverse_.points)),
                     make_.with(value_at(place), at_segment(own_segment)));
        return level;
    }
    TensorId blocks_of(TensorId below, std::int64_t length_below, std::int64_t length) {
        const TensorId level = new_level(length);
        const IndexId c = make_.index("c", length);
        const IndexId e = make_.index("e", fan);
        const Expr place = make_.add(make_.times(make_.value(c), fan), make_.value(e));
        define_level(level, c, e, make_.compare(Op::lt, place, make_.integer(length_below)),
                     element_of(below, place));
        return level;
    }

    EquationMaker& make_;
    InverseIndices& indices_;
    const KeyedValues& keyed_;
    InverseIndex inverse_;
};

}  // namespace

std::optional<Assign> update_of(Reducer reducer) {
    if (reducer == Reducer::sum) return Assign::add;
    if (reducer == Reducer::prod) return Assign::mul;
    if (reducer == Reducer::max) return Assign::max;
    if (reducer == Reducer::min) return Assign::min;
    return std::nullopt;
}

TensorId sum_segments(EquationMaker& make, InverseIndices& indices, const KeyedValues& keyed) {
    return SegmentSums(make, indices, keyed).run();
}

int segment_levels(std::int64_t points) {
    int levels = 1;
    for (; points > few_blocks; points = ceil_div(points, fan)) ++levels;
    return levels;
}

}  // namespace ricci::codegen
