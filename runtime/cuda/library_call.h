// runtime/cuda/library_call.h – the matrix products and convolutions of a plan done by libraries
//
// `prepare` asks cuBLASLt or cuDNN once for a way to do a call on a device; what it gives runs the
// call as often as needed, inside captures of a stream too. Who executes a plan prepares its calls
// before it needs memory, and runs the generated steps for those that cannot be prepared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codegen/library.h"
#include "runtime/cuda/api.h"

namespace ricci::cuda {

/// A library call with its algorithm chosen, for the device that was current at `prepare`.
class PreparedCall {
  public:
    PreparedCall() = default;
    PreparedCall(const PreparedCall&) = delete;
    PreparedCall& operator=(const PreparedCall&) = delete;
    virtual ~PreparedCall() = default;

    /// For logs and timers: `cublasLt 1024x512x64`.
    [[nodiscard]] virtual std::string description() const = 0;
    /// Bytes of device memory that `run` works in; may be 0. Nothing in them is kept.
    [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
    /// Enqueues the work on the stream; does not wait. `buffers` are the addresses of the first
    /// elements of all buffers of the plan; `workspace` is divisible by 256. The device's context
    /// is current. May stand in a capture. Several threads may run one object at once.
    /// Throws: `device` with the library's own words.
    virtual void run(std::span<const DevicePointer> buffers, DevicePointer workspace,
                     Stream stream) const = 0;
};

struct PrepareOptions {
    DeviceId device = 0;          ///< whose context is current
    std::int64_t alignment = 16;  ///< bytes that divide the address of every buffer of the plan
    std::int64_t workspace_limit = std::int64_t(32) << 20;  ///< bytes
};

/// A call, or why the library cannot do it.
struct Preparation {
    std::unique_ptr<PreparedCall> call;
    std::string reason;  ///< when there is no call; a whole sentence without a full stop
};

/// Opens the library on first use. Never throws for what a library lacks: the reason says it. The
/// choice depends on the call, the options, the device and the library alone, never on timings.
[[nodiscard]] Preparation prepare(const codegen::LibraryCall& call, const PrepareOptions& options);

/// Gives up what is kept for devices (the libraries' handles): before their contexts go. Prepared
/// calls must be gone.
void release_library_handles() noexcept;

/// What `ricci info` says of the libraries: opens them.
[[nodiscard]] LibraryState cublaslt_state();
[[nodiscard]] LibraryState cudnn_state();

}  // namespace ricci::cuda
