// runtime/cuda/executor.h – plans with kernels loaded on a GPU
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/lasting_steps.h"
#include "runtime/slots.h"

namespace ricci::cuda {

/// A bound program compiled for the GPU of this process. It may be run by several threads at once.
class Executable {
  public:
    /// Plans, compiles (or finds in the kernel cache) and loads; what libraries are to do is
    /// prepared. `name` is for dumps and logs.
    /// Throws: `device` where there is no GPU, where NVRTC is missing, and with
    /// RICCI_CUDA_LIBRARIES=library when a library cannot do what it should.
    Executable(BoundProgram program, std::string_view name);
    ~Executable();
    Executable(const Executable&) = delete;
    Executable& operator=(const Executable&) = delete;

    /// Starts a run on arguments in the order of the bound program, which must have its types,
    /// shapes and strides; gives its outputs, which are on the GPU once the work is done. Data that
    /// is not on the GPU is brought there. Arguments that the program updates are changed in place.
    /// Memory is all taken first, data that the program relies on is checked before anything is
    /// written, and what changes an argument is started whole or not at all, so that an error
    /// leaves the arguments as they were. Throws: `range` when an updated argument overlaps another
    /// one or data lies outside of what it is used for, `device`.
    [[nodiscard]] std::vector<Array> run(std::span<const Array* const> arguments) const;

    [[nodiscard]] const BoundProgram& program() const noexcept { return program_; }
    [[nodiscard]] const codegen::Plan& plan() const noexcept { return plan_; }
    [[nodiscard]] runtime::CacheOutcome outcome() const noexcept { return outcome_; }
    [[nodiscard]] bool is_lost() const noexcept { return gpu_->is_closed(); }
    /// Kernels and library calls of a run.
    [[nodiscard]] std::size_t launch_count() const noexcept { return launches_.size(); }

  private:
    /// A kernel, or a library call that stands for several.
    struct Launch {
        FunctionHandle function = nullptr;
        const PreparedCall* call = nullptr;  ///< instead of a function
        std::size_t symbol = 0;              ///< in the module, for messages
        unsigned blocks = 0;
        unsigned threads = 0;
        unsigned shared_bytes = 0;
        std::vector<std::size_t> buffers;  ///< of the plan, in order of the parameters
        bool is_updating = false;          ///< writes an argument
        bool is_lasting = false;           ///< see LastingSteps
    };
    /// A check of the program: the verdict is there after one of the launches.
    struct Check {
        std::size_t number;  ///< in the program
        std::size_t buffer;  ///< of the plan
        std::size_t after;   ///< launch
        bool is_lasting;     ///< the launch is
    };
    /// What the lasting launches gave, and of which data.
    struct Lasting {
        /// Of each argument that they read: the version of its memory, and where it begins there.
        std::vector<std::pair<std::uint64_t, std::ptrdiff_t>> arguments;
        BlockPtr block;
    };
    class Run;

    void prepare_calls();
    void load();
    /// Library calls in the place of their steps, kernels for the others. `nests` are those that
    /// must be compiled.
    void order_launches(std::vector<std::size_t>& nests);
    void add_kernel(std::size_t step, std::vector<std::size_t>& nests);
    [[nodiscard]] bool is_updating(const codegen::Step& step) const;
    void find_lasting_steps();
    [[nodiscard]] std::shared_ptr<const Lasting> lasting() const;
    void remember(std::shared_ptr<const Lasting> lasting) const;
    /// `originals` are the arguments as they were given: what an error is about.
    [[nodiscard]] std::vector<Array> run_kernels(std::span<const Array* const> arguments,
                                                 std::span<const Array* const> originals) const;

    std::shared_ptr<Gpu> gpu_;
    BoundProgram program_;
    codegen::Plan plan_;
    runtime::Slots slots_;
    runtime::LastingSteps lasting_steps_;
    std::vector<std::unique_ptr<PreparedCall>> calls_;  ///< by library call of the plan, or null
    std::size_t workspace_bytes_ = 0;                   ///< that the calls share
    runtime::KernelCache<Module>::ModulePtr module_;
    runtime::CacheOutcome outcome_ = runtime::CacheOutcome::compiled;
    std::vector<Launch> launches_;
    std::vector<Check> checks_;  ///< in the order of launches
    bool is_staged_ = false;     ///< checks come after writes of arguments
    std::unique_ptr<GraphCache> graphs_;
    mutable std::mutex lasting_mutex_;
    mutable std::shared_ptr<const Lasting> lasting_;  ///< of the last run that had to make it
};

}  // namespace ricci::cuda
