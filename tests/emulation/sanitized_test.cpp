// tests/emulation/sanitized_test.cpp – kernels on plain pointers, under the compiler's sanitizers
//
// One source for two programs, that of AddressSanitizer with UndefinedBehaviorSanitizer and that of
// ThreadSanitizer: to it, the threads of a launch are threads. They know nothing of what the
// emulation finds by itself, and so watch over it.
#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/emulation/run_plan.h"
#include "tests/emulation/text_kernel.h"

#ifdef RICCI_SANITIZED_THREAD
constexpr bool is_thread = true;
#else
constexpr bool is_thread = false;
#endif

extern "C" {
// What sanitizers ask a program before it begins.
const char* __asan_default_options();
const char* __asan_default_options() { return "detect_stack_use_after_return=0:detect_leaks=0"; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return "halt_on_error=1"; }
}

namespace ricci::tests {
namespace {

const bool are_checks_set = [] {
    emulation::set_checks_of_this_program(is_thread ? emulation::Checks::thread
                                                    : emulation::Checks::address);
    return true;
}();

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

/// What the process says that a kernel ends, or nothing when it lives.
template <class F>
std::string last_words(F&& run) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, std::size_t(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : text + "\n(process ended)";
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// A kernel whose marked lines may be left out or changed.
std::string turning(const char* first, const char* second, int count = 64, int reach = 63) {
    return format(R"(
RC_KERNEL(64) turn(RC_IN(float) x, RC_OUT(float) y) {{
    RC_SHARED(float, tile, 0, {});
    for (rc_i32 k = 0; k < 2; ++k) {{
        tile[RC_THREAD] = x[k * 64 + RC_THREAD];
        {}
        y[64 * (2 * RC_BLOCK + k) + RC_THREAD] = tile[{} - RC_THREAD];
        {}
    }}
}}
RC_ENTRY(turn)
)",
                  count, first, reach, second);
}

std::string words_of(const std::string& text, const emulation::Manner& manner,
                     std::size_t length = 256) {
    TextKernel kernel(text);
    const auto x = kernel.upload(std::vector<float>(128));
    const auto y = kernel.upload(std::vector<float>(length));
    return last_words([&] {
        if (!kernel.run("turn", 2, 64, {x, y}, 256, manner).empty()) _exit(3);
    });
}

}  // namespace

TEST_CASE("a sanitizer finds nothing in kernels that are right") {
    REQUIRE(are_checks_set);
    EmulatedBatch batch;
    batch.add("y[i] := 2*x[i] + 1", {{"x", array({300})}});
    batch.add("Y[j,i] := X[i,j]", {{"X", array({34, 33})}});
    batch.add("y[i] := A[i,k]", {{"A", array({3, 127})}});
    batch.add("p[j] := argmin[i](A[i,j])", {{"A", array({30, 33})}});
    batch.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({40, 20})}, {"B", array({20, 35})}});
    // Each thread of a kernel costs ThreadSanitizer a fifth of a millisecond.
    if (!is_thread || std::getenv("RICCI_TEST_FULL") != nullptr)
        for (const int multiprocessors : {132, 1}) {
            const auto add = [&](const std::string& text, const Signature& signature) {
                batch.add(text, signature, multiprocessors);
            };
            add("y[i] := 2*x[i] + 1", {{"x", array({1000})}});
            add("Y[j,i] := X[i,j]", {{"X", array({70, 33})}});
            add("y[i] := A[i,k]", {{"A", array({5, 127})}});
            add("y[i] := max[k](A[i,k])", {{"A", array({3, 2000}, DType::f64)}});
            add("y[j] := A[i,j]", {{"A", array({100, 33})}});
            add("s := A[i]*B[i]", {{"A", array({20007})}, {"B", array({20007})}});
            add("C[i,j] := A[i,k]*B[k,j] + b[j]",
                {{"A", array({67, 33})}, {"B", array({33, 70})}, {"b", array({70})}});
            add("D[i,j] := (w[k,i] - x[k,j])^2",
                {{"w", array({30, 64}, DType::f64)}, {"x", array({30, 65}, DType::f64)}});
        }
    CHECK(batch.difference() == "");
    for (const emulation::Manner& manner : manners())
        CHECK(words_of(turning("RC_BARRIER();", "RC_BARRIER();"), manner) == "");
}

TEST_CASE("a sanitizer sees an access beyond shared or global memory, and says in which line") {
    if (is_thread) return;
    for (const emulation::Manner& manner : manners()) {
        const std::string shared =
            words_of(turning("RC_BARRIER();", "RC_BARRIER();", 64, 64), manner);
        CHECK(has(shared, "AddressSanitizer"));
        CHECK(has(shared, "kernels:7"));
        const std::string narrow = words_of(turning("RC_BARRIER();", "RC_BARRIER();", 63), manner);
        CHECK(has(narrow, "AddressSanitizer"));
        const std::string global = words_of(turning("RC_BARRIER();", "RC_BARRIER();"), manner, 255);
        CHECK(has(global, "AddressSanitizer"));
        CHECK(has(global, "kernels:7"));
    }
}

TEST_CASE("a sanitizer sees threads that meet without a barrier, and says in which lines") {
    if (!is_thread) return;
    for (const emulation::Manner& manner : manners()) {
        const std::string first = words_of(turning("", "RC_BARRIER();"), manner);
        CHECK(has(first, "ThreadSanitizer: data race"));
        CHECK(has(first, "kernels:7"));
        CHECK(has(first, "kernels:5"));
        CHECK(has(words_of(turning("RC_BARRIER();", ""), manner), "ThreadSanitizer: data race"));
    }
}

TEST_CASE("a sanitizer sees two blocks that write one element") {
    if (!is_thread) return;
    TextKernel kernel(R"(
RC_KERNEL(32) both(RC_OUT(float) y) { y[RC_THREAD + 16 * RC_BLOCK] = 1; }
RC_ENTRY(both)
)");
    const auto y = kernel.upload(std::vector<float>(64));
    for (const emulation::Manner& manner : manners())
        CHECK(has(last_words([&] { (void)kernel.run("both", 2, 32, {y}, 0, manner); }),
                  "ThreadSanitizer: data race"));
}

TEST_CASE("a sanitizer sees what an asynchronous copy brings too late") {
    if (!is_thread) return;
    const auto text = [](const char* wait) {
        return format(R"(
RC_KERNEL(64) turn(RC_IN(float) x, RC_OUT(float) y) {{
    RC_SHARED(float, tile, 0, 64);
    rc_copy_async<1>(tile, RC_THREAD, x, RC_THREAD);
    rc_copy_commit();
    {}
    y[64 * RC_BLOCK + RC_THREAD] = tile[63 - RC_THREAD];
}}
RC_ENTRY(turn)
)",
                      wait);
    };
    for (const emulation::Manner& manner : manners()) {
        CHECK(words_of(text("rc_copy_wait<0>(); RC_BARRIER();"), manner) == "");
        CHECK(has(words_of(text("rc_copy_wait<0>();"), manner), "ThreadSanitizer: data race"));
    }
}

}  // namespace ricci::tests
