// grad/gradient.cpp – the gradient of one argument
#include "grad/gradient.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/walk.h"
#include "grad/joint.h"

namespace ricci::grad {

bool makes_complex(const Program& program) {
    const auto is_source = [](Expr e) {
        const auto* literal = std::get_if<Literal>(&e->term);
        const bool takes_apart = is_apply(e, Op::real) || is_apply(e, Op::imag) ||
                                 is_apply(e, Op::conj) || is_apply(e, Op::angle);
        return takes_apart || is_complex(e->dtype) ||
               (literal != nullptr && std::holds_alternative<std::complex<double>>(literal->value));
    };
    return std::ranges::any_of(program.equations, [&](const Equation& equation) {
        return contains(equation.value, is_source);
    });
}

namespace {

Program derive(const Program& forward, const std::vector<std::string>& arguments,
               const Options& options, Account* account) {
    Program result =
        without_unused(differentiate(canonicalise(forward), arguments, options, account).program);
    serve_any_ranks(result, forward, outputs_of_cotangents(forward, result),
                    [arguments, options](const Program& again) {
                        return gradients(again, arguments, options);
                    });
    return result;
}

/// Each argument once, and at least one.
void require_distinct(const std::vector<std::string>& arguments) {
    if (arguments.empty())
        throw Error({.kind = ErrorKind::name,
                     .message = "no argument is given whose gradient is wanted",
                     .hint = R"(name some: `f.grads({"W", "b"})`)"});
    for (auto name = arguments.begin(); name != arguments.end(); ++name) {
        if (std::find(arguments.begin(), name, *name) == name) continue;
        throw Error({.kind = ErrorKind::name,
                     .message = format("the gradient of `{}` is asked for twice", *name),
                     .hint = "name each argument once"});
    }
}

}  // namespace

Program gradient(const Program& forward, const std::string& argument, const Options& options) {
    return derive(forward, {argument}, options, nullptr);
}

Program gradients(const Program& forward, const std::vector<std::string>& arguments,
                  const Options& options) {
    require_distinct(arguments);
    return derive(forward, arguments, options, nullptr);
}

Program gradient(const Program& forward, const std::string& argument, const Options& options,
                 Account& account) {
    return derive(forward, {argument}, options, &account);
}

void serve_any_ranks(Program& result, const Program& forward,
                     const std::map<std::string, std::string>& companions,
                     const std::function<Program(const Program&)>& derive) {
    result.for_ranks = nullptr;
    if (forward.for_ranks)
        result.for_ranks = [again = forward.for_ranks, companions, derive,
                            names = argument_names(result)](const Ranks& ranks) {
            return taking(derive(again(with_outputs(ranks, companions))), names);
        };
}

std::map<std::string, std::string> outputs_of_cotangents(const Program& forward,
                                                         const Program& derived) {
    std::map<std::string, std::string> outputs;
    for (const TensorId id : derived.arguments) {
        const std::string& name = derived.at(id).name;
        const auto of = derived.at(id).dtype_of;
        if (of && !forward.argument(name)) outputs.emplace(name, derived.at(*of).name);
    }
    return outputs;
}

std::vector<std::string> argument_names(const Program& program) {
    std::vector<std::string> names;
    for (const TensorId id : program.arguments) names.push_back(program.at(id).name);
    return names;
}

Program taking(Program program, const std::vector<std::string>& names) {
    std::vector<TensorId> arguments;
    for (const std::string& name : names) {
        std::optional<TensorId> found = program.argument(name);
        for (std::size_t n = 0; n < program.tensors.size() && !found; ++n) {
            const Tensor& tensor = program.tensors[n];
            const bool is_given = tensor.role == Role::argument || tensor.role == Role::scalar;
            if (is_given && tensor.name == name) found = TensorId{static_cast<std::uint32_t>(n)};
        }
        if (found) arguments.push_back(*found);
    }
    // What only these ranks need is asked for all the same.
    for (const TensorId id : program.arguments)
        if (std::ranges::find(arguments, id) == arguments.end()) arguments.push_back(id);
    program.arguments = std::move(arguments);
    return program;
}

Ranks with_outputs(Ranks ranks, const std::map<std::string, std::string>& outputs) {
    for (const auto& [cotangent, output] : outputs)
        if (const auto known = ranks.find(cotangent); known != ranks.end())
            ranks.emplace(output, known->second);
    return ranks;
}

}  // namespace ricci::grad
