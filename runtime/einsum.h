// runtime/einsum.h – numpy's einsum
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "runtime/function.h"

namespace ricci {

/// What `numpy.einsum` gives for the same text and arrays: `einsum("bij,bjk->bik", {A, B})`. Terms
/// may have `...`; without `->` the letters that occur once are the output's, in the order of the
/// alphabet; extents of 1 are repeated; the result has numpy's type. Compiled once for a text,
/// shapes and types. Throws: `syntax name shape type limit`.
[[nodiscard]] Array einsum(std::string_view subscripts, const std::vector<Array>& operands,
                           Device device = default_device());

/// The function that computes it for arrays of these shapes and types: of the operands in order.
[[nodiscard]] Function einsum_function(std::string_view subscripts,
                                       const std::vector<Array>& operands,
                                       Device device = default_device());

/// The same, `einsum("ij,jk->ik", A, B)`.
template <std::convertible_to<Array>... Arrays>
[[nodiscard]] Array einsum(std::string_view subscripts, const Array& first,
                           const Arrays&... others) {
    return einsum(subscripts, std::vector<Array>{first, Array(others)...});
}

}  // namespace ricci
