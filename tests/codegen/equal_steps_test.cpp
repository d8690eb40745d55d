// tests/codegen/equal_steps_test.cpp – what two steps would make, one makes
#include "codegen/equal_steps.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "codegen/nest_build.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// A plan of buffers x, a, b, y, z of 4 numbers each, without steps.
Plan buffers() {
    Plan plan;
    for (const char* name : {"x", "a", "b", "y", "z"})
        plan.buffers.push_back({.kind = *name == 'a' || *name == 'b' ? PlanBuffer::Kind::temporary
                                                                     : PlanBuffer::Kind::tensor,
                                .name = name,
                                .elements = 4});
    return plan;
}
constexpr std::size_t x = 0;
constexpr std::size_t a = 1;
constexpr std::size_t b = 2;
constexpr std::size_t y = 3;
constexpr std::size_t z = 4;

/// to[task] = factor * from[task].
void add_step(Plan& plan, std::size_t from, std::size_t to, double factor = 2) {
    Nest nest;
    nest.name = plan.buffers[to].name;
    const BufferId source =
        nest.add(Buffer{.name = plan.buffers[from].name, .dtype = DType::f32, .elements = 4});
    const BufferId target = nest.add(Buffer{
        .name = plan.buffers[to].name, .dtype = DType::f32, .elements = 4, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    const Value product = make_operation(
        Op::mul, {make_number(DType::f32, factor), make_load(nest, source, {form(task)})},
        DType::f32);
    nest.body = {{Loop{.var = task,
                       .lower = bound(form(0)),
                       .upper = bound(form(4)),
                       .bind = Bind::parallel,
                       .body = {make_store(target, {form(task)}, product)}}}};
    plan.steps.push_back({.nest = plan.nests.size(), .buffers = {from, to}, .tasks = 4});
    plan.nests.push_back(std::move(nest));
    plan.schedules.push_back({.kernel = plan.buffers[to].name});
}

/// A plan of these steps, each from one buffer to another.
Plan plan_of(const std::vector<std::pair<std::size_t, std::size_t>>& moves) {
    Plan plan = buffers();
    for (const auto& [from, to] : moves) add_step(plan, from, to);
    return plan;
}

/// Its steps, as `x>a a>y`.
std::string steps(Plan plan) {
    drop_equal_steps(plan);
    REQUIRE(plan.nests.size() == plan.steps.size());
    REQUIRE(plan.schedules.size() == plan.steps.size());
    std::string text;
    for (const Step& step : plan.steps) {
        CHECK(plan.nests[step.nest].buffers[1].name == plan.buffers[step.buffers[1]].name);
        text += (text.empty() ? "" : " ") + plan.buffers[step.buffers[0]].name + ">" +
                plan.buffers[step.buffers[1]].name;
    }
    return text;
}

}  // namespace

TEST_CASE("what an earlier step wrote into a temporary is not made again") {
    Plan plan = plan_of({{x, a}, {a, y}, {x, b}, {b, z}});
    plan.checks = {{.check = 0, .buffer = b, .after = 2}, {.check = 1, .buffer = z, .after = 3}};
    plan.choices = {{.kernel = "k", .first_step = 2, .last_step = 4}};
    CHECK(steps(plan) == "x>a a>y a>z");
    drop_equal_steps(plan);
    CHECK(plan.buffers.size() == 4);
    CHECK(plan.buffers[plan.checks[0].buffer].name == "a");
    CHECK(plan.checks[0].after == 1);
    CHECK(plan.buffers[plan.checks[1].buffer].name == "z");
    CHECK(plan.checks[1].after == 2);
    CHECK(plan.choices[0].first_step == 2);
    CHECK(plan.choices[0].last_step == 3);
}

TEST_CASE("equal steps of equal steps fall together") {
    Plan plan = plan_of({{x, a}, {x, b}, {a, y}, {b, z}});
    CHECK(steps(plan) == "x>a a>y a>z");
    plan.buffers[y].kind = PlanBuffer::Kind::temporary;
    plan.buffers[z].kind = PlanBuffer::Kind::temporary;
    CHECK(steps(plan) == "x>a a>y");
}

TEST_CASE("steps stay that differ, that write results, or whose sources changed in between") {
    Plan other = plan_of({{x, a}});
    add_step(other, x, b, 3);
    CHECK(steps(other) == "x>a x>b");
    CHECK(steps(plan_of({{x, y}, {x, z}})) == "x>y x>z");
    CHECK(steps(plan_of({{x, a}, {y, x}, {x, b}})) == "x>a y>x x>b");
    // Something else writes one of them.
    CHECK(steps(plan_of({{x, a}, {x, b}, {y, b}})) == "x>a x>b y>b");
    Plan sliced = plan_of({{x, a}, {x, b}});
    CHECK(steps(sliced) == "x>a");
    sliced.slice_loops = {{.first_step = 1, .last_step = 2, .slices = 2}};
    CHECK(steps(sliced) == "x>a x>b");
}

TEST_CASE("products that read the same operand share its panels") {
    const Signature both = {{"A", array({200, 300})}, {"B", array({192, 300})}};
    Signature three = both;
    three.emplace("E", array({200, 300}));
    const auto packs = [&](const std::string& text, const Signature& signature) {
        const Plan plan = codegen::plan(bound(text, signature), example_target(64));
        return std::ranges::count_if(plan.schedules, [](const Schedule& schedule) {
            return std::ranges::any_of(schedule.directives, [](const Directive& directive) {
                return directive.verb == "pack";
            });
        });
    };
    const std::string two = "C[i,j] := A[i,k]*B[j,k]; D[i,j] := E[i,k]*B[j,k] + C[i,j]";
    CHECK(packs("C[i,j] := A[i,k]*B[j,k]", both) == 1);
    CHECK(packs(two, three) == 1);
    CHECK(compiled_difference(bound(two, three), three).empty());
}

}  // namespace ricci::tests
