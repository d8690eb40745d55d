// codegen/plan.h – what a bound program becomes: kernels, their order, and the memory they need
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/target.h"
#include "codegen/library.h"
#include "codegen/nest.h"
#include "codegen/passes.h"
#include "codegen/schedule.h"
#include "codegen/tuning.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// A piece of memory of a plan.
struct PlanBuffer {
    enum class Kind : std::uint8_t {
        tensor,     ///< an argument or an output of the bound program
        temporary,  ///< an intermediate tensor, a packed operand, partial results
    };
    Kind kind = Kind::temporary;
    TensorId tensor{};  ///< kind tensor: the first of its versions, whose memory all continue
    std::string name;
    DType dtype = DType::f32;
    std::int64_t elements = 0;  ///< up to the last one addressed
    std::int64_t first = 0;     ///< the first one addressed: below 0 where a stride is
    std::vector<ZeroWindow> zero_windows = {};  ///< as those of its tensor
    std::optional<std::size_t> beside = {};  ///< the buffer in whose lines the elements stand
    /// A temporary that holds one slice at a time: every thread that runs slices has one.
    bool is_of_slice = false;
};

/// One kernel launch: tasks [0, tasks) of `nest`, with plan buffers for its argument buffers.
struct Step {
    std::size_t nest = 0;
    std::vector<std::size_t> buffers;
    std::int64_t tasks = 0;  ///< on a GPU: blocks
    bool is_short = false;   ///< CPU: not worth waking a thread for
};

/// The steps [first_step, last_step) are run in order for one slice after the other, and for
/// several slices at once where buffers of slices are several. A step has equally many tasks in
/// each slice: those of slice 0 come first.
struct SliceLoop {
    std::size_t first_step = 0;
    std::size_t last_step = 0;
    std::int64_t slices = 1;
};

/// After step `after` the i64 in `buffer` must not be negative: otherwise the check of that number
/// in the bound program fails, and no later step may run.
struct PlanCheck {
    std::size_t check = 0;
    std::size_t buffer = 0;
    std::size_t after = 0;
};

/// Pure data: no pointers, no device. Equal bound programs and targets give equal plans.
struct Plan {
    std::vector<PlanBuffer> buffers;
    std::vector<Nest> nests;                 ///< finished: scheduled, passes run, verified
    std::vector<Schedule> schedules;         ///< one for each nest: how it came about
    std::vector<Step> steps;                 ///< in order
    std::vector<SliceLoop> slice_loops;      ///< in order, apart from each other
    std::vector<PlanCheck> checks;           ///< in order
    std::vector<LibraryCall> library_calls;  ///< what stands for some of the steps, in order
    std::int64_t argument_alignment = 0;     ///< bytes of every argument; 0: of its elements
    std::vector<Choice> choices;             ///< where tunings are asked for, in order of steps
};

/// Groups equations into kernels and lowers each by the strategy that fits it. `dump` gets every
/// nest after every pass. Makes new terms in the program's context. With `tunings`, kernels for a
/// CPU run as was measured to be fastest, without them as costs less by estimate. Throws: `type`
/// for element types that are not supported yet.
[[nodiscard]] Plan plan(const BoundProgram& program, const Target& target,
                        const DumpHook& dump = {}, const Tunings& tunings = {});

[[nodiscard]] std::string str(const Plan& plan);

}  // namespace ricci::codegen
