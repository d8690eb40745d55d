// runtime/cuda/cudnn.cpp – opening cuDNN
#include "runtime/cuda/cudnn.h"

#include "runtime/cuda/library_call.h"
#include "runtime/cuda/opened.h"

namespace ricci::cuda {
namespace {

const LibraryName cudnn_name = {
    .name = "cudnn",
    .title = "cuDNN",
    .sonames = {"libcudnn.so.9", "libcudnn.so"},
    .hint =
        "install cuDNN 9, or `pip install nvidia-cudnn-cu13`; RICCI_CUDA_PATH names its "
        "directory where that is not a usual one",
    .other_version = "use cuDNN 9"};

Opened<Cudnn>& opened_cudnn() {
    static Opened<Cudnn> opened;
    return opened;
}

void open_cudnn(std::optional<Cudnn>& table, std::string& path) {
    const SharedLibrary library(cudnn_name);
    Cudnn opened;
#define RICCI_TAKE(function, result, parameters) library.take(opened.function, #function);
    RICCI_CUDNN(RICCI_TAKE)
#undef RICCI_TAKE
    path = library.path();
    table = opened;
}

}  // namespace

const Cudnn& cudnn() { return opened_cudnn().get(open_cudnn); }

void replace_cudnn(const Cudnn* table) { opened_cudnn().replace(table); }

LibraryState cudnn_state() {
    return state_of(cudnn_name, [] {
        // 91900 is 9.19.0.
        const std::size_t version = cudnn().cudnnGetVersion();
        const std::string text =
            format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
        return with_path(text, opened_cudnn().path());
    });
}

}  // namespace ricci::cuda
