// runtime/complex_parts.cpp – complex arrays for programs that know real ones
#include "runtime/complex_parts.h"

#include <algorithm>

#include "runtime/elementwise.h"
#include "runtime/overlap.h"
#include "runtime/slots.h"

namespace ricci::runtime {
ComplexParts::ComplexParts(const BoundProgram& whole, const SplitProgram& split) {
    const std::vector<std::size_t> updated = updated_arguments(whole);
    for (std::size_t n = 0; n < whole.arguments.size(); ++n)
        arguments_.push_back(
            {split.is_complex_argument[n], std::ranges::find(updated, n) != updated.end()});
    for (std::size_t n = 0; n < whole.outputs.size(); ++n) {
        Output output{split.is_complex_output[n], {}};
        const TensorId root = storage_root(whole, whole.outputs[n]);
        const auto found = std::ranges::find(whole.arguments, root);
        if (found != whole.arguments.end())
            output.argument = static_cast<std::size_t>(found - whole.arguments.begin());
        outputs_.push_back(output);
    }
}

std::vector<Array> ComplexParts::split(std::span<const Array* const> arguments) const {
    std::vector<Array> parts;
    for (std::size_t n = 0; n < arguments.size(); ++n) {
        if (!arguments_[n].is_complex) {
            parts.push_back(*arguments[n]);
            continue;
        }
        for (Array part : {arguments[n]->real(), arguments[n]->imag()})
            parts.push_back(arguments_[n].is_updated ? part.copy() : std::move(part));
    }
    return parts;
}

std::vector<Array> ComplexParts::join(std::span<const Array* const> arguments,
                                      std::span<const Array> outputs) const {
    std::vector<Array> whole;
    for (std::size_t n = 0; n < outputs_.size(); ++n) {
        const Output& output = outputs_[n];
        Array value = output.is_complex ? outputs[n].view_as_complex() : outputs[n];
        if (output.is_complex && output.argument && !arguments.empty()) {
            assign(*arguments[*output.argument], value);
            value = *arguments[*output.argument];
        }
        whole.push_back(std::move(value));
    }
    return whole;
}

}  // namespace ricci::runtime
