// tests/dsl/print_test.cpp – programs printed in the language, as short as they may be
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/print_term.h"
#include "dsl/program.h"
#include "tests/support/error_text.h"

using namespace ricci;

namespace {

/// What is printed of the program; checks that printing it again changes nothing.
std::string printed(const std::string& text) {
    const std::string once = str(parse_program(text));
    CHECK(str(parse_program(once)) == once);
    return once;
}
std::string canonical(const std::string& text) {
    const std::string once = str(canonicalise(parse_program(text)));
    CHECK_NOTHROW((void)parse_program(once));
    return once;
}
/// The right side of `y[i] := text`.
std::string value(const std::string& text) {
    const std::string all = printed("y[i] := " + text);
    return all.substr(std::string("y[i] := ").size());
}

}  // namespace

TEST_CASE("parentheses stand where precedence needs them") {
    CHECK(value("a[i] - (b[i]*c[i] + 1)/2") == "a[i] - (b[i]*c[i] + 1)/2");
    CHECK(value("((a[i]))*(b[i])") == "a[i]*b[i]");
    CHECK(value("a[i]/(b[i]/c[i])/d[i]") == "a[i]/(b[i]/c[i])/d[i]");
    CHECK(value("a[i]/(b[i]*c[i])*d[i]") == "a[i]/(b[i]*c[i])*d[i]");
    CHECK(value("a[i]*(b[i]/c[i])") == "a[i]*(b[i]/c[i])");
    CHECK(value("a[i]//2%3") == "a[i]//2%3");
    CHECK(value("-(a[i]*b[i])") == "-(a[i]*b[i])");
    CHECK(value("(-a[i])*b[i]") == "-a[i]*b[i]");
}

TEST_CASE("powers keep the parentheses of their base") {
    CHECK(value("(a[i]^2)^3 + a[i]^2^3") == "(a[i]^2)^3 + a[i]^2^3");
    CHECK(value("-a[i]^2 + (-a[i])^2") == "-a[i]^2 + (-a[i])^2");
    CHECK(value("2^-a[i] + a[i]^-1.5") == "2^-a[i] + a[i]^-1.5");
    CHECK(value("pow(a[i], b[i] + 1)") == "a[i]^(b[i] + 1)");
    CHECK(value("(-2)^a[i]") == "(-2)^a[i]");
}

TEST_CASE("conditions, comparisons and choices have blanks and few parentheses") {
    CHECK(value("(a[i] < 1 && b[i] >= 2) || !(c[i] == d[i]) ? 1 : 0") ==
          "a[i] < 1 && b[i] >= 2 || !(c[i] == d[i]) ? 1 : 0");
    CHECK(value("a[i] ? (b[i] ? 1 : 2) : c[i] ? 3 : 4") == "a[i] ? (b[i] ? 1 : 2) : c[i] ? 3 : 4");
    CHECK(value("(a[i] ? b[i] : c[i]) ? 1 : 2") == "(a[i] ? b[i] : c[i]) ? 1 : 2");
    CHECK(value("select(a[i] > 0, a[i], 0)") == "a[i] > 0 ? a[i] : 0");
    CHECK(value("(a[i] > 2) == (b[i] > 3)") == "(a[i] > 2) == (b[i] > 3)");
}

TEST_CASE("signs go with the terms of a sum") {
    CHECK(value("a[i] + -b[i] - -c[i]") == "a[i] - b[i] + c[i]");
    CHECK(value("a[i] - (b[i] - (c[i] - 2))") == "a[i] - b[i] + c[i] - 2");
    CHECK(value("-(a[i] - b[i])") == "-a[i] + b[i]");
    CHECK(value("2*(a[i] - (b[i] - 1))") == "2*(a[i] - (b[i] - 1))");
}

TEST_CASE("numbers are printed in the fewest digits that read back") {
    CHECK(str(Number(std::int64_t{2})) == "2");
    CHECK(str(Number(2.0)) == "2.0");
    CHECK(str(Number(0.5)) == "0.5");
    CHECK(str(Number(1e-5)) == "1e-5");
    CHECK(str(Number(1e20)) == "1e20");
    CHECK(str(Number(0.1 + 0.2)) == "0.30000000000000004");
    CHECK(str(Number(5e-324)) == "5e-324");
    CHECK(str(Number(-0.0)) == "-0.0");
    CHECK(str(Number(-std::numeric_limits<double>::infinity())) == "-inf");
    CHECK(str(Number(std::numeric_limits<double>::quiet_NaN())) == "nan");
    CHECK(str(Number(true)) == "true");
    CHECK(value("a[i] + 1e300 - 2.5e-7*b[i]") == "a[i] + 1e300 - 2.5e-7*b[i]");
}

TEST_CASE("index arithmetic and subscripts have no blanks") {
    CHECK(printed("Y[i] := A[2*i + 3] * (i + 1)") == "Y[i] := A[2*i+3]*(i+1)");
    CHECK(printed("Y[i] := x[$s*i + 1]*s where i in 0 : 3") ==
          "Y[i] := x[$s*i+1]*s where i in 0:3");
    CHECK(printed("Y[i] := sum[k | k - 1 >= i](A[k]) where i in 0:size(A, 0) - 1") ==
          "Y[i] := sum[k | k-1 >= i](A[k]) where i in 0:size(A,0)-1");
    CHECK(printed("Y[i] := A[i,0-3] + A[i,-3]") == "Y[i] := A[i,0-3] + A[i,size(A,1)-3]");
    CHECK(value("fma(a[i], 2, hypot(b[i], 1))") == "fma(a[i], 2, hypot(b[i], 1))");
    // The sign of a dividend is no sign of the quotient.
    for (const char* place : {"i%8+-2*i//7+3", "i+-2*i%7", "i+-2*i//7*3", "i-2*i//7", "9-6*i"})
        CHECK(printed(format("Y[i] := A[{}] where i in 0:4", place)) ==
              format("Y[i] := A[{}] where i in 0:4", place));
    CHECK(printed("Y[i] := A[i+(-2*i)//7] where i in 0:4") ==
          "Y[i] := A[i+-2*i//7] where i in 0:4");
}

TEST_CASE("sums that the convention implies are left out") {
    CHECK(printed("Y[n,o] := sum[k](W[o,k]*X[n,k]) + b[o]") == "Y[n,o] := W[o,k]*X[n,k] + b[o]");
    CHECK(printed("s := sum[i,j](A[i,j])") == "s := A[i,j]");
    CHECK(printed("P[i] *= prod[k](A[i,k] + 1)") == "P[i] *= A[i,k] + 1");
    CHECK(printed("M[i] max= max[k](A[i,k] - c[k])") == "M[i] max= A[i,k] - c[k]");
    CHECK(printed("y[i] := -sum[k](A[i,k]*x[k]) - sum[l](B[i,l])") ==
          "y[i] := -(A[i,k]*x[k]) - B[i,l]");
}

TEST_CASE("sums that would be read otherwise stay explicit") {
    CHECK(printed("y[i] := sum[k](A[i,k] + x[k])") == "y[i] := sum[k](A[i,k] + x[k])");
    CHECK(printed("y[i] := relu(sum[k](W[i,k]*x[k]) + b[i])") ==
          "y[i] := relu(sum[k](W[i,k]*x[k]) + b[i])");
    // One name would have one range, of A and of B.
    CHECK(printed("y[i] := sum[k](A[i,k]) - sum[k](B[i,k])") ==
          "y[i] := sum[k](A[i,k]) - sum[k](B[i,k])");
    CHECK(printed("y[i] := 2*sum[k](A[i,k])") == "y[i] := 2*sum[k](A[i,k])");
    CHECK(printed("y := sum[k | A[k] > 0](A[k])") == "y := sum[k | A[k] > 0](A[k])");
    CHECK(printed("y[i] := sum[k in 0:3](A[i,k]) + sum[k](A[i,k])") ==
          "y[i] := sum[k in 0:3](A[i,k]) + sum[k](A[i,k])");
    CHECK(printed("y[i] := prod[k](A[i,k]) + max[k](A[i,k])") ==
          "y[i] := prod[k](A[i,k]) + max[k](A[i,k])");
}

TEST_CASE("ranges are written when the user gave them") {
    CHECK(printed("y[i] := A[i+k]*F[k] where i in 0:4, k in 0:2") ==
          "y[i] := A[i+k]*F[k] where i in 0:4, k in 0:2");
    CHECK(printed("y[i] := 2*max[k in 0:3, l](A[i,k,l])") ==
          "y[i] := 2*max[k in 0:3, l](A[i,k,l])");
    CHECK(printed("O[i] := A[i+k]*F[k]") == "O[i] := A[i+k]*F[k]");
}

TEST_CASE("a gradient in gather form reads back as it is") {
    const std::string convolution =
        "dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:size(A,0)";
    CHECK(printed(convolution) == convolution);
    const std::string strided =
        "dA[p] := sum[r | (p-r)%2 == 0 && (p-r)//2 >= 0 && (p-r)//2 < size(dO,0)]"
        "(dO[(p-r)//2]*F[r]) where p in 0:size(A,0)";
    CHECK(printed(strided) == strided);
}

TEST_CASE("targets keep their forms and operators") {
    CHECK(printed("Y[0,j] := a[j]") == "Y[0,j] := a[j]");
    CHECK(printed("Y[_,j] := a[j]") == "Y[0,j] := a[j]");
    CHECK(printed("Y[i+_] := A[i-3] where i in 5:9") == "Y[i+_] := A[i-3] where i in 5:9");
    CHECK(printed("D[i,i] := a[i]") == "D[i,i] := a[i]");
    CHECK(printed("y[i] = y[i]*2; y[i] += x[i]; y[i] -= 1; y[i] min= 0") ==
          "y[i] = y[i]*2\ny[i] += x[i]\ny[i] -= 1\ny[i] min= 0");
    CHECK(printed("s[] := 2; t := s*x") == "s := 2\nt := s*x");
}

TEST_CASE("where-locals and definitions are gone") {
    CHECK(printed("def sq(x) = x*x; B[i,j] := u/sq(w) where u = a[i] + 3, w = b[j]") ==
          "B[i,j] := (a[i] + 3)/(b[j]*b[j])");
}

TEST_CASE("a temporary that is used once is written in its place") {
    CHECK(canonical("Y[i] := exp(sum[k](A[i,k]*x[k]) + b[i])") ==
          "Y[i] := exp(sum[k](A[i,k]*x[k]) + b[i])");
    CHECK(canonical("Y[i,j] := (X[i,j] - min[k](X[i,k]))*prod[l](X[l,j])") ==
          "Y[i,j] := (X[i,j] - min[k](X[i,k]))*prod[l](X[l,j])");
}

TEST_CASE("a temporary that is used twice is a statement") {
    CHECK(canonical("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - "
                    "max[l](X[i,l])))") ==
          "t1[i] := max[k](X[i,k])\n"
          "S[i,j] := exp(X[i,j] - t1[i])/sum[k](exp(X[i,k] - t1[i]))");
}

TEST_CASE("an update between keeps a temporary where it is") {
    // The maximum is of the old values.
    const std::string text = "M := max[k](A[k]); A[i] = 2*A[i]; Y[i] := A[i]/M";
    Program program = parse_program(text);
    program.tensors[position(program.equations[0].target)].role = Role::temporary;
    std::erase(program.outputs, program.equations[0].target);
    CHECK(str(program) == "M := max[k](A[k])\nA[i] = 2*A[i]\nY[i] := A[i]/M");
}

TEST_CASE("old values that are read after an update are copied before it") {
    Program program = parse_program("A[i] = 2*A[i]; Y[i] := A[i] + b[i]");
    Equation& reads = program.equations[1];
    reads.value = program.context->add(
        program.context->access(*program.equations[0].previous, reads.at), reads.value);
    CHECK(str(program) == "A_old[i1] := A[i1]\nA[i] = 2*A[i]\nY[i] := A_old[i] + A[i] + b[i]");
}

TEST_CASE("indices of one name are printed apart where they meet") {
    Program program = parse_program("Y[i] := sum[k](A[i,k])*x[i]");
    Context& context = *program.context;
    for (Index& index : program.indices) index.name = "i";
    CHECK(str(program) == "Y[i] := sum[i2](A[i,i2])*x[i]");
    CHECK(str(program, context.mul(program.equations[0].value, context.integer(2))) ==
          "sum[i2](A[i,i2])*x[i]*2");
}

TEST_CASE("tensors of one name are printed apart") {
    Program program = parse_program("Y[i] := a[i]*b[i]");
    program.tensors[position(program.arguments[1])].name = "a";
    CHECK(str(program) == "Y[i] := a[i]*a_[i]");
}

TEST_CASE("one equation or term is printed with every reduction explicit") {
    const Program program = parse_program("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    CHECK(str(program, program.equations[0]) == "Y[n,o] := sum[k](W[o,k]*X[n,k]) + b[o]");
    CHECK(str(program, program.equations[0].value) == "sum[k](W[o,k]*X[n,k]) + b[o]");
}

TEST_CASE("sizes that a cotangent shares with its output need no range") {
    // Said of dO: its size is that of the output of a convolution.
    const std::string text = "dF[k] := dO[t]*A[t+k] where k in 0:size(F,0)";
    Program program = parse_program(text);
    Context& context = *program.context;
    const auto size = [&](const char* name) { return context.size(*program.argument(name), 0); };
    program.tensors[position(*program.argument("dO"))].shape = {
        context.add(context.sub(size("A"), size("F")), context.integer(1))};
    for (Index& index : program.indices) index.is_explicit = false;
    CHECK(str(program) == "dF[k] := dO[t]*A[t+k]");
}

TEST_CASE("a text that grows beyond what a program may be is refused") {
    std::string text = "def d(x) = x*exp(x)\nY[i] := ";
    for (int n = 0; n < 40; ++n) text += "d(";
    text += "A[i]" + std::string(40, ')');
    const Program program = parse_program(text);
    CHECK(tests::error_text([&] { (void)str(program); }) ==
          "limit: written out, terms of the program are longer than 1048576 bytes\n"
          "  = hint: split the program: give shared parts statements of their own");
}

TEST_CASE("a program of thousands of statements is printed at once") {
    std::string text;
    for (int n = 0; n < 3000; ++n) text += "Y[i] += B[i,k]*" + std::to_string(n + 2) + "\n";
    const std::string once = str(parse_program(text));
    CHECK(once + "\n" == text);
}
