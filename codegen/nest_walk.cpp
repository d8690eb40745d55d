// codegen/nest_walk.cpp – traversals of nests that passes and checks share
#include "codegen/nest_walk.h"

#include <algorithm>
#include <unordered_set>

#include "base/match.h"

namespace ricci::codegen {

namespace {

void visit_buffers(const Value& value, const std::function<void(BufferId)>& visit) {
    if (const auto* load = std::get_if<Load>(&value->term)) visit(load->buffer);
    for (const Value& operand : operands(value)) visit_buffers(operand, visit);
}

Value renamed_value(const Value& value, const std::vector<BufferId>& renamed) {
    const auto again = [&](const Value& part) { return renamed_value(part, renamed); };
    return match(
        value->term, [&](const Constant&) { return value; }, [&](const VarValue&) { return value; },
        [&](const LetValue&) { return value; },
        [&](const Convert& convert) {
            return make_value(Convert{again(convert.a), convert.wraps}, value->dtype);
        },
        [&](const Operate& operate) {
            std::vector<Value> args;
            for (const Value& arg : operate.args) args.push_back(again(arg));
            return make_value(Operate{operate.op, std::move(args)}, value->dtype);
        },
        [&](const Load& load) {
            Address at{load.at.affine, load.at.computed ? again(load.at.computed) : nullptr};
            return make_value(Load{renamed.at(std::size_t(load.buffer)), std::move(at)},
                              value->dtype);
        });
}

}  // namespace

void for_each_store(const Body& body, const std::function<void(const Store&)>& visit) {
    for (const Stmt& stmt : body) {
        if (const auto* loop = std::get_if<Loop>(&stmt.node)) for_each_store(loop->body, visit);
        if (const auto* guard = std::get_if<Guard>(&stmt.node)) for_each_store(guard->body, visit);
        if (const auto* store = std::get_if<Store>(&stmt.node)) visit(*store);
    }
}

void for_each_tile_product(const Body& body, const std::function<void(const TileProduct&)>& visit) {
    for (const Stmt& stmt : body) {
        if (const auto* loop = std::get_if<Loop>(&stmt.node))
            for_each_tile_product(loop->body, visit);
        if (const auto* guard = std::get_if<Guard>(&stmt.node))
            for_each_tile_product(guard->body, visit);
        if (const auto* product = std::get_if<TileProduct>(&stmt.node)) visit(*product);
    }
}

void for_each_value(const Body& body, const std::function<void(const Value&)>& visit) {
    for (const Stmt& stmt : body)
        match(
            stmt.node, [&](const Loop& loop) { for_each_value(loop.body, visit); },
            [&](const Guard& guard) {
                visit(guard.condition);
                for_each_value(guard.body, visit);
            },
            [&](const Let& let) { visit(let.value); },
            [&](const LetBound& let) { visit(let.value); },
            [&](const Store& store) {
                visit(store.value);
                if (store.at.computed) visit(store.at.computed);
            },
            [&](const Prefetch& prefetch) {
                if (prefetch.at.computed) visit(prefetch.at.computed);
            },
            [&](const Fold& fold) {
                visit(fold.value);
                if (fold.place) visit(fold.place);
            },
            [](const auto&) {});
}

bool is_bounded_by(const Loop& loop, VarId var) {
    const auto depends = [&](const BoundTerm& term) { return term.form.coefficient(var) != 0; };
    return std::ranges::any_of(loop.lower, depends) || std::ranges::any_of(loop.upper, depends);
}

std::uint32_t next_let(const Body& body) {
    std::uint32_t next = 1;
    for (const Stmt& stmt : body)
        match(
            stmt.node, [&](const Loop& loop) { next = std::max(next, next_let(loop.body)); },
            [&](const Guard& guard) { next = std::max(next, next_let(guard.body)); },
            [&](const Let& let) { next = std::max(next, let.number + 1); }, [](const auto&) {});
    return next;
}

void rewrite_values(Body& body, const std::function<Value(const Value&)>& to) {
    for (Stmt& stmt : body)
        match(
            stmt.node, [&](Loop& loop) { rewrite_values(loop.body, to); },
            [&](Guard& guard) {
                guard.condition = to(guard.condition);
                rewrite_values(guard.body, to);
            },
            [&](Let& let) { let.value = to(let.value); },
            [&](LetBound& let) { let.value = to(let.value); },
            [&](Store& store) {
                store.value = to(store.value);
                if (store.at.computed) store.at.computed = to(store.at.computed);
            },
            [&](Prefetch& prefetch) {
                if (prefetch.at.computed) prefetch.at.computed = to(prefetch.at.computed);
            },
            [&](Fold& fold) {
                fold.value = to(fold.value);
                if (fold.place) fold.place = to(fold.place);
            },
            [](auto&) {});
}

namespace {

void rename_targets(Body& body, const std::vector<BufferId>& renamed) {
    for (Stmt& stmt : body) {
        if (auto* loop = std::get_if<Loop>(&stmt.node)) rename_targets(loop->body, renamed);
        if (auto* guard = std::get_if<Guard>(&stmt.node)) rename_targets(guard->body, renamed);
        if (auto* store = std::get_if<Store>(&stmt.node))
            store->buffer = renamed.at(std::size_t(store->buffer));
        if (auto* prefetch = std::get_if<Prefetch>(&stmt.node))
            prefetch->buffer = renamed.at(std::size_t(prefetch->buffer));
        if (auto* product = std::get_if<TileProduct>(&stmt.node)) {
            product->sum = renamed.at(std::size_t(product->sum));
            for (auto* sides : {&product->row_sides, &product->column_sides})
                for (TileSide& side : *sides) side.buffer = renamed.at(std::size_t(side.buffer));
        }
    }
}

}  // namespace

void for_each_buffer(const Body& body, const std::function<void(BufferId)>& visit) {
    for_each_store(body, [&](const Store& store) { visit(store.buffer); });
    for_each_tile_product(body, [&](const TileProduct& product) {
        visit(product.sum);
        for (const auto* sides : {&product.row_sides, &product.column_sides})
            for (const TileSide& side : *sides) visit(side.buffer);
    });
    for_each_value(body, [&](const Value& value) { visit_buffers(value, visit); });
}

void rename_buffers(Body& body, const std::vector<BufferId>& renamed) {
    rename_targets(body, renamed);
    rewrite_values(body, [&](const Value& value) { return renamed_value(value, renamed); });
}

void substitute(Body& body, Substitution& to) {
    for (Stmt& stmt : body)
        match(
            stmt.node,
            [&](Loop& loop) {
                loop.lower = to(loop.lower);
                loop.upper = to(loop.upper);
                substitute(loop.body, to);
            },
            [&](Guard& guard) {
                guard.condition = to(guard.condition);
                substitute(guard.body, to);
            },
            [&](Let& let) { let.value = to(let.value); },
            [&](LetBound& let) { let.value = to(let.value); },
            [&](LetVar& let) { let.form = to(let.form); },
            [&](Store& store) {
                store.at = to(store.at);
                store.value = to(store.value);
            },
            [&](Fold& fold) {
                fold.value = to(fold.value);
                if (fold.place) fold.place = to(fold.place);
            },
            [&](Prefetch& prefetch) { prefetch.at = to(prefetch.at); },
            [&](TileProduct& product) {
                product.at = to(product.at);
                product.blocks = to(product.blocks);
                for (auto* sides : {&product.row_sides, &product.column_sides})
                    for (TileSide& side : *sides) side.at = to(side.at);
            },
            [](auto&) {});
}

void for_each_node(const std::vector<Value>& roots,
                   const std::function<void(const Value&)>& visit) {
    std::unordered_set<const ValueNode*> seen;
    std::vector<Value> pending = roots;
    while (!pending.empty()) {
        const Value value = pending.back();
        pending.pop_back();
        if (!value || !seen.insert(value.get()).second) continue;
        visit(value);
        for (Value& operand : operands(value)) pending.push_back(std::move(operand));
    }
}

}  // namespace ricci::codegen
