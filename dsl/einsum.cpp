// dsl/einsum.cpp – numpy's einsum notation as a program
#include "dsl/einsum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ricci {
namespace {

/// One operand or the output: its letters, and where `...` stands among them.
struct Term {
    struct Letter {
        char name;
        Span span;
    };
    std::vector<Letter> letters;
    std::optional<std::size_t> ellipsis;  ///< letters before it
    Span ellipsis_span;
    Span span;

    [[nodiscard]] bool has(char name) const {
        return std::ranges::find(letters, name, &Letter::name) != letters.end();
    }
};

struct Notation {
    std::vector<Term> operands;
    std::optional<Term> output;
};

/// The type that numpy gives what is made of both: integers of 32 bits and more make f64 with
/// floating numbers, those of 16 bits at least f32; i64 with u64 is f64.
DType numpy_type(DType a, DType b) {
    if (is_integer(a) && is_integer(b)) return promote(a, b).value_or(DType::f64);
    const bool a_is_number = is_floating(a) || is_complex(a);
    const bool b_is_number = is_floating(b) || is_complex(b);
    if (a_is_number == b_is_number || a == DType::boolean || b == DType::boolean)
        return promote(a, b).value_or(DType::f64);
    const DType integer = a_is_number ? b : a;
    const DType number = a_is_number ? a : b;
    const DType least = size_bytes(integer) > 2    ? DType::f64
                        : size_bytes(integer) == 2 ? DType::f32
                                                   : number;
    return promote(number, least).value_or(DType::f64);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
  public:
    Translator(const SourcePtr& source, const std::vector<Shape>& shapes,
               const std::vector<DType>& dtypes)
        : source_(source), text_(source->text), shapes_(shapes), dtypes_(dtypes) {}

    Einsum translate() {
        parse();
        if (notation_.operands.size() != shapes_.size()) {
            fail(ErrorKind::syntax,
                 format("{} in the text, {} given", plural(notation_.operands.size(), "operand"),
                        plural(shapes_.size(), "array")),
                 {{whole(), ""}});
        }
        for (std::size_t i = 0; i < shapes_.size(); ++i) measure(i);
        if (!notation_.output) imply_output();
        check_output();
        return write();
    }

  private:
    [[noreturn]] void fail(ErrorKind kind, std::string message, std::vector<Label> labels,
                           std::string hint = {}) const {
        throw Error({.kind = kind,
                     .message = std::move(message),
                     .source = source_,
                     .labels = std::move(labels),
                     .hint = std::move(hint)});
    }
    [[nodiscard]] Span whole() const { return {0, static_cast<std::uint32_t>(text_.size())}; }
    [[nodiscard]] static Span span_at(std::size_t at, std::size_t length = 1) {
        return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)};
    }

    void parse() {
        notation_.operands.emplace_back();
        Term* term = &notation_.operands.back();
        std::size_t begin = 0;
        const auto finish = [&](std::size_t at) { term->span = span_at(begin, at - begin); };
        for (std::size_t at = 0; at < text_.size(); ++at) {
            const std::string_view rest = text_.substr(at);
            if (rest.front() == ' ') continue;
            if (is_letter(rest.front())) {
                term->letters.push_back({rest.front(), span_at(at)});
            } else if (rest.front() == '.' && !rest.starts_with("...")) {
                fail(ErrorKind::syntax, "a `.` is no part of `...`", {{span_at(at), ""}},
                     "`...` stands for the dimensions without a letter");
            } else if (rest.starts_with("...")) {
                if (term->ellipsis)
                    fail(ErrorKind::syntax, "`...` stands twice in a term", {{span_at(at, 3), ""}});
                term->ellipsis = term->letters.size();
                term->ellipsis_span = span_at(at, 3);
                at += 2;
            } else if (rest.starts_with("->") && !notation_.output) {
                finish(at);
                term = &notation_.output.emplace();
                begin = at + 2;
                ++at;
            } else if (rest.front() == ',' && !notation_.output) {
                finish(at);
                term = &notation_.operands.emplace_back();
                begin = at + 1;
            } else {
                const std::size_t length = std::max<std::size_t>(character_length(text_, at), 1);
                fail(ErrorKind::syntax, format("`{}` has no meaning here", rest.substr(0, length)),
                     {{span_at(at, length), ""}},
                     "letters, `,`, `...` and one `->`, as in `ij,jk->ik`");
            }
        }
        finish(text_.size());
    }

    /// Takes in the extents of one operand.
    void measure(std::size_t operand) {
        const Term& term = notation_.operands[operand];
        const Shape& shape = shapes_[operand];
        const std::size_t letters = term.letters.size();
        if (term.ellipsis ? shape.size() < letters : shape.size() != letters) {
            fail(ErrorKind::shape,
                 format("operand {} has {}, its term names {}", operand,
                        plural(shape.size(), "dimension"), letters),
                 {{term.span, format("operand {}: {}", operand, str(shape))}},
                 term.ellipsis ? "" : "a letter for each dimension, or `...` for those not named");
        }
        const std::size_t run = shape.size() - letters;
        const std::size_t before = term.ellipsis.value_or(letters);
        for (std::size_t i = 0; i < letters; ++i) {
            const std::size_t d = i < before ? i : i + run;
            for (std::size_t j = 0; j < i; ++j)
                if (term.letters[j].name == term.letters[i].name)
                    require_diagonal(operand, j, j < before ? j : j + run, i, d);
            agree(extents_[std::string(1, term.letters[i].name)],
                  {shape[d], term.letters[i].span, operand, d}, term.letters[i].name);
        }
        // Dimensions of `...` are aligned at their ends, as in broadcasting.
        run_ = std::max(run_, run);
        for (std::size_t i = 0; i < run; ++i) {
            const std::size_t d = before + i;
            agree(extents_[run_name(run - i)], {shape[d], term.ellipsis_span, operand, d}, '.');
        }
    }

    /// Where an extent of an index was seen.
    struct Seen {
        std::int64_t extent = 1;
        Span span = {};
        std::size_t operand = 0;
        std::size_t dimension = 0;
    };

    /// A diagonal has one extent: there nothing is repeated.
    void require_diagonal(std::size_t operand, std::size_t first, std::size_t d, std::size_t second,
                          std::size_t e) const {
        const Shape& shape = shapes_[operand];
        if (shape[d] == shape[e]) return;
        const auto& letters = notation_.operands[operand].letters;
        const auto here = [&](std::size_t letter, std::size_t dimension) {
            return Label{letters[letter].span,
                         format("{} here: dimension {} of operand {} {}", shape[dimension],
                                dimension, operand, str(shape))};
        };
        fail(ErrorKind::shape,
             format("the diagonal of `{}` has two extents, {} and {}", letters[first].name,
                    shape[d], shape[e]),
             {here(first, d), here(second, e)});
    }

    void agree(std::optional<Seen>& known, const Seen& seen, char letter) const {
        if (!known || known->extent == 1) {
            known = seen;
            return;
        }
        if (seen.extent == 1 || seen.extent == known->extent) return;
        const auto label = [&](const Seen& place) {
            return Label{place.span,
                         format("{} here: dimension {} of operand {} {}", place.extent,
                                place.dimension, place.operand, str(shapes_[place.operand]))};
        };
        const std::string what = letter == '.' ? "a dimension of `...`" : format("`{}`", letter);
        fail(ErrorKind::shape,
             format("{} has two extents, {} and {}", what, known->extent, seen.extent),
             {label(*known), label(seen)});
    }

    /// The index of a dimension of `...`, counted from the end of the run (1 is the last).
    static std::string run_name(std::size_t from_end) { return format("d{}", from_end); }

    void imply_output() {
        Term output;
        std::map<char, int> counts;
        for (const Term& term : notation_.operands)
            for (const Term::Letter& letter : term.letters) ++counts[letter.name];
        for (const auto& [name, count] : counts)
            if (count == 1) output.letters.push_back({name, {}});
        output.ellipsis = 0;
        notation_.output = std::move(output);
    }

    void check_output() const {
        const Term& output = *notation_.output;
        for (std::size_t i = 0; i < output.letters.size(); ++i) {
            const Term::Letter& letter = output.letters[i];
            if (!extents_.contains(std::string(1, letter.name))) {
                fail(ErrorKind::name,
                     format("`{}` stands in the output and in no operand", letter.name),
                     {{letter.span, ""}});
            }
            for (std::size_t j = 0; j < i; ++j) {
                if (output.letters[j].name != letter.name) continue;
                fail(ErrorKind::syntax, format("`{}` stands twice in the output", letter.name),
                     {{letter.span, ""}, {output.letters[j].span, ""}});
            }
        }
        if (!output.ellipsis && run_ > 0) {
            fail(ErrorKind::syntax, "the operands have dimensions of `...`, the output has none",
                 {{output.span, ""}}, "put `...` into the output, or name the dimensions");
        }
    }

    [[nodiscard]] Einsum write() const {
        const Term& output = *notation_.output;
        const std::vector<std::string> free = index_names(output, run_);
        std::vector<std::string> summed;
        for (const auto& [name, seen] : extents_)
            if (std::ranges::find(free, name) == free.end()) summed.push_back(name);
        Einsum result;
        std::vector<std::string> factors;
        const DType type = common_type();
        for (std::size_t i = 0; i < shapes_.size(); ++i) {
            result.operands.push_back(format("A{}", i));
            const std::string element = format("A{}{}", i, subscripts(i));
            const bool is_converted = type != DType::none && dtypes_[i] != type;
            factors.push_back(is_converted ? format("{}({})", name(type), element) : element);
        }
        const bool is_bool = type == DType::boolean;
        std::string value = join(factors, is_bool ? " && " : "*");
        if (!summed.empty())
            value = wrapped(
                type, format("{}[{}]({})", is_bool ? "any" : "sum", join(summed, ","), value));
        result.program = format("Y0[{}] := {}", join(free, ","), value);
        return result;
    }

    /// `none` when types are the language's affair.
    [[nodiscard]] DType common_type() const {
        if (dtypes_.empty()) return DType::none;
        DType type = dtypes_.front();
        for (const DType dtype : dtypes_) type = numpy_type(type, dtype);
        return type;
    }

    /// A sum, which has 64 bits, with the low bits of an integer type that has fewer.
    static std::string wrapped(DType type, const std::string& sum) {
        if (!is_integer(type) || size_bytes(type) == 8) return sum;
        const std::int64_t values = std::int64_t{1} << (8 * size_bytes(type));
        if (!is_signed(type)) return format("{}({} % {})", name(type), sum, values);
        return format("{0}(({1} + {2}) % {3} - {2})", name(type), sum, values / 2, values);
    }

    /// The indices of a term's dimensions, with `run` of them for `...`.
    static std::vector<std::string> index_names(const Term& term, std::size_t run) {
        std::vector<std::string> names;
        const auto add_run = [&] {
            for (std::size_t i = run; i > 0; --i) names.push_back(run_name(i));
        };
        for (std::size_t i = 0; i < term.letters.size(); ++i) {
            if (term.ellipsis == i) add_run();
            names.emplace_back(1, term.letters[i].name);
        }
        if (term.ellipsis == term.letters.size()) add_run();
        return names;
    }

    [[nodiscard]] std::string subscripts(std::size_t operand) const {
        const Shape& shape = shapes_[operand];
        const Term& term = notation_.operands[operand];
        std::vector<std::string> at = index_names(term, shape.size() - term.letters.size());
        if (at.empty()) return {};
        for (std::size_t d = 0; d < at.size(); ++d)
            if (shape[d] == 1 && extents_.at(at[d])->extent != 1) at[d] = "0";
        return format("[{}]", join(at, ","));
    }

    const SourcePtr& source_;
    std::string_view text_;
    const std::vector<Shape>& shapes_;
    const std::vector<DType>& dtypes_;
    Notation notation_;
    std::map<std::string, std::optional<Seen>> extents_;  ///< by index
    std::size_t run_ = 0;  ///< the most dimensions that a `...` stands for
};

}  // namespace

Einsum translate_einsum(const SourcePtr& source, const std::vector<Shape>& shapes,
                        const std::vector<DType>& dtypes) {
    return Translator(source, shapes, dtypes).translate();
}

}  // namespace ricci
