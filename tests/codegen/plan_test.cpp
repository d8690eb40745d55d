// tests/codegen/plan_test.cpp – plans executed by the interpreter against the reference
#include "codegen/plan.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/keyed.h"
#include "dsl/canonical.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/error_text.h"
#include "tests/support/random_program.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

constexpr auto* check = check_values;

}  // namespace

TEST_CASE("a product of matrices is tiled, with edges in every direction") {
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({37, 21})}, {"B", array({21, 45})}});
    check("C[i,j] := A[i,k]*B[j,k]", {{"A", array({28, 16})}, {"B", array({64, 16})}});
    check("C[i,j] := A[k,i]*B[k,j]",
          {{"A", array({17, 5}, DType::f64)}, {"B", array({17, 70}, DType::f64)}});
}

TEST_CASE("what only a sum without a point reads is not computed") {
    const std::string dear = "a[i] := exp(z[i]) + z[i]*z[i]; ";
    const Signature signature = {{"z", array({4}, DType::f64)}};
    check(dear + "y[t] := sum[i | t == 2*i-9](a[i]) where t in 0:2", signature);
    check(dear + "b[i] := a[i]*exp(a[i]); y[t] := sum[i in 0:4 | t == i+9](b[i]^2) where t in 0:2",
          signature);
    const std::string text = "y[t] := sum[i | t == i+9](sum[k](z[k]*i)) where t in 0:2, i in 0:3";
    CHECK(codegen::plan(bound(text, signature), example_target(64)).steps.size() == 1);
    check(text, signature);
}

TEST_CASE("a choice that is added to the product of a negation compiles") {
    // LLVM 19 crashes where it may look into the choice.
    check(
        "Y[i,t] := f32(sum[m in 1:5 | t+2*m-3 >= 0 && t+2*m-3 < 6](-d[i]*C[(t+2*m-3)//2])) "
        "where t in 0:2",
        {{"d", array({1}, DType::f64)}, {"C", array({3}, DType::f64)}});
}

TEST_CASE("bias and activation are applied to the tile") {
    const Signature signature = {
        {"W", array({50, 30})}, {"X", array({20, 30})}, {"b", array({50})}};
    check("Y[n,o] := W[o,k]*X[n,k] + b[o]", signature);
    check("Z[n,o] := W[o,k]*X[n,k] + b[o]; Y[n,o] := relu(Z[n,o])", signature);
}

TEST_CASE("any body of two operands is a contraction") {
    const Signature signature = {{"w", array({30, 40})}, {"x", array({30, 35})}};
    check("D[i,j] := (w[k,i] - x[k,j])^2", signature);
    check("D[i,j] := max[k](w[k,i] + x[k,j])", signature);
    check("D[i,j] := sum[k](exp(w[k,i])*abs(x[k,j] - w[k,i]))", signature);
    check("D[k,i] := 2*(w[k,i] - x[k,j])*d[i,j]",
          {{"w", array({30, 40})}, {"x", array({30, 35})}, {"d", array({40, 35})}});
    check("D[i,j] := sum[k](a[i]*w[k,i]*2*x[k,j]*b[j]*c[i,j])", {{"w", array({30, 40})},
                                                                 {"x", array({30, 35})},
                                                                 {"a", array({40})},
                                                                 {"b", array({35})},
                                                                 {"c", array({40, 35})}});
}

TEST_CASE("batches, several rows and several reduced axes") {
    check("C[b,i,j] := A[b,i,k]*B[b,k,j]", {{"A", array({3, 20, 9})}, {"B", array({3, 9, 33})}});
    check("C[i,j,a] := A[i,k,l]*B[l,a,k,j]",
          {{"A", array({13, 5, 6})}, {"B", array({6, 18, 5, 7})}});
    check("C[a,b,c,d] := A[a,e,b]*B[d,c,e]", {{"A", array({6, 7, 5})}, {"B", array({18, 4, 7})}});
    check("C[i,j] := A[i,k]*v[k]*B[k,j]",
          {{"A", array({20, 10})}, {"v", array({10})}, {"B", array({10, 33})}});
}

TEST_CASE("tiles read shared elements where they stand") {
    const Signature forward = {{"X", array({2, 5, 13, 21})}, {"W", array({17, 5, 3, 3})}};
    for (const char* text :
         {"Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s]", "Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s]",
          "Y[n,o,y,x] := X[n,c,y+2*r,x+2*s]*W[o,c,r,s]"})
        check(text, forward);
    const Signature backward = {{"X", array({2, 18, 9, 21})}, {"dY", array({2, 20, 7, 19})}};
    check("dW[o,c,r,s] := sum[n,y,x](dY[n,o,y,x]*X[n,c,y+r,x+s])", backward);
    check(
        "dW[o,c,r,s] := sum[n,y,x | y+r >= 1 && y+r < 10 && x+s >= 1 && x+s < 22]("
        "dY[n,o,y,x]*X[n,c,y+r-1,x+s-1]) where r in 0:3, s in 0:3",
        backward);
}

TEST_CASE("lanes run along the axis that fills them, if sums are long") {
    check("C[i,j,l] := A[i,k]*B[k,j,l]", {{"A", array({20, 70})}, {"B", array({70, 5, 3})}});
    check("C[i,l] := A[i,k]*B[k,l]", {{"A", array({40, 200})}, {"B", array({200, 2})}});
    check("C[i,l] := A[i,k]*B[k,l]", {{"A", array({40, 3})}, {"B", array({3, 50})}});
    for (const char* text : {"C[i,2*j] = A[i,k]*B[k,j]", "C[i,3*j+1] = A[i,k]*B[k,j]",
                             "C[i,4*j] += A[i,k]*B[k,j]", "C[i,5*j] = A[i,k]*B[k,j]"})
        check(text, {{"C", array({20, 200})}, {"A", array({20, 30})}, {"B", array({30, 37})}});
}

TEST_CASE("lanes run along an axis without neighbours where other lanes would be empty") {
    const auto has_tile = [](const char* tile, const std::string& text,
                             const Signature& signature) {
        std::string schedules;
        for (const codegen::Schedule& each :
             codegen::plan(bound(text, signature), example_target(64)).schedules)
            schedules += str(each);
        return schedules.find(tile) != std::string::npos;
    };
    const Signature strided{{"X", array({2, 3, 67, 67})}, {"dY", array({2, 64, 15, 15})}};
    const std::string weights =
        "dW[o,c,r,s] := X[n,c,4*y+r,4*x+s]*dY[n,o,y,x] where r in 0:11, s in 0:11";
    CHECK(has_tile("tile o 2 16", weights, strided));
    CHECK(compiled_difference(bound(weights, strided), strided) == "");
    // Rows of 14 in vectors of 16; all rows in turn leave as much idle.
    const Signature padded{{"X", array({2, 32, 14, 14})}, {"W", array({64, 32, 3, 3})}};
    const std::string images = "Y[n,o,y,x] := X[n,c,pad(y+u-1,1),pad(x+v-1,1)]*W[o,c,u,v]";
    CHECK(has_tile("tile o 2 16", images, padded));
    CHECK(compiled_difference(bound(images, padded), padded) == "");
    // The lines of eight images at all channels and taps are in no cache when the next pixel reads
    // them again: rows are pixels, of a padded copy.
    const Signature many{{"W", array({64, 32, 3, 3})}, {"dY", array({64, 64, 26, 26})}};
    CHECK(has_tile("tile p 14 ",
                   "dX[n,c,t,p] := sum[o,u,v | t-u >= 0 && t-u < 26 && p-v >= 0 && p-v < 26]("
                   "W[o,c,u,v]*dY[n,o,t-u,p-v]) where t in 0:28, p in 0:28",
                   many));
}

TEST_CASE("columns are read where they stand if few tiles of rows share them") {
    const Signature signature{{"W", array({64, 200})}, {"X", array({2, 200, 9, 20})}};
    const std::string text = "Y[n,o,h,w] := X[n,c,h,w]*W[o,c]";
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    CHECK(plan.find("  direct columns ") != std::string::npos);
    CHECK(plan.find("  tile o 8 ") != std::string::npos);
    check(text, signature);
    // Lanes along the longer side, though what is written lies far apart.
    const Signature thin{{"A", array({150, 320})}, {"B", array({150, 8})}};
    const std::string product = "C[i,j] := A[k,i]*B[k,j]";
    const std::string thin_plan = str(codegen::plan(bound(product, thin), example_target(64)));
    CHECK(thin_plan.find("  direct columns ") != std::string::npos);
    CHECK(thin_plan.find("  tile j 8 ") != std::string::npos);
    check(product, thin);
}

TEST_CASE("columns that whole tiles leave over have tiles of their own") {
    const auto plan = [](std::int64_t columns) {
        return str(codegen::plan(bound("C[i,j] := A[i,k]*B[k,j]",
                                       {{"A", array({60, 100})}, {"B", array({100, columns})}}),
                                 example_target(64)));
    };
    CHECK(plan(96).find("_rest") == std::string::npos);
    CHECK(plan(100).find("C_rest") != std::string::npos);
    for (const std::int64_t columns : {97, 100})
        check("C[i,j] := A[i,k]*B[k,j] + s[j]",
              {{"A", array({60, 100})}, {"B", array({100, columns})}, {"s", array({columns})}});
}

TEST_CASE("rows of a tile stand beside each other, of a padded copy that many results share") {
    const auto plan = [](const std::string& text, const Shape& images) {
        const Signature given{{"X", array(images)}, {"W", array({512, images[1], 3, 3})}};
        return str(codegen::plan(bound(text, given), example_target(64)));
    };
    // Not the eight images, whose rows are apart.
    const std::string deep =
        plan("Y[n,o,y,x] := X[n,c,pad(y+u-1,1),pad(x+v-1,1)]*W[o,c,u,v]", {8, 1024, 7, 7});
    CHECK(deep.find("  tile n ") == std::string::npos);
    CHECK(deep.find("  direct rows ") != std::string::npos);
    const std::string strided = plan(
        "Y[n,o,y,x] := X[n,c,pad(2*y+u-1,1),pad(2*x+v-1,1)]*W[o,c,u,v] where y in 0:7, x in 0:7",
        {4, 512, 14, 14});
    CHECK(strided.find("shared") != std::string::npos);
    CHECK(strided.find("Y_before") == std::string::npos);
}

TEST_CASE("operands that any reduced axis has contiguous are packed by squares") {
    for (const std::string operand : {"B[j,c,f,e]", "B[j,f,c,e]", "B[j,e,c,f]"}) {
        CAPTURE(operand);
        const Signature signature{{"A", array({70, 21, 17})},
                                  {"B", array(operand == "B[j,c,f,e]"   ? Shape{48, 2, 17, 21}
                                              : operand == "B[j,f,c,e]" ? Shape{48, 17, 2, 21}
                                                                        : Shape{48, 21, 2, 17})}};
        const std::string text = "C[i,c,j] := A[i,e,f]*" + operand;
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
        CHECK(plan.find("step of a point; transposed") != std::string::npos);
        check(text, signature);
    }
}

TEST_CASE("squares are transposed in registers beside values that have names") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t side : {16, 35, 64}) {
            const Signature signature{{"A", array({side, side}, dtype)},
                                      {"B", array({side, side}, dtype)}};
            CHECK(compiled_difference(bound("C[i,j] := A[j,i]*B[i,j] + B[j,i]*A[j,i]", signature),
                                      signature) == "");
        }
}

TEST_CASE("columns are split along the axis that leaves the least of them idle") {
    // Neither 196 rows nor columns fill tiles: whole ones and the rest are kernels of their own.
    const Signature signature{{"dY", array({2, 64, 14, 14})}, {"W", array({64, 256})}};
    const std::string text = "dX[n,c,y,x] := sum[o](dY[n,o,y,x]*W[o,c])";
    const BoundProgram program = bound(text, signature);
    CHECK(str(codegen::plan(program, example_target(64))).find("_dX_rest(") != std::string::npos);
    CHECK(interpreted_difference(program, signature, example_target(64), 0) == "");
    CHECK(compiled_difference(program, signature) == "");
}

TEST_CASE("sums of rows that registers hold are cut, so that threads share them") {
    const Signature signature{{"A", array({16384, 256})}};
    const std::string plan =
        str(codegen::plan(bound("s[j] := A[i,j]", signature), example_target(64)));
    CHECK(plan.find("_s_partial(") != std::string::npos);
}

TEST_CASE("long sums go in chunks whose panels stay in the cache") {
    const std::string text = "C[i,j] := A[k,i]*B[k,j]";
    const auto is_cut = [&](std::int64_t points) {
        const Signature signature{{"A", array({points, 60})}, {"B", array({points, 100})}};
        const BoundProgram program = bound(text, signature);
        const codegen::Plan plan = codegen::plan(program, example_target(64));
        // Uneven chunks; as many points take long.
        if (points == 20011) CHECK(interpreted_difference(program, signature, plan, 0) == "");
        return str(plan).find("_C_partial(") != std::string::npos;
    };
    CHECK(!is_cut(1000));
    CHECK(is_cut(20000));
    CHECK(is_cut(20011));
}

TEST_CASE("sums of many rows and few columns are cut as well") {
    const Signature signature{{"A", array({25088, 576})}, {"B", array({25088, 64})}};
    const BoundProgram program = bound("C[i,j] := A[k,i]*B[k,j]", signature);
    CHECK(str(codegen::plan(program, example_target(64))).find("_C_partial(") != std::string::npos);
}

TEST_CASE("rows whose lines overflow sets of the first-level cache are packed, if read again") {
    const auto are_packed = [](std::int64_t rows, std::int64_t columns) {
        const Signature signature{{"A", array({64, rows})}, {"B", array({64, columns})}};
        const BoundProgram program = bound("C[i,j] := A[k,i]*B[k,j]", signature);
        return str(codegen::plan(program, example_target(64))).find("_C_rows(") !=
               std::string::npos;
    };
    CHECK(are_packed(512, 128));        // lines 2 KiB apart: two sets of 64
    CHECK_FALSE(are_packed(520, 128));  // 32 bytes more
    CHECK_FALSE(are_packed(512, 32));   // columns of one tile
}

TEST_CASE("columns far apart are asked for a tile ahead") {
    const std::string text = "Y[n,o,y,x] := X[n,c,y,x]*W[o,c]";
    const auto is_asked_for = [&](Signature signature) {
        const BoundProgram program = bound(text, signature);
        CHECK(compiled_difference(program, signature) == "");
        const codegen::Plan plan = codegen::plan(program, example_target(64));
        return str(plan.nests.back()).find("prefetch X[") != std::string::npos;
    };
    CHECK(is_asked_for({{"X", array({1, 70, 128, 128})}, {"W", array({3, 70})}}));
    CHECK(!is_asked_for({{"X", array({1, 70, 64, 64})}, {"W", array({3, 70})}}));
}

TEST_CASE("places of maxima are stored in the narrowest type that holds them") {
    const auto type_of_place = [](std::int64_t extent, const std::string& range) {
        const Signature signature = {{"A", array({5, extent})}, {"B", array({20})}};
        const std::string text = "M[i] := argmax[k" + range + "](A[i,k]); Y[i,j] := B[j]*M[i]";
        check(text, signature);
        const BoundProgram program = bound(text, signature);
        const codegen::Plan plan = codegen::plan(program, example_target(64));
        for (const codegen::PlanBuffer& buffer : plan.buffers)
            if (buffer.name == "M") return std::string(name(buffer.dtype));
        return std::string("none");
    };
    CHECK(type_of_place(100, "") == "i8");
    CHECK(type_of_place(129, "") == "i16");
    CHECK(type_of_place(200, " in 100:120") == "i8");
    CHECK(type_of_place(40000, "") == "i32");
    const BoundProgram program = bound("M[i] := argmax[k](A[i,k])", {{"A", array({5, 9})}});
    CHECK(codegen::plan(program, example_target(64)).buffers.back().dtype == DType::i64);
}

TEST_CASE("transposing passes go by squares") {
    check("B[i,j] := A[j,i]", {{"A", array({40, 37})}});
    check("B[i,j] := A[j,i]*c[i] + A[j,i]", {{"A", array({64, 32})}, {"c", array({32})}});
    check("B[i,j,k] := A[k,j,i]", {{"A", array({20, 3, 33})}});
    for (const std::int64_t n : {4, 8, 12, 24, 31, 72, 81})
        check("B[k,j,i] := A[i,j,k]", {{"A", array({24, 2, n})}});
    // Longer strips where rows of the result are near to each other.
    for (const std::int64_t n : {64, 65, 100, 128, 143})
        check("B[j,i] := A[i,j]", {{"A", array({9, n})}});
}

TEST_CASE("conditions become loop bounds, with a core in lanes and borders") {
    const Signature line = {{"dO", array({100})}, {"F", array({7})}};
    check("dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:106", line);
    check("dA[t] := sum[k | t-2*k >= 0 && t-2*k < size(dO,0)](dO[t-2*k]*F[k]) where t in 0:112",
          line);
    check("S[i] := sum[k | k <= i](A[i,k])", {{"A", array({40, 40})}});
    check("S[i,j] := sum[k | k <= i && k != 3](A[i,k]*B[k,j])",
          {{"A", array({30, 30})}, {"B", array({30, 20})}});
    check(
        "P[y,x] := sum[r,s | y-r >= 0 && y-r < 20 && x-s >= 0 && x-s < 40](Q[y-r,x-s]*G[r,s])"
        " where y in 0:22, x in 0:42",
        {{"Q", array({20, 40})}, {"G", array({3, 3})}});
}

TEST_CASE("lanes are masked where the points of a sum move with them") {
    const auto is_masked = [](const std::string& text, const Signature& signature) {
        check(text, signature);
        bool found = false;
        for (const codegen::Schedule& schedule :
             codegen::plan(bound(text, signature), example_target(64)).schedules)
            for (const codegen::Directive& directive : schedule.directives)
                found |= directive.verb == "mask";
        return found;
    };
    const std::string inside = "t-r >= 0 && t-r < 9 && u-s >= 0 && u-s < 24";
    const std::string range = " where t in 0:13, u in 0:28";
    const Signature images = {{"dY", array({6, 5, 9, 24})}, {"W", array({5, 5, 5})}};
    // Several images share the weights and the masks; 7 of them do not divide evenly.
    for (const std::int64_t batch : {6, 7, 1}) {
        Signature signature = images;
        signature["dY"] = array({batch, 5, 9, 24});
        CHECK(
            is_masked("dX[n,t,u] := sum[o,r,s | " + inside + "](dY[n,o,t-r,u-s]*W[o,r,s])" + range,
                      signature));
    }
    // Masks that are known when code is made: of taps apart, of two axes, of f64; of a sum whose
    // taps depend on each other they are not.
    const auto gradient = [&](const std::string& conditions, const std::string& column,
                              const Signature& signature) {
        return is_masked(
            "dX[n,u] := sum[r,s | " + conditions + "](dY[n," + column + "]*W[r,s]) where u in 0:29",
            signature);
    };
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Signature rows = {{"dY", array({3, 25}, dtype)}, {"W", array({2, 3}, dtype)}};
        CHECK(gradient("u-2*s-r >= 0 && u-2*s-r < 25", "u-2*s-r", rows));
        CHECK(gradient("u-2*s >= 0 && u-2*s < 25", "u-2*s", rows));
        CHECK(gradient("u-2*s >= 0 && u-2*s < 25 && r+s < 3", "u-2*s", rows));
    }
    // Bounds that some lane reaches, others not; products, maxima, integers, values that divide.
    CHECK(is_masked("S[n,i] := sum[k | k <= i && 2*k > i-3](x[k]/y[n,i]) where i in 0:50",
                    {{"x", array({60})}, {"y", array({9, 50})}}));
    CHECK(is_masked("M[n,i] := max[k | k <= i && k >= i-4](A[n,k]) where i in 0:33",
                    {{"A", array({9, 40})}}));
    CHECK(is_masked("P[n,i] := prod[k | k <= i && k >= i-4](A[n,k]) where i in 0:33",
                    {{"A", array({9, 40}, DType::i32)}}));
    // What all lanes load may lie outside where no lane runs.
    CHECK(is_masked("S[n,i] := sum[k | k <= i && k >= i-5 && k < 20](A[n,i]*w[k]) where i in 0:30",
                    {{"A", array({9, 30})}, {"w", array({20})}}));
    // A diagonal is no inequality.
    CHECK(!is_masked("D[i] := sum[k | k == i](A[k]*k) where i in 0:30", {{"A", array({30})}}));
}

TEST_CASE("few tasks are as many as two and four threads take equal shares of") {
    for (std::int64_t extent = 60'000; extent <= 500'000; extent += 20'000) {
        const std::string plan = str(codegen::plan(
            bound("w[i] := exp(m[i]) / 3", {{"m", array({extent})}}), example_target(64)));
        CAPTURE(plan);
        for (const char* const uneven : {"tasks 3\n", "tasks 5\n", "tasks 6\n", "tasks 7\n"})
            CHECK(plan.find(uneven) == std::string::npos);
    }
}

TEST_CASE("a long sum with few results is split in two levels") {
    check("C[i,j] := A[k,i]*B[k,j]", {{"A", array({9000, 3})}, {"B", array({9000, 33})}});
    check("s := A[i,j]", {{"A", array({1100, 1001})}});
    check("s[j] := A[i,j]", {{"A", array({30011, 20})}});
}

TEST_CASE("sums are cut along an axis of which no condition speaks") {
    const auto is_cut = [](const std::string& text, const Signature& signature) {
        Target target = example_target(64);
        target.forced = Forced::two_levels;
        const BoundProgram program = bound(text, signature);
        const codegen::Plan plan = codegen::plan(program, target);
        CHECK(interpreted_difference(program, signature, plan, 0) == "");
        return str(plan).find("_C_partial(") != std::string::npos;
    };
    const Signature signature{{"A", array({9, 40, 7})}, {"B", array({40, 7, 20})}};
    CHECK(is_cut("C[i,j] := sum[k,l | l <= i](A[i,k,l]*B[k,l,j])", signature));
    CHECK(is_cut("C[i,j] := max[k,l | l+3 <= i](A[i,k,l] - B[k,l,j])", signature));
    CHECK(is_cut("C[i,j] := sum[k,l | i == l+2 && j >= 1](A[i,k,l]*B[k,l,j])", signature));
    CHECK(!is_cut("C[i,j] := sum[k,l | k <= i+20](A[i,k,l]*B[k,l,j])", signature));
    // Channels of a gradient, whose taps stay within images: their panel fills the cache.
    const Signature images{{"W", array({512, 512, 3, 3})}, {"dY", array({8, 512, 7, 7})}};
    const std::string gradient =
        "dX[n,c,t,p] := sum[o,u,v | t-u >= -1 && t-u < 6 && p-v >= -1 && p-v < 6]("
        "W[o,c,u,v]*dY[n,o,t-u+1,p-v+1]) where t in 0:7, p in 0:7";
    CHECK(str(codegen::plan(bound(gradient, images), example_target(64))).find("_dX_partial(") !=
          std::string::npos);
}

TEST_CASE("equal programs and targets give equal plans") {
    const Signature signature = {{"A", array({70, 300})}, {"B", array({300, 90})}};
    const auto text = [&] {
        return str(codegen::plan(bound("C[i,j] := A[i,k]*B[k,j]", signature), example_target(64)));
    };
    CHECK(text() == text());
}

TEST_CASE("updates are made in place, and what is read later is kept") {
    check("x[i] = 2*x[i]; y[i] := x[i] + 1", {{"x", array({20})}});
    const Signature signature = {{"x", array({20})}, {"A", array({30, 20})}};
    check("A[i+3,j] += x[j]*A[i+3,j] where i in 0:20", signature);
    check("O[i+k] += x[i]*w[k]", {{"O", array({26})}, {"x", array({20})}, {"w", array({7})}});
    check("x[i] *= A[k,i]; x[i] max= A[0,i]", signature);
}

TEST_CASE("extents of 0 and 1 and rank 0") {
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({5, 0})}, {"B", array({0, 7})}});
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({0, 3})}, {"B", array({3, 7})}});
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({1, 300})}, {"B", array({300, 1})}});
    check("s := 2*a", {{"a", array({})}});
    check("m := max[i](A[i])", {{"A", array({0})}});
}

TEST_CASE("a term too deep to walk is refused") {
    std::string text = "y[i] := x[i]";
    for (int n = 0; n < 2000; ++n) text += "/x[i]";
    const BoundProgram program = bound(text, {{"x", array({20})}});
    CHECK(error_text([&] { (void)codegen::plan(program, example_target(64)); }) ==
          "limit: a term nests more than 1000 operations\n"
          "  = hint: make an intermediate array with `:=`");
}

TEST_CASE("an operand that squares again and again is walked once") {
    std::string text = "D[i,l] := sum[j](u59*C[j,l]) where u1 = A[i,j]";
    for (int n = 2; n < 60; ++n) text += format(", u{0} = u{1}*u{1}", n, n - 1);
    const Signature signature{{"A", array({40, 40})}, {"C", array({40, 40})}};
    CHECK(str(codegen::plan(bound(text, signature), example_target(64))).find("  tile ") !=
          std::string::npos);
}

TEST_CASE("several types in one kernel") {
    check("y[i] := A[i,k]*B[i,k]",
          {{"A", array({12, 40}, DType::f32)}, {"B", array({12, 40}, DType::f64)}});
    check("c[i] := count[k | A[i,k] > 0](1)", {{"A", array({12, 40})}});
    check("p[i] := argmin[k](A[i,k])", {{"A", array({12, 40}, DType::f64)}});
    check("p[k] := argmax[i](A[i,k])", {{"A", array({12, 40})}});
    check("y[i,j] := i + 2*j + A[i,j]", {{"A", array({5, 9})}});
}

TEST_CASE("plans of random programs compute what the reference computes") {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const RandomProgram random = random_program(seed);
        BoundProgram program;
        try {
            program = bound(random.text, random.signature);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::internal) throw;
            continue;
        }
        INFO(str(random));
        CHECK(interpreted_difference(program, random.signature,
                                     example_target(seed % 2 == 0 ? 64 : 16)) == "");
        ++checked;
    }
    CHECK(checked > 100);
}

TEST_CASE("checks that do not rely on each other are looked at once") {
    const Signature both = {
        {"A", array({3, 2})}, {"J", array({4}, DType::i64)}, {"K", array({4}, DType::i64)}};
    const codegen::Plan plan =
        codegen::plan(bound("y[i] := A[J[i],K[i]]", both), example_target(32));
    REQUIRE(plan.checks.size() == 2);
    CHECK(plan.checks[0].after == plan.checks[1].after);
    const Signature nested = {
        {"a", array({3})}, {"J", array({5}, DType::i64)}, {"K", array({4}, DType::i64)}};
    const codegen::Plan second =
        codegen::plan(bound("y[i] := a[J[K[i]]]", nested), example_target(32));
    REQUIRE(second.checks.size() == 2);
    CHECK(second.checks[0].after < second.checks[1].after);
}

TEST_CASE("nothing is read at points that a key or a condition excludes") {
    const Signature signature = {{"J", array({200}, DType::i64)},
                                 {"K", array({200}, DType::i64)},
                                 {"B", array({5})},
                                 {"x", array({200})},
                                 {"z", array({200, 3})}};
    for (const std::string value : {"B[J[i]]*x[i]", "B[J[i]]*z[i,m]"})
        for (const std::string condition : {"t == J[i]", "J[i] >= 0 && J[i] < 5 && t == K[i]"}) {
            const std::string reduced = value.ends_with("m]") ? "i,m" : "i";
            Signature needed = signature;
            needed.erase(value.ends_with("m]") ? "x" : "z");
            if (!condition.ends_with("K[i]")) needed.erase("K");
            const std::string text =
                format("Y[t] := sum[{} | {}]({}) where t in 0:5", reduced, condition, value);
            CAPTURE(text);
            const BoundProgram program = bound(text, needed);
            const Target target = example_gpu_target();
            const codegen::Plan plan = codegen::plan(
                codegen::with_keyed_updates(program, target, codegen::KeyedWay::inverse_index),
                target);
            CHECK(plan.steps.size() > 10);
            CHECK(interpreted_difference(program, needed, plan) == "");
        }
}

TEST_CASE("rows whose places are data are asked for ahead, whatever their number and length") {
    Target target = example_target(32);
    target.l2_bytes = 64;
    const auto key = [](std::int64_t n) { return array({n}, DType::i32); };
    for (const std::int64_t rows : {1, 2, 17, 40})
        for (const std::int64_t columns : {1, 8, 9, 40, 1100}) {
            INFO(rows, " rows of ", columns);
            const auto check_rows = [&](const std::string& text, const Signature& signature) {
                CAPTURE(text);
                CHECK(interpreted_difference(bound(text, signature), signature, target) == "");
            };
            check_rows("y[i,k] := A[J[i] % 30,k] + A[K[i] % 30,k]",
                       {{"A", array({30, columns})}, {"J", key(rows)}, {"K", key(rows)}});
            check_rows("y[i,k] := A[J[K[i] % 50] % 30,k]",
                       {{"A", array({30, columns})}, {"J", key(50)}, {"K", key(rows)}});
            check_rows(
                "H[J[i] % 30,k] += 2*x[i,k]",
                {{"H", array({30, columns})}, {"J", key(rows)}, {"x", array({rows, columns})}});
            check_rows("H[t,k] := sum[i | t == J[i] && x[i,0] > 0](x[i,k]) where t in 0:30",
                       {{"J", key(rows)}, {"x", array({rows, columns})}});
            check_rows("H[t,k] := max[i | t == J[i]](x[i,k]) where t in 0:12",
                       {{"J", key(rows)}, {"x", array({rows, columns})}});
        }
    const Signature large = {{"A", array({30, 40})}, {"J", key(40)}};
    CHECK(str(codegen::plan(bound("y[i,k] := A[J[i],k]", large), target)).find("prefetch A") !=
          std::string::npos);
}

TEST_CASE("updates that may meet go several a turn") {
    for (const std::int64_t points : {1, 63, 64, 65, 71, 200}) {
        const Signature signature = {
            {"h", array({20})}, {"J", array({points}, DType::i32)}, {"x", array({points})}};
        for (const std::string text : {"h[J[i] % 20] += x[i]", "h[J[i] % 20] max= x[i]",
                                       "H[t] := sum[i | t == J[i]](x[i]) where t in 0:17"}) {
            Signature needed = signature;
            if (text[0] == 'H') needed.erase("h");
            INFO(points, " points: ", text);
            CHECK(interpreted_difference(bound(text, needed), needed, example_target(32)) == "");
        }
    }
}

TEST_CASE("long sums under conditions of data are cut into parts, too") {
    const Signature signature = {{"X", array({2'000'000})}, {"M", array({2'000'000})}};
    for (const char* text : {"s := sum[i | M[i] > 0](X[i]*M[i])", "s := max[i | M[i] > 0.5](X[i])",
                             "s := sum[i | M[i] > 0 && X[i] < M[i]](X[i])"}) {
        const BoundProgram program = bound(text, signature);
        CHECK(str(codegen::plan(program, example_target(64))).find("_s_partial(") !=
              std::string::npos);
        CHECK(compiled_difference(program, signature) == "");
    }
}

TEST_CASE("points are looked for, take their turns, or are sorted by key, as takes least") {
    const auto steps = [](std::int64_t points, std::int64_t values, const Target& target) {
        const Signature signature = {{"J", array({points}, DType::i64)}, {"X", array({points, 8})}};
        const std::string text =
            format("Y[t,k] := sum[i | t == i64(J[i])](X[i,k]) where t in 0:{}", values);
        return codegen::plan(bound(text, signature), target).steps.size();
    };
    CHECK(steps(300, 7, example_target(32)) == 1);
    CHECK(steps(300, 1000, example_target(32)) == 2);
    CHECK(steps(300, 1000, example_gpu_target()) == 1);
    CHECK(steps(30, 20'000'000, example_gpu_target()) == 2);
    CHECK(steps(100'000, 50'000, example_gpu_target()) > 20);
}

TEST_CASE("elements at places of data in pages of their own are written row by row") {
    const auto runs_across = [](std::int64_t width) {
        const Signature signature = {
            {"Y", array({64, width})}, {"J", array({40}, DType::i64)}, {"X", array({64, 40})}};
        const BoundProgram program = bound("Y[i,J[k] % 60] max= X[i,k]", signature);
        CHECK(interpreted_difference(program, signature, example_target(64)) == "");
        return str(codegen::plan(program, example_target(64))).find("vector i") !=
               std::string::npos;
    };
    CHECK(runs_across(100));
    CHECK_FALSE(runs_across(1024));
}
