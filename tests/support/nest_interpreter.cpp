// tests/support/nest_interpreter.cpp – executes loop nests scalar by scalar, checking every access
#include "tests/support/nest_interpreter.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/group.h"
#include "codegen/nest_build.h"
#include "runtime/element.h"
#include "runtime/reference_ops.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using runtime::Scalar;

/// One element, and which tasks of the kernel that runs now have touched it.
struct Cell {
    std::optional<Scalar> value;
    std::int64_t writer = -1;
    std::int64_t reader = -1;
    bool has_more_readers = false;
};
using Memory = std::vector<Cell>;

[[noreturn]] void fail(const std::string& message) {
    throw Error({.kind = ErrorKind::internal, .message = message});
}

class Interpreter {
  public:
    Interpreter(const Nest& nest, const std::vector<Memory*>& arguments)
        : nest_(nest), own_(nest.buffers.size()), vars_(nest.vars.size()) {
        auto argument = arguments.begin();
        for (std::size_t b = 0; b < nest.buffers.size(); ++b)
            memory_.push_back(nest.buffers[b].space == Space::argument ? *argument++ : &own_[b]);
        for (Memory* memory : memory_)
            for (Cell& cell : *memory) cell = Cell{.value = cell.value};
    }

    void run(std::int64_t tasks) {
        const auto& root = std::get<Loop>(nest_.body.at(0).node);
        for (task_ = 0; task_ < tasks; ++task_) {
            for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
                if (nest_.buffers[b].space != Space::argument)
                    own_[b] = Memory(std::size_t(nest_.buffers[b].elements));
            set(root.var, task_);
            run(root.body);
        }
    }

  private:
    void set(VarId var, std::int64_t value) { vars_[std::size_t(var)] = value; }

    [[nodiscard]] std::int64_t value(const AffineForm& form) const {
        std::int64_t sum = form.constant;
        for (const AffineForm::Term& term : form.terms)
            sum += term.coefficient * vars_[std::size_t(term.var)];
        return sum;
    }
    static std::int64_t floor_div(std::int64_t a, std::int64_t b) {
        return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    }
    [[nodiscard]] std::int64_t lower(const LoopBound& bound) const {
        std::int64_t result = INT64_MIN;
        for (const BoundTerm& term : bound)
            result = std::max(result, -floor_div(-value(term.form), term.divisor));
        return result;
    }
    [[nodiscard]] std::int64_t upper(const LoopBound& bound) const {
        std::int64_t result = INT64_MAX;
        for (const BoundTerm& term : bound)
            result = std::min(result, floor_div(value(term.form), term.divisor));
        return result;
    }

    void run(const Body& body) {
        for (const Stmt& stmt : body)
            match(
                stmt.node,
                [&](const Loop& loop) {
                    const std::int64_t end = upper(loop.upper);
                    for (std::int64_t i = lower(loop.lower); i < end; i += loop.step) {
                        set(loop.var, i);
                        run(loop.body);
                    }
                },
                [&](const Guard& guard) {
                    if (evaluate(guard.condition).integer != 0) run(guard.body);
                },
                [&](const Let& let) { lets_[let.number] = evaluate(let.value); },
                [&](const LetVar& let) {
                    const std::int64_t quotient = floor_div(value(let.form), let.divisor);
                    set(let.var, let.modulus == 0
                                     ? quotient
                                     : quotient - floor_div(quotient, let.modulus) * let.modulus);
                },
                [&](const Store& store) { run(store); },
                [](const auto&) { fail("a statement of blocks of threads on a CPU"); });
    }

    void run(const Store& store) {
        const DType dtype = nest_.at(store.buffer).dtype;
        Scalar result = evaluate(store.value);
        if (store.combine) {
            const Scalar args[] = {read(store.buffer, store.at), result};
            result = runtime::operate(combining_op(*store.combine, dtype), dtype, dtype, args);
        }
        Cell& cell = element(store.buffer, store.at);
        if (nest_.at(store.buffer).space == Space::argument) {
            const bool is_shared = (cell.writer >= 0 && cell.writer != task_) ||
                                   (cell.reader >= 0 && cell.reader != task_) ||
                                   cell.has_more_readers;
            if (is_shared) fail(format("two tasks meet in {}", nest_.at(store.buffer).name));
            cell.writer = task_;
        }
        cell.value = result;
    }

    Cell& element(BufferId buffer, const Address& at) {
        std::int64_t place = value(at.affine);
        if (at.computed) place += evaluate(at.computed).integer;
        Memory& memory = *memory_[std::size_t(buffer)];
        if (place < 0 || place >= std::int64_t(memory.size()))
            fail(format("kernel {}: element {} of {}[{}]", nest_.name, place, nest_.at(buffer).name,
                        memory.size()));
        return memory[std::size_t(place)];
    }

    Scalar read(BufferId buffer, const Address& at) {
        Cell& cell = element(buffer, at);
        if (!cell.value) fail(format("unwritten element of {} is read", nest_.at(buffer).name));
        if (nest_.at(buffer).space == Space::argument) {
            if (cell.writer >= 0 && cell.writer != task_)
                fail(format("two tasks meet in {}", nest_.at(buffer).name));
            cell.has_more_readers |= cell.reader >= 0 && cell.reader != task_;
            cell.reader = task_;
        }
        return *cell.value;
    }

    Scalar evaluate(const Value& value) {
        return match(
            value->term,
            [&](const Constant& constant) {
                return Scalar{.real = constant.real, .integer = constant.integer};
            },
            [&](const VarValue& var) { return Scalar{.integer = this->value(var.form)}; },
            [&](const Load& load) { return read(load.buffer, load.at); },
            [&](const LetValue& let) { return lets_.at(let.number); },
            [&](const Convert& convert) {
                return runtime::convert_scalar(evaluate(convert.a), convert.a->dtype, value->dtype);
            },
            [&](const Operate& operate) {
                std::vector<Scalar> args;
                for (const Value& arg : operate.args) args.push_back(evaluate(arg));
                return runtime::operate(operate.op, operate.args.back()->dtype, value->dtype, args);
            });
    }

    const Nest& nest_;
    std::vector<Memory> own_;
    std::vector<Memory*> memory_;
    std::vector<std::int64_t> vars_;
    std::map<std::uint32_t, Scalar> lets_;
    std::int64_t task_ = 0;
};

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
                             const std::vector<Array>& arguments) {
    std::vector<Memory> memory;
    std::map<TensorId, std::size_t> places;
    for (const PlanBuffer& buffer : plan.buffers) {
        if (buffer.kind == PlanBuffer::Kind::tensor) places[buffer.tensor] = memory.size();
        memory.emplace_back(std::size_t(buffer.elements));
    }
    for (std::size_t a = 0; a < arguments.size(); ++a)
        if (const auto found = places.find(program.arguments[a]); found != places.end())
            load(as_bound(arguments[a], program.at(program.arguments[a])), memory[found->second]);
    for (const Step& step : plan.steps) {
        std::vector<Memory*> buffers;
        for (const std::size_t place : step.buffers) buffers.push_back(&memory[place]);
        Interpreter(plan.nests.at(step.nest), buffers).run(step.tasks);
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
