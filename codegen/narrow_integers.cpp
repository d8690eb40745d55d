// codegen/narrow_integers.cpp – the pass `narrow`: integers of lanes in 32 bits
//
// Indices and places are i64, of which a vector holds half as many as of f32: a comparison beside
// f32 lanes takes two instructions and joins their masks. What the bounds of loops and the types
// of arrays keep within 32 bits is computed there: `i64(t[l]) == 2*r + s`, the places of argmax.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/integer.h"
#include "base/match.h"
#include "codegen/fold_indices.h"
#include "codegen/guarded_reads.h"
#include "codegen/integer_ranges.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

bool is_narrow(const std::optional<IndexRange>& range) { return is_within(range, DType::i32); }

/// The values of integer terms where they stand.
class Ranges {
  public:
    /// Loads from these registers of i64 give what i32 holds.
    std::set<BufferId> narrow_registers;

    void enter(const Loop& loop) {
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
        // Lanes that a mask leaves out count, too.
        if (loop.bind == Bind::vector && loop.upper.front().form.is_constant())
            range = IndexRange{0, loop.upper.front().form.constant - 1};
        vars_.erase(loop.var);
        if (range && low) vars_[loop.var] = {*low, std::max(*low, range->high)};
    }
    void enter(const LetVar& let) {
        const auto form = of(let.form);
        vars_.erase(let.var);
        if (let.modulus > 0)
            vars_[let.var] = {0, let.modulus - 1};
        else if (form)
            vars_[let.var] = {floor_div(form->low, let.divisor),
                              floor_div(form->high, let.divisor)};
    }
    void enter(const Let& let) {
        lets_.erase(let.number);
        if (const auto range = of(let.value)) lets_[let.number] = *range;
    }

    [[nodiscard]] std::optional<IndexRange> of(const AffineForm& form) const {
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
    /// Of an integer of any type.
    [[nodiscard]] std::optional<IndexRange> of(const Value& value) const {
        return match(
            value->term,
            [&](const Constant& constant) { return known({constant.integer, constant.integer}); },
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

  private:
    std::unordered_map<VarId, IndexRange> vars_;
    std::unordered_map<std::uint32_t, IndexRange> lets_;
};

/// Rewrites the values of vector loops.
class Narrower {
  public:
    explicit Narrower(Nest nest) : nest_(std::move(nest)) {}

    Nest run() && {
        find_registers();
        rewrite(nest_.body, std::nullopt);
        for (const BufferId id : ranges_.narrow_registers)
            nest_.buffers[std::size_t(id)].dtype = DType::i32;
        return std::move(nest_);
    }

  private:
    /// Registers of i64 that are given nothing but what i32 holds, if their own loads are.
    void find_registers() {
        for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
            if (nest_.buffers[b].space == Space::registers && nest_.buffers[b].dtype == DType::i64)
                ranges_.narrow_registers.insert(BufferId(b));
        std::size_t before = 0;
        while (!ranges_.narrow_registers.empty() && before != ranges_.narrow_registers.size()) {
            before = ranges_.narrow_registers.size();
            drop_wide(nest_.body);
        }
    }
    /// Whether what combines numbers of 32 bits gives such ones.
    static bool is_kept_by(std::optional<Reducer> combine) {
        return !combine || combine == Reducer::min || combine == Reducer::max;
    }
    void drop_wide(const Body& body) {
        for (const Stmt& stmt : body)
            match(
                stmt.node,
                [&](const Loop& loop) {
                    ranges_.enter(loop);
                    drop_wide(loop.body);
                },
                [&](const Guard& guard) { drop_wide(guard.body); },
                [&](const LetVar& let) { ranges_.enter(let); },
                [&](const Let& let) { ranges_.enter(let); },
                [&](const Store& store) {
                    if (!is_kept_by(store.combine) || !is_narrow(ranges_.of(store.value)))
                        ranges_.narrow_registers.erase(store.buffer);
                },
                [](const auto&) {});
    }

    void rewrite(Body& body, std::optional<VarId> lane) {
        for (Stmt& stmt : body)
            match(
                stmt.node,
                [&](Loop& loop) {
                    ranges_.enter(loop);
                    rewrite(loop.body, loop.bind == Bind::vector ? loop.var : lane);
                },
                [&](Guard& guard) {
                    guard.condition = rewritten(guard.condition, lane);
                    rewrite(guard.body, lane);
                },
                [&](LetVar& let) { ranges_.enter(let); },
                [&](Let& let) {
                    ranges_.enter(let);
                    let.value = rewritten(let.value, lane);
                },
                [&](Store& store) {
                    store.value = ranges_.narrow_registers.contains(store.buffer)
                                      ? narrow(store.value, lane)
                                      : rewritten(store.value, lane);
                    if (store.at.computed) store.at.computed = rewritten(store.at.computed, lane);
                },
                [](auto&) {});
    }

    /// The value of the same type, with comparisons and conversions of lanes in 32 bits.
    Value rewritten(const Value& value, std::optional<VarId> lane) {
        if (const auto* load = std::get_if<Load>(&value->term)) {
            if (load->at.computed)
                return make_value(
                    Load{load->buffer, {load->at.affine, rewritten(load->at.computed, lane)}},
                    value->dtype);
            if (!ranges_.narrow_registers.contains(load->buffer)) return value;
            return make_convert(make_value(*load, DType::i32), DType::i64);
        }
        if (const auto* convert = std::get_if<Convert>(&value->term)) {
            if (value->dtype != DType::i64 && can_be_narrow(convert->a, lane))
                return make_convert(narrow(convert->a, lane), value->dtype, convert->wraps);
            const Value a = rewritten(convert->a, lane);
            return a == convert->a ? value : make_value(Convert{a, convert->wraps}, value->dtype);
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        // Guarded reads are known by their form.
        if (operate == nullptr || guarded_read(value)) return value;
        const bool is_comparison = info(operate->op).precedence == Precedence::comparison;
        const auto is_narrow_here = [&](const Value& arg) {
            return arg->dtype == DType::i64 && is_narrow(ranges_.of(arg));
        };
        std::vector<Value> args;
        if (is_comparison && std::ranges::all_of(operate->args, is_narrow_here) &&
            std::ranges::any_of(operate->args,
                                [&](const Value& arg) { return can_be_narrow(arg, lane); })) {
            for (const Value& arg : operate->args) args.push_back(narrow(arg, lane));
            return make_operation(operate->op, std::move(args), value->dtype);
        }
        bool is_changed = false;
        for (const Value& arg : operate->args) {
            args.push_back(rewritten(arg, lane));
            is_changed |= args.back() != arg;
        }
        return is_changed ? make_operation(operate->op, std::move(args), value->dtype) : value;
    }

    /// Whether an i64 that may differ by lane fits i32.
    bool can_be_narrow(const Value& value, std::optional<VarId> lane) const {
        return lane && value->dtype == DType::i64 && is_narrow(ranges_.of(value)) &&
               moves(value, *lane);
    }
    static bool moves(const Value& value, VarId lane) {
        if (const auto* var = std::get_if<VarValue>(&value->term))
            return var->form.coefficient(lane) != 0;
        if (const auto* load = std::get_if<Load>(&value->term))
            if (load->at.affine.coefficient(lane) != 0) return true;
        return std::ranges::any_of(operands(value),
                                   [&](const Value& part) { return moves(part, lane); });
    }

    /// As i32, of an i64 that fits.
    Value narrow(const Value& value, std::optional<VarId> lane) {
        if (const auto* constant = std::get_if<Constant>(&value->term))
            return make_integer(constant->integer, DType::i32);
        if (const auto* load = std::get_if<Load>(&value->term))
            if (ranges_.narrow_registers.contains(load->buffer))
                return make_value(*load, DType::i32);
        if (const auto* convert = std::get_if<Convert>(&value->term))
            if (range_of(convert->a->dtype))
                return make_convert(rewritten(convert->a, lane), DType::i32);
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate != nullptr && is_of_narrow(*operate) && !guarded_read(value)) {
            std::vector<Value> args;
            for (const Value& arg : operate->args)
                args.push_back(arg->dtype == DType::i64 ? narrow(arg, lane) : rewritten(arg, lane));
            return make_operation(operate->op, std::move(args), DType::i32);
        }
        return make_convert(rewritten(value, lane), DType::i32, true);
    }
    [[nodiscard]] bool is_of_narrow(const Operate& operate) const {
        return has_narrow_form(operate.op) &&
               std::ranges::all_of(operate.args, [&](const Value& arg) {
                   return arg->dtype == DType::boolean || is_narrow(ranges_.of(arg));
               });
    }

    Nest nest_;
    Ranges ranges_;
};

}  // namespace

Nest narrow_integers(Nest nest, const Target& target) {
    if (target.is_gpu() || target.is_plain) return nest;
    return Narrower(std::move(nest)).run();
}

}  // namespace ricci::codegen
