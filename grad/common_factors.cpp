// grad/common_factors.cpp – what the terms of a derivative have in common, taken out of their sums
#include "grad/common_factors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/simplify.h"
#include "dsl/walk.h"
#include "grad/product.h"

namespace ricci::grad {

namespace {

bool depends_on_any(Expr e, const std::vector<IndexId>& indices) {
    return std::ranges::any_of(free_indices(e), [&](IndexId index) {
        return std::ranges::find(indices, index) != indices.end();
    });
}

bool is_in(Expr e, const Factors& factors) {
    return std::ranges::find(factors, e) != factors.end();
}

/// An array of the forward that holds the quotient of two terms in its own indices.
struct Quotient {
    std::size_t equation;
    Expr above;
    Expr below;
};

class Factoring {
  public:
    Factoring(Program program, const std::vector<TensorId>& cotangents)
        : program_(std::move(program)),
          context_(*program_.context),
          late_(cotangents.begin(), cotangents.end()) {
        count_reads();
        for (std::size_t n = 0; n < program_.equations.size(); ++n) {
            const Equation& equation = program_.equations[n];
            const bool is_late = depends_on_cotangent(equation.value) ||
                                 (equation.previous && late_.contains(*equation.previous));
            if (is_late) late_.insert(equation.target);
            if (is_made_at_its_indices(equation)) definitions_[equation.target] = n;
            if (!is_late) find_quotient(n);
        }
    }

    Program run() {
        for (std::size_t n = 0; n < program_.equations.size(); ++n) {
            here_ = n;
            Equation& equation = program_.equations[n];
            if (!late_.contains(equation.target)) continue;
            const Expr value = rewrite(context_, equation.value, [&](Expr e) {
                if (is_apply(e, Op::add)) return factored_sum(e);
                return is_apply(e, Op::mul) || is_apply(e, Op::div) ? with_quotients(e) : e;
            });
            if (value == equation.value) continue;
            equation.value = value;
            changed_.insert(equation.target);
        }
        return std::move(program_);
    }

  private:
    // --- what is known of the arrays ---------------------------------------------------

    /// How often each tensor is read as the program would be written, at most twice.
    void count_reads() {
        for (const Equation& equation : program_.equations) {
            std::vector<Expr> roots = equation.at;
            roots.push_back(equation.value);
            std::unordered_map<std::uint32_t, int> times;
            for (const Expr root : roots) ++times[root->id];
            const std::vector<Expr> nodes = postorder(roots);
            for (const Expr e : nodes | std::views::reverse) {
                const int now = times[e->id];
                for (const Expr operand : operands(e))
                    times[operand->id] = std::min(2, times[operand->id] + now);
                if (const auto* access = std::get_if<Access>(&e->term))
                    reads_[access->tensor] += now;
            }
            if (equation.previous) reads_[*equation.previous] += 2;
        }
        for (const TensorId output : program_.outputs) reads_[output] += 2;
    }

    bool depends_on_cotangent(Expr e) const {
        return contains(e, [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            return access != nullptr && late_.contains(access->tensor);
        });
    }

    void find_quotient(std::size_t n) {
        const Equation& equation = program_.equations[n];
        const bool is_quotient = is_apply(equation.value, Op::div) &&
                                 definitions_.contains(equation.target) &&
                                 !program_.at(equation.target).dtype_of;
        if (!is_quotient) return;
        const auto& args = std::get<Apply>(equation.value->term).args;
        if (free_indices(args[0]).size() == equation.indices.size())
            quotients_.push_back({.equation = n, .above = args[0], .below = args[1]});
    }

    /// `t[i,j] := value`, over all of t.
    bool is_made_at_its_indices(const Equation& equation) const {
        if (equation.op != Assign::define || equation.previous) return false;
        if (equation.at.size() != equation.indices.size()) return false;
        const std::vector<Expr>& shape = program_.at(equation.target).shape;
        for (std::size_t d = 0; d < equation.at.size(); ++d) {
            const Index& index = program_.at(equation.indices[d]);
            if (equation.at[d] != context_.index(equation.indices[d])) return false;
            if (!is_literal(index.lower, 0) || index.upper != shape[d]) return false;
        }
        return true;
    }

    /// Whether the places of a read are those of an element in any case: what the equation of the
    /// array says then holds there.
    static bool is_plain(const Access& access) {
        return std::ranges::all_of(access.at, [](Expr place) {
            return !std::holds_alternative<Modified>(place->term) && tensors_read(place).empty();
        });
    }

    /// The equation of the adjoints that a read of a temporary stands for where nothing else reads
    /// it. What the forward computes stays as it is: it may be asked for or saved.
    std::optional<std::size_t> only_read(Expr e) const {
        const auto* access = std::get_if<Access>(&e->term);
        if (access == nullptr || program_.at(access->tensor).role != Role::temporary) return {};
        if (!late_.contains(access->tensor) || !is_plain(*access)) return {};
        const auto count = reads_.find(access->tensor);
        const auto made = definitions_.find(access->tensor);
        if (made == definitions_.end() || count == reads_.end() || count->second != 1) return {};
        return made->second;
    }

    using Renaming = std::unordered_map<std::uint32_t, Expr>;

    /// From the indices of the equation to what stands in the read.
    static Renaming renaming(const Equation& equation, Expr read) {
        Renaming result;
        const auto& at = std::get<Access>(read->term).at;
        for (std::size_t d = 0; d < at.size(); ++d)
            result.emplace(std::uint32_t(equation.indices[d]), at[d]);
        return result;
    }

    // --- quotients that an array holds -------------------------------------------------

    /// The read of the array in place of `above`, where it is its quotient by one of the divisors.
    std::optional<Expr> held_quotient(const Quotient& held, Expr above, Factors& below) {
        const Equation& equation = program_.equations[held.equation];
        const std::vector<IndexId> own = free_indices(held.above);
        const std::vector<IndexId> here = free_indices(above);
        if (own.size() != here.size()) return {};
        Renaming to;
        for (std::size_t n = 0; n < own.size(); ++n) {
            if (program_.at(own[n]).upper != program_.at(here[n]).upper ||
                program_.at(own[n]).lower != program_.at(here[n]).lower)
                return {};
            to.emplace(std::uint32_t(own[n]), context_.index(here[n]));
        }
        if (substitute_indices(context_, held.above, to) != above) return {};
        if (!take(below, substitute_indices(context_, held.below, to))) return {};
        std::vector<Expr> at;
        for (const IndexId index : equation.indices) at.push_back(to.at(std::uint32_t(index)));
        return context_.access(equation.target, std::move(at));
    }

    bool read_held_quotients(Product& of) {
        bool changed = false;
        for (Expr& factor : of.above) {
            for (const Quotient& held : quotients_) {
                if (of.below.empty()) return changed;
                if (held.equation >= here_) break;
                if (const auto read = held_quotient(held, factor, of.below)) {
                    factor = *read;
                    changed = true;
                    break;
                }
            }
        }
        return changed;
    }

    /// A product that has a factor which this pass changed, with that factor's divisors.
    Expr with_quotients(Expr e) {
        Product whole = product_of(e);
        bool has_changed = false;
        Factors above;
        for (const Expr factor : whole.above) {
            const auto made = only_read(factor);
            const bool is_pointwise =
                made && changed_.contains(program_.equations[*made].target) && !lies_in_reduction();
            if (!is_pointwise) {
                above.push_back(factor);
                continue;
            }
            const Equation& equation = program_.equations[*made];
            const Product inner = product_of(
                substitute_indices(context_, equation.value, renaming(equation, factor)));
            whole.is_negative ^= inner.is_negative;
            above.insert(above.end(), inner.above.begin(), inner.above.end());
            whole.below.insert(whole.below.end(), inner.below.begin(), inner.below.end());
            has_changed = true;
        }
        has_changed |=
            std::ranges::any_of(above, [&](Expr factor) { return sums_.contains(factor->id); });
        if (!has_changed) return e;
        whole.above = std::move(above);
        return read_held_quotients(whole) ? to_expr(context_, whole) : e;
    }

    /// Whether what stands in this equation may be computed at more points than its indices have.
    bool lies_in_reduction() const {
        return std::holds_alternative<Reduce>(program_.equations[here_].value->term);
    }

    /// Whether the divisor is a row's sum of exponentials, one of which is among the factors: where
    /// it is 0 so are they, and the quotient is no number wherever the division stands.
    bool is_sum_of_exponentials(Expr divisor, const Factors& factors) const {
        const auto* access = std::get_if<Access>(&divisor->term);
        if (access == nullptr || !is_plain(*access)) return false;
        const auto made = definitions_.find(access->tensor);
        if (made == definitions_.end()) return false;
        const Equation& row = program_.equations[made->second];
        const auto* reduce = std::get_if<Reduce>(&row.value->term);
        const bool is_sum = reduce != nullptr && reduce->reducer == Reducer::sum &&
                            !reduce->condition && reduce->indices.size() == 1 &&
                            is_apply(reduce->body, Op::exp);
        if (!is_sum) return false;
        const Index& summed = program_.at(reduce->indices.front());
        Renaming to = renaming(row, divisor);
        return std::ranges::any_of(factors, [&](Expr factor) {
            if (!is_apply(factor, Op::exp)) return false;
            return std::ranges::any_of(free_indices(factor), [&](IndexId index) {
                const Index& here = program_.at(index);
                if (here.lower != summed.lower || here.upper != summed.upper) return false;
                to.insert_or_assign(std::uint32_t(reduce->indices.front()), context_.index(index));
                return substitute_indices(context_, reduce->body, to) == factor;
            });
        });
    }

    // --- sums --------------------------------------------------------------------------

    Expr factored_sum(Expr e) {
        const auto& args = std::get<Apply>(e->term).args;
        std::vector<Product> terms;
        for (const Expr arg : args) {
            // Of adjoints each term has a cotangent among its factors, and so is a floating number
            // whatever the others are.
            if (!depends_on_cotangent(arg)) return e;
            terms.push_back(product_of(arg));
        }
        bool changed = false;
        for (std::size_t n = 0; n < terms.size(); ++n) {
            const Factors factors = terms[n].above;
            for (const Expr factor : factors) {
                const auto made = only_read(factor);
                if (!made) continue;
                const Factors divisors = divisors_beside(terms, n);
                Destination to{.term = terms[n], .unmatched = divisors, .divisors = divisors};
                changed |= take_out(*made, renaming(program_.equations[*made], factor), to);
            }
        }
        if (!changed) return e;
        Product whole = factors_in_common(terms);
        if (whole.above.empty() && whole.below.empty()) {
            for (Product& term : terms) read_held_quotients(term);
            whole = factors_in_common(terms);
        }
        std::vector<Expr> rest;
        for (Product& term : terms) {
            for (const Expr factor : whole.below) take(term.below, factor);
            for (const Expr factor : whole.above) take(term.above, factor);
            fold_literals(context_, term);
            rest.push_back(to_expr(context_, term));
        }
        const Expr sum = context_.apply(Op::add, std::move(rest));
        whole.above.insert(whole.above.begin(), sum);
        const Expr result = to_expr(context_, whole);
        sums_.insert(result->id);
        sums_.insert(sum->id);
        return result;
    }

    /// Without cotangents: what is left of each term keeps its own.
    Product factors_in_common(const std::vector<Product>& terms) const {
        Product common = common_factors(terms);
        std::erase_if(common.above, [&](Expr factor) { return depends_on_cotangent(factor); });
        return common;
    }

    /// What the other terms divide by, wherever the sum is computed; reads of quotients included.
    Factors divisors_beside(const std::vector<Product>& terms, std::size_t which) {
        Factors divisors;
        for (std::size_t n = 0; n < terms.size(); ++n) {
            if (n == which) continue;
            divisors.insert(divisors.end(), terms[n].below.begin(), terms[n].below.end());
            for (const Expr factor : terms[n].above) {
                const auto* access = std::get_if<Access>(&factor->term);
                if (access == nullptr || !is_plain(*access)) continue;
                for (const Quotient& held : quotients_) {
                    const Equation& equation = program_.equations[held.equation];
                    if (equation.target != access->tensor) continue;
                    divisors.push_back(
                        substitute_indices(context_, held.below, renaming(equation, factor)));
                }
            }
        }
        return divisors;
    }

    /// The term that divisors move to.
    struct Destination {
        Product& term;
        Factors unmatched;  ///< divisors of the other terms that this one does not have yet
        Factors divisors;   ///< of the other terms
    };

    /// Divides the term instead of what the equation sums up, or of a product there: changes both.
    /// `places` are those of the equation's indices in the term. Divisors that are left to the sum
    /// of a row as a whole go to `of_row`, if given.
    bool take_out(std::size_t made, const Renaming& places, Destination& to,
                  Factors* of_row = nullptr) {
        Equation& row = program_.equations[made];
        const auto* reduce = std::get_if<Reduce>(&row.value->term);
        if (reduce != nullptr && reduce->reducer != Reducer::sum) return false;
        const Expr before = reduce != nullptr ? reduce->body : row.value;
        Expr value = without_needless_guard(before, places, to);
        for (const Expr divisor : product_of(value).below) {
            if (reduce != nullptr && depends_on_any(divisor, reduce->indices)) continue;
            if (moves(substitute_indices(context_, divisor, places), to))
                value = without(context_, value, divisor, Side::below).value();
        }
        if (reduce != nullptr && of_row != nullptr)
            value = without_last_divisions(value, reduce->indices, places, to, *of_row);
        bool changed = value != before;
        if (reduce == nullptr) {
            for (const Expr factor : product_of(value).above) {
                const auto inner = only_read(factor);
                if (!inner) continue;
                const Renaming here = renaming(program_.equations[*inner], factor);
                Renaming inside = here;
                for (auto& [_, place] : inside) place = substitute_indices(context_, place, places);
                Factors divisors;
                changed |= take_out(*inner, inside, to, &divisors);
                for (const Expr divisor : divisors)
                    value = context_.div(value, substitute_indices(context_, divisor, here));
            }
        }
        if (!changed) return false;
        for (const Expr factor : product_of(value).above) {
            if (!real_literal(factor)) continue;
            value = without(context_, value, factor, Side::above).value();
            to.term.above.push_back(factor);
        }
        value = simplify(program_, value, {.is_derivative = true});
        if (is_apply(value, Op::neg)) {
            value = std::get<Apply>(value->term).args.front();
            to.term.is_negative ^= true;
        }
        row.value = reduce == nullptr
                        ? value
                        : context_.reduce(Reducer::sum, reduce->indices, reduce->condition, value);
        return true;
    }

    /// What is summed up, without the divisions that come last and divide the sum as a whole: by
    /// what the term need not have, as the other terms divide by it in any case, and by what still
    /// divides the rest. So nothing is summed that is not computed before either, and it is no
    /// larger than quotients are: X/s, where X may be too large to be squared.
    Expr without_last_divisions(Expr value, const std::vector<IndexId>& summed,
                                const Renaming& places, const Destination& to, Factors& divisors) {
        const auto* apply = std::get_if<Apply>(&value->term);
        if (apply == nullptr) return value;
        std::vector<Expr> args = apply->args;
        if (apply->op == Op::div) {
            const bool may_leave =
                !depends_on_any(args[1], summed) && is_in(args[1], product_of(args[0]).below) &&
                is_in(substitute_indices(context_, args[1], places), to.divisors);
            if (!may_leave) return value;
            divisors.push_back(args[1]);
            return without_last_divisions(args[0], summed, places, to, divisors);
        }
        const auto is_factor = [](Expr arg) { return !real_literal(arg); };
        const bool is_scaled = apply->op == Op::neg || apply->op == Op::mul;
        if (!is_scaled || std::ranges::count_if(args, is_factor) != 1) return value;
        Expr& factor = *std::ranges::find_if(args, is_factor);
        factor = without_last_divisions(factor, summed, places, to, divisors);
        return context_.apply(apply->op, std::move(args));
    }

    /// x != 0 ? value : 0, where another term divides by x in any case.
    Expr without_needless_guard(Expr e, const Renaming& places, const Destination& to) {
        if (!is_apply(e, Op::select)) return e;
        const auto& args = std::get<Apply>(e->term).args;
        if (!is_apply(args[0], Op::ne) || !is_literal(args[2], 0)) return e;
        const auto& compared = std::get<Apply>(args[0]->term).args;
        if (!is_literal(compared[1], 0)) return e;
        return is_in(substitute_indices(context_, compared[0], places), to.divisors) ? args[1] : e;
    }

    /// Whether a divisor of the sum becomes one of the term: as another term has it too, since it
    /// is a sum of exponentials of which the term has one, or since an array holds the quotient of
    /// a factor of the term by it.
    bool moves(Expr divisor, Destination& to) {
        const bool is_divided =
            take(to.unmatched, divisor) || is_sum_of_exponentials(divisor, to.term.above);
        if (is_divided) {
            to.term.below.push_back(divisor);
            return true;
        }
        if (!is_in(divisor, to.divisors)) return false;
        Product quotient{.above = to.term.above, .below = {divisor}};
        if (!read_held_quotients(quotient)) return false;
        to.term.above = std::move(quotient.above);
        return true;
    }

    Program program_;
    Context& context_;
    std::size_t here_ = 0;     ///< the equation that is being rewritten
    std::set<TensorId> late_;  ///< what depends on a cotangent
    std::map<TensorId, int> reads_;
    std::map<TensorId, std::size_t> definitions_;
    std::vector<Quotient> quotients_;
    std::set<TensorId> changed_;    ///< tensors whose equations this pass has changed
    std::set<std::uint32_t> sums_;  ///< sums that it has changed, by number
};

}  // namespace

Program with_common_factors(Program program, const std::vector<TensorId>& cotangents) {
    return Factoring(std::move(program), cotangents).run();
}

}  // namespace ricci::grad
