// tests/runtime/parallel_test.cpp – every task once, whatever the threads
#include "runtime/parallel.h"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "tests/support/threads.h"

namespace ricci {
namespace {

using tests::Threads;

/// Counts how often each task ran; buffer 0 is an array of counters.
void count(std::int64_t first, std::int64_t last, void* const* buffers) {
    auto* counters = static_cast<std::atomic<int>*>(buffers[0]);
    for (std::int64_t task = first; task < last; ++task) ++counters[task];
}

/// Whether each of the tasks runs exactly once.
bool runs_once(std::int64_t tasks) {
    std::vector<std::atomic<int>> counters(static_cast<std::size_t>(tasks) + 1);
    void* buffers[] = {counters.data()};
    runtime::run_tasks(&count, tasks, buffers);
    for (std::int64_t task = 0; task < tasks; ++task)
        if (counters[static_cast<std::size_t>(task)] != 1) return false;
    return counters.back() == 0;
}

TEST_CASE("each task runs once on one thread") {
    const Threads threads(1);
    CHECK(runs_once(1000));
}

TEST_CASE("each task runs once on several threads") {
    const Threads threads(4);
    CHECK(num_threads() == 4);
    for (const std::int64_t tasks : {0, 1, 3, 4, 5, 1000}) CHECK(runs_once(tasks));
}

TEST_CASE("one task runs on the calling thread") {
    const Threads threads(4);
    std::thread::id where;
    void* buffers[] = {&where};
    runtime::run_tasks(
        [](std::int64_t, std::int64_t, void* const* b) {
            *static_cast<std::thread::id*>(b[0]) = std::this_thread::get_id();
        },
        1, buffers);
    CHECK(where == std::this_thread::get_id());
}

TEST_CASE("kernels may be started from several threads at once") {
    const Threads threads(2);
    std::atomic<int> good = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back([&good] { good += runs_once(2000) ? 1 : 0; });
    for (std::thread& caller : callers) caller.join();
    CHECK(good == 4);
}

TEST_CASE("a number of threads that makes no sense is an error") {
    CHECK(tests::error_text([] { set_num_threads(0); }) ==
          "limit: 0 threads, not a number from 1 to 1024");
}

}  // namespace
}  // namespace ricci
