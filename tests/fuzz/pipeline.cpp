// tests/fuzz/pipeline.cpp – any program on small arrays: bound, differentiated, evaluated, compiled
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "dsl/program.h"
#include "dsl/walk.h"
#include "grad/gradient.h"
#include "grad/jvp.h"
#include "runtime/function.h"
#include "runtime/kernel_cache.h"
#include "runtime/reference.h"
#include "tests/fuzz/targets.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t most_points = 20'000;  // of one equation
constexpr std::size_t most_equations = 40;
constexpr std::size_t most_terms = 600;
constexpr std::size_t most_gradients = 2;

/// The bytes that choose; zeros when there are no more.
class Choices {
  public:
    explicit Choices(std::string_view bytes) : bytes_(bytes) {}
    unsigned next() {
        if (at_ == bytes_.size()) return 0;
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    std::int64_t extent() {
        const unsigned byte = next();
        return byte < 160 ? 3 : byte % 6;
    }
    DType dtype() {
        constexpr DType types[] = {DType::f64, DType::f16, DType::bf16, DType::boolean, DType::i8,
                                   DType::i16, DType::i32, DType::i64,  DType::u8,      DType::u16,
                                   DType::u32, DType::u64, DType::c64,  DType::c128};
        const unsigned byte = next();
        return byte < 96 ? DType::f32 : types[byte % std::size(types)];
    }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

/// Arrays that stand in subscripts by their names get whole numbers.
bool is_key_name(std::string_view name) {
    return name.starts_with('J') || name.starts_with('K') || name.starts_with("tok");
}

ArgumentSpec spec_for(const Program& program, TensorId id, Choices& choices) {
    const Tensor& tensor = program.at(id);
    ArgumentSpec spec;
    // What is updated is an array.
    const bool is_updated = std::ranges::any_of(
        program.equations, [&](const Equation& equation) { return equation.previous == id; });
    if (tensor.role == Role::scalar && !is_updated) {
        spec.is_weak = true;
        const unsigned byte = choices.next();
        spec.dtype = DType::i64;
        spec.value = std::int64_t{byte < 64 ? 2 : byte % 7 - 2};
        return spec;
    }
    spec.dtype = is_key_name(tensor.name) ? DType::i64 : choices.dtype();
    const auto rank = std::max<std::int64_t>(tensor.rank, std::ssize(tensor.shape));
    for (std::int64_t d = 0; d < rank; ++d) spec.shape.push_back(choices.extent());
    return spec;
}

Array values_for(const std::string& name, const ArgumentSpec& spec) {
    if (spec.value) return Array(std::get<std::int64_t>(*spec.value));
    std::uint64_t seed = 7;
    for (const char c : name) seed = seed * 131 + static_cast<unsigned char>(c);
    const Array values = Array::rand(DType::f64, spec.shape, seed);
    for (double& value : values.span<double>())
        value = is_key_name(name) ? std::floor(3 * value) : 3 * value - 1;
    return values.to(spec.dtype);
}

bool is_small(const BoundProgram& program) {
    if (program.equations.size() > most_equations) return false;
    std::size_t terms = 0;
    for (const BoundEquation& equation : program.equations) {
        std::vector<IndexId> domain = equation.indices;
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        if (equation.reduction) {
            domain.insert(domain.end(), equation.reduction->indices.begin(),
                          equation.reduction->indices.end());
            if (equation.reduction->condition) roots.push_back(equation.reduction->condition);
        }
        std::int64_t points = 1;
        for (IndexId id : domain) {
            points *= std::clamp<std::int64_t>(program.at(id).extent(), 1, most_points + 1);
            if (points > most_points) return false;
        }
        terms += postorder(roots).size();
    }
    std::int64_t elements = 0;
    for (const BoundTensor& tensor : program.tensors)
        if (tensor.dtype != DType::none)
            elements += std::min(element_count(tensor.shape), 10 * most_points);
    return terms <= most_terms && elements <= 10 * most_points;
}

/// What a step gives, or the error that it ends in.
template <class Step>
auto outcome(Step&& step) -> std::pair<std::optional<decltype(step())>, std::string> {
    try {
        return {step(), ""};
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw std::logic_error(error.what());
        return {std::nullopt, error.what()};
    }
}

void compare_outputs(const Program& program, const Signature& signature, std::string_view what) {
    std::vector<std::string> outputs;
    for (TensorId id : program.outputs) outputs.push_back(program.at(id).name);
    const auto bound = outcome([&] { return ricci::bind(program, signature, outputs); }).first;
    if (!bound || !is_small(*bound)) return;

    std::vector<Array> in_order;
    Arguments named;
    for (TensorId id : bound->arguments) {
        const std::string& name = bound->at(id).name;
        const Array values = values_for(name, signature.find(name)->second);
        in_order.push_back(values);
        named.emplace_back(name, values.is_weak() ? values : values.copy());
    }
    const auto [expected, refused] =
        outcome([&] { return runtime::evaluate_with_bounds(*bound, in_order); });
    const auto [found, failed] =
        outcome([&] { return Function(program, "fuzz", Device::cpu).call(named, outputs); });
    runtime::kernel_cache().clear_memory();
    const auto report = [&](std::string_view difference) {
        std::string text = format("{}: {}\n{}\n", what, difference, str(program));
        for (const auto& [name, spec] : signature)
            text += format("  {}: {} {}\n", name, ricci::name(spec.dtype), str(spec.shape));
        throw std::logic_error(text);
    };
    // What only compiled code cannot do says so.
    if (failed.starts_with("limit: ")) return;
    if (!expected || !found) {
        if (expected || found)
            report(format("the reference says `{}`, compiled code `{}`", refused, failed));
        return;
    }
    for (std::size_t n = 0; n < outputs.size(); ++n) {
        if (is_complex(found->at(n).dtype())) continue;
        const Comparison comparison = compare(found->at(n), expected->at(n), 16);
        if (!comparison.holds()) report(format("`{}` {}", outputs[n], comparison.failure));
    }
}

void compare_derivative(const Program& derivative, const Signature& signature, Choices& choices,
                        const std::string& what) {
    Signature needed;
    for (TensorId id : derivative.arguments) {
        const std::string& argument = derivative.at(id).name;
        const auto known = signature.find(argument);
        needed.emplace(
            argument, known != signature.end() ? known->second : spec_for(derivative, id, choices));
    }
    compare_outputs(derivative, needed, what);
}

void compare_derivatives(const Program& program, const Signature& signature, Choices& choices) {
    std::size_t count = 0;
    for (const auto& [name, spec] : signature) {
        if (spec.is_weak || !is_floating(spec.dtype) || ++count > most_gradients) continue;
        const auto gradient = outcome([&] { return grad::gradient(program, name); }).first;
        if (gradient)
            compare_derivative(*gradient, signature, choices, format("the gradient for {}", name));
        const auto tangent = outcome([&] { return grad::jvp(program, {name}); }).first;
        if (tangent)
            compare_derivative(*tangent, signature, choices, format("the tangent for {}", name));
    }
}

}  // namespace

void fuzz_pipeline(std::string_view input) {
    const std::size_t end = std::min(input.find('\0'), input.size());
    Choices choices(input.substr(std::min(end + 1, input.size())));
    const std::string text(input.substr(0, end));
    const auto program = outcome([&] { return canonicalise(parse_program(text)); }).first;
    if (!program || program->equations.size() > most_equations) return;
    Signature signature;
    for (TensorId id : program->arguments)
        signature.emplace(program->at(id).name, spec_for(*program, id, choices));
    compare_outputs(*program, signature, "the program");
    compare_derivatives(*program, signature, choices);
}

}  // namespace ricci::tests
