// runtime/executor.h – plans with loaded kernels: bound programs that can be run
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/target.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"
#include "runtime/kernel_cache.h"
#include "runtime/parallel.h"
#include "runtime/slots.h"

namespace ricci::runtime {

/// The machine that programs of this process are compiled for, with what `precision()` allows.
[[nodiscard]] const Target& target();

/// A compiled bound program. Immutable: it may be run by several threads at once.
class Executable {
  public:
    /// Plans, compiles (or finds in the kernel cache) and loads. `name` is for dumps and logs.
    /// With `tunings`, kernels are those that were measured to be fastest.
    Executable(BoundProgram program, std::string_view name, const Target& target,
               const codegen::Tunings& tunings = {});

    /// Runs on arguments in the order of the bound program, which must have its types, shapes and
    /// strides; gives its outputs. Arguments that the program updates are changed in place. Memory
    /// is all taken before the first kernel starts and kernels cannot fail, so that an error leaves
    /// the arguments as they were.
    /// Throws: `range` when an updated argument overlaps another one, `device` for lack of memory.
    [[nodiscard]] std::vector<Array> run(std::span<const Array* const> arguments) const;

    /// Seconds of each step of the plan in one run, which leaves all arguments as they were.
    [[nodiscard]] std::vector<double> step_seconds(std::span<const Array* const> arguments) const;

    [[nodiscard]] const BoundProgram& program() const noexcept { return program_; }
    [[nodiscard]] const codegen::Plan& plan() const noexcept { return plan_; }
    [[nodiscard]] CacheOutcome outcome() const noexcept { return outcome_; }

  private:
    /// A kernel launch with everything looked up.
    struct Launch {
        TaskFunction function;
        std::int64_t tasks;
        Waking waking;
        std::size_t first_buffer;  ///< in `launch_buffers_`
        std::size_t buffer_count;
    };

    /// A check of the program, after one of the launches.
    struct Check {
        std::size_t number;  ///< in the program
        std::size_t buffer;  ///< of the verdict
        std::size_t after;   ///< launch
    };

    /// Launches that are run slice by slice: [first, last).
    struct SliceLoop {
        std::size_t first;
        std::size_t last;
        std::int64_t slices;
    };

    void prepare_launches();
    void prepare_checks();
    /// New arrays, and the arguments that are outputs too.
    [[nodiscard]] std::vector<Array> make_outputs(std::span<const Array* const> arguments) const;
    /// `originals` are the arguments as they were given: what an error is about. `seconds` gets
    /// the time of each launch, if it is not empty.
    [[nodiscard]] std::vector<Array> run_kernels(std::span<const Array* const> arguments,
                                                 std::span<const Array* const> originals,
                                                 std::span<double> seconds = {}) const;

    BoundProgram program_;
    codegen::Plan plan_;
    KernelCache<codegen::cpu::Module>::ModulePtr module_;
    CacheOutcome outcome_ = CacheOutcome::compiled;
    Slots slots_;
    std::vector<LayoutPtr> output_layouts_;
    std::vector<Launch> launches_;
    std::vector<SliceLoop> slice_loops_;       ///< in the order of launches
    std::vector<std::size_t> launch_buffers_;  ///< positions in the slots' buffers
    std::vector<Check> checks_;                ///< in the order of launches
    bool is_staged_ = false;                   ///< checks come after writes of arguments
};

}  // namespace ricci::runtime
