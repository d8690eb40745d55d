// codegen/outer_factors.cpp – constant factors of what is summed, multiplied once instead
#include "codegen/outer_factors.h"

#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// A floating value as `term * factor / divisor`.
struct Factored {
    Value term;  ///< nothing where all of it is constant
    double factor = 1;
    double divisor = 1;
};

/// A term may be shared, and nested through what is shared.
class Factoring {
  public:
    const Factored& operator()(const Value& value) {
        if (const auto found = known_.find(value.get()); found != known_.end())
            return found->second;
        Factored result = find(value);
        return known_.emplace(value.get(), std::move(result)).first->second;
    }

  private:
    Factored find(const Value& value) {
        if (const auto* constant = std::get_if<Constant>(&value->term))
            return {.term = nullptr, .factor = constant->real};
        const std::vector<Value> args = operands(value);
        if (const std::optional<double> number = folded(value, args))
            return {.term = nullptr, .factor = *number};
        if (is_operation(value, Op::neg)) {
            Factored result = (*this)(args[0]);
            result.factor = -result.factor;
            return result;
        }
        if (is_operation(value, Op::div)) {
            const std::optional<double> divisor = number(args[1]);
            if (!divisor) return {.term = value};
            Factored result = (*this)(args[0]);
            result.divisor *= *divisor;
            return result;
        }
        if (!is_operation(value, Op::mul)) return {.term = value};
        Factored result;
        std::vector<Value> terms;
        for (const Value& arg : args) {
            const Factored& part = (*this)(arg);
            result.factor *= part.factor;
            result.divisor *= part.divisor;
            if (part.term) terms.push_back(part.term);
        }
        if (terms == args) return {.term = value};
        if (terms.size() == 1) result.term = terms[0];
        if (terms.size() > 1) result.term = make_operation(Op::mul, std::move(terms), value->dtype);
        return result;
    }

    std::optional<double> number(const Value& value) {
        const Factored& factors = (*this)(value);
        if (factors.term) return std::nullopt;
        return factors.factor / factors.divisor;
    }
    /// What users scale by: roots and powers of sizes.
    std::optional<double> folded(const Value& value, const std::vector<Value>& args) {
        const auto* convert = std::get_if<Convert>(&value->term);
        const bool is_rounded =
            convert && is_floating(value->dtype) && is_floating(convert->a->dtype);
        if (!is_rounded && !is_operation(value, Op::sqrt) && !is_operation(value, Op::pow))
            return std::nullopt;
        std::vector<double> numbers;
        for (const Value& arg : args) {
            const std::optional<double> found = number(arg);
            if (!found) return std::nullopt;
            numbers.push_back(*found);
        }
        if (is_rounded) return numbers[0];
        return is_operation(value, Op::sqrt) ? std::sqrt(numbers[0])
                                             : std::pow(numbers[0], numbers[1]);
    }

    std::unordered_map<const ValueNode*, Factored> known_;  ///< of nodes below the one asked for
};

bool is_moderate(double factor) {
    constexpr double largest = 65'536;
    return std::abs(factor) >= 1 / largest && std::abs(factor) <= largest;
}

}  // namespace

void take_out_factors(Kernel& kernel) {
    if (kernel.reducer != Reducer::sum || kernel.carry || !is_floating(kernel.body->dtype)) return;
    const Factored body = Factoring()(kernel.body);
    if (!body.term || !is_operation(body.term, Op::mul)) return;
    const double factor = std::abs(body.factor);
    const double divisor = std::abs(body.divisor);
    if ((factor == 1 && divisor == 1) || !is_moderate(factor) || !is_moderate(divisor)) return;
    const DType dtype = kernel.body->dtype;
    kernel.body = body.term;
    // A sign stays: behind the sum it would make another zero.
    if (std::signbit(body.factor) != std::signbit(body.divisor))
        kernel.body = make_operation(Op::neg, {kernel.body}, dtype);
    Value result = make_let_value(0, dtype);
    if (factor != 1) result = make_operation(Op::mul, {result, make_number(dtype, factor)}, dtype);
    if (divisor != 1)
        result = make_operation(Op::div, {result, make_number(dtype, divisor)}, dtype);
    Substitution to;
    to.replace_let(0, result);
    for (Store& write : kernel.writes) write.value = to(write.value);
}

}  // namespace ricci::codegen
