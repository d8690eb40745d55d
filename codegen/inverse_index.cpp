// codegen/inverse_index.cpp – points sorted by their keys, as equations
#include "codegen/inverse_index.h"

#include "base/integer.h"
#include "base/text.h"

namespace ricci::codegen {

namespace {

/// A pass costs each point a look at the keys of its chunk before it, and the counts are
/// radix/chunk as many as the points.
constexpr std::int64_t radix = 16;
constexpr std::int64_t chunk = 64;
/// Elements whose sum is one element of the next level of a running sum.
constexpr std::int64_t block = 64;

}  // namespace

int InverseIndices::passes(std::int64_t segments) {
    int passes = 0;
    for (std::int64_t rest = segments; rest > 0; rest /= radix) ++passes;
    return passes;
}

IndexId InverseIndices::point(std::int64_t points) {
    const auto found = points_.find(points);
    if (found != points_.end()) return found->second;
    return points_.emplace(points, make_.index("p", points)).first->second;
}

InverseIndex InverseIndices::invert(const std::string& name, Expr key, std::int64_t points,
                                    std::int64_t segments) {
    const auto known = known_.find({key->id, segments});
    if (known != known_.end()) return known->second;
    InverseIndex sorted{
        .points = points,
        .segments = segments,
        .order = {},
        .key = make_.array(name + "_key", EquationMaker::type_for(segments), {points}),
        .first = {}};
    make_.define(sorted.key, {point(points)}, key);
    std::int64_t weight = 1;
    for (int pass = 0; pass < passes(segments); ++pass, weight *= radix)
        sort(sorted, weight, pass == 0, name);
    find_first(sorted, name);
    known_.emplace(std::tuple(key->id, segments), sorted);
    return sorted;
}

void InverseIndices::sort(InverseIndex& sorted, std::int64_t weight, bool is_first,
                          const std::string& name) {
    const std::int64_t chunks = ceil_div(sorted.points, chunk);
    const DType number = EquationMaker::type_for(sorted.points);
    const auto digit = [&](Expr p) {
        return make_.remainder(make_.quotient(make_.element(sorted.key, {p}), weight), radix);
    };
    const auto in_chunk = [&](Expr of, IndexId e) {
        return make_.add(make_.times(of, chunk), make_.value(e));
    };
    const Expr one = make_.integer(1);

    const TensorId counts = make_.array(name + "_count", number, {radix * chunks});
    make_.program().tensors[position(counts)].is_partial = true;  // no zeros before
    const IndexId d = make_.index("d", radix);
    const IndexId c = make_.index("c", chunks);
    const IndexId e = make_.index("e", chunk);
    const Expr p = in_chunk(make_.value(c), e);
    const Expr exists = make_.compare(Op::lt, p, make_.integer(sorted.points));
    const Expr has_digit = make_.compare(Op::eq, digit(p), make_.value(d));
    make_.define(counts, {make_.add(make_.times(make_.value(d), chunks), make_.value(c))}, {d, c},
                 one, EquationMaker::sum(e, number, make_.both(exists, has_digit)));
    const TensorId before = sums_before(counts, radix * chunks, name);

    // How many of the chunk come before the point with its digit.
    const IndexId at = make_.index("p", sorted.points);
    const Expr own = make_.value(at);
    const IndexId other = make_.index("e", chunk);
    const Expr others = in_chunk(make_.quotient(own, chunk), other);
    const TensorId rank = make_.array(name + "_rank", number, {sorted.points});
    const Expr comes_before = make_.compare(Op::lt, others, own);
    const Expr same = make_.compare(Op::eq, digit(make_.min(others, own)), digit(own));
    make_.define(rank, {at}, one,
                 EquationMaker::sum(other, number, make_.both(comes_before, same)));

    const IndexId from = make_.index("p", sorted.points);
    const Expr point = make_.value(from);
    const Expr counted = make_.element(
        before, {make_.add(make_.times(digit(point), chunks), make_.quotient(point, chunk))});
    const TensorId place = make_.array(name + "_place", number, {sorted.points});
    make_.define(place, {from}, make_.add(counted, make_.element(rank, {point})));
    const auto permuted = [&](const std::string& what, DType dtype, auto value) {
        const TensorId result = make_.array(name + what, dtype, {sorted.points});
        make_.program().tensors[position(result)].is_partial = true;
        const IndexId i = make_.index("p", sorted.points);
        make_.define(result, {make_.element(place, {make_.value(i)})}, {i}, value(make_.value(i)));
        return result;
    };
    const TensorId order = permuted(
        "_order", number, [&](Expr i) { return is_first ? i : make_.element(sorted.order, {i}); });
    sorted.key = permuted("_key", EquationMaker::type_for(sorted.segments),
                          [&](Expr i) { return make_.element(sorted.key, {i}); });
    sorted.order = order;
}

TensorId InverseIndices::sums_before(TensorId counts, std::int64_t size, const std::string& name) {
    const DType number = make_.program().at(counts).dtype;
    std::vector<std::pair<TensorId, std::int64_t>> levels = {{counts, size}};
    while (levels.back().second > block) {
        const auto [below, length] = levels.back();
        const std::int64_t sums = ceil_div(length, block);
        const TensorId level = make_.array(name + "_sums", number, {sums});
        const IndexId u = make_.index("u", sums);
        const IndexId e = make_.index("e", block);
        const Expr at = make_.add(make_.times(make_.value(u), block), make_.value(e));
        make_.define(
            level, {u}, make_.element(below, {at}),
            EquationMaker::sum(e, number, make_.compare(Op::lt, at, make_.integer(length))));
        levels.emplace_back(level, sums);
    }
    std::optional<TensorId> above;
    for (; !levels.empty(); levels.pop_back()) {
        const auto [level, length] = levels.back();
        const TensorId inside = make_.array(name + "_inside", number, {length});
        const IndexId u = make_.index("u", length);
        const IndexId e = make_.index("e", std::min(block, length));
        const Expr own = make_.value(u);
        const Expr at = make_.add(make_.times(make_.quotient(own, block), block), make_.value(e));
        make_.define(inside, {u}, make_.element(level, {make_.min(at, own)}),
                     EquationMaker::sum(e, number, make_.compare(Op::lt, at, own)));
        if (!above) {
            above = inside;
            continue;
        }
        const TensorId total = make_.array(name + "_before", number, {length});
        const IndexId i = make_.index("u", length);
        const Expr x = make_.value(i);
        make_.define(total, {i},
                     make_.add(make_.element(*above, {make_.quotient(x, block)}),
                               make_.element(inside, {x})));
        above = total;
    }
    return *above;
}

/// A binary search without branches: `found` keys are known to be less.
void InverseIndices::find_first(InverseIndex& sorted, const std::string& name) {
    const std::int64_t points = sorted.points;
    const IndexId segment = make_.index("g", sorted.segments + 1);
    const Expr last = make_.integer(points - 1);
    Expr found = make_.integer(0);
    std::int64_t step = 1;
    while (step <= points / 2) step *= 2;
    for (; step > 0; step /= 2) {
        const Expr next = make_.add(found, make_.integer(step));
        const Expr exists = make_.compare(Op::le, next, make_.integer(points));
        const Expr at = make_.min(make_.add(next, make_.integer(-1)), last);
        const Expr is_less =
            make_.compare(Op::lt, make_.element(sorted.key, {at}), make_.value(segment));
        found = make_.choose(make_.both(exists, is_less), next, found);
    }
    sorted.first =
        make_.array(name + "_first", EquationMaker::type_for(points), {sorted.segments + 1});
    make_.define(sorted.first, {segment}, found);
}

}  // namespace ricci::codegen
