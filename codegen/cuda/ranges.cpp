// codegen/cuda/ranges.cpp – which values the variables of a nest can have
#include "codegen/cuda/ranges.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/integer.h"

namespace ricci::codegen::cuda {

namespace {

__extension__ using Large = __int128;
constexpr std::int64_t end = std::int64_t{1} << 62;
constexpr std::int64_t int_high = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t int_low = std::numeric_limits<std::int32_t>::min();

std::int64_t clamped(Large value) {
    return static_cast<std::int64_t>(std::clamp<Large>(value, -end, end));
}
}  // namespace

bool Range::is_narrow() const noexcept { return low >= int_low && high <= int_high; }

Ranges::Ranges(const Nest& nest) : vars_(nest.vars.size()) { visit(nest.body); }

Range Ranges::of(const AffineForm& form) const {
    Large low = form.constant;
    Large high = form.constant;
    std::int64_t multiple = form.constant;
    for (const auto& [var, coefficient] : form.terms) {
        const Range& range = at(var);
        low += Large{coefficient} * (coefficient > 0 ? range.low : range.high);
        high += Large{coefficient} * (coefficient > 0 ? range.high : range.low);
        const Large step = Large{coefficient} * range.multiple;
        multiple = std::gcd(multiple, clamped(step) == step ? clamped(step) : 1);
    }
    return {clamped(low), clamped(high), multiple};
}

Range Ranges::of(const BoundTerm& term, bool is_lower) const {
    const Range range = of(term.form);
    if (term.divisor == 1) return range;
    const auto divide = is_lower ? ceil_div : floor_div;
    const bool is_exact = range.multiple % term.divisor == 0;
    return {divide(range.low, term.divisor), divide(range.high, term.divisor),
            is_exact ? range.multiple / term.divisor : 1};
}

Range Ranges::of(const LoopBound& bound, bool is_lower) const {
    Range result = of(bound.at(0), is_lower);
    for (const BoundTerm& term : bound) {
        const Range next = of(term, is_lower);
        result.low = is_lower ? std::max(result.low, next.low) : std::min(result.low, next.low);
        result.high =
            is_lower ? std::max(result.high, next.high) : std::min(result.high, next.high);
        result.multiple = std::gcd(result.multiple, next.multiple);
    }
    return result;
}

bool Ranges::is_narrow(const AffineForm& form, std::int64_t slack) const {
    const auto size = [](std::int64_t x) { return x < 0 ? -Large{x} : Large{x}; };
    Large total = size(form.constant) + size(slack);
    for (const auto& [var, coefficient] : form.terms) {
        const Range& range = at(var);
        total += size(coefficient) * std::max(size(range.low), size(range.high));
    }
    return total <= int_high;
}

void Ranges::visit(const Body& body) {
    for (const Stmt& stmt : body) {
        if (const auto* loop = std::get_if<Loop>(&stmt.node)) visit(*loop);
        if (const auto* guard = std::get_if<Guard>(&stmt.node)) visit(guard->body);
        if (const auto* let = std::get_if<LetVar>(&stmt.node)) visit(*let);
    }
}

void Ranges::visit(const Loop& loop) {
    const Range lower = of(loop.lower, true);
    const Range upper = of(loop.upper, false);
    // A loop that never runs is taken to run once: that makes no range too small.
    vars_[std::size_t(loop.var)] = {lower.low, std::max(lower.low, upper.high - 1),
                                    std::gcd(lower.multiple, loop.step)};
    visit(loop.body);
}

void Ranges::visit(const LetVar& let) {
    Range range = of(BoundTerm{let.form, let.divisor}, false);
    if (let.modulus != 0 && (range.low < 0 || range.high >= let.modulus))
        range = {0, let.modulus - 1, std::gcd(range.multiple, let.modulus)};
    vars_[std::size_t(let.var)] = range;
}

}  // namespace ricci::codegen::cuda
