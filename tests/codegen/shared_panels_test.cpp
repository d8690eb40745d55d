// tests/codegen/shared_panels_test.cpp – which threads read the panels that a thread packed
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codegen/nest.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The tasks of each step of a product of `rows` x `sum` by `sum` x `columns`.
std::vector<std::int64_t> tasks(const std::string& text, std::int64_t rows, std::int64_t sum,
                                std::int64_t columns) {
    const bool is_transposed = text.find("B[j,k]") != std::string::npos;
    const Signature signature = {
        {"A", array({rows, sum})},
        {"B", is_transposed ? array({columns, sum}) : array({sum, columns})}};
    const BoundProgram program = bound(text, signature);
    const codegen::Plan plan = codegen::plan(program, example_target(64));
    CHECK(interpreted_difference(program, signature, example_target(64)) == "");
    CHECK(compiled_difference(program, signature) == "");
    std::vector<std::int64_t> all;
    for (const codegen::Step& step : plan.steps) all.push_back(step.tasks);
    return all;
}

/// The loops of the product itself.
std::string loops(const std::string& text, const Signature& signature) {
    const codegen::Plan plan = codegen::plan(bound(text, signature), example_target(64));
    return str(plan.nests[plan.steps.back().nest]);
}

}  // namespace

TEST_CASE("a small product's panels are packed by the threads that read them") {
    // Columns are packed, tasks are blocks of columns; a panel is one task's.
    CHECK(tasks("C[i,j] := A[i,k]*B[j,k]", 64, 784, 64) == std::vector<std::int64_t>{2, 2});
    CHECK(tasks("C[i,j] := A[i,k]*B[j,k]", 128, 256, 128) == std::vector<std::int64_t>{4, 2});
    const std::string of_columns =
        loops("C[i,j] := A[i,k]*B[j,k]", {{"A", array({128, 256})}, {"B", array({128, 256})}});
    CHECK(of_columns.find("for column_tile in 2*task..") != std::string::npos);
    const std::string of_rows =
        loops("C[i,j] := A[k,i]*B[k,j]", {{"A", array({256, 128})}, {"B", array({256, 128})}});
    CHECK(of_rows.find("for row_tile in 5*task..") != std::string::npos);
}

TEST_CASE("one thread computes what others would wait for longer than they save") {
    // One panel of columns, or transposed rows that all tasks read. Lanes of the first run over i:
    // its results are moved to their places.
    CHECK(tasks("C[i,j] := A[i,k]*B[j,k]", 32, 784, 128) == std::vector<std::int64_t>{1, 1, 1});
    CHECK(tasks("C[i,j] := A[i,k]*B[k,j]", 64, 784, 10) == std::vector<std::int64_t>{1, 1});
    // Nothing is handed over.
    CHECK(tasks("C[i,j] := A[i,k]*B[j,k]", 64, 784, 10) == std::vector<std::int64_t>{4});
}

TEST_CASE("rows that share sets of the first-level cache are read no more at once than it holds") {
    const auto schedules = [](std::int64_t sum) {
        const Signature given = {{"A", array({8, sum})}, {"B", array({2048, sum})}};
        std::string all;
        const BoundProgram program = bound("C[i,j] := A[i,k]*B[j,k]", given);
        for (const auto& each : codegen::plan(program, example_target(64)).schedules)
            all += str(each);
        return all;
    };
    // Rows of 8 KiB: the first element of each stands in the same set of eight lines.
    CHECK(schedules(2048).find("  tile j 14 ") == std::string::npos);
    CHECK(schedules(2064).find("  tile j 14 ") != std::string::npos);
}
