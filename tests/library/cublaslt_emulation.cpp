// tests/library/cublaslt_emulation.cpp – cuBLASLt on the host
#include "tests/library/cublaslt_emulation.h"

#include <cstdint>
#include <cstring>

#include "tests/library/library_device.h"

namespace ricci::tests {
namespace {

using namespace ricci::cuda;

constexpr int invalid_value = 7;
constexpr int illegal_address = 700;  // the driver's: what a kernel does is its error
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

/// A call, with all that it was given.
struct Product {
    Operation operation;
    double alpha;
    double beta;
    const void* a;
    const void* b;
    const void* c;
    void* d;
    Layout a_layout;
    Layout b_layout;
    Layout c_layout;
    Layout d_layout;
    void* workspace;
    std::size_t workspace_bytes;
};

/// The elements of a matrix on the host; null when some of them are in no allocation.
template <class T>
T* elements(const void* address, const Layout& layout) {
    const std::int64_t last = std::int64_t(layout.rows) - 1 +
                              (std::int64_t(layout.columns) - 1) * layout.leading +
                              (layout.batch - 1) * layout.batch_stride;
    return reinterpret_cast<T*>(library_device().memory(reinterpret_cast<DevicePointer>(address),
                                                        std::size_t(last + 1) * sizeof(T)));
}

template <class T>
int multiply(const Product& p) {
    const T* a = elements<T>(p.a, p.a_layout);
    const T* b = elements<T>(p.b, p.b_layout);
    // As BLAS has it: what is multiplied by 0 is not read.
    const T* c = p.beta == 0 ? nullptr : elements<T>(p.c, p.c_layout);
    T* d = elements<T>(p.d, p.d_layout);
    const Operation& operation = p.operation;
    const bool has_bias = (operation.epilogue & lt_epilogue_bias) != 0;
    const Layout bias_layout{p.d_layout.type,
                             p.d_layout.rows,
                             1,
                             std::int64_t(p.d_layout.rows),
                             p.d_layout.batch,
                             operation.bias_batch_stride};
    const T* bias = has_bias ? elements<T>(operation.bias, bias_layout) : nullptr;
    char* workspace =
        library_device().memory(reinterpret_cast<DevicePointer>(p.workspace), p.workspace_bytes);
    if (a == nullptr || b == nullptr || d == nullptr || (p.beta != 0 && c == nullptr) ||
        (has_bias && bias == nullptr) || (p.workspace_bytes > 0 && workspace == nullptr))
        return illegal_address;
    if (p.workspace_bytes > 0) std::memset(workspace, 0xff, p.workspace_bytes);
    const auto at = [](const Layout& layout, std::int64_t batch, std::uint64_t row,
                       std::uint64_t column, int op) {
        if (op != lt_op_plain) std::swap(row, column);
        return batch * layout.batch_stride + std::int64_t(row) +
               std::int64_t(column) * layout.leading;
    };
    const std::uint64_t depth = columns(p.a_layout, operation.transpose_a);
    for (std::int64_t n = 0; n < p.d_layout.batch; ++n) {
        for (std::uint64_t row = 0; row < p.d_layout.rows; ++row) {
            for (std::uint64_t column = 0; column < p.d_layout.columns; ++column) {
                double sum = 0;
                for (std::uint64_t k = 0; k < depth; ++k)
                    sum += double(a[at(p.a_layout, n, row, k, operation.transpose_a)]) *
                           double(b[at(p.b_layout, n, k, column, operation.transpose_b)]);
                double value = p.alpha * sum;
                if (c != nullptr)
                    value += p.beta * double(c[at(p.c_layout, n, row, column, lt_op_plain)]);
                if (has_bias)
                    value += double(bias[n * bias_layout.batch_stride + std::int64_t(row)]);
                if ((operation.epilogue & lt_epilogue_relu) != 0 && value < 0) value = 0;
                d[at(p.d_layout, n, row, column, lt_op_plain)] = T(value);
            }
        }
    }
    return lt_success;
}

bool is_aligned(const void* pointer, std::uint64_t alignment) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

int matmul(LtHandle, LtOperation handle, const void* alpha, const void* a, LtLayout a_layout,
           const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout,
           void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace,
           std::size_t workspace_bytes, Stream stream) {
    const Operation& operation = of(handle);
    if (state().fails_in_run != 0) return state().fails_in_run;
    if (!is_consistent(operation, of(a_layout), of(b_layout), of(c_layout), of(d_layout)))
        return invalid_value;
    if (algorithm->data[0] != own_algorithm || workspace_bytes != state().workspace_bytes)
        return invalid_value;
    const std::uint64_t* alignment = algorithm->data + 1;
    if (!is_aligned(a, alignment[0]) || !is_aligned(b, alignment[1]) ||
        !is_aligned(c, alignment[2]) || !is_aligned(d, alignment[3]) || !is_aligned(workspace, 256))
        return invalid_value;
    ++state().products;
    const bool is_f32 = operation.scale == lt_type_f32;
    const auto scale = [&](const void* value) {
        return is_f32 ? double(*static_cast<const float*>(value))
                      : *static_cast<const double*>(value);
    };
    const Product product{operation,
                          scale(alpha),
                          scale(beta),
                          a,
                          b,
                          c,
                          d,
                          of(a_layout),
                          of(b_layout),
                          of(c_layout),
                          of(d_layout),
                          workspace,
                          workspace_bytes};
    return library_device().enqueue(stream, [is_f32, product] {
        return is_f32 ? multiply<float>(product) : multiply<double>(product);
    });
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
