// codegen/gpu/recognise_product.cpp – sums of products as matrix products
//
// The arrays that an axis moves tell what it is: rows (left and result), columns (right and
// result), depth (left and right), batch (all three). Neighbours of one kind are joined where all
// arrays walk them as one. One axis of each kind is left at most, but that further rows and columns
// become batch (the other operand stands still), and a second batch axis becomes repeated calls.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "codegen/gpu/recognise.h"

namespace ricci::codegen::gpu {

namespace {

enum Slot : std::size_t { left, right, result, addend, bias };

/// The axes by what they are, joined.
struct Kinds {
    std::vector<Walk> batch;
    std::vector<Walk> rows;
    std::vector<Walk> columns;
    std::vector<Walk> depth;
};

/// One way to see the sum: at most one axis of each kind; others are batch or repeats.
struct Choice {
    Walk repeats;
    Walk batch;
    Walk rows;
    Walk columns;
    Walk depth;
};

/// Thinner products are reductions of rows; not measured.
constexpr std::int64_t least_side = 16;
/// Of one call. On an H200 smaller ones take cuBLASLt (13.1) up to three times as long as generated
/// kernels (f32 256^3 13 and 5.6 us, 1024^3 56 and 55, 4096^3 2.71 and 2.80 ms); those of f64 run
/// in tensor cores there (1024^3 41 and 101 us, 256^3 10 and 7).
constexpr double least_operations = 4e9;
constexpr double least_operations_f64 = 2e8;
constexpr std::int64_t most_repeats = 32;
constexpr std::int64_t most_repeats_at_all = 4096;
/// The library takes 32-bit extents.
constexpr std::int64_t greatest_extent = (std::int64_t(1) << 31) - 1;

class ProductFinder {
  public:
    explicit ProductFinder(SumOfProducts sum) : sum_(std::move(sum)) {}

    std::optional<LibraryCall> find() {
        if (!sum_.at_least_zero.empty() || !sum_.equal_zero.empty()) return std::nullopt;
        if (!name_addends() || !sort_axes() || kinds_.depth.size() > 1) return std::nullopt;
        std::optional<LibraryCall> best;
        for (const Choice& choice : choices()) {
            std::optional<LibraryCall> call = as_call(choice);
            if (call && (!best || rank(*call) > rank(*best))) best = std::move(call);
        }
        return best;
    }

  private:
    [[nodiscard]] static std::tuple<bool, std::int64_t, std::int64_t> rank(
        const LibraryCall& call) {
        const auto& product = std::get<MatrixProduct>(call.call);
        return {call.is_worthwhile, -product.repeats, product.rows * product.columns};
    }

    /// Which addend is a matrix, which one is the bias.
    bool name_addends() {
        for (const Addend& found : sum_.addends) {
            const bool moves_always = std::ranges::all_of(sum_.free, [&](const Axis& axis) {
                return found.array.at.coefficient(axis.var) != 0;
            });
            const bool is_matrix = moves_always || found.array == sum_.result;
            if ((is_matrix ? addend_ : bias_) != nullptr) return false;
            if (!is_matrix && found.factor != 1) return false;
            (is_matrix ? addend_ : bias_) = &found;
        }
        return true;
    }

    [[nodiscard]] Walk walk(const Axis& axis) const {
        Walk found{.extent = axis.extent, .strides = {}};
        found.strides[left] = sum_.left.at.coefficient(axis.var);
        found.strides[right] = sum_.right.at.coefficient(axis.var);
        found.strides[result] = sum_.result.at.coefficient(axis.var);
        if (addend_ != nullptr) found.strides[addend] = addend_->array.at.coefficient(axis.var);
        if (bias_ != nullptr) found.strides[bias] = bias_->array.at.coefficient(axis.var);
        return found;
    }

    bool sort_axis(const Axis& axis, bool is_free) {
        Walk found = walk(axis);
        // An axis that some array walks backwards is turned; all must then go forwards.
        if (found.strides[is_free ? result : left] < 0) {
            sum_.reverse(axis);
            found = walk(axis);
        }
        if (std::ranges::any_of(found.strides, [](std::int64_t stride) { return stride < 0; }))
            return false;
        const bool in_left = found.strides[left] != 0;
        const bool in_right = found.strides[right] != 0;
        if (is_free && found.strides[result] == 0) return false;
        if (!in_left && !in_right) return false;
        if (!is_free && !(in_left && in_right)) return false;
        std::vector<Walk>& kind = !is_free              ? kinds_.depth
                                  : in_left && in_right ? kinds_.batch
                                  : in_left             ? kinds_.rows
                                                        : kinds_.columns;
        kind.push_back(found);
        return true;
    }
    bool sort_axes() {
        for (const Axis& axis : sum_.free)
            if (!sort_axis(axis, true)) return false;
        for (const Axis& axis : sum_.reduced)
            if (!sort_axis(axis, false)) return false;
        kinds_.batch = joined(std::move(kinds_.batch), result);
        kinds_.rows = joined(std::move(kinds_.rows), result);
        kinds_.columns = joined(std::move(kinds_.columns), result);
        kinds_.depth = joined(std::move(kinds_.depth), left);
        return true;
    }

    /// Every choice of one row and one column axis that leaves two batch axes at most.
    [[nodiscard]] std::vector<Choice> choices() const {
        std::vector<Choice> found;
        const std::size_t row_choices = std::max<std::size_t>(kinds_.rows.size(), 1);
        const std::size_t column_choices = std::max<std::size_t>(kinds_.columns.size(), 1);
        for (std::size_t m = 0; m < row_choices; ++m) {
            for (std::size_t n = 0; n < column_choices; ++n) {
                Choice choice;
                std::vector<Walk> batch = kinds_.batch;
                for (std::size_t i = 0; i < kinds_.rows.size(); ++i)
                    i == m ? choice.rows = kinds_.rows[i] : batch.emplace_back(kinds_.rows[i]);
                for (std::size_t i = 0; i < kinds_.columns.size(); ++i)
                    i == n ? choice.columns = kinds_.columns[i]
                           : batch.emplace_back(kinds_.columns[i]);
                if (!kinds_.depth.empty()) choice.depth = kinds_.depth[0];
                if (batch.size() > 2) continue;
                std::ranges::stable_sort(
                    batch, [](const Walk& a, const Walk& b) { return a.extent > b.extent; });
                if (!batch.empty()) choice.batch = batch[0];
                if (batch.size() > 1) choice.repeats = batch[1];
                found.push_back(choice);
            }
        }
        return found;
    }

    [[nodiscard]] static MatrixOperand operand(const Choice& choice, Slot slot,
                                               const ArrayAt& array, const Walk& rows,
                                               const Walk& columns) {
        return {.place = array.place,
                .offset = array.at.constant,
                .row_stride = rows.strides[slot],
                .column_stride = columns.strides[slot],
                .batch_stride = choice.batch.strides[slot],
                .repeat_stride = choice.repeats.strides[slot]};
    }

    [[nodiscard]] std::optional<LibraryCall> as_call(const Choice& choice) const {
        MatrixProduct product{
            .dtype = sum_.dtype,
            .repeats = choice.repeats.extent,
            .batch = choice.batch.extent,
            .rows = choice.rows.extent,
            .columns = choice.columns.extent,
            .depth = choice.depth.extent,
            .left = operand(choice, left, sum_.left, choice.rows, choice.depth),
            .right = operand(choice, right, sum_.right, choice.depth, choice.columns),
            .result = operand(choice, result, sum_.result, choice.rows, choice.columns),
            .alpha = sum_.alpha,
            .activation = sum_.activation};
        for (const std::int64_t extent :
             {product.repeats, product.batch, product.rows, product.columns, product.depth})
            if (extent > greatest_extent) return std::nullopt;
        if (product.repeats > most_repeats_at_all) return std::nullopt;
        if (addend_ != nullptr) {
            product.beta = addend_->factor;
            product.addend = operand(choice, addend, addend_->array, choice.rows, choice.columns);
        }
        if (bias_ != nullptr)
            product.bias = operand(choice, bias, bias_->array, choice.rows, choice.columns);
        if (!settle(product.left, product.rows, product.depth) ||
            !settle(product.right, product.depth, product.columns) || !settle_result(product))
            return std::nullopt;
        const bool is_worthwhile = is_large(product);
        return LibraryCall{.call = product, .is_worthwhile = is_worthwhile};
    }

    /// Whether the matrix has unit stride along its rows' axis, or along its columns' axis, and
    /// lines that do not overlap; strides of extents of 1 become what that needs.
    static bool settle_rows(MatrixOperand& matrix, std::int64_t rows, std::int64_t columns) {
        if (rows > 1 && matrix.row_stride != 1) return false;
        if (columns > 1 && matrix.column_stride < rows) return false;
        matrix.row_stride = 1;
        if (columns == 1) matrix.column_stride = rows;
        return true;
    }
    static bool settle_columns(MatrixOperand& matrix, std::int64_t rows, std::int64_t columns) {
        std::swap(matrix.row_stride, matrix.column_stride);
        const bool is_settled = settle_rows(matrix, columns, rows);
        std::swap(matrix.row_stride, matrix.column_stride);
        return is_settled;
    }
    static bool settle(MatrixOperand& matrix, std::int64_t rows, std::int64_t columns) {
        return settle_columns(matrix, rows, columns) || settle_rows(matrix, rows, columns);
    }

    /// Result and addend have their unit stride along one axis, and the bias lies along it.
    static bool settle_result(MatrixProduct& product) {
        for (const bool along_columns : {true, false}) {
            MatrixProduct tried = product;
            const auto settled = [&](MatrixOperand& matrix) {
                return along_columns ? settle_columns(matrix, tried.rows, tried.columns)
                                     : settle_rows(matrix, tried.rows, tried.columns);
            };
            if (!settled(tried.result) || (tried.addend && !settled(*tried.addend))) continue;
            if (tried.bias && !settle_bias(tried, along_columns)) continue;
            product = tried;
            return true;
        }
        return false;
    }
    static bool settle_bias(MatrixProduct& product, bool along_columns) {
        MatrixOperand& bias = *product.bias;
        std::int64_t& along = along_columns ? bias.column_stride : bias.row_stride;
        std::int64_t& across = along_columns ? bias.row_stride : bias.column_stride;
        const std::int64_t length = along_columns ? product.columns : product.rows;
        const std::int64_t lines = along_columns ? product.rows : product.columns;
        if (length > 1 && along != 1) return false;
        if (lines > 1 && across != 0) return false;
        along = 1;
        across = 0;
        return true;
    }

    static bool is_large(const MatrixProduct& product) {
        const double operations = 2.0 * double(product.batch) * double(product.rows) *
                                  double(product.columns) * double(product.depth);
        const double least = product.dtype == DType::f64 ? least_operations_f64 : least_operations;
        return operations >= least && product.repeats <= most_repeats &&
               std::min({product.rows, product.columns, product.depth}) >= least_side;
    }

    SumOfProducts sum_;
    const Addend* addend_ = nullptr;
    const Addend* bias_ = nullptr;
    Kinds kinds_;
};

}  // namespace

std::optional<LibraryCall> as_matrix_product(const SumOfProducts& sum) {
    return ProductFinder(sum).find();
}

}  // namespace ricci::codegen::gpu
