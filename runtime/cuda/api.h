// runtime/cuda/api.h – the functions of the CUDA driver and of NVRTC that Ricci calls
//
// Declared here, not taken from NVIDIA's headers, so that every build can use a GPU where it runs:
// the libraries are opened when they are first needed. Handles and signatures are those of CUDA 12
// and later (binary compatible; tests compare them with the headers where a toolkit is). The tables
// are also the seam at which tests put an emulated device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/shared_library.h"

// The tags are CUDA's own, so that cuda.h may be included beside this header.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct _nvrtcProgram;  // NOLINT(bugprone-reserved-identifier)

namespace ricci::cuda {

using Result = int;  ///< CUresult; 0: success
using DeviceId = int;
using DevicePointer = unsigned long long;
using Context = ::CUctx_st*;
using ModuleHandle = ::CUmod_st*;
using FunctionHandle = ::CUfunc_st*;
using Stream = ::CUstream_st*;
using Event = ::CUevent_st*;
using Graph = ::CUgraph_st*;
using GraphExec = ::CUgraphExec_st*;
using NvrtcProgram = ::_nvrtcProgram*;

// Results, attributes and flags by the driver's numbers (cuda.h).
inline constexpr Result success = 0;
inline constexpr Result error_invalid_value = 1;
inline constexpr Result error_out_of_memory = 2;
inline constexpr Result error_no_device = 100;
inline constexpr Result error_not_found = 500;
inline constexpr Result error_not_ready = 600;
inline constexpr int attribute_max_shared_optin = 97;  // CU_DEVICE_ATTRIBUTE_…
inline constexpr int attribute_multiprocessors = 16;
inline constexpr int attribute_capability_major = 75;
inline constexpr int attribute_capability_minor = 76;
inline constexpr int function_max_dynamic_shared = 8;  // CU_FUNC_ATTRIBUTE_…
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr int capture_thread_local = 1;

/// F(name in the library, type of the result, parameters)
// clang-format off
#define RICCI_CUDA_DRIVER(F)                                                                       \
    F(cuInit, Result, (unsigned flags))                                                            \
    F(cuDriverGetVersion, Result, (int* version))                                                  \
    F(cuDeviceGetCount, Result, (int* count))                                                      \
    F(cuDeviceGet, Result, (DeviceId* device, int ordinal))                                        \
    F(cuDeviceGetName, Result, (char* name, int size, DeviceId device))                            \
    F(cuDeviceGetAttribute, Result, (int* value, int attribute, DeviceId device))                  \
    F(cuDeviceTotalMem_v2, Result, (std::size_t* bytes, DeviceId device))                          \
    F(cuDevicePrimaryCtxRetain, Result, (Context* context, DeviceId device))                       \
    F(cuDevicePrimaryCtxRelease_v2, Result, (DeviceId device))                                     \
    F(cuCtxSetCurrent, Result, (Context context))                                                  \
    F(cuGetErrorName, Result, (Result error, const char** text))                                   \
    F(cuGetErrorString, Result, (Result error, const char** text))                                 \
    F(cuMemGetInfo_v2, Result, (std::size_t* free, std::size_t* total))                            \
    F(cuMemAlloc_v2, Result, (DevicePointer* pointer, std::size_t bytes))                          \
    F(cuMemFree_v2, Result, (DevicePointer pointer))                                               \
    F(cuMemHostAlloc, Result, (void** pointer, std::size_t bytes, unsigned flags))                 \
    F(cuMemFreeHost, Result, (void* pointer))                                                      \
    F(cuMemcpyHtoDAsync_v2, Result,                                                                \
      (DevicePointer to, const void* from, std::size_t bytes, Stream stream))                      \
    F(cuMemcpyDtoHAsync_v2, Result,                                                                \
      (void* to, DevicePointer from, std::size_t bytes, Stream stream))                            \
    F(cuMemcpyDtoDAsync_v2, Result,                                                                \
      (DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream))                    \
    F(cuMemsetD8Async, Result,                                                                     \
      (DevicePointer to, unsigned char value, std::size_t count, Stream stream))                   \
    F(cuStreamCreate, Result, (Stream* stream, unsigned flags))                                    \
    F(cuStreamDestroy_v2, Result, (Stream stream))                                                 \
    F(cuStreamSynchronize, Result, (Stream stream))                                                \
    F(cuStreamWaitEvent, Result, (Stream stream, Event event, unsigned flags))                     \
    F(cuStreamBeginCapture_v2, Result, (Stream stream, int mode))                                  \
    F(cuStreamEndCapture, Result, (Stream stream, Graph* graph))                                   \
    F(cuGraphInstantiateWithFlags, Result,                                                         \
      (GraphExec* exec, Graph graph, unsigned long long flags))                                    \
    F(cuGraphLaunch, Result, (GraphExec exec, Stream stream))                                      \
    F(cuGraphExecDestroy, Result, (GraphExec exec))                                                \
    F(cuGraphDestroy, Result, (Graph graph))                                                       \
    F(cuEventCreate, Result, (Event* event, unsigned flags))                                       \
    F(cuEventRecord, Result, (Event event, Stream stream))                                         \
    F(cuEventQuery, Result, (Event event))                                                         \
    F(cuEventSynchronize, Result, (Event event))                                                   \
    F(cuEventElapsedTime, Result, (float* milliseconds, Event begin, Event end))                   \
    F(cuEventDestroy_v2, Result, (Event event))                                                    \
    F(cuModuleLoadData, Result, (ModuleHandle* module, const void* image))                         \
    F(cuModuleGetFunction, Result,                                                                 \
      (FunctionHandle* function, ModuleHandle module, const char* name))                           \
    F(cuModuleUnload, Result, (ModuleHandle module))                                               \
    F(cuFuncSetAttribute, Result, (FunctionHandle function, int attribute, int value))             \
    F(cuLaunchKernel, Result,                                                                      \
      (FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, \
       void** parameters, void** extra))

#define RICCI_NVRTC(F)                                                                             \
    F(nvrtcVersion, int, (int* major, int* minor))                                                 \
    F(nvrtcGetErrorString, const char*, (int result))                                              \
    F(nvrtcCreateProgram, int,                                                                     \
      (NvrtcProgram* program, const char* text, const char* name, int header_count,                \
       const char* const* headers, const char* const* header_names))                               \
    F(nvrtcDestroyProgram, int, (NvrtcProgram* program))                                           \
    F(nvrtcCompileProgram, int,                                                                    \
      (NvrtcProgram program, int option_count, const char* const* options))                        \
    F(nvrtcGetPTXSize, int, (NvrtcProgram program, std::size_t* bytes))                            \
    F(nvrtcGetPTX, int, (NvrtcProgram program, char* ptx))                                         \
    F(nvrtcGetCUBINSize, int, (NvrtcProgram program, std::size_t* bytes))                          \
    F(nvrtcGetCUBIN, int, (NvrtcProgram program, char* cubin))                                     \
    F(nvrtcGetProgramLogSize, int, (NvrtcProgram program, std::size_t* bytes))                     \
    F(nvrtcGetProgramLog, int, (NvrtcProgram program, char* log))
// clang-format on

// The names are those of the libraries. NOLINTBEGIN(*-macro-parentheses,*-identifier-naming)
#define RICCI_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
/// libcuda.so.1
struct Driver {
    RICCI_CUDA_DRIVER(RICCI_DECLARE)
};
/// libnvrtc.so
struct Nvrtc {
    RICCI_NVRTC(RICCI_DECLARE)
};
#undef RICCI_DECLARE
// NOLINTEND(*-macro-parentheses,*-identifier-naming)

/// The table of the driver, opened and initialised by the first call.
/// Throws: `device`, naming what is missing (the library, a function, a device) and what to do.
[[nodiscard]] const Driver& driver();
/// The table of NVRTC. Throws: `device`.
[[nodiscard]] const Nvrtc& nvrtc();

/// What `ricci info` says of them; nothing is thrown.
[[nodiscard]] LibraryState driver_state();
[[nodiscard]] LibraryState nvrtc_state();

/// Puts tables in the place of the libraries' until the object goes; for tests. No other thread may
/// be using CUDA meanwhile. A null table stays the library's. What the runtime keeps of a device
/// (context, memory, modules) is given up at both ends.
class ReplacedLibraries {
  public:
    ReplacedLibraries(const Driver* driver, const Nvrtc* nvrtc);
    ~ReplacedLibraries();
    ReplacedLibraries(const ReplacedLibraries&) = delete;
    ReplacedLibraries& operator=(const ReplacedLibraries&) = delete;
};

}  // namespace ricci::cuda
