// runtime/array.h – typed, strided, shared arrays
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "base/shape.h"
#include "runtime/device.h"
#include "runtime/storage.h"

namespace ricci {

/// The dtype of a C++ element type: `DTypeOf<float>::value` is f32.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::boolean> {};
template <>
struct DTypeOf<std::int8_t> : std::integral_constant<DType, DType::i8> {};
template <>
struct DTypeOf<std::int16_t> : std::integral_constant<DType, DType::i16> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<DType, DType::u8> {};
template <>
struct DTypeOf<std::uint16_t> : std::integral_constant<DType, DType::u16> {};
template <>
struct DTypeOf<std::uint32_t> : std::integral_constant<DType, DType::u32> {};
template <>
struct DTypeOf<std::uint64_t> : std::integral_constant<DType, DType::u64> {};
template <>
struct DTypeOf<Float16> : std::integral_constant<DType, DType::f16> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<std::complex<float>> : std::integral_constant<DType, DType::c64> {};
template <>
struct DTypeOf<std::complex<double>> : std::integral_constant<DType, DType::c128> {};

namespace runtime {

/// Extents and strides, which handles share as they share memory.
struct Layout {
    Shape shape;
    Strides strides;
    std::int64_t size = 0;  ///< elements
};
using LayoutPtr = std::shared_ptr<const Layout>;
/// Row-major; of parts of complex numbers, of one dimension more than arrays of users may have.
/// Throws: `limit` for too many elements.
[[nodiscard]] LayoutPtr row_major_layout(Shape shape);

}  // namespace runtime

/// A handle on a typed, strided block of memory, row-major unless it is a view. Copies share the
/// memory. Own memory is 64-byte aligned and comes from a pool.
///
/// The data may lie on the host, on a GPU, or on both. A function on a GPU takes what it needs
/// there and leaves its results there; whoever reads an array on the host brings the whole memory
/// that it shares with its views over, once, and waits for it. Reading (`data()` of a constant
/// array, `span<const T>()`, `at`, `item`, `str`) leaves the GPU's copy valid. Writing (`data()` of
/// another, `span<T>()`) makes it old, and the next use on a GPU copies again.
///
/// So take the pointer or span anew after each use on a GPU: one from before knows nothing of what
/// was written there, and what is written through it may never be seen there. Views of the user's
/// own memory are safe from that at a price: they are copied to the GPU at every use, and what a
/// function changes of them is copied back before it returns.
class Array {
  public:
    Array() = default;  ///< empty handle: no memory, dtype `none`
    /// Uninitialised. Throws: `limit` for too many elements, `device` when memory runs out.
    Array(DType dtype, Shape shape);
    /// A number: rank 0, weak (it adopts the type of what it meets). f64 or i64.
    Array(double value);        // NOLINT(google-explicit-constructor)
    Array(int value);           // NOLINT(google-explicit-constructor)
    Array(std::int64_t value);  // NOLINT(google-explicit-constructor)

    /// Copies the values, row-major. Throws: `shape` when the count differs from the shape's.
    template <class T>
    static Array from(std::span<const T> values, Shape shape) {
        return from(values.data(), values.size(), DTypeOf<T>::value, std::move(shape));
    }
    template <class T>
    static Array from(std::initializer_list<T> values, Shape shape) {
        return from(std::span<const T>(values.begin(), values.size()), std::move(shape));
    }
    static Array zeros(DType dtype, Shape shape);
    static Array full(DType dtype, Shape shape, double value);
    /// Standard normal values, the same for the same seed on every machine.
    static Array randn(DType dtype, Shape shape, std::uint64_t seed = 0);
    /// Uniform in [0, 1).
    static Array rand(DType dtype, Shape shape, std::uint64_t seed = 0);
    /// 0, 1, 2, … in row-major order.
    static Array arange(DType dtype, Shape shape);
    /// Uniform integers in [low, high).
    static Array randint(DType dtype, Shape shape, std::int64_t low, std::int64_t high,
                         std::uint64_t seed = 0);
    /// A view of the caller's memory (which must outlive it). Strides in elements; empty:
    /// row-major.
    template <class T>
    static Array view(T* data, Shape shape, Strides strides = {}) {
        return view(static_cast<void*>(data), DTypeOf<T>::value, std::move(shape),
                    std::move(strides));
    }
    static Array view(void* data, DType dtype, Shape shape, Strides strides = {});

    [[nodiscard]] DType dtype() const noexcept { return dtype_; }
    [[nodiscard]] const Shape& shape() const noexcept { return layout().shape; }
    [[nodiscard]] const Strides& strides() const noexcept { return layout().strides; }
    [[nodiscard]] int rank() const noexcept { return static_cast<int>(shape().size()); }
    [[nodiscard]] std::int64_t size() const noexcept { return layout().size; }  ///< elements
    /// Negative dimensions count from the end. Throws: `range`.
    [[nodiscard]] std::int64_t extent(int dimension) const;
    [[nodiscard]] bool is_weak() const noexcept { return is_weak_; }
    [[nodiscard]] bool is_contiguous() const noexcept;
    [[nodiscard]] bool is_empty_handle() const noexcept { return dtype_ == DType::none; }
    /// The first element on the host, for reading. Throws: `device` when it cannot be brought over.
    [[nodiscard]] const void* data() const {
        return storage_ ? storage_->read() + offset_bytes_ : nullptr;
    }
    /// The same, for writing.
    [[nodiscard]] void* data() { return storage_ ? storage_->write() + offset_bytes_ : nullptr; }
    /// Contiguous elements: `span<const float>()` for reading, `span<float>()` for writing too.
    /// Throws: `type` for another dtype, `shape` when not contiguous, `device`.
    template <class T>
    [[nodiscard]] std::span<T> span() const {
        require_span(DTypeOf<std::remove_const_t<T>>::value);
        if (!storage_) return {};
        std::byte* const begin = std::is_const_v<T> ? storage_->read() : storage_->write();
        return {reinterpret_cast<T*>(begin + offset_bytes_), static_cast<std::size_t>(size())};
    }
    /// `cuda` when a function on the GPU finds the data there, else `cpu`.
    [[nodiscard]] Device device() const noexcept {
        return storage_ && storage_->is_on_gpu() ? Device::cuda : Device::cpu;
    }
    /// One element converted to double. Throws: `range`, `type` for complex ones.
    [[nodiscard]] double at(std::initializer_list<std::int64_t> position) const;
    /// The only element, converted to double. Throws: `shape` when there is not exactly one.
    [[nodiscard]] double item() const;

    // Views: they share memory.
    /// [lower, upper) of one dimension. Throws: `range`.
    [[nodiscard]] Array slice(int dimension, std::int64_t lower, std::int64_t upper) const;
    /// Dimension d of the result is dimension `order[d]` of this one. Throws: `range`.
    [[nodiscard]] Array transpose(const std::vector<int>& order) const;
    /// Throws: `shape` when the counts differ or the array is not contiguous.
    [[nodiscard]] Array reshape(Shape shape) const;
    /// The parts of complex numbers. Throws: `type` for others.
    [[nodiscard]] Array real() const { return component_view(0); }
    [[nodiscard]] Array imag() const { return component_view(1); }
    /// Numbers side by side along the last dimension, of 2, as complex ones. Throws: `type` unless
    /// f32 or f64, `shape` when they do not lie so.
    [[nodiscard]] Array view_as_complex() const;

    // New memory.
    [[nodiscard]] Array copy() const;  ///< contiguous
    /// Contiguous, converted. Throws: `type` for complex values in a real type.
    [[nodiscard]] Array to(DType dtype) const;
    [[nodiscard]] Array contiguous() const;  ///< itself when it already is
    /// On that device: itself when `device()` is that already (`reference`: as `cpu`), else a
    /// contiguous copy. Throws: `device`.
    [[nodiscard]] Array to(Device device) const;

    // For the runtime: the memory, without copying anything between devices.
    /// Uninitialised or made elsewhere: contiguous elements from the beginning of the memory on.
    Array(DType dtype, Shape shape, std::shared_ptr<runtime::Storage> storage);
    /// Uninitialised, of a row-major layout.
    Array(runtime::LayoutPtr layout, DType dtype);
    [[nodiscard]] const std::shared_ptr<runtime::Storage>& storage() const noexcept {
        return storage_;
    }
    /// Of the first element, from the beginning of the memory.
    [[nodiscard]] std::ptrdiff_t offset_bytes() const noexcept { return offset_bytes_; }

  private:
    /// Of an empty handle.
    static const runtime::Layout no_layout;

    [[nodiscard]] const runtime::Layout& layout() const noexcept {
        return layout_ ? *layout_ : no_layout;
    }
    [[nodiscard]] Array with_layout(Shape shape, Strides strides) const;
    [[nodiscard]] Array component_view(std::int64_t number) const;
    static Array from(const void* values, std::size_t count, DType dtype, Shape shape);
    void require_span(DType dtype) const;
    [[nodiscard]] double element(std::int64_t offset) const;

    std::shared_ptr<runtime::Storage> storage_;  ///< null for an empty handle
    std::ptrdiff_t offset_bytes_ = 0;
    DType dtype_ = DType::none;
    bool is_weak_ = false;
    runtime::LayoutPtr layout_;  ///< null for an empty handle
};

namespace runtime {

/// The bytes between the lowest and the highest element, from the beginning of the memory.
struct ByteRange {
    std::ptrdiff_t begin = 0;
    std::ptrdiff_t end = 0;
};
[[nodiscard]] ByteRange byte_range(const Array& array) noexcept;
/// The first element on the host, for writing through a handle that is constant itself.
[[nodiscard]] inline void* writable_data(const Array& array) {
    return array.storage() ? array.storage()->write() + array.offset_bytes() : nullptr;
}

}  // namespace runtime

/// The array as nested brackets with rows aligned, long ones shortened.
[[nodiscard]] std::string str(const Array& array);

/// NumPy's .npy format, versions 1 to 3 in, 1 out. Throws: `io` naming the file and what is wrong.
[[nodiscard]] Array load_npy(const std::string& path);
void save_npy(const std::string& path, const Array& array);  ///< written whole or not at all

}  // namespace ricci
