// bench/cpu/suite.cpp – workloads with goals: ours and each peer interleaved, a table, JSON rows
#include "bench/cpu/suite.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "runtime/cpu_rates.h"

#include "bench/cpu/memory_limits.h"

namespace bench {
namespace {

using namespace ricci;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& run, int count) {
    const auto start = Clock::now();
    for (int n = 0; n < count; ++n) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / count;
}

/// Runs a contender before it is timed: its operands are then where its own runs leave them, not
/// where the others' did. Threads of OpenMP and of OpenBLAS spin for some 20 ms after they are
/// done, on a core that the next library's threads need: whoever comes next waits. Its own threads
/// then wake on the core that wakes them, and Linux takes up to 15 ms to spread them: it runs for a
/// while.
void warm_up(int threads, const std::function<void()>& run) {
    if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto least = std::chrono::milliseconds(threads > 1 ? 30 : 5);
    const auto start = Clock::now();
    do run();
    while (Clock::now() - start < least);
}

double median(std::vector<double> list) {
    std::sort(list.begin(), list.end());
    return list[list.size() / 2];
}

/// The root mean square of the differences relative to that of `b`: one rounding may send an
/// element over the kink of an activation.
double difference(const Array& a, const Array& b) {
    const Array in_doubles_a = a.to(DType::f64);
    const Array in_doubles_b = b.to(DType::f64);
    const auto x = in_doubles_a.span<const double>();
    const auto y = in_doubles_b.span<const double>();
    if (x.size() != y.size()) return INFINITY;
    double differences = 0;
    double squares = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
        differences += (x[n] - y[n]) * (x[n] - y[n]);
        squares += y[n] * y[n];
    }
    return std::sqrt(differences / (squares > 0 ? squares : 1));
}

/// What is timed of a workload, on a device.
class Ours {
  public:
    Ours(const Workload& workload, Device device)
        : arguments_(workload.arguments), precision_(workload.precision) {
        function_ = compile(workload.program, "bench", device);
        if (workload.wrt.size() == 1) {
            function_ = function_.grad(workload.wrt[0]);
        } else if (!workload.wrt.empty()) {
            function_ = function_.grads(workload.wrt);
            for (const std::string& name : workload.wrt) outputs_.push_back("d" + name);
        }
        // The reference stays as it is written.
        if (workload.is_expanded && device != device_from_name("reference"))
            function_ = function_.expanded();
    }
    void run() {
        set_precision(precision_);
        // Peers write to the same memory each time.
        results_.clear();
        if (outputs_.empty())
            results_ = {function_(arguments_)};
        else
            results_ = function_.call(arguments_, outputs_);
        set_precision(Precision::f32);
    }
    [[nodiscard]] const std::vector<Array>& results() const { return results_; }

  private:
    Arguments arguments_;
    Precision precision_;
    Function function_;
    std::vector<std::string> outputs_;
    std::vector<Array> results_;
};

/// Seconds at the machine's limit, now.
double seconds_at(const Limit& limit, int threads) {
    constexpr double seconds = 0.02;
    const auto at = [&](double rate) { return limit.amount / rate; };
    using Kind = Limit::Kind;
    switch (limit.kind) {
        case Kind::none:     break;
        case Kind::fma:      return at(runtime::multiply_add_rate(DType::f32, threads, seconds));
        case Kind::bf16:     return at(runtime::bf16_pair_rate(threads, seconds));
        case Kind::tiles:    return at(runtime::bf16_tile_rate(threads, seconds));
        case Kind::distance: {
            const double all = at(runtime::distance_rate(threads, seconds));
            if (limit.multiplications == 0) return all;
            const Limit alone{Kind::fma, limit.multiplications};
            return std::max(all, seconds_at(alone, threads));
        }
        case Kind::copy: return copy_seconds(limit.amount, threads);
        case Kind::read: return read_seconds(limit.amount, threads);
    }
    return 0;
}

/// A small one, on the CPU and by the reference evaluator.
std::string wrong_by_reference(const Maker& make) {
    Workload small = make(8);
    if (small.program.empty()) return {};
    Ours compiled(small, Device::cpu);
    Ours reference(small, Device::reference);
    compiled.run();
    reference.run();
    for (std::size_t i = 0; i < compiled.results().size(); ++i) {
        const double d = difference(compiled.results()[i], reference.results()[i]);
        if (!(d < small.tolerance)) return format("differs from the reference by {:.2g}", d);
    }
    return {};
}

/// Seconds of each round: ours first, then the peers.
struct Times {
    std::vector<std::vector<double>> candidates;
    std::vector<double> limits;

    /// Ratios of one round, so that a change of clock between rounds meets both.
    [[nodiscard]] double ratio_to(const std::vector<double>& other) const {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < other.size(); ++r)
            ratios.push_back(other[r] / candidates[0][r]);
        return median(ratios);
    }
    /// The fastest peer; 0: there is none.
    [[nodiscard]] std::size_t best() const {
        std::size_t found = 0;
        for (std::size_t c = 1; c < candidates.size(); ++c)
            if (found == 0 || median(candidates[c]) < median(candidates[found])) found = c;
        return found;
    }
};

/// Rates are met within the noise of measuring them.
bool is_reached(const Goal& goal, double ratio, double fraction, double seconds) {
    if (goal.kind == Goal::Kind::seconds) return seconds <= goal.value;
    return (goal.kind == Goal::Kind::ratio ? ratio : fraction) >= 0.97 * goal.value;
}

/// `0.92`, of a limit `0.92L`, of a time in milliseconds `8ms`.
std::string text(const Goal& goal) {
    switch (goal.kind) {
        case Goal::Kind::ratio:    return format("{:.2f} ", goal.value);
        case Goal::Kind::fraction: return format("{:.2f}L", goal.value);
        case Goal::Kind::seconds:  return format("{}ms", goal.value * 1e3);
    }
    return {};
}

const char* kind_name(Goal::Kind kind) {
    switch (kind) {
        case Goal::Kind::ratio:    return "ratio";
        case Goal::Kind::fraction: return "limit_fraction";
        case Goal::Kind::seconds:  return "seconds";
    }
    return "";
}

Times times_of(const Contest& contest, const Options& options) {
    using Timing = std::function<double(int count)>;
    const auto timing = [](std::function<void()> run) -> Timing {
        return [run = std::move(run)](int count) { return seconds_of(run, count); };
    };
    std::vector<Timing> candidates = {timing(contest.ours)};
    for (const Peer& peer : contest.peers)
        candidates.push_back(peer.seconds ? peer.seconds : timing(peer.run));
    std::vector<int> counts;
    for (const auto& candidate : candidates) {
        (void)candidate(1);
        const double once = candidate(1);
        counts.push_back(std::max(1, int(options.sample_seconds / std::max(once, 1e-9))));
    }
    Times times;
    times.candidates.resize(candidates.size());
    for (int round = 0; round < options.rounds; ++round) {
        // Each in turn comes first: what is measured next to the limit meets a hotter machine.
        for (std::size_t n = 0; n <= candidates.size(); ++n) {
            const std::size_t c = (n + std::size_t(round)) % (candidates.size() + 1);
            if (c == candidates.size()) {
                const auto limit = [&] { return seconds_at(contest.limit, options.threads); };
                warm_up(options.threads, [&] { (void)limit(); });
                times.limits.push_back(limit());
            } else {
                warm_up(options.threads, [&] { (void)candidates[c](1); });
                times.candidates[c].push_back(candidates[c](counts[c]));
            }
        }
    }
    return times;
}

}  // namespace

std::pair<std::string, Array> randn(const std::string& name, Shape shape, DType dtype) {
    std::uint64_t seed = 1;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    return {name, Array::randn(dtype, std::move(shape), seed)};
}

Suite::Suite(Options options) : options_(std::move(options)) {
    std::printf("%-12s %-34s %9s %9s %-14s %6s %6s %7s\n", "row", "workload", "ours ms", "peer ms",
                "best peer", "ratio", "limit", "goal");
}

bool Suite::is_chosen(const std::string& row, const std::string& name) const {
    const std::string whole = row + " " + name;
    return options_.chosen.empty() ||
           std::any_of(options_.chosen.begin(), options_.chosen.end(),
                       [&](const auto& part) { return whole.find(part) != std::string::npos; });
}

void Suite::add(const std::string& row, const std::string& name, const Maker& make) {
    if (!is_chosen(row, name)) return;
    forget_arrays();
    std::string wrong = wrong_by_reference(make);
    const Workload workload = make(1);
    Ours ours(workload, Device::cpu);
    ours.run();
    for (const Peer& peer : workload.peers) {
        if (peer.run) peer.run();
        if (peer.result.size() == 0 || !wrong.empty()) continue;
        const double d = difference(ours.results()[0], peer.result);
        if (!(d < workload.tolerance)) wrong = format("differs from {} by {:.2g}", peer.name, d);
    }
    measure(row, name, {[&] { ours.run(); }, workload.goal, workload.limit, workload.peers, wrong});
}

void Suite::add(const std::string& row, const std::string& name,
                const std::function<Contest()>& make) {
    if (!is_chosen(row, name)) return;
    forget_arrays();
    measure(row, name, make());
}

void Suite::measure(const std::string& row, const std::string& name, const Contest& contest) {
    const Times times = times_of(contest, options_);
    const std::size_t best = times.best();
    const double ratio = best == 0 ? 0 : times.ratio_to(times.candidates[best]);
    const double fraction =
        contest.limit.kind == Limit::Kind::none ? 0 : times.ratio_to(times.limits);
    const std::vector<double>& ours = times.candidates[0];
    const Goal& goal = contest.goal;
    const std::string& wrong = contest.wrong;
    const bool is_met = wrong.empty() && is_reached(goal, ratio, fraction, median(ours));
    const std::string peer_name = best == 0 ? "-" : contest.peers[best - 1].name;
    const double peer_ms = best == 0 ? 0 : median(times.candidates[best]) * 1e3;
    std::printf("%-12s %-34s %9.*f %9.3f %-14s %6.2f %6.2f %7s %s\n", row.c_str(), name.c_str(),
                goal.kind == Goal::Kind::seconds ? 5 : 3, median(ours) * 1e3, peer_ms,
                peer_name.c_str(), ratio, fraction, text(goal).c_str(),
                is_met          ? ""
                : wrong.empty() ? "short"
                                : wrong.c_str());
    std::fflush(stdout);
    ++rows_;
    met_ += is_met ? 1 : 0;
    wrong_ += wrong.empty() ? 0 : 1;
    if (options_.json.empty()) return;
    nlohmann::json peers;
    for (std::size_t c = 0; c < contest.peers.size(); ++c)
        peers[contest.peers[c].name] = {{"ms", median(times.candidates[c + 1]) * 1e3},
                                        {"ratio", times.ratio_to(times.candidates[c + 1])}};
    const auto [least, most] = std::minmax_element(ours.begin(), ours.end());
    const nlohmann::json line = {{"row", row},
                                 {"workload", name},
                                 {"threads", options_.threads},
                                 {"ms", median(ours) * 1e3},
                                 {"least_ms", *least * 1e3},
                                 {"most_ms", *most * 1e3},
                                 {"peers", peers},
                                 {"ratio", ratio},
                                 {"limit_fraction", fraction},
                                 {"goal", goal.value},
                                 {"goal_is", kind_name(goal.kind)},
                                 {"is_met", is_met},
                                 {"wrong", wrong}};
    std::ofstream(options_.json, std::ios::app) << line.dump() << '\n';
}

bool Suite::finish() {
    std::printf("%d of %d goals met on %d thread%s\n", met_, rows_, options_.threads,
                options_.threads == 1 ? "" : "s");
    return wrong_ == 0;
}

}  // namespace bench
