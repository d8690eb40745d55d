// runtime/slots.h – what stands behind the buffers of a plan
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"

namespace ricci::runtime {

/// Where the temporaries of a plan stand in one block of memory.
struct ScratchLayout {
    std::vector<std::int64_t> offsets;  ///< bytes, one for each buffer; -1 for tensors
    std::int64_t size_bytes = 0;
};
/// Temporaries that are never alive at the same step, within the steps that one library call
/// stands for, or within a loop over slices, may share memory. Offsets are multiples of
/// `alignment_bytes`. What is `apart`, by buffer, has no place there.
[[nodiscard]] ScratchLayout lay_out_scratch(const codegen::Plan& plan,
                                            std::int64_t alignment_bytes = 64,
                                            const std::vector<bool>& apart = {});

/// The memory of one buffer.
struct Slot {
    enum class Kind : std::uint8_t {
        argument,
        updated,
        output,
        scratch,
        slice,  ///< scratch of each thread that runs slices
        lasting,
    };
    Kind kind;
    std::int64_t at;  ///< number of the argument or output, or offset in bytes
};

/// The memory of all buffers.
struct Slots {
    std::vector<Slot> buffers;          ///< one for each of the plan
    std::vector<int> output_arguments;  ///< for each output: the argument it updates, or -1
    std::vector<std::size_t> updated;   ///< positions of the arguments that are updated
    std::int64_t scratch_bytes = 0;
    std::int64_t slice_bytes = 0;  ///< of one thread
    std::int64_t lasting_bytes = 0;
};
/// `lasting`, by buffer: temporaries with memory of their own.
[[nodiscard]] Slots assign_slots(const BoundProgram& program, const codegen::Plan& plan,
                                 std::int64_t alignment_bytes = 64,
                                 const std::vector<bool>& lasting = {});

/// Shows the stages of a plan that are dumped (base/dump.h).
void dump_plan(const BoundProgram& program, const codegen::Plan& plan, std::string_view name);

/// The version whose storage a tensor continues: an argument, or the first version made.
[[nodiscard]] TensorId storage_root(const BoundProgram& program, TensorId tensor);

}  // namespace ricci::runtime
