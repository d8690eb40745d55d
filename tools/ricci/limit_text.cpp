// tools/ricci/limit_text.cpp – the least time of some work, and what sets it
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

#include "tools/ricci/limits.h"

namespace ricci::tool {
namespace {

/// `1.64 GFLOP`.
std::string scaled(double count, std::string_view unit) {
    constexpr std::array prefixes = {"", "k", "M", "G", "T"};
    std::size_t prefix = 0;
    while (count >= 1000 && prefix + 1 < prefixes.size()) {
        count /= 1000;
        ++prefix;
    }
    return format("{:.3g} {}{}", count, prefixes[prefix], unit);
}

/// A part of the work at the rate of what does it.
struct Part {
    double seconds = 0;
    std::string text;
};

}  // namespace

std::string time_text(double seconds) {
    if (seconds < 1e-3) return format("{:.2f} us", seconds * 1e6);
    if (seconds < 1) return format("{:.3f} ms", seconds * 1e3);
    return format("{:.3f} s", seconds);
}

std::string limit_text(const Work& work, const Limits& limits) {
    const auto part = [](double count, double rate, const char* unit) {
        return Part{count / rate,
                    scaled(count, unit) + " at " + scaled(rate, unit + std::string("/s"))};
    };
    Part bound = part(work.operations, limits.flops, "FLOP");
    Part other = part(work.bytes, limits.bytes_per_second, "B");
    if (bound.seconds < other.seconds) std::swap(bound, other);
    std::string why = bound.text;
    if (other.seconds > 0)
        why += format("; {} would take {}", other.text, time_text(other.seconds));
    return format("  {:<24} # {}\n", "limit " + time_text(bound.seconds), why);
}

}  // namespace ricci::tool
