// bench/harness.cpp – interleaved timing of candidates and one JSON row for each result
#include "bench/harness.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/text.h"
#include "codegen/cpu/compile.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& run, int count) {
    const auto start = Clock::now();
    for (int n = 0; n < count; ++n) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / count;
}

}  // namespace

std::vector<Time> interleave(const std::vector<Candidate>& candidates, int rounds,
                             double sample_seconds) {
    std::vector<int> counts;
    for (const Candidate& candidate : candidates) {
        candidate.run();
        const double once = seconds_of(candidate.run, 1);
        counts.push_back(std::max(1, static_cast<int>(sample_seconds / std::max(once, 1e-9))));
    }
    std::vector<std::vector<double>> samples(candidates.size());
    for (int round = 0; round < rounds; ++round)
        for (std::size_t c = 0; c < candidates.size(); ++c)
            samples[c].push_back(seconds_of(candidates[c].run, counts[c]));
    std::vector<Time> times;
    for (std::vector<double>& list : samples) {
        std::sort(list.begin(), list.end());
        times.push_back({list[list.size() / 2], list.front(), list.back()});
    }
    return times;
}

Row::Row(std::string workload) { text("workload", workload); }

Row& Row::text(const std::string& key, const std::string& value) {
    fields_.emplace_back(key, "\"" + value + "\"");
    return *this;
}

Row& Row::number(const std::string& key, double value) {
    fields_.emplace_back(key, ricci::format("{:.4g}", value));
    return *this;
}

void Row::print() const {
    std::string line = "{";
    for (const auto& [key, value] : fields_)
        line += ricci::format("{}\"{}\": {}", line.size() > 1 ? ", " : "", key, value);
    std::puts((line + "}").c_str());
    std::fflush(stdout);
}

void print_header(int threads) {
    Row("machine")
        .text("target", str(ricci::codegen::cpu::host_target()))
        .text("compiler", ricci::codegen::cpu::compiler_version())
        .number("threads", threads)
        .print();
}

int threads_from(int argc, char** argv) {
    for (int n = 1; n + 1 < argc; ++n)
        if (std::strcmp(argv[n], "--threads") == 0) return std::max(1, std::atoi(argv[n + 1]));
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace bench
