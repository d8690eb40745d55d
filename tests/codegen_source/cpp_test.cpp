// tests/codegen_source/cpp_test.cpp – programs of every kind as C++, against the reference
#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/ops.h"
#include "tests/codegen_source/source_batch.h"

namespace ricci::tests {
namespace {

Array keys(std::initializer_list<std::int64_t> values) {
    return Array::from(values, {std::int64_t(values.size())});
}

TEST_CASE("pointwise programs and reductions as C++ agree with the reference") {
    SourceBatch batch;
    batch.add("y[i] := 2*exp(x[i]) + b", {{"x", array_spec({10})}, {"b", array_spec({})}});
    batch.add("s := sum[i](x[i]^2)", {{"x", array_spec({1000})}});
    batch.add("Y[j,i] := X[i,j]*i - j", {{"X", array_spec({5, 7})}});
    batch.add("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
              {{"W", array_spec({3, 8})}, {"X", array_spec({4, 8})}, {"b", array_spec({3})}});
    batch.add("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
              {{"X", array_spec({4, 9})}});
    batch.add(
        "Y[n,d] := (X[n,d] - mean[c](X[n,c])) * g[d]"
        " / sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) + 1e-5)",
        {{"X", array_spec({4, 9})}, {"g", array_spec({9})}});
    batch.add("a[i] := argmax[k](X[i,k]); b[i] := argmin[k](X[i,k]); c[i] := prod[k](X[i,k])",
              {{"X", array_spec({4, 9})}});
    batch.add("a := logsumexp[i](x[i]); b := norm[i](x[i]); c := min[i](x[i])",
              {{"x", array_spec({30}, DType::f64)}});
    batch.add("P[i,j] := sum[k | k <= i && k >= j - 2](A[i,k]*B[k,j])",
              {{"A", array_spec({6, 6})}, {"B", array_spec({6, 6})}});
    batch.add(
        "W[q,k] := k <= q ? sum[d](Q[q,d]*K[k,d]) / sqrt(size(Q,1)) : -inf;"
        "P[q,k] := exp(W[q,k] - max[l](W[q,l])) / sum[l](exp(W[q,l] - max[m](W[q,m])));"
        "O[q,d] := P[q,k]*V[k,d]",
        {{"Q", array_spec({5, 4})}, {"K", array_spec({5, 4})}, {"V", array_spec({5, 4})}});
    CHECK(batch.difference() == "");
}

TEST_CASE("every function as C++ agrees with the reference, in single and double precision") {
    SourceBatch batch;
    std::size_t functions = 0;
    for (const OpInfo& function : all_ops()) {
        if (!function.is_function) continue;
        ++functions;
        for (const DType dtype : {DType::f32, DType::f64}) {
            std::vector<std::string> arguments;
            Signature signature;
            GivenArrays given;
            for (int a = 0; a < function.min_arity; ++a) {
                const std::string name = format("x{}", a);
                const bool is_condition = a == 0 && function.op == Op::select;
                arguments.push_back(is_condition ? name + "[i] > 0" : name + "[i]");
                signature[name] = array_spec({40}, dtype);
                const Array sample = Array::rand(DType::f64, {40}, std::uint64_t(a));
                for (double& value : sample.span<double>())
                    value =
                        function.sample_low + value * (function.sample_high - function.sample_low);
                given.emplace_back(name, sample.to(dtype));
            }
            batch.add(format("y[i] := {}({})", function.name, join(arguments, ", ")), signature,
                      given);
        }
    }
    CHECK(functions > 40);
    CHECK(batch.difference() == "");
}

TEST_CASE("subscripts of every kind as C++ agree with the reference") {
    SourceBatch batch;
    batch.add("O[n,o,y,x] := K[o,c,r,s]*X[n,c,pad(2*y+r,1),pad(2*x+s,1)]",
              {{"K", array_spec({4, 3, 3, 3})}, {"X", array_spec({2, 3, 9, 9})}});
    batch.add("y[i+_] := x[pad(i, 2, 1, -1)]", {{"x", array_spec({5})}});
    batch.add("y[i] := x[clamp(i-2)] + x[wrap(2*i)] + x[reflect(i+3)] where i in 0:12",
              {{"x", array_spec({5})}});
    batch.add("y[i] := x[i//3] * x[i%4] where i in 0:12", {{"x", array_spec({5})}});
    batch.add("d[i] := p[i+1] - p[i]; D[i,i] := p[i]", {{"p", array_spec({6})}});
    batch.add("y[i] := A[i,$c] * A[i,-1]", {{"A", array_spec({5, 4})}, {"c", number_spec(2)}});
    batch.add("Y[b,d] := W[tok[b],d]",
              {{"W", array_spec({10, 4})}, {"tok", array_spec({5}, DType::i32)}},
              {{"tok", keys({3, 0, 9, 3, 1}).to(DType::i32)}});
    batch.add("y[i] := A[i + J[k]] where i in 0:6",
              {{"A", array_spec({10})}, {"J", array_spec({3}, DType::i64)}},
              {{"J", keys({0, 4, 2})}});
    batch.add("y[t] := sum[n | J[n] >= 0](x[J[n]] * t) where t in 0:3",
              {{"x", array_spec({4})}, {"J", array_spec({5}, DType::i64)}},
              {{"J", keys({-1, 2, 3, -1, 0})}});
    CHECK(batch.difference() == "");
}

TEST_CASE("updates as C++ run in order and agree with the reference") {
    SourceBatch batch;
    batch.add("O[2*i+k] += x[i]*w[k]",
              {{"O", array_spec({21})}, {"x", array_spec({10})}, {"w", array_spec({3})}});
    batch.add("h[J[n]] += 1",
              {{"h", array_spec({5}, DType::i32)}, {"J", array_spec({7}, DType::i64)}},
              {{"J", keys({0, 4, 4, 2, 0, 0, 1})}});
    batch.add("h[J[n]] = x[n]",
              {{"h", array_spec({5})}, {"x", array_spec({3})}, {"J", array_spec({3}, DType::i64)}},
              {{"J", keys({4, 1, 0})}});
    batch.add("A[i] *= 1 + x[i]; A[i] max= c[k]; B[i] := A[i]",
              {{"A", array_spec({4})}, {"x", array_spec({4})}, {"c", array_spec({3})}});
    batch.add("s -= x[i]", {{"s", array_spec({})}, {"x", array_spec({9})}});
    batch.add("C[i] := x[i]; C[i] += y[i]; C[0] = 5; D[i] := C[i]*2",
              {{"x", array_spec({4})}, {"y", array_spec({4})}});
    CHECK(batch.difference() == "");
}

TEST_CASE("data that is wrong is said as C++, and no argument changes") {
    SourceBatch batch;
    const Signature gather = {{"W", array_spec({10, 4})}, {"tok", array_spec({3}, DType::i64)}};
    batch.add("Y[b,d] := W[tok[b],d]", gather, {{"tok", keys({3, 10, 0})}});
    batch.add("Y[b,d] := W[tok[b],d]", gather, {{"tok", keys({3, -1, 0})}});
    batch.add("h[i] += 1; y[n] := x[h[n]]",
              {{"h", array_spec({3}, DType::i64)}, {"x", array_spec({9})}},
              {{"h", keys({3, 8, 0})}});
    batch.add("h[i] += 1; y[n] := x[h[n]]",
              {{"h", array_spec({3}, DType::i64)}, {"x", array_spec({9})}},
              {{"h", keys({3, 7, 0})}});
    batch.add("h[J[n]] = x[n]",
              {{"h", array_spec({5})}, {"x", array_spec({3})}, {"J", array_spec({3}, DType::i64)}},
              {{"J", keys({4, 1, 4})}});
    CHECK(batch.difference() == "");
}

TEST_CASE("arrays of every type and of no elements as C++ agree with the reference") {
    SourceBatch batch;
    for (const DType dtype :
         {DType::boolean, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
          DType::u32, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
        const Signature both = {{"a", array_spec({20}, dtype)}, {"b", array_spec({20}, dtype)}};
        batch.add("s := sum[i](a[i]); m := max[i](a[i]); c := count[i](a[i] > b[i])", both);
        batch.add("q[i] := a[i]*b[i]; r[i] := a[i] > b[i] ? a[i] : b[i]; d[i] := a[i] / 3", both);
        if (dtype == DType::boolean) continue;
        batch.add("q[i] := a[i] // b[i]; r[i] := a[i] % b[i]; s[i] := max(a[i], b[i]) - a[i]",
                  both);
        batch.add("q[i] := i8(a[i]); r[i] := u16(a[i]); s[i] := f32(a[i]); t[i] := bool(a[i])",
                  {{"a", array_spec({20}, dtype)}});
    }
    for (const DType dtype : {DType::c64, DType::c128}) {
        const Signature both = {{"a", array_spec({20}, dtype)}, {"b", array_spec({20}, dtype)}};
        batch.add("Z[i] := a[i]*conj(b[i]) + 2i", both);
        batch.add("p := sum[i](abs2(a[i])); z[i] := exp(a[i]) / b[i]", both);
    }
    batch.add("a := any[i](x[i] > 1); b := all[i](x[i] < 9); c[i] := !(x[i] > 0) || x[i] == 0",
              {{"x", array_spec({9})}});
    batch.add("Y[i,j] := X[i,j] + 1; s[i] := X[i,j]; t[j] := max[i](X[i,j])",
              {{"X", array_spec({3, 0})}});
    batch.add("Y[i,j] := X[i,j] + 1; s[j] := X[i,j]", {{"X", array_spec({0, 3})}});
    CHECK(batch.difference() == "");
}

TEST_CASE("gradients as C++ agree with the reference") {
    SourceBatch batch;
    batch.add_gradients(
        "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "W,X,b",
        {{"W", array_spec({3, 8})}, {"X", array_spec({4, 8})}, {"b", array_spec({3})}});
    batch.add_gradients(
        "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))", "X",
        {{"X", array_spec({4, 9})}});
    batch.add_gradients("O[n,o,y,x] := K[o,c,r,s]*X[n,c,pad(2*y+r,1),pad(3*x+2*s,1)]", "K,X",
                        {{"K", array_spec({4, 3, 3, 3})}, {"X", array_spec({2, 3, 9, 9})}});
    batch.add_gradients(
        "Y[n,d] := (X[n,d] - mean[c](X[n,c])) * g[d]"
        " / sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) + 1e-5)",
        "X,g", {{"X", array_spec({4, 9})}, {"g", array_spec({9})}});
    batch.add_gradients("Y[b,d] := W[tok[b],d]", "W",
                        {{"W", array_spec({10, 4})}, {"tok", array_spec({5}, DType::i64)}},
                        {{"tok", keys({3, 0, 9, 3, 1})}});
    batch.add_gradients("m[i] := max[k](A[i,k]); p := prod[i](m[i])", "A",
                        {{"A", array_spec({4, 5})}});
    batch.add_gradients("y[i] := x[clamp(i-2)] * x[wrap(2*i)] + x[reflect(i+3)] where i in 0:12",
                        "x", {{"x", array_spec({5}, DType::f64)}});
    batch.add_gradients("Z[i] := a[i]*exp(b[i])", "a,b",
                        {{"a", array_spec({5}, DType::c64)}, {"b", array_spec({5}, DType::c64)}});
    batch.add_gradients("O[2*i+k] += x[i]*w[k]", "x,w",
                        {{"O", array_spec({21})}, {"x", array_spec({10})}, {"w", array_spec({3})}});
    CHECK(batch.difference() == "");
}

}  // namespace
}  // namespace ricci::tests
