// codegen/passes.h – the ordered list of rewritings of a finished nest
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/target.h"
#include "codegen/nest.h"

namespace ricci::codegen {

/// Gets the nest's name, the stage (`lower`, then each pass), and the nest after it.
using DumpHook =
    std::function<void(std::string_view kernel, std::string_view stage, const Nest& nest)>;

/// One pass: a named free function.
struct Pass {
    std::string_view name;
    Nest (*run)(Nest nest, const Target& target);
};
[[nodiscard]] const std::vector<Pass>& passes();

/// Runs every pass in order; verifies the nest before the first and after each.
[[nodiscard]] Nest run_passes(Nest nest, const Target& target, const DumpHook& dump = {});

/// Folds constant bounds and divisions, writes single iterations out, and few that divide by
/// numbers of their own, drops empty loops and guards that always hold.
[[nodiscard]] Nest simplify(Nest nest, const Target& target);

/// CPU: loops around conditions that compare their variable with data run over the points alone for
/// which these hold.
[[nodiscard]] Nest data_bounds(Nest nest, const Target& target);

/// The largest whole exponent that becomes multiplications, of constants too (codegen/cpu): what is
/// squared three times is off by up to seven units in the last place, its inverse by half a one
/// more.
inline constexpr std::int64_t most_multiplied_exponent = 8;
/// Multiplies squares out where bounds keep the exponent of a power a small integer.
[[nodiscard]] Nest small_powers(Nest nest, const Target& target);

/// CPU: computes integers of vector loops in 32 bits where bounds and types keep them there.
[[nodiscard]] Nest narrow_integers(Nest nest, const Target& target);

/// CPU with AVX-512: what far lanes read or write side by side as rows, which emitters transpose.
[[nodiscard]] Nest rows_of_lanes(Nest nest, const Target& target);

/// CPU: asks for lines of large arrays that a serial loop comes to some turns later, and after its
/// last turn in the next one of the loop around it; in place of rows that a cache still holds from
/// an earlier loop, for those of the next turn or task. Nothing where the nest `asks_ahead` itself.
[[nodiscard]] Nest prefetch_streams(Nest nest, const Target& target);

/// CPU with AVX2: vectors of functions that stand side by side become one of several registers, so
/// that their operations take turns.
[[nodiscard]] Nest interleave_vectors(Nest nest, const Target& target);

}  // namespace ricci::codegen
