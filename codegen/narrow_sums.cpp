// codegen/narrow_sums.cpp – integer sums in 32 bits, where types and extents keep them there
#include "codegen/narrow_sums.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/integer_ranges.h"

namespace ricci::codegen {

namespace {

bool is_wide(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

class Narrower {
  public:
    /// Whether every sum of so many values fits 32 bits.
    [[nodiscard]] bool fits_sum(const Value& value, std::int64_t points) {
        const std::optional<IndexRange> range = ranges_.of(value);
        if (!range) return false;
        const auto largest = double(std::max(std::abs(range->low), std::abs(range->high)));
        return largest * double(points) <= double(range_of(DType::i32)->high);
    }
    /// As i32, of a value that fits.
    Value narrow(const Value& value) {
        if (const auto found = narrow_.find(value); found != narrow_.end()) return found->second;
        Value result = make_narrow(value);
        narrow_.emplace(value, result);
        return result;
    }

  private:
    Value make_narrow(const Value& value) {
        if (const auto* constant = std::get_if<Constant>(&value->term))
            return make_integer(constant->integer, DType::i32);
        if (const auto* convert = std::get_if<Convert>(&value->term))
            if (range_of(convert->a->dtype)) return make_convert(convert->a, DType::i32);
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr || !has_narrow_form(operate->op) ||
            !std::ranges::all_of(operate->args, [&](const Value& arg) { return fits(arg); }))
            return make_convert(value, DType::i32, true);
        std::vector<Value> args;
        for (const Value& arg : operate->args)
            args.push_back(arg->dtype == value->dtype ? narrow(arg) : arg);
        return make_operation(operate->op, std::move(args), DType::i32);
    }
    [[nodiscard]] bool fits(const Value& value) {
        return value->dtype == DType::boolean || is_within(ranges_.of(value), DType::i32);
    }

    TermRanges ranges_;
    std::unordered_map<Value, Value> narrow_;
};

}  // namespace

void narrow_sum(Kernel& kernel) {
    if (kernel.reducer != Reducer::sum || kernel.carry || !is_wide(kernel.body->dtype)) return;
    Narrower narrower;
    if (!narrower.fits_sum(kernel.body, points(kernel.reduced))) return;
    Substitution sum;
    sum.replace_let(0, make_convert(make_let_value(0, DType::i32), kernel.body->dtype, true));
    kernel.body = narrower.narrow(kernel.body);
    for (Store& write : kernel.writes) {
        write.value = sum(write.value);
        write.at = sum(write.at);
    }
}

}  // namespace ricci::codegen
