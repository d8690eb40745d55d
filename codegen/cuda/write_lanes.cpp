// codegen/cuda/write_lanes.cpp – one loop over lanes, with what is done at once around it
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::cuda {

namespace {

/// Bytes of the widest access, and of the alignment that all wider ones have in common.
constexpr std::int64_t widest_access = 16;

AffineForm without(const AffineForm& form, VarId var) {
    return form + codegen::form(var, -form.coefficient(var));
}

void add_variables(const AffineForm& form, std::set<VarId>& used) {
    for (const AffineForm::Term& term : form.terms) used.insert(term.var);
}
void add_variables(const Value& value, std::set<VarId>& used) {
    if (const auto* var = std::get_if<VarValue>(&value->term)) add_variables(var->form, used);
    if (const auto* load = std::get_if<Load>(&value->term)) add_variables(load->at.affine, used);
    for (const Value& operand : operands(value)) add_variables(operand, used);
}
/// The variables that a Let or Store names.
void add_variables(const Stmt& stmt, std::set<VarId>& used) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) add_variables(let->value, used);
    const auto* store = std::get_if<Store>(&stmt.node);
    if (store == nullptr) return;
    add_variables(store->value, used);
    add_variables(store->at.affine, used);
    if (store->at.computed) add_variables(store->at.computed, used);
}

}  // namespace

std::int64_t NestWriter::neighbours(BufferId buffer, const Address& at) const {
    const Buffer& memory = nest_.at(buffer);
    if (memory.space != Space::argument && memory.space != Space::shared) return 1;
    const AffineForm first = without(at.affine, lanes_->var);
    if (at.computed || at.affine.coefficient(lanes_->var) != 1 || varies(first)) return 1;
    const auto bytes = std::int64_t(size_bytes(memory.dtype));
    // Both a multiple of the elements' own size; 0 for an address that is always 0.
    const std::int64_t aligned = std::gcd(memory.alignment, widest_access) / bytes;
    const std::int64_t common = std::gcd(aligned, ranges_.of(first).multiple);
    return std::clamp<std::int64_t>(common & -common, 1,
                                    std::min(lanes_->count, widest_access / bytes));
}

/// Whether all lanes go into one place.
bool NestWriter::is_fold(const Store& store) const {
    const bool is_one_place =
        !varies(store.at.affine) && !(store.at.computed && varies(store.at.computed));
    return store.combine && is_one_place;
}

/// Whether some lane could load what another one stores.
bool NestWriter::meets_loads(const Segment& segment, const Store& store) {
    const std::function<bool(const Value&)> meets = [&](const Value& value) {
        if (const auto* load = std::get_if<Load>(&value->term)) {
            const bool is_same_place =
                load->at.affine == store.at.affine && !load->at.computed && !store.at.computed;
            if (load->buffer == store.buffer && !is_same_place) return true;
        }
        return std::ranges::any_of(operands(value), meets);
    };
    return std::ranges::any_of(segment, [&](const Leaf& leaf) {
        if (const auto* let = std::get_if<Let>(&leaf.stmt.node)) return meets(let->value);
        const auto* other = std::get_if<Store>(&leaf.stmt.node);
        return other != nullptr &&
               (meets(other->value) || (other->at.computed && meets(other->at.computed)));
    });
}

/// The text of an access to `count` lanes from that one on, in pieces of `width`.
std::string NestWriter::loaded(BufferId buffer, const Address& first, std::int64_t width,
                               std::int64_t from, std::int64_t count) {
    if (count > width)
        return format("rc_join({}, {})", loaded(buffer, first, width, from, count / 2),
                      loaded(buffer, first, width, from + count / 2, count / 2));
    return format("rc_load{}({}, {})", width, buffers_[std::size_t(buffer)], index(first, from));
}

void NestWriter::load_at_once(const Load& load, const void* key) {
    const std::int64_t width = neighbours(load.buffer, load.at);
    if (width == 1) return;
    accesses_at_once_ = true;
    const Address first{without(load.at.affine, lanes_->var), nullptr};
    const std::string text = loaded(load.buffer, first, width, 0, lanes_->count);
    std::string& name = lanes_->at_once[text];
    if (name.empty()) {
        name = names_.take(format("{}_v", buffers_[std::size_t(load.buffer)]));
        line(format("const rc_vec<{}, {}> {} = {};", type_name(nest_.at(load.buffer).dtype),
                    lanes_->count, name, text));
    }
    lanes_->loads[key] = name;
}

void NestWriter::load_at_once(const Value& value) {
    if (const auto* load = std::get_if<Load>(&value->term)) load_at_once(*load, value.get());
    for (const Value& operand : operands(value)) load_at_once(operand);
}

/// What all lanes load that run whatever their values are.
void NestWriter::load_at_once(const Segment& segment) {
    for (const Leaf& leaf : segment) {
        if (!leaf.conditions.empty()) continue;
        if (const auto* let = std::get_if<Let>(&leaf.stmt.node)) load_at_once(let->value);
        const auto* store = std::get_if<Store>(&leaf.stmt.node);
        if (store == nullptr || store->hint == StoreHint::asynchronous) continue;
        load_at_once(store->value);
        if (store->at.computed) load_at_once(store->at.computed);
        if (store->combine && store->hint != StoreHint::atomic)
            load_at_once(Load{store->buffer, store->at}, store);
    }
}

/// How a store is done, when not lane by lane in the loop.
std::optional<NestWriter::Kept> NestWriter::kept(const Segment& segment, const Leaf& leaf) {
    const auto* store = std::get_if<Store>(&leaf.stmt.node);
    if (store == nullptr) return std::nullopt;
    const bool runs_always = leaf.conditions.empty() && lanes_->active.empty();
    const std::string& target = buffers_[std::size_t(store->buffer)];
    if (is_fold(*store)) return Kept{Kept::Kind::folded, &leaf, names_.take(target + "_each")};
    if (store->hint == StoreHint::atomic) return std::nullopt;
    const std::int64_t width = runs_always ? neighbours(store->buffer, store->at) : 1;
    if (store->hint == StoreHint::asynchronous) {
        const auto& load = std::get<Load>(store->value->term);
        const std::int64_t both = std::min(width, neighbours(load.buffer, load.at));
        const auto bytes = both * std::int64_t(size_bytes(nest_.at(store->buffer).dtype));
        if (both == 1 || bytes < 4) return std::nullopt;
        accesses_at_once_ = true;
        return Kept{Kept::Kind::copied, &leaf, {}};
    }
    if (width > 1) {
        accesses_at_once_ = true;
        const auto loaded = lanes_->loads.find(store->value.get());
        if (loaded != lanes_->loads.end() && !store->combine)
            return Kept{Kept::Kind::at_once, &leaf, loaded->second, false};
        return Kept{Kept::Kind::at_once, &leaf, names_.take(target + "_v")};
    }
    if (!meets_loads(segment, *store)) return std::nullopt;
    lanes_->kept_lets.insert(leaf.conditions.begin(), leaf.conditions.end());
    return Kept{Kept::Kind::one_by_one, &leaf, names_.take(target + "_each")};
}

void NestWriter::segment(const Segment& segment) {
    lanes_->loads.clear();
    lanes_->at_once.clear();
    const auto is_uniform = [&](const Leaf& leaf) {
        const auto* named = std::get_if<Let>(&leaf.stmt.node);
        return std::holds_alternative<LetVar>(leaf.stmt.node) ||
               (named != nullptr && !lanes_->varying_lets.contains(named->number));
    };
    for (const Leaf& leaf : segment)
        if (is_uniform(leaf)) statement(leaf.stmt);
    if (lanes_->active.empty()) load_at_once(segment);

    std::vector<Kept> stores;
    Leaves rest;
    for (const Leaf& leaf : segment) {
        if (is_uniform(leaf)) continue;
        const auto store = kept(segment, leaf);
        if (store) stores.push_back(*store);
        if (!store || store->needs_values()) rest.push_back(&leaf);
    }
    for (const Kept& store : stores) {
        if (!store.needs_values()) continue;
        const std::string_view type = type_name(nest_.at(store.store().buffer).dtype);
        line(store.kind == Kept::Kind::at_once
                 ? format("rc_vec<{}, {}> {};", type, lanes_->count, store.name)
                 : format("RC_LOCAL({}, {}, {});", type, store.name, lanes_->count));
    }
    for (const Leaf* leaf : rest) {
        const auto* named = std::get_if<Let>(&leaf->stmt.node);
        if (named == nullptr || !lanes_->kept_lets.contains(named->number)) continue;
        const std::string name = take_name(named->number);
        line(format("RC_LOCAL({}, {}, {});", type_name(named->value->dtype), name, lanes_->count));
        lets_[named->number] = {format("{}[{}]", name, lanes_->name)};
    }
    if (!rest.empty()) lane_loop(rest, stores);
    for (const Kept& store : stores) write_kept(store);
}

/// `inside` for every lane.
void NestWriter::each_lane(const std::function<void()>& inside) {
    vars_.at(std::size_t(lanes_->var)) = {.name = lanes_->name, .is_wide = false, .constant = {}};
    block(format("RC_UNROLL for (int {} = 0; {} < {}; ++{})", lanes_->name, lanes_->name,
                 lanes_->count, lanes_->name),
          inside);
    vars_.at(std::size_t(lanes_->var)).name.clear();
}

void NestWriter::lane_loop(const Leaves& leaves, const std::vector<Kept>& stores) {
    each_lane([&] {
        // A lane that does not store takes part in a fold with what changes nothing.
        for (const Kept& store : stores) {
            const bool may_rest = !store.leaf->conditions.empty() || !lanes_->active.empty();
            if (store.kind != Kept::Kind::folded || !may_rest) continue;
            const DType dtype = nest_.at(store.store().buffer).dtype;
            const Reducer reducer = *store.store().combine;
            const Value neutral = is_floating(dtype) && reducer == Reducer::sum
                                      ? make_number(dtype, -0.0)
                                      : identity(reducer, dtype);
            line(format("{}[{}] = {};", store.name, lanes_->name, value(neutral).text));
        }
        const auto inside = [&] {
            name_lane_vars(leaves);
            lane_leaves(leaves, 0, stores);
        };
        if (lanes_->active.empty()) return inside();
        block(format("if ({} < {})", lanes_->name, lanes_->active), inside);
    });
}

/// The quotients that the leaves need and that differ by lane.
void NestWriter::name_lane_vars(const Leaves& leaves) {
    std::set<VarId> used;
    for (const Leaf* leaf : leaves) add_variables(leaf->stmt, used);
    std::vector<const LetVar*> needed;
    for (std::size_t i = lanes_->vars.size(); i-- > 0;) {
        const LetVar& let = lanes_->vars[i];
        if (!used.contains(let.var)) continue;
        add_variables(let.form, used);
        needed.push_back(&let);
    }
    for (std::size_t i = needed.size(); i-- > 0;) let_var(*needed[i]);
}

/// Leaves under the same conditions up to `depth`; each further one is a guard around those that
/// share it.
void NestWriter::lane_leaves(std::span<const Leaf* const> leaves, std::size_t depth,
                             const std::vector<Kept>& stores) {
    while (!leaves.empty()) {
        const auto& conditions = leaves[0]->conditions;
        if (conditions.size() == depth) {
            lane_leaf(*leaves[0], stores);
            leaves = leaves.subspan(1);
            continue;
        }
        std::size_t count = 1;
        while (count < leaves.size() && leaves[count]->conditions.size() > depth &&
               leaves[count]->conditions[depth] == conditions[depth])
            ++count;
        block(format("if ({})", lets_.at(conditions[depth]).text),
              [&] { lane_leaves(leaves.first(count), depth + 1, stores); });
        leaves = leaves.subspan(count);
    }
}

void NestWriter::lane_leaf(const Leaf& leaf, const std::vector<Kept>& stores) {
    if (const auto* named = std::get_if<Let>(&leaf.stmt.node)) {
        if (!lanes_->kept_lets.contains(named->number)) return let(*named);
        return line(format("{} = {};", lets_.at(named->number).text, value(named->value).text));
    }
    const auto& each = std::get<Store>(leaf.stmt.node);
    const auto kept = std::ranges::find(stores, &leaf, &Kept::leaf);
    if (kept == stores.end()) return store(each);
    Text text = value(each.value);
    if (kept->kind != Kept::Kind::at_once)
        return line(format("{}[{}] = {};", kept->name, lanes_->name, text.text));
    if (each.combine)
        text = combined_text(*each.combine, nest_.at(each.buffer).dtype,
                             {format("{}.v[{}]", lanes_->loads.at(&each), lanes_->name)}, text);
    line(format("{}.v[{}] = {};", kept->name, lanes_->name, text.text));
}

/// The upper half of the lanes combined into the lower, and so on.
Text NestWriter::folded(const Kept& kept, std::int64_t first, std::int64_t step) const {
    if (step >= lanes_->count) return {format("{}[{}]", kept.name, first)};
    return combined_text(*kept.store().combine, nest_.at(kept.store().buffer).dtype,
                         folded(kept, first, 2 * step), folded(kept, first + step, 2 * step));
}

void NestWriter::write_kept(const Kept& kept) {
    const Store& each = kept.store();
    const std::string& target = buffers_[std::size_t(each.buffer)];
    const auto first = [&](const Address& at) {
        return Address{without(at.affine, lanes_->var), nullptr};
    };
    switch (kept.kind) {
        case Kept::Kind::folded: return store(each, folded(kept, 0, 1));
        case Kept::Kind::copied: {
            const auto& load = std::get<Load>(each.value->term);
            const std::int64_t width =
                std::min(neighbours(each.buffer, each.at), neighbours(load.buffer, load.at));
            const auto moved = [&](const Address& at, std::int64_t by) {
                Address address = first(at);
                address.affine.constant += by;
                return address;
            };
            for (std::int64_t from = 0; from < lanes_->count; from += width)
                line(copied(each.buffer, moved(each.at, from), load.buffer, moved(load.at, from),
                            width));
            return;
        }
        case Kept::Kind::at_once: {
            const std::int64_t width = neighbours(each.buffer, each.at);
            const bool streams =
                each.hint == StoreHint::streaming && nest_.at(each.buffer).space == Space::argument;
            for (std::int64_t from = 0; from < lanes_->count; from += width) {
                const std::string part =
                    width == lanes_->count ? kept.name
                                           : format("rc_part<{}, {}>({})", from, width, kept.name);
                line(format("rc_store{}{}({}, {}, {});", width, streams ? "_stream" : "", target,
                            index(first(each.at), from), part));
            }
            return;
        }
        case Kept::Kind::one_by_one: break;
    }
    std::vector<std::string> tests;
    if (!lanes_->active.empty()) tests.push_back(format("{} < {}", lanes_->name, lanes_->active));
    for (const std::uint32_t condition : kept.leaf->conditions)
        tests.push_back(lets_.at(condition).text);
    each_lane([&] {
        const auto inside = [&] {
            name_lane_vars({kept.leaf});
            store(each, {format("{}[{}]", kept.name, lanes_->name)});
        };
        if (tests.empty()) return inside();
        block(format("if ({})", join(tests, " && ")), inside);
    });
}

}  // namespace ricci::codegen::cuda
