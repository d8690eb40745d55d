// tests/emulation/mutants.h – plans with one mistake
#pragma once

#include <string>
#include <vector>

#include "codegen/plan.h"

namespace ricci::tests {

/// What is wrong with a mutant.
enum class Mistake : std::uint8_t {
    no_barrier,     ///< a Barrier is missing
    early_wait,     ///< a Wait leaves one group more under way
    no_commit,      ///< a Commit is missing
    long_loop,      ///< a loop, or the mask of a vector, goes one further
    short_loop,     ///< ... or ends one earlier
    no_guard,       ///< a body is done whatever its Guard says
    narrow_fold,    ///< a Fold is over half as many threads
    narrow_shared,  ///< a shared array has half its elements
    no_start,       ///< an accumulator does not start from a constant
    no_combine,     ///< a Store overwrites what it should combine with
    moved_store,    ///< a Store goes to the next element
    moved_load,     ///< a Load comes from the next element
    stride_store,   ///< a Store moves by one more with one of its variables
    stride_load,    ///< a Load moves by one more with one of its variables
    one_block,      ///< a Store does not move with the blocks
};
inline constexpr int mistakes = int(Mistake::one_block) + 1;
[[nodiscard]] std::string_view name(Mistake mistake) noexcept;

struct Mutant {
    Mistake mistake;
    std::string text;  ///< `no_barrier 2 of k0_y`
    codegen::Plan plan;
};

/// All plans that differ from this one by one mistake. Some compute the same: an array may be as
/// wide as it is for a reason that these values do not show.
[[nodiscard]] std::vector<Mutant> mutants(const codegen::Plan& plan);

}  // namespace ricci::tests
