// tests/dsl/bind_test.cpp – shapes, types and proofs of bound programs
#include <doctest/doctest.h>

#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "tests/support/error_text.h"

using ricci::ArgumentSpec;
using ricci::BoundProgram;
using ricci::DType;
using ricci::Number;
using ricci::Shape;
using ricci::Signature;
using ricci::tests::error_text;

namespace {

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

ArgumentSpec number(std::int64_t value) {
    return {
        .dtype = DType::i64, .shape = {}, .strides = {}, .is_weak = true, .value = Number(value)};
}

BoundProgram bound(const std::string& text, const Signature& signature) {
    return ricci::bind(canonicalise(ricci::parse_program(text)), signature);
}

std::string error_of(const std::string& text, const Signature& signature) {
    return error_text([&] { (void)bound(text, signature); });
}

const ricci::BoundTensor& result(const BoundProgram& program) {
    return program.at(program.outputs.front());
}

}  // namespace

TEST_CASE("two extents of one index are an error that shows both") {
    CHECK(error_of("C[i,j] := A[i,k] * B[k,j]", {{"A", array({8, 32})}, {"B", array({64, 16})}}) ==
          R"(shape: index `k` has two extents, 32 and 64
  | C[i,j] := A[i,k] * B[k,j]
  |               ^      ~
  |               |      64 here: dimension 0 of B [64, 16]
  |               32 here: dimension 1 of A [8, 32]
  = hint: slice one operand, or give the two dimensions different index names)");
}

TEST_CASE("a wider array that is also read shifted gets a where-range as hint") {
    CHECK(
        error_of("G[n,h] := P[n,h]*C[n,h] + P[n,h+4]", {{"P", array({3, 8})}, {"C", array({3, 4})}})
            .ends_with("= hint: where h in 0:size(C,1)"));
}

TEST_CASE("an inferred length of 0 is legal, a negative one is an error") {
    CHECK(result(bound("C[o] := A[o+k]*F[k]", {{"A", array({3})}, {"F", array({4})}})).shape ==
          Shape{0});
    CHECK(error_of("C[o] := A[o+k]*F[k]", {{"A", array({3})}, {"F", array({5})}}) ==
          R"(range: the range of `o` has the length -1
  | C[o] := A[o+k]*F[k]
  |   ^
  = hint: the arrays are too small for these subscripts)");
}

TEST_CASE("an access that can leave its array is an error with the values it takes") {
    CHECK(error_of("Y[i] := X[i+2] where i in 0:4", {{"X", array({5})}}) ==
          R"(range: `X` can leave its array: i+2 runs over 2..5 in dimension 0 of extent 5
  | Y[i] := X[i+2] where i in 0:4
  |           ^^^
  = hint: give a smaller range: `where i in …`)");
}

TEST_CASE("a subscript that leaves 64 bits on the way is refused") {
    const auto refused = [](const std::string& text, Shape shape) {
        return error_of(text, {{"A", array(std::move(shape))}}).find("within 64 bits") !=
               std::string::npos;
    };
    CHECK(refused("y[i] := A[(i*9223372036854775807)%3] where i in 0:3", {3}));
    CHECK(refused("y[i] := A[(i+9223372036854775807)//1000000] where i in 0:5", {3}));
    CHECK(error_of("y[i] := A[(i+9000000000000000000)//100000000000000] where i in 0:5",
                   {{"A", array({50000})}})
              .starts_with("range: `A` can leave its array"));
    CHECK_NOTHROW(
        bound("y[i] := A[i//4611686018427387904//2] where i in 0:5", {{"A", array({3})}}));
}

TEST_CASE("a product of indices is no subscript") {
    CHECK(error_of("y[i] := A[i*i] where i in 0:1", {{"A", array({3})}}) ==
          R"(range: the subscript `i*i` is not affine within 64 bits
  | y[i] := A[i*i] where i in 0:1
  |           ^^^
  = hint: use sums of integer multiples of indices, and `//`, `%` by positive numbers)");
}

TEST_CASE("the condition of a reducer takes part in the proof") {
    CHECK_NOTHROW(bound("y[i] := sum[k in 0:10 | k + i < size(x, 0)](x[i+k]) where i in 0:10",
                        {{"x", array({10})}}));
}

TEST_CASE("scalars in conditions take part in proofs, also in what is computed of them") {
    const Signature signature = {{"A", array({3, 4})}, {"B", array({5})}, {"c", number(2)}};
    const auto extent = [&](const std::string& condition, const std::string& body) {
        return result(
                   bound("Y[t] := sum[i | " + condition + "](" + body + ") where t in 0:size(B,0)",
                         signature))
            .shape.at(0);
    };
    const std::string inside = "t - c >= max(0, -c) && t - c < min(size(A,0), 9 - c) && i < 3";
    CHECK(extent(inside, "A[t-$c,i]") == 5);
    // What is nested becomes an array of its own, where the condition has to hold, too.
    CHECK(extent(inside, "A[t-$c,i] * sum[k](A[t-$c,k]^2)") == 5);
}

TEST_CASE("of scalars that are not known the rest of a condition keeps accesses inside") {
    const Signature signature = {
        {"A", array({3, 4})}, {"B", array({7})}, {"c", array({}, DType::i64)}};
    const auto bind_sum = [&](const std::string& condition) {
        return bound("Y[t] := sum[i | " + condition + "](A[i,t-3]) where t in 0:size(B,0)",
                     signature);
    };
    CHECK(result(bind_sum("t-3 >= max(max(0, -c), -3) && t-3 < min(size(A,1), 9 - c)")).shape ==
          Shape{7});
    CHECK(error_text([&] {
              (void)bind_sum("t-3 >= min(0, -c) && t-3 < size(A,1)");
          }).starts_with("range: `A` can leave its array"));
}

TEST_CASE("a scalar in a subscript is a number when the program is bound") {
    const Signature good{
        {"s", number(2)}, {"x", array({5})}, {"w", array({3})}, {"O", array({11})}};
    CHECK_NOTHROW(bound("O[$s*i + k] += x[i]*w[k]", good));
    Signature small = good;
    small["O"] = array({10});
    CHECK(
        error_of("O[$s*i + k] += x[i]*w[k]", small).starts_with("range: `O` can leave its array"));
}

TEST_CASE("an equal sign needs a target that names no element twice") {
    CHECK(error_of("y[i//2] = x[i]", {{"y", array({4})}, {"x", array({8})}})
              .starts_with("range: `=` gives an element of `y` several values"));
    CHECK_NOTHROW(
        bound("y[2*i+j] = x[i,j] where j in 0:2", {{"y", array({8})}, {"x", array({4, 2})}}));
}

TEST_CASE("literals, index values and sizes adopt the type they meet") {
    CHECK(result(bound("y[i] := 0.5*x[i] + i/size(x, 0)", {{"x", array({4})}})).dtype ==
          DType::f32);
    CHECK(result(bound("y[i] := i/2 where i in 0:3", {})).dtype == DType::f64);
    CHECK(result(bound("y[i] := i*i where i in 0:3", {})).dtype == DType::i64);
}

TEST_CASE("f32 and f64 arrays promote to f64") {
    CHECK(result(bound("y[i] := a[i]*b[i]", {{"a", array({4})}, {"b", array({4}, DType::f64)}}))
              .dtype == DType::f64);
}

TEST_CASE("comparisons are bool and count as 0 and 1 in sums") {
    CHECK(result(bound("y[i] := x[i] > 0", {{"x", array({4})}})).dtype == DType::boolean);
    CHECK(result(bound("y := sum[i](x[i] > 0)", {{"x", array({4})}})).dtype == DType::i64);
}

TEST_CASE("a missing, an unknown and a misplaced argument are named") {
    const Signature both{{"x", array({4})}, {"c", number(1)}};
    CHECK(error_of("y[i] := x[i]*c", {{"x", array({4})}}) ==
          R"(name: the argument `c` is missing
  | y[i] := x[i]*c
  |              ^
  = hint: give a number for `c`)");
    Signature extra = both;
    extra["d"] = number(1);
    CHECK(error_of("y[i] := x[i]*c", extra).starts_with("name: the program has no argument `d`"));
    Signature index = both;
    index["i"] = number(1);
    CHECK(error_of("y[i] := x[i]*c", index).find("write `$i` where the number is meant") !=
          std::string::npos);
}

TEST_CASE("shapes that do not fit into 2^48 elements are rejected") {
    CHECK(error_of("C[i,j] := a[i]*b[j]",
                   {{"a", array({std::int64_t{1} << 30})}, {"b", array({std::int64_t{1} << 30})}})
              .starts_with("limit:"));
}

TEST_CASE("data is looked at once, not for every index that its place does not name") {
    const auto points = [](const std::string& text) {
        Signature signature = {{"J", array({9}, DType::i32)}, {"x", array({20})}};
        if (text.find("c[") != std::string::npos) signature.emplace("c", array({9}));
        const std::string program = str(bound(text, signature));
        const std::size_t first = program.find("min[") + 4;
        return program.substr(first, program.find("](min(", first) - first);
    };
    CHECK(points("y[t] := sum[s | s <= t](x[J[s]]) where t in 0:9") == "s.1 in 0:9");
    CHECK(points("y[t] := sum[s | s <= t](x[J[s]]) where t in 0:7, s in 0:9") ==
          "s.1 in 0:9 | 6-1*s.1 >= 0");
    CHECK(points("y[t,b] := sum[s | s <= t](x[s]*x[J[b]]) where t in 0:9, s in 0:20") ==
          "b.1 in 0:9");
    CHECK(points("y[t] := sum[s | s <= t && s > t-3 && c[s] > 0](x[J[s]]) where t in 0:9") ==
          "s.1 in 0:9 | c.0[s.1] > 0.0");
    // Multiples may miss, and data may be anything.
    CHECK(points("y[t] := sum[s | 2*t == s](x[J[s]]) where t in 0:4") ==
          "t.0 in 0:4, s.1 in 0:9 | 2*t.0 == s.1");
    CHECK(points("y[t] := sum[s | s <= t && c[t] > 0](x[J[s]]) where t in 0:9") ==
          "t.0 in 0:9, s.1 in 0:9 | s.1 <= t.0 && c.0[t.0] > 0.0");
}

TEST_CASE("a subscript that a condition compares with its bounds needs no look at data") {
    const auto checks = [](const std::string& condition, const std::string& subscript) {
        const Signature signature = {{"J", array({9}, DType::i64)}, {"x", array({20})}};
        return bound(
                   "y[t] := sum[n | " + condition + "](x[" + subscript + "]*J[n]) where t in 0:50",
                   signature)
            .checks.size();
    };
    CHECK(checks("t-J[n] >= 0 && t-J[n] < 20", "t-J[n]") == 0);
    CHECK(checks("J[n]-t > -3 && 18 > J[n]-t", "J[n]-t+2") == 0);
    CHECK(checks("t-J[n] == 3", "t-J[n]+16") == 0);
    CHECK(checks("n > 2 && 0 <= t-J[n] && t-J[n] <= 9", "t-J[n]+10") == 0);
    // One too few, one too many, another difference, or one that may leave 64 bits.
    CHECK(checks("t-J[n] >= -1 && t-J[n] < 20", "t-J[n]") == 1);
    CHECK(checks("t-J[n] >= 0 && t-J[n] <= 20", "t-J[n]") == 1);
    CHECK(checks("t-J[n] == 4", "t-J[n]+16") == 1);
    CHECK(checks("t-2*J[n] >= 0 && t-2*J[n] < 20", "t-J[n]") == 1);
    // Near to -2^63 the one bound holds for what has wrapped, the other for what has not.
    CHECK(checks("J[n]-5 >= -5 && J[n] < 20", "J[n]") == 1);
    CHECK(checks("t-J[n]-5 >= -5 && t-J[n] < 20", "t-J[n]") == 1);
    CHECK(checks("t >= J[n] && t < J[n]+20", "t-J[n]") == 1);
}

TEST_CASE("what is found to be inside everywhere is not looked at again") {
    const auto checks = [](const std::string& text) {
        const Signature signature = {{"J", array({9}, DType::i32)},
                                     {"X", array({20})},
                                     {"Z", array({30})},
                                     {"c", array({9})}};
        return bound(text, signature).checks.size();
    };
    CHECK(checks("y[i] := X[J[i]] + Z[J[i]] + c[i]") == 1);
    CHECK(checks("y[i] := X[J[i]] + (c[i] > 0 ? Z[J[i]] : 0)") == 1);
    CHECK(checks("y[i] := X[J[i]]*X[J[i]] + Z[0] + c[i]") == 1);
    // Over other indices of the same values, or of fewer; also where the whole check is met later.
    CHECK(checks("y[i] := X[J[i]] + c[i]; z[k] := Z[J[k]]") == 1);
    CHECK(checks("y[i] := X[J[i]] + c[i]; z[k+_] := X[J[k]]*Z[0] where k in 2:5") == 1);
    CHECK(checks("y[i] := sum[k in 0:9 | c[k] > 0](X[J[k]]*Z[0]) + X[J[i]]") == 1);
    CHECK(checks("y[i+_] := X[J[i]]*c[i] where i in 2:5; z[k] := X[J[k]]*Z[0]") == 1);
    CHECK(checks("y[i] := Z[J[i]] + X[J[i]] + c[i]") == 1);
    // The check of the smaller array is one of some points.
    CHECK(checks("y[i] := (c[i] > 0 ? X[J[i]] : 0) + Z[J[i]]") == 2);
    CHECK(checks("y[i] := X[J[i]] + Z[J[i]+1] + c[i]") == 2);
}
