// codegen/plan_builder.h – a plan being made: where strategies put their kernels and buffers
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/target.h"
#include "codegen/kernel.h"
#include "codegen/passes.h"
#include "codegen/plan.h"

namespace ricci::codegen {

/// A kernel whose nest has its body, and how that came about.
struct LoweredKernel {
    Kernel kernel;
    Schedule schedule;
};

class PlanBuilder {
  public:
    PlanBuilder(const Target& target, const DumpHook& dump, Tunings tunings = {})
        : target_(target), dump_(dump), tunings_(std::move(tunings)) {
        if (target.is_gpu()) plan_.argument_alignment = target.gpu.argument_alignment;
    }

    [[nodiscard]] const Target& target() const noexcept { return target_; }
    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
    /// Empty unless tuning was asked for.
    [[nodiscard]] const Tunings& tunings() const noexcept { return tunings_; }

    std::size_t add_buffer(PlanBuffer buffer);
    std::size_t temporary(std::string name, DType dtype, std::int64_t elements,
                          bool is_of_slice = false);
    /// A kernel whose nest has its body: runs the passes on it and makes it the next step. A nest
    /// without tasks makes no step.
    void add_step(Kernel kernel, Schedule schedule);

    /// What is added from now until `release` is held back, and given to the caller.
    void hold();
    [[nodiscard]] std::vector<LoweredKernel> release();

    /// Steps of kernels with slices from now until `end_slices` are run slice by slice, after those
    /// of kernels without.
    void begin_slices(std::int64_t slices);
    void end_slices();

    /// The tasks of steps from now until `end_condition` do nothing unless the count that an
    /// earlier step wrote, of numbers that are not finite, is 0, or unless it is not.
    void begin_condition(std::size_t count, bool is_zero);
    void end_condition();
    [[nodiscard]] bool is_conditional() const noexcept { return condition_.has_value(); }

    /// The steps from now until `end_choice` are those of a kernel with several candidates.
    void begin_choice(Choice choice);
    void end_choice();

    /// The verdict of a check of the program is in the buffer after the steps so far.
    void add_check(std::size_t check, std::size_t buffer);

    /// The steps from `first` on can be left to a library.
    void add_library_call(LibraryCall call, std::size_t first);

    [[nodiscard]] Plan finish() && { return std::move(plan_); }

  private:
    const Target& target_;
    const DumpHook& dump_;
    Tunings tunings_;
    Plan plan_;
    std::optional<std::vector<LoweredKernel>> held_;
    struct Condition {
        std::size_t count = 0;
        bool is_zero = false;
    };
    std::optional<Condition> condition_;
    std::int64_t slices_ = 0;        ///< of the loop being made
    std::vector<Step> slice_steps_;  ///< of the loop being made
};

}  // namespace ricci::codegen
