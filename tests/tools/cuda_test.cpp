// tests/tools/cuda_test.cpp – ricci where a driver or a library of CUDA is missing
#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "tests/runtime/temporary_folder.h"
#include "tests/support/set_variable.h"
#include "tests/tools/command.h"

namespace ricci::tests {
namespace {

namespace fs = std::filesystem;

const std::string toolkit = "/usr/local/cuda/lib64";
const std::string stub = toolkit + "/stubs/libcuda.so";
const std::string no_driver =
    "device: the CUDA driver (libcuda.so.1) is not in RICCI_CUDA_PATH=/no/such/directory\n"
    "  = hint: a `:` at the end of RICCI_CUDA_PATH adds the usual places\n";

Outcome run(const std::vector<std::string>& words) {
    const TemporaryFolder folder;
    return ricci_command(folder.path().string(), words);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("without a driver the device cuda is an error and everything else works") {
    const SetVariable nowhere("RICCI_CUDA_PATH", "/no/such/directory");
    const Outcome cuda = run({"run", "y := 2*x", "x=3", "--device", "cuda"});
    CHECK(cuda.status == 1);
    CHECK(cuda.out == "");
    CHECK(cuda.err == no_driver);
    CHECK(run({"grad", "y := x^2", "--wrt", "x", "x=1:f32", "--device", "cuda"}).err == no_driver);
    CHECK(run({"einsum", "ij->ji", "2x3", "--device", "cuda"}).err == no_driver);
    CHECK(run({"bench", "y[i] := x[i]", "x=3:f32", "--device", "cuda"}).err == no_driver);
    CHECK(run({"run", "y := 2*x", "x=3"}).out == "6\n");
    CHECK(run({"run", "y := 2*x", "x=3", "--device", "reference"}).out == "6\n");
    const SetVariable chosen("RICCI_DEVICE", "cuda");
    CHECK(run({"run", "y := 2*x", "x=3"}).err == no_driver);
    CHECK(run({"run", "y := 2*x", "x=3", "--device", "cpu"}).out == "6\n");
}

TEST_CASE("info says of each library of CUDA what is missing") {
    const SetVariable nowhere("RICCI_CUDA_PATH", "/no/such/directory");
    const Outcome outcome = run({"info"});
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    const std::string nowhere_text = " is not in RICCI_CUDA_PATH=/no/such/directory\n";
    for (const std::string line : {"cuda         no: the CUDA driver (libcuda.so.1)",
                                   "  nvrtc      no: NVRTC (libnvrtc.so.13)",
                                   "  cublasLt   no: cuBLASLt (libcublasLt.so.13)",
                                   "  cudnn      no: cuDNN (libcudnn.so.9)"}) {
        CAPTURE(line);
        CHECK(contains(outcome.out, line + nowhere_text));
    }
}

TEST_CASE("CUDA's text is shown without a driver and without libraries") {
    const SetVariable nowhere("RICCI_CUDA_PATH", "/no/such/directory");
    const std::string program = "Y[n,o] := W[o,k]*X[n,k]";
    const Outcome outcome = run(
        {"explain", program, "W=20x30", "X=40x30", "--wrt", "W", "--stage", "schedule,loops,cuda"});
    CHECK(outcome.err == "");
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.out, "# cuda of Y\n"));
    CHECK(contains(outcome.out, "# cuda of dW\n"));
    CHECK(contains(outcome.out, "RC_KERNEL("));
    const Outcome device =
        run({"explain", program, "W=20x30", "X=40x30", "--stage", "loops", "--device", "cuda"});
    CHECK(contains(device.out, "block "));
    CHECK(run({"explain", program, "W=2x3", "X=4x3", "--stage", "cuda,llvm"}).status == 2);
    CHECK(run({"explain", program, "W=2x3", "X=4x3", "--stage", "ptx", "--device", "cpu"}).err ==
          "--stage: there is no `ptx` of code for the device `cpu`\n"
          "Run with --help for more information.\n");
    const Outcome ptx = run({"explain", program, "W=20x30", "X=40x30", "--stage", "ptx"});
    CHECK(ptx.status == 1);
    CHECK(ptx.err.starts_with("device: NVRTC (libnvrtc.so.13) is not in RICCI_CUDA_PATH="));
}

TEST_CASE("PTX is shown where NVRTC is, for the GPU that is named") {
    if (!fs::exists(toolkit + "/libnvrtc.so.13")) {
        std::cout << "SKIPPED: no NVRTC in " << toolkit << "\n";
        return;
    }
    const SetVariable path("RICCI_CUDA_PATH", toolkit);
    const std::vector<std::string> words = {"explain", "y[i] := 2*x[i]", "x=100:f32", "--stage",
                                            "ptx"};
    const Outcome outcome = run(words);
    CHECK(outcome.err == "");
    CHECK(contains(outcome.out, ".target sm_90"));
    CHECK(contains(outcome.out, ".entry"));
    const SetVariable target("RICCI_TARGET", "sm_80");
    CHECK(contains(run(words).out, ".target sm_80"));
    const SetVariable wrong("RICCI_TARGET", "sm_52");
    CHECK(run(words).err == "device: no GPU target `sm_52`\n  = hint: sm_80, sm_90, ...\n");
}

TEST_CASE("the stub of the driver is told from a driver") {
    if (!fs::exists(stub)) {
        std::cout << "SKIPPED: no " << stub << "\n";
        return;
    }
    // As a linker's path has it, and as a driver would be found.
    const TemporaryFolder folder;
    fs::create_symlink(stub, folder.path() / "libcuda.so.1");
    const SetVariable path("LD_LIBRARY_PATH", folder.path().string());
    const Outcome cuda = run({"run", "y := 2*x", "x=3", "--device", "cuda"});
    CHECK(cuda.status == 1);
    CHECK(contains(cuda.err,
                   "libcuda.so.1` is the stub of the CUDA driver, which is for linking "
                   "only\n  = hint: take the directory of stubs off LD_LIBRARY_PATH"));
    CHECK(run({"run", "y := 2*x", "x=3"}).out == "6\n");
    const Outcome info = run({"info"});
    CHECK(info.status == 0);
    CHECK(contains(info.out, "is the stub of the CUDA driver"));
}

TEST_CASE("each library of CUDA may be missing by itself") {
    constexpr std::array names = {"nvrtc", "cublasLt", "cudnn"};
    if (!fs::exists(toolkit)) {
        std::cout << "SKIPPED: no " << toolkit << "\n";
        return;
    }
    for (const std::string missing : names) {
        CAPTURE(missing);
        const TemporaryFolder folder;
        for (const auto& file : fs::directory_iterator(toolkit)) {
            const std::string name = file.path().filename().string();
            const bool is_missing = name.starts_with("lib" + missing + ".so");
            if (!is_missing && file.is_regular_file())
                fs::create_symlink(file.path(), folder.path() / name);
        }
        const SetVariable path("RICCI_CUDA_PATH", folder.path().string());
        const Outcome info = run({"info"});
        CHECK(info.status == 0);
        for (const std::string name : names) {
            CAPTURE(name);
            CAPTURE(info.out);
            const std::size_t begin = info.out.find("\n  " + name + " ");
            REQUIRE(begin != std::string::npos);
            const std::string line =
                info.out.substr(begin + 1, info.out.find('\n', begin + 1) - begin - 1);
            CHECK(contains(line, "is not in RICCI_CUDA_PATH=") == (name == missing));
        }
        CHECK(run({"run", "y := 2*x", "x=3"}).out == "6\n");
    }
}

}  // namespace
}  // namespace ricci::tests
