// tests/property/strategies_test.cpp – every strategy wherever it can be, whatever it costs
//
// Small programs get what is cheapest, mostly lanes over a free axis. Here each strategy is forced
// in turn. Plans run in the interpreter, which checks every access and order of tasks, and for one
// strategy a program as machine code.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/contraction_order.h"
#include "codegen/few_points.h"
#include "codegen/plan.h"
#include "codegen/residue_classes.h"
#include "codegen/shared_operands.h"
#include "codegen/split_quotients.h"
#include "runtime/executor.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"
#include "tests/support/nest_interpreter.h"

namespace ricci::tests {
namespace {

struct Case {
    Forced forced;
    const char* name;
};
constexpr std::array cases = {
    Case{Forced::tiles, "tiles"},           Case{Forced::reduced_lanes, "reduced_lanes"},
    Case{Forced::free_lanes, "free_lanes"}, Case{Forced::scalar, "scalar"},
    Case{Forced::chains, "chains"},         Case{Forced::no_chains, "no_chains"},
    Case{Forced::slices, "slices"},         Case{Forced::two_levels, "two_levels"},
    Case{Forced::joint_sums, "joint_sums"}, Case{Forced::rewritings, "rewritings"},
    Case{Forced::scans, "scans"},           Case{Forced::chains_across, "chains_across"},
};

/// A machine of the seed's width, whose first-level cache holds next to nothing, the second few
/// panels.
Target small_target(std::uint64_t seed, Forced forced) {
    const int vector_bytes = 16 << seed % 3;
    return {.cpu = "test",
            .features = "",
            .vector_bytes = vector_bytes,
            .vector_registers = vector_bytes == 64 ? 32 : 16,
            .has_fma = true,
            .has_bf16_dot = vector_bytes == 64,
            // Of products alone: each tile is some 30,000 steps of the interpreter.
            .has_bf16_tiles = forced == Forced::tiles && vector_bytes == 64 && seed % 2 == 0,
            .precision = Precision::bf16x6,
            .l1_bytes = 256,
            .l2_bytes = 4 << 10,
            .forced = forced};
}

using codegen::JoinedResidues;

/// The program with the sums that these rewritings make: for tiles and lanes.
BoundProgram rewritten(BoundProgram program, bool side_by_side, JoinedResidues joined) {
    program = codegen::with_split_quotients(std::move(program));
    program = codegen::with_residue_classes(codegen::with_few_points(std::move(program)), 0,
                                            side_by_side, joined);
    return codegen::with_shared_operands(std::move(program), {.points = 0,
                                                              .reuse = 1,
                                                              .users = 1,
                                                              .strided_users = 1,
                                                              .strided_extent = 2,
                                                              .much_reuse = 1});
}

/// How many plans each strategy changes.
struct Tally {
    std::array<std::size_t, cases.size()> other_plans{};

    /// Each of those strategies must have been taken where cost would not.
    void check(std::initializer_list<Forced> expected) const {
        std::string text;
        for (std::size_t n = 0; n < cases.size(); ++n) {
            text += format(" {} {}", cases[n].name, other_plans[n]);
            if (std::ranges::find(expected, cases[n].forced) != expected.end())
                CHECK(other_plans[n] > 0);
        }
        MESSAGE(format("plans that are others:{}", text));
    }
};

/// A bound program and what it computes; of every other seed rewritten before it is planned.
class Subject {
  public:
    Subject(const Program& program, const Signature& signature, std::uint64_t seed)
        : program_(codegen::in_real_numbers(ricci::bind(program, signature))), seed_(seed) {
        const std::vector<Array> values = random_arguments(program_, signature, seed);
        expected_ = runtime::evaluate_with_bounds(program_, values);
        for (std::size_t i = 0; i < values.size(); ++i)
            arguments_.push_back(values[i].to(program_.at(program_.arguments[i]).dtype));
        const auto joined = seed % 8 == 3 ? JoinedResidues::always : JoinedResidues::never;
        if (seed % 2 == 1) program_ = rewritten(std::move(program_), seed % 4 == 1, joined);
    }

    /// What leaves the reference's bounds, by strategy.
    std::string failures(Tally& tally) {
        std::string text;
        const std::string usual = str(plan(Forced::nothing));
        for (std::size_t n = 0; n < cases.size(); ++n)
            text += failure(cases[n].name, [&] {
                const codegen::Plan own = plan(cases[n].forced);
                tally.other_plans[n] += str(own) == usual ? 0 : 1;
                return interpret(program_, own, copies(), seed_ % 3);
            });
        const Case& forced = cases[seed_ / 2 % cases.size()];
        return text + failure(format("compiled {}", forced.name), [&] {
                   Target target = runtime::target();
                   target.forced = forced.forced;
                   const runtime::Executable executable(program_, "strategies", target);
                   const std::vector<Array> own = copies();
                   std::vector<const Array*> pointers;
                   for (const Array& argument : own) pointers.push_back(&argument);
                   return executable.run(pointers);
               });
    }

  private:
    [[nodiscard]] codegen::Plan plan(Forced forced) const {
        return codegen::plan(program_, small_target(seed_, forced));
    }
    [[nodiscard]] std::vector<Array> copies() const {
        std::vector<Array> own;
        for (const Array& argument : arguments_) own.push_back(argument.copy());
        return own;
    }
    template <class Run>
    std::string failure(const std::string& name, const Run& run) {
        try {
            const std::vector<Array> found = run();
            for (std::size_t n = 0; n < found.size(); ++n) {
                const Comparison comparison = compare(found[n], expected_.at(n));
                if (!comparison.holds()) return format("{}: {}\n", name, comparison.failure);
            }
            return {};
        } catch (const Error& error) {
            return format("{}: {}\n", name, error.what());
        }
    }

    BoundProgram program_;
    std::uint64_t seed_;
    std::vector<Array> arguments_;
    std::vector<runtime::Estimate> expected_;
};

constexpr std::initializer_list<Forced> in_most_programs = {
    Forced::reduced_lanes, Forced::free_lanes, Forced::scalar, Forced::two_levels, Forced::slices};

void check_programs(const RandomForms& forms,
                    std::initializer_list<Forced> expected = in_most_programs,
                    DType floating = DType::f32) {
    Tally tally;
    for_each_program(
        program_count() / 3,
        [&](const RandomProgram& random, const Program& program) {
            const Signature signature = with_floating(random.signature, floating);
            const std::string failures = Subject(program, signature, random.seed).failures(tally);
            if (!failures.empty()) FAIL_CHECK(format("{}{}", str(random), failures));
        },
        forms);
    tally.check(expected);
}

/// Of gradients the reference takes the time.
void check_gradients(const RandomForms& forms) {
    Tally tally;
    for_each_gradient(
        program_count() / 10,
        [&](const RandomProgram& random, const RandomDerivative& derivative) {
            const std::string failures =
                Subject(derivative.program, derivative.signature, random.seed).failures(tally);
            if (!failures.empty())
                FAIL_CHECK(format("{}derivative by {}: {}\n{}", str(random), derivative.argument,
                                  failures, str(derivative.program)));
        },
        forms);
    tally.check({Forced::reduced_lanes, Forced::free_lanes, Forced::scalar});
}

}  // namespace

TEST_CASE("programs compute the same by every strategy") { check_programs({}); }

TEST_CASE("programs of all types compute the same by every strategy") {
    check_programs({.subscripts = true, .all_types = true});
}

TEST_CASE("products compute the same by every strategy") {
    check_programs({.products = true}, {Forced::tiles, Forced::two_levels});
}

TEST_CASE("products of bf16 compute the same by every strategy") {
    check_programs({.products = true}, {Forced::tiles, Forced::two_levels}, DType::bf16);
}

TEST_CASE("passes over rows compute the same by every strategy") {
    check_programs({.rows = true},
                   {Forced::chains, Forced::chains_across, Forced::no_chains, Forced::slices});
}

TEST_CASE("programs of every form compute the same by every strategy") {
    check_programs({.subscripts = true, .language = true});
}

TEST_CASE("gradients compute the same by every strategy") { check_gradients({}); }

TEST_CASE("gradients of products compute the same by every strategy") {
    check_gradients({.products = true});
}

TEST_CASE("gradients through rows compute the same by every strategy") {
    check_gradients({.rows = true});
}

TEST_CASE("gradients through every form compute the same by every strategy") {
    check_gradients({.subscripts = true, .language = true});
}

}  // namespace ricci::tests
