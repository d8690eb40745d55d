// runtime/cuda/cublaslt.h – the functions of cuBLASLt that Ricci calls
//
// Declared here as in runtime/cuda/api.h: signatures and numbers are those of CUDA 12 and later
// (cublasLt.h; tests compare them where a toolkit is).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/api.h"

struct cublasLtContext;  // cuBLASLt's own tag

namespace ricci::cuda {

using LtHandle = ::cublasLtContext*;
using LtOperation = struct LtOperationStruct*;    ///< cublasLtMatmulDesc_t
using LtLayout = struct LtLayoutStruct*;          ///< cublasLtMatrixLayout_t
using LtPreference = struct LtPreferenceStruct*;  ///< cublasLtMatmulPreference_t

struct LtAlgorithm {
    std::uint64_t data[8];
};
struct LtHeuristic {
    LtAlgorithm algorithm;
    std::size_t workspace_bytes;
    int state;  ///< 0: usable
    float waves;
    int reserved[4];
};

// Numbers of cublasLt.h, cublas_api.h and library_types.h.
inline constexpr int lt_success = 0;  // CUBLAS_STATUS_…
inline constexpr int lt_not_supported = 15;
inline constexpr int lt_type_f32 = 0;  // CUDA_R_…
inline constexpr int lt_type_f64 = 1;
inline constexpr int lt_compute_f32 = 68;  // CUBLAS_COMPUTE_…: without TF32
inline constexpr int lt_compute_f64 = 70;
inline constexpr int lt_op_plain = 0;  // CUBLAS_OP_…
inline constexpr int lt_op_transposed = 1;
inline constexpr int lt_epilogue_none = 1;  // CUBLASLT_EPILOGUE_…
inline constexpr int lt_epilogue_relu = 2;
inline constexpr int lt_epilogue_bias = 4;
inline constexpr int lt_epilogue_relu_bias = 6;
inline constexpr int lt_operation_transpose_a = 3;  // CUBLASLT_MATMUL_DESC_…
inline constexpr int lt_operation_transpose_b = 4;
inline constexpr int lt_operation_epilogue = 7;
inline constexpr int lt_operation_bias_pointer = 8;
inline constexpr int lt_operation_bias_batch_stride = 10;
inline constexpr int lt_layout_batch_count = 5;  // CUBLASLT_MATRIX_LAYOUT_…
inline constexpr int lt_layout_batch_stride = 6;
inline constexpr int lt_preference_workspace = 1;  // CUBLASLT_MATMUL_PREF_…
inline constexpr int lt_preference_alignment_a = 5;
inline constexpr int lt_preference_alignment_b = 6;
inline constexpr int lt_preference_alignment_c = 7;
inline constexpr int lt_preference_alignment_d = 8;

// clang-format off
#define RICCI_CUBLASLT(F)                                                                          \
    F(cublasLtCreate, int, (LtHandle* handle))                                                     \
    F(cublasLtDestroy, int, (LtHandle handle))                                                     \
    F(cublasLtGetVersion, std::size_t, ())                                                         \
    F(cublasLtGetStatusName, const char*, (int status))                                            \
    F(cublasLtMatmulDescCreate, int, (LtOperation* operation, int compute_type, int scale_type))   \
    F(cublasLtMatmulDescDestroy, int, (LtOperation operation))                                     \
    F(cublasLtMatmulDescSetAttribute, int,                                                         \
      (LtOperation operation, int attribute, const void* value, std::size_t bytes))                \
    F(cublasLtMatrixLayoutCreate, int,                                                             \
      (LtLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,                      \
       std::int64_t leading_dimension))                                                            \
    F(cublasLtMatrixLayoutDestroy, int, (LtLayout layout))                                         \
    F(cublasLtMatrixLayoutSetAttribute, int,                                                       \
      (LtLayout layout, int attribute, const void* value, std::size_t bytes))                      \
    F(cublasLtMatmulPreferenceCreate, int, (LtPreference* preference))                             \
    F(cublasLtMatmulPreferenceDestroy, int, (LtPreference preference))                             \
    F(cublasLtMatmulPreferenceSetAttribute, int,                                                   \
      (LtPreference preference, int attribute, const void* value, std::size_t bytes))              \
    F(cublasLtMatmulAlgoGetHeuristic, int,                                                         \
      (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,     \
       LtPreference preference, int requested, LtHeuristic* results, int* returned))               \
    F(cublasLtMatmul, int,                                                                         \
      (LtHandle handle, LtOperation operation, const void* alpha, const void* a, LtLayout a_layout,\
       const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout,       \
       void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace,                  \
       std::size_t workspace_bytes, Stream stream))
// clang-format on

// The names are those of the libraries. NOLINTBEGIN(*-macro-parentheses,*-identifier-naming)
#define RICCI_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
/// libcublasLt.so
struct CublasLt {
    RICCI_CUBLASLT(RICCI_DECLARE)
};
#undef RICCI_DECLARE
// NOLINTEND(*-macro-parentheses,*-identifier-naming)

/// The table of cuBLASLt, opened by the first call. Throws: `device`.
[[nodiscard]] const CublasLt& cublaslt();
/// Puts another table in its place; null: the library's again. No one may be using it meanwhile.
void replace_cublaslt(const CublasLt* table);

}  // namespace ricci::cuda
