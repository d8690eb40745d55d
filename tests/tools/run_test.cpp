// tests/tools/run_test.cpp – ricci run: values, files, errors, exit statuses
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "runtime/array.h"
#include "tests/runtime/temporary_folder.h"
#include "tests/tools/command.h"

namespace ricci::tests {
namespace {

/// A folder with a few files, and the command run in it.
struct Place {
    TemporaryFolder folder;

    Outcome run(const std::vector<std::string>& words) const {
        return ricci_command(folder.path().string(), words);
    }
    Array load(const std::string& name) const { return load_npy(folder / name); }
};

TEST_CASE("run prints the result") {
    const Place place;
    const Outcome outcome = place.run({"run", "y[i] := a*x[i]", "a=2.5", "x=4:f32:arange"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "[  0, 2.5,   5, 7.5]\n");
    CHECK(outcome.err.empty());
}

TEST_CASE("run reads and writes .npy files") {
    const Place place;
    save_npy(place.folder / "a.npy", Array::from<double>({1, 2, 3, 4}, {2, 2}));
    const Outcome outcome = place.run(
        {"run", "C[i,j] := A[i,k]*A[k,j]; t := C[i,i]", "A=a.npy", "-o", "t.npy", "-o", "C=c.npy"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.empty());
    CHECK(place.load("t.npy").item() == 29);
    CHECK(place.load("c.npy").at({1, 0}) == 15);
    CHECK(place.load("c.npy").dtype() == DType::f64);
}

TEST_CASE("run evaluates a program in a file, and names the file in errors") {
    const Place place;
    write_bytes(place.folder / "good.ricci", "# twice\ny[i] := 2*x[i]\n");
    CHECK(place.run({"run", "@good.ricci", "x=2:f32:ones"}).out == "[2, 2]\n");
    write_bytes(place.folder / "bad.ricci", "y[i] := 2*\n");
    const Outcome outcome = place.run({"run", "@bad.ricci", "x=2:f32"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find("bad.ricci") != std::string::npos);
}

TEST_CASE("the final value of an argument changed in place is the output of that name") {
    const Place place;
    const Outcome outcome = place.run({"run", "y[i] += x[i]", "y=3:f32:ones", "x=3:f32:arange"});
    CHECK(outcome.out == "[1, 2, 3]\n");
}

TEST_CASE("a number that is updated becomes an array of rank 0") {
    const Place place;
    const auto updated = [&](const std::string& program, std::vector<std::string> words) {
        words.insert(words.begin(), {"run", program});
        words.insert(words.end(), {"-o", "s=s.npy"});
        const Outcome outcome = place.run(words);
        CHECK(outcome.err.empty());
        CHECK(outcome.status == 0);
        return place.load("s.npy");
    };
    CHECK(place.run({"run", "s += 3", "s=2"}).out == "5\n");
    CHECK(place.run({"run", "s += 3", "s=2", "--device", "reference"}).out == "5\n");
    CHECK(updated("s += 3", {"s=2"}).dtype() == DType::i64);
    CHECK(updated("s += 3", {"s=2.5"}).dtype() == DType::f64);
    CHECK(updated("s += 3", {"s=2.5"}).item() == 5.5);
    CHECK(updated("s += 3", {"s=2", "--dtype", "f32"}).dtype() == DType::f32);
    CHECK(updated("s += x[i]", {"s=0.5", "x=4:f64:arange"}).item() == 6.5);
    CHECK(place.run({"explain", "s += 3", "s=2", "--stage", "bound"}).status == 0);
    CHECK(place.run({"check", "s *= 3", "s=2.5"}).status == 0);
    CHECK(place.run({"grad", "s *= 3", "--wrt", "s", "s=2.5"}).out == "3\n");
}

TEST_CASE("both devices give the same") {
    const Place place;
    for (const std::string device : {"cpu", "reference"}) {
        CAPTURE(device);
        const Outcome outcome = place.run({"run", "s := sum[i](x[i]^2)", "x=10:f64:arange",
                                           "--device", device, "--threads", "2"});
        CHECK(outcome.out == "285\n");
    }
}

TEST_CASE("the same seed makes the same array") {
    const Place place;
    const auto sum = [&](const std::string& spec) {
        return place.run({"run", "s := sum[i,j](x[i,j])", "x=" + spec}).out;
    };
    CHECK(sum("5x7") == sum("5x7:f32:randn:0"));
    CHECK(sum("5x7") != sum("5x7:f32:randn:1"));
    CHECK(sum("5x7:zeros") == "0\n");
    CHECK(sum("5x7:f64:randint(2,3)") == "70\n");
}

TEST_CASE("a wrong program is an error of status 1 with its place") {
    const Place place;
    const Outcome outcome =
        place.run({"run", "C[i,j] := A[i,k] * B[k,j]", "A=8x32", "B=64x16", "-o", "c.npy"});
    CHECK(outcome.status == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.err ==
          "shape: index `k` has two extents, 32 and 64\n"
          "  | C[i,j] := A[i,k] * B[k,j]\n"
          "  |               ^      ~\n"
          "  |               |      64 here: dimension 0 of B [64, 16]\n"
          "  |               32 here: dimension 1 of A [8, 32]\n"
          "  = hint: slice one operand, or give the two dimensions different index names\n");
    CHECK(place.folder.file_count() == 0);
}

TEST_CASE("missing, unknown and repeated arguments are named") {
    const Place place;
    const std::string program = "Y[n,o] := W[o,k]*X[n,k] + bias[o]";
    const auto error = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", program});
        const Outcome outcome = place.run(words);
        CHECK(outcome.status == 1);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(error({"W=2x3", "X=4x3"}).starts_with("name: the argument `bias` is missing"));
    CHECK(error({"W=2x3", "X=4x3", "bais=2:f32"})
              .starts_with("name: the program has no argument `bais`"));
    CHECK(error({"W=2x3", "X=4x3", "bias=2:f32", "k=3"}).starts_with("name: `k` is an index"));
    CHECK(error({"W=2x3", "W=2x3"}) ==
          "name: the argument `W` is given twice\n"
          "  = hint: leave one of them out: `W=2x3`\n");
    CHECK(error({"W=2x3", "X=4x3", "bias=2"}).starts_with("shape: `bias`"));
    CHECK(error({"W=2x3", "X=4x3", "bias=2:f32", "-o", "Z=z.npy"}) ==
          "name: there is no output `Z`\n  = hint: `Y` gives `Y`\n");
}

TEST_CASE("files that are missing or no arrays are io errors") {
    const Place place;
    write_bytes(place.folder / "text.npy", "hello");
    CHECK(place.run({"run", "y := x", "x=none.npy"}).err ==
          "io: cannot read `none.npy`: No such file or directory\n");
    const Outcome outcome = place.run({"run", "y := x", "x=text.npy"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err ==
          "io: `text.npy` is not a .npy file: it begins with `68 65 6c 6c 6f`, not with `93 4e 55 "
          "4d 50 59`\n");
    CHECK(place.run({"run", "@none.ricci"}).err ==
          "io: cannot read `none.ricci`: No such file or directory\n");
}

TEST_CASE("when one file cannot be written none is") {
    const Place place;
    const Outcome outcome =
        place.run({"run", "a := x; b := x", "x=1", "-o", "a=a.npy", "-o", "b=missing/b.npy"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err == "io: cannot write `missing/b.npy`: No such file or directory\n");
    CHECK(place.folder.file_count() == 0);
}

TEST_CASE("two outputs to one file are wrong usage") {
    const Place place;
    for (const std::string second : {"o.npy", "./o.npy"}) {
        CAPTURE(second);
        const Outcome outcome =
            place.run({"run", "a := x; b := x", "x=1", "-o", "a=o.npy", "-o", "b=" + second});
        CHECK(outcome.status == 2);
        CHECK(outcome.err == "-o b=" + second +
                                 ": two outputs to one file\n"
                                 "Run with --help for more information.\n");
        CHECK(place.folder.file_count() == 0);
    }
}

TEST_CASE("a file past the limit of sizes is an io error and leaves nothing") {
    const Place place;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);  // the command inherits it
    const Outcome outcome = place.run({"run", "y[i] := x[i]", "x=2000:f64", "-o", "y.npy"});
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(outcome.status == 1);
    CHECK(outcome.err == "io: cannot write `y.npy`: File too large\n");
    CHECK(place.folder.file_count() == 0);
}

TEST_CASE("a SPEC that makes no sense is told with the forms there are") {
    const Place place;
    const auto error = [&](const std::string& spec) {
        return place.run({"run", "y := x", "x=" + spec}).err;
    };
    const std::string forms =
        "  = hint: a .npy file, a number, or a shape such as 512x784, 784:f32, 8x8:f64:randn:1\n";
    CHECK(error("foo") == "syntax: `foo` is not a value for an argument\n" + forms);
    CHECK(error("") == "syntax: `` is not a value for an argument\n" + forms);
    CHECK(error("4x-1") == "syntax: `4x-1` is not a value for an argument\n" + forms);
    CHECK(error("4x4:randint(5,2)") ==
          "syntax: `4x4:randint(5,2)` draws integers from 5 to below 2: there are none\n"
          "  = hint: the first bound is below the second, as in 8x8:f32:randint(0,10)\n");
    CHECK(error("4x4:randint(1)") ==
          "syntax: `4x4:randint(1)` has `randint` without its two bounds\n"
          "  = hint: as in 8x8:f32:randint(0,10)\n");
    CHECK(error("4x4:f33") ==
          "syntax: `4x4:f33` has `f33`, which is no type and no way to fill an array\n"
          "  = hint: types are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128; arrays "
          "are "
          "filled by randn, rand, zeros, ones, arange or randint(lo,hi)\n");
}

TEST_CASE("wrong usage has status 2, help and version 0") {
    const Place place;
    CHECK(place.run({}).status == 2);
    CHECK(place.run({"run"}).status == 2);
    CHECK(place.run({"fly"}).status == 2);
    CHECK(place.run({"explian"}).err ==
          "there is no command `explian`; did you mean `explain`?\n"
          "Run with --help for more information.\n");
    CHECK(place.run({"run", "y[i] := A[i]", "A=3:u8:randint(0,257)"}).err ==
          "syntax: `3:u8:randint(0,257)` has numbers from 0 to below 257, which u8 does not hold\n"
          "  = hint: choose a wider type, such as i64\n");
    CHECK(place.run({"run", "y := x", "x"}).status == 2);
    CHECK(place.run({"run", "y := x", "x"}).err ==
          "`x` is not of the form NAME=SPEC\nRun with --help for more information.\n");
    CHECK(place.run({"run", "y := x", "x=1", "--fast"}).status == 2);
    CHECK(place.run({"run", "y := x", "x=1", "--threads", "0"}).status == 2);
    CHECK(place.run({"run", "y := x", "x=1", "--device", "abacus"}).status == 2);
    CHECK(place.run({"run", "y := x", "x=1", "-o", "y.txt"}).status == 2);
    const Outcome help = place.run({"run", "--help"});
    CHECK(help.status == 0);
    CHECK(help.out.find("Examples:\n  ricci run ") != std::string::npos);
    CHECK(place.run({"--version"}).out.starts_with("ricci "));
}

}  // namespace
}  // namespace ricci::tests
