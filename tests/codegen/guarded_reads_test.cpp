// tests/codegen/guarded_reads_test.cpp – padded arrays that are read in masked lanes
#include "codegen/guarded_reads.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// The names of the kernels of a plan for wide vectors; values are checked on every machine.
std::string kernels(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    for (const int vector_bytes : {16, 32, 64})
        CHECK(interpreted_difference(program, signature, example_target(vector_bytes), 1) == "");
    CHECK(compiled_difference(program, signature) == "");
    std::string names;
    for (const Schedule& schedule : codegen::plan(program, example_target(64)).schedules)
        names += (names.empty() ? "" : " ") + schedule.kernel;
    return names;
}

Value at_least_zero(const AffineForm& form) {
    return make_operation(Op::ge, {make_index(form), make_integer(0)}, DType::boolean);
}

}  // namespace

TEST_CASE("the place of a read is affine where its conditions hold") {
    Nest nest;
    const VarId i = nest.add(Var{"i"});
    const BufferId x = nest.add(Buffer{.name = "x", .elements = 10});
    const AffineForm at = form(i) - form(1);
    const auto read = [&](const Value& condition, Op op, std::vector<Value> place) {
        const Value load =
            make_load(nest, x, {form(5), make_operation(op, std::move(place), DType::i64)});
        return guarded_read(
            make_operation(Op::select, {condition, load, make_number(DType::f32, 2)}, DType::f32));
    };
    const Value index = make_index(at);
    const auto found = read(at_least_zero(at), Op::max, {index, make_integer(0)});
    REQUIRE(found);
    CHECK(found->at == form(i) + form(4));
    // A condition may say more than is needed, and not less.
    CHECK(read(at_least_zero(at - form(1)), Op::max, {index, make_integer(0)}));
    CHECK_FALSE(read(at_least_zero(at + form(1)), Op::max, {index, make_integer(0)}));
    // Both ends of `clamp` have to be known, and the end of `min` is another.
    CHECK_FALSE(read(at_least_zero(at), Op::clamp, {index, make_integer(0), make_integer(9)}));
    CHECK_FALSE(read(at_least_zero(at), Op::min, {index, make_integer(0)}));
    CHECK_FALSE(read(at_least_zero(at), Op::mod, {index, make_integer(9)}));
}

TEST_CASE("a temporary that padded windows read time and again is stored, or computed there") {
    const Signature signature = {{"X", array({2, 16, 41, 43})}, {"W", array({16, 3, 3})}};
    const std::string layer = "Y[n,c,y,x] := R[n,c,pad(y+u-1,1),pad(x+v-1,1)]*W[c,u,v]";
    CHECK(kernels("R[n,c,y,x] := relu(X[n,c,y,x]); " + layer, signature) == "k0_R k1_Y");
    // Twice or so; a copy, whose elements are read where they come from.
    CHECK(kernels("R[n,c,y,x] := relu(X[n,c,y,x]); Y[n,c,y,x] := "
                  "max[u in 0:3,v in 0:3](R[n,c,pad(2*y+u-1,1),pad(2*x+v-1,1)]) "
                  "where y in 0:21, x in 0:22",
                  {{"X", array({8, 64, 41, 43})}})
              .find("_R") == std::string::npos);
    CHECK(kernels("R[n,c,y,x] := X[n,c,x,y]; " + layer,
                  {{"X", array({2, 16, 43, 41})}, {"W", array({16, 3, 3})}})
              .find("_R") == std::string::npos);
}

TEST_CASE("reads that are chosen together are guarded each, and keep what they are known by") {
    const std::string text =
        "Y[n,t] := T[n,t] == 2 ? D[n,t] : t > 0 && T[n,clamp(t-1)] == 1 ? D[n,clamp(t-1)] : 0";
    const Signature signature = {{"T", array({40, 70}, DType::i8)}, {"D", array({40, 70})}};
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    CAPTURE(plan);
    // No name stands between the condition and the place that it makes affine.
    CHECK(plan.find("select((t0 + l) > 0, T[") != std::string::npos);
    check_values(text, signature);
    for (const char* each :
         {"Y[n,t] := t > 0 && t < 69 ? D[n,clamp(t-1)]*D[n,clamp(t+1)] - D[n,t] : D[n,t]",
          "Y[n,t] := t > 2 ? (D[n,clamp(t-3)] > 0 ? D[n,clamp(t-3)] : D[n,clamp(t-2)]) : D[n,t]",
          "y[n] := sum[t](t > 0 ? D[n,t]*D[n,clamp(t-1)] : 0)",
          "Y[n,t] := t > 0 ? (n > 0 ? D[clamp(n-1),clamp(t-1)]*T[clamp(n-1),t] : 1) : D[n,t]"})
        check_values(each, named(each, signature));
}

TEST_CASE("nested choices by data are looked at once, whatever they share") {
    std::string term = "D[n,clamp(t-1)]*D[n,clamp(t+1)] - D[n,t]";
    for (int level = 0; level < 7; ++level) term = "sq(" + term + ")";
    const std::string text =
        "def sq(x) = x > 0 ? x*x : -x\nY[n,t] := t > 0 && t < 69 ? " + term + " : D[n,t]";
    const Signature signature = {{"D", array({40, 70})}};
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    CHECK(plan.size() < 20'000);
}

TEST_CASE("padded windows are neither copied nor cut along the lanes") {
    const ArgumentSpec X = array({3, 20, 37, 41});
    for (const int stride : {1, 2}) {
        const std::string at = format("pad({}*y+u-1,1,1),pad({}*x+v-1,1,1)", stride, stride);
        const std::string range =
            format(" where y in 0:{}, x in 0:{}", 36 / stride + 1, 40 / stride + 1);
        for (const std::string& names :
             {kernels(format("Y[n,c,y,x] := X[n,c,{}]*W[c,u,v]{}", at, range),
                      {{"X", X}, {"W", array({20, 3, 3})}}),
              kernels(format("Y[n,c,y,x] := max[u in 0:3, v in 0:3](X[n,c,{}]){}", at, range),
                      {{"X", X}})}) {
            CAPTURE(names);
            CHECK(names.find("shared") == std::string::npos);
            for (const char* corner :
                 {"before_before", "before_behind", "behind_before", "behind_behind"})
                CHECK(names.find(corner) == std::string::npos);
        }
    }
}

TEST_CASE("the gradient of a kernel reads a padded array in masked lanes") {
    const Signature signature{{"X", array({3, 20, 18, 43})}, {"dY", array({3, 20, 9, 22})}};
    const std::string names = kernels(
        "dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,pad(2*y+u-1,1,1),pad(2*x+v-1,1,1)]) "
        "where u in 0:3, v in 0:3",
        signature);
    CHECK(names.find("before") == std::string::npos);
    CHECK(names.find("shared") == std::string::npos);
}

}  // namespace ricci::tests
