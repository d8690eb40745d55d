// codegen/cuda/write_form.cpp – affine forms, loop bounds and addresses as text
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::cuda {

namespace {

struct NamedTerm {
    std::int64_t coefficient;  ///< not 0
    std::string name;
};

/// The terms, at least one, in their order; the constant stands last, or first before a minus.
std::string sum_text(const std::vector<NamedTerm>& terms, std::int64_t constant, bool is_narrow) {
    std::string text;
    const bool begins_negative = terms[0].coefficient < 0;
    if (begins_negative && constant > 0)
        text = constant_text({.integer = constant}, DType::i64).text;
    for (const auto& [coefficient, name] : terms) {
        const bool is_negative = coefficient < 0;
        const auto factor =
            is_negative ? 0 - std::uint64_t(coefficient) : std::uint64_t(coefficient);
        text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
        text += factor == 1 ? name : format("{}{} * {}", factor, is_narrow ? "" : "LL", name);
    }
    if (!begins_negative && constant > 0)
        text += format(" + {}", constant_text({.integer = constant}, DType::i64).text);
    if (constant < 0) text += format(" - {}", 0 - std::uint64_t(constant));
    return text;
}

}  // namespace

/// In 32 bits where no part of the sum needs more.
Text NestWriter::form(const AffineForm& form) const {
    std::int64_t constant = form.constant;
    std::vector<AffineForm::Term> terms;
    bool has_wide = false;
    for (const AffineForm::Term& term : form.terms) {
        const Variable& var = vars_.at(std::size_t(term.var));
        if (var.constant) {
            constant += term.coefficient * *var.constant;
            continue;
        }
        terms.push_back(term);
        has_wide |= var.is_wide;
    }
    if (terms.empty()) return constant_text({.integer = constant}, DType::i64);

    const bool is_narrow = ranges_.is_narrow(form);
    std::vector<NamedTerm> named;
    for (const AffineForm::Term& term : terms) {
        const Variable& var = vars_[std::size_t(term.var)];
        RICCI_ASSERT(!var.name.empty(), format("`{}` is used outside its loop in nest `{}`",
                                               nest_.at(term.var).name, nest_.name));
        const bool is_as_it_is = is_narrow || var.is_wide;
        named.push_back(
            {term.coefficient, is_as_it_is ? var.name : format("rc_i64({})", var.name)});
    }
    std::string text = sum_text(named, constant, is_narrow);
    const bool is_sum = terms.size() > 1 || constant != 0;
    const Strength strength = is_sum                       ? Strength::sum
                              : terms[0].coefficient == 1  ? Strength::primary
                              : terms[0].coefficient == -1 ? Strength::unary
                                                           : Strength::product;
    if (!is_narrow || has_wide) return {std::move(text), strength};
    return {std::move(text), strength, ranges_.of(form)};
}

bool NestWriter::is_wide(const BoundTerm& term) const {
    return !ranges_.is_narrow(term.form, term.divisor);
}

/// ceil(form / divisor) or floor(form / divisor).
Text NestWriter::quotient(const BoundTerm& term, bool is_lower) const {
    const std::int64_t divisor = term.divisor;
    if (divisor == 1) return form(term.form);
    const Range range = ranges_.of(term.form);
    if (range.multiple % divisor == 0 || range.low >= 0) {
        const bool rounds_up = is_lower && range.multiple % divisor != 0;
        const Text dividend = form(rounds_up ? term.form + codegen::form(divisor - 1) : term.form);
        Text text{format("{} / {}", at_least(Strength::product, dividend), divisor),
                  Strength::product};
        if (dividend.range) text.range = ranges_.of(term, is_lower);
        return text;
    }
    const Text dividend = form(term.form);
    const std::string_view type = dividend.range ? "int" : "rc_i64";
    Text text{
        format("rc_{}_by<{}>({}, {})", is_lower ? "ceil" : "floor", type, dividend.text, divisor)};
    if (dividend.range) text.range = ranges_.of(term, is_lower);
    return text;
}

/// The greatest of the terms of a lower bound, the smallest of an upper one.
Text NestWriter::bound(const LoopBound& bound, bool is_lower) const {
    RICCI_ASSERT(!bound.empty(), format("a loop of nest `{}` has no bound", nest_.name));
    Text result = quotient(bound[0], is_lower);
    for (std::size_t i = 1; i < bound.size(); ++i) {
        const Text next = quotient(bound[i], is_lower);
        const bool is_narrow = result.range && next.range;
        result = {format("{}<{}>({}, {})", is_lower ? "rc_most" : "rc_least",
                         is_narrow ? "int" : "rc_i64", result.text, next.text)};
        if (is_narrow)
            result.range =
                ranges_.of(LoopBound(bound.begin(), bound.begin() + long(i) + 1), is_lower);
    }
    return result;
}

/// The place in its buffer, some elements further on.
std::string NestWriter::index(const Address& at, std::int64_t offset) {
    const AffineForm moved = at.affine + codegen::form(offset);
    if (!at.computed) return form(moved).text;
    const Text computed = value(at.computed);
    if (moved == AffineForm{}) return computed.text;
    const Text affine = form(moved);
    // An `int` and an `int` might leave 32 bits together.
    const bool is_narrow =
        affine.range && computed.range &&
        Range{affine.range->low + computed.range->low, affine.range->high + computed.range->high}
            .is_narrow();
    const std::string first = is_narrow || !affine.range || !computed.range
                                  ? affine.text
                                  : format("rc_i64({})", affine.text);
    return format("{} + {}", first, at_least(Strength::product, computed));
}

std::string NestWriter::element(BufferId buffer, const Address& at) {
    if (scalars_.contains(buffer)) return buffers_.at(std::size_t(buffer));
    return format("{}[{}]", buffers_.at(std::size_t(buffer)), index(at));
}

}  // namespace ricci::codegen::cuda
