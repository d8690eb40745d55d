// tools/ricci/gradients.cpp – cotangents and tangents by name, and ones where none are given
#include "tools/ricci/gradients.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/canonical.h"

#include "tools/ricci/arguments.h"

namespace ricci::tool {
namespace {

/// Ones with the shape and type of the program's result.
Array ones_of_result(const Program& program, const Arguments& arguments) {
    Signature signature;
    for (const auto& [name, array] : arguments) {
        ArgumentSpec spec;
        spec.dtype = array.dtype();
        spec.shape = array.shape();
        spec.strides = array.strides();
        spec.is_weak = array.is_weak();
        if (array.rank() == 0 && !is_complex(array.dtype())) {
            const double value = array.item();
            if (array.dtype() == DType::i64)
                spec.value = static_cast<std::int64_t>(value);
            else
                spec.value = value;
        }
        signature.emplace(name, std::move(spec));
    }
    const BoundProgram bound = ricci::bind(canonicalise(program), signature);
    const BoundTensor& result = bound.at(bound.outputs.front());
    return Array::full(result.dtype, result.shape, 1);
}

}  // namespace

std::optional<std::string> output_of_cotangent(const Program& program, std::string name) {
    while (name.size() > 1 && name.ends_with('_')) name.pop_back();
    if (!name.starts_with('d') || !program.output(name.substr(1))) return std::nullopt;
    return name.substr(1);
}

Signature signature_of_gradient(const Program& gradient, const Signature& given,
                                const Program& forward) {
    Signature signature;
    Signature of_forward = given;
    std::erase_if(of_forward, [&](const auto& entry) {
        return !forward.argument(entry.first) && output_of_cotangent(forward, entry.first);
    });
    const BoundProgram bound = ricci::bind(canonicalise(forward), of_forward);
    for (const std::string& name : argument_names(gradient)) {
        const auto known = given.find(name);
        if (known != given.end()) {
            signature.emplace(name, known->second);
        } else if (!forward.argument(name)) {
            const BoundTensor& result = bound.at(bound.outputs.front());
            ArgumentSpec cotangent;
            cotangent.dtype = result.dtype;
            cotangent.shape = result.shape;
            signature.emplace(name, cotangent);
        }
    }
    return signature;
}

std::vector<Gradient> make_gradients(const Function& function, const std::vector<std::string>& wrt,
                                     const Arguments& given, Ties ties) {
    const Program& program = function.program();
    const std::vector<std::string> forward = argument_names(program);
    Arguments arguments;
    Arguments cotangents;
    std::vector<std::string> outputs;
    for (const auto& [name, array] : given) {
        const auto output = output_of_cotangent(program, name);
        if (contains(forward, name) || !output) {
            arguments.emplace_back(name, array);
        } else {
            cotangents.emplace_back(name, array);
            outputs.push_back(*output);
        }
    }
    std::optional<Array> ones;
    if (cotangents.empty()) ones = ones_of_result(program, arguments);
    std::vector<Gradient> gradients;
    for (const std::string& argument : wrt) {
        Gradient gradient;
        gradient.argument = argument;
        gradient.function = function.grad(argument, {.cotangents = outputs, .ties = ties});
        const Program& derived = gradient.function.program();
        gradient.name = derived.at(derived.result()).name;
        // Copies: a gradient of an update changes its cotangent in place.
        gradient.arguments = copies(arguments);
        const std::vector<std::string> needed = argument_names(derived);
        for (const auto& [name, array] : cotangents)
            if (contains(needed, name)) gradient.arguments.emplace_back(name, array.copy());
        // What is neither the forward's nor given is the cotangent of the result.
        for (const std::string& name : needed)
            if (ones && !contains(forward, name))
                gradient.arguments.emplace_back(name, ones->copy());
        gradients.push_back(std::move(gradient));
    }
    return gradients;
}

Tangents make_tangents(const Function& function, const std::vector<std::string>& wrt,
                       const std::vector<std::string>& outputs, const Arguments& given, Ties ties) {
    const Program& forward = function.program();
    Tangents tangents;
    tangents.function = function.jvp(wrt, outputs, ties);
    const Program& derived = tangents.function.program();
    for (const TensorId output : derived.outputs) tangents.names.push_back(derived.at(output).name);
    // Copies: a tangent of what an update changes is changed itself.
    tangents.arguments = copies(given);
    const auto find = [&](const std::string& name) {
        return std::ranges::find(given, name, [](const auto& named) { return named.first; });
    };
    Arguments missing;
    bool is_any_given = false;
    for (const TensorId id : derived.arguments) {
        const Tensor& tensor = derived.at(id);
        if (forward.argument(tensor.name) || !tensor.dtype_of) continue;
        const auto moving = find(derived.at(*tensor.dtype_of).name);
        if (find(tensor.name) != given.end())
            is_any_given = true;
        else if (moving != given.end())
            missing.emplace_back(tensor.name, moving->second);
    }
    for (const auto& [name, like] : missing) {
        const double value = is_any_given ? 0 : 1;
        tangents.arguments.emplace_back(
            name, like.is_weak() ? Array(value) : Array::full(like.dtype(), like.shape(), value));
    }
    return tangents;
}

}  // namespace ricci::tool
