// grad/gradient.cpp – the gradient of one argument
#include "grad/gradient.h"

#include "dsl/canonical.h"
#include "grad/joint.h"

namespace ricci::grad {

Program gradient(const Program& forward, const std::string& argument, const Options& options) {
    Program result =
        without_unused(differentiate(canonicalise(forward), {argument}, options).program);
    result.for_ranks = nullptr;
    if (forward.for_ranks)
        result.for_ranks = [again = forward.for_ranks, argument, options,
                            outputs = outputs_of_cotangents(forward, result)](const Ranks& ranks) {
            return gradient(again(with_outputs(ranks, outputs)), argument, options);
        };
    return result;
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

Ranks with_outputs(Ranks ranks, const std::map<std::string, std::string>& outputs) {
    for (const auto& [cotangent, output] : outputs)
        if (const auto known = ranks.find(cotangent); known != ranks.end())
            ranks.emplace(output, known->second);
    return ranks;
}

}  // namespace ricci::grad
