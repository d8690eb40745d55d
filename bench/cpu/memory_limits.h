// bench/cpu/memory_limits.h – what memory can do, measured by loops that do nothing else
#pragma once

namespace bench {

/// Seconds to read and write `bytes` in all (half of them read), past the caches where that is
/// faster.
double copy_seconds(double bytes, int threads);
/// Seconds to read `bytes`.
double read_seconds(double bytes, int threads);

}  // namespace bench
