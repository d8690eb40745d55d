// tests/emulation/launch.cpp – runs the blocks of one launch, one after the other, threads as
// fibres
//
// Compiled without sanitizers. What runs on the fibres takes no memory and calls nothing that a
// sanitizer intercepts, but when the kernel has failed: to ThreadSanitizer fibres are threads.
#include "tests/emulation/launch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <sys/mman.h>

#include "base/error.h"
#include "base/text.h"

extern "C" {
void __asan_poison_memory_region(const volatile void* address, std::size_t size)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* address, std::size_t size)
    __attribute__((weak));
}

namespace ricci::emulation {
namespace {

// The driver's errors.
constexpr int illegal_address = 700;
constexpr int misaligned_address = 716;
constexpr int launch_failed = 719;

constexpr int warp = 32;
constexpr std::size_t most_shared_arrays = 64;
constexpr std::size_t zone_bytes = 256;  // between shared arrays, so that none ends in another
constexpr std::uint32_t last_moment = 1U << 31;

/// The processor while it runs a launch: what the plain functions that kernels call find.
Processor* running = nullptr;

std::string ranges(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t begin = 0; begin < numbers.size();) {
        std::size_t end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        if (!text.empty()) text += ", ";
        text += end - begin == 1 ? format("{}", numbers[begin])
                                 : format("{} to {}", numbers[begin], numbers[end - 1]);
        begin = end;
    }
    return (numbers.size() == 1 ? "thread " : "threads ") + text;
}

void fill(char* to, std::size_t bytes, unsigned char value) {
    for (std::size_t n = 0; n < bytes; ++n) to[n] = static_cast<char>(value);
}

}  // namespace

Processor& Processor::instance() {
    static Processor processor;
    return processor;
}

Processor::Processor() {
    device_ = {
        .place = &place_,
        .touch_global = [](const rc_array* array, long long at, int count,
                           rc_access access) { running->touch(array, at, count, access, false); },
        .touch_shared = [](const rc_array* array, long long at, int count,
                           rc_access access) { running->touch(array, at, count, access, true); },
        .declare_shared =
            [](const char* name, long long byte_offset, long long count, int element_bytes) {
                return running->declare(name, byte_offset, count, element_bytes);
            },
        .outside_local =
            [](const char* name, long long at, long long count) {
                running->fail(illegal_address,
                              format("{} names element {} of its own array {}, which has {}",
                                     running->who(), at, name, count));
            },
        .barrier = [](int line) { running->wait(State::at_barrier, line); },
        .exchange = [](unsigned long long bits, int mask,
                       int line) { return running->exchange(bits, mask, line); },
        .copy_begin =
            [](const rc_array* to, long long at, const rc_array* from, long long from_at, int count,
               void (*move)(char* to, const char* from, int bytes)) {
                running->begin_copy({to, at, count, nullptr, move}, from, from_at);
            },
        .copy_commit =
            [] {
                Thread& thread = running->threads_[std::size_t(running->place_.thread)];
                thread.groups.push_back(thread.copies.size());
            },
        .copy_wait = [](int pending) { running->wait_for_copies(pending); },
        .poison = &poison_,
    };
}

std::optional<Fault> Processor::run(const Launch& launch, const Manner& manner) {
    RICCI_ASSERT(running == nullptr, "one launch at a time");
    running = this;
    launch_ = &launch;
    manner_ = manner;
    random_.seed(manner.seed);
    fault_.reset();
    // Integers have no value that shows in every use of it: two take turns.
    poison_ = manner.seed % 2 == 0 ? 0xFF : 0x7F;
    RICCI_ASSERT(moment_.now < last_moment, "few enough blocks for one process");
    moment_.launch = ++moment_.now;
    block_moments_.clear();
    block_order_.resize(std::size_t(launch.blocks));
    std::iota(block_order_.begin(), block_order_.end(), 0);
    if (manner.order == Order::random)
        std::shuffle(block_order_.begin(), block_order_.end(), random_);
    threads_.resize(std::size_t(launch.threads));
    for (Thread& thread : threads_) {
        // Enough, that no fibre of a test under ThreadSanitizer needs more.
        thread.copies.reserve(has_thread_sanitizer() ? 1024 : 16);
        thread.groups.reserve(has_thread_sanitizer() ? 1024 : 16);
    }
    for (const std::int64_t block : block_order_) {
        if (fault_) break;
        run_block(block);
    }
    fibres_.join();
    ++moment_.now;
    running = nullptr;
    return std::exchange(fault_, std::nullopt);
}

void Processor::run_block(std::int64_t block) {
    place_.block = int(block);
    moment_.block = ++moment_.now;
    block_moments_.push_back(moment_.block);
    prepare_shared();
    for (Thread& thread : threads_) {
        thread.state = State::ready;
        thread.exchanges = 0;
        thread.copies.clear();
        thread.arrived = 0;
        thread.groups.clear();
        thread.waited = 0;
    }
    fibres_.start(threads_.size(), &Processor::body);
    std::vector<int> ready;
    while (!fault_) {
        ready.clear();
        for (std::size_t n = 0; n < threads_.size(); ++n)
            if (threads_[n].state == State::ready) ready.push_back(int(n));
        arrange(ready);
        for (const int thread : ready) {
            run_thread(thread);
            if (fault_) return;
        }
        const auto has_ended = [](const Thread& each) { return each.state == State::ended; };
        if (std::ranges::all_of(threads_, has_ended)) return;
        if (!release_barrier() && !release_exchanges()) report_divergence();
    }
}

/// Whole warps keep together in one half of the random orders: so they run on a GPU most often.
void Processor::arrange(std::vector<int>& numbers) {
    if (manner_.order == Order::ascending) return;
    std::shuffle(numbers.begin(), numbers.end(), random_);
    if (random_() % 2 == 0) return;
    const std::uint64_t key = random_();
    const auto place = [&](int thread) {
        return (std::uint64_t(thread / warp) * 0x9E3779B97F4A7C15 ^ key);
    };
    std::ranges::stable_sort(numbers, {}, place);
}

void Processor::run_thread(int thread) {
    place_.thread = thread;
    moment_.thread = std::uint16_t(thread);
    fibres_.enter(std::size_t(thread));
}

bool Processor::release_barrier() {
    const int line = threads_[0].line;
    const auto waits = [&](const Thread& each) {
        return each.state == State::at_barrier && each.line == line;
    };
    if (!std::ranges::all_of(threads_, waits)) return false;
    for (Thread& thread : threads_) thread.state = State::ready;
    ++moment_.now;
    ++barriers_;
    return true;
}

bool Processor::release_exchanges() {
    bool is_any = false;
    for (std::size_t first = 0; first < threads_.size(); first += warp) {
        const std::size_t end = std::min(first + warp, threads_.size());
        const auto is_together = [&](const Thread& each) {
            return each.state == State::at_exchange && each.line == threads_[first].line;
        };
        if (end - first < warp) continue;
        if (!std::all_of(threads_.begin() + std::ptrdiff_t(first),
                         threads_.begin() + std::ptrdiff_t(end), is_together))
            continue;
        for (std::size_t n = first; n < end; ++n) threads_[n].state = State::ready;
        is_any = true;
    }
    return is_any;
}

/// Nobody can go on: says who waits where.
void Processor::report_divergence() {
    struct Group {
        State state;
        int line;
        std::vector<int> numbers;
    };
    std::vector<Group> groups;
    for (std::size_t n = 0; n < threads_.size(); ++n) {
        const Thread& thread = threads_[n];
        const int line = thread.state == State::ended ? 0 : thread.line;
        const auto found = std::ranges::find_if(groups, [&](const Group& group) {
            return group.state == thread.state && group.line == line;
        });
        if (found == groups.end())
            groups.push_back({thread.state, line, {int(n)}});
        else
            found->numbers.push_back(int(n));
    }
    std::string text =
        format("{}, block {}: not all threads arrive:", launch_->entry->name, place_.block);
    for (const Group& group : groups) {
        const std::string_view what = group.state == State::ended        ? "at the end"
                                      : group.state == State::at_barrier ? "at the barrier"
                                                                         : "at the exchange";
        text += format("\n  {} {}", ranges(group.numbers), what);
        if (group.line != 0) text += format(" of line {}", group.line);
    }
    fault_ = Fault{launch_failed, std::move(text)};
}

/// Memory for the shared arrays of a block. To ThreadSanitizer, memory that two blocks use one
/// after the other is a race: it gets a new one each time.
void Processor::prepare_shared() {
    const std::size_t needed =
        std::size_t(launch_->shared_bytes) + (most_shared_arrays + 1) * zone_bytes;
    if (needed > arena_bytes_ || has_thread_sanitizer()) {
        // What comes to lie there next is not poisoned.
        if (arena_ != nullptr && has_address_sanitizer())
            __asan_unpoison_memory_region(arena_, arena_bytes_);
        if (arena_ != nullptr) munmap(arena_, arena_bytes_);
        void* memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        RICCI_ASSERT(memory != MAP_FAILED, "shared memory of a block");
        arena_ = static_cast<char*>(memory);
        arena_bytes_ = needed;
    }
    if (has_address_sanitizer()) __asan_poison_memory_region(arena_, arena_bytes_);
    arena_used_ = zone_bytes;
    shared_.clear();
    shared_.reserve(most_shared_arrays);
    const auto cells = std::size_t(launch_->shared_bytes);
    if (shared_cells_.size() < cells) shared_cells_.resize(cells);
    shared_cells_used_ = 0;
}

// --- on the fibres -------------------------------------------------------------------------------

void Processor::body() {
    Processor& self = *running;
    self.fibres_.begin();
    self.launch_->entry->call(const_cast<rc_array*>(self.launch_->arrays.data()));
    Thread& thread = self.threads_[std::size_t(self.place_.thread)];
    self.arrive_copies(thread, thread.copies.size());
    thread.state = State::ended;
    self.fibres_.leave(true);
}

void Processor::wait(State state, int line) {
    const std::uint64_t barrier = barriers_;
    Thread& thread = threads_[std::size_t(place_.thread)];
    thread.state = state;
    thread.line = line;
    if (state == State::at_barrier) fibres_.arrive(barrier);
    fibres_.leave(false);
    if (state == State::at_barrier) fibres_.pass(barrier);
}

unsigned long long Processor::exchange(unsigned long long bits, int mask, int line) {
    const int number = place_.thread;
    Thread& thread = threads_[std::size_t(number)];
    if (mask < 0 || mask >= warp)
        fail(launch_failed,
             format("{} exchanges with mask {}, of a warp of {}", who(), mask, warp));
    // The other may be at its next exchange before this one runs again, but not at the one after.
    const std::size_t turn = thread.exchanges++ % 2;
    thread.bits[turn] = bits;
    wait(State::at_exchange, line);
    return threads_[std::size_t(number ^ mask)].bits[turn];
}

void Processor::check_place(const rc_array* array, long long at, int count, rc_access access) {
    if (at < array->first || at > array->last - count) {
        const std::string_view verb = access == rc_reading ? "reads" : "writes";
        const std::string what =
            count == 1 ? format("element {}", at) : format("elements {} to {}", at, at + count - 1);
        const std::string extent =
            array->first >= array->last ? std::string("which points into no memory of the device")
            : array->first == 0         ? format("which has {}", array->last)
                                : format("which has {} to {}", array->first, array->last - 1);
        fail(illegal_address, format("{} {} {} of {}, {}", who(), verb, what, array->name, extent));
    }
    const auto bytes = std::uintptr_t(count) * std::uintptr_t(array->element_bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(array->data) +
                         std::uintptr_t(at) * std::uintptr_t(array->element_bytes);
    if (address % bytes != 0)
        fail(misaligned_address,
             format("{} accesses {} bytes at element {} of {}, {} bytes after a multiple of {}",
                    who(), bytes, at, array->name, address % bytes, bytes));
}

void Processor::touch(const rc_array* array, long long at, int count, rc_access access,
                      bool is_shared) {
    check_place(array, at, count, access);
    if (array->cells == nullptr) return;
    auto* cells = static_cast<Cell*>(array->cells);
    const long long step = array->element_bytes / array->unit_bytes;
    long long place = array->base / array->unit_bytes + at * step;
    for (int n = 0; n < count; ++n, place += step) {
        Cell& cell = cells[place];
        const Meeting meeting =
            is_shared ? touch_shared(cell, moment_, access) : touch_global(cell, moment_, access);
        if (meeting != Meeting::none) meet(array, at + n, access, meeting, cell);
    }
}

void Processor::meet(const rc_array* array, long long at, rc_access access, Meeting meeting,
                     const Cell& cell) {
    std::string text = format("{} {} element {} of {}, which ", who(),
                              access == rc_reading ? "reads" : "writes", at, array->name);
    switch (meeting) {
        case Meeting::none: break;
        case Meeting::with_writer:
            text += cell.is_sum_of_threads
                        ? std::string("several threads added to since the last barrier")
                        : format("thread {} wrote since the last barrier", cell.writer);
            break;
        case Meeting::with_reader:
            text += cell.is_read_by_threads
                        ? std::string("several threads read since the last barrier")
                        : format("thread {} read since the last barrier", cell.reader);
            break;
        case Meeting::with_other_writer:
            text += format("block {} wrote", block_at(cell.written));
            break;
        case Meeting::with_other_reader:
            text += cell.read < moment_.block ? format("block {} read", block_at(cell.read))
                                              : std::string("another block read");
            break;
        case Meeting::with_copy:
            text += format("an asynchronous copy of thread {} is on its way to", cell.writer);
            break;
        case Meeting::unwritten: text += "nothing has written"; break;
    }
    fail(launch_failed, std::move(text));
}

std::int64_t Processor::block_at(std::uint32_t moment) const {
    const auto after = std::ranges::upper_bound(block_moments_, moment);
    return block_order_[std::size_t(after - block_moments_.begin()) - 1];
}

std::string Processor::who() const {
    return format("{}, block {}, thread {}", launch_->entry->name, place_.block, place_.thread);
}

void Processor::fail(int result, std::string text) {
    fault_ = Fault{result, std::move(text)};
    fibres_.leave(true);
    __builtin_unreachable();
}

rc_array* Processor::declare(const char* name, long long offset, long long count, int bytes) {
    for (Shared& shared : shared_) {
        if (shared.offset != offset) continue;
        if (shared.array.last == count && shared.array.element_bytes == bytes) return &shared.array;
        fail(launch_failed,
             format("{} sees {} where others see {}", who(), name, shared.array.name));
    }
    const long long end = offset + count * bytes;
    if (offset < 0 || end > launch_->shared_bytes)
        fail(illegal_address, format("{}: shared {} ends at byte {} of {}", who(), name, end,
                                     launch_->shared_bytes));
    if (offset % 16 != 0)
        fail(misaligned_address, format("{}: shared {} begins at byte {}", who(), name, offset));
    for (const Shared& shared : shared_) {
        const long long other_end = shared.offset + shared.array.last * shared.array.element_bytes;
        if (offset < other_end && shared.offset < end)
            fail(launch_failed,
                 format("{}: shared {} and {} overlap", who(), name, shared.array.name));
    }
    if (shared_.size() == most_shared_arrays)
        fail(launch_failed, format("more than {} shared arrays", most_shared_arrays));
    char* data = arena_ + arena_used_;
    const auto size = std::size_t(count) * std::size_t(bytes);
    if (has_address_sanitizer()) __asan_unpoison_memory_region(data, size);
    fill(data, size, 0xFF);
    arena_used_ += (size + 15) / 16 * 16 + zone_bytes - 16;
    shared_.push_back({.array = {.data = data,
                                 .name = name,
                                 .first = 0,
                                 .last = count,
                                 .element_bytes = bytes,
                                 .cells = shared_cells_.data() + shared_cells_used_,
                                 .base = 0,
                                 .unit_bytes = bytes},
                       .offset = offset});
    shared_cells_used_ += std::size_t(count);
    return &shared_.back().array;
}

void Processor::begin_copy(const Copy& copy, const rc_array* from, long long from_at) {
    // Arrays without cells are not checked: a sanitizer looks at them.
    if (from->cells != nullptr) {
        touch(from, from_at, copy.count, rc_reading, false);
        check_place(copy.to, copy.at, copy.count, rc_writing);
        auto* cells = static_cast<Cell*>(copy.to->cells);
        for (int n = 0; n < copy.count; ++n) {
            Cell& cell = cells[copy.at + n];
            const Meeting meeting = emulation::begin_copy(cell, moment_);
            if (meeting != Meeting::none) meet(copy.to, copy.at + n, rc_writing, meeting, cell);
        }
    }
    Thread& thread = threads_[std::size_t(place_.thread)];
    thread.copies.push_back(copy);
    thread.copies.back().from = from->data + from_at * from->element_bytes;
    if (manner_.copies == Copies::eager)
        copy.move(copy.to->data + copy.at * copy.to->element_bytes, thread.copies.back().from,
                  copy.count * copy.to->element_bytes);
}

void Processor::wait_for_copies(int pending) {
    Thread& thread = threads_[std::size_t(place_.thread)];
    if (thread.groups.size() - thread.waited <= std::size_t(pending)) return;
    thread.waited = thread.groups.size() - std::size_t(pending);
    arrive_copies(thread, thread.groups[thread.waited - 1]);
    if (thread.waited < thread.groups.size() || thread.arrived < thread.copies.size()) return;
    thread.groups.clear();
    thread.copies.clear();
    thread.waited = thread.arrived = 0;
}

/// The copies of a thread up to that one.
void Processor::arrive_copies(Thread& thread, std::size_t end) {
    for (; thread.arrived < end; ++thread.arrived) {
        const Copy& copy = thread.copies[thread.arrived];
        if (manner_.copies == Copies::lazy)
            copy.move(copy.to->data + copy.at * copy.to->element_bytes, copy.from,
                      copy.count * copy.to->element_bytes);
        auto* cells = static_cast<Cell*>(copy.to->cells);
        for (int n = 0; n < copy.count; ++n) end_copy(cells[copy.at + n], moment_);
    }
}

}  // namespace ricci::emulation
