// codegen/split_quotients.cpp – indices of sums of which quotients are taken, as quotient and rest
//
// With i = L*q + r and r in 0:L, of a dividend e = a*i + c + d*z, where a*L = d and c mod d < a:
//   e // d = q + c//d + z,   e % d = a*r + c%d.
#include "codegen/split_quotients.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/equation_maker.h"
#include "codegen/group.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// What `floor_div` leaves: from 0 on.
std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }

class SplitQuotients {
  public:
    explicit SplitQuotients(BoundProgram program) : program_(std::move(program)), make_(program_) {}

    BoundProgram run() {
        for (std::size_t e = 0; e < program_.equations.size(); ++e) {
            // Each split leaves fewer quotients.
            while (std::optional<BoundEquation> split = split_one(program_.equations[e]))
                program_.equations[e] = std::move(*split);
        }
        return std::move(program_);
    }

  private:
    /// A quotient or a remainder of integers by a number; divisor 0: by anything else.
    struct Quotient {
        Expr term;
        LinearForm dividend;
        std::int64_t divisor = 1;
    };

    /// The equation with one index as two; nothing where none can be.
    std::optional<BoundEquation> split_one(const BoundEquation& equation) {
        if (!equation.reduction || equation.reduction->carry) return std::nullopt;
        const Reducer reducer = equation.reduction->reducer;
        if (reducer == Reducer::argmax || reducer == Reducer::argmin) return std::nullopt;
        const std::vector<Quotient> all = quotients(equation);
        for (const std::vector<IndexId>* indices :
             {&equation.indices, &std::as_const(*equation.reduction).indices})
            for (const IndexId index : *indices)
                if (const auto length = length_of_turns(index, all))
                    return split(equation, index, *length, all);
        return std::nullopt;
    }

    static std::vector<Quotient> quotients(const BoundEquation& equation) {
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        if (equation.reduction->condition) roots.push_back(equation.reduction->condition);
        std::vector<Quotient> found;
        for (const Expr term : postorder(roots)) {
            const auto* apply = std::get_if<Apply>(&term->term);
            if (!apply || (apply->op != Op::floordiv && apply->op != Op::mod)) continue;
            auto dividend = linear_form(apply->args[0]);
            const auto divisor = linear_form(apply->args[1]);
            const bool is_number = divisor && divisor->parts.empty() && divisor->constant > 1;
            found.push_back({term, dividend.value_or(LinearForm{.constant = 0, .parts = {}}),
                             dividend && is_number ? divisor->constant : 0});
        }
        return found;
    }

    /// The length of the turns that all quotients of the index have; nothing where it has none, or
    /// where one of them would stay.
    [[nodiscard]] std::optional<std::int64_t> length_of_turns(
        IndexId index, const std::vector<Quotient>& all) const {
        const BoundIndex& range = program_.at(index);
        std::optional<std::int64_t> length;
        for (const Quotient& each : all) {
            const std::vector<IndexId> moving = free_indices(each.term);
            if (std::ranges::find(moving, index) == moving.end()) continue;
            const auto own = length_for(index, each);
            if (!own || (length && *length != *own)) return std::nullopt;
            length = own;
        }
        const bool is_whole = length && *length > 1 && range.lower == 0 &&
                              range.upper % *length == 0 && range.upper > *length;
        return is_whole ? length : std::nullopt;
    }
    /// The length of the turns that one quotient has; nothing where it would stay.
    static std::optional<std::int64_t> length_for(IndexId index, const Quotient& quotient) {
        if (quotient.divisor == 0) return std::nullopt;
        std::int64_t step = 0;
        for (const auto& [atom, coefficient] : quotient.dividend.parts) {
            const auto* plain = std::get_if<IndexValue>(&atom->term);
            if (!plain) return std::nullopt;
            if (plain->index == index)
                step = coefficient;
            else if (coefficient % quotient.divisor != 0)
                return std::nullopt;
        }
        const bool fits = step > 0 && quotient.divisor % step == 0 &&
                          floor_mod(quotient.dividend.constant, quotient.divisor) < step;
        return fits ? std::optional(quotient.divisor / step) : std::nullopt;
    }

    BoundEquation split(const BoundEquation& equation, IndexId index, std::int64_t length,
                        const std::vector<Quotient>& all) {
        const BoundIndex range = program_.at(index);
        const IndexId turn = make_.index(range.name, range.upper / length);
        const IndexId place = make_.index(range.name, length);
        ExprMap<Expr> to;
        for (const Quotient& each : all) {
            const std::vector<IndexId> moving = free_indices(each.term);
            if (std::ranges::find(moving, index) != moving.end())
                to[each.term] = in_turns(each, index, turn, place);
        }
        to[make_.value(index)] =
            make_.add(make_.times(make_.value(turn), length), make_.value(place));
        const auto moved = [&](Expr term) {
            return term ? substitute(make_.context(), term, to) : term;
        };
        BoundEquation result = equation;
        for (Expr& subscript : result.at) subscript = moved(subscript);
        result.value = moved(result.value);
        result.reduction->condition = moved(result.reduction->condition);
        for (std::vector<IndexId>* indices : {&result.indices, &result.reduction->indices})
            if (const auto found = std::ranges::find(*indices, index); found != indices->end()) {
                *found = turn;
                indices->insert(found + 1, place);
            }
        // Its subscripts are no plain indices any more, and name as many elements as before.
        if (equation.op == Assign::define && covers_target(program_, equation))
            program_.tensors[position(result.target)].is_partial = true;
        return result;
    }
    Expr in_turns(const Quotient& quotient, IndexId index, IndexId turn, IndexId place) {
        const std::int64_t constant = floor_div(quotient.dividend.constant, quotient.divisor);
        const std::int64_t rest = floor_mod(quotient.dividend.constant, quotient.divisor);
        const bool is_remainder = std::get<Apply>(quotient.term->term).op == Op::mod;
        LinearForm form{.constant = is_remainder ? rest : constant, .parts = {}};
        for (const auto& [atom, coefficient] : quotient.dividend.parts) {
            const bool is_index = std::get<IndexValue>(atom->term).index == index;
            if (is_index && is_remainder)
                form.parts.push_back({make_.value(place), coefficient});
            else if (is_index)
                form.parts.push_back({make_.value(turn), 1});
            else if (!is_remainder)
                form.parts.push_back({atom, coefficient / quotient.divisor});
        }
        return to_expr(make_.context(), form);
    }

    BoundProgram program_;
    EquationMaker make_;
};

}  // namespace

BoundProgram with_split_quotients(BoundProgram program) {
    return SplitQuotients(std::move(program)).run();
}

}  // namespace ricci::codegen
