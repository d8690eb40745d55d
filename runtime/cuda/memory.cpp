// runtime/cuda/memory.cpp – segments, their pieces, and the free ones by size
#include "runtime/cuda/memory.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/gpu.h"

namespace ricci::cuda {

using runtime::PoolUse;

/// A part of a segment, in a list of neighbours.
struct Block::Piece {
    DevicePointer pointer = 0;
    std::size_t size = 0;
    Stream stream = nullptr;
    bool is_small = false;
    bool is_free = false;
    Piece* before = nullptr;
    Piece* after = nullptr;

    [[nodiscard]] bool is_segment() const noexcept { return before == nullptr && after == nullptr; }
};

namespace {

constexpr std::size_t granule_bytes = 512;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t most_small_bytes = mebibyte;
constexpr std::size_t small_segment_bytes = 2 * mebibyte;
constexpr std::size_t most_medium_bytes = 10 * mebibyte;
constexpr std::size_t medium_segment_bytes = 20 * mebibyte;
constexpr std::size_t large_granule_bytes = 2 * mebibyte;

std::size_t rounded(std::size_t bytes, std::size_t granule) noexcept {
    return (bytes + granule - 1) / granule * granule;
}

std::size_t segment_bytes_for(std::size_t bytes) noexcept {
    if (bytes <= most_small_bytes) return small_segment_bytes;
    if (bytes <= most_medium_bytes) return medium_segment_bytes;
    return rounded(bytes, large_granule_bytes);
}

}  // namespace

struct Memory::State {
    using Piece = Block::Piece;

    /// The smallest first, of equal ones the lowest address, so that runs are alike.
    struct BySize {
        bool operator()(const Piece* a, const Piece* b) const noexcept {
            return std::pair(a->size, a->pointer) < std::pair(b->size, b->pointer);
        }
    };
    using FreeSet = std::set<Piece*, BySize>;
    /// Returned, but other streams may still be using it.
    struct Pending {
        Piece* piece;
        std::vector<Event> events;
    };

    State(const Driver& driver_table, Gpu& owner) : driver(driver_table), gpu(owner) {}

    FreeSet& free_set(const Piece& piece) { return free[{piece.stream, piece.is_small}]; }

    /// Puts a piece among the free ones, together with free neighbours.
    void insert_free(Piece* piece) {
        piece->is_free = true;
        if (piece->before != nullptr && piece->before->is_free) piece = merge(piece->before, piece);
        if (piece->after != nullptr && piece->after->is_free) piece = merge(piece, piece->after);
        free_set(*piece).insert(piece);
    }
    /// One piece of two neighbours, of which at least one stands among the free ones.
    Piece* merge(Piece* first, Piece* second) {
        free_set(*first).erase(first);
        free_set(*second).erase(second);
        first->size += second->size;
        first->after = second->after;
        if (first->after != nullptr) first->after->before = first;
        pieces.erase(second->pointer);
        return first;
    }
    /// Cuts what is more than `bytes` off a piece that is taken, where the rest is of use.
    void split(Piece* piece, std::size_t bytes) {
        const std::size_t rest = piece->size - bytes;
        if (rest < (piece->is_small ? granule_bytes : most_small_bytes + granule_bytes)) return;
        auto cut = std::make_unique<Piece>();
        cut->pointer = piece->pointer + bytes;
        cut->size = rest;
        cut->stream = piece->stream;
        cut->is_small = piece->is_small;
        cut->before = piece;
        cut->after = piece->after;
        Piece* const other = cut.get();
        pieces.emplace(other->pointer, std::move(cut));
        if (other->after != nullptr) other->after->before = other;
        piece->after = other;
        piece->size = bytes;
        other->is_free = true;
        free_set(*other).insert(other);
    }
    Piece* find_free(std::size_t bytes, Stream stream, bool is_small) {
        FreeSet& candidates = free[{stream, is_small}];
        Piece wanted;
        wanted.size = bytes;
        const auto found = candidates.lower_bound(&wanted);
        if (found == candidates.end()) return nullptr;
        Piece* const piece = *found;
        candidates.erase(found);
        piece->is_free = false;
        return piece;
    }
    Piece* new_segment(std::size_t bytes, Stream stream, bool is_small, Result& result) {
        DevicePointer pointer = 0;
        result = driver.cuMemAlloc_v2(&pointer, bytes);
        if (result != success) return nullptr;
        auto piece = std::make_unique<Piece>();
        piece->pointer = pointer;
        piece->size = bytes;
        piece->stream = stream;
        piece->is_small = is_small;
        segment_bytes += bytes;
        return pieces.emplace(pointer, std::move(piece)).first->second.get();
    }
    void insert_pending(Piece* piece, const std::vector<Stream>& streams) {
        // Arrays may go on any thread.
        if (!gpu.try_make_current()) return;
        Pending returned{.piece = piece, .events = {}};
        for (const Stream stream : streams) {
            if (const Event event = record(stream))
                returned.events.push_back(event);
            else if (driver.cuStreamSynchronize(stream) != success)
                return;  // whether it is still used cannot be known: it is not handed out again
        }
        pending.push_back(std::move(returned));
    }
    /// Takes in what other streams are done with; with `waits`, all of it.
    void collect_pending(bool waits) {
        for (auto entry = pending.begin(); entry != pending.end();) {
            const bool is_done = std::ranges::all_of(entry->events, [&](Event event) {
                if (waits) return driver.cuEventSynchronize(event) == success;
                return driver.cuEventQuery(event) == success;
            });
            if (!is_done) {
                ++entry;
                continue;
            }
            events.insert(events.end(), entry->events.begin(), entry->events.end());
            insert_free(entry->piece);
            entry = pending.erase(entry);
        }
    }
    void release_free_segments() {
        for (auto& [key, set] : free) {
            for (auto at = set.begin(); at != set.end();) {
                Piece* const piece = *at;
                if (!piece->is_segment()) {
                    ++at;
                    continue;
                }
                at = set.erase(at);
                segment_bytes -= piece->size;
                (void)driver.cuMemFree_v2(piece->pointer);
                pieces.erase(piece->pointer);
            }
        }
    }
    /// An event of its own, recorded on the stream; null when the driver gives none.
    Event record(Stream stream) {
        Event event = nullptr;
        if (!events.empty()) {
            event = events.back();
            events.pop_back();
        } else if (driver.cuEventCreate(&event, event_disable_timing) != success) {
            return nullptr;
        }
        if (driver.cuEventRecord(event, stream) == success) return event;
        (void)driver.cuEventDestroy_v2(event);
        return nullptr;
    }
    [[noreturn]] void fail_allocation(Result result, std::size_t bytes) const {
        if (result != error_out_of_memory)
            fail(result, format("allocating {} bytes on the GPU", bytes));
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        if (driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) != success) total_bytes = 0;
        throw Error({.kind = ErrorKind::device,
                     .message = format("no memory for {} bytes on the GPU: {} bytes are in use, {} "
                                       "of {} are free",
                                       bytes, use.in_use_bytes, free_bytes, total_bytes),
                     .hint = "work on smaller pieces, or let go of arrays no longer needed"});
    }

    const Driver& driver;
    Gpu& gpu;  ///< valid until closed
    std::mutex mutex;
    std::atomic<bool> is_closed = false;
    std::map<DevicePointer, std::unique_ptr<Piece>> pieces;
    std::map<std::pair<Stream, bool>, FreeSet> free;
    std::list<Pending> pending;
    std::vector<Event> events;  ///< free ones
    std::size_t segment_bytes = 0;
    PoolUse use;
};

Block::Block(std::shared_ptr<Memory> memory, Piece& piece, std::size_t size_bytes)
    : memory_(std::move(memory)),
      piece_(&piece),
      pointer_(piece.pointer),
      size_bytes_(size_bytes) {}

Block::~Block() { memory_->give_back(*piece_, other_streams_); }

bool Block::is_lost() const noexcept { return memory_->state_->is_closed; }

void Block::use_on(Stream stream) {
    const std::lock_guard lock(memory_->state_->mutex);
    if (stream != piece_->stream &&
        std::ranges::find(other_streams_, stream) == other_streams_.end())
        other_streams_.push_back(stream);
}

Memory::Memory(const Driver& driver, Gpu& gpu) : state_(std::make_unique<State>(driver, gpu)) {}
Memory::~Memory() = default;

std::shared_ptr<Memory> Memory::make(const Driver& driver, Gpu& gpu) {
    return std::shared_ptr<Memory>(new Memory(driver, gpu));
}

BlockPtr Memory::allocate(std::size_t size_bytes, Stream stream) {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    RICCI_ASSERT(!state.is_closed, "memory of a device that was given up is asked for");
    const std::size_t bytes = rounded(std::max(size_bytes, std::size_t{1}), granule_bytes);
    const bool is_small = bytes <= most_small_bytes;
    if (!state.pending.empty()) state.collect_pending(false);
    Block::Piece* piece = state.find_free(bytes, stream, is_small);
    if (piece != nullptr) {
        ++state.use.reused;
    } else {
        const std::size_t wanted = segment_bytes_for(bytes);
        Result result = success;
        piece = state.new_segment(wanted, stream, is_small, result);
        if (piece == nullptr && result == error_out_of_memory) {
            state.collect_pending(true);
            state.release_free_segments();
            piece = state.new_segment(wanted, stream, is_small, result);
        }
        if (piece == nullptr) state.fail_allocation(result, size_bytes);
    }
    state.split(piece, bytes);
    ++state.use.requests;
    state.use.total_bytes += piece->size;
    state.use.in_use_bytes += piece->size;
    state.use.peak_bytes = std::max(state.use.peak_bytes, state.use.in_use_bytes);
    return BlockPtr(new Block(shared_from_this(), *piece, size_bytes));
}

void Memory::give_back(Block::Piece& piece, const std::vector<Stream>& other_streams) noexcept {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.is_closed) return;
    state.use.in_use_bytes -= piece.size;
    try {
        if (other_streams.empty())
            state.insert_free(&piece);
        else
            state.insert_pending(&piece, other_streams);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // No room to remember the piece: it is not handed out again.
    }
}

PoolUse Memory::use() const {
    const std::lock_guard lock(state_->mutex);
    PoolUse use = state_->use;
    use.kept_bytes = state_->segment_bytes - use.in_use_bytes;
    return use;
}

void Memory::reset_peak() {
    const std::lock_guard lock(state_->mutex);
    state_->use.peak_bytes = state_->use.in_use_bytes;
}

void Memory::trim() {
    const std::lock_guard lock(state_->mutex);
    if (state_->is_closed) return;
    state_->collect_pending(true);
    state_->release_free_segments();
}

void Memory::close() noexcept {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.is_closed.exchange(true)) return;
    for (const State::Pending& entry : state.pending)
        for (const Event event : entry.events) (void)state.driver.cuEventDestroy_v2(event);
    for (const Event event : state.events) (void)state.driver.cuEventDestroy_v2(event);
    // The first piece of a segment begins it.
    for (const auto& [pointer, piece] : state.pieces)
        if (piece->before == nullptr) (void)state.driver.cuMemFree_v2(pointer);
    state.pending.clear();
    state.events.clear();
    state.free.clear();
}

}  // namespace ricci::cuda
