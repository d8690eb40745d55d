// tests/hostile/extents_test.cpp – programs bound to shapes that are empty, or larger than memory
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/source.h"
#include "base/target.h"
#include "base/text.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "dsl/einsum.h"
#include "grad/gradient.h"
#include "tests/hostile/support.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t power(int exponent) { return std::int64_t{1} << exponent; }

std::vector<std::string> output_names(const Program& program) {
    std::vector<std::string> names;
    for (TensorId id : program.outputs) names.push_back(program.at(id).name);
    return names;
}

/// Arguments of the program: arrays with extents taken in turn, numbers of that value.
Signature signature_for(const Program& program, const std::vector<std::int64_t>& extents,
                        const Number& value, std::size_t first = 0) {
    Signature signature;
    std::size_t next = first;
    for (TensorId id : program.arguments) {
        const Tensor& tensor = program.at(id);
        ArgumentSpec spec;
        spec.dtype = tensor.name == "J" || tensor.name == "tok" ? DType::i64 : DType::f32;
        if (tensor.role == Role::scalar) {
            spec.value = value;
            spec.is_weak = true;
            spec.dtype = std::holds_alternative<double>(value) ? DType::f64 : DType::i64;
        }
        const int rank = std::max(tensor.rank, static_cast<int>(tensor.shape.size()));
        for (int d = 0; d < rank; ++d) spec.shape.push_back(extents[next++ % extents.size()]);
        signature.emplace(tensor.name, spec);
    }
    return signature;
}

/// Binds, and makes the plan of what would run.
void bind_and_plan(const Program& program, const Signature& signature) {
    const BoundProgram bound = ricci::bind(program, signature, output_names(program));
    (void)str(bound);
    (void)codegen::plan(bound, Target{});
}

std::string said(const std::string& text, const std::vector<std::int64_t>& extents,
                 const Number& value = std::int64_t{1}) {
    return survives(text, [&] {
        const Program program = canonicalise(parse_program(text));
        bind_and_plan(program, signature_for(program, extents, value));
    });
}

}  // namespace

TEST_CASE("every valid program with extents of every size") {
    const std::vector<std::vector<std::int64_t>> all = {
        {0},         {1},         {2},         {0, 1},          {3, 0, 2},      {5, 4, 3, 2},
        {power(16)}, {power(31)}, {power(32)}, {power(31) - 1}, {power(47)},    {power(48)},
        {power(61)}, {power(62)}, {largest},   {largest, 1},    {1, largest},   {largest, 0},
        {-1},        {2, -5},     {-largest},  {power(24)},     {power(48), 1}, {1, power(48), 1}};
    for (const std::string& text : valid_programs()) {
        const Program program = canonicalise(parse_program(text));
        for (const auto& extents : all) {
            const std::string what = format("{} for {}", text, str(extents));
            survives(what, [&] {
                bind_and_plan(program, signature_for(program, extents, std::int64_t{2}));
            });
        }
    }
}

TEST_CASE("every valid program with numbers of every size") {
    const std::vector<Number> all = {std::int64_t{0},
                                     std::int64_t{-1},
                                     largest,
                                     -largest - 1,
                                     power(61),
                                     0.5,
                                     1e300,
                                     std::nan(""),
                                     -0.0,
                                     true,
                                     std::complex<double>(1, 2)};
    for (const std::string& text : valid_programs()) {
        const Program program = canonicalise(parse_program(text));
        for (const Number& value : all)
            survives(format("{} with {}", text, str(program)),
                     [&] { bind_and_plan(program, signature_for(program, {4, 5, 3}, value)); });
    }
}

TEST_CASE("every gradient of a valid program with extents of every size") {
    for (const std::string& text : valid_programs()) {
        const Program program = canonicalise(parse_program(text));
        for (TensorId id : program.arguments)
            survives(format("the gradient of {} for {}", text, program.at(id).name), [&] {
                const Program gradient = grad::gradient(program, program.at(id).name);
                for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{3}, power(40)}) {
                    try {
                        bind_and_plan(gradient, signature_for(gradient, {extent}, std::int64_t{1}));
                    } catch (const Error& error) {
                        if (error.kind() == ErrorKind::internal) throw;
                    }
                }
            });
    }
}

TEST_CASE("ranges that no machine goes through are refused") {
    CHECK(said("s := sum[i in 0:9223372036854775807](i)", {1}) ==
          "limit: the range of `i` is 0:9223372036854775807, beyond 2305843009213693952 (2^61)");
    CHECK(said("s := sum[i in -9223372036854775807:9223372036854775807](i)", {1})
              .starts_with("limit: the range of `i`"));
    CHECK(said("s := sum[i in 0:2305843009213693952](i)", {1}) ==
          "limit: the statement goes through more than 72057594037927936 (2^56) points: `i` in "
          "0:2305843009213693952");
    CHECK(said("s := sum[i in 0:4294967296, j in 0:4294967296](i*j)", {1})
              .starts_with("limit: the statement goes through more than 72057594037927936"));
    CHECK(said("s := i*j where i in 0:1099511627776, j in 0:1099511627776", {1})
              .starts_with("limit: the statement goes through more than 72057594037927936"));
    CHECK(said("s := sum[i in 0:n](i)", {1}, largest).starts_with("limit: the range of `i`"));
    CHECK(said("Y[i] := 1 where i in 0:n", {1}, power(49))
              .starts_with("limit: an array of shape [562949953421312] has more than"));
    CHECK(said("Y[i] := sum[j in 0:n](A[j] + i) where i in 0:n", {5}, largest) != "");
    CHECK(said("Y[i] := A[i + 9223372036854775807]", {5}) != "");
    CHECK(said("Y[i] := A[9223372036854775807*i + 9223372036854775807]", {5}) != "");
    CHECK(said("Y[i] := A[i*n*n*n]", {5}, power(61)) != "");
    CHECK(said("Y[i] := A[i//9223372036854775807] where i in 0:3", {5}) == "");
    CHECK(said("Y[i] := A[pad(i, 9223372036854775807)] where i in 0:3", {5}) != "internal");
    CHECK(said("Y[i] := A[pad(i, n, n)]", {5}, largest) != "");
    CHECK(said("Y[i] := A[wrap(9223372036854775807*i)] where i in 0:3", {5}) != "internal");
}

TEST_CASE("arithmetic of shapes that leaves 64 bits says so") {
    CHECK(said("Y[i,j] := A[i]*B[j]", {power(47)})
              .starts_with("limit: an array of shape [140737488355328, 140737488355328] has more"));
    CHECK(said("s := sum[i in 0:4*size(A,0)](i)", {power(47)}) == "");
    CHECK(said("s := sum[i in 0:size(A,0)*size(A,0)](i)", {power(47)}) ==
          "limit: `size(A,0)*size(A,0)` does not fit into 64 bits");
    CHECK(said("s := sum[i in 0:n*n](i)", {1}, power(40)) ==
          "limit: `n*n` does not fit into 64 bits");
    CHECK(said("s := sum[i in 0:n//0](i)", {1}, power(40)) != "");
    CHECK(said("s := sum[i in (0-n-1)//2:0](i)", {1}, largest) != "");
    CHECK(said("s := sum[i in (0-n-1)%3:n](i)", {1}, largest) != "");
}

TEST_CASE("conditions are looked at for a moment only") {
    std::string text;
    for (int n = 0; n < 200; ++n)
        text += format("s{0} := mean[i in 0:100000000 | i*i % 10007 == {1}](i)\n", n, 10'008 + n);
    said(text, {1});
    said("Y[i] := mean[j in 0:1000000, k in 0:1000000 | i + j + k < 0](1) where i in 0:1000000",
         {1});
}

TEST_CASE("numpy's notation with anything in it") {
    const auto einsum_of = [](const std::string& text, const std::vector<Shape>& shapes) {
        return survives(text.substr(0, 60), [&] {
            const std::vector<DType> dtypes(shapes.size(), DType::f32);
            understand(translate_einsum(make_source(text), shapes, dtypes).program);
        });
    };
    const std::vector<Shape> two = {{2, 3}, {3, 4}};
    for (const char* text : {"",
                             ",",
                             "->",
                             "ij,jk->",
                             "ij,jk",
                             "ij,jk->ij,k",
                             "i j , j k -> i k",
                             "ij,jk->ii",
                             "...,...",
                             "...ij,jk...->...",
                             ".ij,jk",
                             "....,ij",
                             "ij,jk->ikz",
                             "i\xff,jk",
                             "ij;jk",
                             "1j,jk",
                             "ij,jk->ik->",
                             ">-",
                             "-",
                             "ij,jk,kl->il",
                             "ijk,jk",
                             "\n",
                             "ij,jk->ik\n",
                             "IJ,Jk"}) {
        CAPTURE(text);
        CHECK(einsum_of(text, two) != "internal");
        CHECK(einsum_of(text, {}) != "");
        CHECK(einsum_of(text, {{0, 0}, {0, 0}}) != "internal");
        CHECK(einsum_of(text, {{largest, largest}, {largest, largest}}) != "internal");
    }
    for (const char* text : {"i", ",", ".", "ij,", "->", "-", " "})
        CHECK(einsum_of(repeated(text, 300'000), two) != "");
    CHECK(einsum_of(repeated("i,", 1000) + "i", std::vector<Shape>(1001, Shape{2})) != "internal");
    CHECK(einsum_of("abcdefghijklmnopqrstuvwxyz", {Shape(26, 1)}) != "");
    CHECK(einsum_of("abcdefghijklmnop", {Shape(16, 1)}) == "");
}

}  // namespace ricci::tests
