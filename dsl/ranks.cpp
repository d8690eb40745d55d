// dsl/ranks.cpp – programs that serve arrays of any rank: `..`, written out for the ranks at hand
//
// The dimensions that `..` stands for in a statement are its run. What is known of ranks are
// equations: the rank of an array is what is written out of it plus the run of the statement. They
// are solved by going from what is known to what follows.
#include "dsl/ranks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/match.h"
#include "base/shape.h"
#include "base/text.h"
#include "dsl/ast_walk.h"

namespace ricci {
namespace {

using ast::ExprPtr;
using ast::Statement;

bool is_run(const ExprPtr& e) { return std::holds_alternative<ast::Ellipsis>(e->node); }

/// One place that tells of an array's rank.
struct Place {
    std::string name;
    Span span;
    int written = 0;  ///< dimensions written out
    bool has_run = false;
};

Place place_of(const ast::Access& access, Span span, const SourcePtr& source) {
    Place place{access.name, span, 0, false};
    for (const ExprPtr& e : access.at) {
        if (!is_run(e)) {
            ++place.written;
            continue;
        }
        if (place.has_run)
            throw Error({.kind = ErrorKind::syntax,
                         .message = format("`..` stands twice in one access of `{}`", access.name),
                         .source = source,
                         .labels = {{e->span, ""}},
                         .hint = "write the dimensions of one of them out"});
        place.has_run = true;
    }
    return place;
}

Place place_of(const ast::Target& target, const SourcePtr& source) {
    Place place{target.name, target.span, 0, false};
    for (const ast::Slot& slot : target.slots) {
        if (slot.kind != ast::Slot::Kind::ellipsis) {
            ++place.written;
            continue;
        }
        if (place.has_run)
            throw Error({.kind = ErrorKind::syntax,
                         .message = format("`..` stands twice in the target `{}`", target.name),
                         .source = source,
                         .labels = {{slot.span, ""}},
                         .hint = "write the dimensions of one of them out"});
        place.has_run = true;
    }
    return place;
}

/// A new array's run is made of runs that are read.
void require_run(const Statement& statement, const std::vector<Place>& places,
                 const SourcePtr& source) {
    const auto runs =
        std::ranges::count_if(places, [](const Place& place) { return place.has_run; });
    if (statement.op != Assign::define || runs != 1) return;
    for (const ast::Slot& slot : statement.target.slots)
        if (slot.kind == ast::Slot::Kind::ellipsis)
            throw Error({.kind = ErrorKind::range,
                         .message = format("nothing on the right says what `..` of `{}` stands for",
                                           statement.target.name),
                         .source = source,
                         .labels = {{slot.span, ""}},
                         .hint = "write `..` in an array on the right, or the indices out"});
}

/// A `size(A, d)`: the array and d, where it is a literal.
struct Measure {
    std::string name;
    int dimension = 0;
};
std::optional<Measure> measure_of(const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    if (!call || call->name != "size" || call->args.size() != 2) return std::nullopt;
    const auto* array = std::get_if<ast::Name>(&call->args[0].value->node);
    const auto* sign = std::get_if<ast::Unary>(&call->args[1].value->node);
    const ast::Expr& digits = sign && sign->op == Op::neg ? *sign->a : *call->args[1].value;
    const auto* literal = std::get_if<ast::Number>(&digits.node);
    if (!array || !literal) return std::nullopt;
    int value = 0;
    const char* const end = literal->text.data() + literal->text.size();
    const auto read = std::from_chars(literal->text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value > int(max_rank)) return std::nullopt;
    return Measure{array->name, &digits == call->args[1].value.get() ? value : -value};
}

/// What a tree says of ranks.
struct Facts {
    std::vector<std::vector<Place>> places;  ///< by statement
    std::vector<Measure> measures;
};

Facts facts_of(const ast::Program& tree) {
    Facts facts;
    for (const auto& item : tree.items) {
        const auto* statement = std::get_if<Statement>(&item);
        if (!statement) continue;
        std::vector<Place>& places = facts.places.emplace_back();
        if (statement->target.bracketed) places.push_back(place_of(statement->target, tree.source));
        ast::for_each_root(*statement, [&](const ExprPtr& root) {
            ast::walk(root, [&](const ast::Expr& e) {
                if (const auto* access = std::get_if<ast::Access>(&e.node))
                    places.push_back(place_of(*access, e.span, tree.source));
                if (const auto measure = measure_of(e)) facts.measures.push_back(*measure);
                return true;
            });
        });
        require_run(*statement, places, tree.source);
    }
    return facts;
}

class RankSolver {
  public:
    RankSolver(const ast::Program& tree, const Facts& facts, Ranks given)
        : tree_(tree), facts_(facts), ranks_(std::move(given)), runs_(facts.places.size()) {
        for (std::size_t s = 0; s < runs_.size(); ++s)
            for (const Place& place : facts_.places[s]) {
                std::vector<std::size_t>& list = mentions_[place.name];
                if (list.empty() || list.back() != s) list.push_back(s);
            }
        for (const Measure& measure : facts_.measures) {
            int& most = measured_[measure.name];
            most =
                std::max(most, measure.dimension < 0 ? -measure.dimension : measure.dimension + 1);
        }
    }

    void solve() {
        for (std::size_t s = 0; s < runs_.size(); ++s) waiting_.insert(s);
        follow();
        for (std::size_t s = 0; s < runs_.size(); ++s) {
            if (runs_[s]) continue;
            const bool has_run = std::ranges::any_of(
                facts_.places[s], [](const Place& place) { return place.has_run; });
            if (!has_run) continue;
            runs_[s] = supposed_run(s);
            waiting_.insert(s);
            follow();
        }
        for (const Measure& measure : facts_.measures)
            if (measure.dimension < 0 && !ranks_.contains(measure.name))
                ranks_.emplace(measure.name, measured_.at(measure.name));
    }
    [[nodiscard]] int run(std::size_t statement) const { return runs_[statement].value_or(0); }
    [[nodiscard]] const Ranks& ranks() const { return ranks_; }

  private:
    /// From what is known to what follows, until nothing does.
    void follow() {
        while (!waiting_.empty()) {
            const std::size_t s = *waiting_.begin();
            waiting_.erase(waiting_.begin());
            for (const Place& place : facts_.places[s]) {
                const bool is_ranked = ranks_.contains(place.name);
                if (!follow(s, place)) continue;
                waiting_.insert(s);
                if (is_ranked) continue;
                const std::vector<std::size_t>& list = mentions_.at(place.name);
                waiting_.insert(list.begin(), list.end());
            }
        }
    }
    bool follow(std::size_t s, const Place& place) {
        const auto known = ranks_.find(place.name);
        if (!place.has_run) {
            if (known != ranks_.end()) return false;  // contradictions are found by `check`
            ranks_.emplace(place.name, place.written);
            return true;
        }
        if (known != ranks_.end() && !runs_[s]) {
            const int run = known->second - place.written;
            if (run < 0) too_few(place, known->second);
            runs_[s] = run;
            return true;
        }
        if (!runs_[s]) return false;
        if (known == ranks_.end()) {
            ranks_.emplace(place.name, place.written + *runs_[s]);
            return true;
        }
        if (known->second != place.written + *runs_[s]) contradiction(s, place, known->second);
        return false;
    }

    /// One dimension, or as many as `size` asks for.
    [[nodiscard]] int supposed_run(std::size_t s) const {
        int run = 1;
        for (const Place& place : facts_.places[s])
            if (const auto needed = measured_.find(place.name);
                place.has_run && needed != measured_.end())
                run = std::max(run, needed->second - place.written);
        return run;
    }

    [[noreturn]] void too_few(const Place& place, int rank) const {
        throw Error({.kind = ErrorKind::shape,
                     .message = format("`{}` has {}, and {} are written out", place.name,
                                       plural(std::size_t(rank), "dimension"), place.written),
                     .source = tree_.source,
                     .labels = {{place.span, ""}},
                     .hint = format("give `{}` at least {}", place.name,
                                    plural(std::size_t(place.written), "dimension"))});
    }

    [[noreturn]] void contradiction(std::size_t s, const Place& place, int rank) const {
        std::vector<Label> labels{
            {place.span, format("{} of `{}`", rank - place.written, place.name)}};
        for (const Place& other : facts_.places[s]) {
            const auto known = ranks_.find(other.name);
            if (!other.has_run || &other == &place || known == ranks_.end() ||
                known->second - other.written != *runs_[s])
                continue;
            labels.push_back({other.span, format("{} of `{}`", *runs_[s], other.name)});
            break;
        }
        throw Error(
            {.kind = ErrorKind::shape,
             .message = format("`..` stands for {} and for {}",
                               plural(std::size_t(*runs_[s]), "dimension"), rank - place.written),
             .source = tree_.source,
             .labels = std::move(labels),
             .hint = "all `..` of a statement stand for the same dimensions"});
    }

    const ast::Program& tree_;
    const Facts& facts_;
    Ranks ranks_;
    std::vector<std::optional<int>> runs_;                      ///< by statement
    std::map<std::string, std::vector<std::size_t>> mentions_;  ///< statements, by array
    std::map<std::string, int> measured_;  ///< dimensions that `size` asks for, by array
    std::set<std::size_t> waiting_;        ///< statements to look at (again)
};

/// Writes the runs of one statement out.
class Writer {
  public:
    Writer(SourcePtr source, const Ranks& ranks, int run, std::vector<std::string> names)
        : source_(std::move(source)), ranks_(ranks), names_(std::move(names)) {
        names_.resize(std::size_t(run));
    }

    Statement operator()(Statement statement) {
        std::vector<ast::Slot> slots;
        for (const ast::Slot& slot : statement.target.slots) {
            if (slot.kind == ast::Slot::Kind::ellipsis) {
                for (const std::string& name : names_)
                    slots.push_back(
                        {ast::Slot::Kind::subscript, index(name, slot.span), slot.span});
                continue;
            }
            slots.push_back(slot);
            if (slot.expr) slots.back().expr = (*this)(slot.expr);
        }
        statement.target.slots = std::move(slots);
        statement.value = (*this)(statement.value);
        for (auto& clause : statement.where)
            match(
                clause,
                [&](ast::WhereRange& range) {
                    range.range.lower = (*this)(range.range.lower);
                    range.range.upper = (*this)(range.range.upper);
                },
                [&](ast::WhereLocal& local) { local.value = (*this)(local.value); });
        return statement;
    }

  private:
    static ExprPtr index(const std::string& name, Span span) {
        return std::make_shared<ast::Expr>(ast::Name{name}, span);
    }

    /// The expression rebuilt, without recursion: chains of operators may be long.
    ExprPtr operator()(const ExprPtr& root) {
        std::vector<ExprPtr> stack{root};
        std::vector<ExprPtr> nodes;
        while (!stack.empty()) {
            const ExprPtr e = stack.back();
            stack.pop_back();
            nodes.push_back(e);
            for (const ExprPtr& child : ast::children(*e)) stack.push_back(child);
        }
        for (const ExprPtr& e : nodes | std::views::reverse) done_[e.get()] = rebuilt(e);
        return done_.at(root.get());
    }

    ExprPtr rebuilt(const ExprPtr& e) {
        const std::vector<ExprPtr> children = ast::children(*e);
        const bool is_changed = std::ranges::any_of(children, [&](const ExprPtr& child) {
            return is_run(child) || done_.at(child.get()) != child;
        });
        const auto measure = measure_of(*e);
        if (measure && measure->dimension < 0) return from_the_front(*e, *measure);
        if (!is_changed) return e;
        ast::Expr copy = *e;
        const auto now = [&](ExprPtr& child) {
            if (child) child = done_.at(child.get());
        };
        match(
            copy.node, [](ast::Number&) {}, [](ast::Name&) {}, [&](ast::Unary& n) { now(n.a); },
            [&](ast::Binary& n) {
                now(n.a);
                now(n.b);
            },
            [&](ast::Conditional& n) {
                now(n.condition);
                now(n.yes);
                now(n.no);
            },
            [](ast::Ellipsis&) {}, [&](ast::Access& n) { n.at = subscripts(n.at); },
            [&](ast::Call& n) {
                for (ast::Argument& argument : n.args) now(argument.value);
            },
            [&](ast::Reduce& n) {
                for (ast::ReduceIndex& each : n.indices)
                    if (each.range) {
                        now(each.range->lower);
                        now(each.range->upper);
                    }
                now(n.condition);
                now(n.body);
            });
        return std::make_shared<ast::Expr>(std::move(copy));
    }

    std::vector<ExprPtr> subscripts(const std::vector<ExprPtr>& at) {
        std::vector<ExprPtr> result;
        for (const ExprPtr& e : at) {
            if (!is_run(e)) {
                result.push_back(done_.at(e.get()));
                continue;
            }
            for (const std::string& name : names_) result.push_back(index(name, e->span));
        }
        return result;
    }

    /// `size(A,-1)` with the dimension counted from 0, where the rank of A is known.
    ExprPtr from_the_front(const ast::Expr& size, const Measure& measure) {
        const auto known = ranks_.find(measure.name);
        const bool is_there = known != ranks_.end() && known->second + measure.dimension >= 0;
        if (known != ranks_.end() && !is_there)
            throw Error(
                no_dimension(source_, size.span, measure.name, known->second, measure.dimension));
        if (!is_there) return std::make_shared<ast::Expr>(size);  // an error, found by `check`
        ast::Expr copy = size;
        auto& call = std::get<ast::Call>(copy.node);
        const Span span = call.args[1].value->span;
        call.args[1].value = std::make_shared<ast::Expr>(
            ast::Number{std::to_string(known->second + measure.dimension)}, span);
        return std::make_shared<ast::Expr>(std::move(copy));
    }

    SourcePtr source_;
    const Ranks& ranks_;
    std::vector<std::string> names_;
    std::unordered_map<const ast::Expr*, ExprPtr> done_;
};

/// Names for the dimensions of runs, which nothing in the program has.
std::vector<std::string> new_names(const ast::Program& tree) {
    std::set<std::string> used;
    for (const auto& item : tree.items) {
        const auto* statement = std::get_if<Statement>(&item);
        if (!statement) continue;
        used.insert(statement->target.name);
        for (const auto& clause : statement->where)
            match(
                clause, [&](const ast::WhereRange& range) { used.insert(range.name); },
                [&](const ast::WhereLocal& local) { used.insert(local.name); });
        for (const ast::Slot& slot : statement->target.slots)
            if (slot.expr)
                if (const auto* name = std::get_if<ast::Name>(&slot.expr->node))
                    used.insert(name->name);
        ast::for_each_root(*statement, [&](const ExprPtr& root) {
            ast::walk(root, [&](const ast::Expr& e) {
                if (const auto* name = std::get_if<ast::Name>(&e.node)) used.insert(name->name);
                if (const auto* access = std::get_if<ast::Access>(&e.node))
                    used.insert(access->name);
                if (const auto* reduce = std::get_if<ast::Reduce>(&e.node))
                    for (const ast::ReduceIndex& index : reduce->indices) used.insert(index.name);
                return true;
            });
        });
    }
    std::vector<std::string> names;
    for (int n = 1; names.size() < max_rank; ++n)
        if (std::string name = format("r{}", n); !used.contains(name))
            names.push_back(std::move(name));
    return names;
}

}  // namespace

std::string dimensions_hint(std::string_view array, std::size_t rank) {
    if (rank < 2) return format("its dimension is `size({}, 0)`", array);
    return format(
        "its dimensions are `size({0}, 0)` to `size({0}, {1})`, or `size({0}, -1)` for "
        "the last",
        array, rank - 1);
}

Diagnosis no_dimension(const SourcePtr& source, Span place, std::string_view array, int rank,
                       std::int64_t asked) {
    return {.kind = ErrorKind::shape,
            .message = format("`{}` has {}, and no dimension {}", array,
                              plural(std::size_t(rank), "dimension"), asked),
            .source = source,
            .labels = {{place, ""}},
            .hint = dimensions_hint(array, std::size_t(rank))};
}

bool depends_on_ranks(const ast::Program& tree) {
    const Facts facts = facts_of(tree);
    std::set<std::string> subscripted;
    for (const auto& places : facts.places)
        for (const Place& place : places) {
            if (place.has_run) return true;
            subscripted.insert(place.name);
        }
    return std::ranges::any_of(facts.measures, [&](const Measure& measure) {
        return measure.dimension < 0 && !subscripted.contains(measure.name);
    });
}

ast::Program write_out_runs(const ast::Program& tree, const Ranks& ranks) {
    const Facts facts = facts_of(tree);
    RankSolver solver(tree, facts, ranks);
    solver.solve();
    const std::vector<std::string> names = new_names(tree);
    ast::Program result{{}, tree.source};
    std::size_t n = 0;
    for (const auto& item : tree.items) {
        const auto* statement = std::get_if<Statement>(&item);
        if (!statement) {
            result.items.push_back(item);
            continue;
        }
        const int run = solver.run(n++);
        if (run > int(max_rank))
            throw Error({.kind = ErrorKind::limit,
                         .message = format("`..` stands for {} dimensions; at most {} are allowed",
                                           run, max_rank),
                         .source = tree.source,
                         .labels = {{statement->target.span, ""}}});
        result.items.emplace_back(Writer(tree.source, solver.ranks(), run, names)(*statement));
    }
    return result;
}

}  // namespace ricci
