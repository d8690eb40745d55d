// dsl/convert.h – expressions of the syntax tree to interned terms, in the scope of a statement
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/infer.h"
#include "dsl/symbols.h"

namespace ricci {

/// Sets a member for the time of a scope.
template <class T>
class Scoped {
  public:
    Scoped(T& member, T value)
        : member_(member), before_(std::exchange(member, std::move(value))) {}
    ~Scoped() { member_ = std::move(before_); }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

  private:
    T& member_;
    T before_;
};

/// Converts the expressions of one statement. Names free in the right side (not bound by the target
/// or a reducer) get one provisional index each, which implied sums then bind.
class Converter {
  public:
    Converter(Program& program, const Symbols& symbols, const ast::Statement& statement);

    /// Binds a name of the target. Several slots may name one index.
    IndexId bind_target(const std::string& name, Span span);
    /// A value: indices, scalars, accesses, reducers allowed.
    [[nodiscard]] Expr value(const ast::ExprPtr& e);
    /// A subscript of dimension `dimension` of `tensor`. Of a padded one that reads something that
    /// is no literal outside of the array, `value` is that; otherwise it is left alone.
    [[nodiscard]] Expr subscript(const ast::ExprPtr& e, TensorId tensor, int dimension,
                                 Expr& value);
    /// A bound of a range: literals, sizes and scalars only.
    [[nodiscard]] Expr bound(const ast::ExprPtr& e);
    /// Gives the index the `where` range of its name, if there is one.
    void apply_where(IndexId index);
    /// Throws: `range` for a `where` range that no binding took.
    void check_where_used() const;

    [[nodiscard]] const std::vector<IndexId>& target_indices() const { return target_indices_; }
    /// Bindings of explicit reducers, in reading order.
    [[nodiscard]] const std::vector<Binding>& reducer_bindings() const { return reducers_; }
    /// Where terms stand in the source.
    [[nodiscard]] const ExprMap<Span>& spans() const { return spans_; }
    [[nodiscard]] const ExprMap<AccessSpans>& access_spans() const { return access_spans_; }
    [[nodiscard]] Span provisional_span(IndexId index) const;

  private:
    struct Place {
        TensorId tensor;
        int dimension;
    };
    Expr convert(const ast::ExprPtr& e);
    Expr convert_node(const ast::Expr& e);
    Expr number(const ast::Number& n, Span span);
    Expr name(const ast::Name& n, Span span);
    Expr binary_chain(const ast::Expr& e);
    Expr access(const ast::Access& a, Span span);
    Expr modified(const ast::Call& c, Outside outside, Span span, Expr& value);
    Expr width(const ast::ExprPtr& e);
    void check_subscript(Expr subscript, Span span) const;
    void check_subscript_node(Expr e, bool is_gathered, Span span) const;
    Expr with_values_outside(TensorId tensor, std::vector<Expr> at, std::vector<Expr> values,
                             AccessSpans spans);
    Expr call(const ast::Call& c, Span span);
    Expr size(const ast::Call& c, Span span);
    Expr inlined(const ast::Def& def, const ast::Call& c, Span span);
    Expr reduce(const ast::Reduce& r, Span span);
    Expr local(const std::string& name, Span span);
    void set_range(IndexId index, const ast::Bound& range, Span span);
    std::optional<IndexId> bound_index(const std::string& name) const;
    IndexId provisional(const std::string& name, Span span);
    void count_index(const std::string& name, Span span);
    Expr in_scope(Expr value);
    [[nodiscard]] std::pair<std::int64_t, int> place_key() const;
    [[noreturn]] void fail(ErrorKind kind, std::string message, Span span,
                           std::string hint = {}) const;
    [[noreturn]] void unknown_function(const ast::Call& c) const;
    void refuse_in_def(const std::string& what, Span span) const;
    [[noreturn]] void wrong_arity(const ast::Call& c, std::string wanted) const;
    std::vector<ast::ExprPtr> in_order(const ast::Call& c, const OpInfo* row) const;

    Program& program_;
    Context& context_;
    const Symbols& symbols_;
    const ast::Statement& statement_;
    std::vector<IndexId> target_indices_;
    std::vector<IndexId> scope_;  ///< indices of enclosing reducers, innermost last
    std::vector<Binding> reducers_;
    std::map<std::string, std::pair<IndexId, Span>, std::less<>> provisional_;
    std::map<std::string, Expr, std::less<>> parameters_;         ///< of the def being inlined
    using LocalKey = std::tuple<std::string, std::int64_t, int>;  ///< name, subscript it stands in
    std::map<LocalKey, Expr> locals_;  ///< converted, over provisional indices
    /// The same with the indices of the reducers around: by node, then by those indices.
    std::map<std::pair<std::uint32_t, std::vector<IndexId>>, Expr> locals_in_scope_;
    /// Calls of definitions without reducers: by name, nodes of the arguments, and place.
    using CallKey = std::tuple<std::string, std::vector<std::uint32_t>, std::int64_t, int>;
    std::map<CallKey, Expr> calls_;
    std::map<std::string, const ast::WhereRange*, std::less<>> where_ranges_;
    std::map<std::string, const ast::WhereLocal*, std::less<>> where_locals_;
    std::set<std::string, std::less<>> where_used_;
    std::set<std::string, std::less<>> index_names_;
    std::uint32_t depth_ = 0;        ///< of the expression being converted
    std::vector<std::string> open_;  ///< locals and defs being inlined, outermost first
    std::optional<Place> place_;     ///< the subscript being converted
    bool in_bound_ = false;
    ExprMap<Span> spans_;
    ExprMap<AccessSpans> access_spans_;
};

}  // namespace ricci
