// base/log.cpp – messages about what the library does, by level, to stderr or the user's sink
#include "base/log.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "base/env.h"

namespace ricci {
namespace {

constexpr std::array<std::string_view, 4> level_names = {"error", "warn", "info", "debug"};

LogLevel level_from_environment() {
    const std::string text = env::log_level().value_or("warn");
    if (const auto level = log_level_from_name(text)) return *level;
    fmt::print(stderr, "ricci warn: RICCI_LOG is `{}`, not one of {}; `warn` is taken\n", text,
               join(level_names, ", "));
    return LogLevel::warn;
}

/// The process has one stderr, hence one logger.
struct Logger {
    std::atomic<LogLevel> level = level_from_environment();
    std::mutex mutex;
    LogSink sink;
};

Logger& logger() {
    static Logger instance;
    return instance;
}

}  // namespace

std::string_view name(LogLevel level) noexcept {
    return level_names[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> log_level_from_name(std::string_view name) noexcept {
    for (std::size_t i = 0; i < level_names.size(); ++i) {
        if (level_names[i] == name) return static_cast<LogLevel>(i);
    }
    return std::nullopt;
}

void set_log_sink(LogSink sink) {
    const std::lock_guard lock(logger().mutex);
    logger().sink = std::move(sink);
}

void set_log_level(LogLevel level) { logger().level = level; }

bool is_logged(LogLevel level) { return level <= logger().level.load(std::memory_order_relaxed); }

void log_message(LogLevel level, std::string_view message) {
    if (!is_logged(level)) return;
    const std::lock_guard lock(logger().mutex);
    if (logger().sink) {
        logger().sink(level, message);
    } else {
        fmt::print(stderr, "ricci {}: {}\n", name(level), message);
    }
}

}  // namespace ricci
