// tests/codegen/copied_columns_test.cpp – columns copied slice by slice, as the result stands
#include <string>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

constexpr const char* apart = "C[a,b,c,d,e] := A[e,f,b,a,d]*B[c,f]";

Signature five(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, std::int64_t e,
               std::int64_t f, DType dtype = DType::f32) {
    return {{"A", array({e, f, b, a, d}, dtype)}, {"B", array({c, f}, dtype)}};
}

struct Planned {
    std::int64_t slices = 0;
    std::string nests;
};

/// On a machine of small caches. Checks values, too, also where slices are forced.
Planned planned(const std::string& text, const Signature& signature,
                std::int64_t l2_bytes = 32 << 10) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    Target target = example_target(64);
    target.l2_bytes = l2_bytes;
    const std::uint64_t order = 0;
    CHECK(interpreted_difference(program, signature, target, order) == "");
    const auto forced = [](Target each) {
        each.forced = Forced::slices;
        return each;
    };
    CHECK(interpreted_difference(program, signature, forced(example_target(16)), order) == "");
    CHECK(compiled_difference(program, signature, forced(codegen::cpu::host_target())) == "");
    Planned result;
    const codegen::Plan plan = codegen::plan(program, target);
    for (const codegen::SliceLoop& loop : plan.slice_loops) result.slices += loop.slices;
    for (const codegen::Nest& nest : plan.nests) result.nests += str(nest);
    return result;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("large columns in another order than the result are copied for a slice at a time") {
    const Planned plan = planned(apart, five(9, 4, 6, 16, 24, 8));
    // Of 16 by 24 by 8 elements a point of `a` and `b` fits into half of the cache.
    CHECK(plan.slices == 9 * 4);
    CHECK_MESSAGE(contains(plan.nests, "out C_columns: f32[3072]"), plan.nests);
    // Lanes run on along `d` and `e`.
    CHECK_MESSAGE(contains(plan.nests, "line[16*u + l] = C_columns[384*f + "), plan.nests);
    // The copy asks for what the next slice reads.
    CHECK_MESSAGE(contains(plan.nests, "+ 16] to L2"), plan.nests);
}

TEST_CASE("the copies of one axis of slices ask for what the next one reads, too") {
    const Planned plan =
        planned("C[a,c,e] := A[e,f,a]*B[c,f]", {{"A", array({40, 8, 512})}, {"B", array({6, 8})}});
    CHECK(plan.slices == 32);
    CHECK_MESSAGE(contains(plan.nests, "+ 16] to L2"), plan.nests);
}

TEST_CASE("a slice has what fits into a cache of the axes in which columns stand") {
    CHECK(planned(apart, five(6, 12, 4, 16, 24, 4), 32 << 10).slices == 3 * 12);
    const auto transposed = [](std::int64_t a, std::int64_t l2_bytes) {
        return planned("C[a,b,c,d] := A[d,b,e,a]*B[e,c]",
                       {{"A", array({20, 32, 8, a})}, {"B", array({8, 5})}}, l2_bytes)
            .slices;
    };
    CHECK(transposed(32, 24 << 10) == 32 * 2);
    CHECK(transposed(32, 32 << 10) == 32);
    // Blocks are of whole lines.
    CHECK(transposed(30, 24 << 10) == 0);
}

TEST_CASE("columns that the caches hold, or that stand as the result does, are packed whole") {
    CHECK(planned(apart, five(9, 4, 6, 16, 24, 8), 1 << 20).slices == 0);
    CHECK(
        planned("C[a,c,d] := A[a,f,d]*B[c,f]", {{"A", array({40, 16, 48})}, {"B", array({6, 16})}})
            .slices == 0);
    // Nor does a copy pay beside long sums of many rows, which are more tasks than slices.
    CHECK(codegen::plan(bound("S[b,i,j] := Q[b,i,k]*K[b,j,k]",
                              {{"Q", array({64, 1024, 64})}, {"K", array({64, 1024, 64})}}),
                        example_target(64))
              .slice_loops.empty());
    // Windows would be copied again and again.
    CHECK(planned("C[x,c,n] := A[n,0,x+r]*B[c,r]",
                  {{"A", array({48, 16, 100})}, {"B", array({6, 9})}})
              .slices == 0);
    CHECK(planned("C[x,c,n] := A[n,x+r]*B[c,r]", {{"A", array({48, 600})}, {"B", array({6, 9})}})
              .slices == 0);
}

TEST_CASE("slices of terms, of doubles, of batches, of updates and of what is added") {
    const auto is_sliced = [](const std::string& text, const Signature& signature) {
        CHECK_MESSAGE(planned(text, signature).slices > 0, text);
    };
    is_sliced("C[a,b,c,d,e] := exp(A[e,f,b,a,d])*B[c,f]", five(9, 4, 6, 16, 24, 8));
    is_sliced(apart, five(9, 4, 6, 16, 24, 4, DType::f64));
    is_sliced("C[a,b,c,d,e] := A[e,f,b,a,d]*B[a,c,f]",
              {{"A", array({24, 8, 4, 9, 16})}, {"B", array({9, 6, 8})}});
    is_sliced("C[a,b,c,d,e] := tanh(sum[f](A[e,f,b,a,d]*B[c,f]) + v[e] + w[a,c])",
              {{"A", array({24, 8, 4, 9, 16})},
               {"B", array({6, 8})},
               {"v", array({24})},
               {"w", array({9, 6})}});
    is_sliced(
        "C[a,b,c,d,e] += A[e,f,b,a,d]*B[c,f]",
        {{"A", array({24, 8, 4, 9, 16})}, {"B", array({6, 8})}, {"C", array({9, 4, 6, 16, 24})}});
    is_sliced(apart, five(9, 4, 6, 16, 24, 16, DType::bf16));
    is_sliced("C[a,b,c,d,e] := max[f](A[e,f,b,a,d] + B[c,f])", five(9, 4, 6, 16, 24, 8));
    is_sliced("C[a,b,c,d,e] := A[e,f,b,a,d]*B[c,f]", five(9, 4, 6, 17, 23, 7));
}

TEST_CASE("large results of few reduced points go past the caches, in whole lines") {
    const auto is_streamed = [](std::int64_t rows, std::int64_t depth, std::int64_t columns) {
        const codegen::Plan plan =
            codegen::plan(bound("C[i,j] := A[i,k]*B[k,j]",
                                {{"A", array({rows, depth})}, {"B", array({depth, columns})}}),
                          example_target(64));
        std::string nests;
        for (const codegen::Nest& nest : plan.nests) nests += str(nest);
        return contains(nests, "# streaming");
    };
    CHECK(is_streamed(40000, 16, 256));
    CHECK_FALSE(is_streamed(40000, 64, 256));
    CHECK_FALSE(is_streamed(10000, 16, 256));
    CHECK_FALSE(is_streamed(40000, 16, 255));
}
