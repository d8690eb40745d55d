// tests/codegen/slices_test.cpp – kernels that are run for a slice of their points at a time
#include "codegen/slices.h"

#include <set>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

constexpr const char* attention =
    "S[b,q,k] := Q[b,q,d]*K[b,k,d]/8; m[b,q] := max[k](S[b,q,k]); "
    "E[b,q,k] := exp(S[b,q,k]-m[b,q]); s[b,q] := E[b,q,k]; P[b,q,k] := E[b,q,k]/s[b,q]; "
    "Y[b,q,e] := P[b,q,k]*V[b,k,e]";
constexpr const char* causal =
    "S[b,q,k] := Q[b,q,d]*K[b,k,d]/8; m[b,q] := max[k | k <= q](S[b,q,k]); "
    "s[b,q] := sum[k | k <= q](exp(S[b,q,k]-m[b,q])); "
    "Y[b,q,e] := sum[k | k <= q](exp(S[b,q,k]-m[b,q])/s[b,q]*V[b,k,e])";

Signature heads(std::int64_t b, std::int64_t q, std::int64_t k, std::int64_t d) {
    return {{"Q", array({b, q, d})}, {"K", array({b, k, d})}, {"V", array({b, k, d})}};
}

std::int64_t slices(const codegen::Plan& plan) {
    std::int64_t count = 0;
    for (const codegen::SliceLoop& loop : plan.slice_loops) count += loop.slices;
    return count;
}
std::int64_t slices(const std::string& text, const Signature& signature) {
    return slices(codegen::plan(bound(text, signature), example_target(64)));
}
/// Bytes of the temporaries that steps use, those of slices once.
std::int64_t temporary_bytes(const codegen::Plan& plan) {
    std::set<std::size_t> used;
    for (const codegen::Step& step : plan.steps)
        used.insert(step.buffers.begin(), step.buffers.end());
    std::int64_t bytes = 0;
    for (const std::size_t b : used)
        if (plan.buffers[b].kind == codegen::PlanBuffer::Kind::temporary)
            bytes += plan.buffers[b].elements * std::int64_t(size_bytes(plan.buffers[b].dtype));
    return bytes;
}

/// What the interpreter finds wrong where slices are forced, of programs that have some.
void check_forced(const BoundProgram& program, const Signature& signature) {
    CAPTURE(str(program));
    for (const int vector_bytes : {16, 64}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::slices;
        CHECK(slices(codegen::plan(program, target)) > 0);
        for (const std::uint64_t order : {0, 1})
            CHECK(interpreted_difference(program, signature, target, order) == "");
    }
}

void check_forced(const std::string& text, const Signature& signature) {
    check_forced(bound(text, signature), signature);
}

TEST_CASE("attention is computed for blocks of rows, and its memory grows with the sequence") {
    const auto plan = [](std::int64_t sequence) {
        return codegen::plan(bound(attention, heads(8, sequence, sequence, 64)),
                             example_target(64));
    };
    CHECK(slices(plan(1024)) == 8 * 16);
    CHECK(slices(plan(4096)) == 8 * 64);
    CHECK(temporary_bytes(plan(4096)) < 5 * temporary_bytes(plan(1024)));
    CHECK(temporary_bytes(plan(4096)) < std::int64_t{8} * 4096 * 4096 * 4 / 16);
}

TEST_CASE("what passes between kernels in the caches is not sliced") {
    CHECK(slices(attention, heads(8, 64, 64, 64)) == 0);
}

TEST_CASE("kernels of few blocks of rows run one after the other, on all threads") {
    CHECK(slices(attention, heads(1, 64, 65536, 64)) == 0);
    CHECK(slices(attention, heads(1, 1024, 65536, 64)) > 0);
}

TEST_CASE("a sum over all pairs of points stores distances for a block of them at a time") {
    const char* sum = "y[i] := exp(-sum[d]((X[i,d] - Z[j,d])^2))*b[j]";
    const auto plan = [&](std::int64_t n) {
        return codegen::plan(
            bound(sum, {{"X", array({n, 16})}, {"Z", array({n, 16})}, {"b", array({n})}}),
            example_target(64));
    };
    CHECK(slices(plan(16384)) > 16);
    CHECK(temporary_bytes(plan(65536)) < 5 * temporary_bytes(plan(16384)));
}

TEST_CASE("a product that passes on little more than is read and written keeps its tiles") {
    CHECK(slices("P[n,o] := X[n,k]*W[o,k]; y[n] := max[o](P[n,o])",
                 {{"X", array({4096, 512})}, {"W", array({4096, 512})}}) == 0);
    CHECK(slices("P[n,o] := X[n,k]*W[o,k]; m[n] := max[o](P[n,o]); Y[n,o] := exp(P[n,o]-m[n])",
                 {{"X", array({4096, 64})}, {"W", array({4096, 64})}}) == 0);
}

TEST_CASE("two layers are computed for blocks of the batch, and pack their weights once") {
    const codegen::Plan plan =
        codegen::plan(bound("H[n,h] := relu(sum[k](X[n,k]*W[h,k]) + b[h]); Y[n,o] := H[n,h]*U[o,h]",
                            {{"X", array({65536, 64})},
                             {"W", array({512, 64})},
                             {"b", array({512})},
                             {"U", array({64, 512})}}),
                      example_target(64));
    REQUIRE(plan.slice_loops.size() == 1);
    // Before the slices.
    CHECK(plan.slice_loops[0].first_step == 2);
    CHECK(plan.steps.size() == 4);
}

TEST_CASE("slices compute what whole kernels do") {
    check_forced(attention, heads(2, 7, 5, 3));
    check_forced(attention, heads(1, 6, 9, 4));
    check_forced(causal, heads(2, 8, 8, 3));
    check_forced("H[n,h] := relu(X[n,k]*W[h,k]); Y[o,n] := H[n,h]*U[o,h]",
                 {{"X", array({10, 3})}, {"W", array({4, 3})}, {"U", array({5, 4})}});
    check_forced("H[h,n] := X[n,k]*W[h,k]; Y[n,o] := H[h,n]*U[o,h] where n in 0:10",
                 {{"X", array({10, 3})}, {"W", array({1, 3})}, {"U", array({5, 1})}});
}

TEST_CASE("an array that is an output, too, is written whole") {
    const Signature signature = {{"Q", array({7, 3})}, {"K", array({5, 3})}, {"V", array({5, 4})}};
    const Program program = parse_program("S[q,k] := Q[q,d]*K[k,d]; Y[q,e] := S[q,k]*V[k,e]");
    check_forced(ricci::bind(canonicalise(program), signature, {"S", "Y"}), signature);
}

TEST_CASE("slices of arrays that are updated in place") {
    check_forced(
        "S[q,k] := Q[q,d]*K[k,d]; Y[q,e] += S[q,k]*V[k,e]; Z[q,e] := 2*Y[q,e]",
        {{"Q", array({7, 3})}, {"K", array({5, 3})}, {"V", array({5, 4})}, {"Y", array({7, 4})}});
}

TEST_CASE("slices of gradients") {
    for (const char* argument : {"Q", "K", "V"}) {
        const Program program = grad::gradient(parse_program(attention), argument);
        const Signature given = heads(2, 7, 5, 3);
        Signature signature = {{"dY", array({2, 7, 3})}};
        for (const TensorId id : program.arguments)
            if (const auto found = given.find(program.at(id).name); found != given.end())
                signature.insert(*found);
        check_forced(ricci::bind(canonicalise(program), signature), signature);
    }
}

TEST_CASE("kernels that write elements of the same lines run slice by slice") {
    const auto classes = [](std::int64_t n, std::int64_t size) {
        const std::string extent = std::to_string(2 * size + 1);
        return std::pair(
            "dX[n,t,u] := sum[y,x | t-2*y >= 0 && t-2*y < 3 && u-2*x >= 0 && u-2*x < "
            "3](dY[n,y,x]) where t in 0:" +
                extent + ", u in 0:" + extent,
            Signature{{"dY", array({n, size, size})}});
    };
    const auto [small, few] = classes(4, 12);
    check_forced(small, few);
    CHECK(slices(small, few) == 0);
    const auto [large, many] = classes(512, 56);
    CHECK(slices(large, many) >= 16);
    // Where classes are written side by side, they pass in a block of a cache.
    const codegen::Plan plan = codegen::plan(bound(large, many), example_target(32));
    CHECK(slices(plan) >= 16);
    CHECK(temporary_bytes(plan) < 512 * 113 * 113 / 4);
    // A class writes whole lines where the last index is not cut into classes.
    CHECK(slices("dX[n,t,u] := sum[y | t-2*y >= 0 && t-2*y < 3](dY[n,y,u]) where t in 0:113",
                 {{"dY", array({512, 56, 113})}}) == 0);
}

TEST_CASE("products that write elements of the same lines run image by image") {
    const auto classes = [](std::int64_t n, std::int64_t channels, std::int64_t size) {
        const std::string extent = std::to_string(2 * size + 1);
        return std::pair(
            "dX[n,c,t,u] := sum[o,y,x | t-2*y >= 0 && t-2*y < 3 && u-2*x >= 0 && u-2*x < "
            "3](dY[n,o,y,x]*W[o,c,t-2*y,u-2*x]) where t in 0:" +
                extent + ", u in 0:" + extent,
            Signature{{"dY", array({n, channels, size, size})},
                      {"W", array({channels, channels, 3, 3})}});
    };
    const auto [small, few] = classes(3, 5, 6);
    const BoundProgram program = bound(small, few);
    CHECK(slices(codegen::plan(program, example_target(64))) == 0);
    Target target = example_target(64);
    target.forced = Forced::slices;
    CHECK(slices(codegen::plan(program, target)) > 0);
    CHECK(interpreted_difference(program, few, target) == "");
    const auto [large, many] = classes(40, 64, 28);
    const codegen::Plan plan = codegen::plan(bound(large, many), example_target(64));
    CHECK(slices(plan) == 40);
    // Weights are packed once.
    CHECK(plan.slice_loops.front().last_step - plan.slice_loops.front().first_step == 4);
    // Of few images threads would wait; of such weights each slice would read them all again.
    const auto [short_batch, eight] = classes(8, 64, 56);
    CHECK(slices(short_batch, eight) == 0);
    const auto [wide, deep] = classes(40, 256, 14);
    CHECK(slices(wide, deep) == 0);
}

TEST_CASE("the gradient of overlapping pools, slice by slice") {
    const std::string forward =
        "Y[n,y,x] := max[r in 0:3, s in 0:3](X[n,2*y+r,2*x+s]) where y in 0:3, x in 0:4";
    const Program program = grad::gradient(parse_program(forward), "X");
    const Signature signature = {{"X", array({5, 7, 9})}, {"dY", array({5, 3, 4})}};
    check_forced(ricci::bind(canonicalise(program), signature), signature);
}

TEST_CASE("rows that others read stay in one piece") {
    // Each row of the second product reads three rows of the first.
    const std::string text = "H[y,h] := X[y,k]*W[h,k]; Y[y,o] := H[y+r,h]*U[r,o,h]";
    const Signature signature = {
        {"X", array({9, 3})}, {"W", array({4, 3})}, {"U", array({3, 5, 4})}};
    Target target = example_target(64);
    target.forced = Forced::slices;
    CHECK(slices(codegen::plan(bound(text, signature), target)) == 0);
}

TEST_CASE("a walk over all points is not cut along them") {
    const std::string text =
        "Z[b,t,d,e] := sum[s | s <= t](K[b,s,d]*V[b,s,e]) where t in 0:48; "
        "O[b,t,d] := G[b,t,e]*Z[b,t,d,e]";
    const Signature signature = {
        {"K", array({20, 48, 4})}, {"V", array({20, 48, 4})}, {"G", array({20, 48, 4})}};
    Target target = example_target(64);
    target.forced = Forced::slices;
    const std::string plan = str(codegen::plan(bound(text, signature), target));
    CHECK_MESSAGE(plan.find("walk s ") != std::string::npos, plan);
    CHECK(interpreted_difference(bound(text, signature), signature, target) == "");
}

TEST_CASE("small problems of a batch are many in a slice") {
    // What the first product passes on is larger than caches; one of 3x3 is no work for a task.
    const std::string text = "T[n,k,i] := A[n,k,j]*B[n,i,j]; Y[n,k,j] := T[n,k,i]*A[n,i,j]";
    const auto of = [](std::int64_t n) {
        return Signature{{"A", array({n, 3, 3})}, {"B", array({n, 3, 3})}};
    };
    const std::int64_t many = slices(text, of(1'000'000));
    CHECK(many > 1);
    CHECK(many < 1000);
    check_values(text, of(50));
}

}  // namespace
}  // namespace ricci::tests
