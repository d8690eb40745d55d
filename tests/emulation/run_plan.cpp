// tests/emulation/run_plan.cpp – plans for a GPU, executed without one and compared with the
// reference
#include "tests/emulation/run_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/group.h"
#include "dsl/canonical.h"
#include "runtime/reference.h"
#include "tests/emulation/memory.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

using emulation::Manner;
using emulation::Memory;
using emulation::Order;

[[noreturn]] void fail(std::string message) {
    throw Error({.kind = ErrorKind::device, .message = std::move(message)});
}

/// Calls `visit(here, there)` for the places of all elements by two layouts.
template <class F>
void for_each_element(const Shape& shape, const Strides& here, const Strides& there, F&& visit) {
    const std::int64_t count = element_count(shape);
    for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t rest = n;
        std::size_t place = 0;
        std::size_t other = 0;
        for (std::size_t d = shape.size(); d-- > 0;) {
            place += std::size_t(rest % shape[d] * here[d]);
            other += std::size_t(rest % shape[d] * there[d]);
            rest /= shape[d];
        }
        visit(place, other);
    }
}

/// One run: device memory for every buffer of the plan.
class Run {
  public:
    Run(const EmulatedPlan& plan, const Manner& manner)
        : plan_(plan), manner_(manner), random_(manner.seed) {
        const std::int64_t alignment = std::max<std::int64_t>(1, plan.plan->argument_alignment);
        for (const codegen::PlanBuffer& buffer : plan.plan->buffers) {
            // Anywhere that the target allows; where a real device begins, in the first order.
            const std::uint64_t steps = manner.order == Order::ascending ? 0 : random_() % 16;
            addresses_.push_back(
                memory_.allocate(bytes(buffer), std::size_t(alignment) * std::size_t(steps)));
            if (buffer.kind == codegen::PlanBuffer::Kind::tensor)
                places_[buffer.tensor] = addresses_.size() - 1;
        }
    }

    /// Copies the elements between an array and device memory, where they lie as the program says.
    void put(TensorId tensor, const Array& array) {
        const auto found = places_.find(tensor);
        if (found == places_.end()) return;
        const std::size_t size = size_bytes(array.dtype());
        const auto* from = static_cast<const char*>(array.data());
        char* to = data(found->second);
        for_each_element(array.shape(), array.strides(), plan_.program->at(tensor).strides,
                         [&](std::size_t here, std::size_t there) {
                             std::memcpy(to + there * size, from + here * size, size);
                         });
    }
    void get(TensorId tensor, Array& array) {
        const std::size_t size = size_bytes(array.dtype());
        const char* from = data(places_.at(tensor));
        auto* to = static_cast<char*>(array.data());
        for_each_element(array.shape(), array.strides(), plan_.program->at(tensor).strides,
                         [&](std::size_t here, std::size_t there) {
                             std::memcpy(to + here * size, from + there * size, size);
                         });
    }

    void run_step(const codegen::Step& step) {
        const codegen::Nest& nest = plan_.plan->nests.at(step.nest);
        const codegen::LaunchShape shape = codegen::launch_shape(nest);
        const std::string name = codegen::cuda::symbol(nest, plan_.first + step.nest);
        emulation::Launch launch{.entry = plan_.module->find(name),
                                 .arrays = {},
                                 .blocks = shape.blocks,
                                 .threads = int(shape.threads),
                                 .shared_bytes = shape.shared_bytes};
        if (launch.entry == nullptr) fail(format("there is no kernel {}", name));
        if (std::size_t(launch.entry->parameters) != step.buffers.size())
            fail(format("kernel {} has {} parameters for {} buffers", name,
                        launch.entry->parameters, step.buffers.size()));
        if (launch.entry->most_threads != launch.threads)
            fail(format("kernel {} is bounded to {} threads, not {}", name,
                        launch.entry->most_threads, launch.threads));
        const auto cells = emulation::checks_of_this_program() == emulation::Checks::arrays
                               ? Memory::Cells::per_element
                               : Memory::Cells::none;
        for (std::size_t n = 0; n < step.buffers.size(); ++n) {
            const std::size_t place = step.buffers[n];
            if (launch.entry->element_bytes[n] != int(size_bytes(plan_.plan->buffers[place].dtype)))
                fail(format("kernel {}: argument {} has another type", name, n));
            launch.arrays.push_back(memory_.array(addresses_[place], launch.entry->element_bytes[n],
                                                  plan_.module->parameters(launch.entry)[n].c_str(),
                                                  cells));
        }
        Manner manner = manner_;
        manner.seed = random_() / 2 * 2 + manner_.seed % 2;
        if (const auto fault = emulation::Processor::instance().run(launch, manner))
            fail(fault->text);
        if (const std::string damage = memory_.damage(); !damage.empty()) fail(damage);
    }

    /// What lies between the elements of a view is nobody's to write.
    void check_gaps(TensorId tensor) {
        const auto found = places_.find(tensor);
        if (found == places_.end()) return;
        const codegen::PlanBuffer& buffer = plan_.plan->buffers[found->second];
        const std::size_t size = size_bytes(buffer.dtype);
        const BoundTensor& bound = plan_.program->at(tensor);
        std::vector<bool> is_element(std::size_t(buffer.elements));
        for_each_element(
            bound.shape, bound.strides, bound.strides,
            [&](std::size_t here, std::size_t /*there*/) { is_element.at(here) = true; });
        const char* at = data(found->second);
        for (std::size_t n = 0; n < is_element.size(); ++n)
            for (std::size_t b = 0; b < size && !is_element[n]; ++b)
                if (at[n * size + b] != char(0xFF))
                    fail(format("memory between the elements of {} was written", buffer.name));
    }

  private:
    static std::size_t bytes(const codegen::PlanBuffer& buffer) {
        return std::size_t(buffer.elements) * size_bytes(buffer.dtype);
    }
    char* data(std::size_t place) {
        return memory_.at(addresses_[place], bytes(plan_.plan->buffers[place]));
    }

    const EmulatedPlan& plan_;
    Manner manner_;
    std::mt19937_64 random_;
    Memory memory_;
    std::vector<Memory::Address> addresses_;
    std::map<TensorId, std::size_t> places_;
};

bool has_same_bits(const Array& a, const Array& b) {
    const Array first = a.copy();
    const Array second = b.copy();
    return std::memcmp(std::as_const(first).data(), std::as_const(second).data(),
                       std::size_t(a.size()) * size_bytes(a.dtype())) == 0;
}

/// The arguments in their bound types, as copies that an update may change, with the strides that
/// the program is bound to.
std::vector<Array> copies(const BoundProgram& program, const std::vector<Array>& arguments) {
    std::vector<Array> result;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        result.push_back(arguments[i].to(program.at(program.arguments[i]).dtype));
    return result;
}

}  // namespace

bool has_atomic_stores(const codegen::Plan& plan) {
    return std::ranges::any_of(plan.nests, [](const codegen::Nest& nest) {
        return str(nest).find("# atomic") != std::string::npos;
    });
}

Target emulated_target(int multiprocessors) {
    Target target{.cpu = "sm_90", .features = ""};
    target.gpu.compute_capability = 90;
    target.gpu.multiprocessors = multiprocessors;
    return target;
}

const std::vector<Manner>& manners() {
    using emulation::Copies;
    static const std::vector<Manner> all = {
        {.order = Order::ascending, .copies = Copies::eager, .seed = 0},
        {.order = Order::random, .copies = Copies::eager, .seed = 1},
        {.order = Order::random, .copies = Copies::lazy, .seed = 2},
    };
    return all;
}

std::vector<Array> run_emulated(const EmulatedPlan& plan, const std::vector<Array>& arguments,
                                const Manner& manner) {
    const BoundProgram& program = *plan.program;
    Run run(plan, manner);
    for (std::size_t a = 0; a < arguments.size(); ++a) run.put(program.arguments[a], arguments[a]);
    for (const codegen::Step& step : plan.plan->steps) run.run_step(step);
    for (const TensorId argument : program.arguments) run.check_gaps(argument);
    std::vector<Array> outputs;
    for (const TensorId output : program.outputs) {
        const TensorId root = codegen::storage(program, output);
        const auto argument = std::find(program.arguments.begin(), program.arguments.end(), root);
        Array array = argument == program.arguments.end()
                          ? Array(program.at(output).dtype, program.at(output).shape)
                          : arguments[std::size_t(argument - program.arguments.begin())];
        run.get(root, array);
        outputs.push_back(array);
    }
    return outputs;
}

std::shared_ptr<const emulation::Module> compile_plans(
    const std::vector<const codegen::Plan*>& plans) {
    std::string text;
    std::size_t first = 0;
    for (const codegen::Plan* plan : plans) {
        text += codegen::cuda::emit_kernels(plan->nests, first);
        text += '\n';
        first += plan->nests.size();
    }
    const emulation::Compiled compiled = emulation::compile(text);
    if (!compiled.is_good) fail(compiled.log + text);
    return std::make_shared<const emulation::Module>(compiled.image);
}

void EmulatedBatch::add(std::string label, BoundProgram program, Signature signature,
                        codegen::Plan plan, std::uint64_t seed) {
    kernels_ += plan.nests.size();
    cases_.push_back(std::make_shared<const Case>(std::move(label), std::move(program),
                                                  std::move(signature), std::move(plan), seed));
}

void EmulatedBatch::add(const std::string& text, const Signature& signature, int multiprocessors) {
    BoundProgram program = ricci::bind(canonicalise(parse_program(text)), signature);
    codegen::Plan plan = codegen::plan(program, emulated_target(multiprocessors));
    add(format("{}\n", text), std::move(program), signature, std::move(plan));
}

std::string EmulatedBatch::outcome(const Case& each, const EmulatedPlan& plan) {
    const std::vector<Array> arguments = random_arguments(each.program, each.signature, each.seed);
    const auto expected = runtime::evaluate_with_bounds(each.program, arguments);
    std::vector<Array> first;
    // Atomic sums add in the order of threads: only those of integers have the same bits.
    const bool has_atomics = has_atomic_stores(*plan.plan);
    for (const Manner& manner : manners()) {
        std::vector<Array> found;
        try {
            found = run_emulated(plan, copies(each.program, arguments), manner);
        } catch (const Error& error) {
            return error.what();
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Comparison comparison = compare(found[i], expected[i]);
            if (!comparison.holds()) return comparison.failure;
            const bool has_one_result = !has_atomics || is_integer(found[i].dtype());
            if (has_one_result && !first.empty() && !has_same_bits(found[i], first[i]))
                return format("result {} has other bits in another order of threads", i);
        }
        if (first.empty())
            for (const Array& array : found) first.push_back(array.copy());
    }
    return {};
}

std::vector<std::string> EmulatedBatch::outcomes() {
    const auto cases = std::exchange(cases_, {});
    kernels_ = 0;
    std::vector<const codegen::Plan*> plans;
    for (const auto& each : cases) plans.push_back(&each->plan);
    const auto module = compile_plans(plans);
    std::size_t first = 0;
    std::vector<std::string> outcomes;
    for (const auto& each : cases) {
        outcomes.push_back(outcome(*each, {&each->program, &each->plan, module, first}));
        first += each->plan.nests.size();
    }
    return outcomes;
}

std::string EmulatedBatch::difference() {
    const auto cases = cases_;
    const std::vector<std::string> found = outcomes();
    std::string text;
    for (std::size_t n = 0; n < cases.size(); ++n)
        if (!found[n].empty())
            text += format("{}{}\n{}\n", cases[n]->label, found[n], str(cases[n]->plan));
    return text;
}

}  // namespace ricci::tests
