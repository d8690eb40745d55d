// runtime/cuda/library_call.cpp – which library does a call, and the handles it does it with
#include "runtime/cuda/library_call.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "runtime/cuda/library_handles.h"

namespace ricci::cuda {
namespace {

/// The handles of all devices, each made when it is first asked for.
class Handles {
  public:
    LtHandle lt(DeviceId device) {
        const std::lock_guard lock(mutex_);
        LtHandle& handle = lt_[device];
        if (handle == nullptr) make_lt(handle);
        return handle;
    }
    CudnnAccess cudnn(DeviceId device) {
        const std::lock_guard lock(mutex_);
        CudnnEntry& entry = cudnn_[device];
        if (entry.handle == nullptr) make_cudnn(entry.handle);
        return {entry.handle, std::unique_lock(entry.mutex)};
    }
    /// What fails here has failed before, or goes with the context.
    void release() noexcept {
        const std::lock_guard lock(mutex_);
        for (const auto& [device, handle] : lt_)
            if (handle != nullptr) (void)cublaslt().cublasLtDestroy(handle);
        for (const auto& [device, entry] : cudnn_)
            if (entry.handle != nullptr) (void)ricci::cuda::cudnn().cudnnDestroy(entry.handle);
        lt_.clear();
        cudnn_.clear();
    }

  private:
    struct CudnnEntry {
        CudnnHandle handle = nullptr;
        std::mutex mutex;
    };

    static void make_lt(LtHandle& handle) {
        const CublasLt& table = cublaslt();
        if (const int status = table.cublasLtCreate(&handle); status != lt_success) {
            handle = nullptr;
            throw Error({.kind = ErrorKind::device,
                         .message = format("cuBLASLt does not start: {}",
                                           table.cublasLtGetStatusName(status)),
                         .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
        }
    }
    static void make_cudnn(CudnnHandle& handle) {
        const Cudnn& table = ricci::cuda::cudnn();
        if (const int status = table.cudnnCreate(&handle); status != cudnn_success) {
            handle = nullptr;
            throw Error(
                {.kind = ErrorKind::device,
                 .message = format("cuDNN does not start: {}", table.cudnnGetErrorString(status)),
                 .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
        }
    }

    std::mutex mutex_;
    std::map<DeviceId, LtHandle> lt_;
    std::map<DeviceId, CudnnEntry> cudnn_;
};

Handles& handles() {
    static Handles kept;
    return kept;
}

}  // namespace

LtHandle lt_handle(DeviceId device) { return handles().lt(device); }
CudnnAccess cudnn_handle(DeviceId device) { return handles().cudnn(device); }
void release_library_handles() noexcept { handles().release(); }

std::int64_t known_alignment(DType dtype, std::int64_t offset, const PrepareOptions& options) {
    const std::int64_t bytes = offset * std::int64_t(size_bytes(dtype));
    std::int64_t alignment = 256;
    while (options.alignment % alignment != 0 || bytes % alignment != 0) alignment /= 2;
    return alignment;
}

DevicePointer address(std::span<const DevicePointer> buffers, std::size_t place, DType dtype,
                      std::int64_t element) {
    RICCI_ASSERT(place < buffers.size(), "a call names a buffer that the plan does not have");
    return buffers[place] + DevicePointer(element * std::int64_t(size_bytes(dtype)));
}

Preparation prepare(const codegen::LibraryCall& call, const PrepareOptions& options) {
    try {
        return {match(
                    call.call,
                    [&](const codegen::MatrixProduct& p) { return prepare_product(p, options); },
                    [&](const codegen::Convolution& c) { return prepare_convolution(c, options); }),
                {}};
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::device) throw;
        return {nullptr, error.diagnosis().message};
    }
}

ReplacedMathLibraries::ReplacedMathLibraries(const CublasLt* cublaslt, const Cudnn* cudnn) {
    release_library_handles();
    replace_cublaslt(cublaslt);
    replace_cudnn(cudnn);
}

ReplacedMathLibraries::~ReplacedMathLibraries() {
    release_library_handles();
    replace_cublaslt(nullptr);
    replace_cudnn(nullptr);
}

}  // namespace ricci::cuda
