// tests/library/library_calls.cpp – library calls of programs, and what they mean
#include "tests/library/library_calls.h"

#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/gpu/lower.h"
#include "codegen/group.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "runtime/reference.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

using codegen::Activation;
using codegen::Convolution;
using codegen::MatrixOperand;
using codegen::MatrixProduct;

double& element(Buffers& buffers, std::size_t place, std::int64_t at) {
    std::vector<double>& buffer = buffers.at(place);
    if (at < 0 || at >= std::int64_t(buffer.size()))
        throw Error({.kind = ErrorKind::internal,
                     .message = format("element {} of buffer {} of {} elements", at, place,
                                       buffer.size())});
    return buffer[std::size_t(at)];
}

double activated(Activation activation, double value) {
    return activation == Activation::relu && value < 0 ? 0 : value;
}

/// Calls `visit` with every point of a box.
void for_each_point(const std::vector<std::int64_t>& box,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
    std::vector<std::int64_t> at(box.size(), 0);
    for (;;) {
        visit(at);
        std::size_t d = box.size();
        while (d > 0 && ++at[d - 1] == box[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

void multiply(const MatrixProduct& p, Buffers& buffers) {
    for (std::int64_t r = 0; r < p.repeats; ++r) {
        for_each_point({p.batch, p.rows, p.columns}, [&](const std::vector<std::int64_t>& at) {
            const auto of = [&](const MatrixOperand& m, std::int64_t row,
                                std::int64_t column) -> double& {
                return element(buffers, m.place,
                               m.offset + r * m.repeat_stride + at[0] * m.batch_stride +
                                   row * m.row_stride + column * m.column_stride);
            };
            double sum = 0;
            for (std::int64_t k = 0; k < p.depth; ++k)
                sum += of(p.left, at[1], k) * of(p.right, k, at[2]);
            double value = p.alpha * sum;
            if (p.addend) value += p.beta * of(*p.addend, at[1], at[2]);
            if (p.bias) value += of(*p.bias, at[1], at[2]);
            of(p.result, at[1], at[2]) = activated(p.activation, value);
        });
    }
}

/// The place of an element of x, w or y: three outer dimensions, then the spatial ones.
std::int64_t place(const Convolution::Operand& operand, std::vector<std::int64_t> at) {
    std::int64_t found = operand.offset;
    REQUIRE(operand.strides.size() == at.size());
    for (std::size_t d = 0; d < at.size(); ++d) found += at[d] * operand.strides[d];
    return found;
}

void require_inside(Buffers& buffers, const Convolution::Operand& operand,
                    std::vector<std::int64_t> lengths) {
    (void)element(buffers, operand.place, operand.offset);
    for (std::int64_t& length : lengths) --length;
    (void)element(buffers, operand.place, place(operand, lengths));
}

void convolve(const Convolution& c, Buffers& buffers) {
    std::vector<std::int64_t> box = {c.batch, c.groups, c.out_channels, c.in_channels};
    for (const Convolution::Spatial& s : c.spatial) box.push_back(s.output);
    for (const Convolution::Spatial& s : c.spatial) box.push_back(s.filter);
    const Convolution::Operand& result = c.direction == Convolution::Direction::forward ? c.output
                                         : c.direction == Convolution::Direction::input_gradient
                                             ? c.input
                                             : c.filter;
    // A library may read all of its operands, padding or not.
    std::vector<std::int64_t> lengths_x = {c.batch, c.groups, c.in_channels};
    std::vector<std::int64_t> lengths_w = {c.groups, c.out_channels, c.in_channels};
    std::vector<std::int64_t> lengths_y = {c.batch, c.groups, c.out_channels};
    for (const Convolution::Spatial& s : c.spatial) {
        lengths_x.push_back(s.input);
        lengths_w.push_back(s.filter);
        lengths_y.push_back(s.output);
    }
    require_inside(buffers, c.input, lengths_x);
    require_inside(buffers, c.filter, lengths_w);
    require_inside(buffers, c.output, lengths_y);
    std::vector<double> sums(buffers.at(result.place).size());
    std::vector<std::int64_t> x, w, y;
    for_each_point(box, [&](const std::vector<std::int64_t>& at) {
        x = {at[0], at[1], at[3]};
        w = {at[1], at[2], at[3]};
        y = {at[0], at[1], at[2]};
        for (std::size_t d = 0; d < c.spatial.size(); ++d) {
            const Convolution::Spatial& s = c.spatial[d];
            const std::int64_t p = at[4 + d];
            const std::int64_t k = at[4 + c.spatial.size() + d];
            const std::int64_t i = s.stride * p + s.dilation * k - s.padding;
            if (i < 0 || i >= s.input) return;
            x.push_back(i);
            w.push_back(s.is_flipped ? s.filter - 1 - k : k);
            y.push_back(p);
        }
        const auto in_x = [&] { return element(buffers, c.input.place, place(c.input, x)); };
        const auto in_w = [&] { return element(buffers, c.filter.place, place(c.filter, w)); };
        const auto in_y = [&] { return element(buffers, c.output.place, place(c.output, y)); };
        if (&result == &c.output) sums.at(std::size_t(place(c.output, y))) += in_x() * in_w();
        if (&result == &c.input) sums.at(std::size_t(place(c.input, x))) += in_w() * in_y();
        if (&result == &c.filter) sums.at(std::size_t(place(c.filter, w))) += in_x() * in_y();
    });
    const std::vector<std::int64_t>& whole = &result == &c.filter  ? lengths_w
                                             : &result == &c.input ? lengths_x
                                                                   : lengths_y;
    for_each_point(whole, [&](const std::vector<std::int64_t>& at) {
        const std::int64_t to = place(result, at);
        double& element_of_result = element(buffers, result.place, to);
        double value = c.alpha * sums.at(std::size_t(to));
        if (c.beta != 0) value += c.beta * element_of_result;
        if (c.bias) {
            REQUIRE(&result == &c.output);
            value += element(
                buffers, c.bias->place,
                c.bias->offset + at[1] * c.bias->group_stride + at[2] * c.bias->channel_stride);
        }
        element_of_result = activated(c.activation, value);
    });
}

/// Buffers of a program as a plan places them: one for each storage.
codegen::Plan buffers_of(const BoundProgram& program, std::vector<std::size_t>& places) {
    codegen::Plan plan;
    places.resize(program.tensors.size());
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        const TensorId root = codegen::storage(program, TensorId(t));
        if (position(root) != t) {
            places[t] = places[position(root)];
            continue;
        }
        const BoundTensor& tensor = program.at(root);
        std::int64_t last = 0;
        for (std::size_t d = 0; d < tensor.shape.size(); ++d)
            last += (tensor.shape[d] - 1) * tensor.strides[d];
        places[t] = plan.buffers.size();
        plan.buffers.push_back({.kind = codegen::PlanBuffer::Kind::tensor,
                                .tensor = root,
                                .name = tensor.name,
                                .dtype = tensor.dtype,
                                .elements = last + 1});
    }
    return plan;
}

/// The elements of an array where the strides of the tensor have them.
void scatter(const Array& array, const BoundTensor& tensor, std::vector<double>& memory) {
    const Array values = array.to(DType::f64);
    const std::span<const double> elements = values.span<const double>();
    std::size_t n = 0;
    for_each_point(tensor.shape, [&](const std::vector<std::int64_t>& at) {
        std::int64_t to = 0;
        for (std::size_t d = 0; d < at.size(); ++d) to += at[d] * tensor.strides[d];
        memory.at(std::size_t(to)) = elements[n++];
    });
}

}  // namespace

void execute(const codegen::LibraryCall& call, Buffers& buffers) {
    match(
        call.call, [&](const MatrixProduct& product) { multiply(product, buffers); },
        [&](const Convolution& convolution) { convolve(convolution, buffers); });
}

std::optional<Planned> planned(const BoundProgram& program, const Signature& signature,
                               std::uint64_t seed) {
    const std::vector<codegen::Group> groups = codegen::group(program);
    if (groups.size() != 1) return std::nullopt;
    Planned result{.program = program,
                   .arguments = random_arguments(program, signature, seed),
                   .plan = {},
                   .kernel = {},
                   .buffers = {}};
    std::vector<std::size_t> places;
    result.plan = buffers_of(program, places);
    result.kernel = codegen::make_kernel(program, groups[0], result.plan, places);
    for (const codegen::PlanBuffer& buffer : result.plan.buffers)
        result.buffers.emplace_back(std::size_t(buffer.elements),
                                    std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < program.arguments.size(); ++i)
        scatter(result.arguments[i], program.at(program.arguments[i]),
                result.buffers.at(places.at(position(program.arguments[i]))));
    return result;
}

std::optional<codegen::LibraryCall> recognised(const Planned& planned) {
    return codegen::gpu::recognise(planned.kernel);
}

std::string difference(const Planned& planned, const Buffers& buffers) {
    const TensorId output = planned.program.outputs.back();
    const BoundTensor& tensor = planned.program.at(output);
    const TensorId root = codegen::storage(planned.program, output);
    std::size_t place = 0;
    while (planned.plan.buffers.at(place).tensor != root) ++place;
    std::vector<double> values;
    for_each_point(tensor.shape, [&](const std::vector<std::int64_t>& at) {
        std::int64_t from = 0;
        for (std::size_t d = 0; d < at.size(); ++d) from += at[d] * tensor.strides[d];
        values.push_back(buffers.at(place).at(std::size_t(from)));
    });
    const Array found = Array::from(std::span<const double>(values), tensor.shape).to(tensor.dtype);
    return compare(found, runtime::evaluate_with_bounds(planned.program, planned.arguments).back())
        .failure;
}

std::optional<codegen::LibraryCall> checked_call(const BoundProgram& program,
                                                 const Signature& signature, std::uint64_t seed) {
    const std::optional<Planned> one = planned(program, signature, seed);
    REQUIRE(one);
    const std::optional<codegen::LibraryCall> call = recognised(*one);
    if (!call) return std::nullopt;
    INFO(str(*call));
    Buffers buffers = one->buffers;
    execute(*call, buffers);
    CHECK(difference(*one, buffers) == "");
    return call;
}

std::optional<codegen::LibraryCall> checked_call(const std::string& text,
                                                 const Signature& signature, std::uint64_t seed) {
    INFO(text);
    return checked_call(bound(text, signature), signature, seed);
}

BoundProgram bound(const std::string& text, const Signature& signature) {
    const Program program = parse_program(text);
    Signature used;
    for (const TensorId argument : program.arguments) {
        const std::string& name = program.at(argument).name;
        if (const auto found = signature.find(name); found != signature.end()) used.insert(*found);
    }
    return ricci::bind(canonicalise(program), used);
}

ArgumentSpec array(Shape shape, DType dtype, Strides strides) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = std::move(strides), .value = {}};
}

}  // namespace ricci::tests
