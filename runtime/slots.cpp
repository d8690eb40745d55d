// runtime/slots.cpp – lifetimes of temporaries, and which array is which buffer
#include "runtime/slots.h"

#include <algorithm>

#include "base/dump.h"
#include "base/error.h"
#include "runtime/overlap.h"

namespace ricci::runtime {

void dump_plan(const BoundProgram& program, const codegen::Plan& plan, std::string_view name) {
    if (is_dumped(Stage::bound)) dump(Stage::bound, name, str(program));
    if (is_dumped(Stage::plan)) dump(Stage::plan, name, str(plan));
    if (is_dumped(Stage::schedule))
        for (const codegen::Schedule& schedule : plan.schedules)
            dump(Stage::schedule, schedule.kernel, str(schedule));
    if (is_dumped(Stage::loops))
        for (const codegen::Nest& nest : plan.nests) dump(Stage::loops, nest.name, str(nest));
}

TensorId storage_root(const BoundProgram& program, TensorId tensor) {
    while (program.at(tensor).previous) tensor = *program.at(tensor).previous;
    return tensor;
}

namespace {

std::int64_t aligned_bytes(const codegen::PlanBuffer& buffer, std::int64_t alignment_bytes) {
    const auto bytes =
        (buffer.elements - buffer.first) * static_cast<std::int64_t>(size_bytes(buffer.dtype));
    return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}
bool is_in(const std::vector<bool>& set, std::size_t buffer) {
    return buffer < set.size() && set[buffer];
}

}  // namespace

ScratchLayout lay_out_scratch(const codegen::Plan& plan, std::int64_t alignment_bytes,
                              const std::vector<bool>& apart) {
    struct Life {
        std::size_t first = 0;
        std::size_t last = 0;
        bool is_used = false;
    };
    std::vector<Life> lives(plan.buffers.size());
    const auto use = [&](std::size_t buffer, std::size_t step) {
        Life& life = lives[buffer];
        life.first = life.is_used ? std::min(life.first, step) : step;
        life.last = life.is_used ? std::max(life.last, step) : step;
        life.is_used = true;
    };
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
        for (const std::size_t b : plan.steps[s].buffers) use(b, s);
    for (const codegen::PlanCheck& check : plan.checks) use(check.buffer, check.after);
    const auto use_throughout = [&](std::size_t first, std::size_t end) {
        for (std::size_t s = first; s < end; ++s) {
            for (const std::size_t b : plan.steps[s].buffers) {
                if (plan.buffers[b].is_of_slice) continue;  // begins anew in each slice
                use(b, first);
                use(b, end - 1);
            }
        }
    };
    for (const codegen::LibraryCall& call : plan.library_calls)
        use_throughout(call.first_step, call.first_step + call.step_count);
    for (const codegen::SliceLoop& loop : plan.slice_loops)
        use_throughout(loop.first_step, loop.last_step);
    ScratchLayout layout{.offsets = std::vector<std::int64_t>(plan.buffers.size(), -1)};
    std::vector<std::size_t> placed;  // in order of their offsets
    const auto bytes_of = [&](std::size_t b) {
        return aligned_bytes(plan.buffers[b], alignment_bytes);
    };
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind != codegen::PlanBuffer::Kind::temporary || is_in(apart, b))
            continue;
        // First fit: the lowest gap between buffers that live at the same time.
        std::int64_t offset = 0;
        for (const std::size_t other : placed) {
            const bool is_apart =
                lives[other].last < lives[b].first || lives[b].last < lives[other].first;
            if (is_apart) continue;
            if (offset + bytes_of(b) <= layout.offsets[other]) break;
            offset = std::max(offset, layout.offsets[other] + bytes_of(other));
        }
        layout.offsets[b] = offset;
        layout.size_bytes = std::max(layout.size_bytes, offset + bytes_of(b));
        const auto by_offset = [&](std::size_t other) { return layout.offsets[other]; };
        placed.insert(std::ranges::upper_bound(placed, offset, {}, by_offset), b);
    }
    return layout;
}

Slots assign_slots(const BoundProgram& program, const codegen::Plan& plan,
                   std::int64_t alignment_bytes, const std::vector<bool>& lasting) {
    Slots slots;
    slots.updated = updated_arguments(program);
    const auto argument_of = [&](TensorId root) {
        const auto at = std::ranges::find(program.arguments, root);
        return at == program.arguments.end() ? -1
                                             : static_cast<int>(at - program.arguments.begin());
    };
    for (const TensorId output : program.outputs)
        slots.output_arguments.push_back(argument_of(storage_root(program, output)));
    std::vector<bool> in_slices;
    std::vector<bool> no_scratch;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        in_slices.push_back(plan.buffers[b].is_of_slice);
        no_scratch.push_back(in_slices[b] || is_in(lasting, b));
    }
    const ScratchLayout layout = lay_out_scratch(plan, alignment_bytes, no_scratch);
    slots.scratch_bytes = layout.size_bytes;
    in_slices.flip();
    const ScratchLayout slice = lay_out_scratch(plan, alignment_bytes, in_slices);
    slots.slice_bytes = slice.size_bytes;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        const codegen::PlanBuffer& buffer = plan.buffers[b];
        if (is_in(lasting, b)) {
            slots.buffers.push_back({Slot::Kind::lasting, slots.lasting_bytes});
            slots.lasting_bytes += aligned_bytes(buffer, alignment_bytes);
            continue;
        }
        if (buffer.kind == codegen::PlanBuffer::Kind::temporary) {
            const std::int64_t before =
                -buffer.first * static_cast<std::int64_t>(size_bytes(buffer.dtype));
            slots.buffers.push_back(buffer.is_of_slice
                                        ? Slot{Slot::Kind::slice, slice.offsets[b] + before}
                                        : Slot{Slot::Kind::scratch, layout.offsets[b] + before});
            continue;
        }
        const TensorId root = storage_root(program, buffer.tensor);
        if (const int argument = argument_of(root); argument >= 0) {
            const bool is_updated =
                std::ranges::find(slots.updated, static_cast<std::size_t>(argument)) !=
                slots.updated.end();
            slots.buffers.push_back(
                {is_updated ? Slot::Kind::updated : Slot::Kind::argument, argument});
            continue;
        }
        const auto output = std::ranges::find(
            program.outputs, root, [&](TensorId id) { return storage_root(program, id); });
        RICCI_ASSERT(output != program.outputs.end(), "a plan buffer is no argument or output");
        slots.buffers.push_back({Slot::Kind::output, output - program.outputs.begin()});
    }
    return slots;
}

}  // namespace ricci::runtime
