// runtime/timer.h – where the time goes: nested sections, a table, a trace
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ricci {

/// Switches the measuring of sections. Off at first, unless RICCI_TIMER is set: then the table is
/// also printed on stderr at the end of the program.
void set_timing(bool is_on);
/// Cost: one atomic load.
[[nodiscard]] bool is_timing() noexcept;
/// Also keeps every single section for `timer_trace`, up to a million of them.
void set_tracing(bool is_on);
/// Forgets all that was measured. Sections that are open go on in the new table.
void reset_timer();

/// The table of what was measured: sections under the sections they ran in, the longest first.
/// ```
/// section        calls       time   % total    average      alloc
/// ---------------------------------------------------------------
/// epoch             10    12.31 s    100.0     1.231 s   1.21 GiB
///   forward      4,690     3.40 s     27.6    725.1 us   ...
/// ```
/// Units: the share is of the time since the table was begun; alloc counts bytes of arrays and
/// temporaries that any thread asked for meanwhile.
[[nodiscard]] std::string timer_table();
/// The kept sections as Chrome trace events (JSON), which ui.perfetto.dev opens.
[[nodiscard]] std::string timer_trace();

/// A section that lasts as long as the object, inside the section that this thread has open. Ricci
/// opens one for each call of a function (its name), for `forward`, `backward` and `compile`; on a
/// GPU `kernels`, `copy to GPU` and `copy from GPU` stand inside, with the GPU's own times.
class TimerSection {
  public:
    explicit TimerSection(std::string_view name) {
        if (is_timing()) open(name);
    }
    ~TimerSection() {
        if (is_open_) close();
    }
    TimerSection(const TimerSection&) = delete;
    TimerSection& operator=(const TimerSection&) = delete;

  private:
    void open(std::string_view name);
    void close() noexcept;

    bool is_open_ = false;
};

namespace runtime {

/// A time that is known later: of work that goes on beside the program, as on a GPU.
class LateTime {
  public:
    enum class State : std::uint8_t { under_way, known, lost };
    virtual ~LateTime() = default;
    /// The time, when it is known; with `waits` it is known or lost.
    virtual State measure(bool waits, double& seconds) = 0;
};
/// A section of that time inside the one that this thread has open. It may be longer than that one,
/// which ends when the work has been started.
void add_late_section(std::string_view name, std::unique_ptr<LateTime> time) noexcept;
/// Waits for all such times: what they come from is about to go.
void settle_late_sections() noexcept;

}  // namespace runtime
}  // namespace ricci
