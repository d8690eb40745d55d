// tests/emulation/mark_stores.h – kernel text in which stores can be told from loads
#pragma once

#include <string>
#include <string_view>

namespace ricci::emulation {

/// Writes `y[i] = x` as `y.put(i) = x`, for the arrays that a kernel may write (RC_OUT, RC_SHARED),
/// so that `y[i]` itself is a load. C++ has no other way to tell one from the other where a load is
/// the argument of a template. Everything else stays as it is, and where it is.
[[nodiscard]] std::string mark_stores(std::string_view kernels);

}  // namespace ricci::emulation
