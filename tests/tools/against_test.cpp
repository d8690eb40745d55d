// tests/tools/against_test.cpp – ricci check --against: gradients written by hand
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/runtime/temporary_folder.h"
#include "tests/tools/command.h"

namespace ricci::tests {
namespace {

/// `ricci check` against a file of that text, called `hand.ricci`.
Outcome check(const std::string& program, std::vector<std::string> words, const std::string& file) {
    const TemporaryFolder folder;
    write_bytes(folder / "hand.ricci", file);
    words.insert(words.begin(), {"check", program});
    words.insert(words.end(), {"--against", "hand.ricci"});
    return ricci_command(folder.path().string(), words);
}

/// The table with its times, which are numbers, replaced by `T`.
std::string without_times(const std::string& table) {
    return std::regex_replace(table, std::regex(" +[0-9.]+ +[0-9.]+  (ok|WRONG)\n"), " T T $1\n");
}

const std::string head =
    "what       shape            type difference at               generated       by hand "
    "generated us   by hand us\n";
const std::string linear = "Y[n,o] := W[o,k]*X[n,k] + b[o]";
const std::vector<std::string> sizes = {"W=2x3:arange", "X=4x3:ones", "b=2:f32"};

TEST_CASE("gradients by hand that are right are compared and timed") {
    const Outcome outcome = check(linear, sizes,
                                  "# one after the other\n"
                                  "dW[o,k] := dY[n,o]*X[n,k]\n"
                                  "db[o] := sum[n](dY[n,o])\n");
    CHECK(outcome.err.empty());
    CHECK(outcome.status == 0);
    CHECK(without_times(outcome.out) == head +
                                            "dW         [2, 3]           f32           0 T T ok\n"
                                            "db         [2]              f32           0 T T ok\n");
}

TEST_CASE("a gradient that is wrong is shown with its place, both values and both times") {
    std::vector<std::string> words = sizes;
    words.push_back("dY=4x2:ones");
    const Outcome outcome = check(linear, words,
                                  "dW[o,k] := dY[n,o]*X[n,k]*(o == 1 && k == 2 ? 1.5 : 1)\n"
                                  "dX[n,k] := dY[n,o]*W[o,k]\n");
    CHECK(outcome.status == 1);
    CHECK(without_times(outcome.out) ==
          head +
              "dW         [2, 3]           f32        0.33 [1, 2]                   4             "
              "6 T T WRONG\n"
              "dX         [4, 3]           f32           0 T T ok\n");
    CHECK(outcome.err ==
          "dW: at [1, 2] generated 4, hand.ricci 6: a relative difference of 0.33\n");
    words.insert(words.end(), {"--tolerance", "0.5"});
    const std::string wrong = "dW[o,k] := dY[n,o]*X[n,k]*(o == 1 && k == 2 ? 1.5 : 1)";
    CHECK(check(linear, words, wrong).status == 0);
}

TEST_CASE("gradients by hand may read the outputs, update cotangents, and be of numbers") {
    const auto passes = [](const std::string& program, const std::vector<std::string>& words,
                           const std::string& file) {
        const Outcome outcome = check(program, words, file);
        CAPTURE(outcome.out);
        CHECK(outcome.err.empty());
        CHECK(outcome.status == 0);
    };
    passes("y[i] := tanh(x[i])", {"x=50:f32"}, "dx[i] := dy[i]*(1 - y[i]^2)");
    passes("y[i] := tanh(x[i])", {"x=50:f16"}, "dx[i] := dy[i]*(1 - y[i]^2)");
    passes("B[i] *= s[i]", {"B=5:f32", "s=5:f32"},
           "t[i] := dB[i]; dB[i] = dB[i]*s[i]; ds[i] := B[i]*t[i]");
    passes("y[i] := a*x[i]", {"a=2", "x=5:f32"}, "da := dy[i]*x[i]; dx[i] := a*dy[i]");
    passes("m := max[k](x[k])", {"x=4:f32:ones", "--ties", "even"},
           "dx[k] := dm/size(x,0) + 0*x[k]");
}

const std::string of_complex = "V[i] := V0[i]*(1 + 2i); Y[i] := V[i]*z[i]";

TEST_CASE("complex gradients by hand are compared as they are: the cotangent of z is conjugated") {
    const std::vector<std::string> words = {"V0=3:c64:arange", "z=3:c64:ones"};
    const Outcome right = check(of_complex, words,
                                "dz[i] := dY[i]*conj(V[i])\n"
                                "dV0[i] := dY[i]*conj((1 + 2i)*z[i])\n");
    CAPTURE(right.out);
    CHECK(right.err.empty());
    CHECK(right.status == 0);
    CHECK(std::regex_search(right.out, std::regex("dV0 +\\[3\\] +c64 .* [0-9.]+ +[0-9.]+  ok\n")));
    CHECK(std::regex_search(right.out, std::regex("dz +\\[3\\] +c64 .* [0-9.]+ +[0-9.]+  ok\n")));

    // Real arguments of complex programs have real gradients.
    const Outcome real = check("Y[i] := x[i]*z[i]", {"x=5:f32", "z=5:c64"},
                               "dx[i] := real(dY[i]*conj(z[i])); dz[i] := dY[i]*x[i]");
    CHECK(real.err.empty());
    CHECK(real.status == 0);
    CHECK(check("Y[i] := x[i]*z[i]", {"x=5:f32", "z=5:c64"}, "dx[i] := dY[i]*conj(z[i])")
              .err.starts_with("type: `dx` is of c128, the argument `x` of f64\n"));
}

TEST_CASE("a complex gradient that is wrong in one element is shown with its place and values") {
    const TemporaryFolder folder;
    write_bytes(folder / "hand.ricci", "dz[i] := dY[i]*conj(V[i]) + (i == 1 ? 2.5i*dY[i] : 0)");
    const auto run = [&](std::vector<std::string> words) {
        return ricci_command(folder.path().string(), words);
    };
    CHECK(run({"run", "dY[i] := 1i + 0*x[i]", "x=3:f64:zeros", "-o", "dY.npy"}).status == 0);
    const Outcome wrong = run({"check", of_complex, "V0=3:c128:arange", "z=3:c128:ones",
                               "dY=dY.npy", "--against", "hand.ricci"});
    CHECK(wrong.status == 1);
    // conj(1 + 2i)*i = 2 + i, and 2.5i*i = -2.5 beside it.
    CHECK(without_times(wrong.out) ==
          "what       shape            type difference at                           generated      "
          "             by hand generated us   by hand us\n"
          "dz         [3]              c128       0.87 [1]                               2+1i "
          "                  -0.5+1i T T WRONG\n");
    CHECK(wrong.err ==
          "dz: at [1] generated 2+1i, hand.ricci -0.5+1i: a relative difference of "
          "0.87\n");
}

TEST_CASE("a complex gradient of the convention without conjugates is wrong") {
    const Outcome outcome = check(of_complex, {"V0=3:c128:arange", "z=3:c128"},
                                  "dz[i] := dY[i]*V[i]\n"
                                  "dV0[i] := dY[i]*(1 + 2i)*z[i]\n");
    CHECK(outcome.status == 1);
    CHECK(std::regex_search(outcome.out, std::regex("dV0 .*  WRONG\n")));
    CHECK(std::regex_search(outcome.out, std::regex("dz .*  WRONG\n")));
}

TEST_CASE("printed gradients are programs that agree with what they were printed from") {
    const auto passes = [](const std::string& program, const std::string& argument,
                           const std::vector<std::string>& words, const std::string& ties) {
        const TemporaryFolder folder;
        const Outcome printed = ricci_command(folder.path().string(),
                                              {"grad", program, "--wrt", argument, "--ties", ties});
        const Outcome outcome = [&] {
            std::vector<std::string> all = words;
            all.insert(all.end(), {"--ties", ties});
            return check(program, all, printed.out);
        }();
        CAPTURE(printed.out);
        CHECK(outcome.err.empty());
        CHECK(outcome.status == 0);
    };
    for (const std::string ties : {"first", "even", "zero"}) {
        CAPTURE(ties);
        // Rows of which the condition leaves nothing have no place of their largest value.
        passes("V[i] := max[j,k | H[i,j,k] > 3.5](X[j,k])", "X", {"H=2x3x2:arange", "X=3x2"}, ties);
        passes("V[i] := min[j,k | K[j,k] >= 0](X[i+K[j,k]]) where i in 0:2", "X",
               {"K=3x2:i64:randint(-3,2):1", "X=3:f64"}, ties);
        // Subscripts are kept inside by conditions that a number of the caller stands in.
        passes("U[i,j] := E[i,j+$offset] + F[j+3]", "F", {"E=2x6", "F=7:f32", "offset=0"}, ties);
        passes("U[i,j] := E[i,j+$offset]*F[j+3]*G[i,j]", "F",
               {"E=2x6", "F=7:f32", "G=2x4", "offset=2"}, ties);
        passes("V[i+_] := E[i+$offset]*F[i+3]", "F", {"E=6:f32", "F=7:f32", "offset=2"}, ties);
        passes("s := max[i](E[i+$offset]*F[i+3])", "F", {"E=6:f32", "F=7:f32", "offset=2"}, ties);
        // What ties share is gathered inside of what the conditions around it let happen.
        passes("T[i,j] := min[k](B[j+i,K[k]+1]) where i in 0:2", "B", {"B=7x3", "K=2:i64:zeros"},
               ties);
    }
}

TEST_CASE("a file that is wrong is told") {
    const auto error = [&](const std::string& file) {
        const Outcome outcome = check(linear, sizes, file);
        CHECK(outcome.status == 1);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(error("dW[o,k] := dY[n,o]*Z[n,k]") ==
          "name: `Z` is no argument or output of `Y`, and not its cotangent `dY`\n"
          "  --> hand.ricci:1:20\n"
          "  | dW[o,k] := dY[n,o]*Z[n,k]\n"
          "  |                    ^\n"
          "  = hint: there are `W`, `X`, `b`, `Y`, `dY`\n");
    CHECK(error("dW[k,o] := dY[n,o]*X[n,k]") ==
          "shape: `dW` is [3, 2], the argument `W` [2, 3]\n"
          "  --> hand.ricci:1:1\n"
          "  | dW[k,o] := dY[n,o]*X[n,k]\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: give `dW` the shape of `W`\n");
    CHECK(error("dW[o,k] := 1i*dY[n,o]*X[n,k]") ==
          "type: `dW` is of c128, the argument `W` of f64\n"
          "  --> hand.ricci:1:1\n"
          "  | dW[o,k] := 1i*dY[n,o]*X[n,k]\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: take the real part: `real(…)`\n");
    CHECK(error("dV[o] := dY[n,o]") ==
          "name: `hand.ricci` makes `dV`, and no gradient of an argument of `Y`\n"
          "  = hint: the gradients are `dW`, `dX`, `db`\n");
    CHECK(error("dW[o,k] := dY[n,o]*X[n,k") ==
          "syntax: expected `]`, found the end of the program\n"
          "  --> hand.ricci:1:25\n"
          "  | dW[o,k] := dY[n,o]*X[n,k\n"
          "  |                     ~   ^\n"
          "  |                     opened here\n"
          "  = hint: close it with `]`\n");
    const TemporaryFolder folder;
    const Outcome missing = ricci_command(folder.path().string(),
                                          {"check", "y := x", "x=2", "--against", "nowhere.ricci"});
    CHECK(missing.status == 1);
    CHECK(missing.err == "io: cannot read `nowhere.ricci`: No such file or directory\n");
}

}  // namespace
}  // namespace ricci::tests
