// runtime/crew.cpp – boards on which callers post their jobs, helpers that look out for them
#include "runtime/crew.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace ricci::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t cache_line_bytes = 64;
// Callers that may have helpers at the same time; one more works alone.
constexpr int board_count = 8;
// Longer than a program takes from one kernel to the next, and than most take between programs.
constexpr auto lookout_time = std::chrono::microseconds(500);
// Looks before the thread offers its core to others: they may have more to do.
constexpr int looks_before_yield = 64;

void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits for a moment, longer every so often.
class Patience {
  public:
    void wait() {
        pause();
        if (++looks_ % looks_before_yield == 0) std::this_thread::yield();
    }

  private:
    int looks_ = 0;
};

/// Tasks that one thread begins with.
struct alignas(cache_line_bytes) Part {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
};

/// A job that threads may join while its turn is odd.
struct alignas(cache_line_bytes) Board {
    std::atomic<bool> is_taken = false;  ///< by a caller
    std::atomic<std::uint64_t> turn = 0;
    std::atomic<int> inside = 0;  ///< helpers that may look at what follows
    std::atomic<int> joined = 0;
    const Crew::Work* work = nullptr;
    std::size_t parts_used = 0;
    std::vector<Part> parts;
    std::atomic<bool> has_failed = false;
    std::exception_ptr failure;

    /// Works from the part `start` on until no task is left.
    void take_part(std::size_t start, int worker) noexcept {
        const Crew::Work& run = *work;
        try {
            for (std::size_t i = 0; i < parts_used; ++i) {
                Part& part = parts[(start + i) % parts_used];
                std::int64_t first = part.next.load(std::memory_order_relaxed);
                while (first < part.end && !has_failed.load(std::memory_order_relaxed)) {
                    // Large pieces first, so that there are few; small ones last, so that all
                    // threads are done at about the same time.
                    const std::int64_t last =
                        first + std::max<std::int64_t>(1, (part.end - first) / 4);
                    if (!part.next.compare_exchange_weak(first, last, std::memory_order_relaxed))
                        continue;
                    run(first, last, worker);
                    first = part.next.load(std::memory_order_relaxed);
                }
            }
        } catch (...) {
            if (!has_failed.exchange(true)) failure = std::current_exception();
        }
    }
};

}  // namespace

struct Crew::Lookout {
    explicit Lookout(int threads) : count(threads), is_awake(static_cast<std::size_t>(threads)) {
        for (Board& board : boards) board.parts = std::vector<Part>(is_awake.size());
    }

    int count;
    std::array<Board, board_count> boards;
    std::vector<std::atomic<bool>> is_awake;  ///< helpers by number, from 1
    std::atomic<int> awake = 0;
    std::atomic<Clock::rep> last_short = 0;  ///< when a short job last had too few helpers

    /// Whether a job with too few helpers awake starts others.
    bool wakes(Waking waking) noexcept {
        if (waking == Waking::always) return true;
        const auto now = Clock::now().time_since_epoch();
        const Clock::duration before(last_short.exchange(now.count(), std::memory_order_relaxed));
        return now - before < lookout_time;
    }

    /// Whether the helper, asleep before, is now the caller's to start.
    bool wake(std::size_t helper) noexcept {
        if (is_awake[helper].load(std::memory_order_relaxed) || is_awake[helper].exchange(true))
            return false;
        ++awake;
        return true;
    }

    void sleep(std::size_t helper) noexcept {
        --awake;
        is_awake[helper] = false;
    }

    /// Joins the job on a board if it has one that this helper does not know yet.
    static bool join(Board& board, std::size_t helper, std::uint64_t& known_turn) noexcept {
        const std::uint64_t turn = board.turn.load(std::memory_order_acquire);
        if (turn % 2 == 0 || turn == known_turn) return false;
        known_turn = turn;
        // A caller that closes its board waits for those inside: either it sees this thread here
        // or this thread sees the board closed.
        board.inside.fetch_add(1);
        const bool is_open = board.turn.load() == turn;
        if (is_open) {
            const int worker = 1 + board.joined.fetch_add(1, std::memory_order_relaxed);
            if (static_cast<std::size_t>(worker) < board.parts_used)
                board.take_part(helper % board.parts_used, worker);
        }
        board.inside.fetch_sub(1, std::memory_order_release);
        return is_open;
    }

    /// Looks out for jobs until there has been none for a while.
    void help(std::size_t helper) noexcept {
        std::array<std::uint64_t, board_count> known_turns = {};
        const auto join_any = [&] {
            bool has_joined = false;
            // Helpers begin at different boards: callers get about as many each.
            for (std::size_t i = 0; i < board_count; ++i) {
                const std::size_t at = (helper + i) % board_count;
                has_joined |= join(boards[at], helper, known_turns[at]);
            }
            return has_joined;
        };
        do {
            auto until = Clock::now() + lookout_time;
            Patience patience;
            while (Clock::now() < until) {
                if (join_any())
                    until = Clock::now() + lookout_time;
                else
                    patience.wait();
            }
            sleep(helper);
            // A caller may have counted on this helper just before.
        } while (join_any() && wake(helper));
    }
};

Crew::Crew(int count, Start start)
    : start_(std::move(start)), lookout_(std::make_shared<Lookout>(count)) {}
Crew::~Crew() = default;

int Crew::count() const noexcept { return lookout_->count; }

std::int64_t Crew::at_once(std::int64_t tasks) const noexcept {
    return std::min<std::int64_t>(tasks, count());
}

void Crew::start(std::size_t helper) const noexcept {
    try {
        start_([lookout = lookout_, helper] { lookout->help(helper); });
    } catch (...) {  // no memory for a task: those who are awake do the work
        lookout_->sleep(helper);
    }
}

void Crew::run(std::int64_t tasks, const Work& work, Waking waking) const {
    if (tasks <= 0) return;
    const std::int64_t parts = at_once(tasks);
    Board* board = nullptr;
    if (parts > 1)
        for (Board& each : lookout_->boards)
            if (!each.is_taken.load(std::memory_order_relaxed) && !each.is_taken.exchange(true)) {
                board = &each;
                break;
            }
    if (board == nullptr) {
        work(0, tasks, 0);
        return;
    }
    board->work = &work;
    board->parts_used = static_cast<std::size_t>(parts);
    board->joined.store(0, std::memory_order_relaxed);
    for (std::int64_t i = 0; i < parts; ++i) {
        Part& part = board->parts[static_cast<std::size_t>(i)];
        part.next.store(tasks * i / parts, std::memory_order_relaxed);
        part.end = tasks * (i + 1) / parts;
    }
    board->turn.fetch_add(1);
    if (lookout_->awake.load(std::memory_order_relaxed) < parts - 1 && lookout_->wakes(waking))
        for (std::size_t helper = 1; helper < board->parts_used; ++helper)
            if (lookout_->wake(helper)) start(helper);
    board->take_part(0, 0);
    board->turn.fetch_add(1);
    for (Patience patience; board->inside.load() != 0;) patience.wait();
    const std::exception_ptr failure =
        board->has_failed.exchange(false) ? std::exchange(board->failure, nullptr) : nullptr;
    board->is_taken.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
}

}  // namespace ricci::runtime
