// tests/tools/commands_test.cpp – ricci grad, explain, check, bench, einsum, emit, info
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/array.h"
#include "tests/runtime/temporary_folder.h"
#include "tests/support/set_variable.h"
#include "tests/tools/command.h"

namespace ricci::tests {
namespace {

const std::string linear = "Y[n,o] := W[o,k]*X[n,k] + b[o]";

Outcome run(const std::vector<std::string>& words) {
    const TemporaryFolder folder;
    return ricci_command(folder.path().string(), words);
}

TEST_CASE("grad prints each gradient under its name") {
    const Outcome outcome =
        run({"grad", linear, "--wrt", "W,b", "W=2x3:zeros", "X=4x3:ones", "b=2:f32"});
    CHECK(outcome.err.empty());
    CHECK(outcome.status == 0);
    CHECK(outcome.out ==
          "dW =\n"
          "[[4, 4, 4],\n"
          " [4, 4, 4]]\n"
          "db =\n"
          "[4, 4]\n");
}

TEST_CASE("grad without arguments prints the gradients as programs") {
    const Outcome outcome = run({"grad", linear, "--wrt", "W,b"});
    CHECK(outcome.err.empty());
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "dW[o,k] := dY[n,o]*X[n,k]\ndb[o] := dY[n,o]\n");
}

TEST_CASE("grad takes cotangents and writes files") {
    const TemporaryFolder folder;
    save_npy(folder / "dy.npy", Array::from<float>({1, 10}, {1, 2}));
    const Outcome outcome =
        ricci_command(folder.path().string(), {"grad", linear, "--wrt", "W", "W=2x3", "X=1x3:ones",
                                               "b=2:f32", "dY=dy.npy", "-o", "dW=dw.npy"});
    CHECK(outcome.err.empty());
    CHECK(outcome.status == 0);
    CHECK(str(load_npy(folder / "dw.npy")) ==
          "[[ 1,  1,  1],\n"
          " [10, 10, 10]]");
}

TEST_CASE("a cotangent of an earlier output leaves the others zero") {
    const std::string program = "a := x^2; b := 10*a";
    CHECK(run({"grad", program, "--wrt", "x", "x=3"}).out == "60\n");
    CHECK(run({"grad", program, "--wrt", "x", "x=3", "da=1"}).out == "6\n");
    CHECK(run({"grad", program, "--wrt", "x", "x=3", "da=1", "db=1"}).out == "66\n");
}

TEST_CASE("grad --forward prints or evaluates tangents") {
    CHECK(run({"grad", linear, "--wrt", "W,b", "--forward"}).out ==
          "dY[n,o] := dW[o,k]*X[n,k] + db[o]\n");
    const std::string square = "y[i] := x[i]^2*s; z[i] := 3*y[i]";
    CHECK(run({"grad", square, "--wrt", "x", "--forward", "x=3:arange", "s=2"}).out ==
          "[ 0, 12, 24]\n");
    CHECK(run({"grad", square, "--wrt", "x,s", "--forward", "x=3:arange", "s=2", "ds=1"}).out ==
          "[ 0,  3, 12]\n");
    CHECK(run({"grad", "B[i] *= s[i]", "--wrt", "B", "--forward", "B=2:ones", "s=2:arange",
               "dB=2:ones"})
              .out == "[0, 1]\n");
}

TEST_CASE("cotangents and tangents of another shape are told whose they should have") {
    const auto error = [](std::vector<std::string> words) {
        const std::vector<std::string> before = {"grad", "Y[i,j] := x[i]^2*A[i,j]", "x=3:f32",
                                                 "A=3x2"};
        words.insert(words.begin(), before.begin(), before.end());
        const Outcome outcome = run(std::move(words));
        CHECK(outcome.status == 1);
        return outcome.err;
    };
    CHECK(error({"--wrt", "x", "--forward", "dx=4:f32"}) ==
          "shape: dimension 0 of `dx` has the extent 4, not 3\n"
          "  = hint: give `dx` the shape of `x`\n");
    CHECK(error({"--wrt", "x", "dY=3x4"}) ==
          "shape: dimension 1 of `dY` has the extent 4, not 2\n"
          "  = hint: give `dY` the shape of `Y`\n");
}

TEST_CASE("grad --forward writes the tangents that -o names") {
    const TemporaryFolder folder;
    const Outcome outcome = ricci_command(
        folder.path().string(), {"grad", "y[i] := x[i]^2; z[i] := 3*y[i]", "--wrt", "x",
                                 "--forward", "x=3:arange", "-o", "dy=a.npy", "-o", "dz=b.npy"});
    CHECK(outcome.err.empty());
    CHECK(load_npy(folder / "a.npy").at({2}) == 4);
    CHECK(load_npy(folder / "b.npy").at({2}) == 12);
    const Outcome wrong =
        run({"grad", "y[i] := x[i]^2", "--wrt", "x", "--forward", "x=3:arange", "-o", "dq=a.npy"});
    CHECK(wrong.status == 1);
    CHECK(wrong.err == "name: there is no output `dq`\n  = hint: the tangents are `dy`\n");
}

TEST_CASE("grad of what grad printed is a derivative of higher order") {
    const TemporaryFolder folder;
    const std::string place = folder.path().string();
    const auto derived = [&](const std::string& program, std::vector<std::string> words) {
        words.insert(words.begin(), {"grad", program});
        const Outcome outcome = ricci_command(place, words);
        CHECK(outcome.err.empty());
        return outcome.out;
    };
    std::ofstream(folder / "first.ricci") << derived("y[i] := x[i]^4", {"--wrt", "x"});
    std::ofstream(folder / "second.ricci") << derived("@first.ricci", {"--wrt", "x", "--forward"});
    CHECK(derived("@first.ricci", {"--wrt", "x"}) == "dx_[i] := 12*x[i]^2*ddx[i]*dy[i]\n");
    CHECK(derived("@second.ricci", {"--wrt", "x"}) == "dx[i] := 24*x[i]*dddx[i]*dx_[i]*dy[i]\n");
}

TEST_CASE("grad names what is wrong") {
    const Outcome outcome = run({"grad", linear, "--wrt", "V", "W=2x3", "X=4x3", "b=2:f32"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err == "name: `Y` has no argument `V`\n  = hint: `Y` takes `W`, `X`, `b`\n");
    CHECK(run({"grad", linear, "W=2x3"}).status == 2);
    CHECK(
        run({"grad", linear, "--wrt", "W,b", "W=2x3", "X=4x3", "b=2:f32", "-o", "d.npy"}).status ==
        2);
    const Outcome shape =
        run({"grad", linear, "--wrt", "W", "W=2x3", "X=4x3", "b=2:f32", "dY=3x2"});
    CHECK(shape.status == 1);
    CHECK(shape.err.starts_with("shape: "));
}

TEST_CASE("an argument of integers has no gradient, and is shown") {
    const Outcome outcome =
        run({"grad", "Y[i] := I[i]*x[i]", "--wrt", "x,I", "x=3:f32", "I=3:i32:ones"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err ==
          "gradient: the argument `I` has type i32, which has no gradient\n"
          "  | Y[i] := I[i]*x[i]\n"
          "  |         ^\n"
          "  = hint: convert it to f32 or f64\n");
}

TEST_CASE("equal values share as --ties says") {
    const auto gradient = [&](const std::string& ties) {
        return run({"grad", "m := max[k](a[k])", "--wrt", "a", "a=4:ones", "--ties", ties}).out;
    };
    CHECK(gradient("first") == "[1, 0, 0, 0]\n");
    CHECK(gradient("even") == "[0.25, 0.25, 0.25, 0.25]\n");
    CHECK(gradient("zero") == "[0, 0, 0, 0]\n");
    CHECK(run({"grad", "m := max[k](a[k])", "--wrt", "a", "--forward", "a=4:ones", "da=4:arange",
               "--ties", "even"})
              .out == "1.5\n");
    CHECK(run({"grad", "y max= x", "--wrt", "x", "--ties", "zero"}).out ==
          "dx := y >= x || isnan(y) ? 0 : dy\n");
    CHECK(run({"explain", "m := max[k](a[k])", "--stage", "gradient", "--ties", "even"}).out ==
          "# gradient of da\n"
          "# for k: da[k] += dm/t2 if a[k] == t1 || isnan(a[k])\n"
          "#   k: by name\n"
          "#   one point for each element\n"
          "# kept from the forward: t1 := max[k](a[k])\n"
          "# kept from the forward: t2 := sum[k | a[k] == t1 || isnan(a[k])](1)\n"
          "t1 := max[k](a[k])\n"
          "da[k] := a[k] == t1 || isnan(a[k]) ? dm/sum[k2 | a[k2] == t1 || isnan(a[k2])](1) : 0\n");
    const Outcome wrong = run({"grad", "y max= x", "--wrt", "x", "--ties", "odd"});
    CHECK(wrong.status == 2);
    CHECK(wrong.err ==
          "--ties: odd not in {first,even,zero}\nRun with --help for more information.\n");
    for (const std::string ties : {"first", "even", "zero"}) {
        const Outcome checked = run(
            {"check", "P[i] := max[k in 0:3](a[2*i+k])", "--ties", ties, "a=11:f32:randint(0,2)"});
        CAPTURE(checked.out);
        CHECK(checked.err.empty());
        CHECK(checked.status == 0);
    }
}

TEST_CASE("--expand multiplies the program out, and so its gradients") {
    const std::string distance = "D[i,j] := (W[k,i]-X[k,j])^2";
    CHECK(run({"grad", distance, "--wrt", "W", "--expand"}).out ==
          "dW[k,i] := -(dD[i,j]*2)*X[k,j] + 2*sum[j](dD[i,j])*W[k,i]\n");
    CHECK(run({"explain", distance, "--stage", "canonical", "--expand"}).out ==
          "# canonical of D\n"
          "t1[i] := sum[k](W[k,i]*W[k,i])\n"
          "t2[j] := sum[k](X[k,j]*X[k,j])\n"
          "t3[i,j] := sum[k](W[k,i]*X[k,j])\n"
          "D[i,j] := t1[i] + t2[j] - 2*t3[i,j]\n");
    CHECK(run({"check", distance, "--expand", "W=7x5:f64", "X=7x4:f64"}).status == 0);
}

TEST_CASE("what is asked for twice is refused") {
    const std::string end = "\nRun with --help for more information.\n";
    const auto refused = [&](std::vector<std::string> words) {
        const Outcome outcome = run(std::move(words));
        CHECK(outcome.status == 2);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(refused({"grad", linear, "--wrt", "W,b,W"}) == "--wrt: `W` is named twice" + end);
    CHECK(refused({"explain", linear, "--wrt", "W,W"}) == "--wrt: `W` is named twice" + end);
    CHECK(refused({"emit", "y[i] := x[i]", "x=3:f32", "--outputs", "y,y", "--target", "cpp", "-o",
                   "y.cpp"}) == "--outputs: `y` is named twice" + end);
    CHECK(refused({"run", "a := 1; b := 2", "-o", "b=x.npy", "-o", "b=y.npy"}) ==
          "-o b=y.npy: `b` is written to `x.npy` already" + end);
    CHECK(refused({"run", "a := 1; b := 2", "-o", "x.npy", "-o", "y.npy"}) ==
          "-o y.npy: the result is written to `x.npy` already" + end);
}

TEST_CASE("explain shows the explicit form and the gradients") {
    const Outcome outcome = run({"explain", linear});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("# program of Y\nY[n,o] := sum[k](W[o,k]*X[n,k]) + b[o]\n") !=
          std::string::npos);
    CHECK(outcome.out.find("# gradient of dW\n# for n, o: dt1[n,o] += dY[n,o]\n") !=
          std::string::npos);
    CHECK(outcome.out.find("# for n, o, k: dW[o,k] += dY[n,o]*X[n,k]\n"
                           "#   o, k: by name\n"
                           "#   sum over n\n"
                           "# kept from the forward: nothing but arguments\n"
                           "dW[o,k] := dY[n,o]*X[n,k]\n") != std::string::npos);
    CHECK(outcome.out.find("# kept from the forward: nothing but arguments\n"
                           "db[o] := dY[n,o]\n") != std::string::npos);
}

TEST_CASE("names may stand apart") {
    CHECK(run({"grad", linear, "--wrt", "W, b"}).out == run({"grad", linear, "--wrt", "W,b"}).out);
}

TEST_CASE("check says where nothing was compared") {
    const Outcome outcome = run({"check", "y[i] := norm[k](z[i,k])", "z=2x2:f32:zeros"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("2  nothing compared\n") != std::string::npos);
    CHECK(outcome.out.find("ok") == std::string::npos);
}

TEST_CASE("explain tells how each read was inverted") {
    const auto derivation = [](const std::string& program, const std::string& argument) {
        const Outcome outcome = run({"explain", program, "--stage", "gradient", "--wrt", argument});
        CHECK(outcome.status == 0);
        CHECK(outcome.err == "");
        std::string lines;
        for (std::size_t from = outcome.out.find('\n') + 1; outcome.out[from] == '#';) {
            const std::size_t end = outcome.out.find('\n', from) + 1;
            lines += outcome.out.substr(from, end - from);
            from = end;
        }
        return lines;
    };
    const std::string nothing = "# kept from the forward: nothing but arguments\n";
    CHECK(derivation("Y[n,y] := X[n,2*y+r]*W[r]", "X") ==
          "# for n, y, r: dX[n,2*y+r] += dY[n,y]*W[r]\n"
          "#   n: by name\n"
          "#   t == 2*y+r: r = t-2*y, by residue classes mod 2 where it pays\n"
          "#   sum over y where t-2*y >= 0 && t-2*y < size(W,0)\n" +
              nothing);
    CHECK(derivation("Y[i] := A[2*i+2*k]*F[k]", "A") ==
          "# for i, k: dA[2*i+2*k] += dY[i]*F[k]\n"
          "#   t == 2*i+2*k: kept as a condition of the sum\n"
          "#   sum over i, k where t == 2*i+2*k\n" +
              nothing);
    CHECK(derivation("E[t,k] := T[J[t],k]", "T") ==
          "# for t, k: dT[i64(J[t]),k] += dE[t,k]\n"
          "#   k: by name\n"
          "#   u == i64(J[t]): data decides, the points of each key are summed\n"
          "#   sum over t where u == i64(J[t])\n" +
              nothing);
    CHECK(derivation("y[i] := A[clamp(i+k-1)]*F[k] where i in 0:size(A,0)", "A") ==
          "# for i, k: t1[i+k] += dy[i]*F[k]\n"
          "#   t == i+k: i = t-k\n"
          "#   sum over k where t-k >= 0 && t-k < size(A,0)\n"
          "# for u: dA[u-1] += t1[u]\n"
          "#   t == u-1: kept as a condition of the sum\n"
          "#   sum over u where t == u-1\n"
          "# for u where u-1 < 0: dA[0] += t1[u]\n"
          "#   t == 0: one place\n"
          "#   sum over u where u-1 < 0 && t == 0\n"
          "# for u where u-1 >= size(A,0): dA[size(A,0)-1] += t1[u]\n"
          "#   t == size(A,0)-1: one place\n"
          "#   sum over u where u-1 >= size(A,0) && t == size(A,0)-1\n" +
              nothing);
    CHECK(derivation("y := sum[i]((A[i] - mean[k](A[k]))^2)", "A") ==
          "# for i: dA[i] += 2*(A[i] - t1/size(A,0))*dy\n"
          "#   i: by name\n"
          "#   one point for each element\n"
          "# for i: dt1 += -(2*(A[i] - t1/size(A,0))*dy)/size(A,0)\n"
          "#   sum over i\n"
          "#   0: differences to their own mean\n"
          "# kept from the forward: t1 := sum[k](1.0*A[k])\n");
    CHECK(derivation("y := A[3]*A[0]", "A") ==
          "# dA[3] += dy*A[0]\n"
          "#   t == 3: one place\n"
          "#   one point for each element where t == 3\n"
          "# dA[0] += dy*A[3]\n"
          "#   t == 0: one place\n"
          "#   one point for each element where t == 0\n" +
              nothing);
    CHECK(derivation("y[i] := max[k](A[2*i+k]) where k in 0:3", "A") ==
          "# for i, k: dA[2*i+k] += dy[i] if k == t1[i]\n"
          "#   t == 2*i+k: k = t-2*i, by residue classes mod 2 where it pays\n"
          "#   sum over i where t-2*i >= 0 && t-2*i < 3\n"
          "# kept from the forward: t1[i] := argmax[k in 0:3](A[2*i+k])\n");
    CHECK(derivation("y[i] := sum[k | k == J[i]](A[k])", "A") ==
          "# for i, k where k == J[i]: dA[k] += dy[i]\n"
          "#   k: by name\n"
          "#   sum over i where k == J[i]\n" +
              nothing);
    CHECK(derivation("s := x[i]; y := exp(s)", "x") ==
          "# ds += dy*y\n"
          "#   one point for each element\n"
          "# for i: dx[i] += ds\n"
          "#   i: by name\n"
          "#   one point for each element\n"
          "# kept from the forward: y := exp(s)\n");
    CHECK(derivation("H[J[i]] += x[i]", "x") ==
          "# for i: dx[i] += dH[J[i]]\n"
          "#   i: by name\n"
          "#   one point for each element\n"
          "# kept from the forward: nothing, arguments are taken as they were\n");
}

TEST_CASE("explain shows every stage that is asked for") {
    const Outcome outcome = run({"explain", "y[i] := tanh(x[i])", "x=100:f32", "--wrt", "x",
                                 "--stage", "ast,canonical,gradient,schedule,loops,llvm,asm"});
    CHECK(outcome.status == 0);
    for (const std::string stage : {"ast", "canonical", "schedule", "loops", "llvm", "asm"}) {
        CAPTURE(stage);
        CHECK(outcome.out.find("# " + stage + " of y\n") != std::string::npos);
    }
    CHECK(outcome.out.find("# gradient of dx\n") != std::string::npos);
    CHECK(outcome.out.find("# loops of dx\n") != std::string::npos);
    CHECK(outcome.out.find("define") != std::string::npos);
    CHECK(run({"explain", linear, "--stage", "dance"}).status == 2);
    CHECK(run({"explain", linear, "--stage", "ptx"}).status == 1);
    CHECK(run({"explain", linear, "--stage", "loops"}).err.starts_with("name: the argument"));
}

TEST_CASE("what a run with --tune measured is told by explain, and changes no result") {
    const TemporaryFolder folder;
    const TemporaryFolder cache;
    const std::vector<std::string> arguments = {"C[i,j] := A[i,k]*B[k,j]", "A=48x48", "B=48x48"};
    const auto words = [&](const std::string& command, const std::vector<std::string>& options) {
        std::vector<std::string> all = {command};
        all.insert(all.end(), arguments.begin(), arguments.end());
        all.insert(all.end(), options.begin(), options.end());
        return all;
    };
    const auto run_here = [&](const std::vector<std::string>& all) {
        return ricci_command(folder.path().string(), all, cache.path().string());
    };
    const std::vector<std::string> tuned = {"--stage", "schedule", "--tune"};
    CHECK(run_here(words("explain", tuned)).out.find("  untuned ") != std::string::npos);
    const Outcome usual = run_here(words("run", {}));
    const Outcome outcome = run_here(words("run", {"--tune", "--threads", "1"}));
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == usual.out);
    const std::string told = run_here(words("explain", tuned)).out;
    CHECK(told.find("  tuned ") != std::string::npos);
    CHECK(told.find("1 thread of ") != std::string::npos);
    CHECK(run_here(words("explain", {"--stage", "schedule"})).out.find("tuned ") ==
          std::string::npos);
    const SetVariable variable("RICCI_TUNE", "1");
    CHECK(run_here(words("explain", {"--stage", "schedule"})).out.find("  tuned ") !=
          std::string::npos);
}

TEST_CASE("explain tells the least time of each kernel on this machine") {
    const std::vector<std::string> words = {"explain",  "y[i] := 2*x[i]", "x=1000:f32", "--stage",
                                            "schedule", "--device",       "cpu"};
    const std::string work =
        "  work 1000 8000           # floating operations; bytes of elements, each read or written "
        "once\n";
    const std::string here = run(words).out;
    CAPTURE(here);
    CHECK(here.find(work + "  limit ") != std::string::npos);
    CHECK(here.find("kB at ") != std::string::npos);
    CHECK(here.find("1 kFLOP at ") != std::string::npos);
    const SetVariable target("RICCI_TARGET", "sse2");
    const std::string elsewhere = run(words).out;
    CHECK(elsewhere.ends_with(work));
}

TEST_CASE("check passes on programs of every kind") {
    struct Case {
        std::string program;
        std::vector<std::string> arguments;
    };
    const std::vector<Case> cases = {
        {linear, {"W=5x7", "X=3x7", "b=5:f32"}},
        {"D[i,j] := (w[k,i] - x[k,j])^2", {"w=4x3", "x=4x5"}},
        {"S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
         {"X=4x6"}},
        {"Y[n,d] := (X[n,d] - mean[c](X[n,c])) * g[d] / sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) "
         "+ 1e-5) + b[d]",
         {"X=3x8", "g=8:f32", "b=8:f32"}},
        {"O[t] := A[t+k]*F[k]", {"A=12:f32", "F=3:f32"}},
        {"O[y,x] := A[y+r,x+s]*F[r,s]", {"A=7x8", "F=3x2"}},
        {"m[i] := max[k](A[i,k])", {"A=5x9"}},
        {"y[i,j] := A[i,k]*B[k,l]*C[l,j]", {"A=3x4", "B=4x5", "C=5x2"}},
        {"t := A[i,i]", {"A=6x6"}},
        {"P[i,j] := A[i,k]*A[k,j]; Q[i,j] := P[i,k]*A[k,j]", {"A=4x4"}},
        {"y[i] := a*x[i]^2 + c", {"a=2.5", "x=7:f64", "c=0.5"}},
        {"y[i] := x[i] > 0 ? x[i] : 0", {"x=20:f32"}},
        {"B[i] *= s[i]", {"B=5:f32", "s=5:f32"}},
        {"Y[i] := exp(x[i]*z[k])*c", {"x=5:f32", "z=3:c64", "c=3"}},
        {"a[i] := abs(z[i])^3 + real(w[i]/z[i]); Y := logsumexp[i](a[i])", {"z=6:c64", "w=6:c64"}},
        {"u[J[i]] += z[i]*z[i]", {"u=4:c128", "z=3:c128", "J=3:i32:arange"}},
        {"y[i] := imag(z[i]*conj(z[i+1]))", {"z=40:c64"}},
        // Every element is a largest one: the gradient is the slope of one side or of the other.
        {"P[i,j] := exp(X[i,j])/max[m](exp(X[i,m])); y := P[i,j]*P[i,j]", {"X=5x5:f64:zeros"}},
    };
    for (const Case& test : cases) {
        CAPTURE(test.program);
        std::vector<std::string> words = {"check", test.program};
        words.insert(words.end(), test.arguments.begin(), test.arguments.end());
        const Outcome outcome = run(words);
        CAPTURE(outcome.out);
        CHECK(outcome.err.empty());
        CHECK(outcome.status == 0);
        CHECK(outcome.out.find("differences") != std::string::npos);
        CHECK(outcome.out.find("WRONG") == std::string::npos);
    }
}

TEST_CASE("bench prints a row for the program and each gradient") {
    const Outcome outcome =
        run({"bench", linear, "--grad", "W=16x32", "X=8x32", "b=16:f32", "--threads", "1"});
    CHECK(outcome.err.empty());
    CHECK(outcome.status == 0);
    for (const std::string text :
         {"\nY ", "\ndW ", "\ndX ", "\ndb ", "\ntogether ", "GFLOP/s", "limits on 1 thread",
          "\ngradients one by one: ", " times the forward, in one program "}) {
        CAPTURE(text);
        CHECK(outcome.out.find(text) != std::string::npos);
    }
    const std::string one =
        run({"bench", "y[i] := x[i]^2", "--grad", "x=16:f32", "--threads", "1"}).out;
    CHECK(one.find("\ndx ") != std::string::npos);
    CHECK(one.find("together") == std::string::npos);
    CHECK(one.find("in one program") == std::string::npos);
    const std::string complex = run({"bench", "C[i,j] := A[i,k]*conj(B[j,k])", "--grad",
                                     "A=8x8:c64", "B=8x8:c128", "--threads", "1"})
                                    .out;
    for (const std::string text : {"\nC ", "\ndA ", "\ndB ", "\ntogether "}) {
        CAPTURE(text);
        CHECK(complex.find(text) != std::string::npos);
    }
}

TEST_CASE("bench counts the points that an element of a gradient has, not all that a sum names") {
    const std::string rows = run({"bench", "Y[i,k] := X[i,k+1] - X[i,k] where k in 0:767",
                                  "X=64x768:f32", "--grad", "--threads", "1"})
                                 .out;
    const std::size_t row = rows.find("\ndX ");
    REQUIRE(row != std::string::npos);
    std::istringstream words(rows.substr(row));
    std::string word;
    // dX, median, unit, least, unit, GFLOP/s, GB/s, % FMA
    for (int n = 0; n < 8; ++n) words >> word;
    CHECK(std::stod(word) < 100);
}

TEST_CASE("einsum follows numpy's notation") {
    const TemporaryFolder folder;
    save_npy(folder / "a.npy", Array::arange(DType::f64, {2, 3}));
    save_npy(folder / "b.npy", Array::arange(DType::f64, {3, 2}));
    const std::string place = folder.path().string();
    CHECK(ricci_command(place, {"einsum", "ij,jk->ik", "a.npy", "b.npy"}).out ==
          "[[10, 13],\n [28, 40]]\n");
    CHECK(ricci_command(place, {"einsum", "ij,ji", "a.npy", "b.npy"}).out == "50\n");
    CHECK(ricci_command(place, {"einsum", "->", "3"}).out == "3\n");
    CHECK(ricci_command(place, {"einsum", ",->", "3", "2x2:ones"}).status == 1);
    CHECK(ricci_command(place, {"einsum", "i->", "4:bool:ones"}).out == "true\n");
    CHECK(ricci_command(place, {"einsum", "...j->...", "a.npy", "-o", "c.npy"}).status == 0);
    CHECK(str(load_npy(folder / "c.npy")) == "[ 3, 12]");
    const Outcome wrong = ricci_command(place, {"einsum", "ij,ij", "a.npy", "b.npy"});
    CHECK(wrong.status == 1);
    CHECK(wrong.err ==
          "shape: `i` has two extents, 2 and 3\n"
          "  | ij,ij\n"
          "  | ^  ~\n"
          "  | |  3 here: dimension 0 of operand 1 [3, 2]\n"
          "  | 2 here: dimension 0 of operand 0 [2, 3]\n");
}

TEST_CASE("emit writes a program and its gradients as one C++ file") {
    const TemporaryFolder folder;
    const std::string place = folder.path().string();
    write_bytes(folder / "linear.cpp", "what stood here before");
    const Outcome outcome =
        ricci_command(place, {"emit", linear, "W=2x3", "X=4x3", "b=2:f32", "--wrt", "W,b",
                              "--target", "cpp", "-o", "linear.cpp"});
    CHECK(outcome.err == "");
    CHECK(outcome.status == 0);
    const std::string text = read_bytes(folder / "linear.cpp");
    for (const std::string line :
         {"extern \"C\" const char* ricci_Y(const float* W, const float* X, const float* b, float* "
          "Y)",
          "sum += W[3 * o + k] * X[3 * n + k];", "float* dW) {", "float* db) {"}) {
        CAPTURE(line);
        CHECK(text.find(line) != std::string::npos);
    }
    CHECK(folder.file_count() == 1);
}

TEST_CASE("emit gives the outputs that are asked for, beside what is updated") {
    const TemporaryFolder folder;
    const std::string place = folder.path().string();
    const Outcome outcome =
        ricci_command(place, {"emit", "h[i] += x[i]; y := sum[i](x[i]); z := 2*y", "x=5:f64",
                              "h=5:f64", "--outputs", "y,z", "--target", "cpp", "-o", "sums.cpp"});
    CHECK(outcome.status == 0);
    CHECK(read_bytes(folder / "sums.cpp")
              .find("(double* h, const double* x, double* y, double* z)") != std::string::npos);
}

TEST_CASE("emit writes CUDA with its launches, and LLVM IR") {
    const TemporaryFolder folder;
    const std::string place = folder.path().string();
    const auto text = [&](const std::string& target) {
        const Outcome outcome = ricci_command(
            place, {"emit", linear, "W=2x3", "X=4x3", "b=2:f32", "--target", target, "-o", "out"});
        CHECK(outcome.err == "");
        CHECK(outcome.status == 0);
        return read_bytes(folder / "out");
    };
    CHECK(text("cuda").find("stream>>>(") != std::string::npos);
    CHECK(text("llvm").find("; ricci_0_k0_Y(0, 1, {") != std::string::npos);
}

TEST_CASE("a precision that there is none of is refused") {
    const Outcome outcome =
        run({"run", "C[i,j] := A[i,k]*B[k,j]", "A=4x4", "B=4x4", "--precision", "bf16"});
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err ==
          "--precision: bf16 not in {f32,bf16x3,bf16x6}\nRun with --help for more information.\n");
}

TEST_CASE("emit writes no LLVM IR that needs the system's leave") {
    const TemporaryFolder folder;
    const Outcome outcome =
        ricci_command(folder.path().string(), {"emit", "C[i,j] := A[i,k]*B[k,j]", "A=64x64:bf16",
                                               "B=64x64:bf16", "--target", "llvm", "-o", "out"});
    CHECK(outcome.err == "");
    CHECK(read_bytes(folder / "out").find("x86.tile") == std::string::npos);
}

TEST_CASE("emit refuses what is wrong and leaves no file") {
    const TemporaryFolder folder;
    const std::string place = folder.path().string();
    const auto emit = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "emit");
        return ricci_command(place, words);
    };
    CHECK(emit({linear, "W=2x3", "X=4x3", "b=2:f32", "--target", "cpp"}).status == 2);
    CHECK(emit({linear, "W=2x3", "X=4x3", "b=2:f32", "-o", "linear.cpp"}).status == 2);
    CHECK(emit({linear, "--target", "fortran", "-o", "linear.f"}).status == 2);
    CHECK(
        emit({linear, "W=2x3", "X=4x5", "b=2:f32", "--target", "cpp", "-o", "linear.cpp"}).status ==
        1);
    CHECK(emit({linear, "--target", "cpp", "-o", "linear.cpp"}).status == 1);
    for (const std::string other : {"dY=4x2", "Z=4x2"})
        CHECK(emit({linear, "W=2x3", "X=4x3", "b=2:f32", other, "--target", "cpp", "-o", "a.cpp"})
                  .err.starts_with("name: "));
    CHECK(
        emit({linear, "W=2x3", "X=4x3", "b=2:f32", "--wrt", "Q", "--target", "cpp", "-o", "a.cpp"})
            .err.starts_with("name: "));
    const Outcome unwritable =
        emit({"y[i] := 2*x[i]", "x=3:f32", "--target", "cpp", "-o", "no/such/folder/y.cpp"});
    CHECK(unwritable.status == 1);
    CHECK(unwritable.err.starts_with("io: cannot write `no/such/folder/y.cpp`"));
    CHECK(folder.file_count() == 0);
}

TEST_CASE("info shows version, machine, cache and environment") {
    const Outcome outcome = run({"info"});
    CHECK(outcome.status == 0);
    for (const std::string text :
         {"ricci ", "cpu ", "cuda ", "reference ", "kernel cache off", "RICCI_NUM_THREADS"}) {
        CAPTURE(text);
        CHECK(outcome.out.find(text) != std::string::npos);
    }
}

}  // namespace
}  // namespace ricci::tests
