// codegen/source/emit_cpp.cpp – bound programs as one C++ file
#include <algorithm>
#include <map>
#include <numeric>

#include "base/shape.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_walk.h"
#include "codegen/source/cpp_language.h"
#include "codegen/source/entry.h"

namespace ricci::codegen::source {

namespace {

/// Puts what is written behind what is read alone.
void results_last(Nest& nest, Step& step) {
    std::vector<std::size_t> order(nest.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t b) {
        return b < step.buffers.size() ? std::pair(int(nest.buffers[b].is_written), step.buffers[b])
                                       : std::pair(2, b);
    });
    std::vector<BufferId> renamed(order.size());
    std::vector<Buffer> buffers;
    std::vector<std::size_t> places;
    for (std::size_t n = 0; n < order.size(); ++n) {
        renamed[order[n]] = BufferId(n);
        buffers.push_back(nest.buffers[order[n]]);
        if (n < step.buffers.size()) places.push_back(step.buffers[order[n]]);
    }
    rename_buffers(nest.body, renamed);
    nest.buffers = std::move(buffers);
    step.buffers = std::move(places);
}

/// The kernels of a file: one function for those that are equal.
class Functions {
  public:
    /// The name of the nest's function.
    std::string add(const Nest& nest) {
        std::string& name = names_[cuda::emit_function(nest, "")];
        if (name.empty()) {
            name = function_name(nest, names_.size());
            text_ += '\n' + cuda::emit_function(nest, name);
        }
        return name;
    }

    /// In the prelude's names.
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::map<std::string, std::string> names_;  ///< by the text without a name
    std::string text_;
};

/// One entry point of the file.
class CppEntry {
  public:
    CppEntry(const SourceProgram& program, Functions& functions)
        : program_(program),
          plan_(codegen::plan(program.bound, plain_target())),
          entry_(make_entry(program, plan_)) {
        for (Step& step : plan_.steps) {
            results_last(plan_.nests[step.nest], step);
            functions_.push_back(functions.add(plan_.nests[step.nest]));
        }
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
                refuse(format("*{} != {}", parameter.name, *parameter.fixed),
                       format("range: the code is for {} = {}", parameter.name, *parameter.fixed));
            else if (!parameter.is_used)
                line(format("(void){};", parameter.name));
        declare_temporaries();
        declare_copies();
        check_memory();
        copy_in();
        auto check = plan_.checks.begin();
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            call(functions_[s], plan_.steps[s]);
            for (; check != plan_.checks.end() && check->after == s; ++check)
                refuse(format("{} < 0", entry_.buffers[check->buffer].name),
                       message(program_.bound, program_.bound.checks[check->check]));
        }
        commit();
        line("return nullptr;");
        return wrapped(text_ + "}\n");
    }

  private:
    void line(std::string_view text) { text_ += format("    {}\n", text); }
    void refuse(std::string_view condition, std::string_view words) {
        line(format("if ({})", condition));
        line(format("    return \"{}\";", words));
    }
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
        allocated_.push_back(name);
    }
    void check_memory() {
        if (!allocated_.empty())
            line(format("if (!{}) return \"device: no memory\";", join(allocated_, " || !")));
    }
    /// Of arguments that may not be written yet.
    void declare_copies() {
        for (Parameter& parameter : entry_.parameters) {
            if (!parameter.is_staged) continue;
            staged_.emplace_back(&parameter, entry_.names.take(parameter.name + "_new"));
            allocate(staged_.back().second, dtype(parameter), elements(parameter));
        }
    }
    void copy_in() {
        for (const auto& [parameter, name] : staged_)
            line(format("std::copy_n({}, {}, {}.get());", pointer(*parameter), elements(*parameter),
                        name));
    }
    void commit() {
        for (const auto& [parameter, name] : staged_)
            line(format("std::copy_n({}.get(), {}, {});", name, elements(*parameter),
                        pointer(*parameter)));
    }
    [[nodiscard]] std::int64_t elements(const Parameter& parameter) const {
        return element_count(program_.bound.at(parameter.tensor).shape);
    }
    static std::string element_type(DType dtype) {
        return std::string(is_half(dtype) ? cuda::type_name(dtype) : cpp_type(dtype));
    }
    [[nodiscard]] std::string pointer(const Parameter& parameter) const {
        return source::pointer(parameter, dtype(parameter), element_type(dtype(parameter)));
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
    void call(const std::string& function, const Step& step) {
        std::vector<std::string> arguments;
        for (const std::size_t buffer : step.buffers) arguments.push_back(pointer(buffer));
        line(format("{}({});", function, join(arguments, ", ")));
    }

    const SourceProgram& program_;
    Plan plan_;
    Entry entry_;
    std::vector<std::string> functions_;  ///< of the steps
    std::vector<std::string> allocated_;
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
    Functions functions;
    std::string entries;
    for (const SourceProgram& program : programs) entries += CppEntry(program, functions).text();
    const CppText text = in_cpp(functions.text());
    std::string body;
    if (!text.functions.empty())
        body = format("\nnamespace {{\n{}{}\n}}  // namespace\n", text.definitions,
                      wrapped(text.functions));
    body += entries;
    const std::string headers = cpp_headers(body);
    return format("{}{}{}{}", head, headers.empty() ? "" : "\n", headers, body);
}

}  // namespace ricci::codegen::source
