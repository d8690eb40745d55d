// runtime/lasting_steps.cpp – steps of a plan whose results last as long as integer arguments do
#include "runtime/lasting_steps.h"

#include <algorithm>

#include "runtime/overlap.h"
#include "runtime/slots.h"

namespace ricci::runtime {

namespace {

class Finder {
  public:
    Finder(const BoundProgram& program, const codegen::Plan& plan)
        : program_(program), plan_(plan), updated_(updated_arguments(program)) {}

    LastingSteps run() {
        result_.steps.assign(plan_.steps.size(), true);
        for (const codegen::LibraryCall& call : plan_.library_calls)
            for (std::size_t s = call.first_step; s < call.first_step + call.step_count; ++s)
                result_.steps[s] = false;
        // What one step does not decide no reader does: until nothing changes.
        while (drop()) {
        }
        note_results();
        return std::move(result_);
    }

  private:
    /// The argument whose memory a buffer is, or -1.
    [[nodiscard]] std::ptrdiff_t argument_of(std::size_t buffer) const {
        if (plan_.buffers[buffer].kind != codegen::PlanBuffer::Kind::tensor) return -1;
        const auto& arguments = program_.arguments;
        const TensorId root = storage_root(program_, plan_.buffers[buffer].tensor);
        const auto found = std::ranges::find(arguments, root);
        return found == arguments.end() ? -1 : found - arguments.begin();
    }
    [[nodiscard]] bool is_temporary(std::size_t buffer) const {
        return plan_.buffers[buffer].kind == codegen::PlanBuffer::Kind::temporary;
    }
    [[nodiscard]] bool is_lasting_argument(std::size_t buffer) const {
        const DType dtype = plan_.buffers[buffer].dtype;
        const std::ptrdiff_t argument = argument_of(buffer);
        return argument >= 0 && (is_integer(dtype) || dtype == DType::boolean) &&
               std::ranges::find(updated_, std::size_t(argument)) == updated_.end();
    }
    /// Whether every step that writes the temporary lasts.
    [[nodiscard]] bool is_lasting_temporary(std::size_t buffer) const {
        if (!is_temporary(buffer)) return false;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            if (!result_.steps[s] && writes(s, buffer)) return false;
        return true;
    }

    /// Calls `visit(buffer, is_written)`.
    template <class Visit>
    void for_each_buffer(std::size_t step, const Visit& visit) const {
        const codegen::Step& each = plan_.steps[step];
        std::size_t argument = 0;
        for (const codegen::Buffer& buffer : plan_.nests[each.nest].buffers)
            if (buffer.space == codegen::Space::argument)
                visit(each.buffers[argument++], buffer.is_written);
    }
    [[nodiscard]] bool writes(std::size_t step, std::size_t buffer) const {
        bool found = false;
        for_each_buffer(step, [&](std::size_t each, bool is_written) {
            found |= is_written && each == buffer;
        });
        return found;
    }

    bool drop() {
        bool changes = false;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            if (!result_.steps[s]) continue;
            bool lasts = true;
            for_each_buffer(s, [&](std::size_t buffer, bool is_written) {
                lasts &=
                    is_lasting_temporary(buffer) || (!is_written && is_lasting_argument(buffer));
            });
            result_.steps[s] = lasts;
            changes |= !lasts;
        }
        return changes;
    }

    void note_results() {
        std::vector<bool> written(plan_.buffers.size(), false);
        std::vector<bool> read(plan_.buffers.size(), false);
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            for_each_buffer(s, [&](std::size_t buffer, bool is_written) {
                const std::ptrdiff_t argument = argument_of(buffer);
                if (!result_.steps[s]) {
                    read[buffer] = true;
                } else if (is_written) {
                    written[buffer] = true;
                } else if (argument >= 0) {
                    result_.arguments.push_back(std::size_t(argument));
                }
            });
        std::ranges::sort(result_.arguments);
        const auto repeated = std::ranges::unique(result_.arguments);
        result_.arguments.erase(repeated.begin(), repeated.end());
        for (std::size_t b = 0; b < written.size(); ++b)
            result_.buffers.push_back(written[b] && read[b]);
    }

    const BoundProgram& program_;
    const codegen::Plan& plan_;
    std::vector<std::size_t> updated_;
    LastingSteps result_;
};

}  // namespace

LastingSteps lasting_steps(const BoundProgram& program, const codegen::Plan& plan) {
    return Finder(program, plan).run();
}

}  // namespace ricci::runtime
