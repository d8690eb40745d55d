// runtime/cuda/library_product.cpp – matrix products by cuBLASLt
//
// cuBLASLt's matrices are column by column. Where the result has its unit stride along its rows it
// is such a matrix; where along its columns, its transpose is, and is the product of the transposed
// operands in the other order. So no order attribute is needed, and a bias lies along the rows of
// what cuBLASLt computes, as its epilogues ask for.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/library_handles.h"

namespace ricci::cuda {
namespace {

using codegen::Activation;
using codegen::MatrixOperand;
using codegen::MatrixProduct;

/// How many algorithms are asked for: the first that works is taken.
constexpr int candidates = 8;

void check(int status, const char* tried) {
    if (status == lt_success) return;
    throw Error({.kind = ErrorKind::device,
                 .message = format("cuBLASLt fails in {}: {}", tried,
                                   cublaslt().cublasLtGetStatusName(status)),
                 .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
}

/// Owns what a cublasLt…Create gave.
template <class Handle, int (*CublasLt::*destroy)(Handle)>
class Owned {
  public:
    Owned() = default;
    Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owned& operator=(Owned&&) = delete;
    ~Owned() {
        if (handle_ != nullptr) (void)(cublaslt().*destroy)(handle_);
    }
    [[nodiscard]] Handle get() const noexcept { return handle_; }
    [[nodiscard]] Handle* out() noexcept { return &handle_; }

  private:
    Handle handle_ = nullptr;
};
using Operation = Owned<LtOperation, &CublasLt::cublasLtMatmulDescDestroy>;
using Layout = Owned<LtLayout, &CublasLt::cublasLtMatrixLayoutDestroy>;
using Preference = Owned<LtPreference, &CublasLt::cublasLtMatmulPreferenceDestroy>;

template <class T>
void set(const Operation& operation, int attribute, T value) {
    check(cublaslt().cublasLtMatmulDescSetAttribute(operation.get(), attribute,
                                                    static_cast<const void*>(&value), sizeof value),
          "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(const Layout& layout, int attribute, T value) {
    check(
        cublaslt().cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
}
template <class T>
void set(const Preference& preference, int attribute, T value) {
    check(cublaslt().cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value,
                                                          sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
}

/// The product as cuBLASLt sees it: d = a * b + c, all column by column.
struct Columns {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    MatrixOperand a;  ///< rows x depth
    MatrixOperand b;  ///< depth x columns
    MatrixOperand c;
    MatrixOperand d;
};

MatrixOperand transposed(MatrixOperand matrix) {
    std::swap(matrix.row_stride, matrix.column_stride);
    return matrix;
}

Columns by_columns(const MatrixProduct& p) {
    const MatrixOperand addend = p.addend.value_or(p.result);
    const bool is_row_major = p.result.column_stride == 1 && p.result.row_stride >= p.columns;
    if (!is_row_major) return {p.rows, p.columns, p.left, p.right, addend, p.result};
    return {p.columns,           p.rows,
            transposed(p.right), transposed(p.left),
            transposed(addend),  transposed(p.result)};
}

/// A matrix of rows x columns whose unit stride is along the rows, or which is stored transposed.
struct Stored {
    bool is_transposed;
    Layout layout;
};

class ProductCall : public PreparedCall {
  public:
    ProductCall(const MatrixProduct& product, const PrepareOptions& options)
        : product_(product),
          columns_(by_columns(product)),
          options_(options),
          handle_(lt_handle(options.device)) {
        make_operation();
        Stored a = stored(columns_.a, columns_.rows, product_.depth);
        Stored b = stored(columns_.b, product_.depth, columns_.columns);
        Stored c = stored(columns_.c, columns_.rows, columns_.columns);
        Stored d = stored(columns_.d, columns_.rows, columns_.columns);
        RICCI_ASSERT(!c.is_transposed && !d.is_transposed, "the addend lies as the result does");
        set(operation_, lt_operation_transpose_a, a.is_transposed ? lt_op_transposed : lt_op_plain);
        set(operation_, lt_operation_transpose_b, b.is_transposed ? lt_op_transposed : lt_op_plain);
        layouts_.push_back(std::move(a.layout));
        layouts_.push_back(std::move(b.layout));
        layouts_.push_back(std::move(c.layout));
        layouts_.push_back(std::move(d.layout));
        choose_algorithm();
    }

    [[nodiscard]] std::string description() const override {
        std::string text =
            format("cublasLt {}x{}x{}", product_.rows, product_.columns, product_.depth);
        if (product_.batch > 1) text += format(" batch {}", product_.batch);
        if (product_.repeats > 1) text += format(" repeats {}", product_.repeats);
        return text;
    }

    [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
        return heuristic_.workspace_bytes;
    }

    void run(std::span<const DevicePointer> buffers, DevicePointer workspace,
             Stream stream) const override {
        for (std::int64_t repeat = 0; repeat < product_.repeats; ++repeat)
            run_once(buffers, workspace, stream, repeat);
    }

  private:
    [[nodiscard]] int type() const { return is_f32() ? lt_type_f32 : lt_type_f64; }
    [[nodiscard]] bool is_f32() const { return product_.dtype == DType::f32; }

    void make_operation() {
        check(cublaslt().cublasLtMatmulDescCreate(
                  operation_.out(), is_f32() ? lt_compute_f32 : lt_compute_f64, type()),
              "cublasLtMatmulDescCreate");
        const bool has_relu = product_.activation == Activation::relu;
        int epilogue = has_relu ? lt_epilogue_relu : lt_epilogue_none;
        if (product_.bias) {
            epilogue = has_relu ? lt_epilogue_relu_bias : lt_epilogue_bias;
            if (product_.batch > 1)
                set(operation_, lt_operation_bias_batch_stride, product_.bias->batch_stride);
            // An algorithm is chosen for the alignment of the pointer that stands here meanwhile.
            set(operation_, lt_operation_bias_pointer,
                reinterpret_cast<const void*>(std::uintptr_t(alignment(*product_.bias))));
        }
        set(operation_, lt_operation_epilogue, epilogue);
    }

    [[nodiscard]] Stored stored(const MatrixOperand& matrix, std::int64_t rows,
                                std::int64_t columns) const {
        const bool is_plain = matrix.row_stride == 1 && matrix.column_stride >= rows;
        const auto stored_rows = static_cast<std::uint64_t>(is_plain ? rows : columns);
        const auto stored_columns = static_cast<std::uint64_t>(is_plain ? columns : rows);
        Stored result{!is_plain, {}};
        check(cublaslt().cublasLtMatrixLayoutCreate(
                  result.layout.out(), type(), stored_rows, stored_columns,
                  is_plain ? matrix.column_stride : matrix.row_stride),
              "cublasLtMatrixLayoutCreate");
        if (product_.batch > 1) {
            set(result.layout, lt_layout_batch_count, static_cast<std::int32_t>(product_.batch));
            set(result.layout, lt_layout_batch_stride, matrix.batch_stride);
        }
        return result;
    }

    [[nodiscard]] std::uint32_t alignment(const MatrixOperand& matrix) const {
        std::int64_t found = known_alignment(product_.dtype, matrix.offset, options_);
        if (product_.repeats > 1)
            found =
                std::min(found, known_alignment(product_.dtype, matrix.repeat_stride, options_));
        return static_cast<std::uint32_t>(found);
    }

    void choose_algorithm() {
        Preference preference;
        check(cublaslt().cublasLtMatmulPreferenceCreate(preference.out()),
              "cublasLtMatmulPreferenceCreate");
        set(preference, lt_preference_workspace,
            static_cast<std::uint64_t>(options_.workspace_limit));
        set(preference, lt_preference_alignment_a, alignment(columns_.a));
        set(preference, lt_preference_alignment_b, alignment(columns_.b));
        set(preference, lt_preference_alignment_c, alignment(columns_.c));
        set(preference, lt_preference_alignment_d, alignment(columns_.d));
        LtHeuristic found[candidates] = {};
        int count = 0;
        const int status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
            handle_, operation_.get(), layouts_[0].get(), layouts_[1].get(), layouts_[2].get(),
            layouts_[3].get(), preference.get(), candidates, found, &count);
        if (status != lt_success && status != lt_not_supported)
            check(status, "cublasLtMatmulAlgoGetHeuristic");
        for (int i = 0; status == lt_success && i < count; ++i) {
            if (found[i].state != lt_success ||
                found[i].workspace_bytes > std::size_t(options_.workspace_limit))
                continue;
            heuristic_ = found[i];
            return;
        }
        throw Error(
            {.kind = ErrorKind::device,
             .message = format("cuBLASLt has no algorithm for a product of {}x{} by {}x{}",
                               product_.rows, product_.depth, product_.depth, product_.columns),
             .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
    }

    void run_once(std::span<const DevicePointer> buffers, DevicePointer workspace, Stream stream,
                  std::int64_t repeat) const {
        const auto at = [&](const MatrixOperand& matrix) {
            return reinterpret_cast<void*>(address(buffers, matrix.place, product_.dtype,
                                                   matrix.offset + repeat * matrix.repeat_stride));
        };
        const auto alpha = static_cast<float>(product_.alpha);
        const auto beta = static_cast<float>(product_.beta);
        std::unique_lock<std::mutex> lock;
        if (product_.bias) {
            // The pointer is part of the operation, which threads share.
            lock = std::unique_lock(mutex_);
            set(operation_, lt_operation_bias_pointer,
                static_cast<const void*>(at(*product_.bias)));
        }
        check(cublaslt().cublasLtMatmul(
                  handle_, operation_.get(),
                  is_f32() ? static_cast<const void*>(&alpha) : &product_.alpha, at(columns_.a),
                  layouts_[0].get(), at(columns_.b), layouts_[1].get(),
                  is_f32() ? static_cast<const void*>(&beta) : &product_.beta, at(columns_.c),
                  layouts_[2].get(), at(columns_.d), layouts_[3].get(), &heuristic_.algorithm,
                  reinterpret_cast<void*>(workspace), heuristic_.workspace_bytes, stream),
              "cublasLtMatmul");
    }

    MatrixProduct product_;
    Columns columns_;
    PrepareOptions options_;
    LtHandle handle_;
    Operation operation_;
    std::vector<Layout> layouts_;  ///< a, b, c, d
    LtHeuristic heuristic_ = {};
    mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<PreparedCall> prepare_product(const MatrixProduct& product,
                                              const PrepareOptions& options) {
    return std::make_unique<ProductCall>(product, options);
}

}  // namespace ricci::cuda
