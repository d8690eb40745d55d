// tests/grad/gather_test.cpp – scattered reads of every affine form, gathered
#include "grad/gather.h"

#include <functional>
#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/grad/numeric.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Array numbers(Shape shape) { return uniform(std::move(shape), -2, 2, 5); }

std::string gradient_of_a(const std::string& text) {
    return str(grad::gradient(parse_program(make_source(text)), "A"));
}

}  // namespace

TEST_CASE("plain subscripts are renamed") {
    check_gradients("Y[i,j] := A[j,i]*B[j]", {{"A", numbers({3, 4})}, {"B", numbers({3})}});
}

TEST_CASE("a subscript with a unit coefficient eliminates its index") {
    check_gradients("O[y] := A[y+r]*F[r]", {{"A", numbers({9})}, {"F", numbers({3})}});
    check_gradients("O[y] := A[2*y+r]*F[r]", {{"A", numbers({11})}, {"F", numbers({4})}});
    check_gradients("O[y+_] := A[y+2*r+1]*F[r]", {{"A", numbers({11})}, {"F", numbers({3})}});
    check_gradients("O[i,k] := A[i-k+2]*B[i]*C[k]",
                    {{"A", numbers({9})}, {"B", numbers({6})}, {"C", numbers({3})}});
    check_gradients("C[i,j] := A[i+j]*B[i,j]", {{"A", numbers({7})}, {"B", numbers({3, 5})}});
}

TEST_CASE("of several indices the one of an array is eliminated before one of a few numbers") {
    const std::string text = "Y[y,w] := A[y+w]*B[y] where w in 0:16";
    CHECK_MESSAGE(gradient_of_a(text).find("sum[w in 0:16") != std::string::npos,
                  gradient_of_a(text));
    const std::string three = "Y[d,x] := sum[s in 0:3](A[x+s+d]*B[x+s]) where d in 0:4";
    CHECK_MESSAGE(gradient_of_a(three).find("sum[d in 0:4, s in 0:3") != std::string::npos,
                  gradient_of_a(three));
    const std::string long_range = "Y[y,w] := A[y+w]*B[w] where y in 0:100";
    CHECK_MESSAGE(gradient_of_a(long_range).find("sum[w in") != std::string::npos,
                  gradient_of_a(long_range));
    check_gradients("Y[y,w] := A[y+w]*B[y] where w in 0:4",
                    {{"A", numbers({9})}, {"B", numbers({6})}});
    check_gradients("Y[d,x] := sum[s in 0:3](A[x+s+d]*B[x+s]) where d in 0:4",
                    {{"A", numbers({12})}, {"B", numbers({9})}});
}

TEST_CASE("strides and dilations from 1 to 6 leave nothing out and count nothing twice") {
    for (int stride = 1; stride <= 6; ++stride) {
        for (int dilation = 1; dilation <= 6; ++dilation) {
            check_gradients(format("O[y] := A[{}*y+{}*r]*F[r]", stride, dilation),
                            {{"A", numbers({29})}, {"F", numbers({3})}}, {"A"});
        }
    }
}

TEST_CASE("a shift alone keeps its index in a sum that checks the range") {
    check_gradients("Y[i] := A[i+1] - A[i]", {{"A", numbers({6})}});
    check_gradients("Y[i,j] := A[i+1,j+2]*A[i,j]", {{"A", numbers({5, 6})}});
    check_gradients("Y[i] := A[2*i+1]", {{"A", numbers({8})}});
    check_gradients("Y[i] := A[-i+3] where i in 0:3", {{"A", numbers({5})}});
}

TEST_CASE("repeated and literal subscripts become conditions") {
    check_gradients("s := A[i,i]", {{"A", numbers({4, 4})}});
    check_gradients("Y[i] := A[i,i,0]*A[0,i,2]", {{"A", numbers({4, 4, 3})}});
    check_gradients("Y[i] := A[i,-1]", {{"A", numbers({4, 3})}});
    check_gradients("D[i,i] := a[i]", {{"a", numbers({3})}});
}

TEST_CASE("ranges that do not cover the array leave zeros") {
    check_gradients("Y[i+_] := A[i]^2 where i in 2:5", {{"A", numbers({7})}});
    check_gradients("s := sum[i in 1:3](A[i]*B[i])", {{"A", numbers({5})}, {"B", numbers({5})}});
}

TEST_CASE("conditions of reducers restrict the gradient") {
    check_gradients("Y[i] := sum[k | k <= i](A[i,k])", {{"A", numbers({4, 4})}});
    check_gradients("Y[i] := sum[k | k <= i](A[i-k]*B[k]) where i in 0:5",
                    {{"A", numbers({5})}, {"B", numbers({5})}});
    check_gradients("Y[i] := sum[k | A[k] > 0](A[k]*B[i])",
                    {{"A", numbers({5})}, {"B", numbers({2})}});
    check_gradients("Y[i] := k <= i ? A[i,k]*B[k] : 0",
                    {{"A", numbers({4, 4})}, {"B", numbers({4})}});
}

TEST_CASE("a condition on data stands inside the bounds that it needs") {
    check_gradients("Y[i] := sum[k,l | D[k] > 0](A[k+2*l]*B[i])",
                    {{"A", numbers({9})}, {"B", numbers({2})}, {"D", numbers({5})}});
    CHECK(gradient_of_a("Y[i] := sum[k in 0:4,l | k == I[i] && l == J[k]](A[l])") ==
          "dA[l] := sum[i | I[i] >= 0 && I[i] < 4 && l == J[I[i]]](dY[i]) where l in 0:size(A,0)");
}

TEST_CASE("quotients and remainders") {
    check_gradients("Y[i] := A[i//3]*B[i]", {{"A", numbers({4})}, {"B", numbers({12})}});
    check_gradients("Y[i] := A[i%3]*B[i]", {{"A", numbers({3})}, {"B", numbers({8})}});
    check_gradients("Y[i] := A[i//2,i%2] where i in 0:6", {{"A", numbers({3, 2})}});
}

TEST_CASE(
    "an index of a remainder becomes two, of which the remainder and the quotient are one each") {
    CHECK(gradient_of_a("Y[i] := A[(i+5)%100] where i in 0:100") ==
          "dA[r] := sum[m in 0:2 | 100*m+r-5 >= 0 && 100*m+r-5 < 100 && r < 100](dY[100*m+r-5]) "
          "where r in 0:size(A,0)");
    CHECK(gradient_of_a("Y[i] := A[i//64,i%64] where i in 0:64000") ==
          "dA[t,r] := sum[m in 0:1000 | 64*m+r < 64000 && t == m && r < 64](dY[64*m+r]) where t in "
          "0:size(A,0), r in 0:size(A,1)");
    CHECK(gradient_of_a("Y[i] := A[(i%12)//4,i%4] where i in 0:60") ==
          "dA[m2,r2] := sum[m in 0:5 | 12*m+4*m2+r2 < 60 && 4*m2+r2 < 12 && m2 < 3 && r2 < "
          "4](dY[12*m+4*m2+r2]) where m2 in 0:size(A,0), r2 in 0:size(A,1)");
    CHECK(gradient_of_a("Y[i] := A[(i%64)*64+i//64] where i in 0:4096") ==
          "dA[t] := sum[r in 0:64 | 64*t-4095*r >= 0 && 64*t-4095*r < 4096 && t-64*r >= 0 && "
          "t-64*r < 64](dY[64*t-4095*r]) where t in 0:size(A,0)");
    CHECK(gradient_of_a("Y[i,j] := A[wrap(i%7-2),j] where i in 0:12, j in 0:3").find("%") ==
          std::string::npos);
    // Many more turns than there are points.
    const std::string far = "Y[i,j] := A[(i+7*j)%3,j] where i in 0:4, j in 0:100";
    CHECK(gradient_of_a(far).find("(i+7*j)%3") != std::string::npos);
}

TEST_CASE("remainders of values are no index arithmetic") {
    check_gradients("Y[i] := A[i%3]*((4*B[i])%2) + A[i//3]*((2*B[i]+1)//2)",
                    {{"A", numbers({3})}, {"B", numbers({9})}}, {"A"});
}

TEST_CASE("quotients and remainders by sizes are solved too, unless that may take longer") {
    check_gradients("Y[i] := A[i%size(A,0)]*B[i]", {{"A", numbers({4})}, {"B", numbers({11})}});
    check_gradients("Y[i] := A[(i+1)%size(A,0)]*A[i] where i in 0:size(A,0)",
                    {{"A", numbers({7})}});
    check_gradients("Y[i] := A[i//size(A,1),i%size(A,1)]*B[i]",
                    {{"A", numbers({4, 3})}, {"B", numbers({11})}});
    check_gradients("Y[i] := A[(i%5)%(2*size(B,0))]*B[i]",
                    {{"A", numbers({5})}, {"B", numbers({9})}});
    CHECK(gradient_of_a("Y[i] := A[(i+1)%size(A,0)] where i in 0:size(A,0)") ==
          "dA[r] := sum[m in 1//max(size(A,0), 1):size(A,0)//max(size(A,0), 1)+1 | size(A,0)*m+r-1 "
          ">= 0 && size(A,0)*m+r-1 < size(A,0)](dY[size(A,0)*m+r-1]) where r in 0:size(A,0)");
    CHECK(gradient_of_a("Y[i,j] := A[(i+1000*j)%7]*B[i,j]").find("t == (i+1000*j)%7") !=
          std::string::npos);
    check_gradients("Y[i,j] := A[i%3,J[i]]*B[i,j]",
                    {{"A", numbers({3, 5})},
                     {"B", numbers({6, 2})},
                     {"J", Array::from<std::int64_t>({0, 4, 1, 1, 3, 0}, {6})}},
                    {"A"});
}

TEST_CASE("random reads with quotients and remainders agree with differences") {
    std::mt19937 random(11);
    const auto draw = [&](int least, int most) {
        return least + int(random() % unsigned(most - least + 1));
    };
    // A sum of indices that is at least 0, and its largest value; quotients and remainders of such
    // to some depth.
    const std::function<std::pair<std::string, int>(int)> term =
        [&](int depth) -> std::pair<std::string, int> {
        if (depth == 0 || draw(0, 3) == 0) {
            std::string text;
            int high = draw(0, 3);
            const std::string constant = std::to_string(high);
            for (const auto& [index, extent] : {std::pair("i", 5), {"j", 3}, {"k", 4}}) {
                const int c = draw(0, 2) == 0 ? draw(1, 3) : 0;
                if (c > 0) text += format("{}*{}+", c, index);
                high += c * (extent - 1);
            }
            return {text + constant, high};
        }
        const auto [inner, high] = term(depth - 1);
        const int divisor = draw(2, 7);
        if (draw(0, 2) == 0) return {format("({})//{}", inner, divisor), high / divisor};
        const auto [other, more] = term(depth - 1);
        return {format("({})%{}+{}", inner, divisor, other), std::min(high, divisor - 1) + more};
    };
    for (int round = 0; round < 80; ++round) {
        std::string at;
        Shape shape;
        const int rank = draw(1, 2);
        for (int d = 0; d < rank; ++d) {
            const auto [text, high] = term(2);
            at += (d == 0 ? "" : ",") + text;
            shape.push_back(high + 1 + draw(0, 1));
        }
        check_gradients(
            format("Y[i,j] := sum[k](A[{}]*B[k,j,i]) where i in 0:5, j in 0:3, k in 0:4", at),
            {{"A", numbers(shape)}, {"B", numbers({4, 3, 5})}});
    }
}

TEST_CASE("random affine reads agree with differences") {
    std::mt19937 random(3);
    const auto coefficient = [&](int least, int most) {
        return least + int(random() % unsigned(most - least + 1));
    };
    int compared = 0;
    for (int round = 0; round < 60; ++round) {
        // Two subscripts of three indices, moved so that they stay inside.
        std::string at;
        Shape shape;
        for (int d = 0; d < 2; ++d) {
            int low = 0;
            int high = 0;
            std::string text;
            for (const char* index : {"i", "j", "k"}) {
                const int c = random() % 2 == 0 ? 0 : coefficient(-3, 3);
                text += format("{}*{} + ", c, index);
                low += c < 0 ? 2 * c : 0;
                high += c > 0 ? 2 * c : 0;
            }
            at += format("{}{}{}", d == 0 ? "" : ",", text, -low);
            shape.push_back(high - low + 1 + coefficient(0, 1));
        }
        check_gradients(
            format("Y[i,j] := sum[k](A[{}]*B[k,j,i]) where i in 0:3, j in 0:3, k in 0:3", at),
            {{"A", numbers(shape)}, {"B", numbers({3, 3, 3})}});
        ++compared;
    }
    CHECK(compared == 60);
}
