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
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "base/integer.h"
#include "codegen/equation_maker.h"
#include "codegen/operand_forms.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

constexpr double most_elements = 1 << 27;
/// Longer bodies stay: each of their subterms would be read as a whole.
constexpr std::size_t most_nodes = 256;

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
            if (is_large(equation)) share(equation);
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
        return equation.reduction && !equation.reduction->carry &&
               points(equation.indices) * points(equation.reduction->indices) >=
                   std::max(limits_.points, 1.0) &&
               postorder({equation.value}).size() <= most_nodes;
    }

    void share(BoundEquation& equation) {
        const BoundEquation as_written = equation;
        split_strided(equation);
        const bool is_split = !strided_.accesses.empty();
        const bool has_condition = bool(equation.reduction->condition);
        strided_.is_alone = has_condition;
        if (has_condition && !is_split) return;
        const Expr value = shared(equation, equation.value);
        // Indices are split for arrays alone: larger terms than those that paid may need none.
        if (is_split && value == equation.value)
            equation = as_written;
        else
            equation.value = value;
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

    /// The part of lanes that work where an index has them.
    [[nodiscard]] double filled(std::int64_t extent) const {
        return double(extent) / double(ceil_div(extent, limits_.unit_lanes) * limits_.unit_lanes);
    }
    /// Whether each point of the strided index has elements of its own in an array of residues: no
    /// reduced index gets a quotient.
    [[nodiscard]] bool is_apart(const StridedForm& form) const {
        return std::ranges::all_of(form.reduced, [&](const auto& part) {
            const BoundIndex& range = program_.at(IndexId{part.first});
            const std::int64_t step = form.stride / std::gcd(form.stride, part.second);
            return floor_div(range.lower, step) == floor_div(range.upper - 1, step);
        });
    }
    /// The neighbours that an array would have in lanes: those of the last dimension and, where
    /// windows do not overlap, those of the dimensions before it, which follow each other then.
    [[nodiscard]] std::int64_t neighbours(const BoundEquation& equation,
                                          const Access& access) const {
        std::int64_t count = 1;
        for (const Expr subscript : access.at | std::views::reverse) {
            const std::vector<LinearForm> forms = forms_in(subscript);
            if (forms.size() != 1) break;
            const std::optional<StridedForm> form = strided_form(equation, forms[0]);
            if (!form) break;
            count *= form->extent;
            if (!is_apart(*form)) break;
        }
        return count;
    }
    /// Whether another index of the result, along which the access stands still, fills lanes better
    /// than neighbours of windows do: it has the lanes then, and what is apart is read as it is.
    [[nodiscard]] bool has_better_lanes(const BoundEquation& equation, Expr access,
                                        const StridedForm& form) const {
        constexpr double much_better = 1.1;
        // Lanes through all rows pay for the array where it is made of every other element, for as
        // many results: 2x2 to 128 channels takes 4.2 ms instead of 5.8, but to 16 channels 0.31
        // instead of 0.25, and 4x4 to 32 1.4 instead of 1.0 (Zen 4).
        constexpr std::int64_t least_results = 64;
        const std::vector<IndexId> moving = free_indices(access);
        return !form.reduced.empty() &&
               std::ranges::any_of(equation.indices, [&](const IndexId index) {
                   const std::int64_t extent = program_.at(index).extent();
                   const bool are_joined = form.stride == 2 && extent >= least_results;
                   const double usual =
                       filled(are_joined ? neighbours(equation, std::get<Access>(access->term))
                                         : form.extent);
                   return std::ranges::find(moving, index) == moving.end() &&
                          extent >= 2 * limits_.unit_lanes && filled(extent) > much_better * usual;
               });
    }

    /// The accesses whose innermost subscripts are strided, and their reduced indices split;
    /// nothing when there is none, or an index would be split in two ways.
    std::optional<Strided> find_strided(const BoundEquation& equation) {
        Strided strided;
        for (const Expr e : postorder({equation.value})) {
            const auto* access = std::get_if<Access>(&e->term);
            if (access == nullptr || access->at.empty()) continue;
            const Shape& shape = program_.at(access->tensor).shape;
            if (std::ranges::find(shape, 0) != shape.end()) continue;
            const auto is_strided = [&](const LinearForm& form) {
                const std::optional<StridedForm> found = strided_form(equation, form);
                return found && found->extent >= limits_.strided_extent &&
                       !has_better_lanes(equation, e, *found);
            };
            const std::vector<LinearForm> innermost = forms_in(access->at.back());
            if (innermost.empty() || !std::ranges::all_of(innermost, is_strided)) continue;
            strided.accesses.emplace(e, true);
            for (const Expr subscript : access->at)
                for (const LinearForm& form : forms_in(subscript))
                    if (const auto found = strided_form(equation, form))
                        for (const auto& [index, factor] : found->reduced)
                            if (!split(IndexId{index},
                                       found->stride / std::gcd(found->stride, factor), strided))
                                return std::nullopt;
        }
        return strided.accesses.empty() ? std::nullopt : std::optional(std::move(strided));
    }

    /// The equation over the quotients and residues of split indices; so are the accesses then.
    BoundEquation over_residues(const BoundEquation& equation, Strided& strided) {
        EquationMaker::Numbers numbers;
        BoundEquation result = equation;
        std::vector<IndexId>& reduced = result.reduction->indices;
        for (const std::vector<IndexId>* indices : {&result.indices, &reduced})
            for (const IndexId id : *indices)
                if (program_.at(id).extent() == 1)
                    numbers.emplace(std::uint32_t(id), make_.integer(program_.at(id).lower));
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
        return result;
    }

    /// Splits reduced indices by the residues of strides where arrays of all strided operands pay.
    void split_strided(BoundEquation& equation) {
        // Others depend on the order of their points, or on their number.
        const Reducer reducer = equation.reduction->reducer;
        if (reducer != Reducer::sum && reducer != Reducer::prod && reducer != Reducer::max &&
            reducer != Reducer::min)
            return;
        std::optional<Strided> strided = find_strided(equation);
        if (!strided) return;
        BoundEquation result = over_residues(equation, *strided);
        strided_ = std::move(*strided);
        const bool do_all_pay = std::ranges::all_of(strided_.accesses, [&](const auto& each) {
            const std::optional<OperandForms> operand = read_operand(each.first, strided_);
            return operand && pays(result, *operand);
        });
        if (do_all_pay)
            equation = std::move(result);
        else
            strided_ = {};
    }

    // Arrays.

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
    /// Least and greatest value; of residues and quotients those of what was split. A residue
    /// without quotients is by itself what was split, but for a constant of the form.
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
                split != strided_.residues.end() && split->second.quotient)
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
            const std::optional<OperandForms> operand = read_operand(e, strided_);
            if (operand && pays(equation, *operand)) return array_of(*operand);
            if (operand && is_masked(e)) {
                store(*operand);
                return e;
            }
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
    /// What is read of an operand, at the points of the indices that it has.
    struct Reads {
        double evaluations = 1;
        double elements = 1;
        std::set<std::uint32_t> indices = {};
    };
    [[nodiscard]] Reads reads_of(const OperandForms& operand) const {
        Reads reads;
        for (const Direction& direction : operand.directions) {
            reads.elements *= double(span(direction).extent);
            for (const auto& [index, coefficient] : direction) {
                reads.evaluations *= extent(index);
                reads.indices.insert(index);
            }
        }
        return reads;
    }
    [[nodiscard]] bool pays(const BoundEquation& equation, const OperandForms& operand) const {
        const auto [evaluations, elements, indices] = reads_of(operand);
        double users = 1;
        for (const IndexId index : equation.indices)
            if (!indices.contains(std::uint32_t(index))) users *= extent(std::uint32_t(index));
        const double least_users = is_strided(operand.term) ? limits_.strided_users : limits_.users;
        return evaluations >= limits_.reuse * elements &&
               (users >= least_users ||
                (evaluations >= limits_.much_reuse * elements && !is_masked(operand.term))) &&
               elements <= most_elements;
    }
    /// A temporary whose elements masked lanes read time and again is not computed where they do,
    /// under their conditions: a padded depthwise convolution of 3x3 takes 0.27 ms of 8x64x56x56,
    /// of `relu(X[n,c,y,x])` 0.60 with these inside, 0.46 without, and its gradient by the weights
    /// 5.7 and 0.6 (Zen 4).
    void store(const OperandForms& operand) {
        const Reads reads = reads_of(operand);
        if (reads.evaluations < limits_.much_reuse * reads.elements) return;
        for (const Expr e : postorder({operand.term}))
            if (const auto* access = std::get_if<Access>(&e->term))
                for (const BoundEquation& equation : program_.equations)
                    if (equation.target == access->tensor &&
                        !std::holds_alternative<Access>(equation.value->term))
                        program_.tensors[position(access->tensor)].is_stored = true;
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
    /// The forms of the operand in the indices of its array.
    ExprMap<Expr> in_array(const OperandForms& operand, const std::vector<IndexId>& indices) {
        ExprMap<Expr> here;
        for (const Expr term : operand.forms) {
            const LinearForm form = *linear_form(term);
            LinearForm inside{.constant = form.constant, .parts = {}};
            for (const Multiple& part : multiples(form, strided_)) {
                const auto number = std::ranges::find(operand.directions, part.direction) -
                                    operand.directions.begin();
                inside.constant += part.factor * span(part.direction).low;
                inside.parts.push_back({make_.value(indices[std::size_t(number)]), part.factor});
            }
            here[term] = term_of(inside);
            // Residues and quotients have more points than what was split.
            if (!strided_.residues.empty())
                here[term] = within(here[term], range(inside), range(form));
        }
        // Where a condition keeps subscripts in bounds, those of other points have to be, too.
        for (const Expr e : postorder({operand.term}))
            if (const auto* access = std::get_if<Access>(&e->term))
                for (std::size_t d = 0; d < access->at.size(); ++d)
                    if (const auto found = here.find(access->at[d]); found != here.end()) {
                        const LinearForm form = *linear_form(access->at[d]);
                        const LinearForm inside = index_form(found->second).value_or(form);
                        found->second = within(found->second, range(inside),
                                               {0, program_.at(access->tensor).shape[d] - 1});
                    }
        return here;
    }

    /// Places at the two ends of a dimension at which a condition does not hold.
    struct Fills {
        std::int64_t first = 0;
        std::int64_t behind = 0;

        /// The larger counts, also of `form >= 0` over the places.
        void add(const affine::Form& form, std::int64_t extent) {
            const auto is_fill = [&](std::int64_t at) {
                return form.at(0) * at + form.constant < 0;
            };
            std::int64_t count = 0;
            while (count < extent && is_fill(count)) ++count;
            first = std::max(first, count);
            for (count = 0; count < extent && is_fill(extent - 1 - count);) ++count;
            behind = std::max(behind, count);
        }
    };
    /// Those of a padded operand along an index of its array, at least.
    Fills fills_along(const OperandForms& operand, const ExprMap<Expr>& here, IndexId along) {
        Fills fills;
        for (Expr e = operand.term; std::holds_alternative<Apply>(e->term);
             e = std::get<Apply>(e->term).args[1])
            for (const Expr part : conjuncts(std::get<Apply>(e->term).args[0])) {
                Variables variables({along});
                affine::System system;
                (void)add_condition(system, substitute(make_.context(), part, here), variables);
                if (variables.size() != 1 || !system.equalities.empty()) continue;
                for (const affine::Form& form : system.inequalities)
                    fills.add(form, program_.at(along).extent());
            }
        return fills;
    }
    /// Whether the operand is padded with one number everywhere.
    static bool has_one_fill(Expr operand) {
        if (!is_padded(operand)) return false;
        const Expr fill = std::get<Apply>(operand->term).args[2];
        for (Expr e = operand; std::holds_alternative<Apply>(e->term);
             e = std::get<Apply>(e->term).args[1])
            if (std::get<Apply>(e->term).args[2] != fill) return false;
        return true;
    }
    /// Fills that the last dimension begins with and ends in.
    static std::int64_t fills_between_rows(const OperandForms& operand,
                                           const std::vector<Fills>& fills, std::int64_t extent) {
        if (operand.directions.size() < 2 || fills.empty()) return 0;
        const std::int64_t both = std::min(fills.back().first, fills.back().behind);
        return 2 * both < extent ? both : 0;
    }
    /// Of fills that are 0, along dimensions of so many places.
    static std::vector<ZeroWindow> zero_windows(Expr operand, const std::vector<Fills>& fills,
                                                const Shape& places, const Strides& steps) {
        if (fills.empty() || !is_literal(std::get<Apply>(operand->term).args[2], 0)) return {};
        std::vector<ZeroWindow> windows;
        for (std::size_t d = 0; d < places.size(); ++d) {
            windows.push_back({.step = steps[d],
                               .extent = places[d],
                               .first = fills[d].first,
                               .last = places[d] - 1 - fills[d].behind});
            if (windows.back().first > windows.back().last) return {};
        }
        return windows;
    }

    /// Defines the array of the operand; the operand as an element of it.
    Expr array_of(const OperandForms& operand) {
        std::vector<IndexId> indices;
        Shape shape;
        std::vector<Expr> at;
        for (const Direction& direction : operand.directions) {
            shape.push_back(span(direction).extent);
            indices.push_back(make_.index("u", shape.back()));
            LinearForm form{.constant = -span(direction).low, .parts = {}};
            for (const auto& [index, coefficient] : direction)
                form.parts.push_back({make_.value(IndexId{index}), coefficient});
            at.push_back(term_of(form));
        }
        ExprMap<Expr> here = in_array(operand, indices);
        std::vector<Expr> target;
        for (const IndexId index : indices) target.push_back(make_.value(index));
        const Shape places = shape;
        std::vector<Fills> ends;
        if (has_one_fill(operand.term))
            for (const IndexId index : indices) ends.push_back(fills_along(operand, here, index));
        // Fills behind one row are those before the next: what is walked over all rows is shorter.
        const std::int64_t fills = fills_between_rows(operand, ends, shape.back());
        if (fills > 0) {
            const std::int64_t pitch = shape.back() - fills;
            const auto join = [&](std::vector<Expr>& subscripts) {
                const Expr last = subscripts.back();
                subscripts.pop_back();
                subscripts.back() = make_.add(make_.times(subscripts.back(), pitch), last);
            };
            join(at);
            join(target);
            // A row more for the fills behind the last one.
            program_.indices[position(indices.back())].upper -= fills;
            program_.indices[position(indices.rbegin()[1])].upper += 1;
            shape.pop_back();
            shape.back() = (shape.back() + 1) * pitch;
            here = in_array(operand, indices);
        }
        const DType dtype = operand.term->dtype;
        const DType stored = limits_.keeps_bf16 && is_of_bf16(operand.term) ? DType::bf16 : dtype;
        const TensorId array = make_.array("shared", stored, std::move(shape));
        BoundTensor& made = program_.tensors[position(array)];
        made.is_stored = true;
        made.is_partial = fills > 0;
        Strides steps = made.strides;
        if (fills > 0) {
            steps.back() = places.back() - fills;
            steps.push_back(1);
        }
        made.zero_windows = zero_windows(operand.term, ends, places, steps);
        make_.define(array, std::move(target), indices,
                     substitute(make_.context(), operand.term, here));
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
