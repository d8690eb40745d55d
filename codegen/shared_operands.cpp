// codegen/shared_operands.cpp – padded, wrapped and strided operands of contractions, evaluated
// once an element
//
// A subterm of the body depends on its indices only through sums such as y + r: every subscript and
// every condition in it is a function of one of them. Over the sums it has far fewer points than
// over the indices. Through 2*y + r it is a function of a residue and a quotient: with
// r = 2*q + rho, of rho and y + q.
#include "codegen/shared_operands.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/integer.h"
#include "codegen/equation_maker.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

constexpr double most_elements = 1 << 27;
/// Longer bodies stay: each of their subterms would be read as a whole.
constexpr std::size_t most_nodes = 256;

/// The indices of a linear form and their coefficients, the first one positive.
using Direction = std::vector<std::pair<std::uint32_t, std::int64_t>>;

/// An operand as a function of directions.
struct Operand {
    Expr term;
    std::vector<Direction> directions;  ///< those of the innermost subscripts last
    std::vector<Expr> forms;            ///< the integer terms that are linear in one direction
};

bool is_i64(Expr e) { return e->dtype == DType::i64; }

/// The form over index values alone, if the term is one and depends on an index.
std::optional<LinearForm> index_form(Expr e) {
    if (!is_i64(e)) return std::nullopt;
    std::optional<LinearForm> form = linear_form(e);
    if (!form || form->parts.empty()) return std::nullopt;
    const bool is_linear = std::ranges::all_of(form->parts, [](const LinearForm::Part& part) {
        return std::holds_alternative<IndexValue>(part.atom->term);
    });
    return is_linear ? form : std::nullopt;
}

IndexId index_of(const LinearForm::Part& part) {
    return std::get<IndexValue>(part.atom->term).index;
}

/// A multiple of the value of a direction.
struct Multiple {
    std::int64_t factor = 1;
    Direction direction;
};
Multiple multiple(Direction parts) {
    std::ranges::sort(parts);
    std::int64_t factor = 0;
    for (const auto& [index, coefficient] : parts) factor = std::gcd(factor, coefficient);
    if (parts.front().second < 0) factor = -factor;
    for (auto& [index, coefficient] : parts) coefficient /= factor;
    return {factor, std::move(parts)};
}
/// Accesses of an equation whose neighbours are not neighbours in memory, and the reduced indices
/// r = s*q + rho that were split for them: by rho.
struct Strided {
    struct Split {
        IndexId reduced{};  ///< r
        std::int64_t step = 1;
        std::optional<IndexId> quotient;  ///< if there are several
    };
    ExprMap<bool> accesses;
    /// A condition may keep other accesses in bounds, which would not hold for an array.
    bool is_alone = false;
    std::map<std::uint32_t, Split> residues;
};

/// The indices of a residue are a direction of their own, the first; the constant is left out.
std::vector<Multiple> multiples(const LinearForm& form, const Strided& strided) {
    Direction of_residue;
    Direction others;
    for (const LinearForm::Part& part : form.parts) {
        const auto index = std::uint32_t(index_of(part));
        (strided.residues.contains(index) ? of_residue : others)
            .emplace_back(index, part.coefficient);
    }
    std::vector<Multiple> result;
    if (!of_residue.empty()) result.push_back(multiple(std::move(of_residue)));
    if (!others.empty()) result.push_back(multiple(std::move(others)));
    return result;
}

/// Reads a subterm; `is_good` unless it depends on data or on an index in two ways.
class Reader {
  public:
    Reader(Expr root, const Strided& strided) : strided_(strided) {
        operand_.term = root;
        // Subscripts first: they give the order of the dimensions.
        for (const Expr e : postorder({root}))
            if (const auto* access = std::get_if<Access>(&e->term)) {
                is_read_ = true;
                if (strided_.accesses.contains(e)) is_plain_ = false;
                for (const Expr subscript : access->at) read(subscript, true);
            }
        read(root, false);
    }
    /// Nothing when the term is no function of directions, or a plain read.
    std::optional<Operand> operand() && {
        if (!is_good_ || !is_read_ || is_plain_) return std::nullopt;
        return std::move(operand_);
    }

  private:
    void read(Expr e, bool is_subscript) {
        if (!is_good_ || !seen_[is_subscript ? 1 : 0].emplace(e, true).second) return;
        if (const std::optional<LinearForm> form = index_form(e)) {
            add(e, multiples(*form, strided_));
            return;
        }
        if (const auto* apply = std::get_if<Apply>(&e->term)) {
            // What a padded or wrapped subscript is made of.
            if (is_subscript && !strided_.is_alone) is_plain_ = false;
            for (const Expr arg : apply->args) read(arg, is_subscript);
        } else if (const auto* cast = std::get_if<Cast>(&e->term)) {
            read(cast->a, is_subscript);
        } else if (const auto* access = std::get_if<Access>(&e->term)) {
            // Data decides the place: it depends on more than the form of a subscript.
            if (is_subscript) is_good_ = false;
            for (const Expr subscript : access->at) read(subscript, true);
        } else if (!std::holds_alternative<Literal>(e->term)) {
            is_good_ = false;
        }
    }
    void add(Expr form, const std::vector<Multiple>& parts) {
        operand_.forms.push_back(form);
        // Of residues and quotients the residues stand first, for all subscripts.
        const bool is_split = parts.size() > 1;
        auto& directions = operand_.directions;
        if (is_split && !first_split_) first_split_ = directions.size();
        for (const Multiple& part : parts) {
            for (const auto& [index, coefficient] : part.direction) {
                const auto [found, is_new] = direction_of_.emplace(index, part.direction);
                if (!is_new && found->second != part.direction) is_good_ = false;
            }
            if (std::ranges::find(directions, part.direction) != directions.end()) continue;
            const bool is_residue = is_split && &part == &parts.front();
            directions.insert(is_residue ? directions.begin() + std::ptrdiff_t((*first_split_)++)
                                         : directions.end(),
                              part.direction);
        }
    }

    const Strided& strided_;
    std::optional<std::size_t> first_split_;  ///< behind the residues so far
    Operand operand_;
    std::map<std::uint32_t, Direction> direction_of_;
    ExprMap<bool> seen_[2];  ///< inside a subscript, and not
    bool is_good_ = true;
    bool is_read_ = false;
    bool is_plain_ = true;
};

/// Whether every value of an f32 term is a number of bf16: one that is only chosen, or 0.
bool is_of_bf16(Expr e) {
    if (const auto* cast = std::get_if<Cast>(&e->term))
        return e->dtype == DType::f32 && cast->a->dtype == DType::bf16;
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select) return false;
    const auto is_stored = [](Expr value) { return is_literal(value, 0) || is_of_bf16(value); };
    return is_stored(apply->args[1]) && is_stored(apply->args[2]);
}

/// Whether the term is an element of an array that is padded and nothing else (what
/// codegen/guarded_reads finds again).
bool is_padded(Expr e) {
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select || !is_literal(apply->args[2])) return false;
    const auto* access = std::get_if<Access>(&apply->args[1]->term);
    if (access == nullptr) return is_padded(apply->args[1]);
    return std::ranges::all_of(access->at, [](Expr subscript) {
        const auto* clamp = std::get_if<Apply>(&subscript->term);
        return index_form(subscript) || is_literal(subscript) ||
               (clamp != nullptr && clamp->op == Op::clamp && index_form(clamp->args[0]));
    });
}

class SharedOperands {
  public:
    SharedOperands(BoundProgram& program, const SharedOperandLimits& limits)
        : program_(program), make_(program), limits_(limits) {}

    void run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            done_.clear();
            strided_ = {};
            if (is_large(equation)) {
                const bool has_condition = bool(equation.reduction->condition);
                split_strided(equation);
                strided_.is_alone = has_condition;
                if (!has_condition || !strided_.accesses.empty())
                    equation.value = shared(equation, equation.value);
            }
            program_.equations.push_back(std::move(equation));
        }
    }

  private:
    [[nodiscard]] double extent(std::uint32_t index) const {
        return double(program_.at(IndexId{index}).extent());
    }
    [[nodiscard]] double points(const std::vector<IndexId>& indices) const {
        double points = 1;
        for (const IndexId index : indices) points *= double(program_.at(index).extent());
        return points;
    }
    [[nodiscard]] bool is_large(const BoundEquation& equation) const {
        return equation.reduction &&
               points(equation.indices) * points(equation.reduction->indices) >= limits_.points &&
               postorder({equation.value}).size() <= most_nodes;
    }

    // Strided operands.

    /// The linear terms that a subscript is made of.
    static std::vector<LinearForm> forms_in(Expr subscript) {
        if (std::optional<LinearForm> form = index_form(subscript)) return {std::move(*form)};
        std::vector<LinearForm> forms;
        if (const auto* apply = std::get_if<Apply>(&subscript->term))
            for (const Expr arg : apply->args)
                for (LinearForm& form : forms_in(arg)) forms.push_back(std::move(form));
        return forms;
    }
    /// `stride*y + d*r + …` with y free and the others reduced, or `stride*y`, and a stride of 2 or
    /// more; indices of one value aside.
    struct StridedForm {
        std::int64_t stride = 0;
        std::int64_t extent = 0;  ///< of y
        Direction reduced;
    };
    [[nodiscard]] std::optional<StridedForm> strided_form(const BoundEquation& equation,
                                                          const LinearForm& form) const {
        StridedForm result;
        const bool is_alone = std::ranges::count_if(form.parts, [&](const LinearForm::Part& part) {
                                  return program_.at(index_of(part)).extent() > 1;
                              }) == 1;
        for (const LinearForm::Part& part : form.parts) {
            const IndexId index = index_of(part);
            if (program_.at(index).extent() == 1) continue;
            const bool is_free =
                std::ranges::find(equation.indices, index) != equation.indices.end();
            if (!is_free && !is_alone) {
                result.reduced.emplace_back(std::uint32_t(index), part.coefficient);
                continue;
            }
            if (result.stride != 0) return std::nullopt;
            result.stride = std::abs(part.coefficient);
            result.extent = program_.at(index).extent();
        }
        return result.stride < 2 ? std::nullopt : std::optional(std::move(result));
    }

    /// Whether r can be split by residues of the step.
    bool split(IndexId reduced, std::int64_t step, Strided& strided) {
        if (step == 1) return true;
        for (const auto& [rho, split] : strided.residues)
            if (split.reduced == reduced) return split.step == step;
        const BoundIndex range = program_.at(reduced);
        const std::int64_t first = floor_div(range.lower, step);
        const std::int64_t last = floor_div(range.upper - 1, step);
        Strided::Split split{reduced, step, std::nullopt};
        if (first < last) {
            split.quotient = make_.index(range.name, 0);
            program_.indices.back().lower = first;
            program_.indices.back().upper = last + 1;
        }
        const IndexId rho = make_.index(range.name, step);
        if (!split.quotient) {
            program_.indices.back().lower = range.lower - first * step;
            program_.indices.back().upper = range.upper - first * step;
        }
        strided.residues.emplace(std::uint32_t(rho), split);
        return true;
    }
    /// r in terms of its quotient and its residue.
    Expr number(std::uint32_t rho, const Strided::Split& split) {
        const Expr residue = make_.value(IndexId{rho});
        const std::int64_t first = floor_div(program_.at(split.reduced).lower, split.step);
        return make_.add(split.quotient ? make_.times(make_.value(*split.quotient), split.step)
                                        : make_.integer(first * split.step),
                         residue);
    }

    /// Reduced indices of operands whose innermost subscripts are strided by the stride's residues,
    /// where arrays of the operands pay.
    void split_strided(BoundEquation& equation) {
        // Others depend on the order of their points, or on their number.
        const Reducer reducer = equation.reduction->reducer;
        if (reducer != Reducer::sum && reducer != Reducer::prod && reducer != Reducer::max &&
            reducer != Reducer::min)
            return;
        Strided strided;
        for (const Expr e : postorder({equation.value})) {
            const auto* access = std::get_if<Access>(&e->term);
            if (access == nullptr || access->at.empty()) continue;
            if (std::ranges::find(program_.at(access->tensor).shape, 0) !=
                program_.at(access->tensor).shape.end())
                continue;
            const std::vector<LinearForm> innermost = forms_in(access->at.back());
            const auto is_strided = [&](const LinearForm& form) {
                const std::optional<StridedForm> found = strided_form(equation, form);
                return found && found->extent >= limits_.strided_extent;
            };
            if (innermost.empty() || !std::ranges::all_of(innermost, is_strided)) continue;
            strided.accesses.emplace(e, true);
            for (const Expr subscript : access->at)
                for (const LinearForm& form : forms_in(subscript))
                    if (const auto found = strided_form(equation, form))
                        for (const auto& [index, factor] : found->reduced)
                            if (!split(IndexId{index},
                                       found->stride / std::gcd(found->stride, factor), strided))
                                return;
        }
        if (strided.accesses.empty()) return;
        EquationMaker::Numbers numbers;
        BoundEquation result = equation;
        for (const std::vector<IndexId>* indices : {&result.indices, &result.reduction->indices})
            for (const IndexId id : *indices)
                if (program_.at(id).extent() == 1)
                    numbers.emplace(std::uint32_t(id), make_.integer(program_.at(id).lower));
        std::vector<IndexId>& reduced = result.reduction->indices;
        Expr condition;
        for (const auto& [rho, split] : strided.residues) {
            const Expr r = number(rho, split);
            numbers.emplace(std::uint32_t(split.reduced), r);
            const BoundIndex& range = program_.at(split.reduced);
            const auto require = [&](Op op, std::int64_t limit) {
                if (split.quotient && limit % split.step != 0)
                    condition = make_.both(condition, make_.compare(op, r, make_.integer(limit)));
            };
            require(Op::ge, range.lower);
            require(Op::lt, range.upper);
            const auto place = std::ranges::find(reduced, split.reduced);
            *place = IndexId{rho};
            if (split.quotient) reduced.insert(place, *split.quotient);
        }
        result.reduction->condition =
            make_.both(make_.with(result.reduction->condition, numbers), condition);
        result.value = make_.with(result.value, numbers);
        for (const auto& [access, _] : std::exchange(strided.accesses, {}))
            strided.accesses.emplace(make_.with(access, numbers), true);
        strided_ = std::move(strided);
        const bool do_all_pay = std::ranges::all_of(strided_.accesses, [&](const auto& each) {
            const std::optional<Operand> operand = Reader(each.first, strided_).operand();
            return operand && pays(result, *operand);
        });
        if (do_all_pay)
            equation = std::move(result);
        else
            strided_ = {};
    }
    struct Range {
        std::int64_t low = 0;
        std::int64_t high = 0;  ///< inclusive
    };
    /// A term that has values of a range, kept to another one.
    Expr within(Expr term, const Range& values, const Range& kept) {
        if (values.low < kept.low) term = make_.max(term, make_.integer(kept.low));
        if (values.high > kept.high) term = make_.min(term, make_.integer(kept.high));
        return term;
    }
    /// Least and greatest value; of residues and quotients those of what was split.
    [[nodiscard]] Range range(const LinearForm& form) const {
        std::int64_t low = form.constant;
        std::int64_t high = form.constant;
        const auto is_quotient = [&](IndexId id) {
            return std::ranges::any_of(strided_.residues, [&](const auto& residue) {
                return residue.second.quotient == id;
            });
        };
        for (const LinearForm::Part& part : form.parts) {
            IndexId id = index_of(part);
            if (is_quotient(id)) continue;
            if (const auto split = strided_.residues.find(std::uint32_t(id));
                split != strided_.residues.end())
                id = split->second.reduced;
            const BoundIndex& values = program_.at(id);
            const std::int64_t ends[] = {part.coefficient * values.lower,
                                         part.coefficient * (values.upper - 1)};
            low += std::min(ends[0], ends[1]);
            high += std::max(ends[0], ends[1]);
        }
        return {low, high};
    }

    /// The term with the largest subterms that are worth it read from arrays.
    Expr shared(const BoundEquation& equation, Expr e) {
        if (const auto found = done_.find(e); found != done_.end()) return found->second;
        const Expr result = shared_anew(equation, e);
        done_.emplace(e, result);
        return result;
    }
    Expr shared_anew(const BoundEquation& equation, Expr e) {
        if (e->dtype == DType::f32 || e->dtype == DType::f64) {
            const std::optional<Operand> operand = Reader(e, strided_).operand();
            if (operand && pays(equation, *operand)) return array_of(*operand);
            if (operand && is_masked(e)) return e;
        }
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr) return e;
        std::vector<Expr> args = apply->args;
        bool is_changed = false;
        for (Expr& arg : args) {
            const Expr before = arg;
            arg = shared(equation, arg);
            is_changed |= arg != before;
        }
        return is_changed ? make_.context().apply(apply->op, std::move(args), e->dtype) : e;
    }

    /// The least value of a direction and the number of its values.
    struct Span {
        std::int64_t low = 0;
        std::int64_t extent = 1;
    };
    [[nodiscard]] Span span(const Direction& direction) const {
        std::int64_t low = 0;
        std::int64_t high = 0;
        for (const auto& [index, coefficient] : direction) {
            const BoundIndex& range = program_.at(IndexId{index});
            low += coefficient * (coefficient > 0 ? range.lower : range.upper - 1);
            high += coefficient * (coefficient > 0 ? range.upper - 1 : range.lower);
        }
        return {low, high - low + 1};
    }

    [[nodiscard]] bool is_strided(Expr e) const {
        return !strided_.accesses.empty() && std::ranges::any_of(postorder({e}), [&](Expr part) {
            return strided_.accesses.contains(part);
        });
    }
    [[nodiscard]] bool is_masked(Expr e) const { return limits_.masks_padding && is_padded(e); }
    [[nodiscard]] bool pays(const BoundEquation& equation, const Operand& operand) const {
        double evaluations = 1;
        double elements = 1;
        std::set<std::uint32_t> indices;
        for (const Direction& direction : operand.directions) {
            elements *= double(span(direction).extent);
            for (const auto& [index, coefficient] : direction) {
                evaluations *= extent(index);
                indices.insert(index);
            }
        }
        double users = 1;
        for (const IndexId index : equation.indices)
            if (!indices.contains(std::uint32_t(index))) users *= extent(std::uint32_t(index));
        const double least_users = is_strided(operand.term) ? limits_.strided_users : limits_.users;
        return evaluations >= limits_.reuse * elements &&
               (users >= least_users ||
                (evaluations >= limits_.much_reuse * elements && !is_masked(operand.term))) &&
               elements <= most_elements;
    }

    Expr term_of(const LinearForm& form) {
        std::vector<LinearForm::Part> parts = form.parts;
        std::ranges::stable_partition(parts, [](const auto& part) { return part.coefficient > 0; });
        Expr term;
        for (const auto& [atom, coefficient] : parts) {
            const std::int64_t size = std::abs(coefficient);
            if (!term)
                term = coefficient == 1 ? atom : make_.times(atom, coefficient);
            else if (const Expr one = size == 1 ? atom : make_.times(atom, size); coefficient > 0)
                term = make_.add(term, one);
            else
                term = make_.subtract(term, one);
        }
        if (form.constant == 0) return term;
        return make_.add(term, make_.integer(form.constant));
    }
    /// Defines the array of the operand; the operand as an element of it.
    Expr array_of(const Operand& operand) {
        std::vector<IndexId> indices;
        Shape shape;
        for (const Direction& direction : operand.directions) {
            shape.push_back(span(direction).extent);
            indices.push_back(make_.index("u", shape.back()));
        }
        const auto number = [&](const Direction& direction) {
            return std::size_t(std::ranges::find(operand.directions, direction) -
                               operand.directions.begin());
        };
        ExprMap<Expr> here;
        for (const Expr term : operand.forms) {
            const LinearForm form = *linear_form(term);
            LinearForm in_array{.constant = form.constant, .parts = {}};
            for (const Multiple& part : multiples(form, strided_)) {
                in_array.constant += part.factor * span(part.direction).low;
                in_array.parts.push_back(
                    {make_.value(indices[number(part.direction)]), part.factor});
            }
            // Residues and quotients have more points than what was split.
            here[term] = within(term_of(in_array), range(in_array), range(form));
        }
        // Where a condition keeps subscripts in bounds, those of other points have to be, too.
        for (const Expr e : postorder({operand.term}))
            if (const auto* access = std::get_if<Access>(&e->term))
                for (std::size_t d = 0; d < access->at.size(); ++d)
                    if (const auto found = here.find(access->at[d]); found != here.end())
                        found->second = within(found->second, range(*linear_form(access->at[d])),
                                               {0, program_.at(access->tensor).shape[d] - 1});
        std::vector<Expr> at;
        for (const Direction& direction : operand.directions) {
            LinearForm form{.constant = -span(direction).low, .parts = {}};
            for (const auto& [index, coefficient] : direction)
                form.parts.push_back({make_.value(IndexId{index}), coefficient});
            at.push_back(term_of(form));
        }
        const DType dtype = operand.term->dtype;
        const DType stored = limits_.keeps_bf16 && is_of_bf16(operand.term) ? DType::bf16 : dtype;
        const TensorId array = make_.array("shared", stored, std::move(shape));
        program_.tensors[position(array)].is_stored = true;
        make_.define(array, indices, substitute(make_.context(), operand.term, here));
        const Expr element = make_.context().access(array, std::move(at), stored);
        return stored == dtype ? element : make_.context().cast(element, dtype);
    }

    BoundProgram& program_;
    EquationMaker make_;
    const SharedOperandLimits& limits_;
    // Of the equation at hand:
    ExprMap<Expr> done_;
    Strided strided_;
};

}  // namespace

BoundProgram with_shared_operands(BoundProgram program, const SharedOperandLimits& limits) {
    SharedOperands(program, limits).run();
    return program;
}

}  // namespace ricci::codegen
