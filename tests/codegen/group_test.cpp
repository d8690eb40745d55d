// tests/codegen/group_test.cpp – what becomes one kernel
#include "codegen/group.h"

#include <doctest/doctest.h>

#include "dsl/canonical.h"

using namespace ricci;

namespace {

ArgumentSpec array(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}

/// The writes of each group, as `A B | C`.
std::string groups(const std::string& text, const Signature& signature,
                   const std::vector<std::string>& outputs = {}) {
    const Program canonical = canonicalise(parse_program(text));
    Signature needed;
    for (const TensorId id : canonical.arguments)
        needed.insert(*signature.find(canonical.at(id).name));
    const BoundProgram program = ricci::bind(canonical, needed, outputs);
    std::string result;
    for (const codegen::Group& group : codegen::group(program)) {
        if (!result.empty()) result += " | ";
        for (std::size_t i = 0; i < group.writes.size(); ++i)
            result += (i > 0 ? " " : "") + program.at(group.writes[i].target).name;
    }
    return result;
}

const Signature matrices = {
    {"A", array({8, 9})}, {"B", array({9, 7})}, {"b", array({7})}, {"x", array({8})}};

}  // namespace

TEST_CASE("a pointwise reader over the same points is the epilogue of a reduction") {
    CHECK(groups("Y[i,j] := A[i,k]*B[k,j] + b[j]", matrices) == "Y");
    CHECK(groups("Z[i,j] := A[i,k]*B[k,j]; Y[i,j] := relu(Z[i,j] + b[j])", matrices, {"Z", "Y"}) ==
          "Z Y");
}

TEST_CASE("a reader over other points is a kernel of its own") {
    CHECK(groups("S[i,j] := A[i,j] / sum[k](A[i,k])", matrices) == "t1 | S");
}

TEST_CASE("a cheap pointwise term is written out in its readers") {
    CHECK(groups("C[i,k] := 2*A[i,k]; Y[i,j] := C[i,k]*B[k,j]", matrices) == "Y");
    CHECK(groups("C[i,k] := exp(A[i,k]); Y[i,j] := C[i,k]*B[k,j]; Z[i] := C[i,k]", matrices,
                 {"Y", "Z"}) == "C | Y | Z");
}

TEST_CASE("a layer stores its activation, the next layer does not evaluate it again and again") {
    CHECK(groups("Z[i,j] := A[i,k]*B[k,j]; H[i,j] := relu(Z[i,j] + b[j]); Y[i,k] := H[i,j]*B[k,j]",
                 matrices, {"Y"}) == "H | Y");
    CHECK(groups("Z[i,j] := A[i,k]*B[k,j]; H[i,j] := relu(Z[i,j] + b[j]); y[i] := H[i,j]", matrices,
                 {"y"}) == "Z | y");
}

TEST_CASE("what one side of a choice between few places reads is evaluated once, there") {
    const Signature stacked = {{"x", array({8})}, {"y", array({8})}};
    const std::string both = "a[i] := exp(x[i]); b[i] := exp(y[i]); ";
    CHECK(groups(both + "Z[i,p] := p == 0 ? a[i] : b[i] where p in 0:2", stacked) == "Z");
    CHECK(groups(both + "Z[i,p] := 1 == p ? b[i] : p == 2 ? a[i] : 0 where p in 0:3", stacked) ==
          "Z");
    // At two places of three, at data's places, and along an axis that is not written out.
    CHECK(groups(both + "Z[i,p] := p == 0 ? a[i] : b[i] where p in 0:3", stacked) == "b | Z");
    CHECK(groups(both + "Z[i,p] := x[i] == 0 ? a[i] : b[i] where p in 0:2", stacked) ==
          "a | b | Z");
    CHECK(groups(both + "Z[i,p] := p == 0 ? a[i] : b[i] where p in 0:17", stacked) == "a | b | Z");
    // Copies with borders are computed along long axes, too.
    const std::string folded =
        "b[i] := y[i+1] + (i == 0 ? y[0] : 0) where i in 0:60; "
        "z[i] := b[i+1] + (i == 0 ? b[0] : 0) where i in 0:59";
    CHECK(groups(folded, {{"y", array({61})}}, {"z"}) == "z");
    CHECK(groups("b[i] := exp(y[i+1]) + (i == 0 ? y[0] : 0) where i in 0:60; "
                 "z[i] := b[i+1] + (i == 0 ? b[0] : 0) where i in 0:59",
                 {{"y", array({61})}}, {"z"}) == "b | z");
}

TEST_CASE("an output is stored even where it is cheap") {
    CHECK(groups("C[i,k] := 2*A[i,k]; Y[i,j] := C[i,k]*B[k,j]", matrices, {"C", "Y"}) == "C | Y");
}

TEST_CASE("no read moves across an update of what it reads") {
    CHECK(groups("y[i] := 2*x[size(x,0)-1-i]; x[i] = 0*x[i]; z[i] := y[i] + x[i]", matrices,
                 {"x", "z"}) == "y | x z");
    // At the same place values are read before any is stored.
    CHECK(groups("y[i] := 2*x[i]; x[i] = 0*x[i]; z[i] := y[i] + x[i]", matrices, {"x", "z"}) ==
          "x z");
}

TEST_CASE("updates that read an array at the same points are one pass") {
    Signature moments = matrices;
    for (const char* name : {"u", "v"}) moments[name] = array({8});
    CHECK(groups("u[i] = u[i] + x[i]; v[i] = v[i] + x[i]^2; x[i] = u[i]/(v[i] + 1)", moments,
                 {"u", "v", "x"}) == "u v x");
    CHECK(groups("u[i] := exp(x[i]); v[j] := exp(x[j]) + 1", matrices, {"u", "v"}) == "u v");
    CHECK(groups("u[i,j] := exp(A[i,j]); v[j,i] := exp(A[i,j]) + 1", matrices, {"u", "v"}) ==
          "u | v");
    CHECK(groups("u[i] := exp(x[i]); v[i] := exp(x[i+1]) where i in 0:7", matrices, {"u", "v"}) ==
          "u | v");
}

TEST_CASE("an update does not move across the definition of what it updates") {
    CHECK(groups("s := x[i]; u[i] := 3*x[i]; u[0] += 2*s", matrices, {"u"}) == "u | u");
    CHECK(groups("s := x[i]; u[i] := 3*x[i]; u[0] += 2*s; u[1] -= s", matrices, {"u"}) ==
          "u | s u | u");
}

TEST_CASE("statements over the same points that read each other are one pass") {
    CHECK(groups("u[i] := exp(x[i]); v[i] := u[i]*u[i]; w[i] := v[i] + u[i]", matrices,
                 {"u", "v", "w"}) == "u v w");
}
