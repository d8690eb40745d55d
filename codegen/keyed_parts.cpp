// codegen/keyed_parts.cpp – updates that may meet, in parts that do not
#include "codegen/keyed_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/match.h"
#include "codegen/keyed_intervals.h"
#include "codegen/keyed_values.h"
#include "codegen/own_checks.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Updates of fewer elements are not worth the copies: some 0.1 ms.
constexpr std::int64_t least_updates = 1 << 17;
/// Updates for each element of the copies: these are cleared and read once more.
constexpr std::int64_t least_updates_of_element = 8;
constexpr std::int64_t most_parts = 16;

class Parts {
  public:
    Parts(EquationMaker& make, const BoundEquation& update, const Target& target)
        : make_(make), update_(update), found_(meeting(update)), target_(target) {}

    bool run() {
        for (const Reducer each : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min})
            if (update_of(each) == update_.op) reducer_ = each;
        if (!reducer_ || update_.is_injective || update_.reduction || found_.points.empty())
            return false;
        // Half types round after each update, and a product's part may overflow before its zero.
        const DType type = make_.program().at(update_.target).dtype;
        if (is_half(type) || (reducer_ == Reducer::prod && is_floating(type))) return false;
        const std::int64_t wanted = number_of_parts();
        choose_cut(wanted);
        const std::int64_t parts = std::min(wanted, extent(cut_));
        if (parts < 2) return false;
        length_ = extent(cut_) / parts;
        add_partial(parts);
        return true;
    }

  private:
    std::int64_t extent(IndexId id) { return make_.program().at(id).extent(); }

    /// The first index that is long enough: a part's points follow each other. Of short ones the
    /// longest.
    void choose_cut(std::int64_t parts) {
        const auto is_long = [&](IndexId id) { return extent(id) >= parts; };
        auto cut = std::ranges::find_if(found_.points, is_long);
        if (cut == found_.points.end())
            cut =
                std::ranges::max_element(found_.points, {}, [&](IndexId id) { return extent(id); });
        cut_ = *cut;
    }

    std::int64_t number_of_parts() {
        const double updates = updates_by(make_.program(), update_);
        double elements = 1;
        for (const std::int64_t size : make_.program().at(update_.target).shape)
            elements *= double(size);
        if (target_.forced == Forced::two_levels) return 3;
        if (updates < double(least_updates)) return 1;
        const double parts = updates / (double(least_updates_of_element) * elements);
        std::int64_t result = most_parts;
        while (result > 1 && double(result) > parts) result /= 2;
        return result;
    }

    void add_partial(std::int64_t parts) {
        BoundProgram& program = make_.program();
        const BoundTensor target = program.at(update_.target);
        const bool counts = is_counted(target.dtype);
        const DType type = counts ? DType::i32 : target.dtype;
        const std::optional<OwnChecks> checks = own_checks(make_, update_);
        std::vector<BoundEquation> later;
        if (checks) later = take_equations(checks->first);
        const std::size_t own = checks ? checks->end - checks->first : 0;
        for (std::size_t n = 0; n < own; ++n) add_verdict(later[n], *checks, n, parts);
        BoundEquation partial = update_;
        if (counts) partial.value = make_.context().cast(make_.integer(1), type);
        if (is_half(partial.value->dtype))
            partial.value = make_.context().cast(partial.value, type);
        if (checks) rely_on(*checks, partial);
        add_copies(std::move(partial), target.name + "_parts", type, target.shape, parts);

        add_updates(make_.index("part", parts), length_, 0, length_);
        const std::int64_t done = parts * length_;
        const std::int64_t rest = extent(cut_) - done;
        if (rest > 0) add_updates(make_.index("part", 1), 0, done, rest);

        for (std::size_t n = 0; n < own; ++n) {
            const IndexId over = make_.index("part", parts);
            later[n].reduction->indices = {over};
            later[n].value = make_.context().access(updates_[n].target, {make_.value(over)},
                                                    later[n].reduction->accumulator);
        }
        std::ranges::move(later, std::back_inserter(program.equations));
        add_total(parts, counts);
    }

    /// The equations from that one on leave the program, to stand behind others later: these write
    /// nothing but copies, and read nothing that those make.
    std::vector<BoundEquation> take_equations(std::size_t first) {
        std::vector<BoundEquation>& all = make_.program().equations;
        const auto begin = all.begin() + std::ptrdiff_t(first);
        std::vector<BoundEquation> taken(std::make_move_iterator(begin),
                                         std::make_move_iterator(all.end()));
        all.erase(begin, all.end());
        return taken;
    }

    /// Copies of what an update, which is now one of them, combines its values into.
    void add_copies(BoundEquation update, const std::string& name, DType type, const Shape& shape,
                    std::int64_t parts) {
        Shape copies = {parts};
        copies.insert(copies.end(), shape.begin(), shape.end());
        update.target = make_.array(name, type, copies);
        std::vector<IndexId> all = {make_.index("part", parts)};
        for (const std::int64_t size : shape) all.push_back(make_.index("t", size));
        for (const Reducer each : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min})
            if (update_of(each) == update.op)
                make_.define(update.target, all, identity(make_.context(), each, type));
        updates_.push_back(std::move(update));
    }
    /// What the points of a part say of a verdict: nothing, or that its check fails at one.
    void add_verdict(const BoundEquation& verdict, const OwnChecks& checks, std::size_t number,
                     std::int64_t parts) {
        const DType type = verdict.reduction->accumulator;
        const Expr nothing = identity(make_.context(), Reducer::min, type);
        const Expr fails = make_.context().literal(std::int64_t{-1}, type);
        const Expr otherwise =
            checks.holds.size() == 1 ? fails : make_.choose(checks.holds[number], nothing, fails);
        BoundEquation update = update_;
        update.op = Assign::min;
        update.at.clear();
        update.value = make_.choose(checks.all_hold, nothing, otherwise);
        add_copies(std::move(update), make_.program().at(verdict.target).name + "_parts", type, {},
                   parts);
    }
    /// The update, whose value has the type of its target, changes nothing but where the checks
    /// hold.
    void rely_on(const OwnChecks& checks, BoundEquation& update) {
        for (Expr& subscript : update.at)
            subscript = substitute(make_.context(), subscript, checks.inside);
        const Expr value = substitute(make_.context(), update.value, checks.inside);
        update.value = make_.choose(checks.all_hold, value,
                                    identity(make_.context(), *reducer_, value->dtype));
    }

    void add_total(std::int64_t parts, bool counts) {
        BoundProgram& program = make_.program();
        const BoundTensor target = program.at(update_.target);
        const TensorId partial = updates_.back().target;
        BoundEquation total = update_;
        total.is_injective = true;
        total.indices.clear();
        total.at.clear();
        const IndexId over = make_.index("part", parts);
        std::vector<Expr> place = {make_.value(over)};
        for (const std::int64_t size : target.shape) {
            total.indices.push_back(make_.index("t", size));
            total.at.push_back(make_.value(total.indices.back()));
            place.push_back(total.at.back());
        }
        total.value = make_.context().access(partial, place, program.at(partial).dtype);
        if (counts) total.value = make_.context().cast(total.value, target.dtype);
        if (counts && !is_literal(update_.value, 1))
            total.value = make_.context().apply(
                Op::mul, {total.value, make_.context().cast(update_.value, target.dtype)},
                target.dtype);
        total.reduction = Reduction{.reducer = *reducer_,
                                    .indices = {over},
                                    .condition = Expr(),
                                    .accumulator = target.dtype};
        program.equations.push_back(std::move(total));
    }

    /// Whether a constant is added: times what the points of a part are counted as, in integers,
    /// which takes 0.8 of the time of adding floats and rounds once.
    [[nodiscard]] bool is_counted(DType type) const {
        constexpr auto most_counted = double(std::numeric_limits<std::int32_t>::max());
        const auto* literal = std::get_if<Literal>(&update_.value->term);
        if (reducer_ != Reducer::sum || !is_floating(type) || literal == nullptr) return false;
        double updates = double(length_ + most_parts);  // with what is left over
        for (const IndexId id : update_.indices)
            if (id != cut_) updates *= double(make_.program().at(id).extent());
        return updates < most_counted &&
               match(
                   literal->value, [](const std::complex<double>&) { return false; },
                   [](auto number) { return std::isfinite(double(number)); });
    }

    /// The updates of the copies at `count` points of each part, which begin at `first + part *
    /// stride`: next to each other, over the same indices.
    void add_updates(IndexId part, std::int64_t stride, std::int64_t first, std::int64_t count) {
        BoundProgram& program = make_.program();
        const IndexId each = make_.index(program.at(cut_).name, count);
        Expr point = make_.add(make_.value(each), make_.integer(first + program.at(cut_).lower));
        if (stride > 0) point = make_.add(make_.times(make_.value(part), stride), point);
        const EquationMaker::Numbers here = {{std::uint32_t(cut_), point}};
        for (BoundEquation& update : updates_) {
            BoundTensor next = program.at(update.target);
            next.previous = update.target;
            program.tensors.push_back(next);
            update.target = TensorId{static_cast<std::uint32_t>(program.tensors.size() - 1)};
            BoundEquation points = update;
            points.indices = {part};
            for (const IndexId id : update.indices)
                points.indices.push_back(id == cut_ ? each : id);
            for (Expr& subscript : points.at) subscript = make_.with(subscript, here);
            points.at.insert(points.at.begin(), make_.value(part));
            points.value = make_.with(update.value, here);
            program.equations.push_back(std::move(points));
        }
    }

    EquationMaker& make_;
    BoundEquation update_;  ///< a copy: the program's equations move
    Meeting found_;
    const Target& target_;
    std::optional<Reducer> reducer_;
    /// Of the copies' latest versions, at all points: those of verdicts, then that of the target's.
    std::vector<BoundEquation> updates_;
    IndexId cut_{};
    std::int64_t length_ = 0;  ///< points of a part along that index
};

}  // namespace

bool update_in_parts(EquationMaker& make, const BoundEquation& update, const Target& target) {
    return Parts(make, update, target).run();
}

}  // namespace ricci::codegen
