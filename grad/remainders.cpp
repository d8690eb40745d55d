// grad/remainders.cpp – subscripts with `//` and `%` as affine ones, of an index in two digits
#include "grad/remainders.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/integer.h"
#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"
#include "grad/bounds.h"

namespace ricci::grad {

namespace {

class Rewriter {
  public:
    Rewriter(Program& program, const Relation& relation)
        : program_(program), context_(*program.context), relation_(relation) {}

    Relation run() {
        constexpr int most_splits = 32;
        for (int n = 0; n < most_splits; ++n) {
            const auto found = find();
            if (!found) break;
            split(*found);
            for_each_term([&](Expr e) { return folded(e); });
        }
        return relation_;
    }

  private:
    /// `e % N` or `e // N`, of which an index of e with the coefficient 1 or -1 becomes two.
    struct Remainder {
        Expr dividend;
        Expr divisor;
        Bounds quotients;  ///< of the least and the greatest e
        IndexId index{};
        std::int64_t sign = 1;
    };

    /// An innermost quotient or remainder of a subscript that can be split.
    [[nodiscard]] std::optional<Remainder> find() const {
        for (const Expr node : postorder(relation_.at)) {
            const bool is_mod = is_apply(node, Op::mod);
            if ((!is_mod && !is_apply(node, Op::floordiv)) || free_indices(node).empty()) continue;
            const auto& args = std::get<Apply>(node->term).args;
            if (!free_indices(args[1]).empty() || reads_data(program_, node)) continue;
            const auto bounds = bounds_of(program_, args[0]);
            const auto form = linear_form(args[0]);
            if (!bounds || !form) continue;
            const Expr step = larger(context_, args[1], context_.integer(1));
            Remainder remainder{
                .dividend = args[0],
                .divisor = args[1],
                .quotients = {quotient(bounds->low, step), quotient(bounds->high, step)}};
            const bool is_subscript = std::ranges::find(relation_.at, node) != relation_.at.end();
            for (const LinearForm::Part& part : form->parts) {
                const auto* value = std::get_if<IndexValue>(&part.atom->term);
                const bool is_unit = part.coefficient == 1 || part.coefficient == -1;
                if (value == nullptr || !is_unit) continue;
                remainder.index = value->index;
                remainder.sign = part.coefficient;
                if (!is_alone(*form, part)) continue;
                const Given given = !is_subscript ? Given::nothing
                                    : is_mod      ? Given::place
                                                  : Given::turn;
                if (pays(remainder, *form, given)) return remainder;
            }
        }
        return std::nullopt;
    }
    /// Whether the index of the part is the relation's, and in no other part; nor is it in data, of
    /// whose keys it would take the points apart.
    [[nodiscard]] bool is_alone(const LinearForm& form, const LinearForm::Part& part) const {
        const IndexId index = std::get<IndexValue>(part.atom->term).index;
        const auto is_other = [&](const LinearForm::Part& other) {
            return other.atom != part.atom && has_index(free_indices(other.atom), index);
        };
        const auto is_data = [&](Expr subscript) {
            return reads_data(program_, subscript) && has_index(free_indices(subscript), index);
        };
        return has_index(relation_.indices, index) && std::ranges::none_of(form.parts, is_other) &&
               std::ranges::none_of(relation_.at, is_data);
    }
    /// What a subscript that is the quotient or the remainder gives a value: it is not summed.
    enum class Given : std::uint8_t { nothing, turn, place };
    /// Whether the two indices have hardly more points than the one; where extents are not known,
    /// whether no other index of the form goes on by more than a turn.
    [[nodiscard]] bool pays(const Remainder& remainder, const LinearForm& form, Given given) const {
        constexpr double most = 2;
        const Index& range = program_.at(remainder.index);
        const auto extent = number(integer_difference(context_, range.upper, range.lower));
        const auto last =
            number(integer_difference(context_, remainder.quotients.high, remainder.quotients.low));
        const auto divisor = number(remainder.divisor);
        if (extent && last && (divisor || given == Given::place)) {
            const double turns = given == Given::turn ? 1 : double(*last + 1);
            const double places = given == Given::place ? 1 : double(*divisor);
            return turns * places <= most * double(*extent);
        }
        return std::ranges::all_of(form.parts, [&](const LinearForm::Part& part) {
            const auto* value = std::get_if<IndexValue>(&part.atom->term);
            if (value != nullptr && value->index == remainder.index) return true;
            if (free_indices(part.atom).empty()) return true;
            const std::int64_t turn = divisor.value_or(1);
            return value != nullptr && part.coefficient <= turn && part.coefficient >= -turn;
        });
    }
    [[nodiscard]] Expr quotient(Expr e, Expr divisor) const {
        return is_literal(e, 0) ? e : floor_quotient(context_, e, divisor);
    }
    static std::optional<std::int64_t> number(Expr e) {
        const auto form = linear_form(e);
        return form && form->parts.empty() ? std::optional(form->constant) : std::nullopt;
    }

    void split(const Remainder& remainder) {
        const Index range = program_.at(remainder.index);
        const Expr one = context_.integer(1);
        const IndexId m =
            program_.add(Index{.name = new_name("m"),
                               .lower = remainder.quotients.low,
                               .upper = integer_sum(context_, remainder.quotients.high, one),
                               .is_explicit = false});
        const IndexId r = program_.add(Index{.name = new_name("r"),
                                             .lower = context_.integer(0),
                                             .upper = remainder.divisor,
                                             .is_explicit = false});
        // N*m + r = sign*i + rest
        const Expr digits =
            integer_sum(context_, integer_product(context_, remainder.divisor, context_.index(m)),
                        context_.index(r));
        const Expr rest = integer_difference(
            context_, remainder.dividend,
            integer_scale(context_, context_.index(remainder.index), remainder.sign));
        const Expr solution =
            integer_scale(context_, integer_difference(context_, digits, rest), remainder.sign);
        const std::unordered_map<std::uint32_t, Expr> to = {
            {static_cast<std::uint32_t>(remainder.index), solution}};
        for_each_term([&](Expr e) {
            // The terms that are split are known at once; others are folded.
            const ExprMap<Expr> known = {
                {context_.apply(Op::mod, {remainder.dividend, remainder.divisor}),
                 context_.index(r)},
                {context_.apply(Op::floordiv, {remainder.dividend, remainder.divisor}),
                 context_.index(m)}};
            return substitute_indices(context_, substitute(context_, e, known), to);
        });
        for (const Expr bound : {context_.apply(Op::ge, {solution, range.lower}),
                                 context_.apply(Op::lt, {solution, range.upper})})
            relation_.condition = context_.logical_and(relation_.condition, bound);
        const auto place = std::ranges::find(relation_.indices, remainder.index);
        const auto behind = static_cast<std::size_t>(relation_.indices.end() - place);
        relation_.reduced += behind <= relation_.reduced ? 1 : 0;
        *place = m;
        relation_.indices.insert(place + 1, r);
        relation_.quotients.push_back(m);
    }

    template <class Change>
    void for_each_term(const Change& change) {
        const auto changed = [&](Expr e) { return e ? change(e) : e; };
        for (Expr& subscript : relation_.at) subscript = changed(subscript);
        relation_.condition = changed(relation_.condition);
        relation_.d.guard = changed(relation_.d.guard);
        relation_.d.value = changed(relation_.d.value);
    }

    /// `(N*m + r) % N` as `r % N`, and as r where r is in 0:N; likewise quotients.
    [[nodiscard]] Expr folded(Expr root) const {
        return rewrite(context_, root, [&](Expr e) {
            if (!is_apply(e, Op::mod) && !is_apply(e, Op::floordiv)) return e;
            const auto& args = std::get<Apply>(e->term).args;
            const auto form = linear_form(args[0]);
            const auto divisor = number(args[1]);
            if (!form || !divisor || *divisor < 1) return e;
            LinearForm multiples{.constant = floor_div(form->constant, *divisor), .parts = {}};
            LinearForm rest{.constant = form->constant - multiples.constant * *divisor,
                            .parts = {}};
            for (const LinearForm::Part& part : form->parts) {
                // Values are no whole multiples: `(4*a[i])%2` is not 0.
                const bool is_whole = std::holds_alternative<IndexValue>(part.atom->term) ||
                                      std::holds_alternative<Size>(part.atom->term);
                if (!is_whole) return e;
                if (part.coefficient % *divisor == 0)
                    multiples.parts.push_back({part.atom, part.coefficient / *divisor});
                else
                    rest.parts.push_back(part);
            }
            const Expr inner = to_expr(context_, rest);
            const bool is_mod = is_apply(e, Op::mod);
            if (is_below(inner, *divisor)) return is_mod ? inner : to_expr(context_, multiples);
            if (multiples.parts.empty() && multiples.constant == 0) return e;
            if (is_mod) return context_.apply(Op::mod, {inner, args[1]});
            return integer_sum(context_, to_expr(context_, multiples),
                               context_.apply(Op::floordiv, {inner, args[1]}));
        });
    }
    /// Proved to lie in 0:limit.
    [[nodiscard]] bool is_below(Expr e, std::int64_t limit) const {
        const auto bounds = bounds_of(program_, e);
        if (!bounds) return false;
        const auto low = number(bounds->low);
        const auto high = number(bounds->high);
        return low && high && *low >= 0 && *high < limit;
    }

    /// `m`, `m2`, …
    [[nodiscard]] std::string new_name(const std::string& letter) const {
        const auto taken = std::ranges::count_if(relation_.indices, [&](IndexId index) {
            return program_.at(index).name.starts_with(letter);
        });
        return taken == 0 ? letter : format("{}{}", letter, taken + 1);
    }

    Program& program_;
    Context& context_;
    Relation relation_;
};

}  // namespace

Relation without_remainders(Program& program, const Relation& relation) {
    return Rewriter(program, relation).run();
}

}  // namespace ricci::grad
