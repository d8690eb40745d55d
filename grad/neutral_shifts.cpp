// grad/neutral_shifts.cpp – maxima that a program subtracts and puts back
#include "grad/neutral_shifts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "dsl/walk.h"

namespace ricci::grad {

namespace {

/// How a term changes when what maxima give is shifted: by the read of a maximum.
struct Degrees {
    enum class Kind : std::uint8_t { sum, factor };
    Kind kind = Kind::sum;
    std::map<std::uint32_t, std::pair<Expr, int>> of;  ///< by the read's number; no degree is 0

    [[nodiscard]] bool is_fixed() const { return of.empty(); }
    /// Adds the degrees of another term of the kind.
    void add(const Degrees& other, int times) {
        for (const auto& [id, read] : other.of) {
            int& degree = of.try_emplace(id, read.first, 0).first->second.second;
            degree += times * read.second;
            if (degree == 0) of.erase(id);
        }
    }
    bool operator==(const Degrees& other) const {
        return of == other.of && (kind == other.kind || of.empty());
    }
};

bool is_extremum(const Equation& equation) {
    const auto* reduce = std::get_if<Reduce>(&equation.value->term);
    const bool is_found =
        reduce && (reduce->reducer == Reducer::max || reduce->reducer == Reducer::min);
    return is_found && equation.op == Assign::define;
}

class Shifts {
  public:
    Shifts(const Program& program, const std::vector<TensorId>& outputs)
        : program_(program), context_(*program.context) {
        for (const Equation& equation : program.equations) {
            if (is_extremum(equation)) candidates_.insert(equation.target);
        }
        for (const TensorId output : outputs) candidates_.erase(output);
    }

    std::set<TensorId> run(const std::vector<TensorId>& outputs) {
        if (candidates_.empty()) return {};
        for (const Equation& equation : program_.equations) visit(equation);
        for (const TensorId output : outputs)
            if (const auto found = tensors_.find(output); found != tensors_.end())
                drop(found->second.degrees);
        return std::move(candidates_);
    }

  private:
    /// A tensor's elements, in terms of the indices that its equation names them by.
    struct Known {
        std::vector<IndexId> indices;
        Degrees degrees;
    };

    void visit(const Equation& equation) {
        terms_.clear();
        const bool is_candidate = candidates_.contains(equation.target);
        Degrees degrees = is_candidate ? of_candidate(equation) : of_value(equation.value);
        Known known;
        bool names_elements = equation.op == Assign::define;
        for (const Expr at : equation.at) {
            const auto* plain = std::get_if<IndexValue>(&at->term);
            names_elements &=
                plain && std::ranges::find(known.indices, plain->index) == known.indices.end();
            if (plain) known.indices.push_back(plain->index);
            drop(of_term(at));
        }
        if (equation.previous) {
            drop_candidate(*equation.previous);
            drop(tensors_[*equation.previous].degrees);
        }
        if (!names_elements) {
            if (is_candidate) drop_candidate(equation.target);
            degrees = dropped(degrees);
        }
        known.degrees = std::move(degrees);
        tensors_.insert_or_assign(equation.target, std::move(known));
    }

    /// A candidate counts as a number of its own: what it is the maximum of matters only where it
    /// turns out not to be neutral.
    Degrees of_candidate(const Equation& equation) {
        const auto& reduce = std::get<Reduce>(equation.value->term);
        if (reduce.condition) (void)of_term(reduce.condition);
        behind_[equation.target] = of_term(reduce.body);
        return {};
    }

    /// What is shifted with the term can no longer be neutral.
    void drop(const Degrees& degrees) {
        std::vector<TensorId> left;
        for (const auto& [id, read] : degrees.of)
            left.push_back(std::get<Access>(read.first->term).tensor);
        while (!left.empty()) {
            const TensorId tensor = left.back();
            left.pop_back();
            if (candidates_.erase(tensor) == 0) continue;
            for (const auto& [id, read] : behind_[tensor].of)
                left.push_back(std::get<Access>(read.first->term).tensor);
        }
    }
    void drop_candidate(TensorId tensor) {
        if (candidates_.erase(tensor) != 0) drop(behind_[tensor]);
    }
    Degrees dropped(const Degrees& degrees) {
        drop(degrees);
        return {};
    }

    Degrees of_value(Expr value) {
        const auto* reduce = std::get_if<Reduce>(&value->term);
        if (!reduce) return of_term(value);
        if (reduce->condition) (void)of_term(reduce->condition);
        Degrees body = of_term(reduce->body);
        const bool is_place =
            reduce->reducer == Reducer::argmax || reduce->reducer == Reducer::argmin;
        if (body.is_fixed() || is_place) return {};
        const auto is_reduced = [&](const auto& entry) {
            const std::vector<IndexId> indices = free_indices(entry.second.first);
            return std::ranges::any_of(reduce->indices, [&](IndexId id) {
                return std::ranges::find(indices, id) != indices.end();
            });
        };
        if (std::ranges::any_of(body.of, is_reduced)) return dropped(body);
        const bool is_extreme = reduce->reducer == Reducer::max || reduce->reducer == Reducer::min;
        const bool is_sum_of_factors =
            reduce->reducer == Reducer::sum && body.kind == Degrees::Kind::factor;
        if (is_extreme || is_sum_of_factors) return body;
        return dropped(body);
    }

    const Degrees& of_term(Expr root) {
        for (const Expr e : postorder({root}))
            if (!terms_.contains(e)) terms_.emplace(e, of_node(e));
        return terms_.at(root);
    }

    Degrees of_node(Expr e) {
        if (const auto* access = std::get_if<Access>(&e->term)) return of_read(e, *access);
        if (const auto* cast = std::get_if<Cast>(&e->term))
            return is_floating(e->dtype) ? terms_.at(cast->a) : Degrees{};
        if (const auto* apply = std::get_if<Apply>(&e->term)) return of_operation(*apply);
        Degrees all;
        for (const Expr operand : operands(e)) drop(terms_.at(operand));
        return all;
    }

    Degrees of_read(Expr e, const Access& access) {
        for (const Expr at : access.at) drop(terms_.at(at));
        Degrees result;
        if (const auto known = tensors_.find(access.tensor); known != tensors_.end()) {
            std::unordered_map<std::uint32_t, Expr> here;
            for (std::size_t d = 0; d < known->second.indices.size(); ++d)
                here.emplace(static_cast<std::uint32_t>(known->second.indices[d]), access.at[d]);
            result.kind = known->second.degrees.kind;
            for (const auto& [id, read] : known->second.degrees.of) {
                const Expr there = substitute_indices(context_, read.first, here);
                Degrees one{result.kind, {{there->id, {there, read.second}}}};
                result.add(one, 1);  // two reads may be one here
            }
        }
        if (!candidates_.contains(access.tensor)) return result;
        result.of.try_emplace(e->id, e, 1);
        return result;
    }

    Degrees of_operation(const Apply& apply) {
        const auto of = [&](std::size_t n) -> const Degrees& { return terms_.at(apply.args[n]); };
        if (apply.op == Op::add) return combined(apply, Degrees::Kind::sum);
        if (apply.op == Op::mul) return combined(apply, Degrees::Kind::factor);
        if (apply.op == Op::select) return of_choice(apply);
        Degrees result;
        if (apply.op == Op::neg) {
            result.kind = of(0).kind;
            result.add(of(0), of(0).kind == Degrees::Kind::sum ? -1 : 1);
            return result;
        }
        if (apply.op == Op::div && is_factor(of(0)) && is_factor(of(1))) {
            result = {Degrees::Kind::factor, of(0).of};
            result.add(of(1), -1);
            return result;
        }
        const bool is_sum = of(0).kind == Degrees::Kind::sum || of(0).is_fixed();
        if (apply.op == Op::exp && is_sum) return {Degrees::Kind::factor, of(0).of};
        if (apply.op == Op::log && is_factor(of(0))) return {Degrees::Kind::sum, of(0).of};
        // Truth values change at single points at most, where there is no derivative.
        if (info(apply.op).type == TypeRule::boolean) return {};
        for (const Expr arg : apply.args) drop(terms_.at(arg));
        return {};
    }

    static bool is_factor(const Degrees& degrees) {
        return degrees.is_fixed() || degrees.kind == Degrees::Kind::factor;
    }

    /// A sum of sums, a product of factors; a sum of equal factors is one.
    Degrees combined(const Apply& apply, Degrees::Kind kind) {
        Degrees result{kind, {}};
        bool fits = true;
        bool are_equal = true;
        for (const Expr arg : apply.args) {
            const Degrees& each = terms_.at(arg);
            fits &= each.is_fixed() || each.kind == kind;
            are_equal &= each == terms_.at(apply.args[0]);
        }
        if (fits) {
            for (const Expr arg : apply.args) result.add(terms_.at(arg), 1);
            return result;
        }
        const Degrees& first = terms_.at(apply.args[0]);
        if (are_equal && kind == Degrees::Kind::sum) return first;
        for (const Expr arg : apply.args) drop(terms_.at(arg));
        return {};
    }

    /// `isfinite(x) ? x : constant` counts as x, `c ? x : 0` as the factor x, of which 0 is any
    /// multiple, `c ? x : -inf` as the sum x.
    Degrees of_choice(const Apply& apply) {
        const Degrees& yes = terms_.at(apply.args[1]);
        const Degrees& no = terms_.at(apply.args[2]);
        if (yes == no || is_of_any_degree(apply.args[2], yes)) return yes;
        if (is_of_any_degree(apply.args[1], no)) return no;
        const bool is_guard = is_apply(apply.args[0], Op::isfinite) &&
                              operands(apply.args[0])[0] == apply.args[1] && no.is_fixed();
        if (is_guard) return yes;
        drop(yes);
        drop(no);
        return {};
    }

    /// Whether a shift of the other branch leaves this one as it is: 0 of a factor, infinities of a
    /// sum.
    static bool is_of_any_degree(Expr branch, const Degrees& other) {
        if (other.kind == Degrees::Kind::factor) return is_literal(branch, 0);
        constexpr double inf = std::numeric_limits<double>::infinity();
        const Expr magnitude = is_apply(branch, Op::neg) ? operands(branch)[0] : branch;
        return is_literal(magnitude, inf) || is_literal(magnitude, -inf);
    }

    const Program& program_;
    Context& context_;
    std::set<TensorId> candidates_;
    std::map<TensorId, Known> tensors_;
    std::map<TensorId, Degrees> behind_;  ///< what a candidate is the maximum of
    ExprMap<Degrees> terms_;              ///< of the equation at hand
};

}  // namespace

std::set<TensorId> neutral_shifts(const Program& program, const std::vector<TensorId>& outputs) {
    return Shifts(program, outputs).run(outputs);
}

}  // namespace ricci::grad
