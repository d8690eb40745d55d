// tests/emulation/mutation_test.cpp – kernels with one mistake are caught, those without are not
#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "tests/emulation/example_plans.h"
#include "tests/emulation/mutants.h"
#include "tests/emulation/run_plan.h"

namespace ricci::tests {
namespace {

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

struct Tally {
    int made = 0;
    int caught = 0;
};

/// Runs all mutants of plans, and the plans.
class Mutation {
  public:
    void add(const std::string& text, const Signature& signature, const BoundProgram& program,
             const codegen::Plan& plan) {
        EmulatedBatch batch;
        batch.add(text, program, signature, plan);
        CHECK(batch.difference() == "");
        const std::vector<Mutant> all = mutants(plan);
        for (const Mutant& mutant : all) batch.add(mutant.text, program, signature, mutant.plan);
        const std::vector<std::string> outcomes = batch.outcomes();
        for (std::size_t n = 0; n < all.size(); ++n) {
            Tally& tally = tallies_[std::size_t(all[n].mistake)];
            ++tally.made;
            tally.caught += outcomes[n].empty() ? 0 : 1;
            if (outcomes[n].empty()) survivors_ += format("{}: {}\n", text, all[n].text);
        }
    }
    void add(const std::string& text, const Signature& signature, int multiprocessors = 132) {
        const BoundProgram program = ricci::bind(canonicalise(parse_program(text)), signature);
        add(text, signature, program, codegen::plan(program, emulated_target(multiprocessors)));
    }
    void add(const ExamplePlan& example) {
        add(example.text, example.signature, example.program, example.plan);
    }

    /// Kinds of mistakes that were made and never caught.
    [[nodiscard]] int uncaught_kinds() const {
        return static_cast<int>(std::ranges::count_if(
            tallies_, [](const Tally& tally) { return tally.made > 0 && tally.caught == 0; }));
    }
    /// The share of all mutants that were caught.
    [[nodiscard]] double share() const {
        int made = 0;
        int caught = 0;
        for (const Tally& tally : tallies_) {
            made += tally.made;
            caught += tally.caught;
        }
        return double(caught) / double(made);
    }
    [[nodiscard]] const Tally& of(Mistake mistake) const { return tallies_[std::size_t(mistake)]; }
    [[nodiscard]] std::string summary() const {
        std::string text;
        for (int m = 0; m < mistakes; ++m)
            text += format("{}: {} of {} caught\n", name(Mistake(m)), of(Mistake(m)).caught,
                           of(Mistake(m)).made);
        return text;
    }
    [[nodiscard]] const std::string& survivors() const { return survivors_; }

  private:
    std::array<Tally, mistakes> tallies_;
    std::string survivors_;
};

}  // namespace

// Some mutants compute the same: a maximum may take a row twice.
TEST_CASE("every kind of mistake in kernels made by hand is caught") {
    Mutation mutation;
    mutation.add(pipeline_plan());
    mutation.add(warp_rows_plan());
    mutation.add(block_rows_plan());
    mutation.add(squares_plan());
    MESSAGE(mutation.summary());
    CHECK_MESSAGE(mutation.uncaught_kinds() == 0, mutation.survivors());
    CHECK_MESSAGE(mutation.share() >= 0.95, mutation.survivors());
}

TEST_CASE("every kind of mistake in every kind of kernel is caught") {
    Mutation mutation;
    mutation.add("y[i] := 2*x[i] + 1", {{"x", array({1001})}});
    mutation.add("Y[j,i] := X[i,j]", {{"X", array({70, 66})}});
    mutation.add("y[i] := A[i,k]", {{"A", array({50, 301})}});
    mutation.add("y[i] := A[i,k]", {{"A", array({3, 5000})}});
    mutation.add("y[j] := A[i,j]", {{"A", array({101, 270})}});
    mutation.add("p[j] := argmin[i](A[i,j])", {{"A", array({101, 270})}});
    mutation.add("p[i] := argmax[k](A[i,k])", {{"A", array({50, 301})}});
    mutation.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({70, 66})}, {"B", array({66, 130})}});
    mutation.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({64, 64})}, {"B", array({64, 64})}}, 1);
    MESSAGE(mutation.summary(), mutation.survivors());
    CHECK(mutation.uncaught_kinds() == 0);
}

}  // namespace ricci::tests
