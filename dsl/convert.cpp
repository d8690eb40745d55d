// dsl/convert.cpp – expressions of the syntax tree to interned terms, in the scope of a statement
#include "dsl/convert.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numbers>
#include <ranges>

#include "base/match.h"
#include "base/shape.h"
#include "base/text.h"
#include "dsl/implied_sums.h"

namespace ricci {
namespace {

constexpr std::size_t max_indices = 32;       // of different names
constexpr std::size_t max_bindings = 10'000;  // of reducers, definitions inlined
constexpr std::uint32_t max_depth = 2'000;

std::optional<Op> table_op(ast::BinaryOp op) {
    switch (op) {
        case ast::BinaryOp::logical_or:  return Op::logical_or;
        case ast::BinaryOp::logical_and: return Op::logical_and;
        case ast::BinaryOp::eq:          return Op::eq;
        case ast::BinaryOp::ne:          return Op::ne;
        case ast::BinaryOp::lt:          return Op::lt;
        case ast::BinaryOp::le:          return Op::le;
        case ast::BinaryOp::gt:          return Op::gt;
        case ast::BinaryOp::ge:          return Op::ge;
        case ast::BinaryOp::div:         return Op::div;
        case ast::BinaryOp::floordiv:    return Op::floordiv;
        case ast::BinaryOp::mod:         return Op::mod;
        case ast::BinaryOp::pow:         return Op::pow;
        case ast::BinaryOp::add:
        case ast::BinaryOp::sub:
        case ast::BinaryOp::mul:         return std::nullopt;  // n-ary: gathered by binary_chain
    }
    return std::nullopt;
}

}  // namespace

Converter::Converter(Program& program, const Symbols& symbols, const ast::Statement& statement)
    : program_(program), context_(*program.context), symbols_(symbols), statement_(statement) {
    for (const auto& clause : statement.where)
        match(
            clause,
            [&](const ast::WhereRange& range) {
                if (!where_ranges_.emplace(range.name, &range).second)
                    fail(ErrorKind::range, format("`{}` is given two ranges", range.name),
                         range.span, "keep one of them");
            },
            [&](const ast::WhereLocal& local) {
                if (!where_locals_.emplace(local.name, &local).second)
                    fail(ErrorKind::name, format("`{}` is given two values", local.name),
                         local.span, "keep one of them, or give them different names");
            });
}

void Converter::fail(ErrorKind kind, std::string message, Span span, std::string hint) const {
    throw Error({.kind = kind,
                 .message = std::move(message),
                 .source = program_.source,
                 .labels = {{span, ""}},
                 .hint = std::move(hint)});
}

/// Functions of the user depend on their parameters alone.
void Converter::refuse_in_def(const std::string& what, Span span) const {
    if (open_.empty() || !symbols_.def(open_.back())) return;
    fail(ErrorKind::name, format("the function `{}` reads {}", open_.back(), what), span,
         "pass it as an argument");
}

Expr Converter::value(const ast::ExprPtr& e) { return convert(e); }

namespace {

bool is_integer_arithmetic(Op op) {
    return op == Op::add || op == Op::neg || op == Op::mul || op == Op::floordiv || op == Op::mod ||
           op == Op::min || op == Op::max;
}

}  // namespace

Expr Converter::bound(const ast::ExprPtr& e) {
    const Scoped in_bound(in_bound_, true);
    const Expr result = convert(e);
    // A local may have been converted before, outside of any bound.
    const bool is_constant = free_indices(result).empty() && !contains(result, [](Expr node) {
                                 const auto* read = std::get_if<Access>(&node->term);
                                 return read && !read->at.empty();
                             });
    if (!is_constant)
        fail(ErrorKind::range, "the bound of a range depends on elements or indices", e->span,
             "bounds are made of literals, sizes and scalars");
    const auto is_fraction = [](Expr node) {
        const auto* literal = std::get_if<Literal>(&node->term);
        if (literal) return !std::holds_alternative<std::int64_t>(literal->value);
        const auto* apply = std::get_if<Apply>(&node->term);
        return apply && !is_integer_arithmetic(apply->op);
    };
    if (contains(result, is_fraction))
        fail(ErrorKind::type, "the bound of a range is an integer term", e->span,
             "use `+`, `-`, `*`, `//`, `%` of whole numbers, sizes and scalars");
    return result;
}

IndexId Converter::bind_target(const std::string& name, Span span) {
    for (IndexId id : target_indices_)
        if (program_.at(id).name == name) return id;
    const IndexId id = provisional(name, span);
    target_indices_.push_back(id);
    apply_where(id);
    return id;
}

void Converter::apply_where(IndexId index) {
    const auto found = where_ranges_.find(program_.at(index).name);
    if (found == where_ranges_.end()) return;
    where_used_.insert(found->first);
    set_range(index, found->second->range, found->second->span);
}

void Converter::set_range(IndexId index, const ast::Bound& range, Span span) {
    const Expr lower = bound(range.lower);
    const Expr upper = bound(range.upper);
    Index& entry = program_.indices[position(index)];
    entry.lower = lower;
    entry.upper = upper;
    entry.is_explicit = true;
    program_.requirements.push_back(
        {.kind = Requirement::Kind::not_empty,
         .a = lower,
         .b = upper,
         .indices = {},
         .condition = Expr(),
         .otherwise = {.kind = ErrorKind::range,
                       .message = format("the range of `{}` is empty: {{a}}:{{b}}", entry.name),
                       .source = program_.source,
                       .labels = {{span, ""}},
                       .hint = "ranges are half-open: the first bound is below the second"}});
}

void Converter::check_where_used() const {
    for (const auto& clause : statement_.where) {
        const auto* range = std::get_if<ast::WhereRange>(&clause);
        if (range && !where_used_.contains(range->name))
            fail(ErrorKind::range, format("the statement has no index `{}`", range->name),
                 range->span, "take the range out, or use the index");
    }
}

Span Converter::provisional_span(IndexId index) const {
    const auto found = provisional_.find(program_.at(index).name);
    return found == provisional_.end() ? Span{} : found->second.second;
}

IndexId Converter::provisional(const std::string& name, Span span) {
    const auto found = provisional_.find(name);
    if (found != provisional_.end()) return found->second.first;
    count_index(name, span);
    const IndexId id = program_.add(Index{.name = name, .lower = Expr(), .upper = Expr()});
    provisional_.emplace(name, std::pair(id, span));
    return id;
}

void Converter::count_index(const std::string& name, Span span) {
    index_names_.insert(name);
    if (index_names_.size() > max_indices)
        fail(ErrorKind::limit,
             format("the statement has more than {} indices: `{}` is one more", max_indices, name),
             span, "split it into several statements");
}

/// The subscript that is converted, where there is one.
std::pair<std::int64_t, int> Converter::place_key() const {
    return place_ ? std::pair(std::int64_t(position(place_->tensor)), place_->dimension)
                  : std::pair(std::int64_t(-1), 0);
}

std::optional<IndexId> Converter::bound_index(const std::string& name) const {
    for (const IndexId id : scope_ | std::views::reverse)
        if (program_.at(id).name == name) return id;
    return std::nullopt;
}

Expr Converter::convert(const ast::ExprPtr& e) {
    // The parser bounds the nesting of one expression; definitions and locals add up.
    const Scoped deeper(depth_, depth_ + 1);
    if (depth_ > max_depth)
        fail(ErrorKind::limit,
             format("the expression is nested more than {} deep, definitions and locals inlined",
                    max_depth),
             e->span, "compute a part of it in a statement of its own");
    const Expr result = convert_node(*e);
    spans_.emplace(result, e->span);
    return result;
}

Expr Converter::convert_node(const ast::Expr& e) {
    return match(
        e.node, [&](const ast::Number& n) { return number(n, e.span); },
        [&](const ast::Name& n) { return name(n, e.span); },
        [&](const ast::Unary& n) { return context_.apply(n.op, {convert(n.a)}); },
        [&](const ast::Binary&) { return binary_chain(e); },
        [&](const ast::Conditional& n) {
            const Expr condition = convert(n.condition);
            const Expr yes = convert(n.yes);
            return context_.apply(Op::select, {condition, yes, convert(n.no)});
        },
        [&](const ast::Ellipsis&) -> Expr { RICCI_ASSERT(false, "`..` has not been written out"); },
        [&](const ast::Access& n) { return access(n, e.span); },
        [&](const ast::Call& n) { return call(n, e.span); },
        [&](const ast::Reduce& n) { return reduce(n, e.span); });
}

Expr Converter::number(const ast::Number& n, Span span) {
    const char* begin = n.text.data();
    const char* end = begin + n.text.size();
    if (n.text.ends_with('i')) {
        double size = 0;
        const auto read = std::from_chars(begin, end - 1, size);
        if (read.ec == std::errc() && read.ptr == end - 1)
            return context_.literal(std::complex<double>(0, size));
        fail(ErrorKind::limit, format("the number {} is out of the range of c128", n.text), span);
    }
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(begin, end, whole); read.ptr == end) {
        if (read.ec == std::errc()) return context_.integer(whole);
        fail(ErrorKind::limit, format("the integer {} is above 2^63 - 1", n.text), span,
             format("write it as a floating number: {}.0", n.text));
    }
    double real = 0;
    const auto read = std::from_chars(begin, end, real);
    if (read.ec != std::errc() || read.ptr != end)
        fail(ErrorKind::limit, format("the number {} is out of the range of f64", n.text), span,
             "write `inf`, or 0");
    return context_.literal(real);
}

Expr Converter::name(const ast::Name& n, Span span) {
    if (!n.dollar) {
        if (n.name == "inf") return context_.literal(std::numeric_limits<double>::infinity());
        if (n.name == "nan") return context_.literal(std::numeric_limits<double>::quiet_NaN());
        if (n.name == "pi") return context_.literal(std::numbers::pi);
        if (n.name == "true" || n.name == "false") return context_.literal(n.name == "true");
        if (n.name == "end") {
            if (!place_)
                fail(ErrorKind::syntax, "`end` stands only in a subscript", span,
                     "write `size(A, d) - 1`");
            const Expr extent =
                program_.at(place_->tensor).shape.at(std::size_t(place_->dimension));
            return context_.sub(extent, context_.integer(1));
        }
        if (const auto found = parameters_.find(n.name); found != parameters_.end())
            return found->second;
        if (!open_.empty() && symbols_.def(open_.back()))
            fail(ErrorKind::name, format("`{}` is no parameter of `{}`", n.name, open_.back()),
                 span, "pass it as an argument");
        if (where_locals_.contains(n.name)) return local(n.name, span);
        if (symbols_.indices().contains(n.name)) {
            if (in_bound_)
                fail(ErrorKind::range, format("the bound of a range uses the index `{}`", n.name),
                     span,
                     "bounds are made of literals, sizes and scalars; put the rest in a "
                     "condition: `sum[k | k <= i](…)`");
            if (const auto id = bound_index(n.name)) return context_.index(*id);
            return context_.index(provisional(n.name, span));
        }
    }
    refuse_in_def(format("the scalar `{}`", n.name), span);
    return context_.access(symbols_.tensor(n.name), {});
}

/// A left-deep chain of operators of one level, gathered without recursion: programs may be long.
Expr Converter::binary_chain(const ast::Expr& e) {
    std::vector<const ast::Binary*> spine;
    std::vector<Span> spans;
    const ast::Expr* left = &e;
    while (const auto* binary = std::get_if<ast::Binary>(&left->node)) {
        if (left != &e && left->parenthesised) break;
        spine.push_back(binary);
        spans.push_back(left->span);
        left = binary->a.get();
        if (!std::holds_alternative<ast::Binary>(left->node) || left->parenthesised) break;
    }
    Expr result = convert(spine.back()->a);
    std::size_t n = spine.size();
    const auto is_sum = [](const ast::Binary& b) {
        return b.op == ast::BinaryOp::add || b.op == ast::BinaryOp::sub;
    };
    while (n > 0) {
        const ast::Binary& binary = *spine[n - 1];
        std::vector<Expr> args{result};
        if (is_sum(binary)) {
            for (; n > 0 && is_sum(*spine[n - 1]); --n) {
                const Expr part = convert(spine[n - 1]->b);
                const bool minus = spine[n - 1]->op == ast::BinaryOp::sub;
                args.push_back(minus ? context_.neg(part) : part);
            }
            result = context_.apply(Op::add, std::move(args));
        } else if (binary.op == ast::BinaryOp::mul) {
            for (; n > 0 && spine[n - 1]->op == ast::BinaryOp::mul; --n)
                args.push_back(convert(spine[n - 1]->b));
            result = context_.apply(Op::mul, std::move(args));
        } else {
            args.push_back(convert(binary.b));
            result = context_.apply(*table_op(binary.op), std::move(args));
            --n;
        }
        spans_.emplace(result, spans[n]);
    }
    return result;
}

Expr Converter::inlined(const ast::Def& def, const ast::Call& c, Span span) {
    if (std::ranges::find(open_, def.name) != open_.end())
        fail(ErrorKind::name, format("the function `{}` calls itself", def.name), span,
             "write it without itself: a reducer such as `sum[k in 0:n](…)` repeats");
    if (c.args.size() != def.parameters.size())
        wrong_arity(c, plural(def.parameters.size(), "argument"));
    const auto [tensor, dimension] = place_key();
    CallKey key{def.name, {}, tensor, dimension};
    std::map<std::string, Expr, std::less<>> arguments;
    for (std::size_t n = 0; n < c.args.size(); ++n) {
        const Expr argument = convert(c.args[n].value);
        arguments.emplace(def.parameters[n], argument);
        std::get<1>(key).push_back(argument->id);
    }
    if (const auto found = calls_.find(key); found != calls_.end()) return found->second;
    const std::size_t reducers = reducers_.size();
    const Scoped parameters(parameters_, std::move(arguments));
    open_.push_back(def.name);
    Expr result = convert(def.value);
    open_.pop_back();
    const bool is_sum = is_apply(result, Op::add) || is_apply(result, Op::neg);
    if (is_sum && !place_ && !in_bound_) result = grouped(context_, result);
    // Reducers have indices of their own, each time.
    if (reducers_.size() == reducers && !in_bound_) calls_.emplace(std::move(key), result);
    return result;
}

Expr Converter::local(const std::string& name, Span span) {
    if (std::ranges::find(open_, name) != open_.end())
        fail(ErrorKind::name, format("the local `{}` is defined by itself", name), span);
    // `end` in it is that of the subscript it stands in.
    const auto [tensor, dimension] = place_key();
    const LocalKey key{name, tensor, dimension};
    Expr value;
    if (const auto found = locals_.find(key); found != locals_.end()) {
        value = found->second;
    } else {
        // Outside of every reducer; uses are renamed below.
        const Scoped no_scope(scope_, {});
        const Scoped no_parameters(parameters_, {});
        open_.push_back(name);
        value = convert(where_locals_.at(name)->value);
        open_.pop_back();
        locals_.emplace(key, value);
    }
    return in_scope(value);
}

/// A local is inlined: an index that an enclosing reducer binds means that reducer's.
Expr Converter::in_scope(Expr value) {
    std::vector<IndexId> renamed;
    std::unordered_map<std::uint32_t, Expr> bound;
    for (IndexId id : scope_)
        if (const auto outer = provisional_.find(program_.at(id).name);
            outer != provisional_.end()) {
            bound[static_cast<std::uint32_t>(outer->second.first)] = context_.index(id);
            renamed.push_back(id);
        }
    if (bound.empty()) return value;
    const auto [found, is_new] = locals_in_scope_.emplace(std::pair(value->id, renamed), Expr());
    if (!is_new) return found->second;
    const Expr result = substitute_indices(context_, value, bound);
    for (Expr e : postorder({value}))
        if (const auto spans = access_spans_.find(e); spans != access_spans_.end())
            access_spans_.emplace(substitute_indices(context_, e, bound),
                                  AccessSpans(spans->second));
    return found->second = result;
}

Expr Converter::reduce(const ast::Reduce& r, Span span) {
    if (in_bound_) fail(ErrorKind::range, "the bound of a range is a reduction", span);
    std::vector<IndexId> indices;
    for (const ast::ReduceIndex& index : r.indices) {
        const bool is_target = std::ranges::any_of(
            target_indices_, [&](IndexId id) { return program_.at(id).name == index.name; });
        if (is_target || bound_index(index.name))
            fail(ErrorKind::name, format("`{}` is bound already", index.name), index.span,
                 is_target ? "the target binds it: give the reducer's index another name"
                           : "an enclosing reducer binds it: give one of them another name");
        count_index(index.name, index.span);
        if (reducers_.size() == max_bindings)
            fail(ErrorKind::limit, format("the statement has more than {} reducers", max_bindings),
                 index.span, "split it into several statements");
        const IndexId id =
            program_.add(Index{.name = index.name, .lower = Expr(), .upper = Expr()});
        if (index.range) {
            set_range(id, *index.range, index.span);
        } else {
            apply_where(id);
        }
        indices.push_back(id);
        scope_.push_back(id);
        reducers_.push_back({id, Binding::Kind::reducer, index.span});
    }
    if (indices.size() > 1 && (r.reducer == Reducer::argmax || r.reducer == Reducer::argmin))
        fail(ErrorKind::syntax,
             format("`{}` takes one index, not {}", ricci::name(r.reducer), indices.size()),
             r.name_span);
    const Expr condition = r.condition ? convert(r.condition) : Expr();
    const Expr body = convert(r.body);
    scope_.resize(scope_.size() - indices.size());
    return context_.reduce(r.reducer, std::move(indices), condition, body);
}

}  // namespace ricci
