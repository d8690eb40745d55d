// tests/codegen/lane_span_test.cpp – of rows that are needed in part no more is computed
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// The loops of the rows that the first kernel writes, where the program is computed as it says.
std::string loops_of(const std::string& text, const Signature& signature,
                     const std::string& target) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    std::string found;
    for (const int vector_bytes : {16, 64}) {
        const codegen::Plan plan = codegen::plan(program, example_target(vector_bytes));
        CHECK(interpreted_difference(program, signature, plan) == "");
        for (const codegen::Nest& nest : plan.nests) {
            const std::string loops = str(nest);
            if (vector_bytes == 16 || loops.find("out " + target + ":") == std::string::npos)
                continue;
            for (std::size_t at = loops.find("0 in "); at != std::string::npos;
                 at = loops.find("0 in ", at + 1))
                found += loops.substr(at + 5, loops.find('\n', at) - at - 5) + "; ";
        }
    }
    CHECK(compiled_difference(program, signature) == "");
    return found;
}

const Signature square = {{"A", array({90, 300})}};

}  // namespace

TEST_CASE("a triangle is computed up to the diagonal, the rest of its rows filled") {
    CHECK(loops_of("Y[i,j] := j <= i ? exp(A[i,j]) : 0", square, "Y") ==
          "0..208 by 16; 0..min(80, 16*j0_last) by 16; max(0, 16*j0_last)..80 by 16; ");
    CHECK(loops_of("Y[i,j] := j > 2*i - 7 ? exp(A[i,j]) : A[i,j]", square, "Y") ==
          "0..min(288, 16*j0_first - 16) by 16; max(0, 16*j0_first - 16)..288 by 16; ");
    CHECK(loops_of("Y[i,j] := j >= i-40 && j < i+30 ? exp(A[i,j]) : -1.5", square, "Y") ==
          "0..176 by 16; 0..min(112, 16*j0_first - 48) by 16; max(0, 16*j0_first - 48)..min(112, "
          "16*j0_last) by 16; max(0, 16*j0_first - 48, 16*j0_last)..112 by 16; ");
    CHECK(loops_of("Y[i,j] := j >= i && A[i,j] > 0 ? exp(A[i,j]) : A[0,j]", square, "Y") ==
          "0..208 by 16; 0..min(80, 16*j0_first) by 16; max(0, 16*j0_first)..80 by 16; ");
}

TEST_CASE("no point of a row is written twice, whatever is left of it") {
    for (const std::string text : {
             "A[i,j] = j >= i && j < 60-i ? exp(A[i,j]) : 2*A[i,j]",
             "A[i,j] = j <= i ? exp(A[i,j]) : A[i,j] + 1",
             "Y[i,j] := j >= 2*i && j < 60-i ? exp(A[i,j]) : A[i,j]",
             "Y[i,j] := j >= i+400 ? exp(A[i,j]) : A[i,j]",
         }) {
        CAPTURE(text);
        CHECK(compiled_difference(bound(text, square), square) == "");
        check_values(text, {{"A", array({40, 80})}});
    }
}

TEST_CASE("what later kernels read of a temporary in part is computed in that part") {
    CHECK(loops_of("E[i,j] := exp(A[i,j]); y[i] := sum[j | j <= i](E[i,j]);"
                   "z[i] := y[i] + max[j | j <= i](E[i,j])",
                   square,
                   "E") == "0..min(288, 16*j0_last) by 16; max(0, 16*j0_last)..288 by 16; ");
    CHECK(loops_of("E[i,j] := exp(A[i,j]); y[i] := sum[j | j >= i+3](E[i,j]);"
                   "z[i] := y[i] + max[j | j >= i+5](E[i,j])",
                   {{"A", array({200, 300})}},
                   "E") == "0..min(288, 16*j0_first) by 16; max(0, 16*j0_first)..288 by 16; ");
}

TEST_CASE("what nothing reads of a row is 0, not the branch of a choice that data decides") {
    const std::string readers =
        "y[i] := sum[j | j <= i](E[i,j]); z[i] := y[i] + max[j | j <= i](E[i,j])";
    const Signature signature = {{"A", array({90, 300})}, {"D", array({90, 300})}};
    for (const std::string value : {"A[i,j] > 0 ? exp(A[i,j]) : exp(D[i,j])",
                                    "D[i,j] > 0 ? exp(A[i,j]) : 0", "exp(A[i,j])*D[i,j]"}) {
        const std::string text = "E[i,j] := " + value + "; " + readers;
        CAPTURE(text);
        const BoundProgram program = bound(text, signature);
        const codegen::Plan plan = codegen::plan(program, example_target(64));
        const std::string loops = str(plan.nests.front());
        CHECK(loops.find("E[300*i + j0 + l] = 0.0") != std::string::npos);
        CHECK(compiled_difference(program, signature) == "");
    }
}

TEST_CASE(
    "rows are computed whole where no condition tells one from the other, or where they are "
    "short") {
    CHECK(loops_of("Y[i,j] := j <= 100 ? exp(A[i,j]) : 0", square, "Y") ==
          "0..192 by 16; 0..96 by 16; ");
    CHECK(loops_of("Y[i,j] := 2*j <= i ? exp(A[i,j]) : 0", square, "Y") ==
          "0..240 by 16; 0..32 by 16; ");
    CHECK(loops_of("Y[i,j] := j != i ? exp(A[i,j]) : 0", square, "Y") == "0..288 by 16; ");
    CHECK(loops_of("Y[i,j] := A[i,j] > 0 ? exp(A[i,j]) : 0", square, "Y") ==
          "13504*task..min(26992, 13504*task + 13504) by 16; ");
    CHECK(loops_of("Y[i,j] := j <= i ? exp(A[i,j]) : 0", {{"A", array({90, 60})}}, "Y") ==
          "0..48 by 16; ");
}

}  // namespace ricci::tests
