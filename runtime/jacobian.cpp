// runtime/jacobian.cpp – whole derivatives of small functions, and products with second ones
#include "runtime/jacobian.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "runtime/elementwise.h"
#include "runtime/function_state.h"

namespace ricci {
namespace {

/// The type and shape of the result for these arguments; nothing is computed.
BoundTensor result_of(const Function& function, const Arguments& arguments) {
    Function::State& state = *function.state();
    const std::vector<const Array*> in_order = state.in_order(arguments);
    Signature signature;
    for (std::size_t n = 0; n < in_order.size(); ++n)
        signature.emplace(state.argument_names[n],
                          runtime::spec_of(*in_order[n], state.is_structural[n]));
    const std::lock_guard lock(*state.compiling);
    const BoundProgram bound = ricci::bind(state.canonical, signature);
    return bound.at(bound.outputs.front());
}

/// The cotangent or tangent that belongs to a tensor of what was differentiated.
const std::string& companion(const Function& derivative, TensorId of) {
    const Program& program = derivative.program();
    const auto found = std::ranges::find_if(program.tensors, [&](const Tensor& tensor) {
        return tensor.role == Role::argument && tensor.dtype_of == of;
    });
    RICCI_ASSERT(found != program.tensors.end(), "a derivative has a cotangent or a tangent");
    return found->name;
}

const Array& find(const Arguments& arguments, const std::string& name) {
    const auto found =
        std::ranges::find(arguments, name, [](const auto& named) { return named.first; });
    if (found != arguments.end()) return found->second;
    throw Error({.kind = ErrorKind::name,
                 .message = format("the argument `{}` is missing", name),
                 .hint = "a derivative by it needs to know its shape"});
}

void require_real(const std::string& what, DType dtype) {
    if (is_floating(dtype)) return;
    throw Error({.kind = ErrorKind::gradient,
                 .message = format("{} has type {}, a Jacobian is made of real floating numbers",
                                   what, name(dtype)),
                 .hint = "convert it, or take its parts: `real(…)`, `imag(…)`"});
}

/// Calls a derivative with each unit array of what it is multiplied with.
class Rows {
  public:
    Rows(Function derivative, Arguments arguments, std::string unit_name, DType dtype, Shape shape)
        : derivative_(std::move(derivative)),
          arguments_(std::move(arguments)),
          unit_name_(std::move(unit_name)),
          unit_(Array::zeros(dtype, std::move(shape))) {}

    [[nodiscard]] std::int64_t count() const { return unit_.size(); }
    [[nodiscard]] Array row(std::int64_t n) const {
        const Array one = Array::full(unit_.dtype(), {1}, 1);
        const Array unit = unit_.copy();
        runtime::assign(unit.reshape({unit.size()}).slice(0, n, n + 1), one);
        Arguments all = copies(arguments_);
        all.emplace_back(unit_name_, unit);
        return derivative_(all);
    }

  private:
    Function derivative_;
    Arguments arguments_;
    std::string unit_name_;
    Array unit_;
};

Shape joined(Shape a, const Shape& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace

Array jacobian(const Function& function, const std::string& argument, const Arguments& arguments) {
    const Array& by = find(arguments, argument);
    const BoundTensor result = result_of(function, arguments);
    const DType by_type = by.is_weak() ? DType::f64 : by.dtype();
    require_real(format("the argument `{}`", argument), by_type);
    require_real(format("the result `{}`", result.name), result.dtype);
    const std::int64_t elements = element_count(by.shape());
    Array jacobian = Array::zeros(result.dtype, joined(result.shape, by.shape()));
    const Array flat = jacobian.reshape({element_count(result.shape), elements});
    const bool is_forward = elements < element_count(result.shape);
    const Function derivative = is_forward ? function.jvp({argument}) : function.grad(argument);
    const Program& program = function.program();
    const TensorId of = is_forward ? program.argument(argument).value() : program.result();
    const Rows rows(derivative, arguments, companion(derivative, of),
                    is_forward ? by_type : result.dtype, is_forward ? by.shape() : result.shape);
    const int along = is_forward ? 1 : 0;
    for (std::int64_t n = 0; n < rows.count(); ++n) {
        const Array place = flat.slice(along, n, n + 1);
        runtime::assign(place, rows.row(n).to(result.dtype).reshape(place.shape()));
    }
    return jacobian;
}

Array hessian_product(const Function& function, const std::string& argument,
                      const Arguments& arguments, const Array& direction) {
    const Array& by = find(arguments, argument);
    const Function gradient = function.grad(argument);
    const std::string& cotangent = companion(gradient, function.program().result());
    Arguments all = copies(arguments);
    const auto is_cotangent = [&](const auto& named) { return named.first == cotangent; };
    if (std::ranges::none_of(all, is_cotangent)) {
        const BoundTensor made = result_of(function, arguments);
        all.emplace_back(cotangent, Array::full(made.dtype, made.shape, 1));
    }
    if (direction.shape() != by.shape())
        throw Error(
            {.kind = ErrorKind::shape,
             .message = format("the direction has the shape {}, `{}` has {}",
                               ricci::str(direction.shape()), argument, ricci::str(by.shape())),
             .hint = "a direction has the shape of its argument"});
    // Of what is linear in the argument.
    const auto in_gradient = gradient.program().argument(argument);
    if (!in_gradient) return Array::zeros(by.is_weak() ? DType::f64 : by.dtype(), by.shape());
    const Function product = gradient.jvp({argument});
    all.emplace_back(companion(product, *in_gradient), direction);
    return product(all);
}

}  // namespace ricci
