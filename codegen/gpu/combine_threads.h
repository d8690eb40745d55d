// codegen/gpu/combine_threads.h – partial results of threads, combined
#pragma once

#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

/// A result as values: what was reduced and, for argmax and argmin, its place.
struct Combined {
    Value value;
    Value place = nullptr;

    /// What Let 0 stands for, and the value beside it where the kernel asks for that.
    void name_in(const Kernel& kernel, Substitution& here) const;
};

/// One result in an accumulator, as values.
[[nodiscard]] Combined in_registers(const Kernel& kernel, const Accumulator& accumulator,
                                    const AffineForm& element);

/// The elements [0, count) of an accumulator combined into the first, by halves where they are a
/// power of two. Of argmax and argmin the order does not matter.
[[nodiscard]] Body combine_elements(Kernel& kernel, const Accumulator& accumulator,
                                    std::int64_t count);

/// Combines what each of `width` neighbouring threads (a power of two, at most 1024; groups begin
/// at multiples of `width`) holds in element 0 of the accumulator: a fold in each warp, then one
/// over what the warps left in shared memory. `block` is the number of threads. Every thread gets
/// the result. Barriers stand around the shared memory: it may be done again at once.
[[nodiscard]] Combined combine_neighbours(Kernel& kernel, Body& body,
                                          const Accumulator& accumulator, VarId thread,
                                          std::int64_t width, std::int64_t block);

/// Threads in `rows` rows of `columns` (both powers of two), each with `elements` in its
/// accumulator: combines the rows into those of row 0 through shared memory, by halves. `row` and
/// `column` are the thread's. The body ends with what row 0 has in its accumulator.
[[nodiscard]] Body combine_rows(Kernel& kernel, const Accumulator& accumulator,
                                std::int64_t elements, const AffineForm& row, std::int64_t rows,
                                const AffineForm& column, std::int64_t columns);

}  // namespace ricci::codegen::gpu
