// tests/cuda/random_test.cpp – random programs as functions on an emulated GPU, run again and again
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/elementwise.h"
#include "runtime/function.h"
#include "tests/cuda/emulated_gpu.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

/// Each run has its own copies, since statements may update them: on the host, on the GPU, or as
/// the middle of a larger array, where kernels do not find them aligned.
Array own_copy(const Array& array, int run) {
    if (array.is_weak() || run == 0) return array.copy();
    if (run == 1 || array.rank() == 0) return array.to(Device::cuda).copy();
    Shape shape = array.shape();
    shape[0] += 1;
    const Array middle = Array::zeros(array.dtype(), shape).slice(0, 1, shape[0]);
    runtime::assign(middle, array);
    return middle;
}

TEST_CASE("random programs give the reference's results wherever their arguments are") {
    EmulatedGpu emulated(deferred(13));
    Comparison total;
    // Kernels of each are compiled by the C++ compiler: a few programs, the emulation's own tests
    // take hundreds.
    for_each_program(25, [&](const RandomProgram& random, const Program& program) {
        CAPTURE(str(random));
        std::vector<std::string> outputs;
        for (const TensorId id : program.outputs) outputs.push_back(program.at(id).name);
        const BoundProgram bound = ricci::bind(program, random.signature, outputs);
        const std::vector<Array> values = random_arguments(bound, random.signature, random.seed);
        const auto estimates = runtime::evaluate_with_bounds(bound, values);
        const Function function(program, "random", Device::cuda);
        for (int run = 0; run < 4; ++run) {
            CAPTURE(run);
            Arguments arguments;
            for (std::size_t n = 0; n < values.size(); ++n)
                arguments.emplace_back(bound.at(bound.arguments[n]).name,
                                       own_copy(values[n], run % 3));
            const std::vector<Array> found = function.call(arguments, outputs);
            for (std::size_t n = 0; n < outputs.size(); ++n) {
                const Comparison comparison = compare(found[n], estimates[n]);
                CHECK_MESSAGE(comparison.holds(), comparison.failure);
                total += comparison;
            }
        }
        CHECK(emulated.device.fault() == "");
    });
    CHECK(total.compared > 100 * (total.skipped + 1) / 10);
}

}  // namespace
}  // namespace ricci::tests
