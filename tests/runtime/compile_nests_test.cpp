// tests/runtime/compile_nests_test.cpp – kernels compiled side by side
#include "runtime/compile_nests.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "codegen/nest_build.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "runtime/executor.h"
#include "runtime/function.h"
#include "runtime/kernel_cache.h"
#include "tests/support/threads.h"

namespace ricci::runtime {
namespace {

using tests::Threads;

const char* const layers = R"(
    A[n,o] := max(0, X[n,k]*V[k,o])
    B[n,o] := tanh(sum[k](A[n,k]*W[o,k]) + b[o])
    s[n] := sum[o](B[n,o]^2)
    P[n,o] := exp(B[n,o])/sqrt(s[n] + 1))";

Signature signature_of_layers() {
    const auto array = [](Shape shape) {
        return ArgumentSpec{.shape = std::move(shape), .strides = {}, .value = {}};
    };
    return {
        {"X", array({40, 70})}, {"V", array({70, 30})}, {"W", array({30, 30})}, {"b", array({30})}};
}

TEST_CASE("each kernel is an object where several threads compile, one holds all where one does") {
    const codegen::Plan plan = codegen::plan(
        ricci::bind(canonicalise(parse_program(layers)), signature_of_layers()), target());
    REQUIRE(plan.nests.size() > 2);
    const auto objects = [&](int count) {
        const Threads threads(count);
        return compile_nests(plan.nests, target()).parts.size();
    };
    CHECK(objects(1) == 1);
    CHECK(objects(2) == plan.nests.size());
    CHECK(objects(5) == plan.nests.size());
}

TEST_CASE("kernels compiled side by side compute the same bits") {
    const auto results = [](int count) {
        const Threads threads(count);
        kernel_cache().clear_memory();
        return compile(layers)({{"X", Array::randn(DType::f32, {40, 70}, 1)},
                                {"V", Array::randn(DType::f32, {70, 30}, 2)},
                                {"W", Array::randn(DType::f32, {30, 30}, 3)},
                                {"b", Array::randn(DType::f32, {30}, 4)}});
    };
    const Array one = results(1);
    const Array three = results(3);
    REQUIRE(one.shape() == Shape{40, 30});
    CHECK(std::memcmp(one.data(), three.data(), sizeof(float) * 40 * 30) == 0);
}

TEST_CASE("what the compiler says of one kernel ends the compilation of all") {
    const auto nest_of = [](DType dtype, std::int64_t task_count) {
        codegen::Nest nest;
        nest.name = "copy";
        const codegen::BufferId y =
            nest.add({.name = "y", .dtype = dtype, .elements = task_count, .is_written = true});
        const codegen::VarId task = nest.add(codegen::Var{"task"});
        const codegen::Address at{codegen::form(task)};
        nest.body = {
            {codegen::Loop{.var = task,
                           .lower = codegen::bound(0),
                           .upper = codegen::bound(task_count),
                           .bind = codegen::Bind::parallel,
                           .body = {codegen::make_store(y, at, codegen::make_load(nest, y, at))}}}};
        return nest;
    };
    std::vector<codegen::Nest> nests;
    for (std::int64_t i = 1; i < 20; ++i)
        nests.push_back(nest_of(i == 11 ? DType::c64 : DType::f32, i));
    for (const int count : {1, 4}) {
        const Threads threads(count);
        CHECK_THROWS_WITH_AS((void)compile_nests(nests, target()),
                             "type: c64 is not supported yet by the CPU compiler", Error);
    }
    const Threads threads(4);
    nests.erase(nests.begin() + 10);
    CHECK(compile_nests(nests, target()).parts.size() == nests.size());
}

}  // namespace
}  // namespace ricci::runtime
