// base/log.h – messages about what the library does, by level, to stderr or the user's sink
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace ricci {

enum class LogLevel : std::uint8_t { error, warn, info, debug };

[[nodiscard]] std::string_view name(LogLevel level) noexcept;
[[nodiscard]] std::optional<LogLevel> log_level_from_name(std::string_view name) noexcept;

/// Receives whole messages without a newline; called by one thread at a time.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Sends messages to `sink` from now on; an empty one means stderr.
void set_log_sink(LogSink sink);
/// Overrides RICCI_LOG, which is read when the first message is tested.
void set_log_level(LogLevel level);
/// Whether messages of this level are shown.
/// Cost: one atomic load.
[[nodiscard]] bool is_logged(LogLevel level);
/// Shows a message when its level is logged.
void log_message(LogLevel level, std::string_view message);

/// Formats and shows a message; nothing is formatted when its level is not logged.
template <class... Args>
void log_format(LogLevel level, fmt::format_string<Args...> pattern, Args&&... args) {
    if (is_logged(level)) log_message(level, format(pattern, std::forward<Args>(args)...));
}

}  // namespace ricci
