// tests/codegen/row_chain_test.cpp – passes over the same rows as one kernel on a CPU
#include "codegen/row_chain.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "codegen/equal_values.h"
#include "codegen/plan.h"
#include "runtime/function.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;
using namespace ricci::codegen;

namespace {

/// Kernels of the program on this machine's widest vectors, after checks on all of them.
std::size_t steps(const std::string& text, const Signature& signature) {
    const BoundProgram program = ricci::tests::bound(text, signature);
    INFO(text);
    for (const int vector_bytes : {64, 32, 16})
        CHECK(interpreted_difference(program, signature, example_target(vector_bytes)) == "");
    CHECK(compiled_difference(program, signature) == "");
    return codegen::plan(program, example_target(64)).steps.size();
}

Signature rows(Shape shape, DType dtype = DType::f32) {
    return {{"X", array(std::move(shape), dtype)}};
}

constexpr const char* softmax =
    "m[i] := max[k](X[i,k]); E[i,k] := exp(X[i,k] - m[i]); s[i] := E[i,k]; Y[i,k] := E[i,k]/s[i]";

}  // namespace

TEST_CASE("passes over the same rows are one kernel") {
    for (const Shape& shape : {Shape{5, 100}, Shape{1, 64}, Shape{66, 48}})
        CHECK(steps(softmax, rows(shape)) == 1);
    CHECK(steps(softmax, rows({5, 100}, DType::f64)) == 1);
    CHECK(steps("Y[i,k] := X[i,k] - logsumexp[l](X[i,l])", rows({9, 37})) == 1);
    CHECK(steps("m[n] := mean[c,h](X[n,c,h]); Y[n,c,h] := X[n,c,h] - m[n]", rows({6, 5, 8})) == 1);
    CHECK(steps("L[a,i] := logsumexp[k](X[a,i,k])", rows({3, 7, 100})) == 1);
    CHECK(steps("p[i] := argmax[k](X[i,k]); m[i] := X[i,k]; Y[i,k] := X[i,k]*p[i] - m[i]",
                rows({3, 400})) == 1);
    // The second sum reads no result of the first, and first of all what all rows share.
    CHECK(steps("s[i] := X[i,k]*g[k]; t[i] := abs(X[i,k])*g[k]; Y[i,k] := X[i,k] - t[i] + s[i]",
                {{"X", array({9, 64})}, {"g", array({64})}}) == 1);
}

TEST_CASE("rows side by side are passed over in lanes across them") {
    const std::string across =
        "m[i,k] := max[j](X[i,j,k]); E[i,j,k] := exp(X[i,j,k] - m[i,k]); s[i,k] := E[i,j,k]; "
        "Y[i,j,k] := E[i,j,k]/s[i,k]";
    // Full blocks, what they leave over, fewer rows than lanes, tasks that share a row of rows.
    for (const Shape& shape :
         {Shape{2, 7, 64}, Shape{3, 5, 70}, Shape{4, 9, 12}, Shape{1, 40, 700}})
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
            CAPTURE(shape);
            CAPTURE(dtype);
            CHECK(steps(across, rows(shape, dtype)) == 1);
        }
    CHECK(steps("p[k] := argmax[j](X[j,k]); m[k] := X[j,k]; Y[j,k] := X[j,k]*p[k] - m[k]",
                rows({9, 50})) == 1);
    CHECK(steps("m[n,w] := mean[c,h](X[n,c,h,w]); v[n,w] := mean[c,h]((X[n,c,h,w] - m[n,w])^2); "
                "Y[n,c,h,w] := (X[n,c,h,w] - m[n,w])*rsqrt(v[n,w] + 1e-5)*g[w]",
                {{"X", array({2, 3, 5, 33})}, {"g", array({33})}}) == 1);
    // What passes from one stage to the next is asked for in memory, too.
    CHECK(steps("m[k] := X[j,k]; Z[j,k] := X[j,k] - m[k]; v[k] := Z[j,k]^2; Y[j,k] := Z[j,k]*v[k]",
                rows({6, 40})) == 1);
    for (const DType dtype : {DType::f16, DType::i32, DType::i64, DType::u8})
        CHECK(
            steps(
                "m[k] := max[j](X[j,k]); p[k] := argmin[j](X[j,k]); Y[j,k] := X[j,k] + p[k] - m[k]",
                rows({5, 41}, dtype)) == 1);
    // Rows of few elements, read in short steps.
    CHECK(steps(softmax, rows({700, 3})) == 1);
    // Blocks of rows this long stay in no cache.
    CHECK(steps("m[k] := max[j](X[j,k]); Y[j,k] := X[j,k] - m[k]", rows({3000, 64})) == 2);
}

TEST_CASE("places of NaN in what blocks of rows leave over") {
    const Function places = compile(
        "p[k] := argmax[j](X[j,k]); m[k] := max[j](X[j,k]); Y[j,k] := X[j,k] == m[k] ? p[k] : -1");
    std::vector<float> values(4 * 70, 1.0F);
    values[2 * 70 + 69] = std::nanf("");
    values[3 * 70 + 68] = 2;
    const Array result = places.call({{"X", Array::from<float>(values, {4, 70})}}, {"p"}).front();
    CHECK(result.span<const std::int64_t>()[69] == 2);
    CHECK(result.span<const std::int64_t>()[68] == 3);
    CHECK(result.span<const std::int64_t>()[0] == 0);
}

TEST_CASE("outputs larger than caches are asked for, or written past them in whole lines") {
    const std::string text = "m[i,k] := max[j](X[i,j,k]); Y[i,j,k] := X[i,j,k] - m[i,k]";
    const auto loops = [&](const Shape& shape, std::int64_t l2_bytes) {
        Target target = example_target(64);
        target.l2_bytes = l2_bytes;
        const BoundProgram program = ricci::tests::bound(text, rows(shape));
        const codegen::Plan plan = codegen::plan(program, target);
        REQUIRE(plan.nests.size() == 1);
        return str(plan.schedules[0]) + str(plan.nests[0]);
    };
    const auto has = [](const std::string& all, const std::string& part) {
        return all.find(part) != std::string::npos;
    };
    CHECK(has(loops({1, 6, 700}, 8 << 10), "prefetch Y"));
    CHECK_FALSE(has(loops({1, 6, 700}, 64 << 10), "prefetch Y"));
    const Signature signature = rows({1, 6, 700});
    Target target = example_target(64);
    target.l2_bytes = 8 << 10;
    CHECK(interpreted_difference(ricci::tests::bound(text, signature), signature, target) == "");
    const std::string whole = loops({64, 96, 4160}, 1 << 20);
    CHECK(has(whole, "  stream Y"));
    CHECK_FALSE(has(whole, "prefetch Y"));
    const std::string ragged = loops({64, 96, 4159}, 1 << 20);
    CHECK(has(ragged, "prefetch Y"));
}

TEST_CASE("short rows are taken several at a time, in whole blocks and in what is left") {
    const auto is_in_blocks = [](const std::string& text, const Signature& signature) {
        const codegen::Plan plan =
            codegen::plan(ricci::tests::bound(text, signature), example_target(64));
        return std::ranges::any_of(plan.schedules, [](const Schedule& schedule) {
            return str(schedule).find("short rows") != std::string::npos;
        });
    };
    const std::string programs[] = {
        "Y[i] := sum[k](X[i,k])",
        "Y[i] := log(sum[k](X[i,k]^2) + 1)",
        "Y[i] := tanh(max[k](X[i,k]))*sqrt(i) + log(i+1)",
        softmax,
        "Y[i] := logsumexp[k](X[i,k])",
        "Y[i,k] := X[i,k] - logsumexp[l](X[i,l])",
        "m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k] - m[i])^2); "
        "Y[i,k] := (X[i,k] - m[i])*rsqrt(v[i] + 1e-5)",
        "p[i] := argmax[k](X[i,k]); m[i] := X[i,k]; Y[i,k] := X[i,k]*p[i] - m[i]"};
    for (const std::string& text : programs) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            for (const std::int64_t count : {32, 37, 160}) {
                const Signature signature = rows({count, 64}, dtype);
                CAPTURE(text);
                CAPTURE(count);
                CHECK(steps(text, signature) <= 2);
                CHECK(is_in_blocks(text, signature));
            }
        }
    }
    // Results that stand far apart.
    CHECK(is_in_blocks("m[i] := max[k](X[i,k]); M[2*i] = m[i]; Y[i] := sum[k](exp(X[i,k] - m[i]))",
                       {{"X", array({37, 40})}, {"M", array({74})}}));
    CHECK(steps("m[i] := max[k](X[i,k]); M[2*i] = m[i]; Y[i] := sum[k](exp(X[i,k] - m[i]))",
                {{"X", array({37, 40})}, {"M", array({74})}}) <= 3);
    const char* loss = "L[i] := logsumexp[k](X[i,k]) - X[i,wrap(T[i])]";
    const Signature classes = {{"X", array({70, 10})}, {"T", array({70}, DType::i32)}};
    CHECK(steps(loss, classes) <= 3);
    CHECK(steps("Y[a,i,k] := X[a,i,k]*rsqrt(sum[l](X[a,i,l]^2))", rows({3, 50, 20})) == 1);
    CHECK(steps("Y[i,k] := X[i,k] - max[l](X[i,l]); s[i] := Y[i,k]", rows({40, 30}, DType::f16)) <=
          2);
    for (const std::int64_t length : {5, 9, 10, 17, 33}) {
        CAPTURE(length);
        CHECK(is_in_blocks("Y[i] := max[k](X[i,k])", rows({100, length})));
        CHECK(steps("Y[i] := max[k](X[i,k])", rows({100, length})) == 1);
    }
    for (const DType dtype : {DType::i8, DType::i32, DType::u64})
        CHECK(steps("Y[i] := min[k](X[i,k])", rows({70, 24}, dtype)) == 1);
    CHECK(steps("Y[i] := any[k](X[i,k] > 0)", rows({70, 24})) == 1);
    CHECK(steps("Y[i] := prod[k](X[i,k])", rows({37, 10}, DType::f64)) == 1);
    // Longer rows do not stay in the first-level cache.
    CHECK_FALSE(is_in_blocks(softmax, rows({64, 300})));
}

TEST_CASE("rows that fill most of their vectors are one kernel, whatever suits a pass by itself") {
    const std::string norm =
        "m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k]-m[i])^2); "
        "q[i] := mean[k](D[i,k]*g[k]*(X[i,k]-m[i])); p[i] := mean[k](D[i,k]*g[k]); "
        "Y[i,k] := (D[i,k]*g[k] - p[i] - (X[i,k]-m[i])*q[i]/v[i])/sqrt(v[i]+1e-5)";
    for (const std::int64_t n : {10, 17, 20, 33, 34, 49})
        CHECK(steps(norm, {{"X", array({200, n})}, {"D", array({200, n})}, {"g", array({n})}}) ==
              1);
}

TEST_CASE("long rows side by side are not passed over one by one") {
    const std::string down =
        "s[j] := sum[k](exp(X[k,j] - d[j])); Y[k,j] := exp(X[k,j] - d[j])/s[j]";
    const Signature signature = {{"X", array({3000, 500})}, {"d", array({500})}};
    for (const int vector_bytes : {64, 32}) {
        const std::string plan =
            str(codegen::plan(ricci::tests::bound(down, signature), example_target(vector_bytes)));
        INFO(plan);
        CHECK(plan.find("vector j") != std::string::npos);
        CHECK(plan.find("vector k") == std::string::npos);
    }
    CHECK(steps(down, {{"X", array({300, 20})}, {"d", array({20})}}) > 0);
}

TEST_CASE("rows side by side whose points meet in few sets of a cache are no chain") {
    const auto has_chain = [](std::int64_t points, std::int64_t step) {
        const Signature signature = {{"X", array({points, step})}};
        const std::string down =
            "m[j] := mean[k](X[k,j]); v[j] := mean[k]((X[k,j] - m[j])^2); "
            "Y[k,j] := (X[k,j] - m[j])*rsqrt(v[j] + 1)";
        const std::string plan =
            str(codegen::plan(ricci::tests::bound(down, signature), example_target(32)));
        return plan.find("  chain ") != std::string::npos;
    };
    CHECK(has_chain(200, 16000));
    CHECK_FALSE(has_chain(200, 16384));
    CHECK(has_chain(7, 16384));
}

TEST_CASE("rows in pieces shorter than vectors are no chain") {
    const std::string norm = "m[n,a] := mean[y,e](X[n,y,a,e]); Y[n,y,a,e] := X[n,y,a,e]-m[n,a]";
    CHECK(steps(norm, {{"X", array({2, 40, 6, 8})}}) > 1);
    CHECK(steps("m[n] := mean[y,e](X[n,y,e]); Y[n,y,e] := X[n,y,e]-m[n]",
                {{"X", array({20, 9, 8})}}) == 1);
}

TEST_CASE("elements that pass from stage to stage are rounded as their arrays are") {
    CHECK(steps("E[i,k] := f16(X[i,k]*1.1 - sum[l](X[i,l])); Y[i,k] := f32(E[i,k]) - "
                "max[l](f32(E[i,l]))",
                rows({9, 40})) == 1);
    CHECK(steps("s[i] := X[i,k]; E[i,k] := i8(X[i,k] - s[i]); Y[i] := sum[k](i32(E[i,k]))",
                rows({9, 40}, DType::i32)) == 1);
}

TEST_CASE("what is read after a check of data is stored") {
    // The check of the keys stops everything: kernels behind it are lowered after the chain.
    const std::string text =
        "m[i] := max[k](X[i,k]); s[i] := sum[k](exp(X[i,k] - m[i])); J[i] := i64(s[i]); "
        "y[i] := T[J[i]]*m[i]";
    Signature signature = rows({5, 100});
    signature.emplace("T", array({101}));
    CHECK(steps(text, signature) == 3);
    CHECK(interpreted_difference(ricci::tests::bound(text, signature), signature,
                                 example_gpu_target()) == "");
}

TEST_CASE("the verdict of a check is stored, whatever passes over the same elements") {
    const auto has_all_verdicts = [](const std::string& text, const Signature& signature) {
        const BoundProgram program = ricci::tests::bound(text, signature);
        INFO(text);
        bool all = true;
        for (const Target& target : {example_target(64), example_gpu_target()}) {
            const Plan plan = codegen::plan(program, target);
            CHECK(!plan.checks.empty());
            for (const PlanCheck& check : plan.checks)
                all &= std::ranges::any_of(plan.steps, [&](const Step& step) {
                    for (std::size_t b = 0; b < step.buffers.size(); ++b)
                        if (step.buffers[b] == check.buffer &&
                            plan.nests[step.nest].buffers[b].is_written)
                            return true;
                    return false;
                });
        }
        return all;
    };
    // The keys are reduced over all elements by the program and by the check.
    const Signature table = {{"J", array({1000}, DType::i64)}, {"A", array({20})}};
    CHECK(has_all_verdicts("s := max[i](J[i]); Y[i] := A[$s - J[i]]", table));
    CHECK(
        has_all_verdicts("s := max[i](J[i]); n := min[i](J[i]); Y[i] := A[$s - J[i] + $n]", table));
    CHECK(has_all_verdicts(
        "lo := min[i](J[i]); A[J[i] - $lo] += x[i]",
        {{"J", array({500}, DType::i64)}, {"A", array({20})}, {"x", array({500})}}));
}

TEST_CASE("what later kernels or users read of a chain is stored") {
    const std::string text =
        std::string(softmax) + "; c[k] := E[i,k]; Z[i,k] := Y[i,k] + s[39-i]*c[k]";
    // The sums of columns and their products are a chain, too.
    CHECK(steps(text, rows({40, 40})) == 2);
}

TEST_CASE("a stage overtakes what neither needs the other") {
    // The sums of columns stand between the stages.
    CHECK(steps("m[i] := X[i,k]; c[k] := X[i,k]*X[i,k]; Y[i,k] := (X[i,k] - m[i])*c[49-k]",
                rows({40, 50})) == 3);
    CHECK(steps("m[i] := X[i,k]; c[k] := X[i,k]*m[i]; s[i] := (X[i,k] - m[i])^2; "
                "Y[i] := s[i] + sum[k](c[k]*X[i,k])",
                rows({40, 50})) == 3);
    // An update of what an earlier stage reads keeps its place.
    const Signature two = {{"X", array({40, 50})}, {"Z", array({40, 50})}};
    CHECK(steps("m[i] := Z[i,k]; Z[i,k] *= X[i,k]; Y[i,k] := Z[i,k] - m[i]", two) == 2);
}

TEST_CASE("rows are no chain where a stage needs another row") {
    CHECK(steps("m[i] := max[k](X[i,k]); Y[i,j] := X[i,j] - m[19-i]", rows({20, 20})) == 2);
    CHECK(steps("m[i] := max[k](X[i,k]); Y[i,j] := X[i,j] - m[j]", rows({20, 20})) == 2);
    CHECK(steps("m[i] := max[k](X[i,k]); E[i,k] := exp(X[i,k] - m[i]); s[i] := E[19-i,k]",
                rows({20, 20})) == 2);
    CHECK(steps("m[k] := max[i](X[i,k]); Y[i,k] := exp(X[i,k] - m[79-k])", rows({70, 80})) == 2);
}

TEST_CASE("few long rows are split, not chained") {
    const BoundProgram program = ricci::tests::bound(softmax, rows({2, 1 << 20}));
    CHECK(codegen::plan(program, example_target(64)).steps.size() > 3);
}

TEST_CASE("rows of kept values have bounds") {
    const auto scratch_bytes = [](std::int64_t length) {
        const Plan plan =
            codegen::plan(ricci::tests::bound(softmax, rows({200, length})), example_target(64));
        REQUIRE(plan.nests.size() == 1);
        std::int64_t bytes = 0;
        for (const Buffer& buffer : plan.nests[0].buffers)
            if (buffer.space == Space::scratch)
                bytes += buffer.elements * std::int64_t(size_bytes(buffer.dtype));
        return bytes;
    };
    CHECK(scratch_bytes(1000) == 4000);
    CHECK(scratch_bytes(32'768) == 131'072);
    CHECK(scratch_bytes(32'769) == 0);
}

TEST_CASE("equal values are one node") {
    EqualValues unify;
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "a", .elements = 9});
    const VarId i = nest.add(codegen::Var{"i"});
    const auto term = [&](std::int64_t at, Op op) {
        const Value load = unify(make_load(nest, a, {form(i) + form(at)}));
        return unify(make_operation(op, {load, unify(make_number(DType::f32, 2))}, DType::f32));
    };
    CHECK(term(1, Op::add) == term(1, Op::add));
    CHECK(term(1, Op::add) != term(2, Op::add));
    CHECK(term(1, Op::add) != term(1, Op::mul));
    CHECK(unify(make_number(DType::f32, 0.0)) != unify(make_number(DType::f32, -0.0)));
    CHECK(unify(make_number(DType::f32, 1)) != unify(make_number(DType::f64, 1)));
}
