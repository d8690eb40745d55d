// tests/codegen/exact_quotients_test.cpp – sums over the points at which a quotient is exact
#include "codegen/exact_quotients.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/residue_classes.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

std::string classes_of(const std::string& text, const Signature& signature) {
    const std::string all = str(codegen::with_residue_classes(bound(text, signature), 0));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
bool has_quotient(const std::string& text) {
    return text.find("//") != std::string::npos || text.find('%') != std::string::npos;
}

/// By classes and as written, on several machines.
void check(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    check_values(text, signature);
    for (const int vector_bytes : {64, 32}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::rewritings;
        CHECK(interpreted_difference(bound(text, signature), signature, target) == "");
    }
}

}  // namespace

TEST_CASE("sums over points whose quotients are exact run over residue classes") {
    CHECK(classes_of("Y[t] := sum[r | (t+1-r)%2 == 0 && t+1-r >= 0 && (t+1-r)//2 < 9]"
                     "(X[(t+1-r)//2]*W[r]) where t in 0:18",
                     {{"X", array({9})}, {"W", array({4})}}) ==
          "for t.3 in 0:9:\n"
          "  Y.2[2*t.3] := f32 sum[r.4 in 0:2 | t.3-1*r.4 >= -1 && t.3-1*r.4 < 10 && "
          "2*t.3+1-(2*r.4+1) >= 0 && t.3-1*r.4 < 9](X.0[t.3-1*r.4]*W.1[2*r.4+1])\n"
          "for t.5 in 0:9:\n"
          "  Y.3[2*t.5+1] = f32 sum[r.6 in 0:2 | t.5-1*r.6+1 >= -1 && t.5-1*r.6+1 < 10 && "
          "2*t.5+2-2*r.6 >= 0 && t.5-1*r.6+1 < 9](X.0[t.5-1*r.6+1]*W.1[2*r.6])\n");
}

TEST_CASE("no quotient is left, whichever way the condition is written") {
    const Signature signature = {{"X", array({12})}, {"W", array({5})}};
    for (const char* text :
         {"Y[t] := sum[r | 0 == (t-r)%3 && t-r >= 0 && (t-r)//3 < 12](X[(t-r)//3]*W[r]) "
          "where t in 0:36",
          "Y[t] := sum[r | (t-r)%3 == 0 && t-r >= 0 && (t-r+3)//3 < 12](X[(t-r+3)//3]*W[r]) "
          "where t in 0:33",
          "Y[t] := sum[r | (2*r+t)%3 == 0 && (2*r+t)//3 < 12](X[(2*r+t)//3]*W[r]) "
          "where t in 0:28",
          "Y[r] := sum[t in 0:30 | (t-r)%2 == 0 && t-r >= 0 && (t-r)//2 < 12](X[(t-r)//2]*W[r]) "
          "where r in 0:5"}) {
        CAPTURE(text);
        CHECK_FALSE(has_quotient(classes_of(text, signature)));
        check(text, signature);
    }
}

TEST_CASE("other divisions stay as they are, and have their values") {
    const Signature signature = {{"X", array({40})}, {"W", array({5})}};
    for (const char* text :
         {"Y[t] := sum[r | (t-r)%3 == 1 && t-r >= 0](X[(t-r)//3]*W[r]) where t in 0:36",
          "Y[t] := sum[r | t%3 == 0](X[t+r]*W[r]) where t in 0:36",
          "Y[t] := sum[r | r%3 == 0](X[t+r]*W[r]) where t in 0:36",
          "Y[t] := max[r | (t-r+6)%3 == 0](X[(t-r+6)//3]*W[r]) where t in 0:36",
          // The quotient that is read is another one.
          "Y[t] := sum[r | (t-r)%4 == 0 && t-r >= 0](X[(t-r)//2]*W[r]) where t in 0:36"})
        check(text, signature);
}

TEST_CASE("elements that a target does not name are cleared") {
    const auto is_cleared = [](const std::string& text, const Signature& signature) {
        const BoundProgram classes = codegen::with_residue_classes(bound(text, signature), 0);
        REQUIRE(classes.equations.size() > 1);
        return !classes.at(classes.equations[0].target).is_partial;
    };
    const std::string sum = " := sum[y | t-2*y >= 0 && t-2*y < 3](X[y]*W[t-2*y]) where t in 0:12";
    CHECK(is_cleared("Y[t,t]" + sum, {{"X", array({5})}, {"W", array({3})}}));
    CHECK_FALSE(is_cleared("Y[t]" + sum, {{"X", array({5})}, {"W", array({3})}}));
    check(
        "Y[t,t] := sum[r | (t-r)%2 == 0 && t-r >= 0 && (t-r)//2 < 5](X[(t-r)//2]*W[r]) "
        "where t in 0:12",
        {{"X", array({5})}, {"W", array({4})}});
    check("Y[t,t] := sum[y | t-2*y >= 0 && t-2*y < 3](X[y]*W[t-2*y]) where t in 0:12",
          {{"X", array({5})}, {"W", array({3})}});
}

TEST_CASE("a transposed convolution that is written as a gather has its values") {
    check(
        "Y[o,y,x] := sum[c,r,s | (y+1-r)%2 == 0 && (x+1-s)%2 == 0 && y+1-r >= 0 && x+1-s >= 0 "
        "&& (y+1-r)//2 < size(X,1) && (x+1-s)//2 < size(X,2)]"
        "(X[c,(y+1-r)//2,(x+1-s)//2]*W[c,o,r,s]) where y in 0:2*size(X,1), x in 0:2*size(X,2)",
        {{"X", array({2, 4, 5})}, {"W", array({2, 3, 4, 4})}});
}

}  // namespace ricci::tests
