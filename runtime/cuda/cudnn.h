// runtime/cuda/cudnn.h – the functions of cuDNN's backend interface that Ricci calls
//
// Declared here as in runtime/cuda/api.h: signatures and numbers are those of cuDNN 9 (cudnn.h;
// tests compare them where a toolkit is).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/api.h"

struct cudnnContext;  // cuDNN's own tag

namespace ricci::cuda {

using CudnnHandle = ::cudnnContext*;
using CudnnDescriptor = void*;  ///< cudnnBackendDescriptor_t

// Numbers of cudnn_graph.h.
inline constexpr int cudnn_success = 0;
inline constexpr int cudnn_data_f32 = 0;
inline constexpr int cudnn_data_f64 = 1;
/// cudnnBackendDescriptorType_t
enum class CudnnKind : int {
    pointwise = 0,
    convolution = 1,
    engine_config = 3,
    heuristics = 4,
    plan = 5,
    operation_forward = 10,
    operation_filter_gradient = 11,
    operation_input_gradient = 12,
    operation_pointwise = 13,
    graph = 15,
    variant_pack = 16,
    tensor = 17,
    engine = 2,
};
/// cudnnBackendAttributeType_t
enum class CudnnType : int {
    handle = 0,
    data_type = 1,
    boolean = 2,
    int64 = 3,
    f32 = 4,
    f64 = 5,
    pointer = 6,
    convolution_mode = 7,
    heuristics_mode = 8,
    nan_propagation = 10,
    numerical_note = 11,
    pointwise_mode = 14,
    descriptor = 15,
};
/// cudnnBackendAttributeName_t
enum class CudnnAttribute : int {
    pointwise_mode = 0,
    pointwise_precision = 1,
    pointwise_nan_propagation = 2,
    convolution_type = 100,
    convolution_mode = 101,
    convolution_dilations = 102,
    convolution_strides = 103,
    convolution_post_paddings = 104,
    convolution_pre_paddings = 105,
    convolution_dimensions = 106,
    heuristics_mode = 200,
    heuristics_graph = 201,
    heuristics_results = 202,
    config_engine = 300,
    plan_handle = 400,
    plan_config = 401,
    plan_workspace = 402,
    forward_alpha = 700,
    forward_beta = 701,
    forward_convolution = 702,
    forward_w = 703,
    forward_x = 704,
    forward_y = 705,
    input_gradient_alpha = 706,
    input_gradient_beta = 707,
    input_gradient_convolution = 708,
    input_gradient_w = 709,
    input_gradient_x = 710,
    input_gradient_y = 711,
    filter_gradient_alpha = 712,
    filter_gradient_beta = 713,
    filter_gradient_convolution = 714,
    filter_gradient_w = 715,
    filter_gradient_x = 716,
    filter_gradient_y = 717,
    pointwise_description = 750,
    pointwise_x = 751,
    pointwise_b = 752,
    pointwise_y = 753,
    graph_handle = 800,
    graph_operations = 801,
    tensor_alignment = 900,
    tensor_type = 901,
    tensor_dimensions = 902,
    tensor_strides = 903,
    tensor_name = 906,  ///< CUDNN_ATTR_TENSOR_UNIQUE_ID
    tensor_is_virtual = 907,
    pack_names = 1000,
    pack_pointers = 1001,
    pack_workspace = 1003,
    engine_notes = 1303,
};
inline constexpr int cudnn_true_convolution = 0;  // CUDNN_CONVOLUTION
inline constexpr int cudnn_cross_correlation = 1;
inline constexpr int cudnn_pointwise_add = 0;
inline constexpr int cudnn_pointwise_relu = 100;
inline constexpr int cudnn_propagate_nan = 1;
inline constexpr int cudnn_heuristics_fallback = 2;
inline constexpr int cudnn_heuristics_a = 3;
/// cudnnBackendNumericalNote_t
inline constexpr int cudnn_note_tensor_core = 0;
inline constexpr int cudnn_note_down_convert = 1;
inline constexpr int cudnn_note_reduced_precision = 2;
inline constexpr int cudnn_note_fft = 3;
inline constexpr int cudnn_note_nondeterministic = 4;
inline constexpr int cudnn_note_winograd_6x6 = 7;
inline constexpr int cudnn_note_winograd_13x13 = 8;
inline constexpr int cudnn_note_count = 32;  ///< room for those of later versions

// clang-format off
#define RICCI_CUDNN(F)                                                                             \
    F(cudnnGetVersion, std::size_t, ())                                                            \
    F(cudnnGetErrorString, const char*, (int status))                                              \
    F(cudnnGetLastErrorString, void, (char* message, std::size_t bytes))                           \
    F(cudnnCreate, int, (CudnnHandle* handle))                                                     \
    F(cudnnDestroy, int, (CudnnHandle handle))                                                     \
    F(cudnnSetStream, int, (CudnnHandle handle, Stream stream))                                    \
    F(cudnnBackendCreateDescriptor, int, (CudnnKind kind, CudnnDescriptor* descriptor))            \
    F(cudnnBackendDestroyDescriptor, int, (CudnnDescriptor descriptor))                            \
    F(cudnnBackendFinalize, int, (CudnnDescriptor descriptor))                                     \
    F(cudnnBackendSetAttribute, int,                                                               \
      (CudnnDescriptor descriptor, CudnnAttribute name, CudnnType type, std::int64_t count,        \
       const void* values))                                                                        \
    F(cudnnBackendGetAttribute, int,                                                               \
      (CudnnDescriptor descriptor, CudnnAttribute name, CudnnType type, std::int64_t room,         \
       std::int64_t* count, void* values))                                                         \
    F(cudnnBackendExecute, int,                                                                    \
      (CudnnHandle handle, CudnnDescriptor plan, CudnnDescriptor variant_pack))
// clang-format on

// The names are those of the libraries. NOLINTBEGIN(*-macro-parentheses,*-identifier-naming)
#define RICCI_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
/// libcudnn.so.9
struct Cudnn {
    RICCI_CUDNN(RICCI_DECLARE)
};
#undef RICCI_DECLARE
// NOLINTEND(*-macro-parentheses,*-identifier-naming)

/// The table of cuDNN, opened by the first call. Throws: `device`.
[[nodiscard]] const Cudnn& cudnn();
/// Puts another table in its place; null: the library's again. No one may be using it meanwhile.
void replace_cudnn(const Cudnn* table);

}  // namespace ricci::cuda
