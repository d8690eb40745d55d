// codegen/source/entry.cpp – what an entry point is made of: parameters, temporaries, names
#include "codegen/source/entry.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "codegen/group.h"

namespace ricci::codegen::source {

namespace {

constexpr std::string_view imaginary_suffix = ".im";  // of the names that dsl/split_complex makes

Parameter* find(std::vector<Parameter>& parameters, TensorId tensor) {
    const auto found = std::ranges::find(parameters, tensor, &Parameter::tensor);
    return found == parameters.end() ? nullptr : &*found;
}

/// A name that no function of the file has.
std::string free_name(Entry& entry, const std::string& wanted) {
    const bool may_meet = wanted.starts_with("step_") || wanted.starts_with("cuda");
    return entry.names.take(may_meet ? "my_" + wanted : wanted);
}

void add_parameters(Entry& entry, const SourceProgram& source) {
    const BoundProgram& program = source.bound;
    const auto add = [&](TensorId id, Parameter::Use use) {
        entry.parameters.push_back(
            {.tensor = id, .name = free_name(entry, program.at(id).name), .use = use});
    };
    for (const TensorId id : program.arguments) add(id, Parameter::Use::read);
    for (const BoundEquation& equation : program.equations) {
        const TensorId root = storage(program, equation.target);
        if (root == equation.target) continue;
        if (Parameter* parameter = find(entry.parameters, root))
            parameter->use = Parameter::Use::updated;
    }
    for (const auto& [name, value] : source.fixed)
        for (Parameter& parameter : entry.parameters)
            if (program.at(parameter.tensor).name == name) parameter.fixed = value;
    for (const TensorId id : program.outputs) {
        const TensorId root = storage(program, id);
        if (find(entry.parameters, root) == nullptr) add(root, Parameter::Use::result);
    }
}

void mark_staged(Entry& entry, const Plan& plan) {
    if (plan.checks.empty()) return;
    for (std::size_t s = 0; s <= plan.checks.back().after; ++s) {
        const Step& step = plan.steps[s];
        for (std::size_t i = 0; i < step.buffers.size(); ++i) {
            const auto parameter = entry.buffers[step.buffers[i]].parameter;
            if (!parameter || !plan.nests[step.nest].buffers[i].is_written) continue;
            Parameter& written = entry.parameters[*parameter];
            written.is_staged |= written.use == Parameter::Use::updated;
        }
    }
}

std::string shape_text(const Shape& shape) {
    if (shape.empty()) return "a number";
    std::vector<std::string> extents;
    for (const std::int64_t extent : shape) extents.push_back(format("{}", extent));
    return format("[{}]", join(extents, ", "));
}

std::string_view use_text(Parameter::Use use) {
    switch (use) {
        case Parameter::Use::read:    return "";
        case Parameter::Use::updated: return ", updated";
        case Parameter::Use::result:  return ", the result";
    }
    return "";
}

/// Each line behind `//`, without what could end or continue it elsewhere.
std::string commented(std::string_view text) {
    std::string result = "//     ";
    for (const char c : text) {
        if (c == '?' && result.ends_with('?')) result += ' ';  // no trigraph
        if (c == '\n')
            result += "\n//     ";
        else
            result += c == '\\' || (std::iscntrl(static_cast<unsigned char>(c)) != 0) ? ' ' : c;
    }
    while (result.ends_with("\n//     ")) result.resize(result.size() - 8);
    return result + '\n';
}

}  // namespace

std::string pointer(const Parameter& parameter, DType dtype, std::string_view element_type) {
    if (!is_half(dtype)) return parameter.name;
    return format("reinterpret_cast<{}{}*>({})",
                  parameter.use == Parameter::Use::read ? "const " : "", element_type,
                  parameter.name);
}

Target plain_target() {
    Target target;
    target.cpu = "plain";
    target.is_plain = true;
    return target;
}

Entry make_entry(const SourceProgram& program, const Plan& plan) {
    Entry entry;
    entry.symbol = "ricci_" + program.name;
    add_parameters(entry, program);
    for (const PlanBuffer& buffer : plan.buffers) {
        EntryBuffer& added = entry.buffers.emplace_back();
        const Parameter* parameter =
            buffer.kind == PlanBuffer::Kind::tensor
                ? find(entry.parameters, storage(program.bound, buffer.tensor))
                : nullptr;
        if (parameter != nullptr) added.parameter = parameter - entry.parameters.data();
        added.name = parameter != nullptr ? parameter->name : free_name(entry, buffer.name);
    }
    for (const Step& step : plan.steps)
        for (const std::size_t b : step.buffers) entry.buffers[b].is_used = true;
    for (const EntryBuffer& buffer : entry.buffers)
        if (buffer.parameter) entry.parameters[*buffer.parameter].is_used |= buffer.is_used;
    mark_staged(entry, plan);
    return entry;
}

std::string function_name(const Nest& nest, std::size_t number) {
    std::string_view name = nest.name;  // `k0_Y`
    name.remove_prefix(std::min(name.find('_') + 1, name.size()));
    return format("step_{}_{}", number, cuda::identifier(name));
}

std::string description(const SourceProgram& program, const Entry& entry) {
    std::string text = commented(program.text) + "//\n";
    std::size_t widest = 0;
    for (const Parameter& parameter : entry.parameters)
        widest = std::max(widest, parameter.name.size());
    const auto has_imaginary = [&](const std::string& name) {
        return std::ranges::any_of(entry.parameters, [&](const Parameter& other) {
            return program.bound.at(other.tensor).name == name + std::string(imaginary_suffix);
        });
    };
    for (const Parameter& parameter : entry.parameters) {
        const BoundTensor& tensor = program.bound.at(parameter.tensor);
        std::string note(use_text(parameter.use));
        if (tensor.name.ends_with(imaginary_suffix)) note += ", imaginary parts";
        if (has_imaginary(tensor.name)) note += ", real parts";
        if (parameter.fixed)
            note += format(", {}", *parameter.fixed);
        else if (!parameter.is_used)
            note += ", not used";
        text += format("// {:<{}}  {} {}{}\n", parameter.name, widest, name(tensor.dtype),
                       shape_text(tensor.shape), note);
    }
    return text;
}

std::string message(const BoundProgram& program, const BoundCheck& check) {
    const std::string& array = program.at(check.tensor).name;
    const std::string_view kind = name(check.otherwise.kind);
    if (check.kind == BoundCheck::Kind::inside)
        return format(
            "{}: a subscript that is data leaves dimension {} of `{}`, whose range is {}:{}", kind,
            check.dimension, array, check.low, check.high);
    if (check.kind == BoundCheck::Kind::has_points)
        return format("{}: {}", kind, check.otherwise.message);
    const auto update = std::ranges::find(program.equations, check.tensor, &BoundEquation::target);
    if (update != program.equations.end() && update->op != Assign::set)
        return format("{}: `{}` is read, and two points update one element of it", kind, array);
    return format("{}: `=` gives an element of `{}` two values", kind, array);
}

std::string signature(std::string_view head, const std::vector<std::string>& parameters) {
    return format("{}({}) {{\n", head, join(parameters, ", "));
}

}  // namespace ricci::codegen::source
