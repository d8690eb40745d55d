// tests/library/product_test.cpp – which kernels are matrix products, and of what form
#include <doctest/doctest.h>

#include "codegen/library.h"
#include "tests/library/library_calls.h"

using namespace ricci;
using namespace ricci::tests;

using codegen::Activation;
using codegen::LibraryCall;
using codegen::MatrixOperand;
using codegen::MatrixProduct;

namespace {

MatrixProduct product(const std::string& text, const Signature& signature) {
    const std::optional<LibraryCall> call = checked_call(text, signature);
    REQUIRE(call);
    REQUIRE(std::holds_alternative<MatrixProduct>(call->call));
    return std::get<MatrixProduct>(call->call);
}
bool is_marked(const std::string& text, const Signature& signature) {
    return checked_call(text, signature).has_value();
}
bool is_product(const std::string& text, const Signature& signature) {
    const std::optional<LibraryCall> call = checked_call(text, signature);
    return call && std::holds_alternative<MatrixProduct>(call->call);
}
bool is_worthwhile(const std::string& text, const Signature& signature) {
    const std::optional<LibraryCall> call =
        recognised(*planned(bound(text, signature), signature, 1));
    REQUIRE(call);
    return call->is_worthwhile;
}

}  // namespace

TEST_CASE("a product of matrices is marked with its strides") {
    const MatrixProduct p =
        product("C[i,j] := A[i,k]*B[k,j]", {{"A", array({5, 7})}, {"B", array({7, 6})}});
    CHECK(p.rows == 5);
    CHECK(p.columns == 6);
    CHECK(p.depth == 7);
    CHECK(p.batch == 1);
    CHECK(p.left.row_stride == 7);
    CHECK(p.left.column_stride == 1);
    CHECK(p.right.row_stride == 6);
    CHECK(p.result.row_stride == 6);
    CHECK(p.result.column_stride == 1);
    CHECK(p.alpha == 1);
    CHECK_FALSE(p.addend);
    CHECK_FALSE(p.bias);
}

TEST_CASE("transposed operands are the same matrices with other strides") {
    const MatrixProduct p = product("C[i,j] := A[k,i]*B[j,k]", {{"A", array({7, 5}, DType::f64)},
                                                                {"B", array({6, 7}, DType::f64)}});
    CHECK(p.dtype == DType::f64);
    CHECK(p.left.row_stride == 1);
    CHECK(p.left.column_stride == 5);
    CHECK(p.right.row_stride == 1);
    CHECK(p.right.column_stride == 7);
}

TEST_CASE("indices that lie side by side in both their arrays are one") {
    const MatrixProduct p = product("Y[n,h,w,o] := X[n,h,w,c]*W[c,o]",
                                    {{"X", array({2, 3, 4, 5})}, {"W", array({5, 6})}});
    CHECK(p.rows == 24);
    CHECK(p.depth == 5);
    CHECK(p.columns == 6);
    CHECK(p.batch == 1);
}

TEST_CASE("rows that cannot be one are the batch of a matrix that stands still") {
    const MatrixProduct p = product("Y[n,o,h,w] := X[n,c,h,w]*W[o,c]",
                                    {{"X", array({3, 5, 4, 4})}, {"W", array({6, 5})}});
    CHECK(p.batch == 3);
    CHECK(p.rows * p.columns == 96);
    CHECK((p.left.batch_stride == 0) != (p.right.batch_stride == 0));
}

TEST_CASE("a second batch index that cannot be joined is calls one after the other") {
    // Attention with heads beside one another.
    const Signature signature = {{"Q", array({2, 5, 3, 4})}, {"K", array({2, 6, 3, 4})}};
    const MatrixProduct p = product("S[b,h,s,t] := Q[b,s,h,d]*K[b,t,h,d]/sqrt(4)", signature);
    CHECK(p.batch == 3);
    CHECK(p.repeats == 2);
    CHECK(p.alpha == 0.5);
    CHECK(p.rows == 5);
    CHECK(p.columns == 6);
    const MatrixProduct joined = product("S[b,h,s,t] := Q[b,h,s,d]*K[b,h,t,d]",
                                         {{"Q", array({2, 3, 5, 4})}, {"K", array({2, 3, 6, 4})}});
    CHECK(joined.batch == 6);
    CHECK(joined.repeats == 1);
}

TEST_CASE("constants become the factor of the product") {
    const Signature signature = {{"A", array({4, 8})}, {"B", array({8, 4})}};
    CHECK(product("C[i,j] := -2*A[i,k]*B[k,j]", signature).alpha == -2);
    CHECK(product("C[i,j] := mean[k](A[i,k]*B[k,j])", signature).alpha == 0.125);
    CHECK(product("C[i,j] := A[i,k]*B[k,j]/sqrt(64)", signature).alpha == 0.125);
    CHECK_FALSE(is_marked("C[i,j] := A[i,k]*B[k,j]/0", signature));
    CHECK_FALSE(is_marked("C[i,j] := 0*A[i,k]*B[k,j]", signature));
}

TEST_CASE("updates and other matrices are added by the product") {
    const Signature signature = {
        {"A", array({4, 8})}, {"B", array({8, 5})}, {"C", array({4, 5})}, {"D", array({4, 5})}};
    const MatrixProduct update = product("C[i,j] += A[i,k]*B[k,j]", signature);
    REQUIRE(update.addend);
    CHECK(*update.addend == update.result);
    CHECK(update.beta == 1);
    const MatrixProduct step = product("C[i,j] -= 0.5*A[i,k]*B[k,j]", signature);
    CHECK(step.alpha == -0.5);
    CHECK(step.beta == 1);
    const MatrixProduct mixed = product("C[i,j] = 0.75*C[i,j] + A[i,k]*B[k,j]/4", signature);
    CHECK(mixed.alpha == 0.25);
    CHECK(mixed.beta == 0.75);
    const MatrixProduct residual = product("E[i,j] := D[i,j] + A[i,k]*B[k,j]", signature);
    REQUIRE(residual.addend);
    CHECK(residual.addend->place != residual.result.place);
    // An addend of the other order has its unit stride elsewhere.
    CHECK_FALSE(is_marked("E[i,j] := D[j,i] + A[i,k]*B[k,j]",
                          {{"A", array({4, 8})}, {"B", array({8, 5})}, {"D", array({5, 4})}}));
}

TEST_CASE("bias and activation are the product's own") {
    const Signature signature = {
        {"W", array({6, 8})}, {"X", array({4, 8})}, {"b", array({6})}, {"c", array({4})}};
    const MatrixProduct p = product("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", signature);
    CHECK(p.activation == Activation::relu);
    REQUIRE(p.bias);
    CHECK((p.result.column_stride == 1 ? p.bias->column_stride : p.bias->row_stride) == 1);
    CHECK((p.result.column_stride == 1 ? p.bias->row_stride : p.bias->column_stride) == 0);
    CHECK(product("Y[n,o] := max(sum[k](W[o,k]*X[n,k]) + b[o], 0)", signature).activation ==
          Activation::relu);
    CHECK(product("Y[o,n] := W[o,k]*X[n,k] + c[n]", signature).bias);
    // Across the contiguous index no epilogue adds it.
    CHECK_FALSE(is_product("Y[o,n] := W[o,k]*X[n,k] + b[o]", signature));
    CHECK_FALSE(is_marked("Y[n,o] := W[o,k]*X[n,k] + 2*b[o]", signature));
}

TEST_CASE("views with gaps between their rows are marked as they are") {
    const MatrixProduct p = product(
        "C[i,j] := A[i,k]*B[k,j]",
        {{"A", array({5, 7}, DType::f32, {11, 1})}, {"B", array({7, 6}, DType::f32, {1, 9})}});
    CHECK(p.left.row_stride == 11);
    CHECK(p.right.column_stride == 9);
    const MatrixProduct part = product("C[i,j] := A[i+1,k+2]*B[k,j] where i in 0:3, k in 0:4",
                                       {{"A", array({5, 7})}, {"B", array({4, 6})}});
    CHECK(part.left.offset == 9);
}

TEST_CASE("what is read backwards by both is read forwards") {
    const MatrixProduct p = product("C[i,j] := A[i,6-k]*B[6-k,j] where k in 0:7",
                                    {{"A", array({5, 7})}, {"B", array({7, 6})}});
    CHECK(p.left.column_stride == 1);
    CHECK(p.left.offset == 0);
    CHECK_FALSE(is_product("C[i,j] := A[i,6-k]*B[k,j] where k in 0:7",
                           {{"A", array({5, 7})}, {"B", array({7, 6})}}));
}

TEST_CASE("what is no sum of products is not marked") {
    const Signature signature = {{"A", array({5, 7})},
                                 {"B", array({7, 6})},
                                 {"v", array({7})},
                                 {"p", array({5}, DType::i64)}};
    CHECK_FALSE(is_marked("C[i,j] := max[k](A[i,k]*B[k,j])", signature));
    CHECK_FALSE(is_marked("C[i,j] := prod[k](A[i,k]*B[k,j])", signature));
    CHECK_FALSE(is_marked("C[i,j] := (A[i,k] - B[k,j])^2", signature));
    CHECK_FALSE(is_marked("C[i,j] := A[i,k]*v[k]*B[k,j]", signature));
    CHECK_FALSE(is_marked("C[i,j] := exp(A[i,k])*B[k,j]", signature));
    CHECK_FALSE(is_marked("C[i,j] := A[i,k]*B[k,j] + 1", signature));
    CHECK_FALSE(is_marked("C[i,j] := tanh(A[i,k]*B[k,j])", signature));
    CHECK_FALSE(is_marked("C[i,j] := sum[k | k <= i](A[i,k]*B[k,j])", signature));
    CHECK_FALSE(is_marked("C[i,j] := sum[k | v[k] > 0](A[i,k]*B[k,j])", signature));
    CHECK_FALSE(is_marked("C[i,j] := k*A[i,k]*B[k,j]", signature));
    CHECK_FALSE(is_marked("s[i] := A[i,k]", signature));
    CHECK_FALSE(is_marked("C[i,j,l] := A[i,k]*B[k,j] where l in 0:3", signature));
}

TEST_CASE("other types than f32 and f64, and mixed ones, are not marked") {
    CHECK_FALSE(is_marked("C[i,j] := A[i,k]*B[k,j]",
                          {{"A", array({5, 7}, DType::i32)}, {"B", array({7, 6}, DType::i32)}}));
    CHECK_FALSE(is_marked("C[i,j] := A[i,k]*B[k,j]",
                          {{"A", array({5, 7}, DType::f32)}, {"B", array({7, 6}, DType::f64)}}));
}

TEST_CASE("indices of which neither lies side by side, and rows that meet, make no matrix") {
    // Depth as (k,l) here and (l,k) there.
    CHECK_FALSE(is_product("C[i,j] := A[k,i,l]*B[l,j,k]",
                           {{"A", array({4, 5, 3})}, {"B", array({3, 6, 4})}}));
    // Rows that overlap, and rows that begin one place later each.
    CHECK_FALSE(is_product("C[i,j] := A[i+k]*B[k,j]", {{"A", array({9})}, {"B", array({5, 6})}}));
    CHECK(is_product("C[i,j] := A[i,i+k]*B[k,j]", {{"A", array({5, 9})}, {"B", array({5, 6})}}));
}

TEST_CASE("small and thin products are marked as hardly worth a call") {
    const auto of = [](std::int64_t m, std::int64_t n, std::int64_t k) {
        return is_worthwhile("C[i,j] := A[i,k]*B[k,j]",
                             {{"A", array({m, k})}, {"B", array({k, n})}});
    };
    CHECK(of(2048, 1024, 1024));
    CHECK(of(262'144, 16, 512));
    CHECK_FALSE(of(1024, 1024, 1024));
    CHECK_FALSE(of(4096, 1, 4096));
    CHECK_FALSE(of(4, 4096, 4096));
    CHECK_FALSE(of(4096, 4096, 2));
}
