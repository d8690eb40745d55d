// codegen/plan_print.cpp – plans as text
#include "base/text.h"
#include "codegen/plan.h"

namespace ricci::codegen {

std::string str(const Plan& plan) {
    std::string text = "buffers\n";
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
        const PlanBuffer& buffer = plan.buffers[i];
        text += format("  {} {} {}: {}[{}]\n", i,
                       buffer.kind == PlanBuffer::Kind::tensor ? "tensor"
                       : buffer.is_of_slice                    ? "of a slice"
                                                               : "temporary",
                       buffer.name, name(buffer.dtype), buffer.elements);
    }
    if (plan.argument_alignment != 0)
        text += format("  arguments begin at multiples of {} bytes\n", plan.argument_alignment);
    text += "steps\n";
    for (const Step& step : plan.steps)
        text += format("  {}({}) tasks {}{}\n", plan.nests.at(step.nest).name,
                       join(step.buffers, ", "), step.tasks, step.is_short ? ", short" : "");
    for (const SliceLoop& loop : plan.slice_loops)
        text += format("  steps {} to {} for each of {} slices\n", loop.first_step,
                       loop.last_step - 1, loop.slices);
    for (const LibraryCall& call : plan.library_calls) text += "  or " + str(call) + "\n";
    for (std::size_t i = 0; i < plan.nests.size(); ++i)
        text += "\n" + str(plan.schedules.at(i)) + str(plan.nests[i]);
    return text;
}

}  // namespace ricci::codegen
