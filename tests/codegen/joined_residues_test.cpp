// tests/codegen/joined_residues_test.cpp – residue classes as rows of one product
#include "codegen/joined_residues.h"

#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/residue_classes.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

using codegen::JoinedResidues;

struct Layer {
    std::int64_t channels = 3;
    std::int64_t image = 12;
    std::int64_t kernel = 3;
    std::int64_t stride = 2;
    std::int64_t pad = 0;
    std::int64_t batch = 2;
    std::int64_t filters = 9;
};

/// The gradient of a strided convolution by its image.
std::string gradient(const Layer& layer) {
    const auto band = [&](const char* free, const char* reduced) {
        return format("{0}-{2}*{1}+{3} >= 0 && {0}-{2}*{1}+{3} < {4}", free, reduced, layer.stride,
                      layer.pad, layer.kernel);
    };
    return format(
        "dX[n,c,t,p] := sum[o,y,x | {} && {}](dY[n,o,y,x]*W[o,c,t-{}*y+{},p-{}*x+{}]) "
        "where t in 0:{}, p in 0:{}",
        band("t", "y"), band("p", "x"), layer.stride, layer.pad, layer.stride, layer.pad,
        layer.image, layer.image);
}
Signature arguments(const Layer& layer, DType dtype = DType::f32) {
    const std::int64_t out = (layer.image + 2 * layer.pad - layer.kernel) / layer.stride + 1;
    return {{"dY", array({layer.batch, layer.filters, out, out}, dtype)},
            {"W", array({layer.filters, layer.channels, layer.kernel, layer.kernel}, dtype)}};
}

std::size_t equations(const Layer& layer, JoinedResidues joined = JoinedResidues::few_rows) {
    return codegen::with_residue_classes(bound(gradient(layer), arguments(layer)), 0, false, joined)
        .equations.size();
}

TEST_CASE("classes of a sum with few rows are one equation whose conditions say what is of each") {
    const Signature signature = {{"dO", array({9, 10})}, {"F", array({9, 2, 3})}};
    const BoundProgram program =
        bound("dA[c,t] := sum[o,y | t-2*y >= 0 && t-2*y < 3](dO[o,y]*F[o,c,t-2*y]) where t in 0:20",
              signature);
    const std::string all =
        str(codegen::with_residue_classes(program, 0, false, JoinedResidues::few_rows));
    CHECK(all.substr(all.find("\nfor ") + 1) ==
          "for c.0 in 0:2, t.4 in 0:10, t.6 in 0:2:\n"
          "  dA.2[c.0,2*t.4+t.6] := f32 sum[o.2 in 0:9, y.5 in 0:2 | 2*y.5+t.6 >= 0 && "
          "2*y.5+t.6 <= 2 && (-1*y.5+t.4 >= 0 && -1*y.5+t.4 < 10)](dO.0[o.2,-1*y.5+t.4]*"
          "(2*y.5+t.6 >= 0 && 2*y.5+t.6 <= 2 ? F.1[o.2,c.0,clamp(2*t.4+t.6-2*(-1*y.5+t.4), 0, 2)] "
          ": 0.0))\n"
          "outputs dA.2\n");
}

TEST_CASE(
    "a tile holds the rows of all classes and writes out the points that say which are taken") {
    const Layer layer{.image = 64, .kernel = 3, .pad = 1, .batch = 2, .filters = 32};
    const BoundProgram program = bound(gradient(layer), arguments(layer));
    Target target = example_target(64);
    target.unit_bytes = 32;
    const std::string plan = str(codegen::plan(program, target));
    CAPTURE(plan);
    for (const char* part : {"tile c 3 ", "tile t 2 ", "tile p 2 ", "unroll x in 0..2",
                             "unroll y in 0..2", "if ((p - 2*x + 1) >= 0) && ((t + 2*y - 1) >= 0)"})
        CHECK(plan.find(part) != std::string::npos);
    CHECK(plan.find("k2_") == std::string::npos);  // panels of rows, and one product
}

TEST_CASE("classes are joined where registers hold all their rows and single ones are too few") {
    CHECK(equations({}) == 1);
    CHECK(equations({}, JoinedResidues::never) == 4);
    CHECK(equations({.channels = 2, .kernel = 5}) == 1);
    // Twelve rows of t, then four equations of p.
    CHECK(equations({.image = 24, .kernel = 6, .stride = 4}) == 2);
    CHECK(equations({.channels = 4}) == 4);
    CHECK(equations({.channels = 4}, JoinedResidues::always) == 2);
    // An odd number of rows: classes have ranges of their own.
    CHECK(equations({.image = 13}) == 4);
    // A single row of what caches hold, sums of few points, bands of many.
    CHECK(equations({.channels = 1}) == 4);
    CHECK(equations({.filters = 7}) == 4);
    CHECK(equations({.image = 30, .kernel = 11}) == 4);
}

TEST_CASE("of three bands no more are joined than tiles write out points of") {
    const auto volume = [](std::int64_t kernel) {
        const std::string k = std::to_string(kernel);
        const std::string sum =
            "sum[o,x,y,z | t-2*x+1 >= 0 && t-2*x+1 < " + k + " && u-2*y+1 >= 0 && u-2*y+1 < " + k +
            " && v-2*z+1 >= 0 && v-2*z+1 < " + k + "](dY[o,x,y,z]*W[o,c,t-2*x+1,u-2*y+1,v-2*z+1])";
        const BoundProgram program =
            bound("dX[c,t,u,v] := " + sum + " where t in 0:8, u in 0:8, v in 0:8",
                  {{"dY", array({9, 4, 4, 4})}, {"W", array({9, 1, kernel, kernel, kernel})}});
        return codegen::with_residue_classes(program, 0, false, JoinedResidues::always)
            .equations.size();
    };
    CHECK(volume(3) == 1);
    CHECK(volume(5) == 2);
}

TEST_CASE("joined classes compute what single ones do") {
    for (const std::int64_t channels : {1, 2, 3})
        for (const std::int64_t kernel : {2, 3, 4, 5, 7})
            for (const auto& [stride, image] : {std::pair{2, 14}, {2, 32}, {3, 15}, {4, 20}})
                for (const DType dtype : {DType::f32, DType::f64}) {
                    const Layer layer{.channels = channels,
                                      .image = image,
                                      .kernel = kernel,
                                      .stride = stride,
                                      .pad = kernel / 2};
                    const Signature signature = arguments(layer, dtype);
                    CAPTURE(gradient(layer));
                    const BoundProgram program = bound(gradient(layer), signature);
                    Target target = example_target(64);
                    target.forced = Forced::rewritings;
                    CHECK(interpreted_difference(program, signature, target) == "");
                    Target host = codegen::cpu::host_target();
                    host.forced = Forced::rewritings;
                    CHECK(compiled_difference(program, signature, host) == "");
                }
}

}  // namespace
}  // namespace ricci::tests
