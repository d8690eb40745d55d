// codegen/data_bounds.cpp – the pass `bounds`: loops over the points that data leave
//
//     for e in 0..E:  if p[i] <= e && e < p[i+1]:  y += v[e]*x[c[e]]
//
// looks at all points for each i, of which most have no part in the sum: rows of a sparse matrix,
// the rows of a table that a sample has, boxes of images. What is known before the first turn of a
// loop bounds it:
//
//     let first = clamp(p[i], 0, E), let end = clamp(p[i+1], 0, E)
//     for e in first..end:  y += v[e]*x[c[e]]
//
// Of several points a turn, as in vectors, each is still tested: by lane.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/match.h"
#include "codegen/data_intervals.h"
#include "codegen/known_conditions.h"
#include "codegen/nest_build.h"
#include "codegen/nest_ranges.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"
#include "codegen/take_condition.h"

namespace ricci::codegen {

namespace {

/// Loops of no more turns stay as they are.
constexpr std::int64_t few_turns = 2;

/// The values as one, all of them if there is none yet.
Value joined(Op op, const Value& so_far, Value more) {
    return so_far ? on_integers(op, so_far, std::move(more)) : std::move(more);
}

/// Whether data decide which points count.
bool has_conditions_of_data(const Body& body) {
    const auto reads = [](const Value& condition) {
        bool is = false;
        for_each_node({condition}, [&](const Value& node) {
            is |= std::holds_alternative<Load>(node->term) ||
                  std::holds_alternative<LetValue>(node->term);
        });
        return is;
    };
    return std::ranges::any_of(body, [&](const Stmt& stmt) {
        const auto* loop = std::get_if<Loop>(&stmt.node);
        const auto* guard = std::get_if<Guard>(&stmt.node);
        const auto* store = std::get_if<Store>(&stmt.node);
        return (loop && has_conditions_of_data(loop->body)) ||
               (guard && (reads(guard->condition) || has_conditions_of_data(guard->body))) ||
               (store && reads(condition_of(*store)));
    });
}

class DataBounds {
  public:
    explicit DataBounds(Nest nest) : nest_(std::move(nest)) {}

    Nest run() && {
        nest_.body = bounded(std::move(nest_.body));
        return std::move(nest_);
    }

  private:
    Body bounded(Body body) {
        Body out;
        for (Stmt& stmt : body) {
            match(
                stmt.node,
                [&](Loop& loop) {
                    if (loop.bind == Bind::serial) append(out, bound(loop));
                    ranges_.enter(loop);
                    loop.body = bounded(std::move(loop.body));
                    if (loop.bind == Bind::serial) append(out, taken_out(loop));
                },
                [&](Guard& guard) { guard.body = bounded(std::move(guard.body)); },
                [&](const LetVar& let) { ranges_.enter(let); },
                [&](const LetBound& let) { ranges_.enter(let); },
                [&](const Let& let) { ranges_.enter(let); }, [](const auto&) {});
            out.push_back(std::move(stmt));
        }
        return out;
    }

    /// What stands inside a loop.
    struct Inside {
        NestRanges ranges;
        std::set<VarId> vars;
        std::set<BufferId> stored;
        EqualTerms equal;
    };
    /// Notes the names of the statements, and what they store.
    static void collect(const Body& body, Inside& inside) {
        for_each_store(body, [&](const Store& store) { inside.stored.insert(store.buffer); });
        for_each_tile_product(
            body, [&](const TileProduct& product) { inside.stored.insert(product.sum); });
        for (const Stmt& stmt : body)
            match(
                stmt.node,
                [&](const Loop& loop) {
                    inside.vars.insert(loop.var);
                    collect(loop.body, inside);
                },
                [&](const Guard& guard) { collect(guard.body, inside); },
                [&](const Let& let) { inside.equal.lets[let.number] = let.value; },
                [&](const LetVar& let) { inside.vars.insert(let.var); },
                [&](const LetBound& let) { inside.vars.insert(let.var); }, [](const auto&) {});
    }
    /// What must hold for the statements to have any effect: parts of conditions that all of these
    /// have. Nothing where they have none.
    std::optional<std::vector<Value>> needed(const Body& body, Inside& inside) {
        std::optional<std::vector<Value>> common;
        const auto meet = [&](std::optional<std::vector<Value>> needs) {
            if (!needs) return;
            if (common)
                std::erase_if(*common, [&](const Value& part) {
                    return std::ranges::find(*needs, part) == needs->end();
                });
            else
                common = std::move(needs);
        };
        for (const Stmt& stmt : body)
            match(
                stmt.node,
                [&](const Loop& loop) {
                    inside.ranges.enter(loop);
                    meet(needed(loop.body, inside));
                },
                [&](const Guard& guard) {
                    std::optional<std::vector<Value>> needs = needed(guard.body, inside);
                    if (needs)
                        std::ranges::copy(parts(guard.condition, inside),
                                          std::back_inserter(*needs));
                    meet(std::move(needs));
                },
                [](const Let&) {}, [&](const LetVar& let) { inside.ranges.enter(let); },
                [&](const LetBound& let) { inside.ranges.enter(let); }, [](const Prefetch&) {},
                [&](const Store& store) { meet(parts(condition_of(store), inside)); },
                [&](const auto&) { meet(std::vector<Value>()); });
        return common;
    }
    /// The parts of a condition, if there is one, of which equal ones are one node.
    static std::vector<Value> parts(const Value& condition, Inside& inside) {
        return condition ? conjuncts(inside.equal(condition)) : std::vector<Value>();
    }

    /// Narrows the loop; gives the names of its bounds.
    Body bound(Loop& loop) {
        Inside inside;
        inside.ranges = ranges_;
        inside.ranges.enter(loop);
        inside.vars.insert(loop.var);
        const std::optional<IndexRange> range = inside.ranges.of(form(loop.var));
        if (!range || (range->high - range->low) / loop.step < few_turns) return {};
        collect(loop.body, inside);
        const std::optional<std::vector<Value>> needs = needed(loop.body, inside);
        Value first;
        Value end;
        std::set<Value> implied;
        for (const Value& need : needs.value_or(std::vector<Value>())) {
            bool is_implied = loop.step == 1;
            const std::vector<DataInequality> all = data_inequalities(need);
            for (const DataInequality& each : all) {
                const std::optional<Limit> limit = limit_of(each, loop, inside, *range);
                is_implied &= limit && limit->is_exact;
                if (!limit) continue;
                if (each.coefficient(loop.var) > 0)
                    first = joined(Op::max, first, limit->value);
                else
                    end = joined(Op::min, end, limit->value);
            }
            if (is_implied && !all.empty()) implied.insert(need);
        }
        Body names = named_bounds(loop, *range, first, end);
        if (!implied.empty()) loop.body = without(std::move(loop.body), std::move(implied), inside);
        return names;
    }

    /// The first value of a loop's variable for which an inequality may hold, or the first one
    /// after those.
    struct Limit {
        Value value;
        bool is_exact = false;  ///< it holds for all others
    };
    std::optional<Limit> limit_of(const DataInequality& each, const Loop& loop,
                                  const Inside& inside, const IndexRange& range) const {
        const std::int64_t step = each.coefficient(loop.var);
        if (step == 0) return std::nullopt;
        AffineForm outer;
        AffineForm inner;
        for (const AffineForm::Term& term : (each.left.form - each.right.form).terms) {
            AffineForm& part = inside.vars.contains(term.var) ? inner : outer;
            if (term.var != loop.var) part = part + form(term.var, term.coefficient);
        }
        const std::optional<IndexRange> inner_range = inside.ranges.of(inner);
        if (!inner_range) return std::nullopt;
        for (const DataSum* side : {&each.left, &each.right})
            for (const DataSum::Term& term : side->terms)
                if (!is_fixed(term.data, inside)) return std::nullopt;
        const AffineForm rest = outer + form(each.left.form.constant - each.right.form.constant -
                                             each.gap + inner_range->high);
        const std::optional<Value> limit = limit_of_data(each, step, rest, ranges_.of(rest), range);
        if (!limit) return std::nullopt;
        return Limit{*limit, is_sure(each) && inner.terms.empty()};
    }
    /// Whether the term has one value during the loop, and may be computed before it.
    [[nodiscard]] bool is_fixed(const Value& data, const Inside& inside) const {
        bool is = true;
        for_each_node({data}, [&](const Value& node) {
            match(
                node->term, [&](const VarValue& var) { is &= !moves(var.form, inside); },
                [&](const LetValue& let) { is &= !inside.equal.lets.contains(let.number); },
                [&](const Load& load) {
                    is &= !moves(load.at.affine, inside) && !inside.stored.contains(load.buffer) &&
                          is_inside(load);
                },
                [](const auto&) {});
        });
        return is;
    }
    static bool moves(const AffineForm& form, const Inside& inside) {
        return std::ranges::any_of(
            form.terms, [&](const auto& term) { return inside.vars.contains(term.var); });
    }
    /// Whether the element exists, whatever conditions say.
    [[nodiscard]] bool is_inside(const Load& load) const {
        const Buffer& buffer = nest_.at(load.buffer);
        if (buffer.space != Space::argument && buffer.space != Space::scratch) return false;
        std::optional<IndexRange> place = ranges_.of(load.at.affine);
        if (place && load.at.computed) {
            const std::optional<IndexRange> more = ranges_.of(load.at.computed);
            place = more ? known({place->low + more->low, place->high + more->high}) : std::nullopt;
        }
        return place && place->low >= buffer.first && place->high < buffer.first + buffer.elements;
    }

    /// The loop from its first to its last point that may count; of several points a turn, from the
    /// turn that has it.
    Body named_bounds(Loop& loop, const IndexRange& range, const Value& first, const Value& end) {
        Body names;
        const auto name = [&](const char* text, const Value& value, IndexRange of) {
            const VarId var = nest_.add(Var{nest_.at(loop.var).name + text});
            names.push_back({LetBound{var, value, of.low, of.high}});
            return var;
        };
        const auto drop_numbers = [](LoopBound& bound) {
            std::erase_if(bound, [](const BoundTerm& term) { return term.form.is_constant(); });
        };
        if (first && loop.step == 1) {
            drop_numbers(loop.lower);
            loop.lower.push_back({form(name("_first", first, {range.low, range.high + 1}))});
        }
        if (first && loop.step > 1 && loop.lower.size() == 1 && loop.lower[0].divisor == 1) {
            const Value inside =
                on_integers(Op::min, on_integers(Op::max, first, make_integer(range.low)),
                            make_integer(range.high + 1));
            const AffineForm lower = loop.lower[0].form;
            const Value turn = on_integers(
                Op::floordiv,
                lower == AffineForm{} ? inside
                                      : on_integers(Op::add, inside, make_index(-1 * lower)),
                make_integer(loop.step));
            const std::int64_t turns = (range.high - range.low) / loop.step + 1;
            loop.lower[0].form =
                loop.lower[0].form + form(name("_turn", turn, {0, turns}), loop.step);
        }
        if (end) {
            drop_numbers(loop.upper);
            loop.upper.push_back({form(name("_end", end, {range.low, range.high + 1}))});
        }
        for (const Stmt& stmt : names) ranges_.enter(std::get<LetBound>(stmt.node));
        return names;
    }

    /// The statements where those conditions hold.
    static Body without(Body body, std::set<Value> holds, Inside& inside) {
        KnownConditions known(std::move(holds), inside.equal);
        rewrite_values(body, [&](const Value& value) { return known(value); });
        return spliced(std::move(body));
    }
    static Body spliced(Body body) {
        Body out;
        for (Stmt& stmt : body) {
            if (auto* loop = std::get_if<Loop>(&stmt.node))
                loop->body = spliced(std::move(loop->body));
            auto* guard = std::get_if<Guard>(&stmt.node);
            if (guard) guard->body = spliced(std::move(guard->body));
            if (guard && is_true(guard->condition))
                append(out, std::move(guard->body));
            else
                out.push_back(std::move(stmt));
        }
        return out;
    }

    /// Bounds of inner loops that are the same in all turns: they are named before the loop.
    Body taken_out(Loop& loop) {
        Inside inside;
        inside.vars.insert(loop.var);
        collect(loop.body, inside);
        Body names;
        std::erase_if(loop.body, [&](Stmt& stmt) {
            auto* let = std::get_if<LetBound>(&stmt.node);
            if (let == nullptr || !is_fixed(let->value, inside)) return false;
            inside.vars.erase(let->var);
            names.push_back(std::move(stmt));
            return true;
        });
        return names;
    }

    Nest nest_;
    NestRanges ranges_;
};

}  // namespace

Nest data_bounds(Nest nest, const Target& target) {
    if (target.is_gpu() || target.is_plain || !has_conditions_of_data(nest.body)) return nest;
    return DataBounds(std::move(nest)).run();
}

}  // namespace ricci::codegen
