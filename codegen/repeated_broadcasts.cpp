// codegen/repeated_broadcasts.cpp – broadcasts as operands of the operations that take them
#include "codegen/repeated_broadcasts.h"

#include <algorithm>

#include "codegen/cache_lines.h"
#include "codegen/contraction_choice.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

Value negated(const Value& value) {
    return is_operation(value, Op::neg) ? operands(value)[0]
                                        : make_operation(Op::neg, {value}, value->dtype);
}

bool has(const std::vector<Value>& values, const Value& value) {
    return std::ranges::find(values, value) != values.end();
}

class Turning {
  public:
    Turning(const Value& body, const std::vector<Value>& shared, const std::vector<Value>& kept)
        : body_(body), shared_(shared), kept_(kept) {
        for (const auto* values : {&shared, &kept})
            for (const Value& each : *values) to_.replace(each, each);
    }

    /// Differences that are squared, or of which the sign is dropped, and sums.
    void turn_all() {
        for_each_node({body_}, [&](const Value& value) {
            const std::vector<Value> args = operands(value);
            const bool is_sum = is_operation(value, Op::add) && args.size() == 2;
            if (is_sum && is_shared(args[0], true) && !is_operation(args[1], Op::neg))
                to_.replace(value, make_operation(Op::add, {args[1], args[0]}, value->dtype));
            const bool is_square =
                is_operation(value, Op::mul) && args.size() == 2 && args[0] == args[1];
            if (!is_square && !is_operation(value, Op::abs)) return;
            if (const Value difference = turned(args[0]))
                to_.replace(value, make_operation(is_square ? Op::mul : Op::abs,
                                                  std::vector<Value>(args.size(), difference),
                                                  value->dtype));
        });
    }
    /// The body; of what is added up from 0, which no zero of either sign changes, with its factors
    /// turned, too.
    [[nodiscard]] Value body(bool is_sum) {
        bool is_negative = false;
        const Value body = is_sum ? with_turned_factors(body_, is_negative) : to_(body_);
        return is_negative ? negated(body) : body;
    }

  private:
    /// Elsewhere in the body a difference stays as it is.
    Value with_turned_factors(const Value& value, bool& is_negative) {
        if (has(shared_, value) || has(kept_, value)) return value;
        std::vector<Value> args = operands(value);
        const bool is_square = args.size() == 2 && args[0] == args[1];
        if ((is_operation(value, Op::mul) && !is_square) || is_operation(value, Op::neg)) {
            for (Value& arg : args) arg = with_turned_factors(arg, is_negative);
            return make_operation(std::get<Operate>(value->term).op, std::move(args), value->dtype);
        }
        const Value difference = turned(value);
        if (difference == nullptr) return to_(value);
        is_negative = !is_negative;
        return to_(difference);
    }
    [[nodiscard]] bool is_shared(const Value& value, bool may_be_negated) const {
        const bool is_negated = may_be_negated && is_operation(value, Op::neg);
        return has(shared_, is_negated ? operands(value)[0] : value);
    }
    /// Of `shared - b` the value `b - shared`; null of anything else.
    [[nodiscard]] Value turned(const Value& difference) const {
        if (!is_floating(difference->dtype) || !is_operation(difference, Op::add)) return nullptr;
        const std::vector<Value> terms = operands(difference);
        if (terms.size() != 2) return nullptr;
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
            const Value& other = terms[1 - n];
            if (is_shared(terms[n], false) && is_operation(other, Op::neg) &&
                !is_shared(other, true))
                return make_operation(Op::add, {operands(other)[0], negated(terms[n])},
                                      difference->dtype);
        }
        return nullptr;
    }

    const Value& body_;
    const std::vector<Value>& shared_;
    const std::vector<Value>& kept_;
    Substitution to_;
};

/// Whether wherever the value is taken an instruction can read it from memory: as an addend, a
/// factor or what is subtracted.
bool is_always_operand(const Value& body, const Value& shared) {
    bool is_operand = body != shared;
    for_each_node({body}, [&](const Value& value) {
        const std::vector<Value> args = operands(value);
        const bool is_sum = is_operation(value, Op::add);
        for (std::size_t n = 0; n < args.size(); ++n) {
            const bool is_subtracted =
                is_operation(args[n], Op::neg) && operands(args[n])[0] == shared;
            const bool is_minuend = args.size() == 2 && is_operation(args[1 - n], Op::neg);
            if (args[n] == shared)
                is_operand &= (is_sum && !is_minuend) || is_operation(value, Op::mul) ||
                              is_operation(value, Op::neg);
            if (is_subtracted) is_operand &= is_sum && n > 0;
        }
    });
    return is_operand;
}

/// Whether an instruction can broadcast it: elements of four or eight bytes.
bool can_be_operand(const Value& value) {
    return std::holds_alternative<Load>(value->term) && size_bytes(value->dtype) >= 4;
}

/// Whether the value is an element, or a product of some.
bool is_product_of_elements(const Value& value) {
    const bool is_product = is_operation(value, Op::mul) || is_operation(value, Op::neg);
    if (!is_product) return operands(value).empty() || is_operation(value, Op::select);
    return std::ranges::all_of(operands(value), is_product_of_elements);
}

}  // namespace

bool RepeatedBroadcasts::has(const Value& value) const { return codegen::has(values, value); }

void broadcast_anew(Nest& nest, const Value& load) {
    nest.buffers[std::size_t(std::get<Load>(load->term).buffer)].is_broadcast_anew = true;
}

RepeatedBroadcasts repeat_broadcasts(const Kernel& kernel, const Value& body,
                                     const std::vector<Value>& shared,
                                     const std::vector<Value>& kept, const Target& target) {
    RepeatedBroadcasts result{.body = body, .values = {}};
    // Beside multiply-adds alone broadcasts cost nothing.
    if (!has_half_units(target) || (has_fused_sums(kernel, target) && is_product_of_elements(body)))
        return result;
    Turning turning(body, shared, kept);
    turning.turn_all();
    const Value turned = turning.body(kernel.reducer == Reducer::sum);
    for (const Value& each : shared)
        if (can_be_operand(each) && is_always_operand(turned, each)) result.values.push_back(each);
    if (!result.values.empty()) result.body = turned;
    return result;
}

}  // namespace ricci::codegen
