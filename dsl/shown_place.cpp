// dsl/shown_place.cpp – terms as the user wrote them, and where: for messages about typed programs
#include "dsl/shown_place.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/ast_walk.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The only equation that makes the temporary, or nothing.
const Equation* definition(const Program& program, TensorId id) {
    if (program.at(id).role != Role::temporary) return nullptr;
    const auto found = std::ranges::find(program.equations, id, &Equation::target);
    return found != program.equations.end() && found->op == Assign::define ? &*found : nullptr;
}

/// What the temporary's element is, where its place is named by indices alone.
std::optional<Expr> value_at(const Program& program, const Access& access) {
    const Equation* made = definition(program, access.tensor);
    if (made == nullptr) return std::nullopt;
    std::unordered_map<std::uint32_t, Expr> replacement;
    for (std::size_t d = 0; d < made->at.size(); ++d) {
        const auto* index = std::get_if<IndexValue>(&made->at[d]->term);
        if (index == nullptr) return std::nullopt;
        if (!replacement.emplace(std::uint32_t(index->index), access.at[d]).second)
            return std::nullopt;
    }
    return substitute_indices(*program.context, made->value, replacement);
}

std::string_view spelling(const Token& token) { return token.text == "**" ? "^" : token.text; }

bool same_words(std::span<const Token> a, std::span<const Token> b) {
    return std::ranges::equal(a, b, {}, spelling, spelling);
}

/// Whether the tokens are the words, but for parentheses around all of them.
bool says(std::span<const Token> tokens, std::span<const Token> words) {
    while (tokens.size() > words.size() && tokens.front().text == "(")
        tokens = tokens.subspan(1, tokens.size() - 2);
    return same_words(tokens, words);
}

const ast::Statement* statement_at(const ast::Program& tree, Span span) {
    for (const auto& item : tree.items)
        if (const auto* statement = std::get_if<ast::Statement>(&item);
            statement && statement->span == span)
            return statement;
    return nullptr;
}

/// The tokens that begin inside of the span.
std::span<const Token> tokens_in(const std::vector<Token>& tokens, Span span) {
    const auto begin_of = [](const Token& token) { return token.span.begin; };
    const auto first = std::ranges::lower_bound(tokens, span.begin, {}, begin_of);
    const auto last = std::ranges::lower_bound(tokens, span.end, {}, begin_of);
    return {first, last};
}

}  // namespace

Expr in_users_terms(const Program& program, Expr e) {
    // A temporary may be made of others, each of an earlier one.
    constexpr int deepest = 16;
    for (int n = 0; n < deepest; ++n) {
        const Expr before = e;
        e = rewrite(*program.context, e, [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            const auto value = access ? value_at(program, *access) : std::nullopt;
            return value.value_or(node);
        });
        if (e == before) break;
    }
    return e;
}

Span shown_place(const Program& program, Span statement, Expr e) {
    if (!program.source || statement.is_empty()) return statement;
    const std::string text = brief(program, in_users_terms(program, e));
    if (text.find("…") != std::string::npos) return statement;
    const SourcePtr printed = make_source(text);
    std::vector<Token> wanted = lex(printed);
    wanted.pop_back();  // the end
    const ast::Program tree = ast::parse(program.source);
    const ast::Statement* found = statement_at(tree, statement);
    if (found == nullptr) return statement;
    const std::vector<Token> tokens = lex(program.source);
    Span place = statement;
    ast::for_each_root(*found, [&](const ast::ExprPtr& root) {
        ast::walk(root, [&](const ast::Expr& node) {
            if (place == statement && says(tokens_in(tokens, node.span), wanted)) place = node.span;
            return place == statement;
        });
    });
    return place;
}

}  // namespace ricci
