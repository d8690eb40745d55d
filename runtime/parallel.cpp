// runtime/parallel.cpp – the only file that knows the threading library
#include "runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

constexpr int most_threads = 1024;

/// The threads of this process that kernels run on.
class Threads {
  public:
    explicit Threads(int count) { resize(count); }

    void resize(int count) {
        const std::lock_guard lock(mutex_);
        // The library makes no more threads than cores unless told to.
        control_ = std::make_unique<tbb::global_control>(
            tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
        arena_ = std::make_shared<tbb::task_arena>(count);
        count_ = count;
    }
    [[nodiscard]] int count() const noexcept { return count_.load(std::memory_order_relaxed); }
    /// Kept by a running kernel: another thread may change the number meanwhile.
    [[nodiscard]] std::shared_ptr<tbb::task_arena> arena() const {
        const std::lock_guard lock(mutex_);
        return arena_;
    }

  private:
    mutable std::mutex mutex_;
    std::unique_ptr<tbb::global_control> control_;
    std::shared_ptr<tbb::task_arena> arena_;
    std::atomic<int> count_ = 1;
};

Threads& threads() {
    static Threads the_threads(env::thread_count().value_or(tbb::info::default_concurrency()));
    return the_threads;
}

}  // namespace

void set_num_threads(int count) {
    if (count < 1 || count > most_threads) {
        throw Error(
            {.kind = ErrorKind::limit,
             .message = format("{} threads, not a number from 1 to {}", count, most_threads)});
    }
    threads().resize(count);
}

int num_threads() { return threads().count(); }

namespace runtime {

void run_tasks(TaskFunction function, std::int64_t tasks, std::int64_t grain,
               void* const* buffers) {
    if (tasks <= 0) return;
    if (tasks <= grain || threads().count() == 1) {
        function(0, tasks, buffers);
        return;
    }
    const auto range = tbb::blocked_range<std::int64_t>(
        0, tasks, static_cast<std::size_t>(std::max<std::int64_t>(grain, 1)));
    threads().arena()->execute([&] {
        tbb::parallel_for(range, [&](const tbb::blocked_range<std::int64_t>& piece) {
            function(piece.begin(), piece.end(), buffers);
        });
    });
}

struct Workers::Arena {
    std::shared_ptr<tbb::task_arena> arena;
};

Workers::Workers()
    : arena_(std::make_unique<Arena>(Arena{threads().arena()})),
      count_(arena_->arena->max_concurrency()) {}
Workers::~Workers() = default;

void Workers::run(std::int64_t pieces, const std::function<void(std::int64_t, int)>& piece) const {
    if (pieces <= 1 || count_ == 1) {
        for (std::int64_t number = 0; number < pieces; ++number) piece(number, 0);
        return;
    }
    std::mutex mutex;
    std::vector<int> idle;
    for (int worker = 0; worker < at_once(pieces); ++worker) idle.push_back(worker);
    arena_->arena->execute([&] {
        tbb::parallel_for(std::int64_t{0}, pieces, [&](std::int64_t number) {
            int worker = 0;
            {
                const std::lock_guard lock(mutex);
                worker = idle.back();
                idle.pop_back();
            }
            piece(number, worker);
            const std::lock_guard lock(mutex);
            idle.push_back(worker);
        });
    });
}

}  // namespace runtime
}  // namespace ricci
