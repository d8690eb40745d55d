// tests/library/cublaslt_emulation.cpp – cuBLASLt on the host
#include "tests/library/cublaslt_emulation.h"

#include <cstdint>
#include <cstring>

namespace ricci::tests {
namespace {

using namespace ricci::cuda;

constexpr int invalid_value = 7;
constexpr std::uint64_t own_algorithm = 0x5e1f;

LtEmulation& state() {
    static LtEmulation kept;
    return kept;
}

struct Operation {
    int compute;
    int scale;
    int transpose_a = lt_op_plain;
    int transpose_b = lt_op_plain;
    int epilogue = lt_epilogue_none;
    const void* bias = nullptr;
    std::int64_t bias_batch_stride = 0;
};
struct Layout {
    int type;
    std::uint64_t rows;
    std::uint64_t columns;
    std::int64_t leading;
    std::int32_t batch = 1;
    std::int64_t batch_stride = 0;
};
struct Preference {
    std::uint64_t workspace = 0;
    std::uint32_t alignment[4] = {256, 256, 256, 256};
};

Operation& of(LtOperation handle) { return *reinterpret_cast<Operation*>(handle); }
Layout& of(LtLayout handle) { return *reinterpret_cast<Layout*>(handle); }
Preference& of(LtPreference handle) { return *reinterpret_cast<Preference*>(handle); }

template <class T, class Handle>
int make(Handle* handle, T* made) {
    *handle = reinterpret_cast<Handle>(made);
    ++state().objects;
    return lt_success;
}
template <class T, class Handle>
int destroy(Handle handle) {
    delete reinterpret_cast<T*>(handle);
    --state().objects;
    return lt_success;
}

/// Takes an attribute of exactly that size.
template <class T>
int take(T& field, const void* value, std::size_t bytes) {
    if (bytes != sizeof field) return invalid_value;
    std::memcpy(&field, value, bytes);
    return lt_success;
}

int set_operation(LtOperation handle, int attribute, const void* value, std::size_t bytes) {
    Operation& operation = of(handle);
    switch (attribute) {
        case lt_operation_transpose_a:       return take(operation.transpose_a, value, bytes);
        case lt_operation_transpose_b:       return take(operation.transpose_b, value, bytes);
        case lt_operation_epilogue:          return take(operation.epilogue, value, bytes);
        case lt_operation_bias_pointer:      return take(operation.bias, value, bytes);
        case lt_operation_bias_batch_stride: return take(operation.bias_batch_stride, value, bytes);
        default:                             return invalid_value;
    }
}
int set_layout(LtLayout handle, int attribute, const void* value, std::size_t bytes) {
    if (attribute == lt_layout_batch_count) return take(of(handle).batch, value, bytes);
    if (attribute == lt_layout_batch_stride) return take(of(handle).batch_stride, value, bytes);
    return invalid_value;
}
int set_preference(LtPreference handle, int attribute, const void* value, std::size_t bytes) {
    if (attribute == lt_preference_workspace) return take(of(handle).workspace, value, bytes);
    const int which = attribute - lt_preference_alignment_a;
    if (which < 0 || which > 3) return invalid_value;
    return take(of(handle).alignment[which], value, bytes);
}

/// The extents of op(matrix).
std::uint64_t rows(const Layout& layout, int op) {
    return op == lt_op_plain ? layout.rows : layout.columns;
}
std::uint64_t columns(const Layout& layout, int op) {
    return op == lt_op_plain ? layout.columns : layout.rows;
}

bool is_consistent(const Operation& operation, const Layout& a, const Layout& b, const Layout& c,
                   const Layout& d) {
    const bool is_f32 = operation.compute == lt_compute_f32;
    if (!is_f32 && operation.compute != lt_compute_f64) return false;
    if (operation.scale != (is_f32 ? lt_type_f32 : lt_type_f64)) return false;
    for (const Layout* layout : {&a, &b, &c, &d}) {
        if (layout->type != operation.scale || layout->batch != d.batch) return false;
        if (layout->leading < std::int64_t(layout->rows)) return false;
    }
    // Batches of the result do not meet.
    if (d.batch > 1 && d.batch_stride == 0) return false;
    return rows(a, operation.transpose_a) == d.rows && c.rows == d.rows &&
           columns(b, operation.transpose_b) == d.columns && c.columns == d.columns &&
           columns(a, operation.transpose_a) == rows(b, operation.transpose_b);
}

int heuristic(LtHandle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
              LtPreference preference, int requested, LtHeuristic* results, int* returned) {
    if (!is_consistent(of(operation), of(a), of(b), of(c), of(d))) return invalid_value;
    const bool wants_bias = (of(operation).epilogue & lt_epilogue_bias) != 0;
    if (wants_bias && of(operation).bias == nullptr) return invalid_value;
    state().asked_a = of(preference).alignment[0];
    *returned = 0;
    if (!state().has_algorithm) return lt_not_supported;
    // What is too large, what is not supported, and what works.
    for (int i = 0; i < 3 && i < requested; ++i) {
        results[i] = {};
        results[i].state = i == 1 ? lt_not_supported : lt_success;
        results[i].workspace_bytes = i == 0 ? std::size_t(1) << 40 : state().workspace_bytes;
        results[i].algorithm.data[0] = i == 2 ? own_algorithm : 0;
        for (int which = 0; which < 4; ++which)
            results[i].algorithm.data[1 + which] = of(preference).alignment[which];
        ++*returned;
    }
    return lt_success;
}

template <class T>
void multiply(const Operation& operation, T alpha, const T* a, const Layout& a_layout, const T* b,
              const Layout& b_layout, T beta, const T* c, const Layout& c_layout, T* d,
              const Layout& d_layout) {
    const auto at = [](const Layout& layout, std::int64_t batch, std::uint64_t row,
                       std::uint64_t column, int op) {
        if (op != lt_op_plain) std::swap(row, column);
        return batch * layout.batch_stride + std::int64_t(row) +
               std::int64_t(column) * layout.leading;
    };
    const std::uint64_t depth = columns(a_layout, operation.transpose_a);
    for (std::int64_t n = 0; n < d_layout.batch; ++n) {
        for (std::uint64_t row = 0; row < d_layout.rows; ++row) {
            for (std::uint64_t column = 0; column < d_layout.columns; ++column) {
                double sum = 0;
                for (std::uint64_t k = 0; k < depth; ++k)
                    sum += double(a[at(a_layout, n, row, k, operation.transpose_a)]) *
                           double(b[at(b_layout, n, k, column, operation.transpose_b)]);
                double value = double(alpha) * sum;
                // As BLAS has it: what is multiplied by 0 is not read.
                if (beta != 0)
                    value += double(beta) * double(c[at(c_layout, n, row, column, lt_op_plain)]);
                if ((operation.epilogue & lt_epilogue_bias) != 0)
                    value += double(static_cast<const T*>(
                        operation.bias)[n * operation.bias_batch_stride + std::int64_t(row)]);
                if ((operation.epilogue & lt_epilogue_relu) != 0 && value < 0) value = 0;
                d[at(d_layout, n, row, column, lt_op_plain)] = T(value);
            }
        }
    }
}

bool is_aligned(const void* pointer, std::uint64_t alignment) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

int matmul(LtHandle, LtOperation handle, const void* alpha, const void* a, LtLayout a_layout,
           const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout,
           void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace,
           std::size_t workspace_bytes, Stream) {
    const Operation& operation = of(handle);
    if (state().fails_in_run != 0) return state().fails_in_run;
    if (!is_consistent(operation, of(a_layout), of(b_layout), of(c_layout), of(d_layout)))
        return invalid_value;
    if (algorithm->data[0] != own_algorithm || workspace_bytes != state().workspace_bytes)
        return invalid_value;
    if (workspace_bytes > 0 && !is_aligned(workspace, 256)) return invalid_value;
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    const std::uint64_t* alignment = algorithm->data + 1;
    if (!is_aligned(a, alignment[0]) || !is_aligned(b, alignment[1]) ||
        !is_aligned(c, alignment[2]) || !is_aligned(d, alignment[3]))
        return invalid_value;
    ++state().products;
    if (operation.scale == lt_type_f32)
        multiply(operation, *static_cast<const float*>(alpha), static_cast<const float*>(a),
                 of(a_layout), static_cast<const float*>(b), of(b_layout),
                 *static_cast<const float*>(beta), static_cast<const float*>(c), of(c_layout),
                 static_cast<float*>(d), of(d_layout));
    else
        multiply(operation, *static_cast<const double*>(alpha), static_cast<const double*>(a),
                 of(a_layout), static_cast<const double*>(b), of(b_layout),
                 *static_cast<const double*>(beta), static_cast<const double*>(c), of(c_layout),
                 static_cast<double*>(d), of(d_layout));
    return lt_success;
}

}  // namespace

const CublasLt& emulated_cublaslt() {
    static const CublasLt table = {
        .cublasLtCreate = [](LtHandle* handle) { return make(handle, new int(0)); },
        .cublasLtDestroy = [](LtHandle handle) { return destroy<int>(handle); },
        .cublasLtGetVersion = []() -> std::size_t { return 130100; },
        .cublasLtGetStatusName =
            [](int status) {
                return status == invalid_value ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_X";
            },
        .cublasLtMatmulDescCreate =
            [](LtOperation* handle, int compute, int scale) {
                return make(handle, new Operation{.compute = compute, .scale = scale});
            },
        .cublasLtMatmulDescDestroy = destroy<Operation, LtOperation>,
        .cublasLtMatmulDescSetAttribute = set_operation,
        .cublasLtMatrixLayoutCreate =
            [](LtLayout* handle, int type, std::uint64_t rows, std::uint64_t columns,
               std::int64_t leading) {
                return make(handle, new Layout{type, rows, columns, leading});
            },
        .cublasLtMatrixLayoutDestroy = destroy<Layout, LtLayout>,
        .cublasLtMatrixLayoutSetAttribute = set_layout,
        .cublasLtMatmulPreferenceCreate =
            [](LtPreference* handle) { return make(handle, new Preference); },
        .cublasLtMatmulPreferenceDestroy = destroy<Preference, LtPreference>,
        .cublasLtMatmulPreferenceSetAttribute = set_preference,
        .cublasLtMatmulAlgoGetHeuristic = heuristic,
        .cublasLtMatmul = matmul};
    return table;
}

LtEmulation& reset_lt_emulation() {
    const int objects = state().objects;
    state() = {};
    state().objects = objects;
    return state();
}

}  // namespace ricci::tests
