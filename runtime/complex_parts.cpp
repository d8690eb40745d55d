// runtime/complex_parts.cpp – complex arrays for programs that know real ones
#include "runtime/complex_parts.h"

#include <algorithm>
#include <complex>

#include "base/error.h"
#include "runtime/element.h"
#include "runtime/elementwise.h"
#include "runtime/overlap.h"
#include "runtime/slots.h"

namespace ricci::runtime {
namespace {

/// The real parts of a complex array, or the imaginary ones, in its memory.
Array part(const Array& array, bool is_imaginary) {
    const DType real = component(array.dtype());
    // Kernels do not write it.
    auto* begin = static_cast<std::byte*>(const_cast<void*>(array.data()));
    Strides strides = array.strides();
    for (std::int64_t& stride : strides) stride *= 2;
    if (array.size() == 0) return Array(real, array.shape());
    return Array::view(begin + (is_imaginary ? size_bytes(real) : 0), real, array.shape(),
                       std::move(strides));
}

}  // namespace

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
        for (const bool is_imaginary : {false, true}) {
            Array each = part(*arguments[n], is_imaginary);
            parts.push_back(arguments_[n].is_updated ? each.copy() : std::move(each));
        }
    }
    return parts;
}

std::vector<Array> ComplexParts::join(std::span<const Array* const> arguments,
                                      std::span<const Array> outputs) const {
    std::vector<Array> whole;
    std::size_t next = 0;
    for (const Output& output : outputs_) {
        if (!output.is_complex) {
            whole.push_back(outputs[next++]);
            continue;
        }
        Array value = joined(outputs[next], outputs[next + 1]);
        next += 2;
        if (output.argument && !arguments.empty()) {
            assign(*arguments[*output.argument], value);
            value = *arguments[*output.argument];
        }
        whole.push_back(std::move(value));
    }
    return whole;
}

Array joined(const Array& re, const Array& im) {
    const bool is_double = re.dtype() == DType::f64;
    Array array(is_double ? DType::c128 : DType::c64, re.shape());
    const auto fill = [&]<class T>(T) {
        const Array real = re.contiguous();
        const Array imaginary = im.contiguous();
        const auto x = real.span<const T>();
        const auto y = imaginary.span<const T>();
        const auto z = array.span<std::complex<T>>();
        for (std::size_t i = 0; i < z.size(); ++i) z[i] = {x[i], y[i]};
    };
    if (is_double)
        fill(double{});
    else
        fill(float{});
    return array;
}

}  // namespace ricci::runtime
