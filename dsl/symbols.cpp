// dsl/symbols.cpp – the names of a program: arrays, scalars, targets; and of a statement: indices
#include "dsl/symbols.h"

#include <algorithm>

#include "base/match.h"
#include "base/text.h"
#include "dsl/ast_walk.h"

namespace ricci {
bool is_constant(std::string_view name) noexcept {
    return name == "inf" || name == "nan" || name == "pi" || name == "true" || name == "false" ||
           name == "end";
}

Symbols::Symbols(Program& program, const ast::Program& tree) : program_(program) {
    for (const auto& item : tree.items) {
        const auto* def = std::get_if<ast::Def>(&item);
        if (!def) continue;
        if (find_function(def->name) || outside_from_name(def->name) ||
            dtype_from_name(def->name) || def->name == "size" ||
            !defs_.emplace(def->name, def).second)
            throw Error({.kind = ErrorKind::name,
                         .message = format("the function `{}` exists already", def->name),
                         .source = program.source,
                         .labels = {{def->name_span, ""}},
                         .hint = "choose another name"});
    }
}

const ast::Def* Symbols::def(std::string_view name) const {
    const auto found = defs_.find(name);
    return found == defs_.end() ? nullptr : found->second;
}

TensorId Symbols::tensor(std::string_view name) const {
    const auto found = latest_.find(name);
    RICCI_ASSERT(found != latest_.end(), "a name was not declared");
    return found->second;
}

void Symbols::for_each_name(const ast::ExprPtr& subscript, const NameVisitor& visit) const {
    Visited visited;
    for_each_name(subscript, visit, visited);
}

void Symbols::for_each_name(const ast::ExprPtr& subscript, const NameVisitor& visit,
                            Visited& visited) const {
    std::vector<ast::ExprPtr> waiting{subscript};
    while (!waiting.empty()) {
        const ast::ExprPtr root = waiting.back();
        waiting.pop_back();
        ast::walk(root, [&](const ast::Expr& e) {
            if (const auto* name = std::get_if<ast::Name>(&e.node)) {
                const auto local = locals_.find(name->name);
                if (local == locals_.end() || name->dollar)
                    visit(*name, e.span);
                else if (visited.locals.insert(name->name).second)
                    waiting.push_back(local->second);
            }
            if (std::holds_alternative<ast::Access>(e.node))
                return visited.accesses.insert(&e).second;
            const auto* call = std::get_if<ast::Call>(&e.node);
            if (!call || call->name == "size") return !call;
            if (outside_from_name(call->name) != Outside::pad) return true;
            // What is read outside is no part of the subscript.
            for (std::size_t n = 0; n < std::min<std::size_t>(call->args.size(), 3); ++n)
                if (call->args[n].keyword.empty()) waiting.push_back(call->args[n].value);
            return false;
        });
    }
}

void Symbols::collect_indices(const ast::Statement& statement) {
    indices_.clear();
    locals_.clear();
    for (const auto& clause : statement.where)
        match(
            clause, [&](const ast::WhereRange& range) { indices_.insert(range.name); },
            [&](const ast::WhereLocal& local) { locals_.emplace(local.name, local.value); });
    Visited visited;
    const auto names_of_subscript = [&](const ast::ExprPtr& subscript) {
        const auto insert = [&](const ast::Name& name, Span) {
            if (!name.dollar && !is_constant(name.name)) indices_.insert(name.name);
        };
        for_each_name(subscript, insert, visited);
    };
    for (const ast::Slot& slot : statement.target.slots)
        if (slot.expr) names_of_subscript(slot.expr);
    ast::for_each_root(statement, [&](const ast::ExprPtr& root) {
        ast::walk(root, [&](const ast::Expr& e) {
            const auto* access = std::get_if<ast::Access>(&e.node);
            if (access && visited.accesses.insert(&e).second)
                for (const ast::ExprPtr& subscript : access->at) names_of_subscript(subscript);
            if (const auto* reduce = std::get_if<ast::Reduce>(&e.node))
                for (const ast::ReduceIndex& index : reduce->indices) indices_.insert(index.name);
            return true;
        });
    });
}

void Symbols::declare(const ast::Statement& statement) {
    collect_indices(statement);
    if (statement.op != Assign::define) {
        const auto rank = static_cast<int>(statement.target.slots.size());
        if (rank == 0 && !statement.target.bracketed)
            declare_scalar(statement.target.name, statement.target.name_span);
        else
            declare_array(statement.target.name, rank, statement.target.name_span);
    }
    ast::for_each_root(statement, [&](const ast::ExprPtr& e) { declare_expr(e); });
    for (const std::string& name : indices_)
        if (const auto found = first_use_.find(name); found != first_use_.end()) {
            const bool is_array = program_.at(latest_.find(name)->second).rank != 0;
            if (is_array)
                throw Error({.kind = ErrorKind::name,
                             .message = format("`{}` is both an array and an index", name),
                             .source = program_.source,
                             .labels = {{found->second, "an array here"}},
                             .hint = "give the index another name"});
        }
}

void Symbols::declare_expr(const ast::ExprPtr& root) {
    ast::walk(root, [&](const ast::Expr& e) {
        if (const auto* access = std::get_if<ast::Access>(&e.node)) {
            const bool generic = std::ranges::any_of(
                access->at, [](auto& s) { return std::holds_alternative<ast::Ellipsis>(s->node); });
            if (!generic)
                declare_array(access->name, static_cast<int>(access->at.size()), access->name_span);
        } else if (const auto* call = std::get_if<ast::Call>(&e.node)) {
            if (call->name == "size" && !call->args.empty()) {
                const auto* name = std::get_if<ast::Name>(&call->args.front().value->node);
                if (name) declare_array(name->name, -1, call->args.front().value->span);
                return false;
            }
        } else if (const auto* name = std::get_if<ast::Name>(&e.node)) {
            const bool is_scalar =
                name->dollar || (!indices_.contains(name->name) && !is_constant(name->name) &&
                                 !locals_.contains(name->name));
            if (is_scalar) declare_scalar(name->name, e.span);
        }
        return true;
    });
}

void Symbols::two_ranks(const std::string& name, int rank, Span span) const {
    const int before = program_.at(tensor(name)).rank;
    const auto first = first_use_.find(name);
    std::vector<Label> labels{
        {span, plural(static_cast<std::size_t>(rank), "subscript") + " here"}};
    if (first != first_use_.end())
        labels.push_back(
            {first->second, plural(static_cast<std::size_t>(before), "subscript") + " here"});
    throw Error({.kind = ErrorKind::shape,
                 .message = format("`{}` has {} and {} subscripts", name, rank, before),
                 .source = program_.source,
                 .labels = std::move(labels),
                 .hint = before == 0
                             ? format("`{}` is a number: write it without brackets", name)
                             : format("give `{}` {} everywhere", name,
                                      plural(static_cast<std::size_t>(before), "subscript"))});
}

void Symbols::declare_array(const std::string& name, int rank, Span span) {
    const auto found = latest_.find(name);
    if (found == latest_.end()) {
        const TensorId id =
            program_.add(Tensor{.name = name, .rank = rank, .role = Role::argument, .span = span});
        program_.arguments.push_back(id);
        latest_[name] = id;
        first_use_[name] = span;
    } else if (Tensor& tensor = program_.tensors[position(found->second)]; tensor.rank == -1) {
        tensor.rank = rank;
        if (rank >= 0) first_use_[name] = tensor.span = span;
    } else if (rank >= 0 && rank != tensor.rank) {
        two_ranks(name, rank, span);
    }
    Tensor& tensor = program_.tensors[position(latest_[name])];
    if (tensor.role != Role::argument) return;
    for (int d = static_cast<int>(tensor.shape.size()); d < tensor.rank; ++d)
        tensor.shape.push_back(program_.context->size(latest_[name], d));
}

void Symbols::declare_scalar(const std::string& name, Span span) {
    const auto found = latest_.find(name);
    if (found == latest_.end()) {
        const TensorId id =
            program_.add(Tensor{.name = name, .rank = 0, .role = Role::scalar, .span = span});
        program_.arguments.push_back(id);
        latest_[name] = id;
        first_use_[name] = span;
    } else if (program_.at(found->second).rank != 0) {
        const auto first = first_use_.find(name);
        std::vector<Label> labels{{span, "no subscripts here"}};
        if (first != first_use_.end()) labels.push_back({first->second, "an array here"});
        throw Error({.kind = ErrorKind::name,
                     .message = format("`{}` is an array: it needs subscripts", name),
                     .source = program_.source,
                     .labels = std::move(labels),
                     .hint = format("write `{}[…]`, or give the number another name", name)});
    }
}

}  // namespace ricci
