// bench/cpu/suite.h – workloads with goals: ours and each peer interleaved, a table, JSON rows
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ricci/ricci.h"

namespace bench {

/// What the time of a workload can at best be: the machine's rate for that many operations or
/// bytes, measured in the same rounds.
struct Limit {
    enum class Kind { none, fma, bf16, tiles, distance, copy, read };
    Kind kind = Kind::none;
    /// Floating operations (of a point of a distance 3, else 2), or bytes.
    double amount = 0;
    /// Floating operations of kind fma among them that no unit for additions takes.
    double multiplications = 0;
};

/// Someone else's way to the same result. `result` holds it after `run`; empty: not compared.
struct Peer {
    std::string name;
    std::function<void()> run;
    ricci::Array result = {};
    /// Instead of `run`: the seconds of one of so many runs, by a clock of the peer's own.
    std::function<double(int count)> seconds = nullptr;
};

/// What is asked: at least so much of the best peer's time over ours or of the limit's time over
/// ours, or at most so many seconds.
struct Goal {
    enum class Kind { ratio, fraction, seconds };
    Kind kind = Kind::ratio;
    double value = 1;
};

/// A program, what is taken of it, and its arguments (cotangents included) by name.
struct Workload {
    std::string program;
    ricci::Arguments arguments;
    std::vector<std::string> wrt = {};  ///< its gradients with respect to these; none: the forward
    bool is_expanded = false;           ///< multiplied out (Function::expanded)
    ricci::Precision precision = ricci::Precision::f32;  ///< that is allowed
    Goal goal = {};
    Limit limit = {};
    std::vector<Peer> peers = {};
    double tolerance = 1e-4;  ///< of the root mean square, between ours and the peers
};

/// Ours and the peers as functions, for work that is no single program. The maker compares results.
struct Contest {
    std::function<void()> ours;
    Goal goal = {};
    Limit limit = {};
    std::vector<Peer> peers = {};
    std::string wrong = {};  ///< how results differ; empty: they agree
};

struct Options {
    int threads = 1;
    int rounds = 7;
    double sample_seconds = 0.03;
    std::string json = {};                 ///< a file to which rows are written, too
    std::vector<std::string> chosen = {};  ///< parts of names; empty: all
};

/// Makes a workload; extents that are only large are divided by `shrink`, so that the reference
/// evaluator can check the small one first. One without a program: peers alone check it.
using Maker = std::function<Workload(std::int64_t shrink)>;

class Suite {
  public:
    explicit Suite(Options options);
    /// `row` names a row of the table of goals, `name` a case of it.
    void add(const std::string& row, const std::string& name, const Maker& make);
    void add(const std::string& row, const std::string& name, const std::function<Contest()>& make);
    /// Prints how many goals were met. False where a result was wrong.
    bool finish();
    [[nodiscard]] int threads() const noexcept { return options_.threads; }

  private:
    [[nodiscard]] bool is_chosen(const std::string& row, const std::string& name) const;
    void measure(const std::string& row, const std::string& name, const Contest& contest);

    Options options_;
    int rows_ = 0;
    int met_ = 0;
    int wrong_ = 0;
};

// The workloads.
void add_products(Suite& suite);
void add_layers(Suite& suite);
void add_convolutions(Suite& suite);
void add_contractions(Suite& suite);
void add_rows(Suite& suite);
void add_streams(Suite& suite);
void add_attention(Suite& suite);
void add_mnist(Suite& suite);
void add_overhead(Suite& suite);

// Sizes and layers that the table of goals does not list; as fast as the best peer is asked.
void add_other_products(Suite& suite);
void add_other_convolutions(Suite& suite);
void add_others(Suite& suite);

/// Lets go of the arrays that peers were made for.
void forget_arrays();

/// An argument of normally distributed f32 numbers; each name has its own.
std::pair<std::string, ricci::Array> randn(const std::string& name, ricci::Shape shape,
                                           ricci::DType dtype = ricci::DType::f32);

}  // namespace bench
