// tests/emulation/touch.cpp – who touched an element when: threads that meet without a barrier
#include "tests/emulation/touch.h"

namespace ricci::emulation {
namespace {

Meeting meets_writer(const Cell& cell, const Moment& moment) noexcept {
    if (cell.written < moment.launch) return Meeting::none;
    if (cell.written < moment.block) return Meeting::with_other_writer;
    const bool is_another = cell.writer != moment.thread || cell.is_sum_of_threads;
    const bool meets = cell.written == moment.now && is_another;
    return meets ? Meeting::with_writer : Meeting::none;
}

Meeting meets_reader(const Cell& cell, const Moment& moment) noexcept {
    if (cell.read < moment.launch) return Meeting::none;
    if (cell.read < moment.block || cell.is_read_by_blocks) return Meeting::with_other_reader;
    const bool is_another = cell.reader != moment.thread || cell.is_read_by_threads;
    return cell.read == moment.now && is_another ? Meeting::with_reader : Meeting::none;
}

Meeting read(Cell& cell, const Moment& moment) noexcept {
    if (const Meeting meeting = meets_writer(cell, moment); meeting != Meeting::none)
        return meeting;
    if (cell.read == moment.now) {
        cell.is_read_by_threads |= cell.reader != moment.thread;
        return Meeting::none;
    }
    if (cell.read < moment.launch)
        cell.is_read_by_blocks = false;
    else if (cell.read < moment.block)
        cell.is_read_by_blocks = true;
    cell.is_read_by_threads = false;
    cell.read = moment.now;
    cell.reader = moment.thread;
    return Meeting::none;
}

Meeting write(Cell& cell, const Moment& moment) noexcept {
    if (const Meeting meeting = meets_writer(cell, moment); meeting != Meeting::none)
        return meeting;
    if (const Meeting meeting = meets_reader(cell, moment); meeting != Meeting::none)
        return meeting;
    cell.written = moment.now;
    cell.writer = moment.thread;
    cell.is_sum = cell.is_sum_of_threads = false;
    return Meeting::none;
}

/// Threads that only add to an element may meet there.
Meeting add(Cell& cell, const Moment& moment) noexcept {
    const bool is_sum = cell.is_sum && cell.written >= moment.launch;
    if (!is_sum) {
        const Meeting meeting = meets_writer(cell, moment);
        if (meeting != Meeting::none) return meeting;
    }
    if (const Meeting meeting = meets_reader(cell, moment); meeting != Meeting::none)
        return meeting;
    // Its own plain store before is still one that others may not add to.
    cell.is_sum = is_sum || cell.written < moment.now;
    // Another block's addition stays the one that readers of this block meet.
    if (is_sum && cell.written < moment.block) return Meeting::none;
    const bool is_another = cell.writer != moment.thread || cell.is_sum_of_threads;
    cell.is_sum_of_threads = is_sum && cell.written == moment.now && is_another;
    cell.written = moment.now;
    cell.writer = moment.thread;
    return Meeting::none;
}

/// To a shared array the block is all there is.
Moment within_block(Moment moment) noexcept {
    moment.launch = moment.block;
    return moment;
}

}  // namespace

Meeting touch_global(Cell& cell, const Moment& moment, rc_access access) noexcept {
    switch (access) {
        case rc_reading: return read(cell, moment);
        case rc_writing: return write(cell, moment);
        case rc_adding:  return add(cell, moment);
    }
    return Meeting::none;
}

Meeting touch_shared(Cell& cell, const Moment& moment, rc_access access) noexcept {
    const bool is_written = cell.written >= moment.block;
    if (is_written && cell.is_under_way) return Meeting::with_copy;
    if (access == rc_reading && !is_written) return Meeting::unwritten;
    cell.is_under_way = false;
    return touch_global(cell, within_block(moment), access);
}

Meeting begin_copy(Cell& cell, const Moment& moment) noexcept {
    const Meeting meeting = touch_shared(cell, moment, rc_writing);
    if (meeting == Meeting::none) cell.is_under_way = true;
    return meeting;
}

void end_copy(Cell& cell, const Moment& moment) noexcept {
    cell.is_under_way = false;
    cell.written = moment.now;
    cell.writer = moment.thread;
}

}  // namespace ricci::emulation
