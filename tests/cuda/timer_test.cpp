// tests/cuda/timer_test.cpp – the GPU's times in the table, lines in the log, dumps
#include "runtime/timer.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/log.h"
#include "tests/cuda/emulated_gpu.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The text with runs of spaces as one.
std::string squeezed(const std::string& text) {
    std::string out;
    for (const char c : text)
        if (c != ' ' || !out.ends_with(' ')) out += c;
    return out;
}

/// Times are measured while it lives.
struct Timing {
    Timing() {
        set_timing(true);
        reset_timer();
    }
    ~Timing() {
        set_timing(false);
        reset_timer();
    }
};

TEST_CASE("kernels and copies stand in the table under the call that started them") {
    const EmulatedGpu emulated(deferred(1));
    const Timing timing;
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array x = Array::arange(DType::f32, {1000});
    for (int i = 0; i < 3; ++i) (void)twice(x);
    CHECK(twice(x).at({4}) == 8);
    const std::string table = squeezed(timer_table());
    CAPTURE(table);
    CHECK(contains(table, "\ntwice "));
    CHECK(contains(table, "\n kernels 4 "));
    CHECK(contains(table, "\n copy to GPU 1 "));
    CHECK(contains(table, "\ncopy from GPU "));
    CHECK(contains(table, "\n compile "));
}

TEST_CASE("times that nobody asks for are taken in on the way") {
    EmulatedGpu emulated;
    const Timing timing;
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array x = Array::arange(DType::f32, {10});
    for (int i = 0; i < 600; ++i) (void)twice(x);
    CHECK(emulated.device.calls("cuEventElapsedTime") > 300);
    CHECK(contains(squeezed(timer_table()), "\n kernels 600 "));
}

TEST_CASE("the log has a line for the GPU, each compilation and each launch") {
    std::vector<std::string> lines;
    set_log_level(LogLevel::info);
    set_log_sink([&](LogLevel, std::string_view message) { lines.emplace_back(message); });
    {
        const EmulatedGpu emulated;
        const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
        (void)twice(Array::arange(DType::f32, {10}));
    }
    set_log_sink({});
    set_log_level(LogLevel::warn);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].starts_with("open cuda Emulated GPU, "));
    CHECK(lines[1].starts_with("compile cuda twice 1 kernel from NVRTC, 0 library calls, "));
    CHECK(lines[2].starts_with("launch cuda twice 1 kernel "));
}

}  // namespace
}  // namespace ricci::tests
