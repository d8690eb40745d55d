// runtime/parallel.cpp – the only file that knows the threading library
#include "runtime/parallel.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/crew.h"

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
        auto arena = std::make_shared<tbb::task_arena>(count);
        crew_ = std::make_shared<const runtime::Crew>(
            count, [arena](std::function<void()> helper) { arena->enqueue(std::move(helper)); });
        count_ = count;
    }
    [[nodiscard]] int count() const noexcept { return count_.load(std::memory_order_relaxed); }
    /// Kept by a running kernel: another thread may change the number meanwhile.
    [[nodiscard]] std::shared_ptr<const runtime::Crew> crew() const {
        const std::lock_guard lock(mutex_);
        return crew_;
    }

  private:
    mutable std::mutex mutex_;
    std::unique_ptr<tbb::global_control> control_;
    std::shared_ptr<const runtime::Crew> crew_;
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

void run_tasks(TaskFunction function, std::int64_t tasks, void* const* buffers, Waking waking) {
    if (tasks <= 0) return;
    if (tasks == 1 || threads().count() == 1) {
        function(0, tasks, buffers);
        return;
    }
    threads().crew()->run(
        tasks, [=](std::int64_t first, std::int64_t last, int) { function(first, last, buffers); },
        waking);
}

Workers::Workers() : crew_(threads().crew()) {}

std::int64_t Workers::at_once(std::int64_t pieces) const noexcept { return crew_->at_once(pieces); }

void Workers::run(std::int64_t pieces, const std::function<void(std::int64_t, int)>& piece) const {
    crew_->run(pieces, [&](std::int64_t first, std::int64_t last, int worker) {
        for (std::int64_t number = first; number < last; ++number) piece(number, worker);
    });
}

}  // namespace runtime
}  // namespace ricci
