// codegen/cuda/write_vector.cpp – vector loops: what all lanes do, in order
//
// A statement in a vector loop is done by all lanes before the next one. The text has loops over
// lanes instead, each with as many statements as cannot tell the difference (a Segment): within
// one, nothing is loaded that an earlier statement stored. Loads and stores of neighbours are done
// at once before and after such a loop.
#include <algorithm>
#include <utility>

#include "base/match.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen::cuda {

namespace {

void add_uses(const Value& value, std::set<std::uint32_t>& lets, std::set<BufferId>& loads) {
    if (const auto* let = std::get_if<LetValue>(&value->term)) lets.insert(let->number);
    if (const auto* load = std::get_if<Load>(&value->term)) loads.insert(load->buffer);
    for (const Value& operand : operands(value)) add_uses(operand, lets, loads);
}

/// What a statement, and those inside, read and write.
struct Effects {
    std::set<std::uint32_t> lets;
    std::set<BufferId> loads;
    std::set<BufferId> stores;
};
void add_effects(const Stmt& stmt, Effects& effects) {
    Body alone;
    alone.push_back(stmt);
    for_each_value(alone,
                   [&](const Value& value) { add_uses(value, effects.lets, effects.loads); });
    const std::function<void(const Body&)> add_stores = [&](const Body& body) {
        for (const Stmt& each : body) {
            if (const auto* loop = std::get_if<Loop>(&each.node)) add_stores(loop->body);
            if (const auto* guard = std::get_if<Guard>(&each.node)) add_stores(guard->body);
            const auto* store = std::get_if<Store>(&each.node);
            if (store == nullptr) continue;
            effects.stores.insert(store->buffer);
            if (store->combine) effects.loads.insert(store->buffer);
        }
    };
    add_stores(alone);
}

bool is_nested(const Stmt& stmt) {
    return std::holds_alternative<Loop>(stmt.node) || std::holds_alternative<Guard>(stmt.node);
}

}  // namespace

bool NestWriter::varies(const AffineForm& form) const {
    return std::ranges::any_of(form.terms, [&](const AffineForm::Term& term) {
        return term.var == lanes_->var || lanes_->varying_vars.contains(term.var);
    });
}

bool NestWriter::varies(const Value& value) const {
    if (const auto* var = std::get_if<VarValue>(&value->term)) return varies(var->form);
    if (const auto* load = std::get_if<Load>(&value->term); load && varies(load->at.affine))
        return true;
    if (const auto* let = std::get_if<LetValue>(&value->term))
        return lanes_->varying_lets.contains(let->number);
    return std::ranges::any_of(operands(value), [&](const Value& each) { return varies(each); });
}

/// Lanes that the bounds leave out are either all lanes or none, or masked one by one. Then there
/// is a second text for where all run, if it gains by that.
void NestWriter::vector_loop(const Loop& loop) {
    const std::int64_t count = loop.upper.at(0).form.constant;
    const LoopBound rest(loop.upper.begin() + 1, loop.upper.end());
    const std::string limit = rest.empty() ? "" : bound(rest, false).text;
    const bool is_wide = !rest.empty() && !bound(rest, false).range;
    if (count == 1) {
        vars_.at(std::size_t(loop.var)).constant = 0;
        if (rest.empty()) return body(loop.body);
        return block(format("if (0 < {})", limit), [&] { body(loop.body); });
    }

    // What is loaded at once has its name until the end of the block that the loop stands in.
    const auto write = [&](std::string active) {
        lanes_ = Lanes{.var = loop.var,
                       .count = count,
                       .name = names_.take(nest_.at(loop.var).name),
                       .active = std::move(active)};
        lanes_body(loop.body, {});
        names_.give_back(lanes_->name);
        lanes_.reset();
    };
    if (rest.empty()) return write("");
    const bool is_all_or_none = std::ranges::all_of(
        rest, [&](const BoundTerm& term) { return ranges_.of(term, false).multiple % count == 0; });
    if (is_all_or_none) return block(format("if (0 < {})", limit), [&] { write(""); });

    const Names outer = names_;
    const std::string active = names_.take("active");
    line(format("const {} {} = {};", index_type(is_wide), active, limit));
    const std::size_t before = text_.size();
    const bool was_at_once = std::exchange(accesses_at_once_, false);
    block(format("if ({} >= {})", active, count), [&] { write(""); });
    if (!std::exchange(accesses_at_once_, was_at_once)) {
        text_.resize(before);
        block(format("if ({} > 0)", active), [&] { write(active); });
    } else {
        block(format("else if ({} > 0)", active), [&] { write(active); });
    }
    names_ = outer;
}

/// The statements without guards, each with the conditions that it is under.
void NestWriter::flatten(const Body& body, const std::vector<std::uint32_t>& conditions,
                         std::vector<Leaf>& leaves) {
    for (const Stmt& stmt : body) {
        const auto* guard = std::get_if<Guard>(&stmt.node);
        if (guard != nullptr && (varies(guard->condition) || !conditions.empty())) {
            const std::uint32_t number = next_let_++;
            lanes_->varying_lets.insert(number);
            conditions_.insert(number);
            leaves.push_back({make_let(number, guard->condition), conditions});
            std::vector<std::uint32_t> inner = conditions;
            inner.push_back(number);
            flatten(guard->body, inner, leaves);
            continue;
        }
        if (const auto* let = std::get_if<Let>(&stmt.node))
            if (varies(let->value) || !conditions.empty()) lanes_->varying_lets.insert(let->number);
        if (const auto* let = std::get_if<LetVar>(&stmt.node)) {
            if (varies(let->form)) {
                lanes_->varying_vars.insert(let->var);
                lanes_->vars.push_back(*let);
                continue;
            }
        }
        leaves.push_back({stmt, conditions});
    }
}

std::vector<NestWriter::Segment> NestWriter::segments(std::vector<Leaf> leaves) {
    std::vector<Segment> result;
    std::set<BufferId> stored;
    bool is_open = false;
    for (Leaf& leaf : leaves) {
        Effects effects;
        add_effects(leaf.stmt, effects);
        const auto meets = [&](const std::set<BufferId>& buffers) {
            return std::ranges::any_of(buffers, [&](BufferId b) { return stored.contains(b); });
        };
        const bool is_apart = is_nested(leaf.stmt);
        if (!is_open || is_apart || meets(effects.loads) || meets(effects.stores)) {
            result.emplace_back();
            stored.clear();
        }
        stored.insert(effects.stores.begin(), effects.stores.end());
        result.back().push_back(std::move(leaf));
        is_open = !is_apart;
    }
    return result;
}

void NestWriter::lanes_body(const Body& body, const std::vector<std::uint32_t>& conditions) {
    const std::size_t outer_vars = lanes_->vars.size();
    std::vector<Leaf> leaves;
    flatten(body, conditions, leaves);
    const std::vector<Segment> parts = segments(std::move(leaves));

    // Lets that vary are kept for all lanes where a later segment uses them.
    std::set<std::uint32_t> earlier;
    for (const Segment& part : parts) {
        std::set<std::uint32_t> here;
        for (const Leaf& leaf : part) {
            Effects effects;
            add_effects(leaf.stmt, effects);
            effects.lets.insert(leaf.conditions.begin(), leaf.conditions.end());
            for (const std::uint32_t let : effects.lets)
                if (earlier.contains(let)) lanes_->kept_lets.insert(let);
            if (const auto* let = std::get_if<Let>(&leaf.stmt.node))
                if (lanes_->varying_lets.contains(let->number)) here.insert(let->number);
        }
        earlier.merge(here);
    }
    for (const Segment& part : parts) {
        if (is_nested(part[0].stmt))
            nested(part[0]);
        else
            segment(part);
    }
    lanes_->vars.resize(outer_vars);
}

/// An unrolled loop, or a guard that holds for all lanes or none.
void NestWriter::nested(const Leaf& leaf) {
    if (const auto* guard = std::get_if<Guard>(&leaf.stmt.node)) {
        const std::string condition = value(guard->condition).text;
        const auto inside = [&] { lanes_body(guard->body, leaf.conditions); };
        if (condition == "true") return inside();
        if (condition != "false") block(format("if ({})", condition), inside);
        return;
    }
    const auto& loop = std::get<Loop>(leaf.stmt.node);
    unrolled_loop(loop, [&] { lanes_body(loop.body, leaf.conditions); });
}

}  // namespace ricci::codegen::cuda
