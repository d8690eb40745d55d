// dsl/lower_access.cpp – accesses as they are evaluated: modifiers written out, gathers made safe
#include "dsl/lower_access.h"

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "dsl/subscript.h"

namespace ricci {
namespace {

const Modified* modified(Expr subscript) { return std::get_if<Modified>(&subscript->term); }

/// The subscript without its modifier.
Expr plain(Expr subscript) {
    const Modified* const found = modified(subscript);
    return found ? found->at : subscript;
}

/// The width of a padding; beyond what any array can have, more makes no difference.
std::int64_t width(Expr literal) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    return std::min(std::get<std::int64_t>(std::get<Literal>(literal->term).value), most);
}

}  // namespace

/// Notes which nodes have something to rewrite below them.
void AccessLowering::mark(Expr root) {
    for (Expr e : postorder({root})) {
        if (concerned_.contains(e)) continue;
        bool found = false;
        if (const auto* access = std::get_if<Access>(&e->term))
            for (Expr at : access->at) found |= modified(at) || reads_data(program_, at);
        for (Expr operand : operands(e)) found |= concerned_.at(operand);
        concerned_.emplace(e, found);
    }
}

const Expr* AccessLowering::known(const Place& place) const {
    if (!concerned_.at(place.first)) return &place.first;
    const auto found = done_.find(place);
    return found == done_.end() ? nullptr : &found->second;
}

/// What must be known before the node can be rewritten; of a choice, its condition first.
std::vector<AccessLowering::Place> AccessLowering::needed(const Place& place) const {
    const auto& [e, guard] = place;
    std::vector<Place> list;
    if (const auto* access = std::get_if<Access>(&e->term)) {
        for (Expr at : access->at) list.emplace_back(plain(at), guard);
        return list;
    }
    const bool is_choice = is_apply(e, Op::select);
    if (!is_choice && !is_apply(e, Op::logical_and) && !is_apply(e, Op::logical_or)) {
        for (Expr operand : operands(e)) list.emplace_back(operand, guard);
        return list;
    }
    const auto& args = std::get<Apply>(e->term).args;
    list.emplace_back(args[0], guard);
    const Expr* const first = known(list.front());
    if (first == nullptr) return list;
    const Expr holds = context_.logical_and(guard, *first);
    const Expr fails = context_.logical_and(guard, context_.apply(Op::logical_not, {*first}));
    list.emplace_back(args[1], is_apply(e, Op::logical_or) ? fails : holds);
    if (is_choice) list.emplace_back(args[2], fails);
    return list;
}

Expr AccessLowering::term(Expr root, Expr guard) {
    mark(root);
    std::vector<Place> stack{{root, guard}};
    while (!stack.empty()) {
        const Place place = stack.back();
        if (known(place)) {
            stack.pop_back();
            continue;
        }
        const std::vector<Place> list = needed(place);
        const auto open = std::ranges::find_if(list, [&](const Place& p) { return !known(p); });
        if (open != list.end()) {
            stack.push_back(*open);
            continue;
        }
        done_.emplace(place, make(place));
        stack.pop_back();
    }
    return *known({root, guard});
}

/// The node rewritten, everything that it needs being known.
Expr AccessLowering::make(const Place& place) {
    const auto& [e, guard] = place;
    if (const auto* read = std::get_if<Access>(&e->term)) return access(*read, guard);
    std::vector<Expr> now;
    for (const Place& operand : needed(place)) now.push_back(*known(operand));
    if (const auto* apply = std::get_if<Apply>(&e->term))
        return context_.apply(apply->op, std::move(now), e->dtype);
    RICCI_ASSERT(std::holds_alternative<Cast>(e->term), "a term that is not canonical");
    return context_.cast(now.front(), e->dtype);
}

Expr AccessLowering::access(const Access& access, Expr guard) {
    const Shape& shape = tensors_.at(position(access.tensor)).shape;
    const bool has_no_element = std::ranges::find(shape, 0) != shape.end();
    bool is_changed = false;
    std::vector<Expr> at;
    std::vector<Lowered> padded;
    for (std::size_t d = 0; d < access.at.size(); ++d) {
        const Expr written = access.at[d];
        const Lowered lowered =
            subscript(access.tensor, d, written, *known({plain(written), guard}), guard, false);
        is_changed |= modified(written) || reads_data(program_, written);
        at.push_back(lowered.at);
        if (lowered.inside) padded.push_back(lowered);
    }
    Expr result = has_no_element && is_changed ? no_element(access.tensor)
                                               : context_.access(access.tensor, std::move(at));
    for (const auto& each : padded | std::views::reverse)
        result = context_.apply(Op::select, {each.inside, result, each.value});
    return result;
}

AccessLowering::Target AccessLowering::target(TensorId tensor, const std::vector<Expr>& at) {
    Target result;
    for (std::size_t d = 0; d < at.size(); ++d) {
        const Lowered lowered =
            subscript(tensor, d, at[d], term(plain(at[d]), Expr()), Expr(), true);
        result.at.push_back(lowered.at);
        result.inside = context_.logical_and(result.inside, lowered.inside);
    }
    return result;
}

AccessLowering::Lowered AccessLowering::subscript(TensorId tensor, std::size_t dimension,
                                                  Expr written, Expr raw, Expr guard,
                                                  bool is_write) {
    const std::int64_t extent = tensors_.at(position(tensor)).shape.at(dimension);
    const bool is_gathered = reads_data(program_, raw);
    if (is_gathered) raw = as_index(raw, written);
    const Modified* const how = modified(written);
    const auto note = [&](std::int64_t low, std::int64_t high) {
        sites_.push_back({tensor, dimension, is_write, written, raw, guard, low, high});
    };
    if (!how) {
        if (!is_gathered) return {.at = raw, .inside = Expr(), .value = Expr()};
        note(0, extent);
        if (guard) raw = context_.apply(Op::select, {guard, raw, context_.integer(0)});
        return {.at = raw, .inside = Expr(), .value = Expr()};
    }
    if (how->outside != Outside::pad) {
        if (extent == 0) empty_.push_back({tensor, dimension, how->outside});
        return {.at = find(how->outside, raw, extent), .inside = Expr(), .value = Expr()};
    }
    if (is_gathered && how->low) note(-width(how->low), extent + width(how->high));
    const Expr inside =
        context_.logical_and(context_.apply(Op::ge, {raw, context_.integer(0)}),
                             context_.apply(Op::lt, {raw, context_.integer(extent)}));
    const bool is_bool = tensors_.at(position(tensor)).dtype == DType::boolean;
    const bool is_default = how->value == context_.integer(0);
    return {.at = find(Outside::clamp, raw, extent),
            .inside = inside,
            .value = is_bool && is_default ? context_.literal(false) : how->value};
}

/// The place of an element that is in a dimension of that extent.
Expr AccessLowering::find(Outside outside, Expr raw, std::int64_t extent) {
    const auto integer = [&](std::int64_t value) { return context_.integer(value); };
    const std::int64_t last = std::max<std::int64_t>(extent - 1, 0);
    if (last == 0) return integer(0);
    if (outside == Outside::wrap) return context_.apply(Op::mod, {raw, integer(extent)});
    if (outside != Outside::reflect)
        return context_.apply(Op::clamp, {raw, integer(0), integer(last)});
    // Up and down in 2*last steps: last - |e % (2*last) - last|.
    const Expr place = context_.apply(Op::mod, {raw, integer(2 * last)});
    const Expr from_last = context_.apply(Op::abs, {context_.sub(place, integer(last))});
    return context_.sub(integer(last), from_last);
}

void AccessLowering::no_integers(const BoundTensor& tensor, Expr written) const {
    Diagnosis diagnosis{.kind = ErrorKind::type, .message = {}, .source = program_.source};
    if (const auto found = labels_.find(written); found != labels_.end())
        diagnosis.labels = found->second.labels;
    diagnosis.message =
        format("`{}` has the type {}, and stands in a subscript", tensor.name, name(tensor.dtype));
    const std::string written_as = tensor.shape.empty() ? "$" + tensor.name : tensor.name + "[…]";
    diagnosis.hint = format("give integers, or convert: `i64({})`", written_as);
    throw Error(std::move(diagnosis));
}

/// The value with the elements that are part of it as i64. Throws: `type` for other than integers.
Expr AccessLowering::as_index(Expr e, Expr written) {
    ExprMap<Expr> converted;
    std::vector<Expr> stack{e};
    while (!stack.empty()) {
        const Expr node = stack.back();
        stack.pop_back();
        if (converted.contains(node)) continue;
        const auto* access = std::get_if<Access>(&node->term);
        const auto* apply = std::get_if<Apply>(&node->term);
        if (access && program_.at(access->tensor).role != Role::scalar) {
            const BoundTensor& tensor = tensors_.at(position(access->tensor));
            if (!is_integer(tensor.dtype)) no_integers(tensor, written);
            converted.emplace(node, context_.cast(node, DType::i64));
        } else if (std::holds_alternative<Cast>(node->term)) {
            converted.emplace(node, context_.cast(node, DType::i64));
        } else if (apply && info(apply->op).type != TypeRule::boolean) {
            const std::size_t first = apply->op == Op::select ? 1 : 0;
            stack.insert(stack.end(), apply->args.begin() + std::ptrdiff_t(first),
                         apply->args.end());
        }
    }
    return substitute(context_, e, converted);
}

/// Stands for what is never read: the array has no elements.
Expr AccessLowering::no_element(TensorId tensor) {
    return context_.cast(context_.integer(0), tensors_.at(position(tensor)).dtype);
}

}  // namespace ricci
