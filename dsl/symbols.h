// dsl/symbols.h – the names of a program: arrays, scalars, targets; and of a statement: indices
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "dsl/ast.h"
#include "dsl/program.h"

namespace ricci {

/// Arrays and scalars by name, with the version that a read means now.
class Symbols {
  public:
    Symbols(Program& program, const ast::Program& tree);

    /// Registers the arrays and scalars that a statement mentions, in reading order; an array that
    /// the statement updates first. Throws: `shape` when a name is used with two ranks, `name` when
    /// one name is two things.
    void declare(const ast::Statement& statement);

    /// Calls `visit` with the names in a subscript of the statement last declared, in reading
    /// order; locals are looked into. The array of a `size` is none of them.
    using NameVisitor = std::function<void(const ast::Name&, Span)>;
    void for_each_name(const ast::ExprPtr& subscript, const NameVisitor& visit) const;
    /// The names that are indices in the statement last declared.
    [[nodiscard]] const std::set<std::string, std::less<>>& indices() const { return indices_; }
    [[nodiscard]] const ast::Def* def(std::string_view name) const;
    /// The present version of a name. Throws: `internal` when it was not declared.
    [[nodiscard]] TensorId tensor(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const { return latest_.contains(name); }
    /// From now on the name means this version.
    void set(const std::string& name, TensorId id) { latest_[name] = id; }

  private:
    /// What was looked into: no part of a statement is looked into twice, nor for ever.
    struct Visited {
        std::set<std::string, std::less<>> locals;
        std::set<const ast::Expr*> accesses;
    };
    void for_each_name(const ast::ExprPtr& subscript, const NameVisitor& visit,
                       Visited& visited) const;
    void collect_indices(const ast::Statement& statement);
    void declare_expr(const ast::ExprPtr& root);
    void declare_array(const std::string& name, int rank, Span span);
    void declare_scalar(const std::string& name, Span span);
    [[noreturn]] void two_ranks(const std::string& name, int rank, Span span) const;

    Program& program_;
    std::map<std::string, TensorId, std::less<>> latest_;
    std::map<std::string, Span, std::less<>> first_use_;
    std::map<std::string, const ast::Def*, std::less<>> defs_;
    std::set<std::string, std::less<>> indices_;
    std::map<std::string, ast::ExprPtr, std::less<>> locals_;
};

/// Whether the name is a constant of the language (`inf nan pi true false`).
[[nodiscard]] bool is_constant(std::string_view name) noexcept;

}  // namespace ricci
