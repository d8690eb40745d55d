// bench/harness.h – interleaved timing of candidates and one JSON row for each result
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Something to be timed: `run` does the work once.
struct Candidate {
    std::string name;
    std::function<void()> run;
};

/// Seconds of one run.
struct Time {
    double median = 0;
    double min = 0;
    double max = 0;
};

/// Times the candidates in turn (A B C A B C …), so that a change of clock or a noisy neighbour
/// meets all of them: warms each up, runs each for at least `sample_seconds` a round, and gives the
/// median over the rounds.
std::vector<Time> interleave(const std::vector<Candidate>& candidates, int rounds = 9,
                             double sample_seconds = 0.05);

/// One result: a JSON object on a line of its own.
class Row {
  public:
    explicit Row(std::string workload);
    Row& text(const std::string& key, const std::string& value);
    Row& number(const std::string& key, double value);
    void print() const;

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// The row that says where the results come from: CPU, compiler, threads.
void print_header(int threads);

/// The number after `--threads`, else all cores.
int threads_from(int argc, char** argv);

}  // namespace bench
