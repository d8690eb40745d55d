// dsl/print.cpp – programs in the language: as short as it may be, and read back to be sure
//
// A statement is first written with its implied sums and without ranges. The text is read back and
// compared with the program; statements that would mean something else are written with what tells
// them apart, until the text says the same.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "dsl/derived_reducer.h"
#include "dsl/equivalence.h"
#include "dsl/extent.h"
#include "dsl/inline_temporaries.h"
#include "dsl/print_names.h"
#include "dsl/print_statement.h"
#include "dsl/program.h"
#include "dsl/size_relations.h"
#include "dsl/subscript.h"
#include "dsl/transplant.h"
#include "dsl/versions.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// Readings back that end in an error tell of one statement each; after so many, every statement
/// is written in full.
constexpr int max_errors = 32;

/// `- -x` is `x` where even a truth value would be a number: in sums and as a top-level term.
Expr without_double_sign(Expr term) {
    while (is_apply(term, Op::neg)) {
        const Expr inner = std::get<Apply>(term->term).args.front();
        if (!is_apply(inner, Op::neg)) break;
        term = std::get<Apply>(inner->term).args.front();
    }
    return term;
}

bool is_sum(Expr e) {
    const auto* const reduce = std::get_if<Reduce>(&e->term);
    return reduce != nullptr && reduce->reducer == Reducer::sum;
}

/// The negated sum of the values for the sum of negated values, which is the same to the last bit.
Expr with_sign_outside(Context& context, Expr e) {
    if (const Expr plain = without_double_sign(e); is_sum(plain)) e = plain;
    if (!is_sum(e)) return e;
    const auto& sum = std::get<Reduce>(e->term);
    const Expr body = without_double_sign(sum.body);
    if (is_apply(body, Op::neg))
        return context.neg(context.reduce(sum.reducer, sum.indices, sum.condition,
                                          std::get<Apply>(body->term).args.front(), e->dtype));
    return context.reduce(sum.reducer, sum.indices, sum.condition, body, e->dtype);
}

/// The term of a sum, the sign of a sum in parentheses taken into it.
Expr with_sign_inside(Context& context, Expr term) {
    term = without_double_sign(term);
    if (!is_apply(term, Op::neg)) return term;
    const Expr negated = std::get<Apply>(term->term).args.front();
    if (!is_apply(negated, Op::add)) return term;
    std::vector<Expr> terms = std::get<Apply>(negated->term).args;
    for (Expr& each : terms) each = without_double_sign(context.neg(each));
    return context.apply(Op::add, std::move(terms), term->dtype);
}

/// Writes signs where the language puts them: outside implied sums, and at each top-level term.
Program with_signs_in_place(Program program) {
    Context& context = *program.context;
    for (Equation& equation : program.equations) {
        const Expr value =
            rewrite(context, equation.value, [&](Expr e) { return with_sign_outside(context, e); });
        equation.value = with_sign_inside(context, value);
        if (!is_apply(equation.value, Op::add)) continue;
        std::vector<Expr> terms = std::get<Apply>(equation.value->term).args;
        for (Expr& term : terms) term = with_sign_inside(context, term);
        equation.value = context.apply(Op::add, std::move(terms), equation.value->dtype);
    }
    return program;
}

/// Subscripts with like parts collected, where that makes them shorter: `i-n+n` is `i`.
Program with_short_subscripts(Program program) {
    Context& context = *program.context;
    const auto shortened = [&](Expr e) {
        const auto form = is_apply(e, Op::add) ? linear_form(e) : std::nullopt;
        const Expr shorter = form ? to_expr(context, *form) : e;
        return postorder({shorter}).size() < postorder({e}).size() ? shorter : e;
    };
    for (Equation& equation : program.equations)
        equation.value = rewrite(context, equation.value, [&](Expr e) {
            const auto* const access = std::get_if<Access>(&e->term);
            if (access == nullptr) return e;
            std::vector<Expr> at = access->at;
            std::ranges::transform(at, at.begin(), shortened);
            return context.access(access->tensor, std::move(at), e->dtype);
        });
    return program;
}

/// A derivative keeps the places of largest values of rows that may have none, of which it uses
/// nothing; what is read is checked, so the text chooses: `any[k](c) ? argmax[k | c](x) : 0`.
Program with_places_of_nothing(Program program) {
    Context& context = *program.context;
    for (Equation& equation : program.equations) {
        if (program.at(equation.target).role != Role::temporary || !equation.span.is_empty())
            continue;
        const auto* const reduce = std::get_if<Reduce>(&equation.value->term);
        if (reduce == nullptr || !reduce->condition) continue;
        if (reduce->reducer != Reducer::argmax && reduce->reducer != Reducer::argmin) continue;
        const Expr has_points =
            with_new_indices(program, {Reducer::any, reduce->indices, Expr(), reduce->condition});
        equation.value =
            context.apply(Op::select, {has_points, equation.value, context.integer(0)});
    }
    return program;
}

class ProgramPrinter {
  public:
    explicit ProgramPrinter(Program program)
        : program_(std::move(program)),
          styles_(program_.equations.size(), {.has_implied_sums = true}),
          tensors_(tensor_names(program_)),
          relations_(program_) {}

    std::string run() {
        while (true) {
            write();
            if (!improve()) return remark_ + text_;
        }
    }

  private:
    void write() {
        text_.clear();
        ends_.clear();
        index_names_.clear();
        for (std::size_t n = 0; n < styles_.size(); ++n) {
            PrintNames names{.tensors = tensors_};
            if (n > 0) text_ += '\n';
            text_ +=
                print_statement(program_, program_.equations[n], styles_[n], relations_, names);
            ends_.push_back(text_.size());
            index_names_.merge(names.indices);
        }
    }

    /// Reads the text back and makes statements more explicit that came out different. False when
    /// there are none, or nothing more can be said of them.
    bool improve() {
        std::optional<Program> read;
        try {
            read = parse_program(text_);
        } catch (const Error& error) {
            return improve_after(error.diagnosis());
        }
        remark_.clear();
        read = with_signs_in_place(std::move(*read));
        const auto found = differences(program_, {tensors_->by_id, index_names_}, *read);
        // A statement that reads what came out different may be different for that reason alone.
        std::set<TensorId> doubtful;
        bool is_improved = false;
        for (std::size_t n = 0; n < found.size(); ++n) {
            const Equation& equation = program_.equations[n];
            const bool is_consequence =
                std::ranges::any_of(tensors_read(equation.value),
                                    [&](TensorId id) { return doubtful.contains(id); }) ||
                (equation.previous && doubtful.contains(*equation.previous));
            if (found[n].is_none() && !is_consequence) continue;
            doubtful.insert(equation.target);
            if (is_consequence) continue;
            if (improve(n, found[n]))
                is_improved = true;
            else
                remark_ =
                    format("# not expressible in the language as it stands: statement {}\n", n + 1);
        }
        return is_improved;
    }
    bool improve_after(const Diagnosis& diagnosis) {
        remark_ = format("# not expressible in the language as it stands: {}\n", diagnosis.message);
        if (diagnosis.labels.empty() || ++errors_ > max_errors) {
            bool is_improved = false;
            for (StatementStyle& style : styles_) {
                is_improved |= style.has_implied_sums || !style.has_all_ranges;
                style = {.has_implied_sums = false, .has_all_ranges = true};
            }
            return is_improved;
        }
        const Span place = diagnosis.labels.front().span;
        const auto end = std::ranges::lower_bound(ends_, place.begin);
        const auto n = std::min(std::size_t(end - ends_.begin()), styles_.size() - 1);
        if (diagnosis.kind != ErrorKind::range) return improve(n, {.is_other_term = true});
        return improve(n, {.ranges = indices_in_need(n, place)});
    }
    /// The indices that a missing range is about: those of the marked name, or all free ones.
    std::vector<IndexId> indices_in_need(std::size_t n, Span place) const {
        const Equation& equation = program_.equations[n];
        const std::string name = text_.substr(place.begin, place.end - place.begin);
        std::vector<IndexId> all = equation.indices;
        for (Expr e : postorder({equation.value}))
            if (const auto* const reduce = std::get_if<Reduce>(&e->term))
                all.insert(all.end(), reduce->indices.begin(), reduce->indices.end());
        std::erase_if(all,
                      [&](IndexId index) { return index_names_.at(std::uint32_t(index)) != name; });
        return all.empty() ? equation.indices : all;
    }

    /// One step: ranges that are missing, or else sums and ranges in full.
    bool improve(std::size_t n, const Difference& difference) {
        StatementStyle& style = styles_[n];
        const std::size_t before = style.ranges.size();
        style.ranges.insert(difference.ranges.begin(), difference.ranges.end());
        if (style.ranges.size() > before) return true;
        if (difference.is_other_term && std::exchange(style.has_implied_sums, false)) return true;
        if (!std::exchange(style.has_all_ranges, true)) return true;
        return std::exchange(style.has_implied_sums, false);
    }

    Program program_;
    std::vector<StatementStyle> styles_;
    std::shared_ptr<const TensorNames> tensors_;
    SizeRelations relations_;
    std::unordered_map<std::uint32_t, std::string> index_names_;
    std::string text_;
    std::vector<std::size_t> ends_;  ///< of the statements in the text
    std::string remark_;             ///< a comment when the text does not read back
    int errors_ = 0;
};

}  // namespace

std::string str(const Program& program) {
    Program copy =
        with_places_of_nothing(inline_temporaries(keep_old_versions(in_own_context(program))));
    return ProgramPrinter(with_signs_in_place(with_short_subscripts(std::move(copy)))).run();
}

std::string str(const Program& program, const Equation& equation) {
    PrintNames names{.tensors = tensor_names(program)};
    return print_statement(program, equation, {}, SizeRelations(program), names);
}

std::string str(const Program& program, Expr e) {
    PrintNames names{.tensors = tensor_names(program)};
    name_indices(names, program, free_indices(e), {e});
    return TermPrinter(program, names).print(e);
}

std::string brief(const Program& program, Expr e) {
    constexpr std::size_t most = 40;
    ExprMap<std::size_t> sizes;  // written out
    for (Expr node : postorder({e})) {
        std::size_t size = 1;
        for (Expr operand : operands(node)) size = std::min(size + sizes.at(operand), most + 1);
        sizes.emplace(node, size);
    }
    if (sizes.at(e) <= most) return str(program, e);
    // A scalar of that name stands for what is left out.
    Program shortened = program;
    const TensorId dots =
        shortened.add(Tensor{.name = "…", .rank = 0, .role = Role::scalar, .span = {}});
    const Expr left_out = program.context->access(dots, {}, e->dtype);
    if (const auto* apply = std::get_if<Apply>(&e->term); apply && apply->args.size() > 3)
        return str(shortened,
                   program.context->apply(
                       apply->op, {apply->args.front(), left_out, apply->args.back()}, e->dtype));
    ExprMap<Expr> replacement;
    for (Expr operand : operands(e))
        if (sizes.at(operand) > most / 4) replacement.emplace(operand, left_out);
    return str(shortened, substitute(*program.context, e, replacement));
}

std::string subscript_text(const Program& program, Expr e) {
    PrintNames names{.tensors = tensor_names(program)};
    name_indices(names, program, free_indices(e), {e});
    return TermPrinter(program, names).print(e, Precedence::select, TermPrinter::Place::subscript);
}

}  // namespace ricci
