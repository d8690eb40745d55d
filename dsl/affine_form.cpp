// dsl/affine_form.cpp – integer terms as affine forms, conditions as rows of a system
#include "dsl/affine_form.h"

#include <algorithm>

#include "dsl/walk.h"

namespace ricci {

namespace {

using affine::Form;

/// `a + factor * b`, or nothing on overflow.
std::optional<Form> plus_multiple(const Form& a, std::int64_t factor, const Form& b) {
    Form result{.constant = 0,
                .coefficients = std::vector<std::int64_t>(
                    std::max(a.coefficients.size(), b.coefficients.size()))};
    const auto fits = [factor](std::int64_t x, std::int64_t y, std::int64_t& out) {
        std::int64_t scaled = 0;
        return !__builtin_mul_overflow(factor, y, &scaled) &&
               !__builtin_add_overflow(x, scaled, &out);
    };
    if (!fits(a.constant, b.constant, result.constant)) return std::nullopt;
    for (std::size_t v = 0; v < result.coefficients.size(); ++v) {
        if (!fits(a.at(v), b.at(v), result.coefficients[v])) return std::nullopt;
    }
    return result;
}

std::optional<Form> times(std::int64_t factor, const Form& a) {
    return plus_multiple({}, factor, a);
}

bool is_constant(const Form& form) {
    return std::ranges::all_of(form.coefficients, [](std::int64_t a) { return a == 0; });
}

using Forms = ExprMap<std::optional<Form>>;

std::optional<Form> product(const std::vector<Form>& args) {
    std::optional<Form> total = Form{.constant = 1, .coefficients = {}};
    for (const Form& arg : args) {
        if (!total) return std::nullopt;
        if (is_constant(*total)) {
            total = times(total->constant, arg);
        } else if (is_constant(arg)) {
            total = times(arg.constant, *total);
        } else {
            return std::nullopt;
        }
    }
    return total;
}

/// The form of an operation, from those of its operands.
std::optional<Form> form_of(const Apply& apply, const Forms& forms, Variables& variables) {
    std::vector<Form> args;
    for (const Expr arg : apply.args) {
        const std::optional<Form>& form = forms.at(arg);
        if (!form) return std::nullopt;
        args.push_back(*form);
    }
    if (apply.op == Op::add) {
        std::optional<Form> total = Form{};
        for (const Form& arg : args) {
            if (total) total = plus_multiple(*total, 1, arg);
        }
        return total;
    }
    if (apply.op == Op::neg) return times(-1, args[0]);
    if (apply.op == Op::mul) return product(args);
    if (apply.op == Op::floordiv || apply.op == Op::mod) {
        if (!is_constant(args[1]) || args[1].constant <= 0) return std::nullopt;
        const std::int64_t divisor = args[1].constant;
        const std::optional<std::size_t> q = variables.quotient(args[0], divisor);
        if (!q) return std::nullopt;
        Form quotient{.constant = 0, .coefficients = std::vector<std::int64_t>(*q + 1)};
        quotient.coefficients[*q] = 1;
        return apply.op == Op::floordiv ? quotient : plus_multiple(args[0], -divisor, quotient);
    }
    return std::nullopt;
}

bool is_exact(DType dtype) { return dtype == DType::none || dtype == DType::i64; }

/// The form of a term, from those of its operands.
std::optional<Form> form_of(Expr e, const Forms& forms, Variables& variables) {
    if (!is_exact(e->dtype)) return std::nullopt;
    if (const auto* literal = std::get_if<Literal>(&e->term)) {
        const auto* value = std::get_if<std::int64_t>(&literal->value);
        if (value == nullptr) return std::nullopt;
        return Form{.constant = *value, .coefficients = {}};
    }
    if (const auto* index = std::get_if<IndexValue>(&e->term)) {
        const std::size_t v = variables.number(index->index);
        Form form{.constant = 0, .coefficients = std::vector<std::int64_t>(v + 1)};
        form.coefficients[v] = 1;
        return form;
    }
    const auto* apply = std::get_if<Apply>(&e->term);
    return apply == nullptr ? std::nullopt : form_of(*apply, forms, variables);
}

/// The comparison that a term is.
std::optional<Comparison> as_comparison(Expr e) {
    const Apply* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->args.size() != 2) return std::nullopt;
    const Op op = apply->op;
    if (op != Op::eq && op != Op::lt && op != Op::le && op != Op::gt && op != Op::ge)
        return std::nullopt;
    return Comparison{.op = op, .left = apply->args[0], .right = apply->args[1]};
}

}  // namespace

Variables::Variables(const std::vector<IndexId>& indices, Atoms atoms) : atoms_(atoms) {
    for (const IndexId index : indices) number(index);
}

std::size_t Variables::find_or_add(const std::variant<IndexId, affine::Quotient>& atom) {
    const auto found = std::ranges::find(atoms_of_, atom);
    if (found != atoms_of_.end()) return static_cast<std::size_t>(found - atoms_of_.begin());
    atoms_of_.push_back(atom);
    return atoms_of_.size() - 1;
}

std::size_t Variables::number(IndexId index) { return find_or_add(index); }

std::optional<std::size_t> Variables::quotient(const affine::Form& form, std::int64_t divisor) {
    if (atoms_ == Atoms::indices) return std::nullopt;
    Form trimmed = form;
    while (!trimmed.coefficients.empty() && trimmed.coefficients.back() == 0) {
        trimmed.coefficients.pop_back();
    }
    return find_or_add(affine::Quotient{.form = std::move(trimmed), .divisor = divisor});
}

std::optional<IndexId> Variables::index(std::size_t variable) const {
    const IndexId* index = std::get_if<IndexId>(&atoms_of_.at(variable));
    return index == nullptr ? std::nullopt : std::optional(*index);
}

void Variables::define(affine::System& system) const {
    for (std::size_t v = 0; v < atoms_of_.size(); ++v) {
        const auto* quotient = std::get_if<affine::Quotient>(&atoms_of_[v]);
        if (quotient == nullptr) continue;
        Form q{.constant = 0, .coefficients = std::vector<std::int64_t>(v + 1)};
        q.coefficients[v] = 1;
        // 0 <= form - divisor * q <= divisor - 1
        const std::optional<Form> remainder = plus_multiple(quotient->form, -quotient->divisor, q);
        if (!remainder) continue;
        const Form largest{.constant = quotient->divisor - 1, .coefficients = {}};
        if (const auto room = plus_multiple(largest, -1, *remainder)) system.at_least_zero(*room);
        system.at_least_zero(*remainder);
    }
    system.variables = std::max(system.variables, size());
}

std::optional<affine::Form> affine_form(Expr e, Variables& variables) {
    Forms forms;
    for (const Expr node : postorder({e})) forms.emplace(node, form_of(node, forms, variables));
    return forms.at(e);
}

std::vector<Expr> conjuncts(Expr condition) {
    std::vector<Expr> result;
    std::vector<Expr> todo;
    if (condition) todo.push_back(condition);
    while (!todo.empty()) {
        const Expr e = todo.back();
        todo.pop_back();
        if (is_apply(e, Op::logical_and)) {
            const auto& args = std::get<Apply>(e->term).args;
            todo.insert(todo.end(), args.rbegin(), args.rend());
        } else {
            result.push_back(e);
        }
    }
    return result;
}

std::vector<Comparison> comparisons(Expr conjunct) {
    constexpr std::size_t most = 32;  // terms are shared: written out they may double and double
    std::vector<Comparison> result;
    std::vector<Comparison> todo;
    if (const auto whole = as_comparison(conjunct)) todo.push_back(*whole);
    while (!todo.empty()) {
        const Comparison c = todo.back();
        todo.pop_back();
        // What is above the larger of two is above both, what is below the smaller one below both.
        const bool is_less = c.op == Op::lt || c.op == Op::le;
        const bool is_split = c.op != Op::eq && result.size() + todo.size() + 2 <= most;
        if (is_split && is_apply(c.left, is_less ? Op::max : Op::min)) {
            for (const Expr operand : std::get<Apply>(c.left->term).args)
                todo.push_back({.op = c.op, .left = operand, .right = c.right});
        } else if (is_split && is_apply(c.right, is_less ? Op::min : Op::max)) {
            for (const Expr operand : std::get<Apply>(c.right->term).args)
                todo.push_back({.op = c.op, .left = c.left, .right = operand});
        } else {
            result.push_back(c);
        }
    }
    return result;
}

bool add_comparison(affine::System& system, const Comparison& comparison, Variables& variables) {
    const Op op = comparison.op;
    const std::optional<Form> left = affine_form(comparison.left, variables);
    const std::optional<Form> right = affine_form(comparison.right, variables);
    if (!left || !right) return false;
    const bool is_less = op == Op::lt || op == Op::le;
    std::optional<Form> difference =
        is_less ? plus_multiple(*right, -1, *left) : plus_multiple(*left, -1, *right);
    if (difference && (op == Op::lt || op == Op::gt)) {
        difference = plus_multiple(*difference, -1, {.constant = 1, .coefficients = {}});
    }
    if (!difference) return false;
    if (op == Op::eq) {
        system.equal_zero(*std::move(difference));
    } else {
        system.at_least_zero(*std::move(difference));
    }
    return true;
}

std::vector<Expr> add_condition(affine::System& system, Expr condition, Variables& variables) {
    std::vector<Expr> rest;
    for (const Expr part : conjuncts(condition)) {
        const auto comparison = as_comparison(part);
        if (!comparison || !add_comparison(system, *comparison, variables)) rest.push_back(part);
    }
    return rest;
}

}  // namespace ricci
