// codegen/cuda/write_value.cpp – the terms of a nest as text
#include <cmath>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"

namespace ricci::codegen::cuda {

namespace {

/// The largest whole exponent that becomes multiplications: their error, half a unit in the last
/// place each, stays below four.
constexpr double max_expanded_exponent = 8;

/// The value of a constant, also one converted from another type.
std::optional<double> constant_value(const Value& value) {
    if (const auto* constant = std::get_if<Constant>(&value->term))
        return is_floating(value->dtype) ? constant->real : double(constant->integer);
    if (const auto* convert = std::get_if<Convert>(&value->term))
        return is_floating(value->dtype) ? constant_value(convert->a) : std::nullopt;
    return std::nullopt;
}

}  // namespace

Text NestWriter::value(const Value& value) {
    return match(
        value->term,
        [&](const Constant& constant) { return constant_text(constant, value->dtype); },
        [&](const VarValue& var) { return form(var.form); },
        [&](const Load& load) {
            if (lanes_) {
                if (const auto found = lanes_->loads.find(value.get());
                    found != lanes_->loads.end())
                    return Text{format("{}.v[{}]", found->second, lanes_->name)};
            }
            return Text{element(load.buffer, load.at)};
        },
        [&](const Operate& operate) {
            if (operate.op == Op::pow && is_floating(value->dtype))
                return power(operate, value->dtype);
            std::vector<Text> args;
            for (const Value& arg : operate.args) args.push_back(this->value(arg));
            return operation_text(operate.op, operate.args.back()->dtype, std::move(args));
        },
        [&](const Convert& convert) {
            return converted_text(this->value(convert.a), convert.a->dtype, value->dtype,
                                  convert.wraps);
        },
        [&](const LetValue& let) {
            const auto found = lets_.find(let.number);
            RICCI_ASSERT(found != lets_.end(),
                         format("value {} is used before its let", let.number));
            return found->second;
        });
}

/// A floating power; small constant exponents that are whole or a half more without a logarithm.
Text NestWriter::power(const Operate& operate, DType dtype) {
    const Text base = value(operate.args[0]);
    const std::optional<double> exponent = constant_value(operate.args[1]);
    if (exponent == 0.5) return {format("rc_root({})", base.text)};
    if (exponent && std::abs(*exponent) <= max_expanded_exponent) {
        const double halves = 2 * *exponent;
        if (*exponent == std::floor(*exponent))
            return {format("rc_power<{}>({})", int(*exponent), base.text)};
        if (halves == std::floor(halves))
            return {format("rc_half_power<{}>({})", int(halves), base.text)};
    }
    return operation_text(Op::pow, dtype, {base, value(operate.args[1])});
}

}  // namespace ricci::codegen::cuda
