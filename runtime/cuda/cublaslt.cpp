// runtime/cuda/cublaslt.cpp – opening cuBLASLt
#include "runtime/cuda/cublaslt.h"

#include "runtime/cuda/library_call.h"
#include "runtime/cuda/opened.h"

namespace ricci::cuda {
namespace {

const LibraryName cublaslt_name = {
    .name = "cublasLt",
    .title = "cuBLASLt",
    .sonames = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
    .hint =
        "install CUDA's toolkit, or `pip install nvidia-cublas`; RICCI_CUDA_PATH names its "
        "directory where that is not a usual one",
    .other_version = "use cuBLASLt of CUDA 12 or later"};

Opened<CublasLt>& opened_cublaslt() {
    static Opened<CublasLt> opened;
    return opened;
}

void open_cublaslt(std::optional<CublasLt>& table, std::string& path) {
    const SharedLibrary library(cublaslt_name);
    CublasLt opened;
#define RICCI_TAKE(function, result, parameters) library.take(opened.function, #function);
    RICCI_CUBLASLT(RICCI_TAKE)
#undef RICCI_TAKE
    path = library.path();
    table = opened;
}

}  // namespace

const CublasLt& cublaslt() { return opened_cublaslt().get(open_cublaslt); }

void replace_cublaslt(const CublasLt* table) { opened_cublaslt().replace(table); }

LibraryState cublaslt_state() {
    return state_of(cublaslt_name, [] {
        // 130100 is 13.1.0.
        const std::size_t version = cublaslt().cublasLtGetVersion();
        const std::string text =
            format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
        return with_path(text, opened_cublaslt().path());
    });
}

}  // namespace ricci::cuda
