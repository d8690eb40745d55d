// tests/codegen/passes_test.cpp – the rewritings of finished nests
#include "codegen/passes.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/nest_build.h"

using namespace ricci;
using namespace ricci::codegen;

namespace {

/// The body of a kernel after `simplify`, without its first two lines.
std::string simplified(Nest nest, VarId task, Body body) {
    nest.name = "example";
    nest.body.push_back(make_loop(task, Bind::parallel, 4, std::move(body)));
    const std::string text = str(simplify(std::move(nest), Target{}));
    return text.substr(text.find("0..4\n") + 5);
}

Body one(Stmt stmt) {
    Body body;
    body.push_back(std::move(stmt));
    return body;
}

}  // namespace

TEST_CASE("simplify writes single iterations out and drops empty loops") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 64, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    const VarId i = nest.add(Var{"i"});
    const VarId j = nest.add(Var{"j"});
    const auto store = [&](VarId var) {
        return one(make_store(a, {form(task) + form(var, 2)}, make_number(DType::f32, 0)));
    };
    Body body = one(make_loop(i, Bind::serial, bound(3), bound(4), store(i)));
    append(body, one(make_loop(j, Bind::serial, bound(4), bound(4), store(j))));
    CHECK(simplified(nest, task, std::move(body)) == "    A[task + 6] = 0.0\n");
}

TEST_CASE("simplify names variables that need no division by their form") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 64, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    const VarId i = nest.add(Var{"i"});
    const VarId j = nest.add(Var{"j"});
    Body body = one(make_let_var(i, form(task), 1, 0));
    append(body, one(make_let_var(j, form(task), 2, 5)));
    append(body, one(make_store(a, {form(i, 3) + form(j)}, make_number(DType::f32, 0))));
    CHECK(simplified(nest, task, std::move(body)) ==
          "    let j = task // 2 % 5\n"
          "    A[3*task + j] = 0.0\n");
}

TEST_CASE("simplify folds constant bounds and decides guards of constants") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 64, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    const VarId i = nest.add(Var{"i"});
    LoopBound upper = with(with(bound(16), form(7)), form(task, 8));
    const Value never = make_operation(Op::lt, {make_integer(5), make_integer(3)}, DType::boolean);
    Body inner = one(make_store(a, {form(i)}, make_number(DType::f32, 1)));
    append(inner, one({Guard{never, one(make_store(a, {}, make_number(DType::f32, 2)))}}));
    CHECK(simplified(nest, task,
                     one(make_loop(i, Bind::serial, bound(0), upper, std::move(inner)))) ==
          "    for i in 0..min(7, 8*task)\n"
          "      A[i] = 1.0\n");
}

TEST_CASE("simplify writes out few iterations that divide by numbers of their own") {
    for (const std::int64_t extent : {4, 5}) {
        Nest nest;
        const VarId task = nest.add(Var{"task"});
        const VarId k = nest.add(Var{"k"});
        const BufferId y =
            nest.add(Buffer{.name = "y", .dtype = DType::i64, .elements = 8, .is_written = true});
        const Value divisor = make_index(form(1) + form(k, 3));
        Body body = one(make_store(
            y, {form(k)},
            make_operation(Op::floordiv, {make_index(form(task)), divisor}, DType::i64)));
        const std::string text =
            simplified(nest, task, one(make_loop(k, Bind::serial, extent, std::move(body))));
        CHECK(text.find(extent == 4 ? "unroll k in 0..4" : "for k in 0..5") != std::string::npos);
    }
}

TEST_CASE("every pass is dumped by name") {
    Nest nest;
    nest.name = "example";
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 4, .is_written = true});
    const VarId task = nest.add(Var{"task"});
    nest.body.push_back(make_loop(task, Bind::parallel, 4,
                                  one(make_store(a, {form(task)}, make_number(DType::f32, 0)))));
    std::string stages;
    (void)run_passes(nest, Target{},
                     [&](std::string_view kernel, std::string_view stage, const Nest&) {
                         stages += std::string(kernel) + " " + std::string(stage) + "\n";
                     });
    CHECK(stages ==
          "example lower\nexample simplify\nexample bounds\nexample powers\nexample narrow\n"
          "example rows\nexample prefetch\nexample interleave\n");
}
