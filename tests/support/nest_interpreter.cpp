// tests/support/nest_interpreter.cpp – plans executed on arrays, kernel after kernel
#include "tests/support/nest_interpreter.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "codegen/group.h"
#include "runtime/element.h"
#include "tests/support/nest_machine.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using runtime::Scalar;

[[noreturn]] void fail(const std::string& message) {
    throw Error({.kind = ErrorKind::internal, .message = message});
}

/// Calls `visit(n, place)` for the elements in row-major order.
template <class F>
void for_each_element(const Shape& shape, const Strides& strides, F&& visit) {
    const std::int64_t count = element_count(shape);
    for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t rest = n;
        std::int64_t place = 0;
        for (std::size_t d = shape.size(); d-- > 0;) {
            place += rest % shape[d] * strides[d];
            rest /= shape[d];
        }
        visit(n, place);
    }
}

void load(const Array& array, Memory& memory) {
    runtime::with_element(array.dtype(), [&]<class T>(runtime::Element<T>) {
        const T* data = static_cast<const T*>(array.data());
        for_each_element(array.shape(), array.strides(), [&](std::int64_t, std::int64_t place) {
            const T value = data[place];
            memory.at(std::size_t(place)).value = is_floating(array.dtype())
                                                      ? Scalar{.real = double(value)}
                                                      : Scalar{.integer = std::int64_t(value)};
        });
    });
}

void save(const Memory& memory, Array& array) {
    runtime::with_element(array.dtype(), [&]<class T>(runtime::Element<T>) {
        T* data = static_cast<T*>(array.data());
        for_each_element(array.shape(), array.strides(), [&](std::int64_t, std::int64_t place) {
            const std::optional<Scalar>& value = memory.at(std::size_t(place)).value;
            if (!value) fail("an element of an output is not written");
            data[place] = is_floating(array.dtype()) ? T(value->real) : T(value->integer);
        });
    });
}

/// Weak numbers adopt the type that binding gave them.
Array as_bound(const Array& array, const BoundTensor& tensor) {
    return array.dtype() == tensor.dtype ? array : array.to(tensor.dtype);
}

}  // namespace

std::vector<Array> interpret(const BoundProgram& program, const Plan& plan,
                             const std::vector<Array>& arguments, std::uint64_t order) {
    std::vector<Memory> memory;
    std::map<TensorId, std::size_t> places;
    for (const PlanBuffer& buffer : plan.buffers) {
        if (buffer.kind == PlanBuffer::Kind::tensor) places[buffer.tensor] = memory.size();
        memory.emplace_back(std::size_t(buffer.elements));
    }
    for (std::size_t a = 0; a < arguments.size(); ++a)
        if (const auto found = places.find(program.arguments[a]); found != places.end())
            load(as_bound(arguments[a], program.at(program.arguments[a])), memory[found->second]);
    const auto run = [&](const Step& step, std::int64_t first, std::int64_t last) {
        std::vector<Memory*> buffers;
        for (const std::size_t place : step.buffers) buffers.push_back(&memory[place]);
        execute(plan.nests.at(step.nest), buffers, order, std::pair(first, last));
    };
    auto loop = plan.slice_loops.begin();
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        if (loop == plan.slice_loops.end() || loop->first_step != s) {
            run(plan.steps[s], 0, plan.steps[s].tasks);
            continue;
        }
        for (std::int64_t n = 0; n < loop->slices; ++n) {
            const std::int64_t slice = order == 0 ? n : loop->slices - 1 - n;
            for (std::size_t b = 0; b < plan.buffers.size(); ++b)
                if (plan.buffers[b].is_of_slice)  // nothing is left of the slice before
                    memory[b] = Memory(memory[b].size());
            for (std::size_t each = loop->first_step; each < loop->last_step; ++each) {
                const std::int64_t tasks = plan.steps[each].tasks / loop->slices;
                run(plan.steps[each], slice * tasks, (slice + 1) * tasks);
            }
        }
        s = loop->last_step - 1;
        ++loop;
    }
    std::vector<Array> outputs;
    for (const TensorId output : program.outputs) {
        const TensorId root = storage(program, output);
        const auto argument = std::find(program.arguments.begin(), program.arguments.end(), root);
        Array array = argument == program.arguments.end()
                          ? Array(program.at(output).dtype, program.at(output).shape)
                          : arguments[std::size_t(argument - program.arguments.begin())];
        save(memory[places.at(root)], array);
        outputs.push_back(array);
    }
    return outputs;
}

}  // namespace ricci::tests
