// codegen/source/emit_cpp.cpp – bound programs as one C++ file
#include <algorithm>

#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/source/cpp_language.h"
#include "codegen/source/entry.h"

namespace ricci::codegen::source {

namespace {

/// One entry point of the file.
class CppEntry {
  public:
    /// `first` is the number of the plan's first nest in the file.
    CppEntry(const SourceProgram& program, std::size_t first)
        : program_(program),
          plan_(codegen::plan(program.bound, plain_target())),
          entry_(make_entry(program, plan_)) {
        for (std::size_t n = 0; n < plan_.nests.size(); ++n)
            functions_.push_back(function_name(plan_.nests[n], first + n));
    }

    [[nodiscard]] std::size_t nest_count() const { return plan_.nests.size(); }

    /// The functions of the kernels, in the prelude's names.
    [[nodiscard]] std::string kernels() const {
        std::string text;
        for (std::size_t n = 0; n < plan_.nests.size(); ++n)
            text += '\n' + cuda::emit_function(plan_.nests[n], functions_[n]);
        return text;
    }

    [[nodiscard]] std::string text() {
        std::vector<std::string> parameters;
        for (const Parameter& parameter : entry_.parameters)
            parameters.push_back(format("{}{}* {}",
                                        parameter.use == Parameter::Use::read ? "const " : "",
                                        cpp_type(dtype(parameter)), parameter.name));
        text_ = '\n' + description(program_, entry_) +
                signature(format("extern \"C\" const char* {}", entry_.symbol), parameters);
        for (const Parameter& parameter : entry_.parameters)
            if (parameter.fixed)
                line(format("if (*{} != {}) return \"range: the code is for {} = {}\";",
                            parameter.name, *parameter.fixed, parameter.name, *parameter.fixed));
            else if (!parameter.is_used)
                line(format("(void){};", parameter.name));
        declare_temporaries();
        stage();
        auto check = plan_.checks.begin();
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            call(plan_.steps[s]);
            for (; check != plan_.checks.end() && check->after == s; ++check)
                line(format("if ({} < 0) return \"{}\";", entry_.buffers[check->buffer].name,
                            message(program_.bound, program_.bound.checks[check->check])));
        }
        commit();
        line("return nullptr;");
        return text_ + "}\n";
    }

  private:
    void line(std::string_view text) { text_ += format("    {}\n", text); }
    [[nodiscard]] DType dtype(const Parameter& parameter) const {
        return program_.bound.at(parameter.tensor).dtype;
    }
    [[nodiscard]] bool is_local(std::size_t buffer) const {
        return !entry_.buffers[buffer].parameter && plan_.buffers[buffer].elements == 1;
    }

    void declare_temporaries() {
        for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
            if (entry_.buffers[b].parameter || !entry_.buffers[b].is_used) continue;
            const PlanBuffer& buffer = plan_.buffers[b];
            if (is_local(b))
                line(format("{} {}{{}};", element_type(buffer.dtype), entry_.buffers[b].name));
            else
                allocate(entry_.buffers[b].name, buffer.dtype, buffer.elements);
        }
    }
    void allocate(const std::string& name, DType dtype, std::int64_t elements) {
        const std::string type = element_type(dtype);
        line(format("const std::unique_ptr<{}[]> {}(new (std::nothrow) {}[{}]);", type, name, type,
                    elements));
        line(format("if (!{}) return \"device: no memory\";", name));
    }
    /// Copies of arguments that may not be written yet.
    void stage() {
        for (Parameter& parameter : entry_.parameters) {
            if (!parameter.is_staged) continue;
            const std::string name = entry_.names.take(parameter.name + "_new");
            allocate(name, dtype(parameter), elements(parameter));
            line(format("std::copy_n({}, {}, {}.get());", pointer(parameter), elements(parameter),
                        name));
            staged_.emplace_back(&parameter, name);
        }
    }
    void commit() {
        for (const auto& [parameter, name] : staged_)
            line(format("std::copy_n({}.get(), {}, {});", name, elements(*parameter),
                        pointer(*parameter)));
    }
    [[nodiscard]] std::int64_t elements(const Parameter& parameter) const {
        std::int64_t count = 1;
        for (const std::int64_t extent : program_.bound.at(parameter.tensor).shape) count *= extent;
        return count;
    }
    static std::string element_type(DType dtype) {
        return std::string(is_half(dtype) ? cuda::type_name(dtype) : cpp_type(dtype));
    }
    [[nodiscard]] std::string pointer(const Parameter& parameter) const {
        if (!is_half(dtype(parameter))) return parameter.name;
        return format("reinterpret_cast<{}{}*>({})",
                      parameter.use == Parameter::Use::read ? "const " : "",
                      element_type(dtype(parameter)), parameter.name);
    }
    [[nodiscard]] std::string pointer(std::size_t buffer) const {
        const EntryBuffer& of = entry_.buffers[buffer];
        if (!of.parameter)
            return is_local(buffer) ? format("&{}", of.name) : format("{}.get()", of.name);
        const Parameter& parameter = entry_.parameters[*of.parameter];
        for (const auto& [staged, name] : staged_)
            if (staged == &parameter) return format("{}.get()", name);
        return pointer(parameter);
    }
    void call(const Step& step) {
        std::vector<std::string> arguments;
        for (const std::size_t buffer : step.buffers) arguments.push_back(pointer(buffer));
        line(format("{}({});", functions_[step.nest], join(arguments, ", ")));
    }

    const SourceProgram& program_;
    Plan plan_;
    Entry entry_;
    std::vector<std::string> functions_;
    std::vector<std::pair<const Parameter*, std::string>> staged_;
    std::string text_;
};

constexpr std::string_view head =
    "// Written by `ricci emit`: C++17, compiles alone (c++ -std=c++17 -O2; not with "
    "-ffast-math).\n"
    "//\n"
    "// Every function gives null, or says what is wrong with the data: then no argument has "
    "changed.\n"
    "// Arrays are row-major. Those that are written share no memory with others.\n";

}  // namespace

std::string emit_cpp(std::span<const SourceProgram> programs) {
    std::string kernels;
    std::string entries;
    std::size_t count = 0;
    for (const SourceProgram& program : programs) {
        CppEntry entry(program, count + 1);
        kernels += entry.kernels();
        entries += entry.text();
        count += entry.nest_count();
    }
    const CppText text = in_cpp(kernels);
    std::string body;
    if (count != 0)
        body = format("\nnamespace {{\n{}{}{}\n}}  // namespace\n",
                      text.definitions.empty() ? "" : "\n", text.definitions, text.functions);
    body += entries;
    const std::string headers = cpp_headers(body);
    return format("{}{}{}{}", head, headers.empty() ? "" : "\n", headers, body);
}

}  // namespace ricci::codegen::source
