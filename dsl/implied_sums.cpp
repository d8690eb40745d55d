// dsl/implied_sums.cpp – the Einstein convention: sums over the indices that a term alone has
#include "dsl/implied_sums.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "base/text.h"

namespace ricci {
namespace {

bool has(const std::vector<IndexId>& list, IndexId index) {
    return std::ranges::find(list, index) != list.end();
}

struct SignedTerm {
    Expr term;
    bool negative;
};

constexpr std::size_t most_written_out = 4096;

bool is_group(Expr e) { return is_apply(e, Op::add) || is_apply(e, Op::neg); }

/// How many top-level terms there are; what is shared is counted where it stands.
std::size_t count_terms(Expr value) {
    ExprMap<std::size_t> counts;
    for (Expr e : postorder({value})) {
        std::size_t count = is_group(e) ? 0 : 1;
        if (is_group(e))
            for (Expr part : std::get<Apply>(e->term).args)
                count = std::min(count + counts.at(part), Context::max_written_nodes + 1);
        counts.emplace(e, count);
    }
    return counts.at(value);
}

/// The top-level terms: sums and negations are looked through.
std::vector<SignedTerm> top_level_terms(Expr value) {
    std::vector<SignedTerm> terms;
    std::vector<SignedTerm> stack{{value, false}};
    while (!stack.empty()) {
        const SignedTerm top = stack.back();
        stack.pop_back();
        if (is_apply(top.term, Op::neg)) {
            stack.push_back({std::get<Apply>(top.term->term).args.front(), !top.negative});
        } else if (is_apply(top.term, Op::add)) {
            const auto& args = std::get<Apply>(top.term->term).args;
            for (const Expr arg : args | std::views::reverse) stack.push_back({arg, top.negative});
        } else {
            terms.push_back(top);
        }
    }
    return terms;
}

/// What the ambiguity rule asks of one node, for one index.
struct Occurrence {
    bool occurs = false;
    bool contracts = false;  ///< it stands in two or more factors of a product
};

class AmbiguityCheck {
  public:
    AmbiguityCheck(const Program& program, const ExprMap<Span>& spans, Expr term)
        : program_(program), spans_(spans), term_(term), nodes_(outside_subscripts(term)) {}

    void check(IndexId index) {
        occurrence_.clear();
        for (Expr e : nodes_) {
            if (is_apply(e, Op::add)) check_addition(e, index);
            occurrence_.emplace(e, occurrence(e, index));
        }
    }

  private:
    /// The nodes that are no part of a subscript, operands first.
    static std::vector<Expr> outside_subscripts(Expr root) {
        std::unordered_set<const Node*> seen;
        std::vector<Expr> nodes;
        std::vector<Expr> stack{root};
        while (!stack.empty()) {
            const Expr e = stack.back();
            stack.pop_back();
            if (!seen.insert(&*e).second) continue;
            nodes.push_back(e);
            if (std::holds_alternative<Access>(e->term)) continue;
            for (Expr operand : operands(e)) stack.push_back(operand);
        }
        std::ranges::sort(nodes, [](Expr a, Expr b) { return a->id < b->id; });
        return nodes;
    }

    Occurrence occurrence(Expr e, IndexId index) const {
        if (const auto* value = std::get_if<IndexValue>(&e->term))
            return {.occurs = value->index == index};
        if (std::holds_alternative<Access>(e->term)) return {.occurs = has(free_indices(e), index)};
        Occurrence result;
        int factors = 0;
        for (Expr operand : operands(e)) {
            const Occurrence& below = occurrence_.at(operand);
            result.occurs |= below.occurs;
            result.contracts |= below.contracts;
            factors += below.occurs ? 1 : 0;
        }
        result.contracts |= is_apply(e, Op::mul) && factors >= 2;
        return result;
    }

    void check_addition(Expr addition, IndexId index) const {
        const auto& parts = std::get<Apply>(addition->term).args;
        const auto contracts = [&](Expr part) { return occurrence_.at(part).contracts; };
        const auto lacks = [&](Expr part) { return !occurrence_.at(part).occurs; };
        const auto inner = std::ranges::find_if(parts, contracts);
        const auto outer = std::ranges::find_if(parts, lacks);
        if (inner != parts.end() && outer != parts.end()) ambiguous(*inner, *outer, index);
    }

    [[nodiscard]] Span span_of(Expr e) const {
        while (is_apply(e, Op::neg) && !spans_.contains(e))
            e = std::get<Apply>(e->term).args.front();
        const auto found = spans_.find(e);
        return found == spans_.end() ? Span{} : found->second;
    }

    /// The two readings, cut out of the source where the spans allow it.
    [[nodiscard]] std::pair<std::string, std::string> readings(Expr part,
                                                               const std::string& name) const {
        const Span whole = span_of(term_);
        const Span inner = span_of(part);
        const std::string& text = program_.source->text;
        const auto cut = [&](std::uint32_t begin, std::uint32_t end) {
            return text.substr(begin, end - begin);
        };
        if (whole.is_empty() || inner.is_empty() || inner.begin < whole.begin ||
            inner.end > whole.end)
            return {format("sum[{}](…) around the product alone", name),
                    format("sum[{}]({})", name, str(program_, term_))};
        return {format("{}sum[{}]({}){}", cut(whole.begin, inner.begin), name,
                       cut(inner.begin, inner.end), cut(inner.end, whole.end)),
                format("sum[{}]({})", name, cut(whole.begin, whole.end))};
    }

    [[noreturn]] void ambiguous(Expr part, Expr other, IndexId index) const {
        const std::string& name = program_.at(index).name;
        const auto [inside, outside] = readings(part, name);
        throw Error({.kind = ErrorKind::syntax,
                     .message = format("the implied sum over `{}` could reach around an addition "
                                       "or stop inside it",
                                       name),
                     .source = program_.source,
                     .labels = {{span_of(part), format("`{}` is contracted here", name)},
                                {span_of(other), format("`{}` does not occur here", name)}},
                     .hint = format("write `{}` or `{}`", inside, outside)});
    }

    const Program& program_;
    const ExprMap<Span>& spans_;
    Expr term_;
    std::vector<Expr> nodes_;
    ExprMap<Occurrence> occurrence_;
};

class Implier {
  public:
    Implier(Program& program, const std::vector<IndexId>& target_indices,
            const ExprMap<Span>& spans, ExprMap<Expr>& renamed)
        : program_(program), target_(target_indices), spans_(spans), renamed_(renamed) {}

    ImpliedSums per_term(Expr value) {
        const std::size_t count = count_terms(value);
        if (count > Context::max_written_nodes) refuse_too_many_nodes(Context::max_written_nodes);
        // Where nothing is summed, many terms are left as they are shared.
        const auto is_target = [&](IndexId index) { return has(target_, index); };
        if (count > most_written_out && std::ranges::all_of(free_indices(value), is_target))
            return {value, {}};
        std::vector<Expr> terms;
        for (const auto& [term, negative] : top_level_terms(value)) {
            const auto known = summed_.find(term);
            const Expr summed = known != summed_.end() ? known->second : reduce(Reducer::sum, term);
            summed_.emplace(term, summed);
            terms.push_back(negative ? program_.context->neg(summed) : summed);
        }
        const Expr sum =
            terms.size() == 1 ? terms.front() : program_.context->apply(Op::add, std::move(terms));
        return {sum, std::move(bound_)};
    }

    ImpliedSums whole(Reducer reducer, Expr value) {
        const Expr reduced = reduce(reducer, value);
        return {reduced, std::move(bound_)};
    }

  private:
    Expr reduce(Reducer reducer, Expr term) {
        std::vector<IndexId> summed = free_indices(term);
        std::erase_if(summed, [&](IndexId index) { return has(target_, index); });
        if (summed.empty()) return term;
        check_reducers(term, summed);
        if (reducer == Reducer::sum) {
            AmbiguityCheck ambiguity(program_, spans_, term);
            for (IndexId index : summed) ambiguity.check(index);
        }
        // A name summed in an earlier term too is another index here.
        std::unordered_map<std::uint32_t, Expr> fresh;
        for (IndexId& index : summed) {
            if (used_.insert(static_cast<std::uint32_t>(index)).second) continue;
            const IndexId copy = program_.add(Index(program_.at(index)));
            fresh.emplace(static_cast<std::uint32_t>(index), program_.context->index(copy));
            index = copy;
        }
        if (!fresh.empty()) {
            for (Expr e : postorder({term}))
                if (std::holds_alternative<Access>(e->term))
                    renamed_.emplace(substitute_indices(*program_.context, e, fresh), e);
            term = substitute_indices(*program_.context, term, fresh);
        }
        bound_.insert(bound_.end(), summed.begin(), summed.end());
        return program_.context->reduce(reducer, summed, Expr(), term);
    }

    void check_reducers(Expr term, const std::vector<IndexId>& summed) const {
        for (Expr e : postorder({term})) {
            const auto* inner = std::get_if<Reduce>(&e->term);
            if (!inner) continue;
            for (IndexId index : inner->indices)
                for (IndexId outer : summed)
                    if (program_.at(index).name == program_.at(outer).name)
                        bound_twice(e, program_.at(index).name);
        }
    }

    [[noreturn]] void bound_twice(Expr reducer, const std::string& name) const {
        const auto found = spans_.find(reducer);
        throw Error({.kind = ErrorKind::name,
                     .message = format("`{}` is bound by a reducer and also summed over the whole "
                                       "term",
                                       name),
                     .source = program_.source,
                     .labels = {{found == spans_.end() ? Span{} : found->second,
                                 format("`{}` is bound here", name)}},
                     .hint = format("give the reducer's index another name, or move all of the "
                                    "term into `sum[{}](…)`",
                                    name)});
    }

    Program& program_;
    const std::vector<IndexId>& target_;
    const ExprMap<Span>& spans_;
    ExprMap<Expr>& renamed_;
    std::unordered_set<std::uint32_t> used_;
    std::vector<IndexId> bound_;
    ExprMap<Expr> summed_;  ///< terms with their sums
};

}  // namespace

namespace {

/// The term without the marks of `grouped`.
Expr without_groups(Context& context, Expr value) {
    return rewrite(context, value, [](Expr e) {
        const auto* reduce = std::get_if<Reduce>(&e->term);
        return reduce && reduce->indices.empty() ? reduce->body : e;
    });
}

}  // namespace

Expr grouped(Context& context, Expr sum) { return context.reduce(Reducer::sum, {}, Expr(), sum); }

ImpliedSums imply_sums(Program& program, Expr value, Assign op,
                       const std::vector<IndexId>& target_indices, const ExprMap<Span>& spans,
                       ExprMap<Expr>& renamed) {
    Implier implier(program, target_indices, spans, renamed);
    ImpliedSums sums = op == Assign::mul   ? implier.whole(Reducer::prod, value)
                       : op == Assign::max ? implier.whole(Reducer::max, value)
                       : op == Assign::min ? implier.whole(Reducer::min, value)
                                           : implier.per_term(value);
    sums.value = without_groups(*program.context, sums.value);
    return sums;
}

}  // namespace ricci
