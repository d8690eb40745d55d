// tests/cuda_property/emulated_test.cpp – plans of random programs and gradients for a GPU, run by
// the emulation, against the reference
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/keyed.h"
#include "codegen/plan.h"
#include "dsl/split_complex.h"
#include "tests/emulation/run_plan.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

/// RICCI_TEST_PROGRAMS, else 500 with RICCI_TEST_FULL, else 60.
std::size_t count() {
    if (std::getenv("RICCI_TEST_PROGRAMS") != nullptr) return program_count();
    return std::getenv("RICCI_TEST_FULL") != nullptr ? 500 : 60;
}

/// Programs whose kernels are compiled together: enough of them that starting the compiler does not
/// count, few enough that their memory does not either.
constexpr std::size_t batch_kernels = 150;

class Sample {
  public:
    void add(std::string label, const Program& program, const Signature& signature,
             std::uint64_t seed) {
        std::vector<std::string> outputs;
        for (TensorId id : program.outputs) outputs.push_back(program.at(id).name);
        BoundProgram bound = ricci::bind(program, signature, outputs);
        if (has_complex(bound)) return;  // kernels are of the program in real parts
        // Every other one as if the device were small: arrays of a test then keep it busy.
        Target target = emulated_target(seed % 2 == 0 ? 132 : 1);
        target.gpu.has_fast_gathers = seed % 3 == 1;
        // Arrays of a test are too small for an inverse index, or atomic stores, to be cheapest.
        const auto keyed = [&](codegen::KeyedWay way) {
            return codegen::with_keyed_updates(bound, target, way);
        };
        codegen::Plan plan = codegen::plan(seed % 3 == 0   ? keyed(codegen::KeyedWay::inverse_index)
                                           : seed % 3 == 1 ? keyed(codegen::KeyedWay::at_once)
                                                           : bound,
                                           target);
        atomic_ += has_atomic_stores(plan) ? 1 : 0;
        kernels_ += plan.nests.size();
        ++programs_;
        batch_.add(std::move(label), std::move(bound), signature, std::move(plan), seed);
        if (batch_.kernels() >= batch_kernels) run();
    }
    void run() {
        const std::string difference = batch_.difference();
        if (!difference.empty()) FAIL_CHECK(difference);
    }
    [[nodiscard]] std::string summary() const {
        return format("{} programs ({} with atomic stores), {} kernels, each in 3 orders",
                      programs_, atomic_, kernels_);
    }

  private:
    EmulatedBatch batch_;
    std::size_t programs_ = 0;
    std::size_t atomic_ = 0;
    std::size_t kernels_ = 0;
};

void check_programs(const RandomForms& forms, std::size_t programs = count()) {
    Sample sample;
    const auto add = [&](const RandomProgram& random, const Program& program) {
        sample.add(str(random), program, random.signature, random.seed);
    };
    for_each_program(programs, add, forms);
    sample.run();
    MESSAGE(sample.summary());
}

void check_gradients(const RandomForms& forms) {
    Sample sample;
    const auto add = [&](const RandomProgram& random, const RandomDerivative& gradient) {
        sample.add(
            format("{}gradient of {}:\n{}", str(random), gradient.argument, str(gradient.program)),
            gradient.program, gradient.signature, random.seed);
    };
    for_each_gradient(count(), add, forms);
    sample.run();
    MESSAGE(sample.summary());
}

}  // namespace

TEST_CASE("programs on an emulated GPU agree with the reference in any order of threads") {
    check_programs({});
}

TEST_CASE("gathered and modified subscripts on an emulated GPU agree with the reference") {
    check_programs({.subscripts = true});
}

TEST_CASE("programs of every form and type on an emulated GPU agree with the reference") {
    const RandomForms forms{.subscripts = true, .all_types = true, .language = true};
    check_programs(forms, count() < 100 ? count() / 2 : count());
}

TEST_CASE("gradients on an emulated GPU agree with the reference in any order of threads") {
    check_gradients({});
}

TEST_CASE("gradients through gathered and modified subscripts agree on an emulated GPU") {
    check_gradients({.subscripts = true});
}

}  // namespace ricci::tests
