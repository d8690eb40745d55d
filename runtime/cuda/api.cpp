// runtime/cuda/api.cpp – opening the driver and NVRTC, and putting others in their place
#include "runtime/cuda/api.h"

#include <atomic>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/opened.h"

namespace ricci::cuda {
namespace {

constexpr Result error_stub_library = 34;

const LibraryName driver_name = {
    .name = "driver",
    .title = "the CUDA driver",
    .sonames = {"libcuda.so.1", "libcuda.so"},
    .hint = "install NVIDIA's driver on a machine with a GPU, or run with --device cpu",
    .other_version = "update NVIDIA's driver to 525 (CUDA 12) or later"};
const LibraryName nvrtc_name = {
    .name = "nvrtc",
    .title = "NVRTC",
    .sonames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
    .hint =
        "install CUDA's toolkit, or `pip install nvidia-cuda-nvrtc`; RICCI_CUDA_PATH names "
        "its directory where that is not a usual one",
    .other_version = "use NVRTC of CUDA 12 or later"};

Opened<Driver>& opened_driver() {
    static Opened<Driver> opened;
    return opened;
}

/// A test's driver stands there and is not initialised yet.
std::atomic<bool> is_replacement_new = false;

Opened<Nvrtc>& opened_nvrtc() {
    static Opened<Nvrtc> opened;
    return opened;
}

/// `12.4` of 12040.
std::string version_text(int version) {
    return format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Throws: `device` when the driver does not come to life.
void initialise(const Driver& table, const std::string& path) {
    const Result result = table.cuInit(0);
    if (result == success) return;
    if (result == error_stub_library) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("`{}` is the stub of the CUDA driver, which is for linking "
                                       "only",
                                       path),
                     .hint = "take the directory of stubs off LD_LIBRARY_PATH; the driver itself "
                             "comes with NVIDIA's driver package"});
    }
    if (result == error_no_device) {
        throw Error(
            {.kind = ErrorKind::device,
             .message = format("the CUDA driver `{}` finds no GPU (CUDA_ERROR_NO_DEVICE)", path),
             .hint = "see what `nvidia-smi` lists and whether CUDA_VISIBLE_DEVICES hides "
                     "it, or run with --device cpu"});
    }
    const char* text = nullptr;
    const bool is_known = table.cuGetErrorString(result, &text) == success && text != nullptr;
    throw Error({.kind = ErrorKind::device,
                 .message = format("the CUDA driver `{}` does not start: {} (CUresult {})", path,
                                   is_known ? text : "unknown error", result),
                 .hint = "see whether `nvidia-smi` works, or run with --device cpu"});
}

void open_driver(std::optional<Driver>& table, std::string& path) {
    const SharedLibrary library(driver_name);
    Driver opened;
#define RICCI_TAKE(function, result, parameters) library.take(opened.function, #function);
    RICCI_CUDA_DRIVER(RICCI_TAKE)
    initialise(opened, library.path());
    path = library.path();
    table = opened;
}

void open_nvrtc(std::optional<Nvrtc>& table, std::string& path) {
    const SharedLibrary library(nvrtc_name);
    Nvrtc opened;
    RICCI_NVRTC(RICCI_TAKE)
#undef RICCI_TAKE
    path = library.path();
    table = opened;
}

}  // namespace

const Driver& driver() {
    const Driver& table = opened_driver().get(open_driver);
    if (is_replacement_new.load()) {
        initialise(table, "replacement");
        is_replacement_new = false;
    }
    return table;
}
const Nvrtc& nvrtc() { return opened_nvrtc().get(open_nvrtc); }

LibraryState driver_state() {
    return state_of(driver_name, [] {
        const Driver& table = driver();
        int version = 0;
        if (table.cuDriverGetVersion(&version) != success) version = 0;
        return with_path(format("CUDA {}", version_text(version)), opened_driver().path());
    });
}

LibraryState nvrtc_state() {
    return state_of(nvrtc_name, [] {
        int major = 0;
        int minor = 0;
        if (nvrtc().nvrtcVersion(&major, &minor) != 0) major = minor = 0;
        return with_path(format("{}.{}", major, minor), opened_nvrtc().path());
    });
}

ReplacedLibraries::ReplacedLibraries(const Driver* driver, const Nvrtc* nvrtc) {
    Gpu::close_current();
    opened_driver().replace(driver);
    is_replacement_new = driver != nullptr;
    opened_nvrtc().replace(nvrtc);
}

ReplacedLibraries::~ReplacedLibraries() {
    Gpu::close_current();
    opened_driver().replace(nullptr);
    is_replacement_new = false;
    opened_nvrtc().replace(nullptr);
}

}  // namespace ricci::cuda
