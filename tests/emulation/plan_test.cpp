// tests/emulation/plan_test.cpp – every kind of kernel, run by the emulation, against the reference
#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/emulation/run_plan.h"

namespace ricci::tests {
namespace {

ArgumentSpec array(Shape shape, DType dtype = DType::f32, Strides strides = {}) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = std::move(strides), .value = {}};
}

/// On a GPU of many multiprocessors, and on one so small that arrays of a test keep it busy.
class Checks {
  public:
    void add(const std::string& text, const Signature& signature) {
        for (const int multiprocessors : {132, 1}) batch_.add(text, signature, multiprocessors);
    }
    ~Checks() { CHECK(batch_.difference() == ""); }

  private:
    EmulatedBatch batch_;
};

constexpr DType reals[] = {DType::f32, DType::f64};
constexpr std::int64_t sizes[] = {0, 1, 2, 31, 32, 33, 127, 128, 1000, 1026};

}  // namespace

TEST_CASE("an emulated GPU passes over vectors of any length") {
    Checks checks;
    for (const std::int64_t n : sizes)
        for (const DType dtype : reals) {
            checks.add("y[i] := 2*x[i] + 1", {{"x", array({n}, dtype)}});
            checks.add("y[i] := x[i]*b[i]; z[i] := y[i] + i",
                       {{"x", array({n}, dtype)}, {"b", array({n}, dtype)}});
        }
    checks.add("y[i] := exp(x[i])*a", {{"x", array({70001})}, {"a", array({})}});
}

TEST_CASE("an emulated GPU passes over matrices of any shape, transposed or not") {
    Checks checks;
    for (const std::int64_t n : sizes) {
        checks.add("Y[i,j] := X[i,j]*a[i] + b[j]",
                   {{"X", array({5, n})}, {"a", array({5})}, {"b", array({n})}});
        checks.add("Y[j,i] := X[i,j]", {{"X", array({3, n})}});
        checks.add("Y[i] := X[i,0] - X[i,1]", {{"X", array({n, 2})}});
    }
    for (const DType dtype : reals) {
        checks.add("Y[j,i] := X[i,j]", {{"X", array({70, 33}, dtype)}});
        checks.add("Y[j,i] := X[i,j]*c[i] + X[i,j]",
                   {{"X", array({64, 96}, dtype)}, {"c", array({64}, dtype)}});
        checks.add("Y[i,j,k] := X[k,j,i]", {{"X", array({40, 3, 65}, dtype)}});
    }
}

TEST_CASE("an emulated GPU reduces rows of any length") {
    Checks checks;
    for (const std::int64_t n : sizes)
        for (const DType dtype : reals) {
            const Signature signature = {{"A", array({5, n}, dtype)}};
            checks.add("y[i] := A[i,k]", signature);
            checks.add("y[i] := 2*max[k](A[i,k]) + i", signature);
        }
    checks.add("y[i] := A[i,k]*B[i,k]", {{"A", array({3, 5001})}, {"B", array({3, 5001})}});
    checks.add(
        "m[i] := max[k](A[i,k]); e[i,k] := exp(A[i,k] - m[i]); s[i] := e[i,k]; "
        "y[i,k] := e[i,k]/s[i]",
        {{"A", array({7, 300})}});
}

TEST_CASE("an emulated GPU reduces columns of any number") {
    Checks checks;
    for (const std::int64_t n : sizes)
        for (const std::int64_t rows : {1, 7, 100})
            checks.add("y[j] := A[i,j]", {{"A", array({rows, n})}});
    checks.add("y[j] := A[i,j]", {{"A", array({333, 129}, DType::f64)}});
}

TEST_CASE("every reducer on an emulated GPU, along rows, columns and both") {
    Checks checks;
    for (const std::string reducer : {"sum", "prod", "max", "min", "mean", "argmax", "argmin",
                                      "any", "all", "count", "logsumexp", "norm"}) {
        const std::string term =
            reducer == "any" || reducer == "all" || reducer == "count" ? "A[i,j] > 0" : "A[i,j]";
        const auto text = [&](const std::string& left, const std::string& over) {
            return format("y{} := {}[{}]({})", left, reducer, over, term);
        };
        for (const DType dtype : reals) {
            const Signature signature = {{"A", array({33, 70}, dtype)}};
            checks.add(text("[i]", "j"), signature);
            checks.add(text("[j]", "i"), signature);
            if (!reducer.starts_with("arg")) checks.add(text("", "i,j"), signature);
        }
    }
}

TEST_CASE("maxima and their places where there is NaN, on an emulated GPU") {
    Checks checks;
    const Signature signature = {{"A", array({50, 70})}};
    // log of a negative number, for about half of them; in few rows and columns for the other.
    for (const std::string term : {"log(A[i,j])", "log(A[i,j] + 1.49)"})
        for (const std::string reducer : {"max", "min", "argmax", "argmin", "sum"}) {
            checks.add(format("y[i] := {}[j]({})", reducer, term), signature);
            checks.add(format("y[j] := {}[i]({})", reducer, term), signature);
        }
    checks.add("y[i] := max[j](A[i,j]/0)", signature);
    checks.add("y[i] := argmax[j](floor(A[i,j]))", signature);
    checks.add("y[j] := argmin[i](floor(A[i,j]))", signature);
}

TEST_CASE("long reductions of few results on an emulated GPU") {
    Checks checks;
    checks.add("s := A[i,j]", {{"A", array({300, 300})}});
    checks.add("s := A[i]*B[i]", {{"A", array({100007})}, {"B", array({100007})}});
    checks.add("y[j] := A[i,j]", {{"A", array({5011, 20})}});
    checks.add("p := argmax[i](A[i])", {{"A", array({70000})}});
    checks.add("p[j] := argmin[i](A[i,j])", {{"A", array({7000, 12})}});
    checks.add("s := sum[i,j | j <= i](A[i,j])", {{"A", array({300, 300})}});
    checks.add("m := mean[i](A[i])", {{"A", array({70000}, DType::f64)}});
}

TEST_CASE("contractions with edges in every direction on an emulated GPU") {
    Checks checks;
    for (const DType dtype : reals) {
        const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
            return array({rows, columns}, dtype);
        };
        checks.add("C[i,j] := A[i,k]*B[k,j]", {{"A", matrix(64, 64)}, {"B", matrix(64, 64)}});
        checks.add("C[i,j] := A[i,k]*B[k,j]", {{"A", matrix(131, 21)}, {"B", matrix(21, 133)}});
        checks.add("C[i,j] := A[i,k]*B[j,k]", {{"A", matrix(70, 33)}, {"B", matrix(65, 33)}});
        checks.add("C[i,j] := A[k,i]*B[k,j]", {{"A", matrix(17, 129)}, {"B", matrix(17, 66)}});
        checks.add("C[i,j] := A[k,i]*B[j,k]", {{"A", matrix(100, 40)}, {"B", matrix(90, 100)}});
        checks.add("D[i,j] := (w[k,i] - x[k,j])^2", {{"w", matrix(30, 80)}, {"x", matrix(30, 75)}});
        checks.add("D[i,j] := max[k](w[k,i] + x[k,j])",
                   {{"w", matrix(30, 80)}, {"x", matrix(30, 75)}});
    }
    for (const std::int64_t n : {1, 2, 31, 33, 127, 129})
        checks.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({n, 40})}, {"B", array({40, 66})}});
    checks.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({50, 0})}, {"B", array({0, 70})}});
    checks.add("C[i,j] := A[i,k]*B[k,j]", {{"A", array({20, 1500})}, {"B", array({1500, 30})}});
}

TEST_CASE("contractions with epilogues, batches and any body on an emulated GPU") {
    Checks checks;
    const Signature linear = {{"W", array({50, 30})}, {"X", array({70, 30})}, {"b", array({50})}};
    checks.add("Y[n,o] := W[o,k]*X[n,k] + b[o]", linear);
    checks.add("Z[n,o] := W[o,k]*X[n,k] + b[o]; Y[n,o] := relu(Z[n,o])", linear);
    checks.add("C[b,i,j] := A[b,i,k]*B[b,k,j]",
               {{"A", array({3, 40, 19})}, {"B", array({3, 19, 66})}});
    checks.add("C[i,j,a] := A[i,k,l]*B[l,a,k,j]",
               {{"A", array({33, 5, 6})}, {"B", array({6, 18, 5, 7})}});
    checks.add("D[i,j] := sum[k](exp(w[k,i])*abs(x[k,j] - w[k,i]))",
               {{"w", array({30, 64})}, {"x", array({30, 65})}});
    checks.add("D[k,i] := 2*(w[k,i] - x[k,j])*d[i,j]",
               {{"w", array({30, 64})}, {"x", array({30, 65})}, {"d", array({64, 65})}});
    checks.add("O[n,o,y,x] := F[o,c,r,s]*I[n,c,y+r,x+s]",
               {{"F", array({33, 5, 3, 3})}, {"I", array({2, 5, 12, 13})}});
}

TEST_CASE("conditions become loop bounds on an emulated GPU") {
    Checks checks;
    const Signature line = {{"dO", array({100})}, {"F", array({7})}};
    checks.add("dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:106",
               line);
    checks.add(
        "dA[t] := sum[k | t-2*k >= 0 && t-2*k < size(dO,0)](dO[t-2*k]*F[k]) where t in 0:112",
        line);
    checks.add("S[i] := sum[k | k <= i](A[i,k])", {{"A", array({70, 70})}});
    checks.add("S[k] := sum[i | k <= i](A[i,k])", {{"A", array({70, 70})}});
    checks.add("S[i] := sum[k | A[i,k] > 0](A[i,k])", {{"A", array({70, 72})}});
    checks.add("S[k] := argmax[i | A[i,k] < 0](A[i,k])", {{"A", array({70, 72})}});
    checks.add("S[i,j] := sum[k | k <= i && k != 3](A[i,k]*B[k,j])",
               {{"A", array({30, 30})}, {"B", array({30, 20})}});
    checks.add(
        "P[y,x] := sum[r,s | y-r >= 0 && y-r < 20 && x-s >= 0 && x-s < 40](Q[y-r,x-s]*G[r,s])"
        " where y in 0:22, x in 0:42",
        {{"Q", array({20, 40})}, {"G", array({3, 3})}});
}

TEST_CASE("updates in place and several results on an emulated GPU") {
    Checks checks;
    checks.add("x[i] = 2*x[i]; y[i] := x[i] + 1", {{"x", array({200})}});
    const Signature signature = {{"x", array({20})}, {"A", array({30, 20})}};
    checks.add("A[i+3,j] += x[j]*A[i+3,j] where i in 0:20", signature);
    checks.add("O[i+k] += x[i]*w[k]", {{"O", array({26})}, {"x", array({20})}, {"w", array({7})}});
    checks.add("x[i] *= A[k,i]; x[i] max= A[0,i]", signature);
    checks.add("m[i] = 0.9*m[i] + 0.1*g[i]; p[i] -= 0.001*m[i]",
               {{"m", array({1000})}, {"g", array({1000})}, {"p", array({1000})}});
    checks.add("D[i,i] := a[i]", {{"a", array({20})}});
    checks.add("C[i,j] += A[i,k]*B[k,j]",
               {{"C", array({65, 70})}, {"A", array({65, 33})}, {"B", array({33, 70})}});
}

TEST_CASE("several types in one kernel on an emulated GPU") {
    Checks checks;
    checks.add("y[i] := A[i,k]*B[i,k]",
               {{"A", array({12, 40}, DType::f32)}, {"B", array({12, 40}, DType::f64)}});
    checks.add("y[i] := A[i] + B[i]", {{"A", array({1000}, DType::u8)}, {"B", array({1000})}});
    checks.add("c[i] := count[k | A[i,k] > 0](1)", {{"A", array({12, 40})}});
    checks.add("b[i] := A[i] > 0", {{"A", array({1000})}});
}

TEST_CASE("views with strides on an emulated GPU") {
    Checks checks;
    for (const Strides& strides : {Strides{100, 2}, Strides{1, 40}, Strides{37, 1}}) {
        const Signature signature = {{"A", array({40, 36}, DType::f32, strides)}};
        checks.add("y[i] := A[i,k]; z[k] := A[i,k]; B[i,k] := 2*A[i,k]", signature);
        checks.add("A[i,k] = 2*A[i,k]", signature);
        checks.add("C[i,j] := A[i,k]*A[j,k]", signature);
    }
}

TEST_CASE("an emulated GPU goes to places that are data or modified") {
    Checks checks;
    const auto keys = [](Shape shape) { return array(std::move(shape), DType::i64); };
    for (const std::int64_t n : sizes) {
        checks.add("Y[i,k] := A[clamp(J[i]),k]", {{"A", array({9, 7})}, {"J", keys({n})}});
        checks.add("y[i] := A[wrap(J[i]),k]*b[k]",
                   {{"A", array({9, 70})}, {"J", keys({n})}, {"b", array({70})}});
        checks.add("h[wrap(J[i])] += x[i]",
                   {{"h", array({5})}, {"J", keys({n})}, {"x", array({n})}});
        checks.add("H[wrap(J[i]),k] += X[i,k]",
                   {{"H", array({5, 33})}, {"J", keys({n})}, {"X", array({n, 33})}});
        checks.add("y[i] := x[pad(i-2,2,2)] - x[pad(i-1,1,3,value=0.5)]", {{"x", array({n})}});
        checks.add("Y[t,k] := sum[i | t == i64(J[i])](X[i,k]) where t in 0:40",
                   {{"J", keys({n})}, {"X", array({n, 5})}});
    }
    checks.add("C[i,j] := A[clamp(J[i]),k]*B[k,reflect(j-3)] where j in 0:70",
               {{"A", array({9, 40})}, {"J", keys({50})}, {"B", array({40, 30})}});
    checks.add("C[y,x] := A[pad(y+r-1,1),wrap(x+s-1)]*F[r,s] where x in 0:40",
               {{"A", array({33, 40})}, {"F", array({3, 3})}});
}

}  // namespace ricci::tests
