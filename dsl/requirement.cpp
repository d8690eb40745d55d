// dsl/requirement.cpp – the checks that range inference left to binding
#include "dsl/requirement.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.h"
#include "dsl/prove.h"
#include "dsl/some_point.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The numbers that a requirement's text has places for.
struct Findings {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::string where;
    std::string term;
};

class Checker {
  public:
    Checker(const Program& program, SizeEvaluator& sizes, const std::set<TensorId>& known_scalars,
            const std::function<BoundIndex(IndexId)>& range_of)
        : program_(program), sizes_(sizes), known_scalars_(known_scalars), range_of_(range_of) {}

    void check(const Requirement& requirement) {
        Findings found;
        const bool holds = [&] {
            switch (requirement.kind) {
                case Requirement::Kind::equal:
                    found = values(requirement);
                    return found.a == found.b;
                case Requirement::Kind::not_negative:
                    found.a = sizes_.value(requirement.a);
                    return found.a >= 0;
                case Requirement::Kind::not_empty:
                    found = values(requirement);
                    return found.a < found.b || is_empty_box(requirement.indices);
                case Requirement::Kind::has_points:
                    return is_empty_box(requirement.indices) || has_points(requirement, found);
                case Requirement::Kind::positive:
                    found.a = sizes_.value(requirement.a);
                    return found.a > 0;
                case Requirement::Kind::in_bounds: return is_in_bounds(requirement, found);
                case Requirement::Kind::gathered:  return true;
            }
            return false;
        }();
        if (!holds) throw Error(filled(requirement, found));
    }

    [[nodiscard]] std::vector<Requirement> take_open() { return std::exchange(open_, {}); }

  private:
    /// Whether some index has no value: then nothing is evaluated.
    [[nodiscard]] bool is_empty_box(const std::vector<IndexId>& indices) const {
        return std::ranges::any_of(indices,
                                   [&](IndexId id) { return range_of_(id).extent() == 0; });
    }

    /// Whether the condition leaves a point for each of the indices; left open where data decides.
    bool has_points(const Requirement& requirement, Findings& found) {
        const Expr condition = with_known_numbers(requirement.condition);
        const PointSearch search =
            search_points(program_, condition, requirement.indices, range_of_, work_);
        if (search.result == PointSearch::Result::unknown) {
            open_.push_back(requirement);
            if (requirement.term) found.term = brief(program_, requirement.term);
            open_.back().otherwise.message = filled(requirement.otherwise.message, found);
        }
        if (!search.where.empty()) found.where = format(" for {}", search.where);
        return search.result != PointSearch::Result::none;
    }

    /// Sizes as numbers, and scalars that the bound program depends on anyway.
    Expr with_known_numbers(Expr condition) {
        return rewrite(*program_.context, sizes_.with_numbers(condition, false), [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            return access && known_scalars_.contains(access->tensor)
                       ? program_.context->integer(sizes_.value(node))
                       : node;
        });
    }

    Findings values(const Requirement& requirement) {
        Findings found;
        found.a = sizes_.value(requirement.a);
        found.b = sizes_.value(requirement.b);
        return found;
    }

    bool is_in_bounds(const Requirement& requirement, Findings& found) {
        found.b = sizes_.value(requirement.b);
        const Expr subscript = sizes_.with_numbers(requirement.a, true);
        const Expr condition =
            requirement.condition ? sizes_.condition_with_numbers(requirement.condition) : Expr();
        std::vector<IndexId> domain = requirement.indices;
        if (condition)
            for (IndexId id : free_indices(condition)) domain.push_back(id);
        ranges_.resize(program_.indices.size());
        for (IndexId id : domain) ranges_[position(id)] = range_of_(id);
        const SubscriptBounds bounds =
            prove_in_bounds(ranges_, domain, condition, subscript, found.b);
        if (!bounds.is_affine) throw Error(not_affine(requirement));
        found.low = bounds.low;
        found.high = bounds.high;
        return bounds.in_bounds;
    }

    Diagnosis not_affine(const Requirement& requirement) const {
        Diagnosis diagnosis = requirement.otherwise;
        diagnosis.message = format("the subscript `{}` is not affine within 64 bits",
                                   subscript_text(program_, requirement.a));
        diagnosis.hint =
            "use sums of integer multiples of indices, and `//`, `%` by positive numbers";
        return diagnosis;
    }

    Diagnosis filled(const Requirement& requirement, Findings found) {
        Diagnosis diagnosis = requirement.otherwise;
        if (requirement.term)
            found.term = requirement.kind == Requirement::Kind::has_points
                             ? brief(program_, requirement.term)
                             : subscript_text(program_, requirement.term);
        diagnosis.message = filled(diagnosis.message, found);
        for (Label& label : diagnosis.labels) label.text = filled(label.text, found);
        diagnosis.hint = filled(diagnosis.hint, found);
        return diagnosis;
    }

    /// The text with `{a} {b} {low} {high} {term} {shape N} {narrower A,0 B,1}` filled in.
    std::string filled(const std::string& text, const Findings& found) {
        std::string result;
        for (std::size_t from = 0; from < text.size();) {
            const std::size_t open = text.find('{', from);
            const std::size_t close = text.find('}', open == std::string::npos ? from : open);
            if (open == std::string::npos || close == std::string::npos) {
                result += text.substr(from);
                break;
            }
            result += text.substr(from, open - from);
            const std::string value = value_of(text.substr(open + 1, close - open - 1), found);
            if (value.empty() && result.ends_with(' ')) result.pop_back();
            result += value;
            from = close + 1;
        }
        return result;
    }

    /// Nothing where the shape is that of an array that the program no longer takes: a derivative
    /// checks what its forward did, of fewer arguments.
    std::string shape_text(const Tensor& tensor) {
        const auto is_unknown = [&](Expr e) {
            const auto* size = std::get_if<Size>(&e->term);
            return size != nullptr &&
                   std::ranges::find(program_.arguments, size->tensor) == program_.arguments.end();
        };
        Shape shape;
        for (const Expr extent : tensor.shape) {
            if (contains(extent, is_unknown)) return {};
            shape.push_back(sizes_.value(extent));
        }
        return str(shape);
    }

    std::string value_of(const std::string& place, const Findings& found) {
        if (place == "a") return std::to_string(found.a);
        if (place == "b") return std::to_string(found.b);
        if (place == "low") return std::to_string(found.low);
        if (place == "high") return std::to_string(found.high);
        if (place == "where") return found.where;
        if (place == "term") return found.term;
        if (place.starts_with("shape ")) {
            std::size_t number = 0;
            std::from_chars(place.data() + 6, place.data() + place.size(), number);
            return shape_text(program_.tensors.at(number));
        }
        if (place.starts_with("narrower ")) {
            const std::size_t space = place.find(' ', 9);
            return found.a <= found.b ? place.substr(9, space - 9) : place.substr(space + 1);
        }
        return "{" + place + "}";
    }

    const Program& program_;
    SizeEvaluator& sizes_;
    const std::set<TensorId>& known_scalars_;
    const std::function<BoundIndex(IndexId)>& range_of_;
    /// What all conditions of a program together may take to evaluate: a fraction of a second.
    std::int64_t work_ = 10'000'000;
    std::vector<Requirement> open_;
    std::vector<BoundIndex> ranges_;  ///< of the indices that were asked for
};

}  // namespace

std::vector<Requirement> check_requirements(const Program& program, SizeEvaluator& sizes,
                                            const std::set<TensorId>& known_scalars,
                                            const std::function<BoundIndex(IndexId)>& range_of) {
    Checker checker(program, sizes, known_scalars, range_of);
    for (const Requirement& requirement : program.requirements) {
        const auto& labels = requirement.otherwise.labels;
        at_place(requirement.otherwise.source, labels.empty() ? Span{} : labels.front().span,
                 [&] { checker.check(requirement); });
    }
    return checker.take_open();
}

}  // namespace ricci
