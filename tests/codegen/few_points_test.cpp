// tests/codegen/few_points_test.cpp – sums of a handful of points, written out
#include "codegen/few_points.h"

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

using Given = std::vector<std::pair<std::string, Shape>>;

std::string written_out(const Program& program, const Given& given) {
    Signature signature;
    for (const auto& [name, shape] : given) signature[name].shape = shape;
    const std::string all =
        str(codegen::with_few_points(ricci::bind(canonicalise(program), signature)));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
std::string written_out(const std::string& text, const Given& given) {
    return written_out(parse_program(text), given);
}
std::string gradient(const std::string& text, const Given& given) {
    return written_out(grad::gradient(parse_program(text), "x"), given);
}

Target forced_rewritings() {
    Target target = codegen::cpu::host_target();
    target.forced = Forced::rewritings;
    return target;
}

TEST_CASE("the gradient of a slice is a read where the slice lies") {
    CHECK(gradient("y[i] := x[i+1] where i in 0:8", {{"x", {12}}, {"dy", {8}}}) ==
          "for t.1 in 0:12:\n"
          "  dx.3[t.1] := t.1-1 >= 0 && t.1-1 < 8 ? dy.2[clamp(t.1-1, 0, 7)] : 0.0\n");
}

TEST_CASE("turns around an array are a term each, and those that cannot be are none") {
    CHECK(written_out("y[t] := sum[m in (-2):3 | t+8*m >= 0 && t+8*m < 10](x[t+8*m]) "
                      "where t in 0:8",
                      {{"x", {10}}}) ==
          "for t.0 in 0:8:\n"
          "  y.1[t.0] := x.0[t.0] + (t.0+8 < 10 ? x.0[clamp(t.0+8, 0, 9)] : 0.0)\n");
}

TEST_CASE("polynomials of up to sixteen terms are written out") {
    CHECK(written_out("y[i] := sum[j](c[j]*x[i]^j)", {{"x", {12}}, {"c", {3}}}) ==
          "for i.0 in 0:12:\n"
          "  y.2[i.0] := c.0[0]*x.1[i.0]^f32(0) + c.0[1]*x.1[i.0]^f32(1) + "
          "c.0[2]*x.1[i.0]^f32(2)\n");
    const Given many = {{"x", {12}}, {"c", {17}}};
    CHECK(written_out("y[i] := sum[j](c[j]*x[i]^j)", many).find("sum[") != std::string::npos);
    // Other sums of as many points, and powers that data decides.
    for (const char* text : {"y[i] := sum[j](c[j]*x[i]^2)", "y[i] := sum[j](x[i]^c[j])",
                             "y[j] := sum[i](c[j]*x[i]^j)"})
        CHECK(written_out(text, {{"x", {12}}, {"c", {5}}}).find("sum[") != std::string::npos);
    // Products of rows and columns, powers of a number.
    CHECK(written_out("Y[i,o] := sum[k](A[i,k]*W[k,o]*d[o]^k)",
                      {{"A", {12, 5}}, {"W", {5, 7}}, {"d", {7}}})
              .find("sum[") != std::string::npos);
    CHECK(written_out("y[i] := sum[j](c[j]*x[i]*0.5^j)", {{"x", {12}}, {"c", {5}}}).find("sum[") !=
          std::string::npos);
}

TEST_CASE("what lies beyond an edge is narrowed by the condition") {
    CHECK(written_out("y[t] := sum[u | u-2 < 0 && t == 0](x[u]) where t in 0:8", {{"x", {12}}}) ==
          "for t.0 in 0:8:\n"
          "  y.1[t.0] := (t.0 == 0 ? x.0[0] : 0.0) + (t.0 == 0 ? x.0[1] : 0.0)\n");
}

TEST_CASE("a condition that data decides stays a condition") {
    CHECK(written_out("y[t] := sum[u | t == u+1 && m[u] > 0](x[u]*u) where t in 0:8",
                      {{"x", {12}}, {"m", {12}}}) ==
          "for t.0 in 0:8:\n"
          "  y.2[t.0] := m.0[clamp(t.0-1, 0, 11)] > 0.0 && t.0-1 >= 0 ? x.1[clamp(t.0-1, 0, "
          "11)]*f32(t.0-1) : 0.0\n");
}

TEST_CASE("a sum without a point is 0") {
    CHECK(written_out("y[t] := sum[u | u > t+20](x[u]) where t in 0:8", {{"x", {12}}}) ==
          "for t.0 in 0:8:\n"
          "  y.1[t.0] := 0.0\n");
}

TEST_CASE("the one point of each second or third element is a quotient") {
    CHECK(written_out("y[t] := sum[u | t == 2*u](x[u]) where t in 0:20", {{"x", {12}}}) ==
          "for t.0 in 0:20:\n"
          "  y.1[t.0] := t.0%2 == 0 ? x.0[t.0//2] : 0.0\n");
    CHECK(written_out("y[t+_] := sum[u | t == 3*u-4](x[u]) where t in -9:20", {{"x", {12}}}) ==
          "for t.0 in -9:20:\n"
          "  y.1[t.0+9] := t.0%3 == 2 && t.0//3+2 >= 0 ? x.0[clamp(t.0//3+2, 0, 11)] : 0.0\n");
    CHECK(written_out("y[t] := sum[u | 5 == 2*u](x[u]*t) where t in 0:20", {{"x", {12}}}) ==
          "for t.0 in 0:20:\n"
          "  y.1[t.0] := 0.0\n");
}

TEST_CASE("bands of few values are a quotient and its neighbours in large results") {
    const auto band = [](const std::string& text, const codegen::BandRules& rules) {
        const std::string all = str(codegen::with_few_points(
            ricci::bind(canonicalise(parse_program(text)), {{"x", array({20})}}),
            codegen::few_points, rules));
        const std::size_t begin = all.find("\nfor ") + 1;
        return all.substr(begin, all.find("outputs ") - begin);
    };
    const std::string text = "y[t] := sum[u | t-2*u >= 0 && t-2*u < 3](x[u]) where t in 0:41";
    CHECK(band(text, {.least_elements = 0}) ==
          "for t.0 in 0:41:\n"
          "  y.1[t.0] := (t.0%2 <= 0 && t.0//2-1 >= 0 ? x.0[clamp(t.0//2-1, 0, 19)] : 0.0) + "
          "(t.0//2 < 20 ? x.0[clamp(t.0//2, 0, 19)] : 0.0)\n");
    CHECK(band(text, {}).find("sum[") != std::string::npos);
    CHECK(band(text, {.least_elements = 0, .are_whole_turns = true}).find("sum[") !=
          std::string::npos);
    CHECK(band("y[t] := sum[u | t-2*u >= 0 && t-2*u < 3](x[u]) where t in 0:40",
               {.least_elements = 0, .are_whole_turns = true})
              .find("sum[") == std::string::npos);
    // Of a form of two indices. As long as the step, one value each; many values; a long step.
    CHECK(band("y[s,t] := sum[u | s+t-4*u >= 0 && s+t-4*u < 6](x[u]) where s in 0:9, t in 0:60",
               {.least_elements = 0})
              .find("sum[") == std::string::npos);
    CHECK(band("y[t] := sum[u | t-3*u >= 0 && t-3*u < 3](x[u]) where t in 0:60",
               {.least_elements = 0})
              .find("sum[") != std::string::npos);
    CHECK(band("y[t] := sum[u | t-9*u >= 0 && t-9*u < 12](x[u]) where t in 0:60",
               {.least_elements = 0})
              .find("sum[") != std::string::npos);
    CHECK(band("y[t] := sum[u | t-2*u >= 0 && t-2*u < 9](x[u]) where t in 0:40",
               {.least_elements = 0})
              .find("sum[") != std::string::npos);
    for (const char* each :
         {"y[t] := sum[u | t-2*u >= 0 && t-2*u < 3](x[u]*x[t-2*u]) where t in 0:41",
          "y[t+_] := sum[u | 3*u-t >= -2 && 3*u-t < 4](x[u]) where t in (-3):41",
          "y[t+_] := sum[u | 2*u+t >= 0 && 2*u+t < 3](x[u]) where t in (-40):5",
          "y[s,t] := sum[u,v | s-2*u >= -1 && s-2*u < 2 && t-2*v >= -1 && t-2*v < 2]"
          "(x[u]*x[v]) where s in 0:39, t in 0:40",
          "y[t] := sum[u | 2*t-3*u >= 0 && 2*t-3*u < 4](x[u]) where t in 0:30"})
        CHECK(compiled_difference(bound(each, {{"x", array({20})}}), {{"x", array({20})}},
                                  forced_rewritings()) == "");
}

TEST_CASE("sums of many points, at places of data, and quotients of data stay sums") {
    const auto stays = [](const std::string& text, const Given& given) {
        CAPTURE(text);
        CHECK(written_out(text, given).find("sum[") != std::string::npos);
    };
    stays("y[t] := sum[u | u >= t](x[u]) where t in 0:8", {{"x", {12}}});
    stays("y[t] := sum[u | u >= t && u < t+5](x[u]) where t in 0:8", {{"x", {12}}});
    stays("y[t] := sum[u | t == u+1](x[i64(J[u])]) where t in 0:8", {{"x", {12}}, {"J", {12}}});
    stays("y[t] := sum[u | t == u+1](t//i64(J[u])) where t in 0:8", {{"J", {12}}});
}

std::string passed(const std::string& text, const Given& given) {
    Signature signature;
    for (const auto& [name, shape] : given) signature[name].shape = shape;
    const std::string all =
        str(codegen::with_passed_points(ricci::bind(canonicalise(parse_program(text)), signature)));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

TEST_CASE("a short sum that another sum goes through is written as its terms") {
    CHECK(passed("y[i] := sum[j](exp(-sum[d]((x[i,d] - z[j,d])^2))*b[j])",
                 {{"x", {50, 2}}, {"z", {60, 2}}, {"b", {60}}}) ==
          "for i.3 in 0:50, j.5 in 0:60:\n"
          "  t1.4[i.3,j.5] := (x.0[i.3,0] - z.1[j.5,0])^2.0 + (x.0[i.3,1] - z.1[j.5,1])^2.0\n"
          "for i.0 in 0:50:\n"
          "  y.3[i.0] := f32 sum[j.1 in 0:60](exp(-t1.4[i.0,j.1])*b.2[j.1])\n");
}

TEST_CASE("many parts of pairs that are short sums are written as their terms") {
    const std::string text =
        "r[i] := a[i,d]*u[d]\ns[i] := b[i,d]*u[d]\nP[i,p] := p == 0 ? r[i] : s[i] where p in 0:2";
    const auto given = [](std::int64_t rows, std::int64_t points) {
        return Given{{"a", {rows, points}}, {"b", {rows, points}}, {"u", {points}}};
    };
    CHECK(passed(text, given(5000, 2)).find("sum[") == std::string::npos);
    CHECK(passed(text, given(500, 2)).find("sum[") != std::string::npos);
    CHECK(passed(text, given(5000, 5)).find("sum[") != std::string::npos);
    CHECK(passed(text + "\nQ[i] := r[i]", given(5000, 2)).find("sum[") != std::string::npos);
}

TEST_CASE("sums stay that are long, results, dear on one side, or not read once at each point") {
    const auto stays = [](const std::string& text, const Given& given) {
        CAPTURE(text);
        CHECK(passed(text, given).find("sum[d") != std::string::npos);
    };
    stays("t[i,j] := x[i,d]*z[j,d]", {{"x", {50, 2}}, {"z", {60, 2}}});
    stays("y[i] := exp(sum[d](x[i,d]*z[j,d]))", {{"x", {50, 9}}, {"z", {60, 9}}});
    stays("t[i,j] := x[i,d]*z[j,d]\nm[i] := max[j](t[i,j])\ny[i] := exp(t[i,j] - m[i])",
          {{"x", {50, 2}}, {"z", {60, 2}}});
    stays("t[i,j] := x[i,d]*z[j,d]\ny[i] := sum[j in 0:59](t[i,j]*t[i,j+1])",
          {{"x", {50, 2}}, {"z", {60, 2}}});
    stays("t[i,j] := x[i,d]*z[j,d]\ny[i] := t[i,j]*t[j,i]", {{"x", {50, 2}}, {"z", {50, 2}}});
    stays("y[i] := max[j](sum[d](exp(x[i,d])*z[j,d]))", {{"x", {50, 2}}, {"z", {60, 2}}});
    stays("t[i,j] := x[i,d]*z[j,d]\ny[i,o] := t[i,j]*v[j,o]",
          {{"x", {50, 2}}, {"z", {60, 2}}, {"v", {60, 5}}});
}

}  // namespace
}  // namespace ricci::tests
