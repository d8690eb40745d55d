// tests/support/nest_machine.h – one kernel executed scalar by scalar: tasks, or blocks of threads
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/nest.h"
#include "runtime/reference_ops.h"

namespace ricci::tests {

/// Who has touched an element, to find what must not meet.
struct Touched {
    std::int64_t writer = -1;
    std::int64_t reader = -1;
    bool has_more_readers = false;
    bool is_sum = false;  ///< the last write was an atomic addition

    /// Whether a read or a write of `who` meets another's write, or a write another's read.
    [[nodiscard]] bool reads(std::int64_t who);
    [[nodiscard]] bool writes(std::int64_t who);
    /// The same of an atomic addition, which may meet others.
    [[nodiscard]] bool adds(std::int64_t who);
};

/// One element that several tasks or threads can reach.
struct Cell {
    std::optional<runtime::Scalar> value;
    Touched tasks;             ///< of the kernel that runs now
    Touched threads;           ///< of the block, since the last barrier
    std::int64_t since = -1;   ///< the barrier that `threads` counts from
    bool is_arriving = false;  ///< an asynchronous store is under way
};
using Memory = std::vector<Cell>;

/// Runs a nest on its argument buffers. Threads and blocks take their turns in an order that
/// follows from `order`: 0 ascending, 1 descending, else at random. A statement that holds a
/// Barrier, Fold, Commit or Wait is entered by all threads together, everything else by one thread
/// after the other. Asynchronous stores arrive in the Wait that asks for them.
/// With `tasks` only those from the first number to before the second one are run.
/// Throws: `internal` for an access outside its buffer, a read of what is not written or has not
/// arrived, tasks (blocks) or, between barriers, threads that touch an element which one of them
/// writes, and threads that part where all must arrive.
void execute(const codegen::Nest& nest, const std::vector<Memory*>& arguments, std::uint64_t order,
             std::optional<std::pair<std::int64_t, std::int64_t>> tasks = std::nullopt);

}  // namespace ricci::tests
