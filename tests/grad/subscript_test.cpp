// tests/grad/subscript_test.cpp – gradients through gathered and modified subscripts
#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/grad/numeric.h"

namespace ricci::tests {
namespace {

Array vector(std::int64_t n, std::uint64_t seed = 1) { return uniform({n}, 0.5, 1.5, seed); }
Array matrix(std::int64_t m, std::int64_t n, std::uint64_t seed = 2) {
    return uniform({m, n}, 0.5, 1.5, seed);
}
Array keys(std::initializer_list<std::int64_t> values) {
    return Array::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

std::string gradient(const std::string& text, const std::string& argument) {
    return str(grad::gradient(parse_program(text), argument));
}

TEST_CASE("the gradient of a gathered read sums over the points of each key") {
    CHECK(gradient("Y[i,k] := A[J[i],k]*B[k]", "A") ==
          "dA[t,k] := sum[i | t == i64(J[i])](dY[i,k]*B[k]) where t in 0:size(A,0)");
    CHECK(gradient("Y[i,k] := A[J[i],k]*B[k]", "B") == "dB[k] := dY[i,k]*A[J[i],k]");
    const Arrays all{{"A", matrix(4, 2)}, {"J", keys({3, 0, 3})}, {"B", vector(2)}};
    check_gradients("Y[i,k] := A[J[i],k]*B[k]", all, {"A", "B"});
    check_gradients("y[i] := A[J[i],k]^2*A[J[i],0]", all, {"A"});
}

TEST_CASE("what stands in a subscript or a range is an integer and has no gradient") {
    const auto error = [](const std::string& text, const std::string& argument) {
        try {
            return gradient(text, argument);
        } catch (const Error& e) {
            return std::string(e.what());
        }
    };
    CHECK(error("Y[i,k] := A[J[i],k]", "J") ==
          "gradient: the argument `J` stands in a subscript or a range: it is an integer, which "
          "has no gradient\n"
          "  = hint: ask for the gradient of a floating argument");
    CHECK(error("Y[i] := A[$c*i]", "c").starts_with("gradient: the argument `c` stands in"));
    CHECK(
        error("Y[i] := A[i] where i in 0:c", "c").starts_with("gradient: the argument `c` stands"));
    CHECK(error("h[J[n]] += x[n]", "J").starts_with("gradient: the argument `J` stands in"));
    CHECK(error("Y[i] := A[i64(x[i])]", "x") == "dx[t] := 0 where t in 0:size(x,0)");
}

TEST_CASE("data in a subscript beside an index is solved for the index") {
    CHECK(gradient("Y[i,k] := A[i+J[k]] where i in 0:3", "A") ==
          "dA[t] := sum[k | t-i64(J[k]) >= 0 && t-i64(J[k]) < 3](dY[t-i64(J[k]),k]) "
          "where t in 0:size(A,0)");
    const Arrays all{{"A", vector(6)}, {"J", keys({3, 0, 2, 2})}};
    check_gradients("Y[i,k] := A[i+J[k]] where i in 0:3", all, {"A"});
    check_gradients("Y[i,j] := A[J[i]+2*j]*A[j] where j in 0:2", all, {"A"});
    check_gradients("Y[i] := A[J[i]//2]*A[J[J[i]]]", all, {"A"});
}

TEST_CASE("what a condition excludes of gathered reads has no gradient") {
    const Arrays bag{
        {"W", matrix(4, 2)}, {"t", keys({0, 3, -1, 3, -1, -1}).reshape({2, 3})}, {"v", vector(3)}};
    check_gradients("Y[b,d] := sum[n | t[b,n] >= 0](W[t[b,n],d]*v[n])", bag, {"W", "v"});
    check_gradients("Y[b,n,d] := t[b,n] >= 0 ? W[t[b,n],d]*v[n] : v[n]^2", bag, {"W", "v"});
    check_gradients("Y[b] := sum[n | t[b,n] >= 0](max[d](W[t[b,n],d])*v[n])", bag, {"W", "v"});
}

TEST_CASE("gradients through gathered updates") {
    const Arrays all{{"h", vector(4)}, {"J", keys({3, 0, 3})}, {"x", vector(3)}};
    check_gradients("z[i] := h[i]^2; z[J[n]] += x[n]^2; y[i] := z[i]*z[i]", all, {"h", "x"});
    const Arrays apart{{"h", vector(4)}, {"J", keys({3, 0, 1})}, {"x", vector(3)}};
    check_gradients("z[i] := h[i]^2; z[J[n]] = x[n]^2; y[i] := z[i]*z[i]", apart, {"h", "x"});
}

TEST_CASE("a padded read has the gradient of the reads inside") {
    CHECK(gradient("Y[i] := A[pad(i+k-1,1)]*F[k]", "A") ==
          "dA[t] := sum[k | t-k+1 >= 0 && t-k+1 < size(dY,0)](dY[t-k+1]*F[k]) "
          "where t in 0:size(A,0)");
    const Arrays all{{"A", vector(5)}, {"F", vector(3, 5)}};
    check_gradients("Y[i] := A[pad(i+k-1,1)]*F[k]", all);
    check_gradients("Y[i] := A[pad(i+k-1)]*F[k] where i in 0:7", all);
    check_gradients("Y[i] := A[pad(2*i+k-2,2,1,3)]*F[k]", all);
    check_gradients("Y[i,j] := A[pad(i-1,1,1,2)]*A[pad(j,0,2)] + F[pad(i-j)]", all);
    check_gradients("Y[i] := A[pad(i-1,1,1,s)]^2 where s = F[1]", all);
}

TEST_CASE("a clamped read gives its edges what lies beyond") {
    const Arrays all{{"A", vector(4)}, {"F", vector(3, 5)}};
    check_gradients("Y[i] := A[clamp(i-2)]^2 where i in 0:9", all, {"A"});
    check_gradients("Y[i] := A[clamp(i+k-1)]*F[k] where i in 0:4", all);
    check_gradients("Y[i] := A[clamp(2*i-3*k)]*F[k] where i in 0:4", all);
    check_gradients("Y[i] := A[clamp(3-i)]^2 where i in 0:9", all, {"A"});
    check_gradients("Y[i] := A[clamp(i)]^2 where i in 0:1", {{"A", vector(1)}}, {"A"});
    check_gradients("Y[i] := A[clamp(i-2)]^2 where i in 0:5", {{"A", vector(1)}}, {"A"});
}

TEST_CASE("a wrapped read sums over the turns") {
    const Arrays all{{"A", vector(4)}, {"F", vector(3, 5)}};
    check_gradients("Y[i] := A[wrap(i-2)]^2 where i in 0:11", all, {"A"});
    check_gradients("Y[i] := A[wrap(i+k-1)]*F[k] where i in 0:4", all);
    check_gradients("Y[i] := A[wrap(2*i-3*k)]*F[k] where i in 0:4", all);
    check_gradients("Y[i] := A[wrap(5-3*i)]^2 where i in 0:9", all, {"A"});
    check_gradients("Y[i] := A[wrap(i//2-1)]^2 where i in 0:13", all, {"A"});
    check_gradients("Y[i] := A[wrap(i%3-1)]^2 where i in 0:8", all, {"A"});
    check_gradients("Y[i] := A[wrap(i-2)]^2 where i in 0:5", {{"A", vector(1)}}, {"A"});
}

TEST_CASE("a mirrored read sums over both directions") {
    const Arrays all{{"A", vector(4)}, {"F", vector(3, 5)}};
    check_gradients("Y[i] := A[reflect(i-2)]^2 where i in 0:15", all, {"A"});
    check_gradients("Y[i] := A[reflect(i+k-1)]*F[k] where i in 0:4", all);
    check_gradients("Y[i] := A[reflect(2*i-3*k)]*F[k] where i in 0:7", all);
    check_gradients("Y[i] := A[reflect(5-3*i)]^2 where i in 0:9", all, {"A"});
    for (const std::int64_t n : {1, 2, 3})
        check_gradients("Y[i] := A[reflect(i-3)]^2 where i in 0:11", {{"A", vector(n)}}, {"A"});
}

TEST_CASE("modified subscripts in several dimensions") {
    const Arrays all{{"A", matrix(3, 4)}, {"F", matrix(3, 3, 5)}};
    check_gradients("Y[i,j] := A[pad(i+k-1,1),pad(j+l-1,1)]*F[k,l]", all);
    check_gradients("Y[i,j] := A[clamp(i+k-1),wrap(j+l-1)]*F[k,l] where i in 0:3, j in 0:4", all);
    check_gradients("Y[i,j] := A[reflect(i-2),clamp(j-2)]^2 where i in 0:7, j in 0:8", all, {"A"});
    check_gradients("Y[i] := A[wrap(i-1),clamp(i-1)]^2 where i in 0:7", all, {"A"});
}

TEST_CASE("a window that crosses the border writes to an extended array, and that to the array") {
    CHECK(gradient("Y[i] := A[wrap(i+k)]*F[k] where i in 0:9", "A") ==
          "t1[t] := sum[k | t-k >= 0 && t-k < 9](dY[t-k]*F[k]) where t in 0:size(F,0)+8\n"
          "dA[t] := sum[m in 0//max(size(A,0), 1):(size(F,0)+7)//max(size(A,0), 1)+1 | "
          "t+max(size(A,0), 1)*m >= 0 && t+max(size(A,0), 1)*m < size(F,0)+8](t1[t+max(size(A,0), "
          "1)*m]) where t in 0:size(A,0)");
    CHECK(gradient("Y[i,j] := A[j,clamp(i+k-1)]*F[k] where i in 0:9", "A") ==
          "t1[j,t] := sum[k | t-k >= 0 && t-k < 9](dY[t-k,j]*F[k]) where t in 0:size(F,0)+8\n"
          "dA[j,t] := sum[p | t == p-1](t1[j,p]) + sum[p | p-1 < 0 && t == 0](t1[j,p]) + sum[p | "
          "p-1 >= size(A,1) && t == size(A,1)-1](t1[j,p]) where t in 0:size(A,1)");
    // Where the extended array would be mostly empty there is none.
    for (const std::string text : {"Y[i] := A[wrap(i+9*k)]*F[k] where i in 0:9",
                                   "Y[i] := A[wrap(i+k),0]*F[k] where i in 0:9",
                                   "Y[i] := A[wrap(i+k),J[i]]*F[k] where i in 0:9",
                                   "Y[i] := A[wrap(i+k),i]*F[k] where i in 0:9",
                                   "Y[i] := A[wrap(i+k),wrap(i+k)]*F[k] where i in 0:9",
                                   "Y[i,j] := A[wrap(i+k),j]*F[k] where i in 0:9, j in 0:2"}) {
        CAPTURE(text);
        CHECK(gradient(text, "A").find("t1") == std::string::npos);
    }
    const Arrays all{{"A", vector(4)}, {"F", vector(3, 5)}};
    check_gradients("Y[i,j] := A[wrap(i+2*k-8*j)]*F[k]*F[j] where i in 0:9", all);
    check_gradients("Y[i] := max[k](A[reflect(2*i+k-1)]*F[k]) where i in 0:5", all);
    check_gradients("Y[i] := sum[k in 0:3 | k < i](A[clamp(i-k)]^2)*F[i] where i in 0:3", all);
    const Arrays keyed{{"A", matrix(3, 4)}, {"F", matrix(3, 3, 5)}, {"J", keys({2, 0, 2})}};
    check_gradients("Y[n,i] := A[J[n],wrap(i+k)]*F[n,k] where i in 0:4", keyed, {"A", "F"});
    check_gradients("Y[n,i] := A[n,wrap(i+k)]*F[n,k] where i in 0:4", keyed, {"A", "F"});
    check_gradients("Y[i,j] := A[wrap(i+k),reflect(j-l)]*F[k,l] where i in 0:3, j in 0:2", keyed,
                    {"A", "F"});
    check_gradients("Y[i,j] := A[wrap(i+k),reflect(i+j+l)]*F[k,l] where i in 0:3, j in 0:2", keyed,
                    {"A", "F"});
    // No point at all.
    const Arrays empty{{"A", vector(4)}, {"F", vector(0, 5)}};
    check_gradients("Y[i] := A[clamp(i+k)]*F[k] where i in 0:4", empty, {"A"});
}

TEST_CASE("modified subscripts of data") {
    const Arrays all{{"A", vector(4)}, {"o", keys({-3, 0, 5, 2})}, {"F", vector(4, 5)}};
    check_gradients("Y[i] := A[wrap(i+o[k])]*F[k] where i in 0:4", all, {"A", "F"});
    check_gradients("Y[i] := A[clamp(i+o[k])]*F[k] where i in 0:4", all, {"A", "F"});
    check_gradients("Y[i] := A[reflect(i+o[k])]*F[k] where i in 0:4", all, {"A", "F"});
    check_gradients("Y[i] := A[pad(i+o[k])]*F[k] where i in 0:4", all, {"A", "F"});
    check_gradients("Y[k] := A[pad(o[k],3,2)]*F[k]", all, {"A", "F"});
    check_gradients("Y[k] := A[wrap(o[k])]*A[clamp(2*o[k])]*F[k]", all, {"A", "F"});
}

TEST_CASE("gradients of updates at modified places") {
    const Arrays all{{"h", vector(4)}, {"x", vector(7)}};
    check_gradients("z[i] := h[i]^2; z[wrap(n-2)] += x[n]^2; y[i] := z[i]*z[i]", all);
    check_gradients("z[i] := h[i]^2; z[clamp(n-2)] += x[n]^2; y[i] := z[i]*z[i]", all);
    check_gradients("z[i] := h[i]^2; z[reflect(n-2)] += x[n]^2; y[i] := z[i]*z[i]", all);
    check_gradients("z[i] := h[i]^2; z[pad(n-2)] += x[n]^2; y[i] := z[i]*z[i]", all);
    check_gradients("z[i] := h[i]^2; z[wrap(n+3)] = x[n]^2 where n in 0:3; y[i] := z[i]*z[i]", all);
}

TEST_CASE("gradients of products and extremes that meet in an element") {
    const Arrays all{{"h", vector(5)},
                     {"x", vector(7)},
                     {"X", vector(10).reshape({5, 2})},
                     {"J", keys({3, 0, 3, 1, 3, 1, 0})}};
    for (const char* op : {"*=", "max=", "min="}) {
        const auto check = [&](const std::string& target, const std::string& rest) {
            check_gradients(format("z[i] := h[i]^2; {} {} {}; y[i] := z[i]^2", target, op, rest),
                            all, {"h", rest.starts_with("X") ? "X" : "x"});
        };
        check("z[J[n]]", "x[n] + 0.1");
        check("z[n//2]", "x[n] where n in 0:7");
        check("z[2*n+k]", "X[n,k] where n in 0:2");
        check("z[end]", "x[n]");
        check("z[wrap(n+3)]", "x[n]");
        check("z[clamp(n-1)]", "x[n]");
        check("z[reflect(n-2)]", "x[n]");
        check("z[pad(n-2)]", "x[n]");
        check("z[2*n]", "z[2*n] + x[n] where n in 0:3");
    }
}

TEST_CASE(
    "products that meet are exact with zeros, and of equal values the old or the first counts") {
    const auto gradient = [](const std::string& text, const std::string& argument,
                             const Arguments& arguments) {
        return str(compile(text, "", Device::reference).grad(argument)(copies(arguments)));
    };
    const Array J = keys({1, 0, 1});
    const auto values = [](std::initializer_list<double> list) {
        return Array::from<double>(list, {std::int64_t(list.size())});
    };
    const auto arguments = [&](const Array& h, const Array& x) {
        return Arguments{{"h", h}, {"J", J}, {"x", x}, {"dh", values({1, 1})}};
    };
    const Arguments zeros = arguments(values({2, 3}), values({0, 5, 7}));
    CHECK(gradient("h[J[n]] *= x[n]", "x", zeros) == "[21,  2,  0]");
    CHECK(gradient("h[J[n]] *= x[n]", "h", zeros) == "[5, 0]");
    const Arguments ties = arguments(values({4, 1}), values({2, 4, 2}));
    CHECK(gradient("h[J[n]] max= x[n]", "x", ties) == "[1, 0, 0]");
    CHECK(gradient("h[J[n]] max= x[n]", "h", ties) == "[1, 0]");
    CHECK(gradient("h[J[n]] min= x[n]", "h", ties) == "[1, 1]");
}

TEST_CASE("the gradient of a gradient through gathers") {
    const Program forward = parse_program("Y[i] := A[J[i]]^3*A[wrap(i+1)]");
    const Program first = grad::gradient(forward, "A");
    const std::string text = str(first);
    CAPTURE(text);
    check_gradients(text, {{"A", vector(4)}, {"J", keys({3, 0, 3})}, {"dY", vector(3)}},
                    {"A", "dY"});
}

}  // namespace
}  // namespace ricci::tests
