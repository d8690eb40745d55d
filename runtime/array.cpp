// runtime/array.cpp – making, viewing and converting arrays
#include "runtime/array.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/gpu.h"
#include "runtime/element.h"
#include "runtime/pool.h"
#include "runtime/strided.h"

namespace ricci {

using runtime::convert;
using runtime::Element;
using runtime::for_each_row;
using runtime::with_any_element;
using runtime::with_element;

namespace {

[[noreturn]] void fail(ErrorKind kind, std::string message, std::string hint = {}) {
    throw Error({.kind = kind, .message = std::move(message), .hint = std::move(hint)});
}

/// A dimension counted from the front. Throws: `range`.
std::size_t dimension_of(const Shape& shape, int dimension) {
    const int rank = static_cast<int>(shape.size());
    const int front = dimension < 0 ? dimension + rank : dimension;
    if (front < 0 || front >= rank) {
        fail(ErrorKind::range,
             format("dimension {} of an array {} of rank {}", dimension, str(shape), rank));
    }
    return static_cast<std::size_t>(front);
}

/// The shape of an array that users make.
Shape checked(Shape shape) {
    if (shape.size() > max_rank) {
        fail(ErrorKind::limit,
             format("an array of rank {}, the limit is {}", shape.size(), max_rank));
    }
    return shape;
}

std::size_t bytes_of(DType dtype, std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size_bytes(dtype);
}

/// A copy of a contiguous array on the GPU that never comes to the host.
Array copy_on_gpu(const Array& array) {
    const auto gpu = cuda::Gpu::current();
    const auto from = array.storage()->read_on_gpu(*gpu);
    const std::size_t bytes = bytes_of(array.dtype(), array.size());
    gpu->make_current();
    auto to = gpu->allocate(bytes);
    gpu->copy(to->pointer(),
              from->pointer() + static_cast<cuda::DevicePointer>(array.offset_bytes()), bytes);
    return Array(array.dtype(), array.shape(),
                 std::make_shared<runtime::Storage>(std::move(to), bytes));
}

/// Copies a strided array's elements into contiguous memory, converting them.
template <class To, class From>
void copy_elements(const Array& from, To* to) {
    const From* source = static_cast<const From*>(from.data());
    for_each_row(
        from.shape(), from.strides(),
        [&](std::int64_t offset, std::int64_t first, std::int64_t length, std::int64_t step) {
            for (std::int64_t i = 0; i < length; ++i)
                to[first + i] = convert<To>(source[offset + i * step]);
        });
}

}  // namespace

const runtime::Layout Array::no_layout;

runtime::LayoutPtr runtime::row_major_layout(Shape shape) {
    const std::int64_t size = element_count(shape);
    Strides strides = row_major_strides(shape);
    return std::make_shared<const Layout>(std::move(shape), std::move(strides), size);
}

Array::Array(DType dtype, Shape shape)
    : Array(runtime::row_major_layout(checked(std::move(shape))), dtype) {}

Array::Array(runtime::LayoutPtr layout, DType dtype) : dtype_(dtype), layout_(std::move(layout)) {
    if (dtype == DType::none) fail(ErrorKind::type, "an array needs a type");
    storage_ = std::make_shared<runtime::Storage>(bytes_of(dtype, size()));
}

Array::Array(DType dtype, Shape shape, std::shared_ptr<runtime::Storage> storage)
    : storage_(std::move(storage)),
      dtype_(dtype),
      layout_(runtime::row_major_layout(std::move(shape))) {}

/// The same memory from the same element on.
Array Array::with_layout(Shape shape, Strides strides) const {
    Array view;
    view.storage_ = storage_;
    view.offset_bytes_ = offset_bytes_;
    view.dtype_ = dtype_;
    view.is_weak_ = is_weak_;
    const std::int64_t size = element_count(shape);
    view.layout_ =
        std::make_shared<const runtime::Layout>(std::move(shape), std::move(strides), size);
    return view;
}

Array::Array(double value) : Array(DType::f64, Shape{}) {
    *static_cast<double*>(data()) = value;
    is_weak_ = true;
}

Array::Array(int value) : Array(std::int64_t{value}) {}

Array::Array(std::int64_t value) : Array(DType::i64, Shape{}) {
    *static_cast<std::int64_t*>(data()) = value;
    is_weak_ = true;
}

Array Array::from(const void* values, std::size_t count, DType dtype, Shape shape) {
    Array array(dtype, std::move(shape));
    if (static_cast<std::size_t>(array.size()) != count) {
        fail(ErrorKind::shape,
             format("{} for a shape {} of {}", plural(count, "value"), str(array.shape()),
                    plural(static_cast<std::size_t>(array.size()), "element")));
    }
    if (count > 0) std::memcpy(array.data(), values, count * size_bytes(dtype));
    return array;
}

Array Array::zeros(DType dtype, Shape shape) {
    Array array(dtype, std::move(shape));
    // All bits zero is the zero of every type.
    std::memset(array.data(), 0, bytes_of(dtype, array.size()));
    return array;
}

Array Array::full(DType dtype, Shape shape, double value) {
    Array array(dtype, std::move(shape));
    with_any_element(
        dtype, [&]<class T>(Element<T>) { std::ranges::fill(array.span<T>(), convert<T>(value)); });
    return array;
}

Array Array::arange(DType dtype, Shape shape) {
    Array array(dtype, std::move(shape));
    with_any_element(dtype, [&]<class T>(Element<T>) {
        std::int64_t next = 0;
        for (T& element : array.span<T>()) element = convert<T>(next++);
    });
    return array;
}

Array Array::view(void* data, DType dtype, Shape shape, Strides strides) {
    if (dtype == DType::none) fail(ErrorKind::type, "a view needs a type");
    shape = checked(std::move(shape));
    const std::int64_t size = element_count(shape);
    if (strides.empty()) strides = row_major_strides(shape);
    if (strides.size() != shape.size()) {
        fail(ErrorKind::shape,
             format("{} for a view of rank {}", plural(strides.size(), "stride"), shape.size()));
    }
    if (data == nullptr && size > 0)
        fail(ErrorKind::shape, format("a view {} of no memory", str(shape)));
    Array array;
    array.dtype_ = dtype;
    array.layout_ =
        std::make_shared<const runtime::Layout>(std::move(shape), std::move(strides), size);
    const runtime::ByteRange range = runtime::byte_range(array);
    array.storage_ =
        std::make_shared<runtime::Storage>(static_cast<std::byte*>(data) + range.begin,
                                           static_cast<std::size_t>(range.end - range.begin));
    array.offset_bytes_ = -range.begin;
    return array;
}

std::int64_t Array::extent(int dimension) const {
    return shape()[dimension_of(shape(), dimension)];
}

bool Array::is_contiguous() const noexcept {
    if (size() == 0) return true;
    std::int64_t step = 1;
    for (std::size_t d = shape().size(); d-- > 0;) {
        if (shape()[d] != 1 && strides()[d] != step) return false;
        step *= shape()[d];
    }
    return true;
}

void Array::require_span(DType dtype) const {
    if (dtype != dtype_) {
        fail(ErrorKind::type,
             format("elements of type {} are read as {}", ricci::name(dtype_), ricci::name(dtype)),
             format("use span of {}, or convert with to(DType::{})", ricci::name(dtype_),
                    ricci::name(dtype)));
    }
    if (!is_contiguous()) {
        fail(ErrorKind::shape,
             format("a view {} with strides {} is not contiguous", str(shape()), str(strides())),
             "use contiguous()");
    }
}

double Array::element(std::int64_t offset) const {
    return with_element(dtype_, [&]<class T>(Element<T>) {
        return static_cast<double>(static_cast<const T*>(data())[offset]);
    });
}

double Array::at(std::initializer_list<std::int64_t> position) const {
    const Shape places(position);
    bool is_inside = places.size() == shape().size();
    std::int64_t offset = 0;
    for (std::size_t d = 0; is_inside && d < places.size(); ++d) {
        is_inside = places[d] >= 0 && places[d] < shape()[d];
        offset += places[d] * strides()[d];
    }
    if (!is_inside)
        fail(ErrorKind::range, format("element {} of an array {}", str(places), str(shape())));
    return element(offset);
}

double Array::item() const {
    if (size() != 1 || is_empty_handle()) {
        fail(ErrorKind::shape,
             format("a single value is taken from an array {} of {}", str(shape()),
                    plural(static_cast<std::size_t>(size()), "element")));
    }
    return element(0);
}

Array Array::slice(int dimension, std::int64_t lower, std::int64_t upper) const {
    const std::size_t d = dimension_of(shape(), dimension);
    if (lower < 0 || lower > upper || upper > shape()[d]) {
        fail(ErrorKind::range, format("a slice {}:{} of dimension {} of an array {}", lower, upper,
                                      dimension, str(shape())));
    }
    Shape extents = shape();
    extents[d] = upper - lower;
    Array view = with_layout(std::move(extents), strides());
    if (view.size() > 0) {
        view.offset_bytes_ += lower * strides()[d] * static_cast<std::int64_t>(size_bytes(dtype_));
    }
    return view;
}

Array Array::transpose(const std::vector<int>& order) const {
    Shape extents(shape());
    Strides steps(strides());
    std::vector<bool> used(shape().size(), false);
    if (order.size() != shape().size()) {
        fail(ErrorKind::range, format("an order of {} for an array {} of rank {}",
                                      plural(order.size(), "dimension"), str(shape()), rank()));
    }
    for (std::size_t d = 0; d < order.size(); ++d) {
        const std::size_t from = dimension_of(shape(), order[d]);
        if (used[from]) {
            fail(ErrorKind::range,
                 format("dimension {} stands twice in an order of dimensions", order[d]));
        }
        used[from] = true;
        extents[d] = shape()[from];
        steps[d] = strides()[from];
    }
    return with_layout(std::move(extents), std::move(steps));
}

Array Array::reshape(Shape shape) const {
    const std::int64_t count = element_count(shape);
    if (count != size() || shape.size() > max_rank) {
        fail(ErrorKind::shape, format("an array {} of {} elements as {} of {}", str(this->shape()),
                                      size(), str(shape), count));
    }
    if (!is_contiguous()) {
        fail(ErrorKind::shape,
             format("a view {} with strides {} is not contiguous", str(this->shape()),
                    str(strides())),
             "use contiguous().reshape(...)");
    }
    Strides steps = row_major_strides(shape);
    return with_layout(std::move(shape), std::move(steps));
}

Array Array::component_view(std::int64_t number) const {
    if (!is_complex(dtype_))
        fail(ErrorKind::type,
             format("a part of the complex numbers of an array of {}", name(dtype_)));
    Strides steps(strides());
    for (std::int64_t& step : steps) step *= 2;
    Array view = with_layout(shape(), std::move(steps));
    view.dtype_ = component(dtype_);
    if (size() > 0) view.offset_bytes_ += number * std::int64_t(size_bytes(view.dtype_));
    return view;
}

Array Array::view_as_complex() const {
    if (dtype_ != DType::f32 && dtype_ != DType::f64)
        fail(ErrorKind::type, format("an array of {} viewed as complex", name(dtype_)),
             "complex numbers are pairs of f32 or f64");
    const bool are_pairs = rank() > 0 && shape().back() == 2 && strides().back() == 1 &&
                           std::all_of(strides().begin(), strides().end() - 1,
                                       [](auto step) { return step % 2 == 0; });
    if (!are_pairs)
        fail(ErrorKind::shape,
             format("an array {} with strides {} viewed as complex", str(shape()), str(strides())),
             "the last dimension must be 2 numbers side by side, all others an even stride apart");
    Shape extents(shape());
    Strides steps(strides());
    extents.pop_back();
    steps.pop_back();
    for (std::int64_t& step : steps) step /= 2;
    Array view = with_layout(std::move(extents), std::move(steps));
    view.dtype_ = dtype_ == DType::f32 ? DType::c64 : DType::c128;
    return view;
}

Array Array::copy() const {
    if (is_empty_handle()) return {};
    if (device() == Device::cuda && is_contiguous()) {
        Array result = copy_on_gpu(*this);
        result.is_weak_ = is_weak_;
        return result;
    }
    Array result(dtype_, shape());
    result.is_weak_ = is_weak_;
    if (is_contiguous()) {
        if (size() > 0) std::memcpy(result.data(), data(), bytes_of(dtype_, size()));
    } else {
        with_any_element(dtype_, [&]<class T>(Element<T>) {
            copy_elements<T, T>(*this, static_cast<T*>(result.data()));
        });
    }
    return result;
}

Array Array::to(DType dtype) const {
    if (dtype == dtype_) {
        Array result = copy();
        result.is_weak_ = false;
        return result;
    }
    if (is_complex(dtype_) && !is_complex(dtype) && dtype != DType::boolean)
        fail(ErrorKind::type,
             format("values of type {} are converted to {}", name(dtype_), name(dtype)),
             "take a part: `real(…)`, `abs(…)`");
    Array result(dtype, shape());
    with_any_element(dtype, [&]<class To>(Element<To>) {
        with_any_element(dtype_, [&]<class From>(Element<From>) {
            copy_elements<To, From>(*this, static_cast<To*>(result.data()));
        });
    });
    return result;
}

Array Array::contiguous() const { return is_contiguous() ? *this : copy(); }

Array Array::to(Device device) const {
    const Device wanted = device == Device::cuda ? Device::cuda : Device::cpu;
    if (is_empty_handle() || this->device() == wanted) return *this;
    const Array source = contiguous();
    const std::size_t bytes = bytes_of(dtype_, size());
    Array result;
    if (wanted == Device::cuda) {
        const auto gpu = cuda::Gpu::current();
        auto block = gpu->upload(source.data(), bytes);
        result =
            Array(dtype_, shape(), std::make_shared<runtime::Storage>(std::move(block), bytes));
    } else if (source.device() == Device::cpu) {
        result = source;  // made on the host just now
    } else {
        result = Array(dtype_, shape());
        const auto gpu = cuda::Gpu::current();
        const auto block = source.storage_->read_on_gpu(*gpu);
        gpu->download(result.data(),
                      block->pointer() + static_cast<cuda::DevicePointer>(source.offset_bytes_),
                      bytes);
    }
    result.is_weak_ = is_weak_;
    return result;
}

namespace runtime {

ByteRange byte_range(const Array& array) noexcept {
    const std::ptrdiff_t start = array.offset_bytes();
    if (array.size() == 0) return {start, start};
    const auto element = static_cast<std::int64_t>(size_bytes(array.dtype()));
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (std::size_t d = 0; d < array.shape().size(); ++d) {
        const std::int64_t reach = (array.shape()[d] - 1) * array.strides()[d];
        (reach < 0 ? low : high) += reach;
    }
    return {start + low * element, start + (high + 1) * element};
}

}  // namespace runtime
}  // namespace ricci
