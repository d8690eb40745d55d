// examples/progress.h – a progress bar on a terminal, plain lines elsewhere
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

#include "base/text.h"

/// Shows how far a loop has come, with a note such as the loss.
class Progress {
  public:
    explicit Progress(std::string title) : title_(std::move(title)) {}

    void show(double fraction, const std::string& note) const {
        if (!is_terminal_) return;
        const auto filled = static_cast<std::size_t>(fraction * width);
        std::fputs(ricci::format("\r{} [{}{}] {:3.0f} %  {}", title_, std::string(filled, '='),
                                 std::string(width - filled, ' '), 100 * fraction, note)
                       .c_str(),
                   stdout);
        std::fflush(stdout);
    }

    void finish(const std::string& note) const {
        if (is_terminal_) std::fputs("\r\033[K", stdout);
        std::fputs(ricci::format("{}  {}\n", title_, note).c_str(), stdout);
        std::fflush(stdout);
    }

  private:
    static constexpr std::size_t width = 30;
    std::string title_;
    bool is_terminal_ = isatty(STDOUT_FILENO) != 0;
};
