// tests/runtime/crew_test.cpp – jobs of several callers, helpers that come and go
#include "runtime/crew.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace ricci::runtime {
namespace {

using namespace std::chrono_literals;

/// A crew on threads of its own, which are joined at the end.
class OwnThreads {
  public:
    explicit OwnThreads(int count)
        : crew(count, [this](std::function<void()> helper) {
              const std::lock_guard lock(mutex_);
              helpers_.emplace_back(std::move(helper));
          }) {}
    ~OwnThreads() {
        for (std::thread& helper : helpers_) helper.join();
    }
    OwnThreads(const OwnThreads&) = delete;
    OwnThreads& operator=(const OwnThreads&) = delete;

    [[nodiscard]] std::size_t started() const {
        const std::lock_guard lock(mutex_);
        return helpers_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::thread> helpers_;

  public:
    Crew crew;
};

TEST_CASE("tasks run once, and no two at once have the same worker") {
    OwnThreads threads(4);
    for (const std::int64_t tasks : {1, 2, 3, 5, 64, 1000}) {
        CAPTURE(tasks);
        std::vector<std::atomic<int>> counts(static_cast<std::size_t>(tasks));
        std::vector<std::atomic<bool>> is_busy(
            static_cast<std::size_t>(threads.crew.at_once(tasks)));
        std::atomic<bool> is_good = true;
        threads.crew.run(tasks, [&](std::int64_t first, std::int64_t last, int worker) {
            const auto at = static_cast<std::size_t>(worker);
            if (at >= is_busy.size() || is_busy[at].exchange(true)) is_good = false;
            for (std::int64_t task = first; task < last; ++task)
                ++counts[static_cast<std::size_t>(task)];
            if (at < is_busy.size()) is_busy[at] = false;
        });
        CHECK(is_good);
        for (const std::atomic<int>& count : counts) CHECK(count == 1);
    }
}

TEST_CASE("a helper takes part in the jobs that follow without being started again") {
    OwnThreads threads(2);
    // Each task waits for the other: they run at the same time or never.
    const auto meet = [&] {
        std::atomic<int> there = 0;
        threads.crew.run(2, [&](std::int64_t, std::int64_t, int) {
            ++there;
            while (there < 2) std::this_thread::yield();
        });
    };
    for (int i = 0; i < 100; ++i) meet();
    // Fewer than one for each job, even on a machine that is busy with other things.
    CHECK(threads.started() < 50);
    // Those that slept are started again.
    std::this_thread::sleep_for(20ms);
    const std::size_t before = threads.started();
    meet();
    CHECK(threads.started() == before + 1);
}

TEST_CASE("a short job wakes nobody unless another one came just before") {
    OwnThreads threads(2);
    const auto run = [&](Waking waking) {
        threads.crew.run(2, [](std::int64_t, std::int64_t, int) {}, waking);
    };
    run(Waking::when_busy);
    std::this_thread::sleep_for(20ms);
    run(Waking::when_busy);
    CHECK(threads.started() == 0);
    // Even a machine that is busy with other things runs two of these one after the other.
    for (int i = 0; i < 1000; ++i) run(Waking::when_busy);
    CHECK(threads.started() > 0);
    std::this_thread::sleep_for(20ms);
    const std::size_t before = threads.started();
    run(Waking::always);
    CHECK(threads.started() == before + 1);
}

TEST_CASE("what a task throws reaches the caller, and the crew works on") {
    OwnThreads threads(3);
    for (int i = 0; i < 20; ++i) {
        CHECK_THROWS_WITH_AS(threads.crew.run(100,
                                              [](std::int64_t first, std::int64_t last, int) {
                                                  if (first <= 77 && 77 < last)
                                                      throw std::runtime_error("task 77");
                                              }),
                             "task 77", std::runtime_error);
        std::atomic<std::int64_t> sum = 0;
        threads.crew.run(100, [&](std::int64_t first, std::int64_t last, int) {
            for (; first < last; ++first) sum += first;
        });
        CHECK(sum == 4950);
    }
}

TEST_CASE("more callers than boards are served, with jobs inside jobs") {
    OwnThreads threads(4);
    std::atomic<std::int64_t> sum = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 12; ++caller) {
        callers.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                threads.crew.run(20, [&](std::int64_t first, std::int64_t last, int) {
                    threads.crew.run(last - first,
                                     [&](std::int64_t a, std::int64_t b, int) { sum += b - a; });
                });
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(sum == 12 * 200 * 20);
}

TEST_CASE("a helper that cannot be started is not waited for") {
    const Crew crew(4, [](const std::function<void()>&) { throw std::bad_alloc(); });
    std::int64_t sum = 0;
    crew.run(10, [&](std::int64_t first, std::int64_t last, int) { sum += last - first; });
    crew.run(10, [&](std::int64_t first, std::int64_t last, int) { sum += last - first; });
    CHECK(sum == 20);
}

}  // namespace
}  // namespace ricci::runtime
