// dsl/print_statement.cpp – one equation as a statement of the language
#include "dsl/print_statement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/print_names.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The term without a minus before it.
Expr without_sign(Expr e) {
    return is_apply(e, Op::neg) ? std::get<Apply>(e->term).args.front() : e;
}

std::vector<Expr> top_level_terms(Expr value) {
    if (!is_apply(value, Op::add)) return {value};
    return std::get<Apply>(value->term).args;
}

/// The reducer that an operator implies for its right side.
std::optional<Reducer> implied_reducer(Assign op) {
    switch (op) {
        case Assign::define:
        case Assign::set:
        case Assign::add:
        case Assign::sub:    return Reducer::sum;
        case Assign::mul:    return Reducer::prod;
        case Assign::max:    return Reducer::max;
        case Assign::min:    return Reducer::min;
    }
    return std::nullopt;
}

bool could_be_implied(Expr e, Reducer reducer) {
    const auto* const reduce = std::get_if<Reduce>(&e->term);
    if (reduce == nullptr || reduce->reducer != reducer || reduce->condition) return false;
    // A sum of terms would be summed term by term.
    if (reducer == Reducer::sum && is_apply(without_sign(reduce->body), Op::add)) return false;
    const std::vector<IndexId> free = free_indices(reduce->body);
    return std::ranges::all_of(reduce->indices, [&](IndexId index) {
        return std::ranges::find(free, index) != free.end();
    });
}

/// The reductions of the right side that could be left to the convention.
std::vector<Expr> implied_reductions(const Equation& equation) {
    const Reducer reducer = *implied_reducer(equation.op);
    std::vector<Expr> terms{equation.value};
    if (reducer == Reducer::sum) {
        terms = top_level_terms(equation.value);
        std::ranges::transform(terms, terms.begin(), without_sign);
    }
    std::erase_if(terms, [&](Expr e) { return !could_be_implied(e, reducer); });
    return terms;
}

class StatementPrinter {
  public:
    StatementPrinter(const Program& program, const Equation& equation, const StatementStyle& style,
                     const SizeRelations& relations, PrintNames& names)
        : program_(program),
          equation_(equation),
          style_(style),
          relations_(relations),
          names_(names),
          term_(program, names) {}

    std::string run() {
        std::vector<Expr> terms = equation_.at;
        terms.push_back(equation_.value);
        name_indices(names_, program_, equation_.indices, terms);
        std::vector<IndexId> in_where = equation_.indices;
        for (Expr e : left_to_convention()) {
            const auto& [reducer, indices, condition, body] = std::get<Reduce>(e->term);
            names_.transparent.insert(e->id);
            // In reading order, which is the order the convention gives them.
            for (IndexId index : free_indices(body))
                if (std::ranges::find(indices, index) != indices.end()) in_where.push_back(index);
        }
        for (Expr e : postorder({equation_.value})) mark_ranges(e);
        return format("{} {} {}{}", target(), name(equation_.op), term_.print(equation_.value),
                      where(in_where));
    }

  private:
    bool is_written(IndexId index) const {
        return style_.has_all_ranges || style_.ranges.contains(index) ||
               program_.at(index).is_explicit;
    }
    /// The reductions to leave out: those whose indices have one range under each name.
    std::vector<Expr> left_to_convention() {
        if (!style_.has_implied_sums) return {};
        std::vector<Expr> found = implied_reductions(equation_);
        std::map<std::string, IndexId> first;
        std::set<std::string> differing;
        for (Expr e : found)
            for (IndexId index : std::get<Reduce>(e->term).indices) {
                const auto before = first.emplace(term_.name(index), index).first->second;
                if (!has_same_range(index, before)) differing.insert(term_.name(index));
            }
        std::erase_if(found, [&](Expr e) {
            return std::ranges::any_of(std::get<Reduce>(e->term).indices, [&](IndexId index) {
                return differing.contains(term_.name(index));
            });
        });
        return found;
    }
    bool has_same_range(IndexId a, IndexId b) const {
        const Index& first = program_.at(a);
        const Index& second = program_.at(b);
        return is_written(a) == is_written(b) && relations_.are_equal(first.lower, second.lower) &&
               relations_.are_equal(first.upper, second.upper);
    }
    void mark_ranges(Expr e) {
        const auto* const reduce = std::get_if<Reduce>(&e->term);
        if (reduce == nullptr || names_.transparent.contains(e->id)) return;
        for (IndexId index : reduce->indices)
            if (is_written(index)) names_.ranged.insert(std::uint32_t(index));
    }

    std::string target() {
        const std::string& tensor = term_.name(equation_.target);
        if (equation_.at.empty()) return tensor;
        std::vector<std::string> slots;
        for (Expr e : equation_.at) slots.push_back(slot(e));
        return format("{}[{}]", tensor, join(slots, ","));
    }
    std::string slot(Expr e) {
        if (equation_.op == Assign::define)
            for (IndexId index : equation_.indices)
                if (is_shifted(e, index)) return term_.name(index) + "+_";
        return term_.print(e, Precedence::select, TermPrinter::Place::subscript);
    }
    /// `i - lower(i)`, from a slot written `i+_`.
    bool is_shifted(Expr e, IndexId index) const {
        if (!is_apply(e, Op::add)) return false;
        Context& context = *program_.context;
        const Expr shifted =
            integer_difference(context, context.index(index), program_.at(index).lower);
        return integer_difference(context, e, shifted) == context.integer(0);
    }

    std::string where(const std::vector<IndexId>& indices) {
        std::vector<std::string> ranges;
        for (IndexId index : indices) {
            if (!is_written(index)) continue;
            std::string range = format("{} in {}", term_.name(index), term_.range(index));
            // Several terms may be summed over one name.
            if (std::ranges::find(ranges, range) == ranges.end()) ranges.push_back(range);
        }
        return ranges.empty() ? "" : " where " + join(ranges, ", ");
    }

    const Program& program_;
    const Equation& equation_;
    const StatementStyle& style_;
    const SizeRelations& relations_;
    PrintNames& names_;
    TermPrinter term_;
};

}  // namespace

std::string print_statement(const Program& program, const Equation& equation,
                            const StatementStyle& style, const SizeRelations& relations,
                            PrintNames& names) {
    return StatementPrinter(program, equation, style, relations, names).run();
}

}  // namespace ricci
