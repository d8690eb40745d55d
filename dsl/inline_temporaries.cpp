// dsl/inline_temporaries.cpp – temporaries that are used once, written where they are used
#include "dsl/inline_temporaries.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The one place where a temporary is read.
struct Use {
    std::size_t equation;
    Expr access;
};

/// The terms of an equation, subscripts of the target first.
std::vector<Expr> terms(const Equation& equation) {
    std::vector<Expr> all = equation.at;
    all.push_back(equation.value);
    return all;
}

class Inliner {
  public:
    explicit Inliner(Program program) : program_(std::move(program)) { find_uses(); }

    Program run() {
        for (std::size_t n = 0; n < program_.equations.size(); ++n) {
            if (!is_whole_temporary(program_.equations[n])) continue;
            const auto use = only_use(program_.equations[n].target);
            if (use && is_legal(n, *use)) move(n, *use);
        }
        std::size_t n = 0;
        std::erase_if(program_.equations, [&](const auto&) { return moved_.contains(n++); });
        return std::move(program_);
    }

  private:
    /// Made once by `t[i,j] := value` over all its elements, counted from each index's lower bound.
    bool is_whole_temporary(const Equation& equation) const {
        const Tensor& tensor = program_.at(equation.target);
        if (tensor.role != Role::temporary || equation.op != Assign::define ||
            equation.indices.size() != equation.at.size())
            return false;
        Context& context = *program_.context;
        for (std::size_t d = 0; d < equation.at.size(); ++d) {
            const Index& index = program_.at(equation.indices[d]);
            const Expr place =
                integer_difference(context, context.index(equation.indices[d]), index.lower);
            const Expr extent = integer_difference(context, index.upper, index.lower);
            const Expr zero = context.integer(0);
            if (integer_difference(context, equation.at[d], place) != zero ||
                integer_difference(context, tensor.shape[d], extent) != zero)
                return false;
        }
        return true;
    }

    /// Counts how often each tensor is read as it would be written: twice below a shared node.
    void find_uses() {
        tied_.insert(program_.outputs.begin(), program_.outputs.end());
        for (std::size_t n = 0; n < program_.equations.size(); ++n) {
            const Equation& equation = program_.equations[n];
            if (equation.previous) tied_.insert({equation.target, *equation.previous});
            for (Expr subscript : equation.at) tie_all_in(subscript);
            std::unordered_map<std::uint32_t, int> times;  // by node, how often it is written
            const std::vector<Expr> roots = terms(equation);
            for (Expr root : roots) ++times[root->id];
            const std::vector<Expr> nodes = postorder(roots);
            for (const Expr e : nodes | std::views::reverse) {
                for (Expr operand : operands(e))
                    times[operand->id] = std::min(2, times[operand->id] + times[e->id]);
                if (const auto* const size = std::get_if<Size>(&e->term))
                    tied_.insert(size->tensor);
                const auto* const access = std::get_if<Access>(&e->term);
                if (access == nullptr) continue;
                for (Expr subscript : access->at) {
                    tie_all_in(subscript);
                    if (is_no_index_term(subscript)) tied_.insert(access->tensor);
                }
                const bool is_first = uses_.emplace(access->tensor, Use{n, e}).second;
                if (!is_first || times[e->id] > 1) tied_.insert(access->tensor);
            }
        }
    }
    /// What cannot take the place of an index (`t[wrap(i)]`), or should not: at places that are
    /// data, an element would be computed again for each reader.
    static bool is_no_index_term(Expr subscript) {
        return std::holds_alternative<Modified>(subscript->term) ||
               !tensors_read(subscript).empty();
    }
    /// A subscript holds no reduction, and integers alone.
    void tie_all_in(Expr subscript) {
        for (TensorId id : tensors_read(subscript)) tied_.insert(id);
    }
    /// The temporary's only reading. A move may have taken it elsewhere; then it is left alone.
    std::optional<Use> only_use(TensorId tensor) const {
        const auto use = uses_.find(tensor);
        if (use == uses_.end() || tied_.contains(tensor)) return std::nullopt;
        const auto is_use = [&](Expr e) { return e == use->second.access; };
        const auto roots = terms(program_.equations[use->second.equation]);
        const bool is_there =
            std::ranges::any_of(roots, [&](Expr root) { return contains(root, is_use); });
        return is_there ? std::optional(use->second) : std::nullopt;
    }

    bool is_legal(std::size_t made, const Use& use) const {
        // What the value reads must still stand there, and not be what the user's line changes.
        const std::vector<TensorId> read = tensors_read(program_.equations[made].value);
        for (std::size_t n = made + 1; n <= use.equation; ++n) {
            const auto previous = program_.equations[n].previous;
            if (previous && std::ranges::find(read, *previous) != read.end()) return false;
        }
        const Expr value = program_.equations[made].value;
        const auto is_reduction = [](Expr e) { return std::holds_alternative<Reduce>(e->term); };
        return contains(value, is_reduction) ? is_moved(use) : !is_repeated(use);
    }

    /// Whether each place is another index, moved or mirrored perhaps. A sum at the place `t+N*m`
    /// would be one for each t and m.
    static bool is_moved(const Use& use) {
        std::set<IndexId> seen;
        for (Expr e : std::get<Access>(use.access->term).at) {
            const auto form = linear_form(e);
            if (!form) return false;
            std::size_t indices = 0;
            for (const LinearForm::Part& part : form->parts) {
                if (free_indices(part.atom).empty()) continue;
                const auto* const value = std::get_if<IndexValue>(&part.atom->term);
                const bool is_unit = part.coefficient == 1 || part.coefficient == -1;
                if (value == nullptr || !is_unit || !seen.insert(value->index).second) return false;
                ++indices;
            }
            if (indices > 1) return false;
        }
        return true;
    }

    /// Whether the place lies in a reduction over an index that its subscripts lack. A reduction is
    /// lifted out of it again, other values would be computed at each of its points.
    bool is_repeated(const Use& use) const {
        std::set<IndexId> named;
        for (Expr e : std::get<Access>(use.access->term).at)
            for (IndexId index : free_indices(e)) named.insert(index);
        for (Expr e : postorder({program_.equations[use.equation].value})) {
            const auto* const reduce = std::get_if<Reduce>(&e->term);
            if (reduce == nullptr || !contains(e, [&](Expr x) { return x == use.access; }))
                continue;
            const auto is_named = [&](IndexId index) { return named.contains(index); };
            if (!std::ranges::all_of(reduce->indices, is_named)) return true;
        }
        return false;
    }

    void move(std::size_t made, const Use& use) {
        Context& context = *program_.context;
        const Equation& equation = program_.equations[made];
        const auto& at = std::get<Access>(use.access->term).at;
        std::unordered_map<std::uint32_t, Expr> indices;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const IndexId index = equation.indices[d];
            indices.emplace(std::uint32_t(index),
                            integer_sum(context, at[d], program_.at(index).lower));
        }
        Equation& user = program_.equations[use.equation];
        const Expr value =
            decided(substitute_indices(context, equation.value, indices), user.value, use.access);
        const ExprMap<Expr> replacement{{use.access, value}};
        for (Expr& e : user.at) e = substitute(context, e, replacement);
        user.value = substitute(context, user.value, replacement);
        moved_.insert(made);
    }

    /// Of `c ? x : 0` the x where `c` is known to hold; another branch than 0 may decide its type.
    static Expr decided(Expr value, Expr user, Expr access) {
        if (!is_apply(value, Op::select)) return value;
        const std::vector<Expr>& args = std::get<Apply>(value->term).args;
        if (!is_literal(args[2], 0)) return value;
        const std::vector<Expr> asked = conjuncts(args[0]);
        const auto is_access = [&](Expr e) { return e == access; };
        const bool holds = contains(user, [&](Expr e) {
            const auto* reduce = std::get_if<Reduce>(&e->term);
            const auto* choice = is_apply(e, Op::select) ? std::get_if<Apply>(&e->term) : nullptr;
            if (reduce == nullptr && choice == nullptr) return false;
            const std::vector<Expr> known =
                conjuncts(reduce != nullptr ? reduce->condition : choice->args[0]);
            const bool are_known = std::ranges::all_of(
                asked, [&](Expr part) { return std::ranges::find(known, part) != known.end(); });
            return are_known &&
                   contains(reduce != nullptr ? reduce->body : choice->args[1], is_access);
        });
        return holds ? args[1] : value;
    }

    Program program_;
    std::map<TensorId, Use> uses_;  ///< the first reading found of each tensor
    std::set<TensorId> tied_;       ///< read more than once, updated, measured by `size`, asked for
    std::set<std::size_t> moved_;   ///< equations
};

}  // namespace

Program inline_temporaries(Program program) { return Inliner(std::move(program)).run(); }

}  // namespace ricci
