// dsl/infer.cpp – ranges of indices and shapes of targets, as formulas of the arguments' sizes
//
// The rules are those of docs/language.md §4, applied with symbolic extents: which rule gives a
// range depends on the program's text alone, so the formulas hold for all sizes; the numbers are
// checked when the program is bound.
#include "dsl/infer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/subscript.h"

namespace ricci {
namespace {

/// An access in the statement's scope: one for each condition it stands under.
struct Site {
    Expr access;
    TensorId tensor;
    std::vector<Expr> at;
    Expr condition;
    const AccessSpans* spans;
};

struct Interval {
    Expr lower, upper;  ///< half-open
};

class Inference {
  public:
    Inference(Program& program, Equation& equation, const StatementScope& scope)
        : program_(program), context_(*program.context), equation_(equation), scope_(scope) {
        if (equation.previous)
            sites_.push_back(
                {Expr(), *equation.previous, equation.at, Expr(), &scope.target_spans});
        for (Expr e : equation.at) collect(e, Expr());
        collect(equation.value, Expr());
        read_subscripts();
    }

    void run() {
        plain_ranges();
        single_index_ranges();
        solve_unknown();
        restrict_targets();
        check_sums_agree();
        for (const Binding& binding : scope_.bindings) require_length(binding);
        require_in_bounds();
        if (!equation_.previous) make_shape();
    }

  private:
    /// One subscript of one site.
    struct Entry {
        const Site* site;
        std::size_t dimension;
        Subscript form;
        Expr extent;  ///< of the affine part: `X[i//c]` constrains i by c times the extent
    };

    void collect(Expr root, Expr condition) {
        if (!seen_.insert({&*root, condition ? &*condition : nullptr}).second) return;
        std::set<const Node*> visited;
        std::vector<Expr> stack{root};
        while (!stack.empty()) {
            const Expr e = stack.back();
            stack.pop_back();
            if (!visited.insert(&*e).second) continue;
            if (const auto* reduce = std::get_if<Reduce>(&e->term)) {
                const Expr inner = context_.logical_and(condition, reduce->condition);
                if (reduce->condition) collect(reduce->condition, inner);
                collect(reduce->body, inner);
                continue;
            }
            if (const auto* access = std::get_if<Access>(&e->term)) {
                const auto found = scope_.spans.find(e);
                sites_.push_back({e, access->tensor, access->at, condition,
                                  found == scope_.spans.end() ? nullptr : &found->second});
            }
            const std::vector<Expr> below = operands(e);
            stack.insert(stack.end(), below.rbegin(), below.rend());
        }
    }

    void read_subscripts() {
        for (const Site& site : sites_)
            for (std::size_t d = 0; d < site.at.size(); ++d) {
                Entry entry{&site, d, read_subscript(program_, site.at[d]),
                            program_.at(site.tensor).shape.at(d)};
                Subscript& form = entry.form;
                if (form.padding && !form.is_gathered) widen(entry);
                if (form.divisor && !form.is_opaque) {
                    entry.extent = integer_product(context_, *form.divisor, entry.extent);
                    require_positive(*form.divisor, span_of(entry));
                }
                if (!form.plain) in_compounds_.insert(form.indices.begin(), form.indices.end());
                entries_.push_back(std::move(entry));
            }
    }

    /// `pad(e, lo, hi)` is `e + lo` in an array that is longer by both.
    void widen(Entry& entry) {
        const auto& [low, high] = *entry.form.padding;
        Expr& rest = entry.form.rest;
        const Expr shift =
            entry.form.divisor ? integer_product(context_, *entry.form.divisor, low) : low;
        rest = integer_sum(context_, rest, shift);
        entry.extent = integer_sum(context_, integer_sum(context_, entry.extent, low), high);
    }

    [[nodiscard]] static Span span_of(const Entry& entry) {
        return entry.site->spans ? entry.site->spans->at.at(entry.dimension) : Span{};
    }
    /// What stands in the program there.
    [[nodiscard]] std::string typed(const Entry& entry) const {
        const Span span = span_of(entry);
        if (!program_.source || span.end > program_.source->text.size()) return {};
        return program_.source->text.substr(span.begin, span.end - span.begin);
    }
    [[nodiscard]] Index& index(IndexId id) { return program_.indices[position(id)]; }
    [[nodiscard]] bool is_known(IndexId id) const {
        return static_cast<bool>(program_.at(id).lower);
    }
    [[nodiscard]] bool is_target(IndexId id) const {
        return std::ranges::find(equation_.indices, id) != equation_.indices.end();
    }
    [[nodiscard]] const std::string& tensor_name(const Entry& entry) const {
        return program_.at(entry.site->tensor).name;
    }

    /// Rule 2: plain subscripts give [0, extent) and agree exactly.
    void plain_ranges() {
        for (const Binding& binding : scope_.bindings) {
            if (index(binding.index).is_explicit) continue;
            const Entry* first = nullptr;
            for (const Entry& entry : entries_) {
                if (entry.form.plain != binding.index) continue;
                if (!first) {
                    first = &entry;
                    index(binding.index).lower = context_.integer(0);
                    index(binding.index).upper = entry.extent;
                } else if (entry.extent != first->extent) {
                    require_equal(*first, entry, binding.index);
                }
            }
        }
    }

    void require_equal(const Entry& a, const Entry& b, IndexId id) {
        const auto here = [&](const Entry& entry, std::string_view value) {
            return Label{span_of(entry),
                         format("{} here: dimension {} of {} {{shape {}}}", value, entry.dimension,
                                tensor_name(entry), position(entry.site->tensor))};
        };
        const bool has_compound = in_compounds_.contains(id);
        const std::string name = index(id).name;
        std::string hint = "slice one operand, or give the two dimensions different index names";
        if (has_compound)
            hint = format("where {} in 0:size({{narrower {} {}}})", name, tensor_and_dimension(a),
                          tensor_and_dimension(b));
        std::string what = format("index `{}`", name);
        // The indices of a run have names that nobody typed.
        if (typed(a) == ".." || typed(b) == "..") {
            what = "a dimension of `..`";
            hint = "slice one operand, or write the dimensions with different index names";
        }
        program_.requirements.push_back(
            {.kind = Requirement::Kind::equal,
             .a = a.extent,
             .b = b.extent,
             .indices = {},
             .condition = Expr(),
             .otherwise = {.kind = ErrorKind::shape,
                           .message = what + " has two extents, {a} and {b}",
                           .source = program_.source,
                           .labels = {here(a, "{a}"), here(b, "{b}")},
                           .hint = std::move(hint)}});
    }

    [[nodiscard]] std::string tensor_and_dimension(const Entry& entry) const {
        return format("{},{}", tensor_name(entry), entry.dimension);
    }

    /// Rule 3: a compound subscript with one index only restricts that index.
    void single_index_ranges() {
        for (const Entry& entry : entries_) {
            if (entry.form.plain || entry.form.is_opaque || entry.form.terms.size() != 1) continue;
            const IndexId id = entry.form.terms.front().index;
            if (index(id).is_explicit) continue;
            intersect(id, solve(entry, id));
        }
    }

    /// Rule 4: unknown indices are solved from compounds whose other indices are known.
    void solve_unknown() {
        while (true) {
            std::vector<std::pair<IndexId, Interval>> solved;
            for (const Binding& binding : scope_.bindings) {
                if (is_known(binding.index)) continue;
                for (const Entry& entry : entries_)
                    if (can_solve(entry, binding.index)) {
                        require_companions(entry, binding.index);
                        solved.emplace_back(binding.index, solve(entry, binding.index));
                    }
            }
            if (solved.empty()) break;
            for (const auto& [id, interval] : solved) intersect(id, interval);
        }
        for (const Binding& binding : scope_.bindings)
            if (!is_known(binding.index)) unbounded(binding);
    }

    [[nodiscard]] bool can_solve(const Entry& entry, IndexId id) const {
        if (entry.form.is_opaque || !entry.form.is_linear_in(id)) return false;
        return std::ranges::all_of(entry.form.terms, [&](const Subscript::Term& term) {
            return term.index == id || is_known(term.index);
        });
    }

    /// Rule 5: a compound whose indices all have ranges restricts its single non-explicit target
    /// index, never a reduced one.
    void restrict_targets() {
        for (const Entry& entry : entries_) {
            if (entry.form.is_opaque || entry.form.terms.size() < 2) continue;
            std::optional<IndexId> target;
            int count = 0;
            for (const Subscript::Term& term : entry.form.terms)
                if (is_target(term.index) && !index(term.index).is_explicit) {
                    target = term.index;
                    ++count;
                }
            if (count == 1) intersect(*target, solve(entry, *target));
        }
    }

    /// The largest interval of `id` that keeps the subscript in bounds for every value of the
    /// others.
    Interval solve(const Entry& entry, IndexId id) {
        Expr least = entry.form.rest;
        Expr most = entry.form.rest;
        Expr coefficient;
        for (const Subscript::Term& term : entry.form.terms) {
            if (term.index == id) {
                coefficient = term.coefficient;
                continue;
            }
            const bool negative = is_negative(term.coefficient);
            const Expr first = index(term.index).lower;
            const Expr last =
                integer_difference(context_, index(term.index).upper, context_.integer(1));
            if (!is_literal(term.coefficient)) require_positive(term.coefficient, span_of(entry));
            const auto scaled = [&](Expr value) {
                return integer_product(context_, term.coefficient, value);
            };
            least = integer_sum(context_, least, scaled(negative ? last : first));
            most = integer_sum(context_, most, scaled(negative ? first : last));
        }
        // 0 <= c*id + others <= N - 1, for the least and the most that the others give.
        const Expr room = integer_difference(
            context_, integer_difference(context_, entry.extent, context_.integer(1)), most);
        const auto negated = [&](Expr e) { return integer_scale(context_, e, -1); };
        const auto next = [&](Expr e) { return integer_sum(context_, e, context_.integer(1)); };
        if (is_negative(coefficient)) {
            const Expr size = negated(coefficient);
            return {negated(floor_quotient(context_, room, size)),
                    next(floor_quotient(context_, least, size))};
        }
        if (!is_literal(coefficient)) require_positive(coefficient, span_of(entry));
        return {negated(floor_quotient(context_, least, coefficient)),
                next(floor_quotient(context_, room, coefficient))};
    }

    void intersect(IndexId id, const Interval& interval) {
        Index& entry = index(id);
        entry.lower = entry.lower ? larger(context_, entry.lower, interval.lower) : interval.lower;
        entry.upper = entry.upper ? smaller(context_, entry.upper, interval.upper) : interval.upper;
    }

    [[noreturn]] void unbounded(const Binding& binding) const {
        const std::string& name = program_.at(binding.index).name;
        std::string why;
        for (const Entry& entry : entries_)
            for (const Subscript::Term& term : entry.form.terms)
                if (entry.form.mentions(binding.index) && term.index != binding.index &&
                    !is_known(term.index))
                    why = format(": `{}` has no range either", program_.at(term.index).name);
        throw Error({.kind = ErrorKind::range,
                     .message = format("nothing bounds the index `{}`{}", name, why),
                     .source = program_.source,
                     .labels = {{binding.span, ""}},
                     .hint = format("give it a range: `where {} in 0:N`", name)});
    }

    /// Implied sums over one name have the same range in every term.
    void check_sums_agree() {
        std::map<std::string, const Binding*> first;
        for (const Binding& binding : scope_.bindings) {
            if (binding.kind != Binding::Kind::implied) continue;
            const auto [known, is_new] = first.emplace(index(binding.index).name, &binding);
            if (!is_new) require_same_range(*known->second, binding);
        }
    }

    void require_same_range(const Binding& first, const Binding& second) {
        const Index& a = index(first.index);
        const Index& b = index(second.index);
        const auto require = [&](Expr x, Expr y) {
            if (x == y) return;
            program_.requirements.push_back(
                {.kind = Requirement::Kind::equal,
                 .a = x,
                 .b = y,
                 .indices = {},
                 .condition = Expr(),
                 .otherwise = {
                     .kind = ErrorKind::range,
                     .message = format("`{}` is summed over two ranges in one statement", a.name),
                     .source = program_.source,
                     .labels = {{first.span, ""}},
                     .hint = format("give the range, `where {} in …`, or use two names", a.name)}});
        };
        require(a.lower, b.lower);
        require(a.upper, b.upper);
    }

    void require_length(const Binding& binding) {
        const Index& entry = index(binding.index);
        if (entry.is_explicit) return;
        const Expr length = integer_difference(context_, entry.upper, entry.lower);
        if (std::holds_alternative<Size>(length->term)) return;
        program_.requirements.push_back(
            {.kind = Requirement::Kind::not_negative,
             .a = length,
             .b = Expr(),
             .indices = {},
             .condition = Expr(),
             .otherwise = {.kind = ErrorKind::range,
                           .message = format("the range of `{}` has the length {{a}}", entry.name),
                           .source = program_.source,
                           .labels = {{binding.span, ""}},
                           .hint = "the arrays are too small for these subscripts"}});
    }

    void require_positive(Expr coefficient, Span span) {
        if (is_literal(coefficient) && !is_negative(coefficient) && !is_literal(coefficient, 0))
            return;
        program_.requirements.push_back(
            {.kind = Requirement::Kind::positive,
             .a = coefficient,
             .b = Expr(),
             .indices = {},
             .condition = Expr(),
             .otherwise = {.kind = ErrorKind::range,
                           .message = "an index gets its range from this subscript, whose factor "
                                      "or divisor is {a}: it has to be positive",
                           .source = program_.source,
                           .labels = {{span, ""}},
                           .hint = "give the ranges of this subscript's indices with `where`"}});
    }

    void require_companions(const Entry& entry, IndexId id) {
        for (const Subscript::Term& term : entry.form.terms) {
            if (term.index == id || index(term.index).is_explicit) continue;
            const std::string& name = index(term.index).name;
            program_.requirements.push_back(
                {.kind = Requirement::Kind::not_empty,
                 .a = index(term.index).lower,
                 .b = index(term.index).upper,
                 .indices = {},
                 .condition = Expr(),
                 .otherwise = {.kind = ErrorKind::range,
                               .message = format("`{}` cannot be bounded: the range of `{}` is "
                                                 "empty",
                                                 index(id).name, name),
                               .source = program_.source,
                               .labels = {{span_of(entry), ""}},
                               .hint = format("give a range: `where {} in 0:N`", index(id).name)}});
        }
    }

    /// Rule 6: every access is proved in bounds when the program is bound.
    void require_in_bounds() {
        for (const Entry& entry : entries_) {
            const auto& plain = entry.form.plain;
            if ((plain && !index(*plain).is_explicit) || entry.form.is_free) continue;
            if (entry.form.is_gathered) {
                note_gather(entry);
                continue;
            }
            if (entry.form.padding) {
                require_in_padding(entry);
                continue;
            }
            const Expr subscript = entry.site->at[entry.dimension];
            const std::vector<IndexId> indices = free_indices(subscript);
            // What counts from the end is named as it was typed.
            const std::string text = typed(entry);
            std::string message =
                indices.empty()
                    ? format("`{}` has no element {} in dimension {}, whose extent is {{b}}",
                             tensor_name(entry), text.starts_with('-') ? text : "{low}",
                             entry.dimension)
                    : format(
                          "`{}` can leave its array: {{term}} runs over {{low}}..{{high}} in "
                          "dimension {} of extent {{b}}",
                          tensor_name(entry), entry.dimension);
            program_.requirements.push_back(
                {.kind = Requirement::Kind::in_bounds,
                 .a = subscript,
                 .b = program_.at(entry.site->tensor).shape.at(entry.dimension),
                 .indices = indices,
                 .condition = entry.site->condition,
                 .otherwise = {.kind = ErrorKind::range,
                               .message = std::move(message),
                               .source = program_.source,
                               .labels = {{span_of(entry), ""}},
                               .hint = in_bounds_hint(entry)},
                 .term = subscript});
        }
    }

    void require_in_padding(const Entry& entry) {
        const Expr subscript = entry.site->at[entry.dimension];
        const auto& modified = std::get<Modified>(subscript->term);
        const Expr moved = integer_sum(context_, modified.at, modified.low);
        const Expr extent = program_.at(entry.site->tensor).shape.at(entry.dimension);
        const Expr padded =
            integer_sum(context_, integer_sum(context_, extent, modified.low), modified.high);
        program_.requirements.push_back(
            {.kind = Requirement::Kind::in_bounds,
             .a = moved,
             .b = padded,
             .indices = free_indices(moved),
             .condition = entry.site->condition,
             .otherwise = {.kind = ErrorKind::range,
                           .message = format(
                               "`{}` can leave its padding: {{term}} runs over {{low}}..{{high}} "
                               "from its first element, and dimension {} has {{b}} with it",
                               tensor_name(entry), entry.dimension),
                           .source = program_.source,
                           .labels = {{span_of(entry), ""}},
                           .hint = in_bounds_hint(entry)},
             .term = modified.at});
    }

    /// Where the subscript stands, for the error when it is found outside.
    void note_gather(const Entry& entry) {
        program_.requirements.push_back({.kind = Requirement::Kind::gathered,
                                         .a = entry.site->at[entry.dimension],
                                         .b = Expr(),
                                         .indices = {},
                                         .condition = Expr(),
                                         .otherwise = {.kind = ErrorKind::range,
                                                       .message = {},
                                                       .source = program_.source,
                                                       .labels = {{span_of(entry), ""}},
                                                       .hint = {}}});
    }

    [[nodiscard]] std::string in_bounds_hint(const Entry& entry) const {
        if (entry.form.terms.empty()) return "the first element is 0, the last is `end`";
        return format("give a smaller range: `where {} in …`",
                      program_.at(entry.form.terms.front().index).name);
    }

    /// The new array with `+_` behind every index that does not start at 0.
    [[nodiscard]] std::string shifted_target(const std::vector<Expr>& at) const {
        std::vector<std::string> slots;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const auto* value = std::get_if<IndexValue>(&at[d]->term);
            const bool is_shifted = scope_.is_shifted.at(d) ||
                                    (value && !is_literal(program_.at(value->index).lower, 0));
            slots.push_back(!value       ? "_"
                            : is_shifted ? program_.at(value->index).name + "+_"
                                         : program_.at(value->index).name);
        }
        return format("{}[{}]", program_.at(equation_.target).name, join(slots, ","));
    }

    /// The shape of a new array; indices start at 0 or are shifted to.
    void make_shape() {
        Tensor& tensor = program_.tensors[position(equation_.target)];
        const std::vector<Expr> written = equation_.at;
        for (std::size_t d = 0; d < equation_.at.size(); ++d) {
            const auto* value = std::get_if<IndexValue>(&equation_.at[d]->term);
            if (!value) {
                tensor.shape.push_back(context_.integer(1));
                continue;
            }
            const Index& entry = index(value->index);
            if (scope_.is_shifted.at(d)) {
                equation_.at[d] = integer_difference(context_, equation_.at[d], entry.lower);
                tensor.shape.push_back(integer_difference(context_, entry.upper, entry.lower));
                continue;
            }
            tensor.shape.push_back(entry.upper);
            if (is_literal(entry.lower, 0)) continue;
            program_.requirements.push_back(
                {.kind = Requirement::Kind::equal,
                 .a = entry.lower,
                 .b = context_.integer(0),
                 .indices = {},
                 .condition = Expr(),
                 .otherwise = {
                     .kind = ErrorKind::range,
                     .message = format("the index `{}` of a new array starts at {{a}}, "
                                       "not at 0",
                                       entry.name),
                     .source = program_.source,
                     .labels = {{scope_.target_spans.at.at(d), ""}},
                     .hint = format("write `{}` to shift it to 0", shifted_target(written))}});
        }
    }

    Program& program_;
    Context& context_;
    Equation& equation_;
    const StatementScope& scope_;
    std::vector<Site> sites_;
    std::vector<Entry> entries_;
    std::set<IndexId> in_compounds_;  ///< indices that stand in subscripts beside something
    std::set<std::pair<const Node*, const Node*>> seen_;
};

}  // namespace

void infer_ranges(Program& program, Equation& equation, const StatementScope& scope) {
    Inference(program, equation, scope).run();
}

}  // namespace ricci
