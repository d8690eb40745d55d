// base/env.h – the environment variables: the only reader of the environment
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.h"

/// Each accessor reads the environment at every call, so that a program may set a variable before
/// it first uses Ricci; callers on hot paths keep the value. A variable set to the empty text
/// counts as not set, but for RICCI_CACHE_DIR.
namespace ricci::env {

struct Variable {
    std::string_view name;
    std::string_view meaning;
    std::string_view fallback;  ///< what holds when the variable is not set
};

/// All variables Ricci reads, for the README and `ricci info`.
[[nodiscard]] std::span<const Variable> all_variables() noexcept;
/// The text of one of `all_variables`, for display; nothing when it is not set.
[[nodiscard]] std::optional<std::string> text(std::string_view name);

/// RICCI_LOG, as written.
[[nodiscard]] std::optional<std::string> log_level();
/// RICCI_DUMP, split at commas.
[[nodiscard]] std::vector<std::string> dump_stages();
/// RICCI_DUMP_DIR; nothing: dumps go to stderr.
[[nodiscard]] std::optional<std::string> dump_directory();
/// RICCI_CACHE_DIR, else the user's cache directory; nothing: kernels are not kept on disk.
[[nodiscard]] std::optional<std::string> cache_directory();
/// RICCI_CACHE_SIZE in bytes (`256M`, `2G`).
/// Throws: `limit` when the text is no size.
[[nodiscard]] std::int64_t cache_size_bytes();
/// RICCI_DEVICE, as written.
[[nodiscard]] std::optional<std::string> device();
/// RICCI_NUM_THREADS.
/// Throws: `limit` when the text is no number from 1 to 1024.
[[nodiscard]] std::optional<int> thread_count();
/// RICCI_TIMER is set and not `0`.
[[nodiscard]] bool is_timer_on();
/// RICCI_TUNE is set and not `0`.
[[nodiscard]] bool is_tuning();
/// RICCI_PRECISION. Throws: `limit` for another text than f32, bf16x3 or bf16x6.
[[nodiscard]] Precision precision();
/// RICCI_TARGET, as written.
[[nodiscard]] std::optional<std::string> target();
/// RICCI_CUDA_LIBRARIES. Throws: `limit` for another text than auto, generated or library.
enum class LibraryUse : std::uint8_t { automatic, never, always };
[[nodiscard]] LibraryUse cuda_libraries();
/// RICCI_CUDA_GATHERS is `fast`. Throws: `limit` for another text than deterministic or fast.
[[nodiscard]] bool has_fast_gathers();
/// RICCI_CUDA_PATH, split at colons: an empty directory stands for the usual places.
[[nodiscard]] std::optional<std::vector<std::string>> cuda_path();
/// Where Python may keep packages: the active environments, and the user's own.
[[nodiscard]] std::vector<std::string> python_prefixes();
/// RICCI_DATA.
[[nodiscard]] std::optional<std::string> data_directory();

}  // namespace ricci::env
