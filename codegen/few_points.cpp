// codegen/few_points.cpp – sums of a handful of points, written out
#include "codegen/few_points.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/equation_maker.h"
#include "codegen/reads_inside.h"
#include "codegen/term_cost.h"
#include "dsl/affine_form.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Each term repeats the body.
constexpr std::size_t most_nodes = 64;
/// The coefficient of an index that is solved for by division.
constexpr std::int64_t most_step = 64;
/// Elements of more classes stand apart in any case.
constexpr std::int64_t most_step_of_bands = 8;
constexpr std::int64_t largest_constant = std::int64_t{1} << 60;
/// Longer terms are not written out where they are read (codegen/group.cpp).
constexpr std::size_t most_passed_nodes = 256;

class Sum {
  public:
    Sum(EquationMaker& make, const BoundEquation& equation, std::int64_t most_points,
        const BandRules* bands)
        : make_(make),
          program_(make.program()),
          equation_(equation),
          most_points_(most_points),
          bands_(bands) {}

    /// The equation without its sum; nothing where it has many points.
    std::optional<BoundEquation> run() {
        const Reduction& reduction = *equation_.reduction;
        open_ = reduction.indices;
        conditions_ = conjuncts(reduction.condition);
        while (solve_one() || (bands_ != nullptr && solve_band())) {
        }
        // What no condition narrows first: most sums end here.
        std::vector<IndexId> narrowed;
        for (const Expr part : conditions_)
            for (const IndexId id : free_indices(part)) narrowed.push_back(id);
        const auto is_narrowed = [&](IndexId id) {
            return std::ranges::find(narrowed, id) != narrowed.end();
        };
        for (const IndexId id : open_)
            if (!is_narrowed(id) && !note({id, program_.at(id).lower, program_.at(id).upper}))
                return std::nullopt;
        for (const IndexId id : open_)
            if (is_narrowed(id) && !narrow(id)) return std::nullopt;
        return written_out();
    }

  private:
    /// What is left of an index's range.
    struct Values {
        IndexId id{};
        std::int64_t lower = 0;
        std::int64_t upper = 0;
    };

    [[nodiscard]] std::vector<IndexId> domain() const {
        std::vector<IndexId> all = equation_.indices;
        all.insert(all.end(), open_.begin(), open_.end());
        return all;
    }

    /// `y = form` from an equation that has y: y disappears. Best of one in which it has the
    /// coefficient 1 or -1.
    bool solve_one() {
        for (const std::int64_t most : {std::int64_t{1}, most_step})
            for (const Expr part : conditions_) {
                const std::vector<IndexId> all = domain();
                Variables variables(all);
                affine::System system;
                const bool is_affine = add_condition(system, part, variables).empty();
                if (!is_affine || variables.size() != all.size() || system.equalities.size() != 1)
                    continue;
                const affine::Form& form = system.equalities.front();
                for (std::size_t v = equation_.indices.size(); v < all.size(); ++v) {
                    const std::int64_t step = std::abs(form.at(v));
                    if (step == 0 || step > most || form.constant < -largest_constant ||
                        form.constant > largest_constant)
                        continue;
                    solve(all, form, v, part);
                    return true;
                }
            }
        return false;
    }
    /// `step*y == e`: y is e // step where e % step is 0; of `2*y == t-3` it is t//2 - 1 where t%2
    /// is 1.
    void solve(const std::vector<IndexId>& all, const affine::Form& form, std::size_t v,
               Expr part) {
        const std::int64_t step = std::abs(form.at(v));
        const std::int64_t sign = form.at(v) > 0 ? -1 : 1;
        std::int64_t constant = sign * form.constant;
        std::int64_t residue = 0;
        Expr moving;
        std::size_t terms = 0;
        for (std::size_t other = 0; other < all.size(); ++other) {
            if (other == v || form.at(other) == 0) continue;
            const Expr term = make_.times(make_.value(all[other]), sign * form.at(other));
            moving = terms++ == 0 ? term : make_.add(moving, term);
        }
        if (step > 1 && terms == 1) {
            residue = -constant - floor_div(-constant, step) * step;
            constant += residue;
        } else if (step > 1) {
            moving =
                terms == 0 ? make_.integer(constant) : make_.add(moving, make_.integer(constant));
            constant = 0;
        }
        Expr solution = make_.integer(constant / step);
        if (moving) solution = make_.add(make_.quotient(moving, step), solution);
        if (step > 1)
            conditions_.push_back(
                make_.compare(Op::eq, make_.remainder(moving, step), make_.integer(residue)));
        replace(all[v], solution, part);
    }

    /// `low <= e - step*y <= high`, where e is of the equation's indices: y is one of few beside
    /// e // step.
    struct Band {
        IndexId solved{};
        Expr moving;  ///< e
        std::int64_t step = 0;
        std::int64_t low = 0;
        std::int64_t high = 0;
        Expr conditions[2];

        [[nodiscard]] std::int64_t first() const { return ceil_div(-high, step); }
        [[nodiscard]] std::int64_t points() const {
            return floor_div(step - 1 - low, step) - first() + 1;
        }
    };
    /// Takes a sum over the few places beside the quotient for one over y.
    bool solve_band() {
        const std::optional<Band> band = find_band();
        if (!band) return false;
        const IndexId beside = make_.index(program_.at(band->solved).name, band->points());
        const Expr place = make_.add(make_.value(beside), make_.integer(band->first()));
        const Expr rest = make_.remainder(band->moving, band->step);
        const Expr from = make_.times(place, band->step);
        conditions_.push_back(
            make_.compare(Op::ge, rest, make_.add(from, make_.integer(band->low))));
        conditions_.push_back(
            make_.compare(Op::le, rest, make_.add(from, make_.integer(band->high))));
        std::erase(conditions_, band->conditions[1]);
        replace(band->solved, make_.add(make_.quotient(band->moving, band->step), place),
                band->conditions[0]);
        open_.push_back(beside);
        return true;
    }
    /// One that leaves few of the values of y.
    std::optional<Band> find_band() {
        const std::vector<IndexId> all = domain();
        struct Row {
            affine::Form form;  ///< at least zero
            Expr condition;
        };
        std::vector<Row> rows;
        for (const Expr part : conditions_) {
            Variables variables(all);
            affine::System system;
            if (add_condition(system, part, variables).empty() && variables.size() == all.size() &&
                system.equalities.empty() && system.inequalities.size() == 1)
                rows.push_back({system.inequalities.front(), part});
        }
        for (const Row& lower : rows)
            for (const Row& upper : rows)
                if (const auto band = band_between(all, lower.form, upper.form)) {
                    Band found = *band;
                    found.conditions[0] = lower.condition;
                    found.conditions[1] = upper.condition;
                    return found;
                }
        return std::nullopt;
    }
    /// Whether the form moves with one index of the result, over whole turns of the step.
    [[nodiscard]] bool has_whole_turns(const std::vector<IndexId>& all, const affine::Form& form,
                                       std::int64_t step) const {
        std::optional<IndexId> moving;
        for (std::size_t v = 0; v < equation_.indices.size(); ++v) {
            if (form.at(v) == 0) continue;
            if (moving || form.at(v) != 1) return false;
            moving = all[v];
        }
        return moving && program_.at(*moving).lower % step == 0 &&
               program_.at(*moving).extent() % step == 0;
    }
    /// `lower` is `e - step*y - low`, `upper` is `high - e + step*y`.
    std::optional<Band> band_between(const std::vector<IndexId>& all, const affine::Form& lower,
                                     const affine::Form& upper) {
        constexpr std::int64_t limit = largest_constant >> 1;
        const auto is_small = [](std::int64_t number) { return number > -limit && number < limit; };
        Band band;
        std::vector<Expr> terms;
        for (std::size_t v = 0; v < all.size(); ++v) {
            if (lower.at(v) != -upper.at(v)) return std::nullopt;
            if (lower.at(v) == 0) continue;
            if (v >= equation_.indices.size()) {
                if (band.step != 0 || lower.at(v) >= 0 || lower.at(v) < -most_step)
                    return std::nullopt;
                band.solved = all[v];
                band.step = -lower.at(v);
            } else if (!is_small(lower.at(v))) {
                return std::nullopt;
            } else {
                terms.push_back(make_.times(make_.value(all[v]), lower.at(v)));
            }
        }
        // Of a step of 1 the points are neighbours (codegen/narrow_axes.h).
        if (band.step < 2 || terms.empty() || !is_small(lower.constant) ||
            !is_small(upper.constant))
            return std::nullopt;
        band.low = -lower.constant;
        band.high = upper.constant;
        // Single points, and those of long steps, are as well off in residue classes.
        if (band.low > band.high || band.points() < 2 || band.points() > most_points_ ||
            band.step > most_step_of_bands || band.points() >= program_.at(band.solved).extent())
            return std::nullopt;
        if (bands_->are_whole_turns && !has_whole_turns(all, lower, band.step)) return std::nullopt;
        band.moving = terms.front();
        for (std::size_t n = 1; n < terms.size(); ++n)
            band.moving = make_.add(band.moving, terms[n]);
        return band;
    }

    /// Takes the solution for the index in all that is left; its range becomes a condition.
    void replace(IndexId solved, Expr solution, Expr by) {
        const EquationMaker::Numbers numbers{{std::uint32_t(solved), solution}};
        for (auto& [id, value] : numbers_) value = make_.with(value, numbers);
        numbers_[std::uint32_t(solved)] = solution;
        std::erase(conditions_, by);
        for (Expr& part : conditions_) part = make_.with(part, numbers);
        for (const Expr part : conjuncts(make_.is_value_of(solved, solution)))
            conditions_.push_back(part);
        std::erase(open_, solved);
    }

    /// All that is known where the conditions hold.
    [[nodiscard]] affine::System known(Variables& variables, const std::vector<Expr>& parts) const {
        affine::System system;
        for (const Expr part : parts) (void)add_condition(system, part, variables);
        for (const IndexId id : domain()) {
            const BoundIndex& range = program_.at(id);
            system.in_range(variables.number(id), range.lower, range.upper);
        }
        variables.define(system);
        return system;
    }

    /// Notes the values that the conditions leave to an index; false when there are many.
    bool narrow(IndexId id) {
        Variables variables(Variables::Atoms::quotients);
        const std::size_t number = variables.number(id);
        const affine::System system = known(variables, conditions_);
        const BoundIndex& range = program_.at(id);
        const auto is_below = [&](std::int64_t value) {  // proved: id < value
            affine::Form form{.constant = value - 1};
            form.coefficients.assign(number + 1, 0);
            form.coefficients[number] = -1;
            return affine::implies(system, form);
        };
        const auto is_above = [&](std::int64_t value) {  // proved: id > value
            affine::Form form{.constant = -value - 1};
            form.coefficients.assign(number + 1, 0);
            form.coefficients[number] = 1;
            return affine::implies(system, form);
        };
        Values values{.id = id, .lower = range.lower, .upper = range.upper};
        // The proofs are monotone: what is above a value is above a smaller one.
        values.lower =
            first(values.lower, values.upper, [&](std::int64_t value) { return !is_above(value); });
        values.upper =
            first(values.lower, values.upper, [&](std::int64_t value) { return is_below(value); });
        return note(values);
    }
    /// False when there are many points.
    bool note(const Values& values) {
        left_.push_back(values);
        const std::int64_t extent = std::max<std::int64_t>(values.upper - values.lower, 0);
        if (extent > most_points_) return false;
        points_ *= extent;
        return points_ <= most_points_;
    }
    /// The first number of [low, high) at which the claim, false and then true, holds; else `high`.
    template <class Claim>
    static std::int64_t first(std::int64_t low, std::int64_t high, const Claim& holds) {
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (holds(middle))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

    std::optional<BoundEquation> written_out() {
        const Reduction& reduction = *equation_.reduction;
        const Expr nothing = identity(make_.context(), reduction.reducer, reduction.accumulator);
        const Expr common = take_common();
        std::vector<Expr> terms;
        for (std::int64_t point = 0; point < points_; ++point) {
            EquationMaker::Numbers here;
            std::int64_t rest = point;
            for (auto each = left_.rbegin(); each != left_.rend(); ++each) {
                const std::int64_t extent = each->upper - each->lower;
                here[std::uint32_t(each->id)] = make_.integer(each->lower + rest % extent);
                rest /= extent;
            }
            if (const Expr term = at_point(here, nothing)) terms.push_back(term);
        }
        BoundEquation result = equation_;
        result.reduction.reset();
        result.value = nothing;
        if (terms.size() == 1) result.value = terms.front();
        if (terms.size() > 1)
            result.value = make_.context().apply(Op::add, std::move(terms), reduction.accumulator);
        if (common && result.value != nothing)
            result.value = make_.choose(common, result.value, nothing);
        const DType dtype = program_.at(equation_.target).dtype;
        if (result.value->dtype != dtype)
            result.value = make_.context().cast(result.value, dtype, true);
        return result;
    }

    /// The conditions of data that are the same at all points: one choice of their sum, where there
    /// are several.
    Expr take_common() {
        if (points_ < 2) return {};
        Expr common;
        std::erase_if(conditions_, [&](Expr part) {
            const std::vector<IndexId> ids = free_indices(part);
            const bool is_same =
                !tensors_read(part).empty() && std::ranges::none_of(left_, [&](const Values& each) {
                    return has_index(ids, each.id);
                });
            if (is_same) common = make_.both(common, inside(part));
            return is_same;
        });
        return common;
    }
    /// The body where its condition holds, the identity elsewhere; empty where it never does.
    Expr at_point(const EquationMaker::Numbers& here, Expr nothing) {
        std::vector<Expr> parts;
        for (const Expr part : conditions_) parts.push_back(make_.with(part, here));
        Variables variables(Variables::Atoms::quotients);
        if (affine::is_empty(known(variables, parts))) return {};
        Expr condition;
        for (const Expr part : parts)
            if (!always_holds(part)) condition = make_.both(condition, inside(part));
        EquationMaker::Numbers numbers = here;
        for (const auto& [id, solution] : numbers_) numbers[id] = make_.with(solution, here);
        const Expr body = make_.with(equation_.value, numbers);
        if (!condition) return inside(body);
        return make_.choose(condition, inside(body), nothing);
    }
    [[nodiscard]] bool always_holds(Expr part) const {
        Variables variables(Variables::Atoms::quotients);
        affine::System claim;
        if (!add_condition(claim, part, variables).empty()) return false;
        const affine::System system = known(variables, {});
        const auto holds = [&](const affine::Form& form) { return affine::implies(system, form); };
        return claim.equalities.empty() && std::ranges::all_of(claim.inequalities, holds);
    }

    [[nodiscard]] Expr inside(Expr e) const {
        return brought_inside(program_, equation_.indices, e);
    }

    EquationMaker& make_;
    BoundProgram& program_;
    const BoundEquation& equation_;
    std::int64_t most_points_;
    const BandRules* bands_;     ///< null: none is solved
    std::vector<IndexId> open_;  ///< reduced, and not solved
    std::vector<Expr> conditions_;
    EquationMaker::Numbers numbers_;  ///< what is solved
    std::vector<Values> left_;        ///< of those that are open
    std::int64_t points_ = 1;
};

bool has_no_points(const BoundProgram& program, const std::vector<IndexId>& indices) {
    return std::ranges::any_of(indices, [&](IndexId id) { return program.at(id).extent() == 0; });
}

/// Whether the sum, but for its condition, can be written out.
bool is_plain_sum(const BoundProgram& program, const BoundEquation& equation) {
    if (!equation.reduction || equation.reduction->reducer != Reducer::sum) return false;
    const Reduction& reduction = *equation.reduction;
    if (reduction.carry) return false;
    return !has_no_points(program, equation.indices) &&
           !has_no_points(program, reduction.indices) &&
           postorder({equation.value}).size() <= most_nodes && is_harmless(equation.value) &&
           reads_nothing_empty(program, equation.value);
}

std::vector<Expr> terms_of(const BoundEquation& equation) {
    std::vector<Expr> terms = equation.at;
    terms.push_back(equation.value);
    if (equation.reduction && equation.reduction->condition)
        terms.push_back(equation.reduction->condition);
    return terms;
}

/// Whether a dear part of the term is the same along an index of the equation: as an operand of a
/// product it is computed once for all of them.
bool has_dear_side(const BoundEquation& equation) {
    constexpr int dear = 16;
    return std::ranges::any_of(postorder({equation.value}), [&](Expr node) {
        if (!std::holds_alternative<Apply>(node->term) || cost(node) < dear) return false;
        const std::vector<IndexId> own = free_indices(node);
        return std::ranges::any_of(
            equation.indices, [&](IndexId id) { return std::ranges::find(own, id) == own.end(); });
    });
}

/// Whether each subscript is an index of its own.
bool is_plain_read(const Access& access) {
    std::vector<IndexId> seen;
    return std::ranges::all_of(access.at, [&](Expr at) {
        const auto* index = std::get_if<IndexValue>(&at->term);
        const bool is_new = index != nullptr && std::ranges::find(seen, index->index) == seen.end();
        if (is_new) seen.push_back(index->index);
        return is_new;
    });
}

double points(const BoundProgram& program, const std::vector<IndexId>& indices) {
    double product = 1;
    for (const IndexId id : indices) product *= double(program.at(id).extent());
    return product;
}

/// Whether the condition is that an index of two values is 0.
bool is_first_of_two(const BoundProgram& program, Expr condition) {
    if (!is_apply(condition, Op::eq)) return false;
    const std::vector<Expr>& sides = std::get<Apply>(condition->term).args;
    const auto* index = std::get_if<IndexValue>(&sides[0]->term);
    return index != nullptr && is_literal(sides[1], 0) && program.at(index->index).extent() == 2;
}

/// Whether the elements, many of them, are one of two parts that stand side by side in an array, as
/// those of complex numbers do (dsl/split_complex.h). Sums of eight points are faster as products:
/// `C[i,j] := A[i,k]*B[j,k]` of 1000x8:c64 takes 1.1 ms, 1.9 written out (Zen 4).
bool is_part_of_pairs(const BoundProgram& program, const BoundEquation& sum,
                      const BoundEquation& reader, Expr read) {
    constexpr double least_elements = 1 << 12;
    if (reader.reduction || !is_apply(reader.value, Op::select) ||
        points(program, sum.reduction->indices) > double(few_points) ||
        points(program, reader.indices) < least_elements)
        return false;
    const std::vector<Expr>& args = std::get<Apply>(reader.value->term).args;
    return is_first_of_two(program, args[0]) && (args[1] == read || args[2] == read) &&
           std::get<Access>(read->term).at.size() + 1 == reader.indices.size();
}

/// Whether the elements are read once each, as the points of a reduction or as parts of pairs, and
/// by nothing else.
bool is_passed_on(const BoundProgram& program, const BoundEquation& equation) {
    const TensorId target = equation.target;
    if (equation.op != Assign::define ||
        std::ranges::find(program.outputs, target) != program.outputs.end())
        return false;
    const auto continues = [&](const BoundTensor& other) { return other.previous == target; };
    if (std::ranges::any_of(program.tensors, continues)) return false;
    int reads = 0;
    bool is_passed = false;
    for (const BoundEquation& other : program.equations)
        for (const Expr node : postorder(terms_of(other))) {
            const auto* access = std::get_if<Access>(&node->term);
            if (access == nullptr || access->tensor != target) continue;
            ++reads;
            const std::size_t reduced = other.reduction ? other.reduction->indices.size() : 0;
            const bool is_point =
                other.reduction && other.indices.size() + reduced == access->at.size();
            is_passed = is_plain_read(*access) &&
                        (is_point || is_part_of_pairs(program, equation, other, node));
        }
    return reads == 1 && is_passed;
}

/// Whether the sum is a polynomial: something is raised to a power that reduced indices decide, and
/// what else moves with these is of them alone, as coefficients are. Written out, powers are
/// products.
bool is_polynomial(const BoundEquation& equation) {
    const std::vector<IndexId>& reduced = equation.reduction->indices;
    const auto is_reduced = [&](IndexId id) { return has_index(reduced, id); };
    const auto is_power = [&](Expr e) {
        if (!is_apply(e, Op::pow)) return false;
        const std::vector<Expr>& args = std::get<Apply>(e->term).args;
        const std::vector<IndexId> ids = free_indices(args[1]);
        return !ids.empty() && std::ranges::all_of(ids, is_reduced) &&
               !tensors_read(args[0]).empty() && tensors_read(args[1]).empty() &&
               std::ranges::none_of(free_indices(args[0]), is_reduced);
    };
    const auto is_mixed = [&](Expr e) {
        if (!std::holds_alternative<Access>(e->term)) return false;
        const std::vector<IndexId> ids = free_indices(e);
        return std::ranges::any_of(ids, is_reduced) && !std::ranges::all_of(ids, is_reduced);
    };
    return contains(equation.value, is_power) && !contains(equation.value, is_mixed);
}

}  // namespace

bool can_be_written_out(const BoundProgram& program, const BoundEquation& equation) {
    if (!is_plain_sum(program, equation)) return false;
    const Expr condition = equation.reduction->condition;
    return condition && postorder({equation.value, condition}).size() <= most_nodes &&
           is_harmless(condition) && reads_nothing_empty(program, condition);
}

std::optional<BoundEquation> written_out(EquationMaker& make, const BoundEquation& equation,
                                         std::int64_t most_points, const BandRules& bands) {
    if (auto written = Sum(make, equation, most_points, nullptr).run()) return written;
    if (points(make.program(), equation.indices) < bands.least_elements) return std::nullopt;
    return Sum(make, equation, most_points, &bands).run();
}

BoundProgram with_few_points(BoundProgram program, std::int64_t most_points,
                             const BandRules& bands) {
    EquationMaker make(program);
    for (BoundEquation& equation : program.equations) {
        const bool has_powers = is_plain_sum(program, equation) && !equation.reduction->condition &&
                                is_polynomial(equation);
        if (!has_powers && !can_be_written_out(program, equation)) continue;
        const std::int64_t most = has_powers ? std::max(most_points, few_powers) : most_points;
        if (std::optional<BoundEquation> written = written_out(make, equation, most, bands))
            equation = std::move(*written);
    }
    return program;
}

BoundProgram with_passed_points(BoundProgram program, std::int64_t most_points) {
    EquationMaker make(program);
    for (BoundEquation& equation : program.equations) {
        if (!is_plain_sum(program, equation) || equation.reduction->condition ||
            has_dear_side(equation) || !is_passed_on(program, equation))
            continue;
        std::optional<BoundEquation> written = written_out(make, equation, most_points);
        if (written && postorder({written->value}).size() <= most_passed_nodes)
            equation = std::move(*written);
    }
    return program;
}

}  // namespace ricci::codegen
