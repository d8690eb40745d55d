// codegen/source/emit_cuda.cpp – bound programs as one CUDA C++ file
#include <algorithm>

#include "base/shape.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/source/definitions.h"
#include "codegen/source/entry.h"

namespace ricci::codegen::source {

namespace {

/// What a block may have of shared memory without asking for it.
constexpr std::int64_t shared_bytes_at_hand = 48 << 10;
/// Temporaries begin at multiples of so many bytes, as `cudaMalloc` gives them.
constexpr std::int64_t temporary_alignment = 256;

/// The element type of an interface, as the prelude has it.
std::string_view cuda_type(DType dtype) {
    switch (dtype) {
        case DType::i8:      return "signed char";
        case DType::i16:     return "short";
        case DType::i32:     return "int";
        case DType::i64:     return "long long";
        case DType::u8:      return "unsigned char";
        case DType::f16:
        case DType::bf16:
        case DType::u16:     return "unsigned short";
        case DType::u32:     return "unsigned int";
        case DType::u64:     return "unsigned long long";
        case DType::boolean:
        case DType::f32:
        case DType::f64:
        case DType::none:
        case DType::c64:
        case DType::c128:    break;
    }
    return cuda::type_name(dtype);
}

/// One entry point of the file.
class CudaEntry {
  public:
    /// `first` is the number of the plan's first kernel in the file.
    CudaEntry(const SourceProgram& program, const Target& target, std::size_t first)
        : program_(program),
          plan_(codegen::plan(program.bound, target)),
          entry_(make_entry(program, plan_)),
          first_(first) {}

    [[nodiscard]] const std::vector<Nest>& nests() const { return plan_.nests; }

    [[nodiscard]] std::string text() {
        std::vector<std::string> parameters;
        for (const Parameter& parameter : entry_.parameters)
            parameters.push_back(format("{}{}* {}",
                                        parameter.use == Parameter::Use::read ? "const " : "",
                                        cuda_type(dtype(parameter)), parameter.name));
        parameters.push_back(format("cudaStream_t {}", stream_));
        text_ = '\n' + description(program_, entry_) +
                signature(format("extern \"C\" const char* {}", entry_.symbol), parameters);
        for (const Parameter& parameter : entry_.parameters) look_at(parameter);
        if (plan_.steps.empty()) line(format("(void){};", stream_));
        declare_temporaries();
        for (const auto& [parameter, name] : staged_) copy(name, pointer(*parameter), *parameter);
        if (!plan_.checks.empty()) line(format("long long {} = 0;", verdict_));
        auto check = plan_.checks.begin();
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            launch(plan_.steps[s]);
            for (; check != plan_.checks.end() && check->after == s; ++check) look_at(*check);
        }
        for (const auto& [parameter, name] : staged_) copy(pointer(*parameter), name, *parameter);
        line(plan_.steps.empty() ? "return nullptr;" : "return rc_problem(cudaGetLastError());");
        return wrapped(text_ + "}\n");
    }

  private:
    void line(std::string_view text) { text_ += format("    {}\n", text); }
    void attempt(std::string_view call) {
        line(format("if (const char* {} = rc_problem({}))", problem_, call));
        line(format("    return {};", problem_));
    }
    [[nodiscard]] DType dtype(const Parameter& parameter) const {
        return program_.bound.at(parameter.tensor).dtype;
    }
    static std::string element_type(DType dtype) {
        return std::string(is_half(dtype) ? cuda::type_name(dtype) : cuda_type(dtype));
    }
    [[nodiscard]] std::int64_t bytes(const Parameter& parameter) const {
        return element_count(program_.bound.at(parameter.tensor).shape) *
               std::int64_t(size_bytes(dtype(parameter)));
    }

    /// Kernels load several elements at once.
    void look_at(const Parameter& parameter) {
        if (!parameter.is_used) return line(format("(void){};", parameter.name));
        if (plan_.argument_alignment <= std::int64_t(size_bytes(dtype(parameter)))) return;
        line(format("if (reinterpret_cast<unsigned long long>({}) % {} != 0)", parameter.name,
                    plan_.argument_alignment));
        line(format("    return \"range: {} does not begin at a multiple of {} bytes\";",
                    parameter.name, plan_.argument_alignment));
    }
    void look_at(const PlanCheck& check) {
        attempt(format("cudaMemcpyAsync(&{}, {}, sizeof {}, cudaMemcpyDeviceToHost, {})", verdict_,
                       pointer(check.buffer), verdict_, stream_));
        attempt(format("cudaStreamSynchronize({})", stream_));
        line(format("if ({} < 0)", verdict_));
        line(format("    return \"{}\";",
                    message(program_.bound, program_.bound.checks[check.check])));
    }

    /// One block of memory for all.
    void declare_temporaries() {
        std::int64_t end = 0;
        std::vector<std::string> lines;
        memory_ = entry_.names.take("memory");
        if (!plan_.checks.empty()) verdict_ = entry_.names.take("found");
        const auto place = [&](const std::string& name, DType dtype, std::int64_t size) {
            lines.push_back(format("auto* const {} = static_cast<{}*>({}.at({}));", name,
                                   element_type(dtype), memory_, end));
            end += (size + temporary_alignment - 1) / temporary_alignment * temporary_alignment;
        };
        for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
            const PlanBuffer& buffer = plan_.buffers[b];
            if (entry_.buffers[b].parameter || !entry_.buffers[b].is_used) continue;
            place(entry_.buffers[b].name, buffer.dtype,
                  buffer.elements * std::int64_t(size_bytes(buffer.dtype)));
        }
        for (const Parameter& parameter : entry_.parameters) {
            if (!parameter.is_staged) continue;
            staged_.emplace_back(&parameter, entry_.names.take(parameter.name + "_new"));
            place(staged_.back().second, dtype(parameter), bytes(parameter));
        }
        if (lines.empty()) return;
        line(format("const rc_memory {}({}, {});", memory_, end, stream_));
        attempt(format("{}.error", memory_));
        for (const std::string& each : lines) line(each);
    }
    void copy(const std::string& to, const std::string& from, const Parameter& parameter) {
        attempt(format("cudaMemcpyAsync({}, {}, {}, cudaMemcpyDeviceToDevice, {})", to, from,
                       bytes(parameter), stream_));
    }

    [[nodiscard]] std::string pointer(const Parameter& parameter) const {
        return source::pointer(parameter, dtype(parameter), element_type(dtype(parameter)));
    }
    [[nodiscard]] std::string pointer(std::size_t buffer) const {
        const EntryBuffer& of = entry_.buffers[buffer];
        if (!of.parameter) return of.name;
        const Parameter& parameter = entry_.parameters[*of.parameter];
        for (const auto& [staged, name] : staged_)
            if (staged == &parameter) return name;
        return pointer(parameter);
    }
    void launch(const Step& step) {
        const Nest& nest = plan_.nests[step.nest];
        const LaunchShape shape = launch_shape(nest);
        const std::string kernel = cuda::symbol(nest, first_ + step.nest);
        std::vector<std::string> arguments;
        for (const std::size_t buffer : step.buffers) arguments.push_back(pointer(buffer));
        if (shape.shared_bytes > shared_bytes_at_hand)
            attempt(
                format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, "
                       "{})",
                       kernel, shape.shared_bytes));
        line(format("{}<<<{}, {}, {}, {}>>>({});", kernel, shape.blocks, shape.threads,
                    shape.shared_bytes, stream_, join(arguments, ", ")));
    }

    const SourceProgram& program_;
    Plan plan_;
    Entry entry_;
    std::size_t first_;
    std::vector<std::pair<const Parameter*, std::string>> staged_;
    std::string memory_;
    std::string verdict_;
    std::string problem_ = entry_.names.take("problem");
    std::string stream_ = entry_.names.take("stream");
    std::string text_;
};

constexpr std::string_view host = R"(
// The runtime's words for what went wrong, or null.
inline const char* rc_problem(cudaError_t error) {
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// Memory of one call, given back when the work before that on the stream is done.
struct rc_memory {
    void* block = nullptr;
    cudaStream_t stream;
    cudaError_t error;
    rc_memory(size_t bytes, cudaStream_t on)
        : stream(on), error(cudaMallocAsync(&block, bytes, on)) {}
    ~rc_memory() {
        if (block != nullptr) cudaFreeAsync(block, stream);
    }
    rc_memory(const rc_memory&) = delete;
    rc_memory& operator=(const rc_memory&) = delete;
    void* at(size_t offset) const { return static_cast<char*>(block) + offset; }
};
)";

/// Kernels of a file are its own: nobody looks for them by name.
std::vector<Definition> make_prelude() {
    std::vector<Definition> all = definitions(cuda::prelude());
    constexpr std::string_view linkage = "extern \"C\" ";
    for (Definition& definition : all) {
        if (definition.name != "RC_KERNEL") continue;
        if (const std::size_t at = definition.text.find(linkage); at != std::string::npos)
            definition.text.replace(at, linkage.size(), "static ");
    }
    return all;
}

std::string head(const Target& target) {
    return format(
        "// Written by `ricci emit`: CUDA C++17 for {}, compiles alone\n"
        "// (nvcc -std=c++17 -O3 -arch={}; not with --use_fast_math).\n"
        "//\n"
        "// Every function gives null, or says what is wrong: where that is the data, no argument "
        "has\n"
        "// changed. Arrays are row-major in the GPU's memory, each from a multiple of {} bytes "
        "on.\n"
        "// Those that are written share no memory with others. Work is done in the order of the "
        "stream;\n"
        "// a function waits for it only where it looks at data.\n",
        target.cpu, target.cpu, target.gpu.argument_alignment);
}

}  // namespace

std::string emit_cuda(std::span<const SourceProgram> programs, const Target& target) {
    std::string kernels;
    std::string entries;
    std::size_t first = 0;
    for (const SourceProgram& program : programs) {
        CudaEntry entry(program, target, first);
        if (!entry.nests().empty()) kernels += '\n' + cuda::emit_kernels(entry.nests(), first);
        entries += entry.text();
        first += entry.nests().size();
    }
    static const std::vector<Definition> prelude = make_prelude();
    return format("{}\n#include <cuda_runtime.h>\n{}{}{}{}", head(target),
                  str(needed(prelude, kernels)), kernels, host, entries);
}

}  // namespace ricci::codegen::source
