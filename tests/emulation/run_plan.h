// tests/emulation/run_plan.h – plans for a GPU, executed without one and compared with the
// reference
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/target.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"
#include "tests/emulation/launch.h"
#include "tests/emulation/module.h"

namespace ricci::tests {

[[nodiscard]] bool has_atomic_stores(const codegen::Plan& plan);

/// A GPU that plans are made for. With few multiprocessors a small array keeps all of them busy, as
/// a large one does on a real one.
[[nodiscard]] Target emulated_target(int multiprocessors = 132);

/// The orders that every plan is tried in: ascending, and at random with asynchronous copies that
/// arrive at once or late.
[[nodiscard]] const std::vector<emulation::Manner>& manners();

/// A bound program, its plan, and the compiled kernels of the plan.
struct EmulatedPlan {
    const BoundProgram* program = nullptr;
    const codegen::Plan* plan = nullptr;
    std::shared_ptr<const emulation::Module> module;
    std::size_t first = 0;  ///< the number of the plan's first kernel in the module
};

/// Runs the plan on arguments in the order of the bound program; gives its outputs. Arguments that
/// are updated are changed in place. Memory is where the seed puts it, as aligned as the target
/// demands. Throws: `device` for what a kernel does wrong, and for one that writes between the
/// elements of a view.
[[nodiscard]] std::vector<Array> run_emulated(const EmulatedPlan& plan,
                                              const std::vector<Array>& arguments,
                                              const emulation::Manner& manner);

/// Many programs of which the kernels are compiled together: that takes a fraction of the time.
class EmulatedBatch {
  public:
    /// What is said of the program when it fails begins with the label.
    void add(std::string label, BoundProgram program, Signature signature, codegen::Plan plan,
             std::uint64_t seed = 7);
    /// The text planned for a GPU of that many multiprocessors.
    void add(const std::string& text, const Signature& signature, int multiprocessors = 132);

    /// Runs all of them in all manners and forgets them: what is wrong with each, empty where all
    /// is well. Wrong is what leaves the reference's bound, has other bits in another order (but
    /// for atomic sums), or does what a kernel must not.
    [[nodiscard]] std::vector<std::string> outcomes();
    /// Labels and plans of those where something is wrong, with what it is.
    [[nodiscard]] std::string difference();

    [[nodiscard]] std::size_t size() const noexcept { return cases_.size(); }
    [[nodiscard]] std::size_t kernels() const noexcept { return kernels_; }

  private:
    struct Case {
        std::string label;
        BoundProgram program;
        Signature signature;
        codegen::Plan plan;
        std::uint64_t seed;
    };
    [[nodiscard]] static std::string outcome(const Case& each, const EmulatedPlan& plan);

    std::vector<std::shared_ptr<const Case>> cases_;
    std::size_t kernels_ = 0;
};

/// Compiles the kernels of plans into one module. Throws: `device` with the compiler's log.
[[nodiscard]] std::shared_ptr<const emulation::Module> compile_plans(
    const std::vector<const codegen::Plan*>& plans);

}  // namespace ricci::tests
