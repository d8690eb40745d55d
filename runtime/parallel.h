// runtime/parallel.h – splits the tasks of a kernel over threads
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace ricci {

/// Threads that a kernel may use from now on, the caller's included. Results do not depend on it.
/// Throws: `limit` unless it is from 1 to 1024.
void set_num_threads(int count);
/// What `set_num_threads` or RICCI_NUM_THREADS says, else the cores this process may run on.
/// Throws: `limit` when RICCI_NUM_THREADS is no such number.
[[nodiscard]] int num_threads();

namespace runtime {

class Crew;

/// Which kernels wake threads that sleep.
enum class Waking : std::uint8_t {
    always,
    when_busy,  ///< of short kernels those that follow another one closely
};

/// Runs the tasks [first_task, last_task) on the given buffers.
using TaskFunction = void (*)(std::int64_t first_task, std::int64_t last_task,
                              void* const* buffers);

/// Runs each of the tasks [0, tasks) once and returns when all are done. With one task or one
/// thread it is a plain call.
void run_tasks(TaskFunction function, std::int64_t tasks, void* const* buffers,
               Waking waking = Waking::always);

/// The threads that a kernel may use now: their number stays, whatever `set_num_threads` says
/// meanwhile.
class Workers {
  public:
    Workers();

    /// Calls of so many pieces that may be under way at once.
    [[nodiscard]] std::int64_t at_once(std::int64_t pieces) const noexcept;
    /// Calls `piece(number, worker)` for each number of [0, pieces) and returns when all are done.
    /// No two calls at once have the same worker, of [0, at_once(pieces)).
    void run(std::int64_t pieces,
             const std::function<void(std::int64_t piece, int worker)>& piece) const;

  private:
    std::shared_ptr<const Crew> crew_;
};

}  // namespace runtime
}  // namespace ricci
