// runtime/cuda/error.h – results of the driver as errors that say what was tried
#pragma once

#include <string>
#include <utility>

#include "base/text.h"
#include "runtime/cuda/api.h"

namespace ricci::cuda {

/// Throws: `device` with what was tried, and the driver's own words for the result.
[[noreturn]] void fail(Result result, const std::string& tried);

/// Throws unless the call succeeded: `check(cuMemAlloc(...), "allocating {} bytes", bytes)`.
/// Nothing is formatted before that.
template <class... Args>
void check(Result result, fmt::format_string<Args...> tried, Args&&... args) {
    if (result != success) [[unlikely]]
        fail(result, format(tried, std::forward<Args>(args)...));
}

}  // namespace ricci::cuda
