// codegen/schedule.cpp – schedules as text
#include "codegen/schedule.h"

#include "base/text.h"

namespace ricci::codegen {

std::string_view name(Strategy strategy) noexcept {
    switch (strategy) {
        case Strategy::contraction:       return "contraction";
        case Strategy::row_reduction:     return "row reduction";
        case Strategy::strided_reduction: return "strided reduction";
        case Strategy::scan:              return "scan";
        case Strategy::pointwise:         return "pointwise";
        case Strategy::serial:            return "serial";
    }
    return {};
}

void Schedule::say(std::string verb, std::string subject, std::int64_t number, std::string why) {
    directives.push_back({std::move(verb), std::move(subject), {number}, std::move(why)});
}

std::string str(const Schedule& schedule) {
    std::string text = format("schedule {}: {}\n", schedule.kernel, name(schedule.strategy));
    for (const Directive& directive : schedule.directives) {
        std::string line = directive.verb;
        if (!directive.subject.empty()) line += " " + directive.subject;
        for (const std::int64_t number : directive.numbers) line += format(" {}", number);
        text += directive.why.empty() ? format("  {}\n", line)
                                      : format("  {:<24} # {}\n", line, directive.why);
    }
    if (schedule.work.bytes > 0)
        text += format("  {:<24} # {}\n",
                       format("work {:.0f} {:.0f}", schedule.work.operations, schedule.work.bytes),
                       "floating operations; bytes of elements, each read or written once");
    return text;
}

}  // namespace ricci::codegen
