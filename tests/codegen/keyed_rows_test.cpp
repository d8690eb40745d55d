// tests/codegen/keyed_rows_test.cpp – rows that are updated where data says, and what they start as
#include <algorithm>

#include <doctest/doctest.h>

#include "codegen/nest.h"
#include "codegen/tasks.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The gradient of a gather: zeros, then updates.
constexpr const char* updates = "dA[t,k] := sum[i | t == J[i]](dy[i,k]) where t in 0:size(A,0)";

Signature rows(std::int64_t table, std::int64_t points, std::int64_t columns,
               DType dtype = DType::f32) {
    return {{"A", array({table, 1})},
            {"J", array({points}, DType::i32)},
            {"dy", array({points, columns}, dtype)}};
}

codegen::Plan plan_of(const std::string& text, const Signature& signature,
                      std::int64_t l3_bytes = Target().l3_bytes) {
    Target target = example_target(64);
    target.l3_bytes = l3_bytes;
    return codegen::plan(bound(text, signature), target);
}

/// How many tasks the updates have; -1 where they are not marked to run side by side.
std::int64_t pieces(std::int64_t columns, DType dtype = DType::f32) {
    const codegen::Plan plan = plan_of(updates, rows(5000, 8192, columns, dtype));
    const codegen::Step& last = plan.steps.back();
    return plan.nests[last.nest].runs_side_by_side || last.tasks == 1 ? last.tasks : -1;
}

/// How many outputs are written past the caches.
std::int64_t streams(const codegen::Plan& plan) {
    std::int64_t count = 0;
    for (const codegen::Schedule& schedule : plan.schedules)
        count += std::ranges::count(schedule.directives, "stream", &codegen::Directive::verb);
    return count;
}

/// The statements of the updates as emitted: `let`s, then the loop over the points.
std::string emitted(const std::string& text) {
    Signature signature = {
        {"H", array({3000, 512})}, {"J", array({8192}, DType::i32)}, {"x", array({8192, 512})}};
    if (text.find('s') != std::string::npos) signature.emplace("s", array({}));
    const codegen::Plan plan = plan_of(text, signature);
    const codegen::Nest& nest = plan.nests[plan.steps.back().nest];
    REQUIRE(nest.runs_side_by_side);
    CHECK(str(nest).find("# side by side") != std::string::npos);
    std::string statements;
    for (const codegen::Stmt& stmt :
         codegen::tasks_inside(std::get<codegen::Loop>(nest.body[0].node))) {
        const auto* loop = std::get_if<codegen::Loop>(&stmt.node);
        if (loop == nullptr) {
            statements += std::holds_alternative<codegen::Let>(stmt.node) ? "let " : "? ";
            continue;
        }
        const auto* inside = std::get_if<codegen::Loop>(&loop->body[0].node);
        statements += nest.at(loop->var).name + (inside ? " " + nest.at(inside->var).name : "");
    }
    return statements;
}

}  // namespace

TEST_CASE("the tasks of updated rows run inside the loop over the points") {
    CHECK(emitted("H[J[i],k] += x[i,k]") == "i task");
    CHECK(emitted("H[J[i],k] += s*x[i,k]") == "let i task");
}

TEST_CASE("tasks share updated rows in pieces of at least 512 bytes") {
    CHECK(pieces(64) == 1);
    CHECK(pieces(255) == 1);
    CHECK(pieces(256) == 2);
    CHECK(pieces(511) == 2);
    CHECK(pieces(1024) == 8);
    CHECK(pieces(128, DType::f64) == 2);
}

TEST_CASE("pieces of updated rows give what whole rows give") {
    for (const std::int64_t columns : {257, 336, 520})
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(columns);
            const Signature signature = {{"H", array({3000, columns}, dtype)},
                                         {"J", array({900}, DType::i32)},
                                         {"x", array({900, columns}, dtype)}};
            const BoundProgram program = bound("H[J[i] % 3000,k] += x[i,k]", signature);
            CHECK(codegen::plan(program, example_target(64)).steps.back().tasks > 1);
            for (const int vector_bytes : {16, 32, 64})
                CHECK(interpreted_difference(program, signature, example_target(vector_bytes)) ==
                      "");
            CHECK(compiled_difference(program, signature) == "");
        }
}

TEST_CASE("pieces of rows that are updated in place give what whole rows give") {
    // Also of a row that is reduced for each point, and of another kind.
    const Signature signature = {
        {"H", array({3000, 300})}, {"J", array({3000}, DType::i32)}, {"x", array({3000, 3, 300})}};
    for (const char* text : {"H[J[i] % 3000,k] += x[i,0,k]", "H[J[i] % 20,k] += x[i,j,k]",
                             "H[J[i] % 3000,k] max= x[i,1,k]"}) {
        CAPTURE(text);
        const BoundProgram program = bound(text, signature);
        CHECK(codegen::plan(program, example_target(64)).steps.back().tasks == 2);
        CHECK(interpreted_difference(program, signature, example_target(64)) == "");
        CHECK(compiled_difference(program, signature) == "");
    }
}

TEST_CASE("no line behind the last piece is asked for where pieces differ") {
    const codegen::Plan plan = plan_of(
        "H[J[i],k] += x[i,k]",
        {{"H", array({30'000, 336})}, {"J", array({8192}, DType::i32)}, {"x", array({8192, 336})}});
    const std::string loops = str(plan.nests[plan.steps.back().nest]);
    CHECK(loops.find("for line in 176*task..min(336, 176*task + 176) by 16") != std::string::npos);
}

TEST_CASE("a copy that the next step reads is not written past a cache that holds it") {
    constexpr std::int64_t mib = 1 << 20;
    const BoundProgram program =
        bound("C[i,j] := f32(A[i,k])*f32(B[k,j])",
              {{"A", array({1024, 16384}, DType::bf16)}, {"B", array({16384, 2048}, DType::bf16)}});
    Target target = example_target(64);
    target.has_bf16_tiles = true;
    target.l3_bytes = 128 * mib;
    CHECK(streams(codegen::plan(program, target)) == 1);
    target.l3_bytes = 480 * mib;
    CHECK(streams(codegen::plan(program, target)) == 0);
}

TEST_CASE("what a later kernel adds to is not written past a cache that holds it") {
    constexpr std::int64_t mib = 1 << 20;
    const Signature signature = rows(50'000, 64, 256);
    CHECK(streams(plan_of(updates, signature)) == 1);
    CHECK(streams(plan_of(updates, signature, 128 * mib)) == 1);
    CHECK(streams(plan_of(updates, signature, 480 * mib)) == 0);
    const Signature large = {{"x", array({16 * mib})}};
    CHECK(streams(plan_of("y[i] := 2*x[i]", large, 480 * mib)) == 1);
}
