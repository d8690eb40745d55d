// codegen/gpu/affine_values.cpp – conditions and places of terms as affine forms
#include "codegen/gpu/affine_values.h"

#include <algorithm>

#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

bool AffineValues::suppose(const Value& condition) {
    const auto* operate = std::get_if<Operate>(&condition->term);
    if (operate == nullptr) return false;
    if (operate->op == Op::logical_and)
        return std::ranges::all_of(operate->args, [&](const Value& arg) { return suppose(arg); });
    if (operate->args.size() != 2) return false;
    const std::optional<AffineForm> a = form_of(operate->args[0]);
    const std::optional<AffineForm> b = form_of(operate->args[1]);
    if (!a || !b) return false;
    if (operate->op == Op::ge)
        conditions_.push_back(*a - *b);
    else if (operate->op == Op::le)
        conditions_.push_back(*b - *a);
    else if (operate->op == Op::gt)
        conditions_.push_back(*a - *b + form(-1));
    else if (operate->op == Op::lt)
        conditions_.push_back(*b - *a + form(-1));
    else
        return false;
    return true;
}

std::optional<AffineForm> AffineValues::form_of(const Value& value) const {
    if (value->dtype != DType::i64) return std::nullopt;
    if (const auto* var = std::get_if<VarValue>(&value->term)) return var->form;
    if (const auto* constant = std::get_if<Constant>(&value->term)) return form(constant->integer);
    const auto* operate = std::get_if<Operate>(&value->term);
    if (operate == nullptr) return std::nullopt;
    std::vector<AffineForm> args;
    for (const Value& arg : operate->args) {
        const std::optional<AffineForm> of_arg = form_of(arg);
        if (!of_arg) return std::nullopt;
        args.push_back(*of_arg);
    }
    AffineForm result = args.at(0);
    if (operate->op == Op::neg) return -1 * result;
    if (operate->op == Op::clamp) {
        const bool is_inside =
            is_at_least_zero(result - args.at(1)) && is_at_least_zero(args.at(2) - result);
        return is_inside ? std::optional(result) : std::nullopt;
    }
    if (operate->op != Op::add && operate->op != Op::mul) return std::nullopt;
    for (std::size_t i = 1; i < args.size(); ++i) {
        const bool is_product = operate->op == Op::mul;
        if (is_product && !result.is_constant() && !args[i].is_constant()) return std::nullopt;
        if (!is_product)
            result = result + args[i];
        else
            result = result.is_constant() ? result.constant * args[i] : args[i].constant * result;
    }
    return result;
}

bool AffineValues::is_at_least_zero(const AffineForm& form) const {
    std::int64_t least = form.constant;
    for (const Axis& axis : axes_)
        least += std::min<std::int64_t>(form.coefficient(axis.var), 0) * (axis.extent - 1);
    if (least >= 0) return true;
    return std::ranges::any_of(conditions_, [&](const AffineForm& known) {
        return known.terms == form.terms && known.constant <= form.constant;
    });
}

}  // namespace ricci::codegen::gpu
