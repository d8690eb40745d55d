// tests/codegen/data_bounds_test.cpp – loops over the points that data leave
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {{"P", array({81}, DType::i64)},
                             {"Q", array({81}, DType::i32)},
                             {"N", array({80}, DType::i16)},
                             {"B", array({3}, DType::i64)},
                             {"C", array({300}, DType::i64)},
                             {"V", array({300})},
                             {"W", array({300}, DType::f64)},
                             {"K", array({19})},
                             {"U", array({80})},
                             {"X", array({80, 300})},
                             {"Z", array({300, 40})},
                             {"dy", array({80})}};

std::string planned(const std::string& text) {
    return str(codegen::plan(bound(text, named(text, signature)), example_target(64)));
}
bool has(const std::string& plan, const std::string& line) {
    return plan.find(line) != std::string::npos;
}

}  // namespace

TEST_CASE("rows between data are summed from their first to their last point") {
    const std::string plan =
        planned("y[i] := sum[e | e >= P[i] && e < P[i+1]](V[e]) where i in 0:80");
    CHECK(has(plan, "let e_first = clamp(P[i], 0, 300)"));
    CHECK(has(plan, "let e_end = clamp(max(P[i + 1], e_first), 0, 300)"));
    CHECK(has(plan, "let e_turns = (-e_first + e_end) // 64"));
    CHECK(has(plan, "vector l in 0..min(16, e_end - e1)"));
    CHECK_FALSE(has(plan, "if (P["));
}

TEST_CASE("what the condition says is not asked again inside the bounds it makes") {
    const std::string plan =
        planned("Y[i,k] := sum[e | e >= P[i] && e < P[i+1]](Z[e,k]) where k in 0:40");
    CHECK(has(plan, "for e in e_first..e_end"));
    CHECK_FALSE(has(plan, "if "));
}

TEST_CASE(
    "sums of data that may leave 64 bits bound loops where they do not, and are asked again") {
    const std::string plan =
        planned("Y[i,k] := sum[e | e-P[i] >= 3 && e-P[i] < i64(N[i])](Z[e,k]) where i in 0:80");
    CHECK(has(plan, "let e_first = clamp(select("));
    CHECK(has(plan, "if ("));
}

TEST_CASE("lanes and results side by side have no intervals of their own") {
    const std::string plan =
        planned("y[i] := sum[e | e >= P[i] && e < P[i+1]](V[e]) where i in 0:80");
    CHECK(has(plan, "for i in"));
    CHECK_FALSE(has(plan, "unroll i in"));
}

TEST_CASE("each point updates the elements of its interval, and pieces pass over most of them") {
    const Signature many = {{"P", array({300}, DType::i64)}, {"y", array({300})}};
    const std::string text =
        "D[e] := sum[i in 0:299 | e >= P[i] && e < P[i+1]](y[i]) where e in 0:9000";
    const std::string plan = str(codegen::plan(bound(text, many), example_target(64)));
    CHECK(has(plan, "if passed[0] == 0"));
    CHECK(has(plan, "by 16"));
    CHECK(has(plan, "let e0_end = clamp(P[i + 1], 0, 8992)"));
    CHECK_FALSE(has(plan, "acc["));
    check_values(text, many);
    // Of few points each element asks all.
    const Signature few = {{"P", array({5}, DType::i64)}, {"y", array({5})}};
    const std::string other =
        "D[e] := sum[i in 0:4 | e >= P[i] && e < P[i+1]](y[i]) where e in 0:99";
    CHECK_FALSE(has(str(codegen::plan(bound(other, few), example_target(64))), "_end ="));
}

TEST_CASE("lanes may go along an axis that moves intervals") {
    const auto check = [](const std::string& text, const Signature& given) {
        CAPTURE(text);
        check_values(text, given);
    };
    const DType i64 = DType::i64;
    check("D[e,b] := sum[i | e >= p[i,b] && e < q[i,b]](y[i,b]) where e in 0:300",
          {{"p", array({8, 16}, i64)}, {"q", array({8, 16}, i64)}, {"y", array({8, 16})}});
    check("D[b,e] := sum[i | e >= p[b,i] && e < q[b,i]](y[b,i]) where e in 0:300",
          {{"p", array({16, 8}, i64)}, {"q", array({16, 8}, i64)}, {"y", array({16, 8})}});
    check("D[e,k] := sum[i | e > a[i] && e < d[k]](y[i]) where e in 0:300",
          {{"a", array({9}, i64)}, {"d", array({16}, i64)}, {"y", array({9})}});
    check("Y[m,i] := any[e | e >= a[i] && e < b[i]+20 && m <= e](v[e] > 0) where m in 0:2",
          {{"a", array({16}, i64)}, {"b", array({16}, i64)}, {"v", array({48})}});
    // Data that move with an element give it no interval.
    const Signature own = {{"p", array({300}, i64)}, {"s", array({300}, i64)}, {"y", array({300})}};
    const std::string text = "D[e] := sum[i | e >= p[e]+s[i] && e < p[e]+s[i]+20](y[i])";
    CHECK(has(str(codegen::plan(bound(text, own), example_target(64))), "acc["));
    check(text, own);
}

TEST_CASE("rows of points that elements read are read in lanes") {
    const Signature rows = {{"p", array({300}, DType::i64)},
                            {"q", array({300}, DType::i64)},
                            {"W", array({300, 300})},
                            {"y", array({300})}};
    const std::string text = "D[e] := sum[i | e >= p[i] && e < q[i]](W[e,i]*y[i])";
    CHECK(has(str(codegen::plan(bound(text, rows), example_target(64))), "acc["));
}

TEST_CASE("sums over all intervals are cut into parts by what moves these") {
    const Signature rows = {{"P", array({5001}, DType::i64)}, {"V", array({50000})}};
    const std::string plan = str(codegen::plan(
        bound("y := sum[i,e | e >= P[i] && e < P[i+1]](V[e]*V[e]) where i in 0:5000", rows),
        example_target(64)));
    CHECK(has(plan, "_end = clamp("));
    CHECK_FALSE(has(plan, "e_chunk"));
}

TEST_CASE("what an element is given at a point of its interval may be a sum itself") {
    const Signature given = {
        {"P", array({81}, DType::i64)}, {"U", array({80, 30})}, {"Z", array({300, 30})}};
    const std::string text =
        "D[e] := sum[i,k | e >= P[i] && e < P[i+1]](U[i,k]*Z[e,k]) where i in 0:80, e in 0:300";
    const std::string plan = str(codegen::plan(bound(text, given), example_target(64)));
    CHECK(has(plan, "let e_end = clamp(P[i + 1], 0, 300)"));
    CHECK_FALSE(has(plan, "if (P["));
    check_values(text, given);
    // Sums beside the lanes, too.
    const Signature wide = {{"P", array({81}, DType::i64)}, {"U", array({80, 3, 40})}};
    const std::string rows =
        "D[e,k] := sum[i,j | e >= P[i] && e < P[i+1]](U[i,j,k]*(e-P[i]+j+1)) "
        "where i in 0:80, e in 0:300";
    CHECK(has(str(codegen::plan(bound(rows, wide), example_target(64))),
              "e_end = clamp(P[i + 1], 0, 300)"));
    check_values(rows, wide);
}

TEST_CASE("bounds of all comparisons, types and signs give the points of the condition") {
    for (const char* condition :
         {"e >= P[i] && e < P[i+1]", "P[i] <= e && P[i+1] > e", "e > P[i] && e <= P[i+1]",
          "e >= P[i]", "e < P[i]", "2*e >= P[i] && 3*e < P[i+1]+100", "-e > P[i] || e == P[i]",
          "e-P[i] >= -4 && e-P[i] < i64(N[i])", "i64(Q[i]) < e && e < i64(Q[i])+60",
          "e >= i64(N[i])*5 && e < i64(N[i])*5+60", "e == P[i]", "e+i >= P[i] && e+i < P[i]+70",
          "e >= P[i] && e >= B[0] && e < P[i+1]+B[1]+90", "e >= max(P[i],i64(Q[i])) && e < 90",
          "P[i]-e >= 3 && e < P[i+1]+80", "e >= B[0] && e < B[1]+50",
          "e >= P[i] && V[e] > 0 && e < P[i]+60", "e >= P[i] && e < P[i]+60 && i%3 != 1"}) {
        const std::string where = std::string(" | ") + condition + "]";
        for (const char* reduce :
             {"y[i] := sum[e%(V[e]*U[i])", "y[i] := max[e%(W[e])", "y[i] := sum[e%(X[i,e])",
              "Y[i,k] := min[e%(Z[e,k])", "D[e] := sum[i%(U[i]*V[e])", "D[e] := max[i%(U[i])",
              "y := sum[i,e%(U[i]*V[e])"}) {
            std::string text = reduce;
            text.replace(text.find('%'), 1, where);
            text += " where i in 0:80, e in 0:300";
            if (text.find(",k]") != std::string::npos) text += ", k in 0:40";
            CAPTURE(text);
            const Signature given = named(text, signature);
            for (const int vector_bytes : {64, 32})
                CHECK(interpreted_difference(bound(text, given), given,
                                             example_target(vector_bytes)) == "");
        }
    }
}

TEST_CASE("places of extremes and means are of the points that data leave") {
    for (const char* condition : {"e >= P[i]", "e < P[i]+60", "e >= P[i] && e < P[i]+60"})
        for (const char* reduce : {"y[i] := argmin[e%(V[e])", "y[i] := argmax[e%(X[i,e])",
                                   "y[i] := mean[e%(X[i,e])", "Y[i,k] := argmax[e%(Z[e,k])"}) {
            std::string text = reduce;
            text.replace(text.find('%'), 1, std::string(" | ") + condition + "]");
            text += " where i in 0:80, e in 0:300";
            if (text.find(",k]") != std::string::npos) text += ", k in 0:40";
            check_values(text, named(text, signature));
        }
}

TEST_CASE("sums over rows of a sparse matrix and their gradients are compiled right") {
    const std::string forward =
        "y[i] := sum[e | e >= P[i] && e < P[i+1]](V[e]*K[C[e]%19]) where i in 0:80";
    check_values(forward, named(forward, signature));
    for (const char* by : {"V", "K"}) {
        const Program program = grad::gradient(parse_program(forward), by);
        Signature given = named(forward, signature);
        given["dy"] = array({80});
        const BoundProgram gradient = ricci::bind(canonicalise(program), given);
        CAPTURE(by);
        for (const int vector_bytes : {64, 32})
            CHECK(interpreted_difference(gradient, given, example_target(vector_bytes)) == "");
        CHECK(compiled_difference(gradient, given) == "");
        const std::string plan = str(codegen::plan(gradient, example_target(64)));
        CHECK_MESSAGE(plan.find("_end = clamp(") != std::string::npos, plan);
    }
}

TEST_CASE("boxes are summed, and painted, by their points alone") {
    const Signature boxes = {{"a", array({20}, DType::i64)}, {"B", array({20}, DType::i64)},
                             {"U", array({20}, DType::i64)}, {"W", array({20}, DType::i64)},
                             {"F", array({5, 50, 70})},      {"s", array({20})}};
    const std::string box = "y >= a[r] && y < B[r]+30 && x >= U[r] && x < W[r]+40";
    const std::string sums = "Y[r,c] := max[y,x | " + box + "](F[c,y,x])";
    const std::string paint =
        "M[y,x] := sum[r | " + box + "](s[r]*(y+1)) where y in 0:50, x in 0:70";
    check_values(sums, named(sums, boxes));
    check_values(paint, named(paint, boxes));
    const std::string plan =
        str(codegen::plan(bound(paint, named(paint, boxes)), example_target(64)));
    CHECK(has(plan, "let y_first = clamp(a[r], 0, 50)"));
    CHECK(has(plan, "let x0_end = "));
}
