// codegen/nest_ranges.cpp – what the integers of a nest can be where they stand
#include "codegen/nest_ranges.h"

#include <algorithm>

#include "base/integer.h"
#include "base/match.h"

namespace ricci::codegen {

void NestRanges::enter(const Loop& loop) {
    std::optional<IndexRange> range;
    for (const BoundTerm& upper : loop.upper) {
        const auto last = of(upper.form);
        if (!last) continue;
        const std::int64_t high = floor_div(last->high, upper.divisor) - 1;
        range = IndexRange{0, range ? std::min(range->high, high) : high};
    }
    std::optional<std::int64_t> low;
    for (const BoundTerm& lower : loop.lower)
        if (const auto first = of(lower.form)) {
            const std::int64_t least = ceil_div(first->low, lower.divisor);
            low = std::max(low.value_or(least), least);
        }
    // The last turn of several steps begins before the last point.
    const bool is_from_number = loop.lower.size() == 1 && loop.lower[0].form.is_constant();
    if (range && low && is_from_number && range->high > *low)
        range->high -= (range->high - *low) % loop.step;
    // Lanes that a mask leaves out count, too.
    if (loop.bind == Bind::vector && loop.upper.front().form.is_constant())
        range = IndexRange{0, loop.upper.front().form.constant - 1};
    vars_.erase(loop.var);
    if (range && low) vars_[loop.var] = {*low, std::max(*low, range->high)};
}

void NestRanges::enter(const LetVar& let) {
    const auto form = of(let.form);
    vars_.erase(let.var);
    if (let.modulus > 0)
        vars_[let.var] = {0, let.modulus - 1};
    else if (form)
        vars_[let.var] = {floor_div(form->low, let.divisor), floor_div(form->high, let.divisor)};
}

void NestRanges::enter(const LetBound& let) { vars_[let.var] = {let.least, let.most}; }

void NestRanges::enter(const Let& let) {
    lets_.erase(let.number);
    if (const auto range = of(let.value)) lets_[let.number] = *range;
}

std::optional<IndexRange> NestRanges::of(const AffineForm& form) const {
    IndexRange range{form.constant, form.constant};
    if (!known(range)) return std::nullopt;
    for (const AffineForm::Term& term : form.terms) {
        const auto found = vars_.find(term.var);
        if (found == vars_.end() || !known({term.coefficient, term.coefficient}))
            return std::nullopt;
        const std::int64_t a = term.coefficient * found->second.low;
        const std::int64_t b = term.coefficient * found->second.high;
        range = {range.low + std::min(a, b), range.high + std::max(a, b)};
        if (!known(range)) return std::nullopt;
    }
    return range;
}

std::optional<IndexRange> NestRanges::of(const Value& value) const {
    return match(
        value->term, [&](const Constant& constant) { return range_of(constant, value->dtype); },
        [&](const VarValue& var) { return of(var.form); },
        [&](const Load& load) {
            return range_of(narrow_registers.contains(load.buffer) ? DType::i32 : value->dtype);
        },
        [&](const Convert& convert) { return range_of(convert, value->dtype, of(convert.a)); },
        [&](const Operate& operate) {
            return range_of(operate, value->dtype, [&](const Value& arg) { return of(arg); });
        },
        [&](const LetValue& let) {
            const auto found = lets_.find(let.number);
            return found != lets_.end() ? std::optional(found->second) : range_of(value->dtype);
        });
}

}  // namespace ricci::codegen
