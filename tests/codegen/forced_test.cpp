// tests/codegen/forced_test.cpp – strategies that tests force are taken where cost would not
#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature matrices = {{"A", array({5, 6})},
                            {"B", array({6, 3})},
                            {"x", array({12})},
                            {"h", array({4})},
                            {"J", array({12}, DType::i32)}};

/// The schedules of a program under a forced strategy, which computes the same.
std::string schedules(const std::string& text, Forced forced) {
    Signature signature = matrices;
    std::erase_if(signature, [&](const auto& argument) {
        return text.find(argument.first + "[") == std::string::npos;
    });
    const BoundProgram program = ricci::tests::bound(text, signature);
    Target target = example_target(16);
    target.forced = forced;
    CHECK(interpreted_difference(program, signature, target) == "");
    std::string all;
    for (const codegen::Schedule& schedule : codegen::plan(program, target).schedules)
        all += str(schedule);
    return all;
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* product = "C[i,j] := A[i,k]*B[k,j]";
constexpr const char* centred = "m[i] := A[i,k]; Y[i,k] := A[i,k] - m[i]";

}  // namespace

TEST_CASE("a small product runs as tests force it") {
    CHECK(has(schedules(product, Forced::tiles), "  tile i "));
    CHECK(has(schedules(product, Forced::reduced_lanes), ": row reduction\n"));
    CHECK(has(schedules(product, Forced::free_lanes), "  vector j "));
    CHECK(has(schedules(product, Forced::scalar), "  scalar "));
    CHECK(has(schedules(product, Forced::two_levels), "C_partial: "));
}
TEST_CASE("updates of few elements are made in parts as tests force it") {
    for (const std::string text : {"h[J[i] % 4] += x[i]", "h[J[i] % 4] max= x[i]"}) {
        CHECK_FALSE(has(schedules(text, Forced::nothing), "h_parts"));
        CHECK(has(schedules(text, Forced::two_levels), "h_parts"));
    }
}
TEST_CASE("rows are a chain or not as tests force it") {
    CHECK(has(schedules(centred, Forced::chains), "  chain 2 "));
    CHECK_FALSE(has(schedules(centred, Forced::no_chains), "  chain "));
    const std::string across = "m[k] := A[i,k]; Y[i,k] := A[i,k] - m[k]";
    CHECK(has(schedules(across, Forced::chains_across), "  chain 2 "));
    CHECK_FALSE(has(schedules(across, Forced::no_chains), "  chain "));
}
TEST_CASE("small sums are written anew as tests force it") {
    const std::string strided = "y[t] := sum[u | t-2*u >= 0 && t-2*u < 7](x[u]) where t in 0:29";
    CHECK_FALSE(has(schedules(strided, Forced::nothing), "k1_"));
    CHECK(has(schedules(strided, Forced::rewritings), "k1_"));
}
