// tests/codegen/residue_classes_test.cpp – strided sums as sums over neighbours
#include "codegen/residue_classes.h"

#include <algorithm>
#include <tuple>

#include <doctest/doctest.h>

#include "codegen/unread.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"

namespace ricci::tests {
namespace {

BoundProgram bound(const Program& program,
                   const std::vector<std::pair<std::string, Shape>>& given) {
    Signature signature;
    for (const auto& [name, shape] : given) signature[name].shape = shape;
    return ricci::bind(canonicalise(program), signature);
}

std::string by_class(const BoundProgram& program, bool side_by_side = false) {
    const std::string all = str(codegen::with_residue_classes(program, 0, side_by_side));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

/// That of A, with the extents of A, F and dO.
std::string gradient_by_class(const std::string& text, std::int64_t a, std::int64_t f,
                              std::int64_t o) {
    return by_class(
        bound(grad::gradient(parse_program(text), "A"), {{"A", {a}}, {"F", {f}}, {"dO", {o}}}));
}

TEST_CASE("the gradient of a strided convolution is one equation for each residue") {
    CHECK(gradient_by_class("O[y] := A[2*y+r]*F[r]", 20, 3, 9) ==
          "for t.4 in 0:10:\n"
          "  dA.4[2*t.4] := f32 sum[y.5 in 0:2 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "9](dO.3[-1*y.5+t.4]*F.1[2*t.4-2*(-1*y.5+t.4)])\n"
          "for t.6 in 0:10:\n"
          "  dA.5[2*t.6+1] = f32 sum[y.7 in 0:1 | -1*y.7+t.6 >= 0 && -1*y.7+t.6 < "
          "9](dO.3[-1*y.7+t.6]*F.1[2*t.6+1-2*(-1*y.7+t.6)])\n");
}

TEST_CASE("residues with the same ranges are one equation with an index more") {
    CHECK(gradient_by_class("O[y] := A[16*y+r]*F[r]", 64, 16, 4) ==
          "for t.4 in 0:4, t.6 in 0:16:\n"
          "  dA.4[16*t.4+t.6] := f32 sum[y.5 in 0:1 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "4](dO.3[-1*y.5+t.4]*F.1[16*t.4+t.6-16*(-1*y.5+t.4)])\n");
    // Of a kernel that is shorter than its stride some elements are in no class; of a longer one
    // some residues have a point more.
    CHECK(gradient_by_class("O[y] := A[5*y+r]*F[r]", 40, 3, 8) ==
          "for t.4 in 0:8, t.6 in 0:3:\n"
          "  dA.4[5*t.4+t.6] := f32 sum[y.5 in 0:1 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "8](dO.3[-1*y.5+t.4]*F.1[5*t.4+t.6-5*(-1*y.5+t.4)])\n");
    CHECK(gradient_by_class("O[y] := A[4*y+r]*F[r]", 44, 11, 9) ==
          "for t.4 in 0:11, t.6 in 0:3:\n"
          "  dA.4[4*t.4+t.6] := f32 sum[y.5 in 0:3 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "9](dO.3[-1*y.5+t.4]*F.1[4*t.4+t.6-4*(-1*y.5+t.4)])\n"
          "for t.7 in 0:11:\n"
          "  dA.5[4*t.7+3] = f32 sum[y.8 in 0:2 | -1*y.8+t.7 >= 0 && -1*y.8+t.7 < "
          "9](dO.3[-1*y.8+t.7]*F.1[4*t.7+3-4*(-1*y.8+t.7)])\n");
    // The last quotient has fewer residues.
    CHECK(gradient_by_class("O[y] := A[4*y+r]*F[r]", 42, 4, 10) ==
          "for t.4 in 0:11, t.6 in 0:2:\n"
          "  dA.4[4*t.4+t.6] := f32 sum[y.5 in 0:1 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "10](dO.3[-1*y.5+t.4]*F.1[4*t.4+t.6-4*(-1*y.5+t.4)])\n"
          "for t.7 in 0:10, t.9 in 2:4:\n"
          "  dA.5[4*t.7+t.9] = f32 sum[y.8 in 0:1 | -1*y.8+t.7 >= 0 && -1*y.8+t.7 < "
          "10](dO.3[-1*y.8+t.7]*F.1[4*t.7+t.9-4*(-1*y.8+t.7)])\n");
}

TEST_CASE("classes of an innermost index are written side by side, and brought to their places") {
    const auto side_by_side = [](const std::string& text, std::int64_t a, std::int64_t f,
                                 std::int64_t o) {
        return by_class(
            bound(grad::gradient(parse_program(text), "A"), {{"A", {a}}, {"F", {f}}, {"dO", {o}}}),
            true);
    };
    CHECK(side_by_side("O[y] := A[2*y+r]*F[r]", 21, 3, 10) ==
          "for t.4 in 0:11:\n"
          "  dA_residues.5[0,t.4] := f32 sum[y.5 in 0:2 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "10](dO.3[-1*y.5+t.4]*F.1[2*t.4-2*(-1*y.5+t.4)])\n"
          "for t.6 in 0:10:\n"
          "  dA_residues.6[1,t.6] = f32 sum[y.7 in 0:1 | -1*y.7+t.6 >= 0 && -1*y.7+t.6 < "
          "10](dO.3[-1*y.7+t.6]*F.1[2*t.6+1-2*(-1*y.7+t.6)])\n"
          "for q.8 in 0:10, r.9 in 0:2:\n"
          "  dA.4[2*q.8+r.9] := dA_residues.6[r.9,q.8]\n"
          "for q.10 in 10:11, r.11 in 0:1:\n"
          "  dA.7[2*q.10+r.11] = dA_residues.6[r.11,q.10]\n");
    // Several residues of one class.
    CHECK(side_by_side("O[y] := A[2*y+r]*F[r]", 20, 2, 10) ==
          "for t.4 in 0:10, t.6 in 0:2:\n"
          "  dA_residues.5[t.6,t.4] := f32 sum[y.5 in 0:1 | -1*y.5+t.4 >= 0 && -1*y.5+t.4 < "
          "10](dO.3[-1*y.5+t.4]*F.1[2*t.4+t.6-2*(-1*y.5+t.4)])\n"
          "for q.7 in 0:10, r.8 in 0:2:\n"
          "  dA.4[2*q.7+r.8] := dA_residues.5[r.8,q.7]\n");
    // Elements of no class stay; steps that are longer than a line's pieces; sums that are added.
    for (const auto& [text, a, f, o] : {std::tuple("O[y] := A[5*y+r]*F[r]", 40, 3, 8),
                                        {"O[y] := A[3*y+r]*F[r]", 20, 2, 7},
                                        {"O[y] := A[5*y+r]*F[r]", 52, 7, 10}})
        CHECK(side_by_side(text, a, f, o) == gradient_by_class(text, a, f, o));
}

TEST_CASE("a band without stride is one sum over its width") {
    CHECK(gradient_by_class("O[y] := A[y+r]*F[r]", 20, 3, 18) ==
          "for t.2 in 0:20:\n"
          "  dA.4[t.2] := f32 sum[r.3 in 0:3 | t.2-r.3 >= 0 && t.2-r.3 < "
          "18](dO.3[t.2-r.3]*F.1[r.3])\n");
}

TEST_CASE("a band that moves by a stride with the result is one sum over its width") {
    CHECK(by_class(bound(parse_program("dO[y] := sum[t | t-2*y >= 0 && t-2*y < 3](A[t]*F[t-2*y])"
                                       " where y in 0:9"),
                         {{"A", {20}}, {"F", {3}}})) ==
          "for y.2 in 0:9:\n"
          "  dO.2[y.2] := f32 sum[t.3 in 0:3 | t.3+2*y.2 >= 0 && t.3+2*y.2 < "
          "20](A.0[t.3+2*y.2]*F.1[t.3+2*y.2-2*y.2])\n");
    CHECK(by_class(bound(parse_program("dO[y] := sum[t | 7-3*y-t >= 0 && 7-3*y-t < 4](A[t])"
                                       " where y in 0:4"),
                         {{"A", {20}}})) ==
          "for y.2 in 0:4:\n"
          "  dO.1[y.2] := f32 sum[t.3 in -7:-3 | -1*t.3-3*y.2 >= 0 && -1*t.3-3*y.2 < "
          "20](A.0[-1*t.3-3*y.2])\n");
}

TEST_CASE("strides and dilations without a common factor are solved") {
    CHECK(gradient_by_class("O[y] := A[2*y+3*r]*F[r]", 24, 3, 9) ==
          "for t.5 in 0:12:\n"
          "  dA.4[2*t.5] := f32 sum[r.6 in 0:2 | t.5-3*r.6 >= 0 && t.5-3*r.6 < "
          "9](dO.3[t.5-3*r.6]*F.1[2*r.6])\n"
          "for t.7 in 0:12:\n"
          "  dA.5[2*t.7+1] = f32 sum[r.8 in 0:1 | t.7-3*r.8-1 >= 0 && t.7-3*r.8-1 < "
          "9](dO.3[t.7-3*r.8-1]*F.1[2*r.8+1])\n");
}

TEST_CASE("a strided slice gives each class its elements, or none") {
    CHECK(gradient_by_class("O[y] := A[3*y+1]*F[y]", 20, 6, 6) ==
          "for t.3 in 0:7:\n"
          "  dA.4[3*t.3+1] := t.3 < 6 ? dO.3[clamp(t.3, 0, 5)]*F.1[clamp(t.3, 0, 5)] : 0.0\n");
    CHECK(by_class(bound(grad::gradient(parse_program("O[y] := A[2*y]^2"), "A"),
                         {{"A", {11}}, {"dO", {6}}})) ==
          "for t.3 in 0:6:\n"
          "  dA.3[2*t.3] := 2.0*A.0[2*t.3]*dO.2[t.3]\n");
    // The points of data are found by it.
    CHECK(
        gradient_by_class("O[y] := A[3*y+1]*F[i64(A[y])] where y in 0:6", 20, 6, 6).find("sum[y") !=
        std::string::npos);
}

TEST_CASE("residues that a common factor leaves out have no equation") {
    CHECK(gradient_by_class("O[y] := A[4*y+6*r+1]*F[r]", 40, 3, 7) ==
          "for t.5 in 0:10:\n"
          "  dA.4[4*t.5+1] := f32 sum[r.6 in 0:2 | t.5-3*r.6 >= 0 && t.5-3*r.6 < "
          "7](dO.3[t.5-3*r.6]*F.1[2*r.6])\n"
          "for t.7 in 0:10:\n"
          "  dA.5[4*t.7+3] = f32 sum[r.8 in 0:1 | t.7-3*r.8-1 >= 0 && t.7-3*r.8-1 < "
          "7](dO.3[t.7-3*r.8-1]*F.1[2*r.8+1])\n");
}

TEST_CASE("an update at affine places is a sum for each element") {
    const auto update = [](const std::string& text, std::int64_t o, std::int64_t x,
                           std::int64_t w) {
        return by_class(bound(parse_program(text), {{"O", {o}}, {"x", {x}}, {"w", {w}}}));
    };
    CHECK(update("O[i+k] += x[i]*w[k]", 20, 18, 3) ==
          "for t.2 in 0:20:\n"
          "  O.3[t.2] += f32 sum[k.1 in 0:3 | t.2-k.1 >= 0 && t.2-k.1 < "
          "18](x.1[t.2-k.1]*w.2[k.1])\n");
    CHECK(update("O[2*i+k] += x[i]*w[k]", 21, 10, 3) ==
          "for t.3 in 0:11:\n"
          "  O.3[2*t.3] += f32 sum[i.4 in 0:2 | -1*i.4+t.3 >= 0 && -1*i.4+t.3 < "
          "10](x.1[-1*i.4+t.3]*w.2[2*t.3-2*(-1*i.4+t.3)])\n"
          "for t.5 in 0:10:\n"
          "  O.4[2*t.5+1] += f32 sum[i.6 in 0:1 | -1*i.6+t.5 >= 0 && -1*i.6+t.5 < "
          "10](x.1[-1*i.6+t.5]*w.2[2*t.5+1-2*(-1*i.6+t.5)])\n");
    // What has no index of its own with the coefficient 1 is done in order.
    CHECK(update("O[2*i+2*k] += x[i]*w[k]", 24, 10, 3) ==
          "for i.0 in 0:10, k.1 in 0:3 in order:\n"
          "  O.3[2*i.0+2*k.1] += x.1[i.0]*w.2[k.1]\n");
}

TEST_CASE("an update of a padded target is a sum of what lies inside for each element") {
    const auto update = [](const std::string& text, std::int64_t o, std::int64_t x,
                           std::int64_t w) {
        return by_class(bound(parse_program(text), {{"O", {o}}, {"x", {x}}, {"w", {w}}}));
    };
    CHECK(update("O[pad(i+k-1)] += x[i]*w[k]", 18, 18, 3) ==
          "for t.2 in 0:18:\n"
          "  O.3[t.2] += f32 sum[k.1 in 0:3 | t.2-(-1+k.1) >= 0 && t.2-(-1+k.1) < "
          "18](x.1[t.2-(-1+k.1)]*w.2[k.1])\n");
    CHECK(update("O[pad(2*i+k-1)] += x[i]*w[k]", 20, 10, 4) ==
          "for t.3 in 0:10:\n"
          "  O.3[2*t.3] += f32 sum[i.4 in 0:2 | -1*i.4+t.3 >= 0 && -1*i.4+t.3 < "
          "10](x.1[-1*i.4+t.3]*w.2[2*t.3-(-1+2*(-1*i.4+t.3))])\n"
          "for t.5 in 0:10:\n"
          "  O.4[2*t.5+1] += f32 sum[i.6 in -1:1 | -1*i.6+t.5 >= 0 && -1*i.6+t.5 < "
          "10](x.1[-1*i.6+t.5]*w.2[2*t.5+1-(-1+2*(-1*i.6+t.5))])\n");
    // Of places that data decides, and of what lies outside altogether, nothing is known.
    CHECK(update("O[pad(2*i+2*k-1)] += x[i]*w[k]", 20, 10, 4).find("in order") !=
          std::string::npos);
    CHECK(update("O[pad(i+k+40)] += x[i]*w[k]", 20, 10, 4).find("in order") != std::string::npos);
}

TEST_CASE("a sum that a padded update alone reads once is part of it") {
    const auto has_temporary = [](const std::string& text) {
        Signature signature;
        signature["O"].shape = {8, 20};
        signature["X"].shape = {5, 10};
        signature["W"].shape = {5, 8, 4};
        const BoundProgram program = ricci::bind(canonicalise(parse_program(text)), signature);
        const BoundProgram rewritten =
            codegen::without_unread(codegen::with_residue_classes(program, 0));
        return std::ranges::any_of(rewritten.equations, [&](const BoundEquation& equation) {
            return rewritten.at(equation.target).role == Role::temporary;
        });
    };
    CHECK_FALSE(has_temporary("O[o,pad(2*i+k-1)] += W[c,o,k]*X[c,i]"));
    // Each of its elements would be summed anew for several points.
    CHECK(has_temporary("O[o,pad(2*i+k-1)] += sum[c](W[c,o,0]*X[c,i]) where k in 0:4"));
}

TEST_CASE("strides of many classes stay as they are") {
    const Program forward = parse_program("O[y] := A[10000000*y+r]*F[r]");
    const BoundProgram program =
        bound(grad::gradient(forward, "A"), {{"A", {20'000'010}}, {"F", {3}}, {"dO", {3}}});
    CHECK(str(codegen::with_residue_classes(program, 0)) == str(program));
}

TEST_CASE("only the places that an update names are gone through") {
    const BoundProgram program = bound(parse_program("O[i+k+5] += x[i]*w[k]"),
                                       {{"O", {1'000'000}}, {"x", {18}}, {"w", {3}}});
    CHECK(by_class(program).starts_with("for t.2 in 5:25:\n"));
}

TEST_CASE("small reductions and those of other kinds stay as they are") {
    const Program forward = parse_program("O[y] := A[2*y+r]*F[r]");
    const BoundProgram program =
        bound(grad::gradient(forward, "A"), {{"A", {20}}, {"F", {3}}, {"dO", {9}}});
    CHECK(str(codegen::with_residue_classes(program, 181)) == str(program));
    const BoundProgram largest =
        bound(parse_program("M[t] := max[y in 0:9 | t-2*y >= 0 && t-2*y < 3](O[y]) "
                            "where t in 0:20"),
              {{"O", {9}}});
    CHECK(str(codegen::with_residue_classes(largest, 0)) == str(largest));
}

}  // namespace
}  // namespace ricci::tests
