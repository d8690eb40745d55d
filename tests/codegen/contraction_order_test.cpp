// tests/codegen/contraction_order_test.cpp – sums of products of several factors, two at a time
#include "codegen/contraction_order.h"

#include <array>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

using Given = std::vector<std::pair<std::string, Shape>>;

Signature signature_of(const Given& given, DType dtype = DType::f32) {
    Signature signature;
    for (const auto& [name, shape] : given)
        signature[name] = {.dtype = dtype, .shape = shape, .strides = {}, .value = {}};
    return signature;
}

/// The equations of a program in a better order.
std::string ordered(const std::string& text, const Given& given, DType dtype = DType::f32,
                    double least_points = 0) {
    const std::string all = str(codegen::with_contraction_order(
        ricci::bind(canonicalise(parse_program(text)), signature_of(given, dtype)), least_points));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

TEST_CASE("what divides a product is the same along the sum divides one side, or the result") {
    CHECK(ordered("C[i,j] := sum[k](A[i,k]*B[j,k]/z[i])",
                  {{"A", {40, 30}}, {"B", {40, 30}}, {"z", {40}}}) ==
          "for i.0 in 0:40, k.2 in 0:30:\n"
          "  C_part.4[i.0,k.2] := A.0[i.0,k.2]/z.2[i.0]\n"
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  C.3[i.0,j.1] := f32 sum[k.2 in 0:30](C_part.4[i.0,k.2]*B.1[j.1,k.2])\n");
    CHECK(ordered("C[i,j] := sum[k](A[i,k]*B[j,k]/z[k])",
                  {{"A", {40, 30}}, {"B", {40, 30}}, {"z", {30}}}) ==
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  C.3[i.0,j.1] := f32 sum[k.2 in 0:30](A.0[i.0,k.2]*B.1[j.1,k.2]/z.2[k.2])\n");
    CHECK(ordered("C[i,j] := sum[k](A[i,k]/z[i]*B[j,k])",
                  {{"A", {40, 30}}, {"B", {40, 30}}, {"z", {40}}}) ==
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  C.3[i.0,j.1] := f32 sum[k.2 in 0:30](A.0[i.0,k.2]/z.1[i.0]*B.2[j.1,k.2])\n");
}

TEST_CASE("a term of three sides is computed once where two of them are multiplied first") {
    CHECK(ordered("D[i,j] := sum[k](A[i,k]*B[j,k]*exp(E[i,j]))",
                  {{"A", {40, 30}}, {"B", {40, 30}}, {"E", {40, 40}}}) ==
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  D_part.4[i.0,j.1] := f32 sum[k.2 in 0:30](A.0[i.0,k.2]*B.1[j.1,k.2])\n"
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  D.3[i.0,j.1] := D_part.4[i.0,j.1]*exp(E.2[i.0,j.1])\n");
}

TEST_CASE("a chain of matrices is multiplied from the thin end") {
    CHECK(ordered("D[i,l] := A[i,j]*B[j,k]*C[k,l]",
                  {{"A", {40, 40}}, {"B", {40, 40}}, {"C", {40, 2}}}) ==
          "for j.2 in 0:40, l.1 in 0:2:\n"
          "  D_part.4[j.2,l.1] := f32 sum[k.3 in 0:40](B.1[j.2,k.3]*C.2[k.3,l.1])\n"
          "for i.0 in 0:40, l.1 in 0:2:\n"
          "  D.3[i.0,l.1] := f32 sum[j.2 in 0:40](A.0[i.0,j.2]*D_part.4[j.2,l.1])\n");
    CHECK(ordered("D[i,l] := A[i,j]*B[j,k]*C[k,l]",
                  {{"A", {2, 40}}, {"B", {40, 40}}, {"C", {40, 40}}}) ==
          "for i.0 in 0:2, k.3 in 0:40:\n"
          "  D_part.4[i.0,k.3] := f32 sum[j.2 in 0:40](A.0[i.0,j.2]*B.1[j.2,k.3])\n"
          "for i.0 in 0:2, l.1 in 0:40:\n"
          "  D.3[i.0,l.1] := f32 sum[k.3 in 0:40](D_part.4[i.0,k.3]*C.2[k.3,l.1])\n");
}

TEST_CASE("what an earlier sum made in between is made once, whatever its indices are called") {
    const Given given = {{"A", {30, 40}}, {"B", {40, 50}}, {"C", {50, 60}}, {"D", {2, 30}}};
    const std::string both = ordered(
        "x[l] := sum[i,j,k](D[0,i]*A[i,j]*B[j,k]*C[k,l]); "
        "y[p] := sum[t,u,v](C[v,p]*B[u,v]*A[t,u]*D[0,t]); s := sum[l](x[l]*y[l])",
        given);
    CHECK_MESSAGE(both.find("x_part") != std::string::npos, both);
    CHECK_MESSAGE(both.find("y_part") == std::string::npos, both);
    // Other arrays, other indices that are kept, or another condition.
    const Given square = {{"A", {40, 40}}, {"B", {40, 40}}, {"c", {40}}, {"d", {40}}};
    const std::string first = "x[i] := sum[j,k](A[i,j]*B[j,k]*c[k]); ";
    for (const char* second :
         {"y[i] := sum[j,k](A[i,j]*B[j,k]*d[k])", "y[i] := sum[j,k](A[i,j]*B[k,j]*c[k]*d[i])"}) {
        const std::string apart = ordered(first + second + "; s := sum[i](x[i]*y[i]*d[i])", square);
        CHECK_MESSAGE(apart.find("x_part") != std::string::npos, apart);
        CHECK_MESSAGE(apart.find("y_part") != std::string::npos, apart);
    }
    const std::string shared = ordered(
        first + "y[k] := sum[i,j](B[i,j]*c[j]*A[k,i]); s := sum[i](x[i]*y[i]*d[i])", square);
    CHECK_MESSAGE(shared.find("y_part") == std::string::npos, shared);
}

TEST_CASE("sums up to each point, or from it on, are walks in between") {
    const Given three = {{"dO", {40, 8}}, {"Q", {40, 8}}, {"V", {40, 8}}};
    CHECK(ordered("dK[s,d] := sum[t,e | s <= t](dO[t,e]*Q[t,d]*V[s,e])", three) ==
          "for s.0 in 0:40, e.3 in 0:8, d.1 in 0:8:\n"
          "  dK_part.4[s.0,e.3,d.1] := f32 sum[t.2 in 0:40 | s.0 <= "
          "t.2](dO.0[t.2,e.3]*Q.1[t.2,d.1])\n"
          "for s.0 in 0:40, d.1 in 0:8:\n"
          "  dK.3[s.0,d.1] := f32 sum[e.3 in 0:8](dK_part.4[s.0,e.3,d.1]*V.2[s.0,e.3])\n");
    // Of few points the scores of all pairs are less.
    const Given wide = {{"dO", {4, 80}}, {"Q", {4, 80}}, {"V", {4, 80}}};
    CHECK(ordered("dK[s,d] := sum[t,e | s <= t](dO[t,e]*Q[t,d]*V[s,e])", wide)
              .find("sum[e.3 in 0:80](dO.0[t.2,e.3]*V.2[s.0,e.3])") != std::string::npos);
    // A factor of the result alone, and one of the points alone.
    CHECK(ordered("y[t] := sum[s,k | s <= t](C[t,k]*B[s,k]*x[s])",
                  {{"C", {40, 8}}, {"B", {40, 8}}, {"x", {40}}}) ==
          "for t.0 in 0:40, k.2 in 0:8:\n"
          "  y_part.4[t.0,k.2] := f32 sum[s.1 in 0:40 | s.1 <= t.0](B.1[s.1,k.2]*x.2[s.1])\n"
          "for t.0 in 0:40:\n"
          "  y.3[t.0] := f32 sum[k.2 in 0:8](C.0[t.0,k.2]*y_part.4[t.0,k.2])\n");
}

TEST_CASE("results without a point are 0, whatever their factors are") {
    const Given three = {{"dO", {40, 8}}, {"Q", {40, 8}}, {"V", {40, 8}}};
    const std::string strict = ordered("dK[s,d] := sum[t,e | s < t](dO[t,e]*Q[t,d]*V[s,e])", three);
    CHECK_MESSAGE(strict.find("sum[e.3 in 0:8 | ") != std::string::npos, strict);
    for (const char* condition : {"s < t", "s > t", "t-s >= 5", "s-3 >= t", "s <= t+2"}) {
        const std::string text =
            "z[s] := s < 4 || s > 35 ? 0.0/0 : 1.0 where s in 0:40; dK[s,d] := sum[t,e | " +
            std::string(condition) + "](dO[t,e]*Q[t,d]*V[s,e]*z[s])";
        check_values(text, signature_of(three));
    }
}

TEST_CASE("sums under other conditions than one of a prefix stay as they are written") {
    const Given three = {{"dO", {40, 8}}, {"Q", {40, 8}}, {"V", {40, 8}}};
    for (const char* condition :
         {"s != t", "s <= 2*t", "s <= t && t < 30", "e <= d", "e <= t", "s == t"}) {
        const std::string text =
            "dK[s,d] := sum[t,e | " + std::string(condition) + "](dO[t,e]*Q[t,d]*V[s,e])";
        const bool is_whole = ordered(text, three).find("_part") == std::string::npos;
        CHECK_MESSAGE(is_whole == (std::string(condition) != "e <= d"), text);
    }
    // What is read inside under the condition alone is not read at other points.
    CHECK(ordered("dK[s,d] := sum[t in 0:40,e | s <= t](dO[t-s,e]*Q[t,d]*V[s,e]) where s in 0:40",
                  three)
              .find("_part") == std::string::npos);
}

TEST_CASE("a form that is quadratic or bilinear is a product and a sum of few points") {
    CHECK(ordered("y[n] := X[n,i]*A[i,j]*X[n,j]", {{"X", {50, 40}}, {"A", {40, 40}}}) ==
          "for n.0 in 0:50, j.2 in 0:40:\n"
          "  y_part.3[n.0,j.2] := f32 sum[i.1 in 0:40](X.0[n.0,i.1]*A.1[i.1,j.2])\n"
          "for n.0 in 0:50:\n"
          "  y.2[n.0] := f32 sum[j.2 in 0:40](y_part.3[n.0,j.2]*X.0[n.0,j.2])\n");
    CHECK(ordered("Y[n,o] := X[n,i]*W[o,i,j]*Z[n,j]",
                  {{"X", {50, 40}}, {"W", {9, 40, 40}}, {"Z", {50, 40}}})
              .find("Y_part") != std::string::npos);
    // An array in between would take as long as it saves.
    CHECK(ordered("y[n] := X[n,i]*A[i,j]*X[n,j]", {{"X", {4000, 8}}, {"A", {8, 8}}}).find("part") ==
          std::string::npos);
}

TEST_CASE("a factor that alone has an index is summed over it first") {
    CHECK(ordered("y[i] := A[i,j]*B[i,k]", {{"A", {40, 40}}, {"B", {40, 40}}}) ==
          "for i.0 in 0:40:\n"
          "  y_part.3[i.0] := f32 sum[j.1 in 0:40](A.0[i.0,j.1])\n"
          "for i.0 in 0:40:\n"
          "  y_part.4[i.0] := f32 sum[k.2 in 0:40](B.1[i.0,k.2])\n"
          "for i.0 in 0:40:\n"
          "  y.2[i.0] := y_part.3[i.0]*y_part.4[i.0]\n");
}

TEST_CASE("signs and divisors stay with the factors that they were written for") {
    CHECK(ordered("D[i,l] := -A[i,j]*(B[j,k]/8)*C[k,l]",
                  {{"A", {40, 40}}, {"B", {40, 40}}, {"C", {40, 2}}}) ==
          "for j.2 in 0:40, l.1 in 0:2:\n"
          "  D_part.4[j.2,l.1] := f32 sum[k.3 in 0:40](B.1[j.2,k.3]/8.0*C.2[k.3,l.1])\n"
          "for i.0 in 0:40, l.1 in 0:2:\n"
          "  D.3[i.0,l.1] := f32 sum[j.2 in 0:40](-A.0[i.0,j.2]*D_part.4[j.2,l.1])\n");
    CHECK(ordered("D[i,l] := A[i,j]*B[j,k]/8*C[k,l]",
                  {{"A", {40, 40}}, {"B", {40, 40}}, {"C", {40, 2}}}) ==
          "for j.2 in 0:40, l.1 in 0:2:\n"
          "  D_part.4[j.2,l.1] := f32 sum[k.3 in 0:40](B.1[j.2,k.3]/8.0*C.2[k.3,l.1])\n"
          "for i.0 in 0:40, l.1 in 0:2:\n"
          "  D.3[i.0,l.1] := f32 sum[j.2 in 0:40](A.0[i.0,j.2]*D_part.4[j.2,l.1])\n");
}

TEST_CASE("a sum without an index left is a product") {
    CHECK(ordered("C[i,j] := A[i,k]*B[j,l]", {{"A", {40, 40}}, {"B", {40, 40}}}, DType::f16) ==
          "for i.0 in 0:40:\n"
          "  C_part.3[i.0] := f32 sum[k.2 in 0:40](f32(A.0[i.0,k.2]))\n"
          "for j.1 in 0:40:\n"
          "  C_part.4[j.1] := f32 sum[l.3 in 0:40](f32(B.1[j.1,l.3]))\n"
          "for i.0 in 0:40, j.1 in 0:40:\n"
          "  C.2[i.0,j.1] := f16(C_part.3[i.0]*C_part.4[j.1])\n");
}

TEST_CASE("products that gain little, and conditions, stay as they are written") {
    const Given square{{"A", {40, 40}}, {"B", {40, 40}}, {"C", {40, 40}}};
    CHECK(ordered("D[i,l] := A[i,j]*g[j]*C[j,l]", {{"A", {40, 40}}, {"g", {40}}, {"C", {40, 40}}})
              .find("part") == std::string::npos);
    CHECK(ordered("D[i,l] := A[i,j]*A[i,j]*C[j,l]", {{"A", {40, 40}}, {"C", {40, 40}}})
              .find("part") == std::string::npos);
    CHECK(ordered("D[i,l] := sum[j,k | j <= k](A[i,j]*B[j,k]*C[k,l])", square).find("part") ==
          std::string::npos);
    CHECK(ordered("D[i,l] := max[j,k](A[i,j]*B[j,k]*C[k,l])", square).find("part") ==
          std::string::npos);
    CHECK(ordered("D[i,l] := A[i,j]*B[j,k]*C[k,l]", square, DType::f32, 1e9).find("part") ==
          std::string::npos);
}

TEST_CASE("a product that squares again and again, or is long, is left alone") {
    std::string locals = "u1 = A[i,j]";
    for (int n = 2; n < 60; ++n) locals += format(", u{0} = u{1}*u{1}", n, n - 1);
    const Given given{{"A", {40, 40}}, {"C", {40, 40}}};
    CHECK(ordered("D[i,l] := sum[j](u59*C[j,l]) where " + locals, given).find("part") ==
          std::string::npos);
    std::string product = "C[j,l]";
    for (int n = 0; n < 300; ++n) product += format("*(A[i,j]+{})", n);
    CHECK(ordered("D[i,l] := " + product, given).find("part") == std::string::npos);
}

TEST_CASE("products of random factors agree with the reference in any order") {
    std::mt19937 random(5);
    const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
    std::size_t ordered_programs = 0;
    for (int trial = 0; trial < 400; ++trial) {
        const std::string indices = "abcdef";
        const bool is_small = trial % 20 == 0;  // sizes with 0
        const DType dtype = std::array{DType::i32, DType::f32, DType::f64, DType::c64}[trial % 4];
        std::vector<std::int64_t> extents;
        for (std::size_t i = 0; i < indices.size(); ++i)
            extents.push_back(std::int64_t(below(is_small ? 3 : 5)) + (is_small ? 0 : 1));
        Given given;
        std::string product;
        std::string used;
        const std::size_t factors = 2 + below(4);
        for (std::size_t f = 0; f < factors; ++f) {
            std::string names = indices;
            std::shuffle(names.begin(), names.end(), random);
            names.resize(below(4));
            std::string subscripts;
            Shape shape;
            for (const char i : names) {
                subscripts += format("{}{}", subscripts.empty() ? "" : ",", i);
                shape.push_back(extents[indices.find(i)]);
                if (used.find(i) == std::string::npos) used += i;
            }
            const std::string name(1, char('A' + f));
            given.emplace_back(name, shape);
            product += format("{}{}{}", product.empty() ? "" : "*", name,
                              names.empty() ? "" : format("[{}]", subscripts));
        }
        std::string free;
        for (const char i : used)
            if (below(2) == 0) free += format("{}{}", free.empty() ? "" : ",", i);
        const std::string text = format("Y{} {} {}{}", free.empty() ? "" : format("[{}]", free),
                                        ":=", below(3) == 0 ? "-" : "", product);
        CAPTURE(text);
        const Signature signature = signature_of(given, dtype);
        const BoundProgram written = ricci::bind(canonicalise(parse_program(text)), signature);
        constexpr double never = std::numeric_limits<double>::infinity();
        const BoundProgram program = codegen::in_real_numbers(written, never);
        const BoundProgram better = is_complex(dtype) ? codegen::in_real_numbers(written, 0)
                                                      : codegen::with_contraction_order(program, 0);
        ordered_programs += better.equations.size() > program.equations.size() ? 1 : 0;
        const std::vector<Array> arguments = random_arguments(program, signature, 3);
        const auto expected = runtime::evaluate_with_bounds(program, arguments);
        const std::vector<Array> found = runtime::evaluate(better, arguments);
        const Comparison comparison = compare(found.at(0), expected.at(0));
        CHECK(comparison.failure == "");
    }
    CHECK(ordered_programs > 20);
}

TEST_CASE("products of complex factors are ordered before their parts are written out") {
    const auto equations = [](const std::string& text, const Given& given) {
        const Signature signature = named(text, signature_of(given, DType::c64));
        return codegen::in_real_numbers(ricci::bind(canonicalise(parse_program(text)), signature))
            .equations.size();
    };
    const Given given{{"L", {40, 40}}, {"A", {40, 3, 40}}, {"z", {40}}};
    // Each product has two parts, which the last one joins.
    CHECK(equations("E[c,d] := L[a,b]*A[a,s,c]*conj(A[b,s,d])", given) == 5);
    CHECK(equations("E[c,d] := -L[a,b]*A[a,s,c]*A[b,s,d]/(2+1i)", given) == 5);
    CHECK(equations("E[c,d] := conj(L[a,b]*A[a,s,c]*conj(A[b,s,d]))", given) == 5);
    CHECK(equations("E[s,c] := z[a]*A[a,s,c]", given) == 3);
}

TEST_CASE("products of real factors among complex ones stay real") {
    Signature signature = signature_of({{"x", {40, 40}}, {"y", {40, 40}}}, DType::f32);
    signature.emplace("F", array({40, 40}, DType::c64));
    const std::string text = "E[i,l] := x[i,j]*y[j,k]*F[k,l]";
    const std::string ordered_program =
        str(codegen::in_real_numbers(ricci::bind(canonicalise(parse_program(text)), signature)));
    CAPTURE(ordered_program);
    CHECK(ordered_program.find(
              "E_part.4[i.0,k.3] := f32 sum[j.2 in 0:40](x.0[i.0,j.2]*y.1[j.2,k.3])") !=
          std::string::npos);
    CHECK(ordered_program.find("_part.im") == std::string::npos);
}

}  // namespace
}  // namespace ricci::tests
