// runtime/elementwise.cpp – plain loops over strided rows
#include "runtime/elementwise.h"

#include "base/error.h"
#include "base/text.h"
#include "runtime/element.h"
#include "runtime/function.h"
#include "runtime/strided.h"

namespace ricci::runtime {

void assign(const Array& to, const Array& from) {
    RICCI_ASSERT(to.dtype() == from.dtype() && to.shape() == from.shape(),
                 "assigned arrays differ in type or shape");
    const Array source = from.contiguous();
    with_any_element(to.dtype(), [&]<class T>(Element<T>) {
        const T* values = static_cast<const T*>(source.data());
        T* target = static_cast<T*>(writable_data(to));
        for_each_row(
            to.shape(), to.strides(),
            [&](std::int64_t offset, std::int64_t first, std::int64_t length, std::int64_t step) {
                for (std::int64_t i = 0; i < length; ++i)
                    target[offset + i * step] = values[first + i];
            });
    });
}

Array sum(const Array& a, const Array& b) {
    if (a.shape() != b.shape()) {
        throw Error(
            {.kind = ErrorKind::shape,
             .message = format("arrays {} and {} are added", str(a.shape()), str(b.shape()))});
    }
    if (a.dtype() != b.dtype()) {
        throw Error(
            {.kind = ErrorKind::type,
             .message = format("arrays of {} and {} are added", name(a.dtype()), name(b.dtype()))});
    }
    if (a.device() == Device::cuda || b.device() == Device::cuda) {
        static const Function add = compile("z[i] := x[i] + y[i]", "sum", Device::cuda);
        const Shape flat = {a.size()};
        return add(a.contiguous().reshape(flat), b.contiguous().reshape(flat)).reshape(a.shape());
    }
    Array result(a.dtype(), a.shape());
    const Array left = a.contiguous();
    const Array right = b.contiguous();
    with_any_element(a.dtype(), [&]<class T>(Element<T>) {
        const std::span<const T> x = left.span<const T>();
        const std::span<const T> y = right.span<const T>();
        const std::span<T> z = result.span<T>();
        for (std::size_t i = 0; i < z.size(); ++i) {
            if constexpr (is_half<T>)
                z[i] = T(static_cast<float>(x[i]) + static_cast<float>(y[i]));
            else
                z[i] = static_cast<T>(x[i] + y[i]);
        }
    });
    return result;
}

}  // namespace ricci::runtime
