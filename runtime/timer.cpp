// runtime/timer.cpp – the tree of sections, its table and its trace
#include "runtime/timer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/text.h"
#include "runtime/cuda/gpu.h"
#include "runtime/pool.h"

namespace ricci {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t max_events = 1'000'000;
// Beyond this many, those that are known by now are taken in.
constexpr std::size_t max_late = 256;
// In traces: work beside the program has a line of its own.
constexpr std::uint64_t late_thread = 1'000'000;

struct Section {
    std::string name;
    Section* parent = nullptr;
    std::vector<std::unique_ptr<Section>> children;
    std::uint64_t calls = 0;
    Clock::duration time{};
    std::uint64_t allocated_bytes = 0;

    Section& child(std::string_view child_name) {
        for (const auto& section : children)
            if (section->name == child_name) return *section;
        children.push_back(std::make_unique<Section>());
        children.back()->name = child_name;
        children.back()->parent = this;
        return *children.back();
    }
};

struct Event {
    const std::string* name;
    std::uint64_t thread;
    Clock::time_point begin;
    Clock::duration time;
};

/// A section that a thread has open. It is found again by its path of names, so that a table can
/// be reset while sections are open.
struct OpenSection {
    std::string name;
    Clock::time_point begin;
    std::uint64_t allocated_bytes;
};

/// A section whose time is not known yet, by its path of names.
struct LateSection {
    std::vector<std::string> path;
    std::unique_ptr<runtime::LateTime> time;
    Clock::time_point started;
};

std::vector<OpenSection>& open_sections() {
    thread_local std::vector<OpenSection> sections;
    return sections;
}

std::uint64_t thread_number() {
    static std::atomic<std::uint64_t> next = 0;
    thread_local const std::uint64_t number = next++;
    return number;
}

std::string time_text(double seconds) {
    if (seconds >= 1) return format("{:.3f} s", seconds);
    if (seconds >= 1e-3) return format("{:.3f} ms", seconds * 1e3);
    return format("{:.3f} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    return unit == 0 ? format("{} B", bytes) : format("{:.2f} {}", bytes, units[unit]);
}

std::string json_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < ' ')
            out += format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out;
}

/// Everything measured in this process.
class Registry {
  public:
    Registry() {
        // Made first, so that it is destroyed after this object, which still asks it at the end.
        (void)runtime::host_pool();
        is_printed_at_end_ = env::is_timer_on();
        is_on = is_printed_at_end_;
    }
    ~Registry() {
        if (!is_printed_at_end_ || root_->children.empty()) return;
        const std::string text = table();
        std::fwrite(text.data(), 1, text.size(), stderr);
    }
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    void add(const std::vector<OpenSection>& path, Clock::time_point end,
             std::uint64_t allocated_bytes) {
        const std::lock_guard lock(mutex_);
        Section* section = root_.get();
        for (const OpenSection& open : path) section = &section->child(open.name);
        const OpenSection& last = path.back();
        // A table begun within the section counts only what came after.
        const Clock::time_point begin = std::max(last.begin, begin_);
        ++section->calls;
        section->time += end - begin;
        section->allocated_bytes += allocated_bytes - last.allocated_bytes;
        if (is_tracing && events_.size() < max_events)
            events_.push_back({&section->name, thread_number(), begin, end - begin});
    }
    void add_late(std::vector<std::string> path, std::unique_ptr<runtime::LateTime> time) {
        const std::lock_guard lock(mutex_);
        late_.push_back({std::move(path), std::move(time), Clock::now()});
        if (late_.size() > max_late) settle(false);
    }
    void settle() {
        const std::lock_guard lock(mutex_);
        settle(true);
    }
    void reset() {
        const std::lock_guard lock(mutex_);
        events_.clear();
        late_.clear();
        root_ = std::make_unique<Section>();
        begin_ = Clock::now();
    }
    [[nodiscard]] std::string table();
    [[nodiscard]] std::string trace();

    std::atomic<bool> is_on = false;
    std::atomic<bool> is_tracing = false;

  private:
    /// Takes in the times that are known by now, the first ones first; with `waits`, all.
    void settle(bool waits) {
        for (; !late_.empty(); late_.pop_front()) {
            const LateSection& late = late_.front();
            double seconds = 0;
            const auto state = late.time->measure(waits, seconds);
            if (state == runtime::LateTime::State::under_way) return;
            if (state == runtime::LateTime::State::lost) continue;
            Section* section = root_.get();
            for (const std::string& name : late.path) section = &section->child(name);
            ++section->calls;
            const auto time = std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
            section->time += time;
            if (is_tracing && events_.size() < max_events)
                events_.push_back({&section->name, late_thread, late.started, time});
        }
    }

    std::mutex mutex_;
    std::unique_ptr<Section> root_ = std::make_unique<Section>();
    std::vector<Event> events_;
    std::deque<LateSection> late_;
    Clock::time_point begin_ = Clock::now();
    bool is_printed_at_end_ = false;
};

Registry& registry() {
    static Registry the_registry;
    return the_registry;
}

struct Row {
    std::string name;
    std::uint64_t calls;
    double seconds;
    std::uint64_t bytes;
};

/// The sections below `parent` in order of time. Sections that are still open were not called yet:
/// they stand with the time of what ran inside.
void collect_rows(const Section& parent, std::size_t depth, std::vector<Row>& rows) {
    const auto seconds = [](const Section& section) {
        Clock::duration time = section.time;
        if (section.calls == 0)
            for (const auto& child : section.children) time += child->time;
        return Seconds(time).count();
    };
    std::vector<const Section*> order;
    for (const auto& child : parent.children) order.push_back(child.get());
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](const Section* section) { return seconds(*section); });
    for (const Section* section : order) {
        rows.push_back({std::string(2 * depth, ' ') + section->name, section->calls,
                        seconds(*section), section->allocated_bytes});
        collect_rows(*section, depth + 1, rows);
    }
}

std::string Registry::table() {
    const std::lock_guard lock(mutex_);
    settle(true);
    const double total = Seconds(Clock::now() - begin_).count();
    std::vector<Row> rows;
    collect_rows(*root_, 0, rows);
    std::size_t width = std::string_view("section").size();
    for (const Row& row : rows) width = std::max(width, row.name.size());
    const std::string head = format("{:<{}} {:>9} {:>11} {:>8} {:>11} {:>11}", "section", width,
                                    "calls", "time", "% total", "average", "alloc");
    std::string out = head + "\n" + std::string(head.size(), '-') + "\n";
    for (const Row& row : rows) {
        const double average = row.calls == 0 ? 0 : row.seconds / static_cast<double>(row.calls);
        out += format("{:<{}} {:>9} {:>11} {:>8.1f} {:>11} {:>11}\n", row.name, width, row.calls,
                      time_text(row.seconds), 100 * row.seconds / total, time_text(average),
                      bytes_text(static_cast<double>(row.bytes)));
    }
    return out;
}

std::string Registry::trace() {
    const std::lock_guard lock(mutex_);
    settle(true);
    std::vector<std::string> items;
    for (const Event& event : events_) {
        items.push_back(
            format(R"({{"name":"{}","ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
                   json_text(*event.name), event.thread,
                   Seconds(event.begin - begin_).count() * 1e6, Seconds(event.time).count() * 1e6));
    }
    return format("{{\"traceEvents\":[\n{}\n]}}\n", join(items, ",\n"));
}

std::uint64_t allocated_bytes() {
    const auto gpu = cuda::Gpu::if_open();
    return runtime::host_pool().use().total_bytes + (gpu ? gpu->memory().use().total_bytes : 0);
}

}  // namespace

void set_timing(bool is_on) { registry().is_on = is_on; }
bool is_timing() noexcept { return registry().is_on.load(std::memory_order_relaxed); }
void set_tracing(bool is_on) { registry().is_tracing = is_on; }
void reset_timer() { registry().reset(); }
std::string timer_table() { return registry().table(); }
std::string timer_trace() { return registry().trace(); }

namespace runtime {

void add_late_section(std::string_view name, std::unique_ptr<LateTime> time) noexcept {
    try {
        std::vector<std::string> path;
        for (const OpenSection& open : open_sections()) path.push_back(open.name);
        path.emplace_back(name);
        registry().add_late(std::move(path), std::move(time));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // A measurement is lost; the program that is measured goes on.
    }
}

void settle_late_sections() noexcept {
    try {
        registry().settle();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // As above.
    }
}

}  // namespace runtime

void TimerSection::open(std::string_view name) {
    open_sections().push_back({std::string(name), Clock::now(), allocated_bytes()});
    is_open_ = true;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): it ends what `open` began
void TimerSection::close() noexcept {
    const Clock::time_point end = Clock::now();
    try {
        registry().add(open_sections(), end, allocated_bytes());
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // A measurement is lost; the program that is measured goes on.
    }
    open_sections().pop_back();
}

}  // namespace ricci
