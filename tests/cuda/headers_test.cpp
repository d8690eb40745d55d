// tests/cuda/headers_test.cpp – declarations of the driver and of NVRTC against NVIDIA's own
#include <iostream>
#include <type_traits>

#include <doctest/doctest.h>

#include "runtime/cuda/api.h"

// Taken before NVIDIA's header, which renames some functions by macros.
namespace ours {
using ricci::cuda::Context;
using ricci::cuda::DeviceId;
using ricci::cuda::DevicePointer;
using ricci::cuda::Event;
using ricci::cuda::FunctionHandle;
using ricci::cuda::Graph;
using ricci::cuda::GraphExec;
using ricci::cuda::ModuleHandle;
using ricci::cuda::NvrtcProgram;
using ricci::cuda::Result;
using ricci::cuda::Stream;
#define RICCI_TYPE(name, result, parameters) using type_of_##name = result(*) parameters;
RICCI_CUDA_DRIVER(RICCI_TYPE)
RICCI_NVRTC(RICCI_TYPE)
#undef RICCI_TYPE
}  // namespace ours

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif

namespace {

/// Whether both types are passed in the same way: addresses of the same depth, or numbers of one
/// kind and size (enumerations are integers).
template <class A, class B>
constexpr bool is_passed_alike() {
    if constexpr (std::is_void_v<A> || std::is_void_v<B>)
        return std::is_void_v<A> && std::is_void_v<B>;
    else if constexpr (std::is_class_v<A> || std::is_class_v<B>)
        return std::is_same_v<A, B>;
    else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
        return is_passed_alike<std::remove_cv_t<std::remove_pointer_t<A>>,
                               std::remove_cv_t<std::remove_pointer_t<B>>>();
    else
        return !std::is_pointer_v<A> && !std::is_pointer_v<B> &&
               std::is_floating_point_v<A> == std::is_floating_point_v<B> && sizeof(A) == sizeof(B);
}

template <class R, class... P, class S, class... Q>
constexpr bool is_called_alike(R (*)(P...), S (*)(Q...)) {
    if constexpr (sizeof...(P) != sizeof...(Q))
        return false;
    else
        return is_passed_alike<R, S>() && (is_passed_alike<P, Q>() && ...);
}

template <class F>
constexpr F* of_type = nullptr;
static_assert(is_called_alike(of_type<int(int, long**)>, of_type<int(unsigned, long**)>));
static_assert(!is_called_alike(of_type<int(int)>, of_type<int(long)>));
static_assert(!is_called_alike(of_type<int(int*)>, of_type<int(int**)>));
static_assert(!is_called_alike(of_type<int(int)>, of_type<int(int, int)>));

#define RICCI_COMPARE(name, result, parameters) \
    static_assert(is_called_alike(static_cast<ours::type_of_##name>(nullptr), &::name), #name);

}  // namespace

TEST_CASE("the driver is declared as in NVIDIA's header") {
#if __has_include(<cuda.h>)
    RICCI_CUDA_DRIVER(RICCI_COMPARE)
    static_assert(sizeof(ours::DevicePointer) == sizeof(CUdeviceptr));
    static_assert(std::is_same_v<ours::Stream, CUstream>);
    static_assert(ricci::cuda::success == CUDA_SUCCESS);
    static_assert(ricci::cuda::error_invalid_value == CUDA_ERROR_INVALID_VALUE);
    static_assert(ricci::cuda::error_out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
    static_assert(ricci::cuda::error_no_device == CUDA_ERROR_NO_DEVICE);
    static_assert(ricci::cuda::error_not_found == CUDA_ERROR_NOT_FOUND);
    static_assert(ricci::cuda::error_not_ready == CUDA_ERROR_NOT_READY);
    static_assert(ricci::cuda::attribute_max_shared_optin ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    static_assert(ricci::cuda::attribute_multiprocessors ==
                  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    static_assert(ricci::cuda::attribute_capability_major ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    static_assert(ricci::cuda::attribute_capability_minor ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    static_assert(ricci::cuda::function_max_dynamic_shared ==
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    static_assert(ricci::cuda::stream_non_blocking == CU_STREAM_NON_BLOCKING);
    static_assert(ricci::cuda::event_disable_timing == CU_EVENT_DISABLE_TIMING);
    static_assert(ricci::cuda::capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CHECK(CUDA_VERSION >= 12000);
#else
    std::cout << "SKIPPED: no cuda.h\n";
#endif
}

TEST_CASE("NVRTC is declared as in NVIDIA's header") {
#if __has_include(<nvrtc.h>)
    RICCI_NVRTC(RICCI_COMPARE)
    static_assert(NVRTC_SUCCESS == 0);
    CHECK(NVRTC_ERROR_COMPILATION == 6);
#else
    std::cout << "SKIPPED: no nvrtc.h\n";
#endif
}
