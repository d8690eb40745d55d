// codegen/joined_indices.cpp – two indices that terms have in one form alone, as one index
#include "codegen/joined_indices.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <variant>

#include "base/integer.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Numbers of index arithmetic, two of which multiply to less than 64 bits.
constexpr std::int64_t largest_number = std::int64_t{1} << 30;

/// The typed term of a form.
Expr term_of(EquationMaker& make, const LinearForm& form) {
    Expr sum;
    for (const LinearForm::Part& part : form.parts) {
        const Expr each = make.times(part.atom, part.coefficient);
        sum = sum ? make.add(sum, each) : each;
    }
    const Expr constant = make.integer(form.constant);
    return !sum ? constant : form.constant == 0 ? sum : make.add(sum, constant);
}

}  // namespace

std::vector<JoinedIndices> forms_of_two(const std::vector<Expr>& terms,
                                        std::optional<IndexId> summed) {
    std::vector<JoinedIndices> found;
    const auto index_of = [&](const LinearForm::Part& part) -> std::optional<IndexId> {
        const auto* value = std::get_if<IndexValue>(&part.atom->term);
        if (value == nullptr || summed == value->index ||
            std::abs(part.coefficient) > largest_number)
            return std::nullopt;
        return value->index;
    };
    for (const Expr node : postorder(terms)) {
        if (node->dtype != DType::i64) continue;
        const std::optional<LinearForm> form = linear_form(node);
        if (!form || form->parts.size() < 2) continue;
        for (const LinearForm::Part& a : form->parts)
            for (const LinearForm::Part& b : form->parts) {
                const auto first = index_of(a);
                const auto second = index_of(b);
                if (first && second && *first != *second && std::abs(a.coefficient) == 1)
                    found.push_back({*first, *second, a.coefficient, b.coefficient, {}});
            }
    }
    return found;
}

std::optional<BoundIndex> values_of(const BoundProgram& program, const JoinedIndices& form) {
    const BoundIndex& a = program.at(form.a);
    const BoundIndex& b = program.at(form.b);
    for (const std::int64_t number : {a.lower, a.upper, b.lower, b.upper})
        if (std::abs(number) > largest_number) return std::nullopt;
    if (std::abs(form.b_step) > largest_number) return std::nullopt;
    const auto ends = [](std::int64_t step, const BoundIndex& index) {
        const std::int64_t first = step * index.lower;
        const std::int64_t last = step * (index.upper - 1);
        return std::pair(std::min(first, last), std::max(first, last));
    };
    const auto [a_low, a_high] = ends(form.a_step, a);
    const auto [b_low, b_high] = ends(form.b_step, b);
    return BoundIndex{.name = a.name, .lower = a_low + b_low, .upper = a_high + b_high + 1};
}

Expr with_joined(EquationMaker& make, Expr e, const JoinedIndices& form) {
    const Expr of_a =
        make.subtract(make.value(form.joined), make.times(make.value(form.b), form.b_step));
    const EquationMaker::Numbers numbers{{std::uint32_t(form.a), make.times(of_a, form.a_step)}};
    Context& context = make.context();
    return rewrite(context, make.with(e, numbers), [&](Expr node) -> Expr {
        const auto* apply = std::get_if<Apply>(&node->term);
        if (apply == nullptr || !has_index(free_indices(node), form.b)) return node;
        if (node->dtype == DType::i64) {
            const std::optional<LinearForm> linear = linear_form(node);
            return linear ? term_of(make, *linear) : node;
        }
        // Both sides of a comparison may have the form in part.
        if (info(apply->op).precedence != Precedence::comparison ||
            apply->args[0]->dtype != DType::i64 || apply->args[1]->dtype != DType::i64)
            return node;
        const auto difference = linear_form(make.subtract(apply->args[0], apply->args[1]));
        if (!difference) return node;
        const Expr term = term_of(make, *difference);
        if (has_index(free_indices(term), form.b)) return node;
        return make.compare(apply->op, term, make.integer(0));
    });
}

std::optional<std::vector<Expr>> joined(EquationMaker& make, std::vector<Expr> terms,
                                        JoinedIndices& form) {
    std::vector<BoundIndex>& indices = make.program().indices;
    const std::optional<BoundIndex> values = values_of(make.program(), form);
    if (!values) return std::nullopt;
    form.joined = IndexId{std::uint32_t(indices.size())};
    indices.push_back(*values);
    for (Expr& each : terms) {
        each = with_joined(make, each, form);
        const std::vector<IndexId> ids = free_indices(each);
        if (!has_index(ids, form.a) && !has_index(ids, form.b)) continue;
        indices.pop_back();
        return std::nullopt;
    }
    return terms;
}

bool take_as_range(BoundProgram& program, IndexId id, Expr condition) {
    Variables variables({id});
    affine::System system;
    if (free_indices(condition) != std::vector{id} ||
        !add_condition(system, condition, variables).empty() || variables.size() != 1 ||
        !system.equalities.empty())
        return false;
    BoundIndex& range = program.indices[std::size_t(id)];
    for (const affine::Form& form : system.inequalities) {
        const std::int64_t step = form.at(0);
        if (step > 0) range.lower = std::max(range.lower, ceil_div(-form.constant, step));
        if (step < 0) range.upper = std::min(range.upper, floor_div(form.constant, -step) + 1);
    }
    return true;
}

std::int64_t most_values(const BoundProgram& program, Expr condition, IndexId id) {
    std::int64_t most = program.at(id).extent();
    Variables variables({id});
    std::vector<affine::Form> forms;  // at least zero
    for (const Expr part : conjuncts(condition)) {
        affine::System system;
        if (!add_condition(system, part, variables).empty()) continue;
        std::ranges::copy_if(system.inequalities, std::back_inserter(forms),
                             [](const affine::Form& form) { return form.at(0) != 0; });
    }
    for (const affine::Form& lower : forms)
        for (const affine::Form& upper : forms) {
            bool is_band = std::abs(lower.constant) < largest_number &&
                           std::abs(upper.constant) < largest_number;
            for (std::size_t v = 0; v < variables.size(); ++v)
                is_band &= lower.at(v) == -upper.at(v);
            if (!is_band) continue;
            const std::int64_t width = std::max<std::int64_t>(lower.constant + upper.constant, -1);
            most = std::min(most, floor_div(width, std::abs(lower.at(0))) + 1);
        }
    return most;
}

std::optional<WindowBlocks> best_blocks(
    std::int64_t extent, const std::function<std::int64_t(const WindowBlocks&)>& cost) {
    constexpr std::int64_t longest = 4096;
    std::optional<WindowBlocks> best;
    for (std::int64_t length = 2; length * 2 <= extent && length <= longest; ++length) {
        const WindowBlocks found{
            .blocks = extent / length, .length = length, .rest = extent % length};
        if (!best || cost(found) < cost(*best)) best = found;
    }
    return best;
}

bool joins_points(const BoundEquation& equation) {
    if (!equation.reduction || equation.reduction->carry) return false;
    const Reducer reducer = equation.reduction->reducer;
    return reducer == Reducer::sum || reducer == Reducer::prod || reducer == Reducer::max ||
           reducer == Reducer::min;
}

Product product_along(EquationMaker& make, const BoundEquation& equation, IndexId id) {
    if (equation.reduction->reducer != Reducer::sum) return {.factors = {equation.value}};
    return ProductFactors(make).factors_of(equation.value, {id}, {});
}

}  // namespace ricci::codegen
