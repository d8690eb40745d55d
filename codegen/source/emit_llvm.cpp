// codegen/source/emit_llvm.cpp – bound programs as one module in LLVM IR
#include <algorithm>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/source/entry.h"

namespace ricci::codegen::source {

namespace {

constexpr std::string_view head =
    "; Written by `ricci emit`: kernels of the programs below (llc-19 -O3 -filetype=obj).\n"
    ";\n"
    "; Each is `void kernel(i64 first, i64 last, ptr buffers)`: it does the tasks [first, last), "
    "which\n"
    "; may run in any order and side by side, on an array of pointers to row-major arrays. A "
    "program\n"
    "; is its kernels, one after the other.\n";

constexpr std::string_view functions_head =
    ";\n"
    "; Functions that whoever links the kernels must have:\n"
    "; `void function(ptr numbers, i64 count)` replaces the numbers by its values.\n";

/// The functions of Ricci's own that the module calls.
std::string functions(std::string_view module) {
    constexpr std::string_view declaration = "\ndeclare void @ricci_";
    std::string text;
    for (std::size_t at = module.find(declaration); at < module.size();
         at = module.find(declaration, at + 1)) {
        const std::size_t begin = module.find('@', at) + 1;
        text += format("; {}\n", module.substr(begin, module.find('(', begin) - begin));
    }
    return text.empty() ? text : std::string(functions_head) + text;
}

/// Every line of a C++ comment as one of LLVM's.
std::string commented(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        result += format(";{}\n", text.substr(0, end).substr(std::string_view("//").size()));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

/// What is called when on which memory. `first` is the number of the plan's first kernel.
std::string order(const SourceProgram& program, const Plan& plan, std::size_t first) {
    const Entry entry = make_entry(program, plan);
    std::string text = ";\n" + commented(description(program, entry));
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        if (entry.buffers[b].parameter || !entry.buffers[b].is_used) continue;
        text +=
            format("; {}  {} [{}], a temporary at a multiple of 64 bytes\n", entry.buffers[b].name,
                   name(plan.buffers[b].dtype), plan.buffers[b].elements);
    }
    std::string copies;
    for (const Parameter& parameter : entry.parameters)
        if (parameter.is_staged)
            copies += format("; {} is a copy, which takes its place in the end\n", parameter.name);
    text += ";\n" + copies;
    auto check = plan.checks.begin();
    auto loop = plan.slice_loops.begin();
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        if (loop != plan.slice_loops.end() && loop->last_step == s) ++loop;
        const bool is_sliced = loop != plan.slice_loops.end() && loop->first_step <= s;
        if (is_sliced && loop->first_step == s)
            text += format("; for each s of 0:{}, side by side with temporaries of their own:\n",
                           loop->slices);
        const std::string tasks = is_sliced ? format("{0}*s, {0}*s+{0}", step.tasks / loop->slices)
                                            : format("0, {}", step.tasks);
        std::vector<std::string> buffers;
        for (const std::size_t b : step.buffers) buffers.push_back(entry.buffers[b].name);
        text += format("; {}{}({}, {{{}}})\n", is_sliced ? "  " : "",
                       cpu::entry_symbol(plan.nests[step.nest], first + step.nest), tasks,
                       join(buffers, ", "));
        for (; check != plan.checks.end() && check->after == s; ++check)
            text += format("; if {} < 0: {}\n", entry.buffers[check->buffer].name,
                           message(program.bound, program.bound.checks[check->check]));
    }
    return text;
}

}  // namespace

std::string emit_llvm(std::span<const SourceProgram> programs, const Target& target) {
    std::string text(head);
    std::vector<Nest> nests;
    for (const SourceProgram& program : programs) {
        Plan plan = codegen::plan(program.bound, target);
        text += order(program, plan, nests.size());
        for (Nest& nest : plan.nests) nests.push_back(std::move(nest));
    }
    const std::string module = cpu::emit_text(nests, target);
    return format("{}{}\n{}", text, functions(module), module);
}

}  // namespace ricci::codegen::source
