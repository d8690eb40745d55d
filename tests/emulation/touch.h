// tests/emulation/touch.h – who touched an element when: threads that meet without a barrier
#pragma once

#include <cstdint>

#include "tests/emulation/abi.h"

namespace ricci::emulation {

/// Points in time are numbers that grow with every block and every barrier, over all launches.
struct Moment {
    std::uint32_t launch = 1;  ///< the first of the launch
    std::uint32_t block = 1;   ///< the first of the block
    std::uint32_t now = 1;     ///< since the last barrier
    std::uint16_t thread = 0;
};

/// The last write and the last read of an element.
struct Cell {
    std::uint32_t written = 0;  ///< when; 0: never
    std::uint32_t read = 0;
    std::uint16_t writer = 0;
    std::uint16_t reader = 0;
    bool is_read_by_threads = false;  ///< by several since that barrier
    bool is_read_by_blocks = false;   ///< by other blocks of the launch too
    bool is_sum = false;              ///< the last write was an atomic addition
    bool is_sum_of_threads = false;   ///< several threads added since that barrier
    bool is_under_way = false;        ///< an asynchronous copy to it has not been waited for
};

enum class Meeting : std::uint8_t {
    none,
    with_writer,        ///< another thread wrote it since the last barrier
    with_reader,        ///< another thread read it since the last barrier
    with_other_writer,  ///< another block wrote it
    with_other_reader,  ///< another block read it
    with_copy,          ///< an asynchronous copy to it is under way
    unwritten,          ///< shared: nothing has written it
};

/// Of a global array: notes the access, or says whom it meets.
[[nodiscard]] Meeting touch_global(Cell& cell, const Moment& moment, rc_access access) noexcept;
/// Of a shared array; no block but this one counts.
[[nodiscard]] Meeting touch_shared(Cell& cell, const Moment& moment, rc_access access) noexcept;
/// The start of an asynchronous copy to a shared element, and its arrival in the same thread.
[[nodiscard]] Meeting begin_copy(Cell& cell, const Moment& moment) noexcept;
void end_copy(Cell& cell, const Moment& moment) noexcept;

}  // namespace ricci::emulation
