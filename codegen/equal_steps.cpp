// codegen/equal_steps.cpp – steps that make what an earlier one has made
#include "codegen/equal_steps.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "codegen/equal_nests.h"

namespace ricci::codegen {

namespace {

class EqualSteps {
  public:
    explicit EqualSteps(Plan& plan)
        : plan_(plan), writers_(plan.buffers.size()), stands_for_(plan.buffers.size()) {
        std::iota(stands_for_.begin(), stands_for_.end(), std::size_t{0});
        for (std::size_t s = 0; s < plan.steps.size(); ++s)
            for_each_buffer(s, [&](std::size_t buffer, bool is_written) {
                if (is_written) writers_[buffer].push_back(s);
            });
        is_outside_loops_.assign(plan.steps.size(), true);
        for (const SliceLoop& loop : plan.slice_loops)
            std::fill(is_outside_loops_.begin() + std::ptrdiff_t(loop.first_step),
                      is_outside_loops_.begin() + std::ptrdiff_t(loop.last_step), false);
    }

    void run() {
        std::vector<bool> is_kept(plan_.steps.size(), true);
        for (std::size_t later = 0; later < plan_.steps.size(); ++later) {
            for (std::size_t& buffer : plan_.steps[later].buffers) buffer = stands_for_[buffer];
            for (std::size_t earlier = 0; earlier < later && is_kept[later]; ++earlier) {
                if (!is_kept[earlier] || !makes_the_same(earlier, later)) continue;
                is_kept[later] = false;
                const auto& from = plan_.steps[later].buffers;
                for (std::size_t b = 0; b < from.size(); ++b)
                    stands_for_[from[b]] = plan_.steps[earlier].buffers[b];
            }
        }
        if (std::ranges::find(is_kept, false) != is_kept.end()) keep(is_kept);
    }

  private:
    [[nodiscard]] const Nest& nest_of(std::size_t step) const {
        return plan_.nests[plan_.steps[step].nest];
    }

    template <class Visit>
    void for_each_buffer(std::size_t step, const Visit& visit) const {
        const std::vector<std::size_t>& buffers = plan_.steps[step].buffers;
        for (std::size_t b = 0; b < buffers.size(); ++b)
            visit(buffers[b], nest_of(step).buffers[b].is_written);
    }

    [[nodiscard]] bool makes_the_same(std::size_t earlier, std::size_t later) const {
        const Step& first = plan_.steps[earlier];
        const Step& second = plan_.steps[later];
        if (!is_outside_loops_[earlier] || !is_outside_loops_[later] ||
            first.tasks != second.tasks || first.buffers.size() != second.buffers.size())
            return false;
        for (std::size_t b = 0; b < first.buffers.size(); ++b) {
            const bool is_written = nest_of(later).buffers[b].is_written;
            if (is_written != nest_of(earlier).buffers[b].is_written) return false;
            if (is_written ? !is_own_result(first.buffers[b], second.buffers[b])
                           : first.buffers[b] != second.buffers[b] ||
                                 is_written_between(first.buffers[b], earlier, later))
                return false;
        }
        return are_equal(nest_of(earlier), nest_of(later));
    }

    /// Whether two temporaries are alike, and one step writes each.
    [[nodiscard]] bool is_own_result(std::size_t first, std::size_t second) const {
        const PlanBuffer& a = plan_.buffers[first];
        const PlanBuffer& b = plan_.buffers[second];
        return a.kind == PlanBuffer::Kind::temporary && b.kind == PlanBuffer::Kind::temporary &&
               !a.is_of_slice && !b.is_of_slice && a.elements == b.elements && a.first == b.first &&
               a.zero_windows.empty() && b.zero_windows.empty() && first != second &&
               writers_[first].size() == 1 && writers_[second].size() == 1;
    }

    [[nodiscard]] bool is_written_between(std::size_t buffer, std::size_t earlier,
                                          std::size_t later) const {
        return std::ranges::any_of(
            writers_[buffer], [&](std::size_t step) { return earlier <= step && step < later; });
    }

    /// Drops the other steps with their nests and buffers, and numbers what is left anew.
    void keep(const std::vector<bool>& is_kept) {
        std::vector<std::size_t> kept_before{0};
        std::vector<Step> steps;
        std::vector<Nest> nests;
        std::vector<Schedule> schedules;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            if (is_kept[s]) {
                Step step = std::move(plan_.steps[s]);
                nests.push_back(std::move(plan_.nests[step.nest]));
                schedules.push_back(std::move(plan_.schedules[step.nest]));
                step.nest = nests.size() - 1;
                steps.push_back(std::move(step));
            }
            kept_before.push_back(steps.size());
        }
        plan_.steps = std::move(steps);
        plan_.nests = std::move(nests);
        plan_.schedules = std::move(schedules);
        for (SliceLoop& loop : plan_.slice_loops) {
            loop.first_step = kept_before[loop.first_step];
            loop.last_step = kept_before[loop.last_step];
        }
        for (Choice& choice : plan_.choices) {
            choice.first_step = kept_before[choice.first_step];
            choice.last_step = kept_before[choice.last_step];
        }
        for (PlanCheck& check : plan_.checks) check.after = kept_before[check.after + 1] - 1;
        drop_buffers();
    }

    void drop_buffers() {
        std::vector<std::size_t> numbers(plan_.buffers.size());
        std::vector<PlanBuffer> buffers;
        for (std::size_t b = 0; b < numbers.size(); ++b) {
            if (stands_for_[b] != b) continue;
            numbers[b] = buffers.size();
            buffers.push_back(std::move(plan_.buffers[b]));
        }
        plan_.buffers = std::move(buffers);
        for (Step& step : plan_.steps)
            for (std::size_t& buffer : step.buffers) buffer = numbers[buffer];
        for (PlanCheck& check : plan_.checks) check.buffer = numbers[stands_for_[check.buffer]];
    }

    Plan& plan_;
    /// Steps, by buffer: those of the plan as it was. What a dropped step wrote had no other.
    std::vector<std::vector<std::size_t>> writers_;
    std::vector<std::size_t> stands_for_;  ///< by buffer: that of an earlier, equal step
    std::vector<bool> is_outside_loops_;   ///< by step: over slices
};

}  // namespace

void drop_equal_steps(Plan& plan) {
    RICCI_ASSERT(plan.library_calls.empty(), "steps that a library stands for stay");
    EqualSteps(plan).run();
}

}  // namespace ricci::codegen
