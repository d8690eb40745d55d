// tests/codegen_cuda/random_programs_test.cpp – kernels of random programs, compiled for two GPUs
#include <cstdlib>
#include <iterator>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_cuda/nvrtc_check.h"
#include "tests/property/sample.h"

namespace ricci::tests {
namespace {

/// 100 with RICCI_TEST_FULL, else 12: a kernel takes NVRTC some 50 ms.
std::size_t count() { return std::getenv("RICCI_TEST_FULL") != nullptr ? 100 : 12; }

/// Nests of many plans, compiled together.
class Sample {
  public:
    void add(const Program& program, const Signature& signature) {
        const BoundProgram bound = ricci::bind(program, signature);
        for (const int capability : {80, 90}) {
            codegen::Plan plan = codegen::plan(bound, gpu_target(capability));
            auto& nests = capability == 80 ? older_ : newer_;
            std::move(plan.nests.begin(), plan.nests.end(), std::back_inserter(nests));
        }
        if (newer_.size() >= batch) compile();
    }
    void compile() {
        check_compiles(older_, 80);
        check_compiles(newer_, 90);
        kernels_ += older_.size() + newer_.size();
        older_.clear();
        newer_.clear();
    }
    [[nodiscard]] std::size_t kernels() const { return kernels_; }

  private:
    static constexpr std::size_t batch = 100;
    std::vector<codegen::Nest> older_;
    std::vector<codegen::Nest> newer_;
    std::size_t kernels_ = 0;
};

TEST_CASE("kernels of random programs and their gradients compile without spills") {
    if (!has_nvrtc()) return;
    Sample sample;
    for_each_program(count(), [&](const RandomProgram& random, const Program& program) {
        sample.add(program, random.signature);
    });
    for_each_gradient(count(), [&](const RandomProgram&, const RandomDerivative& gradient) {
        sample.add(gradient.program, gradient.signature);
    });
    sample.compile();
    MESSAGE(format("{} kernels", sample.kernels()));
}

}  // namespace
}  // namespace ricci::tests
