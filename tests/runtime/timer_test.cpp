// tests/runtime/timer_test.cpp – nesting, counting, the table and the trace
#include "runtime/timer.h"

#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace ricci {
namespace {

/// Timing switched on for one case, with an empty table.
struct Timing {
    Timing() {
        set_timing(true);
        reset_timer();
    }
    ~Timing() { set_timing(false); }
};

/// The first words of the lines of the table: indentation and name.
std::string names(const std::string& table) {
    std::string out;
    for (std::size_t at = 0; at < table.size();) {
        const std::size_t end = table.find('\n', at);
        const std::string line = table.substr(at, end - at);
        out += line.substr(0, line.find(' ', line.find_first_not_of(' '))) + "\n";
        at = end + 1;
    }
    return out;
}

TEST_CASE("sections stand under the section they ran in") {
    const Timing timing;
    for (int i = 0; i < 3; ++i) {
        const TimerSection outer("outer");
        const TimerSection inner("inner");
    }
    const std::string table = timer_table();
    CHECK(names(table).find("\nouter\n  inner\n") != std::string::npos);
    CHECK(table.starts_with("section     calls        time  % total     average       alloc\n---"));
    CHECK(table.find("outer           3") != std::string::npos);
}

TEST_CASE("nothing is measured while timing is off") {
    {
        const Timing timing;
    }
    {
        const TimerSection section("unseen");
    }
    CHECK(timer_table().find("unseen") == std::string::npos);
}

TEST_CASE("another thread has sections of its own") {
    const Timing timing;
    {
        const TimerSection outer("main");
        std::thread([] { const TimerSection section("worker"); }).join();
    }
    CHECK(names(timer_table()).find("\nworker\n") != std::string::npos);
}

TEST_CASE("a table that is reset inside a section goes on") {
    const Timing timing;
    {
        const TimerSection outer("outer");
        reset_timer();
    }
    CHECK(timer_table().find("outer") != std::string::npos);
}

TEST_CASE("the trace has an event for each section") {
    const Timing timing;
    set_tracing(true);
    {
        const TimerSection section("a \"name\"");
    }
    set_tracing(false);
    const std::string trace = timer_trace();
    CHECK(trace.starts_with(
        "{\"traceEvents\":[\n{\"name\":\"a \\\"name\\\"\",\"ph\":\"X\",\"pid\":1"));
    CHECK(trace.ends_with("}\n]}\n"));
}

}  // namespace
}  // namespace ricci
