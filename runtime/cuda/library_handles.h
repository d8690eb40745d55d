// runtime/cuda/library_handles.h – what the libraries keep for a device
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "codegen/library.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/library_call.h"

namespace ricci::cuda {

/// cuBLASLt's handle of a device: made by the first call, kept until release_library_handles().
/// Throws: `device`.
[[nodiscard]] LtHandle lt_handle(DeviceId device);

/// cuDNN's handle of a device. It carries a stream: whoever sets it holds the lock until what runs
/// on it is enqueued.
struct CudnnAccess {
    CudnnHandle handle = nullptr;
    std::unique_lock<std::mutex> lock;
};
[[nodiscard]] CudnnAccess cudnn_handle(DeviceId device);

/// The greatest power of two, of at most 256, that divides the address of an element in bytes.
[[nodiscard]] std::int64_t known_alignment(DType dtype, std::int64_t offset,
                                           const PrepareOptions& options);

// The two kinds of calls. Throw: `device` for what a library lacks.
[[nodiscard]] std::unique_ptr<PreparedCall> prepare_product(const codegen::MatrixProduct& product,
                                                            const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<PreparedCall> prepare_convolution(
    const codegen::Convolution& convolution, const PrepareOptions& options);

/// The device address of an element of a buffer of the plan.
[[nodiscard]] DevicePointer address(std::span<const DevicePointer> buffers, std::size_t place,
                                    DType dtype, std::int64_t element);

/// Puts tables in the place of the libraries' until the object goes; for tests. A null table stays
/// the library's.
class ReplacedMathLibraries {
  public:
    ReplacedMathLibraries(const CublasLt* cublaslt, const Cudnn* cudnn);
    ~ReplacedMathLibraries();
    ReplacedMathLibraries(const ReplacedMathLibraries&) = delete;
    ReplacedMathLibraries& operator=(const ReplacedMathLibraries&) = delete;
};

}  // namespace ricci::cuda
