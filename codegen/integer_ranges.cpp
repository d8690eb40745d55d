// codegen/integer_ranges.cpp – what integer terms can be, by the types and constants they are made
// of
#include "codegen/integer_ranges.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/match.h"

namespace ricci::codegen {

namespace {

std::optional<IndexRange> joined(Op op, const IndexRange& a, const IndexRange& b) {
    if (op == Op::select) return IndexRange{std::min(a.low, b.low), std::max(a.high, b.high)};
    if (op == Op::add) return known({a.low + b.low, a.high + b.high});
    if (op == Op::mul) {
        const auto ends = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
        return known({std::min(ends), std::max(ends)});
    }
    if (op == Op::min) return IndexRange{std::min(a.low, b.low), std::min(a.high, b.high)};
    if (op == Op::max) return IndexRange{std::max(a.low, b.low), std::max(a.high, b.high)};
    if (b.low <= 0) return std::nullopt;
    if (op == Op::mod) return IndexRange{0, b.high - 1};
    // Of a quotient: no larger than the dividend, on its side of 0.
    return IndexRange{std::min<std::int64_t>(a.low, 0), std::max<std::int64_t>(a.high, 0)};
}

/// The values that a number of a type has which is computed from values of a range: it wraps.
std::optional<IndexRange> wrapped(const std::optional<IndexRange>& range, DType dtype) {
    if (dtype == DType::i64) return range;
    if (dtype == DType::u64) return range && range->low >= 0 ? range : std::nullopt;
    return is_within(range, dtype) ? range : range_of(dtype);
}

}  // namespace

std::optional<IndexRange> range_of(DType dtype) {
    if (dtype == DType::boolean) return IndexRange{0, 1};
    if (dtype == DType::i8) return IndexRange{-128, 127};
    if (dtype == DType::u8) return IndexRange{0, 255};
    if (dtype == DType::i16) return IndexRange{-32'768, 32'767};
    if (dtype == DType::u16) return IndexRange{0, 65'535};
    if (dtype == DType::i32)
        return IndexRange{std::numeric_limits<std::int32_t>::min(),
                          std::numeric_limits<std::int32_t>::max()};
    return std::nullopt;
}

bool is_within(const std::optional<IndexRange>& range, DType dtype) {
    const std::optional<IndexRange> all = range_of(dtype);
    return range && all && range->low >= all->low && range->high <= all->high;
}

std::optional<IndexRange> known(IndexRange range) {
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    if (range.low < -limit || range.high > limit) return std::nullopt;
    return range;
}

bool has_narrow_form(Op op) {
    constexpr std::array ops = {Op::select, Op::add, Op::neg, Op::mul,
                                Op::min,    Op::max, Op::mod, Op::floordiv};
    return std::ranges::find(ops, op) != ops.end();
}

std::optional<IndexRange> range_of(
    const Operate& operate, DType dtype,
    const std::function<std::optional<IndexRange>(const Value&)>& of) {
    if (!has_narrow_form(operate.op)) return range_of(dtype);
    std::optional<IndexRange> all;
    for (std::size_t n = operate.op == Op::select ? 1 : 0; n < operate.args.size(); ++n) {
        const std::optional<IndexRange> range = of(operate.args[n]);
        if (!range) return range_of(dtype);
        all = all ? joined(operate.op, *all, *range) : range;
        if (!all) return range_of(dtype);
    }
    if (operate.op == Op::neg && all) all = known({-all->high, -all->low});
    return wrapped(all, dtype);
}

std::optional<IndexRange> range_of(const Constant& constant, DType dtype) {
    return wrapped(known({constant.integer, constant.integer}), dtype);
}

std::optional<IndexRange> range_of(const Convert& convert, DType dtype,
                                   const std::optional<IndexRange>& operand) {
    if (!is_integer(convert.a->dtype) && convert.a->dtype != DType::boolean) return range_of(dtype);
    return wrapped(operand, dtype);
}

std::optional<IndexRange> TermRanges::of(const Value& value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const std::optional<IndexRange> range = match(
        value->term, [&](const Constant& constant) { return range_of(constant, value->dtype); },
        [&](const Operate& operate) {
            return range_of(operate, value->dtype, [&](const Value& arg) { return of(arg); });
        },
        [&](const Convert& convert) { return range_of(convert, value->dtype, of(convert.a)); },
        [&](const auto&) { return range_of(value->dtype); });
    known_.emplace(value, range);
    return range;
}

}  // namespace ricci::codegen
