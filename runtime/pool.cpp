// runtime/pool.cpp – size classes, free lists, and the system's memory below them
#include "runtime/pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace ricci::runtime {
namespace {

constexpr std::size_t alignment_bytes = 64;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
// Beyond this much free memory the blocks that have lain idle longest go to the system: those that
// a loop uses stay. Enough for the activations of a training step, small beside any machine's
// memory.
constexpr std::size_t max_kept_bytes = std::size_t{1} << 30;
// Four classes for each power of two.
constexpr std::size_t classes = std::size_t{4} * std::numeric_limits<std::size_t>::digits;

std::size_t class_of(std::size_t bytes) noexcept {
    const auto power = static_cast<std::size_t>(std::bit_width(bytes) - 1);
    return 4 * power + ((bytes >> (power - 2)) & 3);
}

/// The size of the blocks of a class.
std::size_t class_bytes(std::size_t number) noexcept {
    const std::size_t power = number / 4;
    return (std::size_t{1} << power) + (number % 4 << (power - 2));
}

std::size_t physical_bytes() noexcept {
    static const std::size_t bytes = [] {
        const long pages = sysconf(_SC_PHYS_PAGES);
        const long page_bytes = sysconf(_SC_PAGESIZE);
        if (pages <= 0 || page_bytes <= 0) return std::numeric_limits<std::size_t>::max() / 2;
        return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
    }();
    return bytes;
}

void* system_allocate(std::size_t bytes) noexcept {
    const bool is_large = bytes >= huge_page_bytes;
    const std::size_t alignment = is_large ? huge_page_bytes : alignment_bytes;
    // The system promises more than it has and kills whoever takes it at its word.
    if (bytes > physical_bytes()) return nullptr;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* block = std::aligned_alloc(alignment, rounded);
    // Huge pages save most of the page faults and TLB misses of large operands; best effort.
    if (block != nullptr && is_large) madvise(block, rounded, MADV_HUGEPAGE);
    return block;
}

}  // namespace

std::size_t size_class_bytes(std::size_t size_bytes) noexcept {
    const std::size_t bytes = std::max(size_bytes, alignment_bytes);
    const auto power = static_cast<std::size_t>(std::bit_width(bytes) - 1);
    const std::size_t step = std::max(std::size_t{1} << (power - 2), alignment_bytes);
    if (bytes > std::numeric_limits<std::size_t>::max() - step) return bytes;
    return (bytes + step - 1) / step * step;
}

struct Pool::State {
    struct Free {
        void* block = nullptr;
        std::uint64_t since = 0;  ///< the number of blocks returned before
    };
    std::mutex mutex;
    std::array<std::deque<Free>, classes> free;  ///< by class, the longest idle first
    std::uint64_t returned = 0;
    PoolUse use;

    ~State() { release_all(); }

    void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex);
        auto& blocks = free[class_of(bytes)];
        void* block = nullptr;
        if (!blocks.empty()) {
            block = blocks.back().block;
            blocks.pop_back();
            use.kept_bytes -= bytes;
            ++use.reused;
        } else {
            block = system_allocate(bytes);
            if (block == nullptr && use.kept_bytes > 0) {
                release_all();
                block = system_allocate(bytes);
            }
            if (block == nullptr) return nullptr;
        }
        ++use.requests;
        use.total_bytes += bytes;
        use.in_use_bytes += bytes;
        use.peak_bytes = std::max(use.peak_bytes, use.in_use_bytes);
        return block;
    }

    void give_back(void* block, std::size_t bytes) noexcept {
        const std::lock_guard lock(mutex);
        use.in_use_bytes -= bytes;
        try {
            if (bytes <= max_kept_bytes) {
                free[class_of(bytes)].push_back({block, returned++});
                use.kept_bytes += bytes;
                while (use.kept_bytes > max_kept_bytes) release_oldest();
                return;
            }
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
            // No room to remember the block: it goes to the system.
        }
        std::free(block);
    }

    void release_oldest() noexcept {
        std::deque<Free>* oldest = nullptr;
        for (auto& blocks : free)
            if (!blocks.empty() &&
                (oldest == nullptr || blocks.front().since < oldest->front().since))
                oldest = &blocks;
        use.kept_bytes -= class_bytes(std::size_t(oldest - free.data()));
        std::free(oldest->front().block);
        oldest->pop_front();
    }

    void release_all() noexcept {
        for (auto& blocks : free) {
            for (const Free& each : blocks) std::free(each.block);
            blocks.clear();
        }
        use.kept_bytes = 0;
    }
};

Pool::Pool() : state_(std::make_shared<State>()) {}

PoolBlock Pool::take(std::size_t size_bytes) {
    const std::size_t bytes = size_class_bytes(size_bytes);
    void* block = state_->take(bytes);
    if (block == nullptr) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("no memory for {} bytes, {} bytes are in use", size_bytes,
                                       use().in_use_bytes),
                     .hint = "work on smaller pieces, or let go of arrays no longer needed"});
    }
    return {state_, block, bytes};
}

std::shared_ptr<void> Pool::allocate(std::size_t size_bytes) {
    auto block = std::make_shared<PoolBlock>(take(size_bytes));
    void* const memory = block->get();
    return {std::move(block), memory};
}

void PoolBlock::give_back() noexcept { state_->give_back(memory_, size_bytes_); }

PoolUse Pool::use() const {
    const std::lock_guard lock(state_->mutex);
    return state_->use;
}

void Pool::reset_peak() {
    const std::lock_guard lock(state_->mutex);
    state_->use.peak_bytes = state_->use.in_use_bytes;
}

void Pool::trim() {
    const std::lock_guard lock(state_->mutex);
    state_->release_all();
}

Pool& host_pool() {
    static Pool pool;
    return pool;
}

}  // namespace ricci::runtime
