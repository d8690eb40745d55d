// dsl/parse_expr.h – the grammar of expressions, by precedence climbing
#pragma once

#include <cstdint>

#include "dsl/ast.h"
#include "dsl/token_stream.h"

namespace ricci {

/// Parses expressions from a stream that it shares with the parser of statements.
class ExprParser {
  public:
    explicit ExprParser(TokenStream& tokens) : tokens_(tokens) {}

    /// `expr` of the grammar.
    ast::ExprPtr expression();
    /// `bound ":" bound` of a range. A bound is a sum: `?:` and comparisons need parentheses there.
    ast::Bound range();
    /// One subscript of an access or a target: an expression or `..`.
    ast::ExprPtr subscript();

  private:
    class Nesting;

    ast::ExprPtr nested();
    ast::ExprPtr binary(int weakest);
    ast::ExprPtr unary();
    ast::ExprPtr power();
    ast::ExprPtr primary();
    ast::ExprPtr grouped();
    ast::ExprPtr named();
    ast::ExprPtr access(const Token& name);
    ast::ExprPtr call(const Token& name);
    ast::Argument argument();
    ast::ExprPtr reduction(const Token& name);
    ast::ReduceIndex reduced_index();
    void reject_chain(const ast::Expr& first);
    [[noreturn]] void expected_operand() const;
    [[noreturn]] void no_reducer(const Token& name) const;

    TokenStream& tokens_;
    std::uint32_t nesting_ = 0;
};

}  // namespace ricci
