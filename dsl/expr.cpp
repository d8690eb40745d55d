// dsl/expr.cpp – interning of terms, and building with light clean-up
#include "dsl/expr.h"

#include <bit>
#include <deque>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"

namespace ricci {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) noexcept {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
}

std::uint64_t bits(const Number& number) noexcept {
    std::uint64_t hash = number.index();
    match(
        number, [&](bool v) { mix(hash, v ? 1 : 0); },
        [&](std::int64_t v) { mix(hash, static_cast<std::uint64_t>(v)); },
        [&](double v) { mix(hash, std::bit_cast<std::uint64_t>(v)); },
        [&](const std::complex<double>& v) {
            mix(hash, std::bit_cast<std::uint64_t>(v.real()));
            mix(hash, std::bit_cast<std::uint64_t>(v.imag()));
        });
    return hash;
}

bool same_bits(const Number& a, const Number& b) noexcept {
    return a.index() == b.index() && bits(a) == bits(b);
}

std::uint64_t id_of(Expr e) noexcept { return e ? e->id + 1U : 0U; }

std::uint64_t hash_of(const Term& term, DType dtype) {
    std::uint64_t hash = term.index() * 31 + static_cast<std::uint64_t>(dtype);
    match(
        term, [&](const Literal& t) { mix(hash, bits(t.value)); },
        [&](const IndexValue& t) { mix(hash, position(t.index)); },
        [&](const Size& t) {
            mix(hash, position(t.tensor));
            mix(hash, static_cast<std::uint64_t>(t.dimension));
        },
        [&](const Access& t) {
            mix(hash, position(t.tensor));
            for (Expr e : t.at) mix(hash, id_of(e));
        },
        [&](const Apply& t) {
            mix(hash, static_cast<std::uint64_t>(t.op));
            for (Expr e : t.args) mix(hash, id_of(e));
        },
        [&](const Reduce& t) {
            mix(hash, static_cast<std::uint64_t>(t.reducer));
            for (IndexId i : t.indices) mix(hash, position(i));
            mix(hash, id_of(t.condition));
            mix(hash, id_of(t.body));
        },
        [&](const Cast& t) {
            mix(hash, id_of(t.a));
            mix(hash, t.wraps ? 1 : 0);
        },
        [&](const Modified& t) {
            mix(hash, static_cast<std::uint64_t>(t.outside));
            for (Expr e : {t.at, t.low, t.high, t.value}) mix(hash, id_of(e));
        });
    return hash;
}

bool same(const Term& a, const Term& b) {
    if (a.index() != b.index()) return false;
    return match(
        a, [&](const Literal& t) { return same_bits(t.value, std::get<Literal>(b).value); },
        [&](const IndexValue& t) { return t.index == std::get<IndexValue>(b).index; },
        [&](const Size& t) {
            const auto& u = std::get<Size>(b);
            return t.tensor == u.tensor && t.dimension == u.dimension;
        },
        [&](const Access& t) {
            const auto& u = std::get<Access>(b);
            return t.tensor == u.tensor && t.at == u.at;
        },
        [&](const Apply& t) {
            const auto& u = std::get<Apply>(b);
            return t.op == u.op && t.args == u.args;
        },
        [&](const Reduce& t) {
            const auto& u = std::get<Reduce>(b);
            return t.reducer == u.reducer && t.indices == u.indices && t.condition == u.condition &&
                   t.body == u.body;
        },
        [&](const Cast& t) {
            const auto& u = std::get<Cast>(b);
            return t.a == u.a && t.wraps == u.wraps;
        },
        [&](const Modified& t) {
            const auto& u = std::get<Modified>(b);
            return t.outside == u.outside && t.at == u.at && t.low == u.low && t.high == u.high &&
                   t.value == u.value;
        });
}

/// Whether an unbound term could be of type bool, where `x*1` and `x` differ in type.
bool may_be_bool(Expr e) {
    if (e->dtype != DType::none) return e->dtype == DType::boolean;
    if (const auto* literal = std::get_if<Literal>(&e->term))
        return std::holds_alternative<bool>(literal->value);
    if (const auto* apply = std::get_if<Apply>(&e->term)) {
        if (info(apply->op).type == TypeRule::boolean) return true;
        return apply->op == Op::select || apply->op == Op::min || apply->op == Op::max ||
               apply->op == Op::clamp;
    }
    return std::holds_alternative<Access>(e->term) || std::holds_alternative<Reduce>(e->term);
}

std::optional<std::int64_t> integer_value(Expr e) {
    if (const auto* literal = std::get_if<Literal>(&e->term))
        if (const auto* value = std::get_if<std::int64_t>(&literal->value)) return *value;
    return std::nullopt;
}

std::optional<double> real_value(Expr e) {
    if (const auto* literal = std::get_if<Literal>(&e->term))
        if (const auto* value = std::get_if<double>(&literal->value)) return *value;
    return std::nullopt;
}

}  // namespace

/// Nodes in order of creation, found by their hash: open addressing, since nothing is ever removed.
struct Context::Table {
    std::deque<Node> nodes;
    std::vector<const Node*> slots = std::vector<const Node*>(64);
    std::size_t weight = 0;  ///< nodes, the operands of sums and products counted one by one
    std::size_t limit = max_nodes;

    /// The slot of an equal node, or the empty one where it belongs.
    const Node*& slot(std::uint64_t hash, const Term& term, DType dtype) {
        const std::size_t mask = slots.size() - 1;
        for (std::size_t n = hash & mask;; n = (n + 1) & mask) {
            const Node* const node = slots[n];
            const bool is_found = node == nullptr || (node->hash == hash && node->dtype == dtype &&
                                                      same(node->term, term));
            if (is_found) return slots[n];
        }
    }
    void grow() {
        std::vector<const Node*> larger(slots.size() * 2);
        const std::size_t mask = larger.size() - 1;
        for (const Node& node : nodes) {
            std::size_t n = node.hash & mask;
            while (larger[n] != nullptr) n = (n + 1) & mask;
            larger[n] = &node;
        }
        slots = std::move(larger);
    }
};

Context::Context() : table_(std::make_unique<Table>()) {}
Context::~Context() = default;

std::size_t Context::size() const noexcept { return table_->nodes.size(); }
void Context::set_limit(std::size_t nodes) noexcept { table_->limit = nodes; }

Expr Context::intern(Term term, DType dtype) {
    const std::uint64_t hash = hash_of(term, dtype);
    if (const Node* const known = table_->slot(hash, term, dtype)) return Expr(known);
    // A sum of n terms counts as the n-1 operations that it stands for.
    const auto* const apply = std::get_if<Apply>(&term);
    table_->weight += apply != nullptr && apply->args.size() > 2 ? apply->args.size() - 1 : 1;
    if (table_->weight > table_->limit) refuse_too_many_nodes(table_->limit);
    if (2 * (table_->nodes.size() + 1) > table_->slots.size()) table_->grow();
    const Node*& place = table_->slot(hash, term, dtype);
    const auto id = static_cast<std::uint32_t>(table_->nodes.size());
    table_->nodes.push_back(Node{std::move(term), dtype, id, hash});
    place = &table_->nodes.back();
    return Expr(place);
}

void refuse_too_many_nodes(std::size_t limit) {
    throw Error({.kind = ErrorKind::limit,
                 .message = format("the program has more than {} terms, shared ones counted once "
                                   "and definitions and locals inlined",
                                   limit),
                 .source = nullptr,
                 .labels = {},
                 .hint = "split the program, or give shared parts statements of their own"});
}

Expr Context::literal(Number value, DType dtype) { return intern(Literal{value}, dtype); }
Expr Context::index(IndexId index) { return intern(IndexValue{index}); }
Expr Context::size(TensorId tensor, int dimension) { return intern(Size{tensor, dimension}); }
Expr Context::access(TensorId tensor, std::vector<Expr> at, DType dtype) {
    return intern(Access{tensor, std::move(at)}, dtype);
}
Expr Context::reduce(Reducer reducer, std::vector<IndexId> indices, Expr condition, Expr body,
                     DType dtype) {
    if (condition && is_literal(condition, 1) &&
        std::holds_alternative<bool>(std::get<Literal>(condition->term).value))
        condition = Expr();
    return intern(Reduce{reducer, std::move(indices), condition, body}, dtype);
}

Expr Context::cast(Expr a, DType dtype, bool wraps) {
    if (a->dtype == dtype) return a;
    // Where nothing is lost there is one conversion.
    return intern(Cast{a, wraps && is_integer(a->dtype) && promote(a->dtype, dtype) != dtype},
                  dtype);
}

Expr Context::logical_and(Expr a, Expr b) {
    if (!a) return b;
    if (!b || a == b) return a;
    return apply(Op::logical_and, {a, b}, bound_type(a));
}

namespace {

/// The operands of a sum or product with nested ones of the same operation taken apart, unless
/// there were many: a term that is used twice, and that twice again, is not to be written out.
std::vector<Expr> flatten(Op op, const std::vector<Expr>& args, DType dtype) {
    constexpr std::size_t most = 64;
    const auto nested = [&](Expr e) {
        const auto* inner = e->dtype == dtype ? std::get_if<Apply>(&e->term) : nullptr;
        return inner && inner->op == op ? inner : nullptr;
    };
    std::size_t count = 0;
    bool is_nested = false;
    for (Expr e : args) {
        const auto* inner = nested(e);
        count += inner ? inner->args.size() : 1;
        is_nested |= inner != nullptr;
    }
    if (!is_nested || count > most) return args;
    std::vector<Expr> flat;
    for (Expr e : args) {
        if (const auto* inner = nested(e))
            flat.insert(flat.end(), inner->args.begin(), inner->args.end());
        else
            flat.push_back(e);
    }
    return flat;
}

/// Folds the integer literals of a sum or product into the first of them. No overflow is hidden:
/// what does not fit is left as it stands.
void fold_integers(Context& context, Op op, std::vector<Expr>& args, DType dtype) {
    if (dtype != DType::none && dtype != DType::i64) return;
    std::optional<std::size_t> first;
    for (std::size_t n = 0; n < args.size();) {
        const auto value = integer_value(args[n]);
        if (!value || args[n]->dtype != dtype) {
            ++n;
        } else if (!first) {
            first = n++;
        } else {
            const std::int64_t other = *integer_value(args[*first]);
            std::int64_t folded = 0;
            const bool overflow = op == Op::add ? __builtin_add_overflow(other, *value, &folded)
                                                : __builtin_mul_overflow(other, *value, &folded);
            if (overflow) {
                ++n;
                continue;
            }
            args[*first] = context.literal(folded, dtype);
            args.erase(args.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
}

/// Drops integer 0 from sums and 1 from products where that cannot change the result's type.
void drop_units(Op op, std::vector<Expr>& args) {
    const std::int64_t unit = op == Op::add ? 0 : 1;
    const auto is_unit = [&](Expr e) { return integer_value(e) == unit; };
    bool rest_is_number = false;
    for (Expr e : args) rest_is_number |= !is_unit(e) && !may_be_bool(e);
    if (rest_is_number) std::erase_if(args, is_unit);
}

}  // namespace

Expr Context::apply(Op op, std::vector<Expr> args, DType dtype) {
    if (op == Op::add || op == Op::mul) {
        args = flatten(op, args, dtype);
        fold_integers(*this, op, args, dtype);
        drop_units(op, args);
        if (args.size() == 1) return args.front();
    } else if (op == Op::neg) {
        const Expr a = args.front();
        if (is_apply(a, Op::neg) && !may_be_bool(std::get<Apply>(a->term).args.front()))
            return std::get<Apply>(a->term).args.front();
        const bool is_plain = dtype == DType::none || dtype == DType::i64;
        if (const auto value = integer_value(a); value && *value != INT64_MIN && is_plain)
            return literal(-*value, dtype);
        if (const auto value = real_value(a)) return literal(-*value, dtype);
    }
    return intern(Apply{op, std::move(args)}, dtype);
}

std::vector<Expr> operands(Expr e) {
    return match(
        e->term, [](const Literal&) { return std::vector<Expr>{}; },
        [](const IndexValue&) { return std::vector<Expr>{}; },
        [](const Size&) { return std::vector<Expr>{}; }, [](const Access& t) { return t.at; },
        [](const Apply& t) { return t.args; },
        [](const Reduce& t) {
            return t.condition ? std::vector<Expr>{t.condition, t.body} : std::vector<Expr>{t.body};
        },
        [](const Cast& t) { return std::vector<Expr>{t.a}; },
        [](const Modified& t) {
            std::vector<Expr> list{t.at, t.low, t.high, t.value};
            std::erase(list, Expr());
            return list;
        });
}

std::string_view name(Outside outside) noexcept {
    switch (outside) {
        case Outside::pad:     return "pad";
        case Outside::clamp:   return "clamp";
        case Outside::wrap:    return "wrap";
        case Outside::reflect: return "reflect";
    }
    return {};
}

std::optional<Outside> outside_from_name(std::string_view text) noexcept {
    for (const Outside each : {Outside::pad, Outside::clamp, Outside::wrap, Outside::reflect})
        if (name(each) == text) return each;
    return std::nullopt;
}

DType bound_type(Expr e) noexcept {
    Expr inner = e;
    while (const auto* cast = std::get_if<Cast>(&inner->term)) inner = cast->a;
    return inner->dtype == DType::none ? DType::none : e->dtype;
}

bool is_literal(Expr e) noexcept { return e && std::holds_alternative<Literal>(e->term); }

bool is_literal(Expr e, double value) noexcept {
    if (!is_literal(e)) return false;
    const Number& number = std::get<Literal>(e->term).value;
    if (const auto* v = std::get_if<double>(&number)) return *v == value;
    if (const auto* v = std::get_if<std::int64_t>(&number)) return static_cast<double>(*v) == value;
    if (const auto* v = std::get_if<bool>(&number)) return (*v ? 1.0 : 0.0) == value;
    return false;
}

bool is_apply(Expr e, Op op) noexcept {
    const auto* apply = e ? std::get_if<Apply>(&e->term) : nullptr;
    return apply && apply->op == op;
}

}  // namespace ricci
