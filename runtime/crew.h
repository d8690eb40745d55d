// runtime/crew.h – threads that share a kernel's tasks and stay awake from one kernel to the next
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/parallel.h"

namespace ricci::runtime {

/// A calling thread and its helpers. A helper that has nothing to do looks out for work for a
/// while before its thread sleeps: waking a thread takes longer than many a kernel runs. Each
/// thread begins in its own part of the tasks, the same one for every kernel of as many tasks, so
/// that what one kernel wrote is near for the next; whoever is done goes on in the others' parts.
class Crew {
  public:
    /// The tasks [first, last); no two calls of one job at once have the same worker.
    using Work = std::function<void(std::int64_t first, std::int64_t last, int worker)>;
    /// Hands a helper to a thread that sleeps.
    using Start = std::function<void(std::function<void()> helper)>;

    /// Threads: `count`, the caller's included.
    Crew(int count, Start start);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] int count() const noexcept;
    /// Pieces of so many tasks that may be under way at once.
    [[nodiscard]] std::int64_t at_once(std::int64_t tasks) const noexcept;

    /// Runs each of the tasks [0, tasks) once and returns when all are done. Workers are of
    /// [0, at_once(tasks)). Several threads may call at once; helpers go to those that have work
    /// left.
    /// Throws: what `work` throws, the first if several do; the other tasks may not have run then.
    void run(std::int64_t tasks, const Work& work, Waking waking = Waking::always) const;

  private:
    struct Lookout;

    void start(std::size_t helper) const noexcept;

    Start start_;
    std::shared_ptr<Lookout> lookout_;  ///< helpers that have not slept yet keep it, too
};

}  // namespace ricci::runtime
