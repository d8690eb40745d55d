// codegen/residue_classes.cpp – sums over places that a stride leaves, class by class
//
// With t = s*q + rho, where t is an index of the target and rho a residue:
//   a band  0 <= a*t + b*y + c < K,  a = ±1, b = sigma*s:  m := a*q + sigma*y is a new reduced
//           index in place of y, and the banded term is s*m + a*rho + c; neighbouring rho whose
//           q and m have equal ranges, as those of a kernel as long as its stride, are one class
//           with an index rho;
//   an equation  t == b*y + d*r + c:  r = (s/g)*m + r0 where g = gcd(s, d) divides rho - c, and y
//           follows: sigma*(q - (d/g)*m + (rho - c - d*r0)/s). Without r only one class has points.
// The solvable t are cosets of a lattice (Schrijver 1986, "Theory of Linear and Integer
// Programming", section 4.1); CUTLASS and Composable Kernel cut strided gradients the same way.
#include "codegen/residue_classes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/integer.h"
#include "codegen/equation_maker.h"
#include "codegen/exact_quotients.h"
#include "codegen/few_points.h"
#include "codegen/gather_update.h"
#include "codegen/group.h"
#include "codegen/joined_residues.h"
#include "codegen/latest_versions.h"
#include "codegen/unread.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// More equations than this do not pay for their code.
constexpr std::int64_t most_classes = 64;
/// Rows that are interleaved by whole vectors: two by pairs of stores, up to four by squares that
/// emitters transpose (codegen/cpu/emit_squares).
constexpr std::int64_t most_interleaved = 4;
/// Residues of a band are gone through one by one.
constexpr std::int64_t most_residues = 4096;

/// What is known of one index of the target and of reduced ones.
struct Block {
    IndexId free{};                ///< t
    IndexId solved{};              ///< y, which disappears
    std::optional<IndexId> other;  ///< r of an equation
    std::int64_t sign = 1;         ///< a
    std::int64_t step = 1;         ///< b
    std::int64_t other_step = 0;   ///< d
    std::int64_t low = 0;          ///< of the band a*t + b*y; of an equation c, like `high`
    std::int64_t high = 0;         ///< inclusive
    std::vector<Expr> conditions;  ///< the conjuncts that say so

    bool is_equation = false;  ///< not a band

    [[nodiscard]] std::int64_t classes() const { return std::abs(step); }
};

class ResidueClasses {
  public:
    ResidueClasses(BoundProgram program, double least_points, bool side_by_side,
                   JoinedResidues joined)
        : program_(std::move(program)),
          make_(program_),
          least_points_(least_points),
          side_by_side_(side_by_side),
          joined_(joined) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (const TensorId output : program_.outputs) ++readers_[output];
        for (const BoundEquation& equation : equations)
            for (const TensorId read : tensors_read(equation)) ++readers_[read];
        for (BoundEquation& equation : equations) {
            latest_.rename(program_, equation);
            if (!is_large(equation)) {
                program_.equations.push_back(std::move(equation));
                continue;
            }
            if (std::optional<BoundEquation> gather =
                    as_gather(make_, equation, sum_read_by(equation)))
                equation = std::move(*gather);
            is_whole_ = covers_target(program_, equation);
            std::vector<BoundEquation> classes;
            if (is_candidate(equation)) {
                if (const auto exact = over_exact_quotients(make_, equation))
                    classes = split_all(*exact);
                if (classes.empty()) {
                    is_whole_ = covers_target(program_, equation);
                    classes = split_all(equation);
                }
            }
            if (classes.empty() || std::ssize(classes) > most_classes)
                program_.equations.push_back(std::move(equation));
            else if (const auto rows = rows_of_residues(equation, classes))
                add_by_rows(equation, std::move(classes), *rows);
            else
                add_versions(std::move(classes));
        }
        return std::move(program_);
    }

  private:
    /// The sum that defines a temporary which nothing but the equation reads; null: none.
    [[nodiscard]] const BoundEquation* sum_read_by(const BoundEquation& equation) const {
        for (const TensorId read : ricci::tensors_read(equation.value)) {
            const auto readers = readers_.find(read);
            if (program_.at(read).role != Role::temporary || readers == readers_.end() ||
                readers->second != 1)
                continue;
            const auto found = std::ranges::find(program_.equations, read, &BoundEquation::target);
            const bool is_sum = found != program_.equations.end() && found->op == Assign::define &&
                                found->reduction && found->reduction->reducer == Reducer::sum;
            if (is_sum) return &*found;
        }
        return nullptr;
    }
    [[nodiscard]] bool is_large(const BoundEquation& equation) const {
        double points = 1;
        for (const IndexId id : equation.indices) points *= double(program_.at(id).extent());
        if (equation.reduction)
            for (const IndexId id : equation.reduction->indices)
                points *= double(program_.at(id).extent());
        return points >= std::max(least_points_, 1.0);
    }
    static bool is_candidate(const BoundEquation& equation) {
        if (!equation.reduction || !equation.reduction->condition || equation.reduction->carry ||
            !equation.is_injective)
            return false;
        // What a class without points gives is there already.
        const Reducer reducer = equation.reduction->reducer;
        const bool keeps = equation.op == Assign::define || equation.op == Assign::add;
        return reducer == Reducer::sum && keeps;
    }

    /// All classes of all blocks; nothing when there is no block.
    std::vector<BoundEquation> split_all(const BoundEquation& equation) {
        const std::optional<Block> block = find_block(equation);
        if (!block) return {};
        std::vector<BoundEquation> found;
        for (BoundEquation& part : split(equation, *block)) {
            std::vector<BoundEquation> further = split_all(part);
            if (further.empty()) further.push_back(std::move(part));
            for (BoundEquation& each : further) found.push_back(std::move(each));
            if (std::ssize(found) > most_classes) break;
        }
        return found;
    }

    // Blocks.

    [[nodiscard]] std::optional<Block> find_block(const BoundEquation& equation) const {
        if (!equation.reduction) return std::nullopt;  // written out
        const std::vector<Expr> parts = conjuncts(equation.reduction->condition);
        for (const Expr subscript : equation.at) {
            const auto* plain = std::get_if<IndexValue>(&subscript->term);
            if (!plain) continue;
            for (const IndexId y : equation.reduction->indices) {
                Block block;
                block.free = plain->index;
                block.solved = y;
                const bool is_found = is_band(block, parts) || is_equation(block, parts, equation);
                if (is_found && is_small(block)) return block;
            }
        }
        return std::nullopt;
    }

    /// Whether there are few classes, and no number below leaves 64 bits.
    static bool is_small(const Block& block) {
        constexpr std::int64_t limit = std::int64_t{1} << 60;
        const auto fits = [](std::int64_t number, std::int64_t most) {
            return number >= -most && number <= most;
        };
        return fits(block.step, block.is_equation ? most_classes : most_residues) &&
               fits(block.other_step, limit >> 8) && fits(block.low, limit) &&
               fits(block.high, limit);
    }

    /// A conjunct as `form >= 0`, or `form == 0`, in the variables `indices`; nothing for another.
    struct Row {
        affine::Form form;
        bool is_equality = false;
    };
    static std::optional<Row> row(Expr conjunct, const std::vector<IndexId>& indices) {
        Variables variables(indices);
        affine::System system;
        if (!add_condition(system, conjunct, variables).empty()) return std::nullopt;
        if (variables.size() != indices.size()) return std::nullopt;
        if (system.inequalities.size() + system.equalities.size() != 1) return std::nullopt;
        if (system.inequalities.empty()) return Row{system.equalities[0], true};
        return Row{system.inequalities[0], false};
    }

    /// Two conjuncts that bound one form of t and y from both sides.
    bool is_band(Block& block, const std::vector<Expr>& parts) const {
        for (const Expr lower : parts) {
            const auto from = row(lower, {block.free, block.solved});
            // Of a step of 1 there is one class, whatever t is multiplied by.
            if (!from || from->is_equality || from->form.at(0) == 0 ||
                (std::abs(from->form.at(0)) != 1 && std::abs(from->form.at(1)) != 1))
                continue;
            for (const Expr upper : parts) {
                const auto to = row(upper, {block.free, block.solved});
                if (!to || to->is_equality || to->form.at(0) != -from->form.at(0) ||
                    to->form.at(1) != -from->form.at(1) || from->form.at(1) == 0)
                    continue;
                block.sign = from->form.at(0);
                block.step = from->form.at(1);
                block.low = -from->form.constant;
                block.high = to->form.constant;
                block.conditions = {lower, upper};
                if (!is_small(block)) continue;
                const std::int64_t values = block.high - block.low + 1;
                const std::int64_t points =
                    ceil_div(std::max<std::int64_t>(values, 0), block.classes());
                if (points < program_.at(block.solved).extent()) return true;
            }
        }
        return false;
    }

    bool is_equation(Block& block, const std::vector<Expr>& parts,
                     const BoundEquation& equation) const {
        std::vector<std::optional<IndexId>> others{std::nullopt};
        for (const IndexId id : equation.reduction->indices)
            if (id != block.solved) others.emplace_back(id);
        for (const Expr part : parts) {
            for (const std::optional<IndexId>& other : others) {
                std::vector<IndexId> indices{block.free, block.solved};
                if (other) indices.push_back(*other);
                const auto found = row(part, indices);
                if (!found || !found->is_equality || std::abs(found->form.at(0)) != 1) continue;
                if (std::abs(found->form.at(1)) < 2) continue;
                if (other && found->form.at(2) == 0) continue;
                // No index would be left to sum over.
                if (!other && equation.reduction->indices.size() == 1 &&
                    !can_be_written_out(program_, equation))
                    continue;
                // a*t + … == 0 as t == b*y + d*r + c
                const std::int64_t sign = -found->form.at(0);
                block.other = other;
                block.step = sign * found->form.at(1);
                block.other_step = other ? sign * found->form.at(2) : 0;
                block.low = block.high = sign * found->form.constant;
                block.is_equation = true;
                block.conditions = {part};
                // Of two indices the longer one disappears.
                if (other && program_.at(*other).extent() > program_.at(block.solved).extent() &&
                    std::abs(block.other_step) >= 2)
                    continue;
                return true;
            }
        }
        return false;
    }

    // Classes.

    std::vector<BoundEquation> split(const BoundEquation& equation, const Block& block) {
        std::vector<BoundEquation> classes;
        const auto add = [&](std::optional<BoundEquation> part) {
            if (part)
                classes.push_back(std::move(*part));
            else
                is_whole_ = false;
        };
        if (block.is_equation) {
            for (std::int64_t residue = 0; residue < block.classes(); ++residue)
                add(of_equation(equation, block, residue));
            return classes;
        }
        if (std::optional<BoundEquation> joined = of_all_residues(equation, block)) {
            add(std::move(joined));
            return classes;
        }
        std::int64_t next = 0;
        for (std::int64_t residue = 0; residue < block.classes(); residue = next) {
            const BandRanges ranges = band_ranges(block, residue);
            for (next = residue + 1; next < block.classes(); ++next)
                if (band_ranges(block, next) != ranges) break;
            add(of_band(equation, block, {residue, next - 1}));
        }
        return classes;
    }

    struct Range {
        std::int64_t low = 0;
        std::int64_t high = 0;  ///< inclusive
        bool operator==(const Range&) const = default;
    };
    /// An index like `id` over another range; nothing for an empty one.
    std::optional<IndexId> index_like(IndexId id, Range range) {
        if (range.low > range.high) return std::nullopt;
        const std::string name = program_.at(id).name;
        program_.indices.push_back({.name = name, .lower = range.low, .upper = range.high + 1});
        return IndexId{static_cast<std::uint32_t>(program_.indices.size() - 1)};
    }
    /// The quotients q of a free index t = s*q + residue.
    [[nodiscard]] Range quotients(const Block& block, std::int64_t residue) const {
        const BoundIndex& t = program_.at(block.free);
        const std::int64_t s = block.classes();
        return {ceil_div(t.lower - residue, s), floor_div(t.upper - 1 - residue, s)};
    }
    /// The ranges of q and of m in a class.
    struct BandRanges {
        Range quotients;
        Range reduced;
        bool operator==(const BandRanges&) const = default;
    };
    [[nodiscard]] BandRanges band_ranges(const Block& block, std::int64_t residue) const {
        const std::int64_t s = block.classes();
        return {quotients(block, residue),
                {ceil_div(block.low - block.sign * residue, s),
                 floor_div(block.high - block.sign * residue, s)}};
    }
    /// `factor*id + constant`
    Expr scaled(std::int64_t factor, IndexId id, std::int64_t constant) {
        return make_.add(make_.times(make_.value(id), factor), make_.integer(constant));
    }

    /// The residues have the same ranges.
    std::optional<BoundEquation> of_band(const BoundEquation& equation, const Block& block,
                                         Range residues) {
        const BandRanges ranges = band_ranges(block, residues.low);
        const auto q = index_like(block.free, ranges.quotients);
        const auto m = index_like(block.solved, ranges.reduced);
        if (!q || !m) return std::nullopt;
        Class of{*q, make_.integer(residues.low), std::nullopt};
        if (residues.low < residues.high) {
            of.index = index_like(block.free, residues);
            of.residue = make_.value(*of.index);
        }
        return replaced(equation, block, of, solved_of_band(block, *q, *m), m, std::nullopt);
    }
    Expr solved_of_band(const Block& block, IndexId q, IndexId m) {
        const std::int64_t sigma = block.step < 0 ? -1 : 1;
        return make_.add(make_.times(make_.value(m), sigma),
                         make_.times(make_.value(q), -sigma * block.sign));
    }

    /// All classes of a band as rows of one sum, where that makes better tiles.
    std::optional<BoundEquation> of_all_residues(const BoundEquation& equation,
                                                 const Block& block) {
        const std::int64_t s = block.classes();
        if (joined_ == JoinedResidues::never || s < 2) return std::nullopt;
        BandRanges all = band_ranges(block, 0);
        bool are_equal = true;
        for (std::int64_t residue = 1; residue < s; ++residue) {
            const BandRanges each = band_ranges(block, residue);
            if (each.quotients != all.quotients) return std::nullopt;
            are_equal &= each.reduced == all.reduced;
            all.reduced.low = std::min(all.reduced.low, each.reduced.low);
            all.reduced.high = std::max(all.reduced.high, each.reduced.high);
        }
        const BandIndices band{block.free, block.solved, s, all.reduced.high - all.reduced.low + 1};
        if (are_equal || !joins_residues(program_, equation, band, joined_)) return std::nullopt;
        const auto q = index_like(block.free, all.quotients);
        const auto m = index_like(block.solved, all.reduced);
        const auto residue = index_like(block.free, {0, s - 1});
        if (!q || !m || !residue) return std::nullopt;
        BoundEquation joined = replaced(equation, block, {*q, make_.value(*residue), residue},
                                        solved_of_band(block, *q, *m), m, std::nullopt);
        const Expr banded = make_.add(make_.times(make_.value(*m), s),
                                      make_.times(make_.value(*residue), block.sign));
        const Expr is_taken = make_.both(make_.compare(Op::ge, banded, make_.integer(block.low)),
                                         make_.compare(Op::le, banded, make_.integer(block.high)));
        joined.value = with_guarded_rows(make_, joined, *residue, is_taken);
        joined.reduction->condition = make_.both(is_taken, joined.reduction->condition);
        return joined;
    }

    std::optional<BoundEquation> of_equation(const BoundEquation& equation, const Block& block,
                                             std::int64_t residue) {
        const std::int64_t s = block.classes();
        const std::int64_t sigma = block.step < 0 ? -1 : 1;
        const std::int64_t d = block.other_step;
        const std::int64_t rest = residue - block.low;
        const std::int64_t g = std::gcd(s, d);  // s without r
        if (rest % g != 0) return std::nullopt;
        if (!block.other) return of_image(equation, block, residue, sigma * (rest / s));
        std::int64_t first = 0;
        while ((d * first - rest) % s != 0) ++first;
        const BoundIndex r = program_.at(*block.other);  // indices are added below
        const auto q = index_like(block.free, quotients(block, residue));
        const auto m = index_like(*block.other, {ceil_div(r.lower - first, s / g),
                                                 floor_div(r.upper - 1 - first, s / g)});
        if (!q || !m) return std::nullopt;
        const Expr y = make_.add(make_.times(make_.value(*q), sigma),
                                 scaled(-sigma * (d / g), *m, sigma * ((rest - d * first) / s)));
        return replaced(equation, block, {*q, make_.integer(residue), std::nullopt}, y, m,
                        scaled(s / g, *m, first));
    }

    /// t == b*y + c: the class of c, where y is in its range. There is one point for each t.
    std::optional<BoundEquation> of_image(const BoundEquation& equation, const Block& block,
                                          std::int64_t residue, std::int64_t constant) {
        const auto q = index_like(block.free, quotients(block, residue));
        if (!q) return std::nullopt;
        const std::int64_t sigma = block.step < 0 ? -1 : 1;
        BoundEquation image = replaced(equation, block, {*q, make_.integer(residue), std::nullopt},
                                       scaled(sigma, *q, constant), std::nullopt, std::nullopt);
        if (!image.reduction->indices.empty()) return image;
        return written_out(make_, image);
    }

    struct Class {
        IndexId quotient;
        Expr residue;
        std::optional<IndexId> index;  ///< of several residues
    };

    /// The equation of a class, with `solved` for y, the reduced index `reduced` in its place, and
    /// `other` for r.
    BoundEquation replaced(const BoundEquation& equation, const Block& block, const Class& of,
                           Expr solved, std::optional<IndexId> reduced, std::optional<Expr> other) {
        const Expr t =
            make_.add(make_.times(make_.value(of.quotient), block.classes()), of.residue);
        EquationMaker::Numbers numbers{{std::uint32_t(block.free), t},
                                       {std::uint32_t(block.solved), solved}};
        if (other) numbers.emplace(std::uint32_t(*block.other), *other);
        BoundEquation result = equation;
        for (Expr& subscript : result.at) subscript = make_.with(subscript, numbers);
        const auto place = std::ranges::find(result.indices, block.free);
        *place = of.quotient;
        if (of.index) result.indices.insert(place + 1, *of.index);
        result.value = make_.with(result.value, numbers);
        Reduction& reduction = *result.reduction;
        if (block.other) {
            std::erase(reduction.indices, block.solved);
            std::ranges::replace(reduction.indices, *block.other, *reduced);
        } else if (reduced) {
            std::ranges::replace(reduction.indices, block.solved, *reduced);
        } else {
            std::erase(reduction.indices, block.solved);
        }
        Expr condition = make_.is_value_of(block.solved, solved);
        for (const Expr part : conjuncts(equation.reduction->condition))
            if (std::ranges::find(block.conditions, part) == block.conditions.end())
                condition = make_.both(condition, make_.with(part, numbers));
        reduction.condition = condition;
        return result;
    }

    // Rows.

    /// The innermost subscripts of classes as `step*q + residue`, by class: elements of a class are
    /// neighbours in an array with a row for each residue.
    struct Rows {
        std::int64_t step = 0;
        std::vector<std::pair<Expr, Expr>> places;  ///< residue and q
    };
    /// Nothing where the classes are not of the innermost index, or of longer steps, or where
    /// elements of no class stay.
    [[nodiscard]] std::optional<Rows> rows_of_residues(const BoundEquation& equation,
                                                       const std::vector<BoundEquation>& classes) {
        Rows rows;
        if (!side_by_side_ || !is_whole_ || equation.op != Assign::define || equation.at.empty())
            return std::nullopt;
        for (const BoundEquation& each : classes) {
            const auto form = linear_form(each.at.back());
            if (!form || form->parts.empty()) return std::nullopt;
            std::vector<LinearForm::Part> parts = form->parts;
            std::ranges::sort(parts, std::ranges::greater(), &LinearForm::Part::coefficient);
            const auto [q, step] = parts.front();
            if (step < 2 || step > most_interleaved || (rows.step != 0 && step != rows.step))
                return std::nullopt;
            rows.step = step;
            Expr residue = make_.integer(form->constant);
            std::int64_t last = form->constant;
            if (parts.size() == 2) {
                const auto* index = std::get_if<IndexValue>(&parts[1].atom->term);
                if (!index || parts[1].coefficient != 1) return std::nullopt;
                const BoundIndex& range = program_.at(index->index);
                if (form->constant + range.lower < 0) return std::nullopt;
                last += range.upper - 1;
                residue = make_.add(parts[1].atom, residue);
            }
            if (parts.size() > 2 || form->constant < 0 || last >= step) return std::nullopt;
            rows.places.emplace_back(residue, q);
        }
        return rows;
    }
    /// The classes in an array of rows, and a copy of it as the array.
    void add_by_rows(const BoundEquation& equation, std::vector<BoundEquation> classes,
                     const Rows& rows) {
        const BoundTensor& whole = program_.at(equation.target);
        const Shape of_whole = whole.shape;
        Shape shape = of_whole;
        shape.back() = ceil_div(of_whole.back(), rows.step);
        shape.insert(shape.end() - 1, rows.step);
        const TensorId array = make_.array(whole.name + "_residues", whole.dtype, std::move(shape));
        program_.tensors[position(array)].is_stored = true;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            classes[i].target = array;
            classes[i].at.back() = rows.places[i].first;
            classes[i].at.push_back(rows.places[i].second);
        }
        add_versions(std::move(classes));
        std::vector<BoundEquation> parts;
        const std::int64_t whole_turns = of_whole.back() / rows.step;
        const std::int64_t rest = of_whole.back() % rows.step;
        if (whole_turns > 0)
            parts.push_back(from_rows(equation, array, {0, whole_turns}, rows.step));
        if (rest > 0)
            parts.push_back(from_rows(equation, array, {whole_turns, whole_turns + 1}, rest));
        add_versions(std::move(parts));
    }
    /// The elements `step*q + r` from the rows of an array, for q in `turns` and r < `residues`.
    BoundEquation from_rows(const BoundEquation& equation, TensorId array, Range turns,
                            std::int64_t residues) {
        BoundEquation copy;
        copy.target = equation.target;
        const Shape& shape = program_.at(array).shape;
        const std::int64_t step = shape.rbegin()[1];
        std::vector<Expr> from;
        for (std::size_t d = 0; d + 2 < shape.size(); ++d) {
            copy.indices.push_back(make_.index("u", shape[d]));
            copy.at.push_back(make_.value(copy.indices.back()));
        }
        from = copy.at;
        const IndexId q = make_.index("q", turns.high);
        program_.indices.back().lower = turns.low;
        const IndexId residue = make_.index("r", residues);
        copy.indices.insert(copy.indices.end(), {q, residue});
        copy.at.push_back(make_.add(make_.times(make_.value(q), step), make_.value(residue)));
        from.insert(from.end(), {make_.value(residue), make_.value(q)});
        copy.value = make_.context().access(array, std::move(from), program_.at(array).dtype);
        latest_.rename(program_, copy);
        return copy;
    }

    /// The classes one after the other: each a version of the array. Elements of no class stay.
    void add_versions(std::vector<BoundEquation> classes) {
        const TensorId first = classes.front().target;
        TensorId last = first;
        const bool is_new = classes.front().op == Assign::define;
        if (is_new) program_.tensors[position(first)].is_partial |= is_whole_;
        for (BoundEquation& each : classes) {
            if (&each != &classes.front()) {
                BoundTensor version = program_.at(first);
                version.previous = last;
                program_.tensors.push_back(std::move(version));
                last = TensorId{static_cast<std::uint32_t>(program_.tensors.size() - 1)};
                each.target = last;
                if (is_new) each.op = Assign::set;
            }
            program_.equations.push_back(std::move(each));
        }
        if (last != first) latest_.replace(first, last);
    }

    BoundProgram program_;
    EquationMaker make_;
    LatestVersions latest_;
    std::map<TensorId, int> readers_;  ///< how many equations read a tensor, as they were
    double least_points_;
    bool side_by_side_;
    JoinedResidues joined_;
    bool is_whole_ = true;  ///< every element is in a class, and of the target
};

}  // namespace

BoundProgram with_residue_classes(BoundProgram program, double least_points, bool side_by_side,
                                  JoinedResidues joined) {
    return ResidueClasses(std::move(program), least_points, side_by_side, joined).run();
}

}  // namespace ricci::codegen
