// tests/library/headers_test.cpp – declarations of cuBLASLt and cuDNN against NVIDIA's own
#include <iostream>

#include <doctest/doctest.h>

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/cudnn.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#include <type_traits>

using namespace ricci::cuda;

namespace {

/// Whether both types are passed in the same way: both addresses, or numbers of one kind and size.
template <class A, class B>
constexpr bool is_passed_alike() {
    if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
        return std::is_void_v<A> && std::is_void_v<B>;
    } else {
        return std::is_pointer_v<A> == std::is_pointer_v<B> &&
               std::is_floating_point_v<A> == std::is_floating_point_v<B> && sizeof(A) == sizeof(B);
    }
}

template <class R, class... P, class S, class... Q>
constexpr bool is_called_alike(R (*)(P...), S (*)(Q...)) {
    if constexpr (sizeof...(P) != sizeof...(Q)) {
        return false;
    } else {
        return is_passed_alike<R, S>() && (is_passed_alike<P, Q>() && ...);
    }
}

template <class F>
constexpr F* of_type = nullptr;
static_assert(is_called_alike(of_type<void(int, long*)>, of_type<void(unsigned, char*)>));
static_assert(!is_called_alike(of_type<void(int)>, of_type<void(long)>));
static_assert(!is_called_alike(of_type<void(long)>, of_type<void(long*)>));

#define RICCI_COMPARE(name, result, parameters) \
    static_assert(is_called_alike(static_cast<result(*) parameters>(nullptr), &::name), #name);

}  // namespace

TEST_CASE("cuBLASLt is declared as in NVIDIA's header") {
#if __has_include(<cublasLt.h>)
    RICCI_CUBLASLT(RICCI_COMPARE)
    static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
    static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
    static_assert(offsetof(LtHeuristic, workspace_bytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
    static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
    CHECK(lt_success == CUBLAS_STATUS_SUCCESS);
    CHECK(lt_not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(lt_type_f32 == CUDA_R_32F);
    CHECK(lt_type_f64 == CUDA_R_64F);
    CHECK(lt_compute_f32 == CUBLAS_COMPUTE_32F);
    CHECK(lt_compute_f64 == CUBLAS_COMPUTE_64F);
    CHECK(lt_op_plain == CUBLAS_OP_N);
    CHECK(lt_op_transposed == CUBLAS_OP_T);
    CHECK(lt_epilogue_none == CUBLASLT_EPILOGUE_DEFAULT);
    CHECK(lt_epilogue_relu == CUBLASLT_EPILOGUE_RELU);
    CHECK(lt_epilogue_bias == CUBLASLT_EPILOGUE_BIAS);
    CHECK(lt_epilogue_relu_bias == CUBLASLT_EPILOGUE_RELU_BIAS);
    CHECK(lt_operation_transpose_a == CUBLASLT_MATMUL_DESC_TRANSA);
    CHECK(lt_operation_transpose_b == CUBLASLT_MATMUL_DESC_TRANSB);
    CHECK(lt_operation_epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
    CHECK(lt_operation_bias_pointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    CHECK(lt_operation_bias_batch_stride == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
    CHECK(lt_layout_batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
    CHECK(lt_layout_batch_stride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
    CHECK(lt_preference_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    CHECK(lt_preference_alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    CHECK(lt_preference_alignment_b == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
    CHECK(lt_preference_alignment_c == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
    CHECK(lt_preference_alignment_d == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
#else
    std::cout << "SKIPPED: no cublasLt.h\n";
#endif
}

TEST_CASE("cuDNN is declared as in NVIDIA's header") {
#if __has_include(<cudnn.h>)
    RICCI_CUDNN(RICCI_COMPARE)
    using enum CudnnAttribute;
    const auto is = [](auto ours, auto theirs) { return int(ours) == int(theirs); };
    CHECK(cudnn_success == CUDNN_STATUS_SUCCESS);
    CHECK(cudnn_data_f32 == CUDNN_DATA_FLOAT);
    CHECK(cudnn_data_f64 == CUDNN_DATA_DOUBLE);
    CHECK(cudnn_true_convolution == CUDNN_CONVOLUTION);
    CHECK(cudnn_cross_correlation == CUDNN_CROSS_CORRELATION);
    CHECK(cudnn_pointwise_add == CUDNN_POINTWISE_ADD);
    CHECK(cudnn_pointwise_relu == CUDNN_POINTWISE_RELU_FWD);
    CHECK(cudnn_propagate_nan == 1);  // CUDNN_PROPAGATE_NAN, which the header deprecates
    CHECK(cudnn_heuristics_fallback == CUDNN_HEUR_MODE_FALLBACK);
    CHECK(cudnn_heuristics_a == CUDNN_HEUR_MODE_A);
    CHECK(cudnn_note_tensor_core == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    CHECK(cudnn_note_down_convert == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
    CHECK(cudnn_note_reduced_precision == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
    CHECK(cudnn_note_fft == CUDNN_NUMERICAL_NOTE_FFT);
    CHECK(cudnn_note_nondeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    CHECK(cudnn_note_winograd_6x6 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
    CHECK(cudnn_note_winograd_13x13 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
    CHECK(cudnn_note_count >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    CHECK(is(CudnnKind::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    CHECK(is(CudnnKind::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
    CHECK(is(CudnnKind::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
    CHECK(is(CudnnKind::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    CHECK(is(CudnnKind::heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    CHECK(is(CudnnKind::plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    CHECK(is(CudnnKind::operation_forward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
    CHECK(is(CudnnKind::operation_filter_gradient,
             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
    CHECK(is(CudnnKind::operation_input_gradient,
             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
    CHECK(is(CudnnKind::operation_pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    CHECK(is(CudnnKind::graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    CHECK(is(CudnnKind::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    CHECK(is(CudnnKind::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    CHECK(is(CudnnType::handle, CUDNN_TYPE_HANDLE));
    CHECK(is(CudnnType::data_type, CUDNN_TYPE_DATA_TYPE));
    CHECK(is(CudnnType::boolean, CUDNN_TYPE_BOOLEAN));
    CHECK(is(CudnnType::int64, CUDNN_TYPE_INT64));
    CHECK(is(CudnnType::f32, CUDNN_TYPE_FLOAT));
    CHECK(is(CudnnType::f64, CUDNN_TYPE_DOUBLE));
    CHECK(is(CudnnType::pointer, CUDNN_TYPE_VOID_PTR));
    CHECK(is(CudnnType::convolution_mode, CUDNN_TYPE_CONVOLUTION_MODE));
    CHECK(is(CudnnType::heuristics_mode, CUDNN_TYPE_HEUR_MODE));
    CHECK(is(CudnnType::numerical_note, CUDNN_TYPE_NUMERICAL_NOTE));
    CHECK(is(CudnnType::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE));
    CHECK(is(CudnnType::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
    CHECK(is(pointwise_mode, CUDNN_ATTR_POINTWISE_MODE));
    CHECK(is(pointwise_precision, CUDNN_ATTR_POINTWISE_MATH_PREC));
    CHECK(is(convolution_type, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
    CHECK(is(convolution_mode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
    CHECK(is(convolution_dilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
    CHECK(is(convolution_strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
    CHECK(is(convolution_post_paddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
    CHECK(is(convolution_pre_paddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
    CHECK(is(convolution_dimensions, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
    CHECK(is(heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE));
    CHECK(is(heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
    CHECK(is(heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS));
    CHECK(is(config_engine, CUDNN_ATTR_ENGINECFG_ENGINE));
    CHECK(is(plan_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
    CHECK(is(plan_workspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    CHECK(is(forward_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
    CHECK(is(forward_y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    CHECK(is(input_gradient_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
    CHECK(is(input_gradient_x, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
    CHECK(is(input_gradient_y, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
    CHECK(is(filter_gradient_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA));
    CHECK(is(filter_gradient_w, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
    CHECK(is(filter_gradient_x, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
    CHECK(is(filter_gradient_y, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
    CHECK(is(pointwise_description, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
    CHECK(is(pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    CHECK(is(pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    CHECK(is(pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    CHECK(is(graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
    CHECK(is(tensor_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
    CHECK(is(tensor_type, CUDNN_ATTR_TENSOR_DATA_TYPE));
    CHECK(is(tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
    CHECK(is(tensor_strides, CUDNN_ATTR_TENSOR_STRIDES));
    CHECK(is(tensor_name, CUDNN_ATTR_TENSOR_UNIQUE_ID));
    CHECK(is(tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
    CHECK(is(pack_names, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
    CHECK(is(pack_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
    CHECK(is(pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
    CHECK(is(engine_notes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
#else
    std::cout << "SKIPPED: no cudnn.h\n";
#endif
}
