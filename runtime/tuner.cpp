// runtime/tuner.cpp – candidates raced against each other, and what is kept of that
#include "runtime/tuner.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "runtime/function.h"
#include "runtime/kernel_cache.h"

namespace ricci::runtime {
namespace {

using codegen::Choice;
using codegen::Tuned;

/// Another candidate than the usual one is worth it from here on.
constexpr double least_gain = 1.02;
constexpr int rounds = 5;
constexpr int least_runs = 3;
constexpr double least_seconds = 0.01;
constexpr std::size_t most_text = 4096;

/// `AMD EPYC 9R14`, as the system says; else LLVM's name.
std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (const std::size_t colon = line.find(": ");
            line.starts_with("model name") && colon != std::string::npos)
            return line.substr(colon + 2);
    return target().cpu;
}

/// One line each, as `decode` reads them.
std::string encode(const Tuned& tuned) {
    return format("{}\n{}\n{}\n{}\n{}\n", tuned.candidate, tuned.where, tuned.seconds,
                  tuned.usual_seconds, tuned.measured);
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number);
    return failure == std::errc{} && stop == end && number > 0;
}

/// Nothing for a text that no `encode` wrote.
std::optional<Tuned> decode(std::string_view text) {
    if (text.size() > most_text) return std::nullopt;
    std::vector<std::string_view> lines;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    const auto is_printable = [](std::string_view line) {
        return std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
    };
    if (lines.size() != 5 || !text.empty() || !std::ranges::all_of(lines, is_printable))
        return std::nullopt;
    Tuned tuned{.candidate = std::string(lines[0]), .where = std::string(lines[1])};
    if (!read_number(lines[2], tuned.seconds) || !read_number(lines[3], tuned.usual_seconds) ||
        !read_number(lines[4], tuned.measured) || !std::isfinite(tuned.seconds) ||
        !std::isfinite(tuned.usual_seconds))
        return std::nullopt;
    return tuned;
}

/// The candidates of one kernel while they are raced.
struct Race {
    std::string usual;
    std::string best;
    std::vector<std::string> running;            ///< of this heat; the usual one is never dropped
    std::map<std::string, double> seconds = {};  ///< the least time of each that ever ran

    /// Those that no heat has had, with the best so far; empty when there is none.
    [[nodiscard]] std::vector<std::string> newcomers(const Choice& choice) const {
        std::vector<std::string> found;
        for (const std::string& name : choice.candidates)
            if (!seconds.contains(name)) found.push_back(name);
        if (found.empty()) return found;
        for (const std::string& name : {best, usual})
            if (std::ranges::find(found, name) == found.end()) found.push_back(name);
        return found;
    }
    void drop_slower_half() {
        std::ranges::sort(running, {}, [&](const std::string& name) { return seconds.at(name); });
        if (running.size() > 2) running.resize((running.size() + 1) / 2);
        if (std::ranges::find(running, usual) == running.end()) running.push_back(usual);
    }
    void finish_heat() {
        for (const std::string& name : running)
            if (seconds.at(name) < seconds.at(best)) best = name;
        if (seconds.at(best) * least_gain > seconds.at(usual)) best = usual;
    }
};

/// All kernels of a program side by side: run n has the nth candidate of each.
class Tuner {
  public:
    Tuner(const BoundProgram& program, const Target& target,
          std::span<const Array* const> arguments, TuningStore& store)
        : program_(program), target_(target), arguments_(arguments), store_(store) {}

    void run() {
        // What is taken may open further candidates; each kernel has finitely many.
        while (start_heat()) {
            for (int round = 0; round < rounds; ++round) {
                run_round();
                for (auto& [kernel, race] : races_) race.drop_slower_half();
            }
            for (auto& [kernel, race] : races_) {
                race.finish_heat();
                race.running = {race.best};
            }
        }
        for (const auto& [kernel, race] : races_) {
            const Tuned tuned{
                .candidate = race.best,
                .seconds = race.seconds.at(race.best),
                .usual_seconds = race.seconds.at(race.usual),
                .measured = race.seconds.size(),
                .where =
                    format("{} of {}", plural(std::size_t(num_threads()), "thread"), cpu_model())};
            store_.keep(kernel, tuned);
            for (const auto& [name, seconds] : race.seconds)
                log_format(LogLevel::debug, "candidate {}: {:.1f} us", name, 1e6 * seconds);
            log_format(LogLevel::info, "tuned a kernel: {}, {:.1f} us; usual {:.1f} us",
                       tuned.candidate, 1e6 * tuned.seconds, 1e6 * tuned.usual_seconds);
        }
    }

  private:
    using Picks = std::map<std::string, std::string>;

    /// Candidates by name, as measured nowhere yet; what other kernels are known to do.
    [[nodiscard]] codegen::Tunings tunings(const Picks& picks) const {
        return [this, &picks](const std::string& kernel) -> std::optional<Tuned> {
            if (const auto pick = picks.find(kernel); pick != picks.end())
                return Tuned{.candidate = pick->second};
            return store_.find(kernel);
        };
    }
    /// The nth of those running of each kernel.
    [[nodiscard]] Picks picks(std::size_t n) const {
        Picks picks;
        for (const auto& [kernel, race] : races_)
            picks[kernel] = race.running[n % race.running.size()];
        return picks;
    }

    bool start_heat() {
        bool is_any = false;
        for (const Choice& choice :
             codegen::plan(program_, target_, {}, tunings(picks(0))).choices) {
            if (!races_.contains(choice.kernel)) {
                if (store_.find(choice.kernel)) continue;
                const std::string& usual = choice.candidates.front();
                races_[choice.kernel] = {.usual = usual, .best = usual, .running = {usual}};
            }
            Race& race = races_.at(choice.kernel);
            std::vector<std::string> newcomers = race.newcomers(choice);
            if (newcomers.empty()) continue;
            race.running = std::move(newcomers);
            is_any = true;
        }
        return is_any;
    }

    void run_round() {
        std::size_t most = 0;
        for (const auto& [kernel, race] : races_) most = std::max(most, race.running.size());
        for (std::size_t n = 0; n < most; ++n) time(picks(n));
    }

    void time(const Picks& picks) {
        const auto [found, is_new] = executables_.try_emplace(picks);
        if (is_new)
            found->second = std::make_unique<Executable>(program_, "tune", target_, tunings(picks));
        const Executable& executable = *found->second;
        double all = 0;
        for (int run = 0; run < least_runs || all < least_seconds; ++run) {
            const std::vector<double> seconds = executable.step_seconds(arguments_);
            std::map<std::string, double> sums;  // a kernel may stand at several places
            for (const Choice& choice : executable.plan().choices)
                for (std::size_t step = choice.first_step; step < choice.last_step; ++step)
                    sums[choice.kernel] += seconds.at(step);
            for (auto& [kernel, race] : races_) {
                const auto [least, is_first] =
                    race.seconds.try_emplace(picks.at(kernel), sums[kernel]);
                least->second = std::min(least->second, sums[kernel]);
            }
            for (const double step : seconds) all += std::max(step, 1e-6);
        }
    }

    const BoundProgram& program_;
    const Target& target_;
    std::span<const Array* const> arguments_;
    TuningStore& store_;
    std::map<std::string, Race> races_;  ///< by kernel
    std::map<Picks, std::unique_ptr<Executable>> executables_;
};

}  // namespace

std::string TuningStore::key(const std::string& kernel) const {
    return format("tuning 1\n{}\n{}", machine_, kernel);
}

std::optional<Tuned> TuningStore::find(const std::string& kernel) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(kernel); found != known_.end()) return found->second;
    const std::optional<std::string> text = disk_ ? disk_->load_text(key(kernel)) : std::nullopt;
    std::optional<Tuned> tuned = text ? decode(*text) : std::nullopt;
    if (tuned) known_.emplace(kernel, *tuned);
    return tuned;
}

void TuningStore::keep(const std::string& kernel, const Tuned& tuned) {
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(kernel, tuned);
    if (disk_) disk_->store_text(key(kernel), encode(tuned));
}

TuningStore& tuning_store() {
    static TuningStore store(
        process_disk_cache(),
        format("{}\n{}\n{} {} {} {} {} {}", cpu_model(), codegen::cpu::compiler_version(),
               target().cpu, target().features, str(target()), target().l1_bytes, target().l2_bytes,
               target().l3_bytes));
    return store;
}

void tune(const BoundProgram& program, const Target& target,
          std::span<const Array* const> arguments, TuningStore& store) {
    try {
        Tuner(program, target, arguments, store).run();
    } catch (const Error& error) {
        // The call itself says what is wrong, if anything is.
        log_format(LogLevel::info, "not tuned: {}", error.what());
    }
}

}  // namespace ricci::runtime
