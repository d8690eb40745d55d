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
#include "codegen/nest_ranges.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

bool is_narrow(const std::optional<IndexRange>& range) { return is_within(range, DType::i32); }
bool is_wide(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

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
                [&](const LetBound& let) { ranges_.enter(let); },
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
                [&](LetBound& let) { ranges_.enter(let); },
                [&](Let& let) {
                    ranges_.enter(let);
                    const bool is_narrowed = can_be_narrow(let.value, lane);
                    let.value = is_narrowed ? narrow(let.value, lane) : rewritten(let.value, lane);
                    if (is_narrowed)
                        narrow_lets_.insert(let.number);
                    else
                        narrow_lets_.erase(let.number);
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
        if (is_narrow_let(value)) return make_convert(narrow_let(value), value->dtype);
        if (const auto* convert = std::get_if<Convert>(&value->term)) {
            if (value->dtype != DType::i64 && can_be_narrow(convert->a, lane))
                return make_convert(narrow(convert->a, lane), value->dtype, convert->wraps);
            const Value a = rewritten(convert->a, lane);
            return a == convert->a ? value : make_value(Convert{a, convert->wraps}, value->dtype);
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr) return value;
        // Guarded reads are known by their form.
        if (guarded_read(value))
            return with_other_conditions(
                value, [&](const Value& condition) { return rewritten(condition, lane); });
        const bool is_comparison = info(operate->op).precedence == Precedence::comparison;
        if (is_comparison)
            if (Value compared = compared_as_stored(*operate, lane)) return compared;
        const auto is_narrow_here = [&](const Value& arg) {
            return is_wide(arg->dtype) && is_narrow(ranges_.of(arg));
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

    /// A comparison of elements of a short integer type with a number that is the same in all lanes
    /// and of that type, too, as one of that type; empty for another.
    Value compared_as_stored(const Operate& comparison, std::optional<VarId> lane) {
        if (!lane) return {};
        for (const std::size_t side : {0U, 1U}) {
            const auto* convert = std::get_if<Convert>(&comparison.args[side]->term);
            if (convert == nullptr) continue;
            const DType stored = convert->a->dtype;
            const Value& other = comparison.args[1 - side];
            const bool is_short =
                is_integer(stored) && size_bytes(stored) <= 2 &&
                (other->dtype == DType::i64 || is_within(range_of(stored), other->dtype));
            if (!is_short || !moves(convert->a, *lane) || moves(other, *lane) ||
                !is_within(ranges_.of(other), stored))
                continue;
            std::vector<Value> args(2);
            args[side] = rewritten(convert->a, lane);
            args[1 - side] = make_convert(rewritten(other, lane), stored, true);
            return make_operation(comparison.op, std::move(args), DType::boolean);
        }
        return {};
    }

    /// Whether a number of 64 bits that may differ by lane fits i32.
    bool can_be_narrow(const Value& value, std::optional<VarId> lane) const {
        return lane && is_wide(value->dtype) && is_narrow(ranges_.of(value)) && moves(value, *lane);
    }
    bool moves(const Value& value, VarId lane) const {
        if (is_narrow_let(value)) return true;
        if (const auto* var = std::get_if<VarValue>(&value->term))
            return var->form.coefficient(lane) != 0;
        if (const auto* load = std::get_if<Load>(&value->term))
            if (load->at.affine.coefficient(lane) != 0) return true;
        return std::ranges::any_of(operands(value),
                                   [&](const Value& part) { return moves(part, lane); });
    }

    /// As i32, of a number of 64 bits that fits.
    Value narrow(const Value& value, std::optional<VarId> lane) {
        if (const auto* constant = std::get_if<Constant>(&value->term))
            return make_integer(constant->integer, DType::i32);
        if (const auto* load = std::get_if<Load>(&value->term))
            if (ranges_.narrow_registers.contains(load->buffer))
                return make_value(*load, DType::i32);
        if (is_narrow_let(value)) return narrow_let(value);
        if (const auto* convert = std::get_if<Convert>(&value->term))
            if (range_of(convert->a->dtype))
                return make_convert(rewritten(convert->a, lane), DType::i32);
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate != nullptr && is_of_narrow(*operate) && !guarded_read(value)) {
            std::vector<Value> args;
            for (const Value& arg : operate->args)
                args.push_back(is_wide(arg->dtype) ? narrow(arg, lane) : rewritten(arg, lane));
            return make_operation(operate->op, std::move(args), DType::i32);
        }
        return make_convert(rewritten(value, lane), DType::i32, true);
    }
    /// Whether it stands for a name of lanes that is i32 now.
    [[nodiscard]] bool is_narrow_let(const Value& value) const {
        const auto* let = std::get_if<LetValue>(&value->term);
        return let != nullptr && narrow_lets_.contains(let->number);
    }
    static Value narrow_let(const Value& value) {
        return make_let_value(std::get<LetValue>(value->term).number, DType::i32);
    }
    [[nodiscard]] bool is_of_narrow(const Operate& operate) const {
        return has_narrow_form(operate.op) &&
               std::ranges::all_of(operate.args, [&](const Value& arg) {
                   return arg->dtype == DType::boolean || is_narrow(ranges_.of(arg));
               });
    }

    Nest nest_;
    NestRanges ranges_;
    std::set<std::uint32_t> narrow_lets_;
};

}  // namespace

Nest narrow_integers(Nest nest, const Target& target) {
    if (target.is_gpu() || target.is_plain) return nest;
    return Narrower(std::move(nest)).run();
}

}  // namespace ricci::codegen
