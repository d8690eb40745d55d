// runtime/cuda/compile.cpp – GPU nests to machine code through NVRTC
#include "runtime/cuda/compile.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/cubin.h"
#include "runtime/parallel.h"

namespace ricci::cuda {

namespace {

using codegen::Image;
using codegen::KernelResources;
using codegen::Nest;

/// Raised whenever the code made for an unchanged nest changes: kernels on disk are then not used.
constexpr int code_generation_version = 1;

constexpr int invalid_option = 5;  // NVRTC_ERROR_INVALID_OPTION

/// Virtual architectures for GPUs that an NVRTC does not know, newest first.
constexpr int known_architectures[] = {121, 120, 110, 103, 100, 90, 89, 87, 86, 80, 75, 70};

// --- programs ------------------------------------------------------------------------------------

/// A program of NVRTC's.
class Program {
  public:
    Program(const Nvrtc& api, const std::string& text) : api_(api) {
        check(api_.nvrtcCreateProgram(&program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr),
              "create a program");
    }
    ~Program() { api_.nvrtcDestroyProgram(&program_); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// NVRTC's result.
    [[nodiscard]] int compile(const std::vector<std::string>& options) {
        std::vector<const char*> texts;
        for (const std::string& option : options) texts.push_back(option.c_str());
        return api_.nvrtcCompileProgram(program_, int(texts.size()), texts.data());
    }
    [[nodiscard]] std::string log() const {
        std::size_t bytes = 0;
        check(api_.nvrtcGetProgramLogSize(program_, &bytes), "read its log");
        std::string text(bytes, '\0');
        if (bytes != 0) check(api_.nvrtcGetProgramLog(program_, text.data()), "read its log");
        while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
        return text;
    }
    [[nodiscard]] std::string cubin() const {
        return output(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN);
    }
    [[nodiscard]] std::string ptx() const { return output(api_.nvrtcGetPTXSize, api_.nvrtcGetPTX); }
    void check(int result, std::string_view what) const {
        if (result == 0) return;
        throw Error(
            {.kind = ErrorKind::device,
             .message = format("NVRTC cannot {}: {}", what, api_.nvrtcGetErrorString(result))});
    }

  private:
    [[nodiscard]] std::string output(int (*size)(NvrtcProgram, std::size_t*),
                                     int (*read)(NvrtcProgram, char*)) const {
        std::size_t bytes = 0;
        check(size(program_, &bytes), "give its code");
        std::string code(bytes, '\0');
        check(read(program_, code.data()), "give its code");
        return code;
    }

    const Nvrtc& api_;
    NvrtcProgram program_ = nullptr;
};

// --- units ---------------------------------------------------------------------------------------

/// Nests [first, last) of the plan, compiled together.
struct Unit {
    std::size_t first = 0;
    std::size_t last = 0;
    Image::Format format = Image::Format::cubin;
    std::string code = {};
    std::string log = {};
};

/// How many statements a body has when its loops are unrolled: what compiling it costs.
std::int64_t size(const codegen::Body& body) {
    using namespace codegen;
    std::int64_t total = 0;
    for (const Stmt& stmt : body) {
        if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
            const bool repeats = loop->bind == Bind::unroll || loop->bind == Bind::vector;
            const std::int64_t count =
                repeats ? (loop->upper.at(0).form.constant + loop->step - 1) / loop->step : 1;
            total += std::max<std::int64_t>(count, 1) * size(loop->body);
        } else if (const auto* guard = std::get_if<Guard>(&stmt.node)) {
            total += size(guard->body);
        } else {
            ++total;
        }
    }
    return total;
}

/// Neighbouring nests together up to a size at which the prelude no longer matters. The cut depends
/// on the nests alone.
std::vector<Unit> units(std::span<const Nest> nests) {
    constexpr std::int64_t enough = 512;
    std::vector<Unit> result;
    std::int64_t filled = enough;
    for (std::size_t i = 0; i < nests.size(); ++i) {
        const std::int64_t more = size(nests[i].body);
        if (filled + more > enough) {
            result.push_back({.first = i, .last = i});
            filled = 0;
        }
        result.back().last = i + 1;
        filled += more;
    }
    return result;
}

std::string names(std::span<const Nest> nests) {
    std::vector<std::string> list;
    for (const Nest& nest : nests) list.push_back(format("`{}`", nest.name));
    return join(list, ", ");
}

std::vector<std::string> options(const std::string& architecture) {
    return {"--gpu-architecture=" + architecture, "--std=c++17", "--fmad=true",
            // The default changes the stack limit of the whole process.
            "--modify-stack-limit=false", "--disable-warnings"};
}

[[noreturn]] void reject(std::span<const Nest> nests, const std::string& log) {
    throw Error({.kind = ErrorKind::internal,
                 .message = format("NVRTC rejects the text of {}\n{}", names(nests), log),
                 .hint = "look at the text with `ricci explain --stage cuda`"});
}

/// Compute capability 9.0 has instructions of its own, under the name of 9.0a.
std::string real_architecture(int capability) {
    return format("sm_{}{}", capability, capability == 90 ? "a" : "");
}

/// PTX for the newest architecture that both NVRTC and the GPU know.
void compile_ptx(Unit& unit, Program& program, std::span<const Nest> nests, int capability) {
    for (const int architecture : known_architectures) {
        if (architecture > capability) continue;
        const int result = program.compile(options(format("compute_{}", architecture)));
        unit.log = program.log();
        if (result == invalid_option) continue;
        if (result != 0) reject(nests.subspan(unit.first, unit.last - unit.first), unit.log);
        unit.format = Image::Format::ptx;
        unit.code = program.ptx();
        return;
    }
    throw Error({.kind = ErrorKind::device,
                 .message = format("this NVRTC makes no code for GPUs of compute capability {}.{}",
                                   capability / 10, capability % 10),
                 .hint = "GPUs since 2018 (compute capability 7.5) can be used"});
}

void compile_unit(Unit& unit, std::span<const Nest> nests, const Target& target) {
    const auto own = nests.subspan(unit.first, unit.last - unit.first);
    Program program(nvrtc(), codegen::cuda::emit_text(own, unit.first));
    const int capability = target.gpu.compute_capability;
    std::vector<std::string> all = options(real_architecture(capability));
    all.emplace_back("--ptxas-options=-v");
    const int result = program.compile(all);
    if (result == invalid_option) return compile_ptx(unit, program, nests, capability);
    unit.log = program.log();
    if (result != 0) reject(own, unit.log);
    unit.code = program.cubin();
}

/// `compile` for every unit, side by side. Throws what the first unit that failed threw.
void for_each_unit(std::vector<Unit>& all, const auto& compile) {
    std::vector<std::exception_ptr> problems(all.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < all.size(); i = next++) {
            try {
                compile(all[i]);
            } catch (...) {
                problems[i] = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> workers;
        const std::size_t count = std::min(all.size(), std::size_t(num_threads()));
        for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
        work();
    }
    for (const std::exception_ptr& problem : problems)
        if (problem) std::rethrow_exception(problem);
}

// --- resources -----------------------------------------------------------------------------------

/// The number in front of `unit` in the line after `Function properties for symbol`.
std::int64_t reported(const std::string& log, const std::string& symbol, std::string_view unit) {
    const std::size_t title = log.find(format("Function properties for {}\n", symbol));
    if (title == std::string::npos) return 0;
    const std::size_t line = log.find('\n', title) + 1;
    const std::size_t at = log.find(unit, line);
    if (at == std::string::npos || at > log.find('\n', line)) return 0;
    std::size_t begin = at;
    while (begin > line && (std::isdigit(static_cast<unsigned char>(log[begin - 1])) != 0)) --begin;
    return begin == at ? 0 : std::stoll(log.substr(begin, at - begin));
}

void add_resources(Image& image, const Unit& unit, std::span<const Nest> nests) {
    std::vector<CubinKernel> found;
    if (unit.format == Image::Format::cubin)
        found = read_cubin(std::as_bytes(std::span(unit.code)));
    for (std::size_t i = unit.first; i < unit.last; ++i) {
        const std::string& symbol = image.symbols[i];
        KernelResources resources;
        const auto kernel = std::ranges::find(found, symbol, &CubinKernel::name);
        if (kernel != found.end()) resources = kernel->resources;
        resources.shared_bytes += codegen::launch_shape(nests[i]).shared_bytes;
        resources.spill_bytes = reported(unit.log, symbol, " bytes spill stores") +
                                reported(unit.log, symbol, " bytes spill loads");
        image.resources.push_back(resources);
    }
}

}  // namespace

codegen::Image compile(std::span<const Nest> nests, const Target& target) {
    RICCI_ASSERT(target.is_gpu(), "CUDA kernels are for a GPU");
    std::vector<Unit> all = units(nests);
    for_each_unit(all, [&](Unit& unit) { compile_unit(unit, nests, target); });

    Image image{.format = Image::Format::cubin, .symbols = {}, .bytes = {}};
    for (std::size_t i = 0; i < nests.size(); ++i)
        image.symbols.push_back(codegen::cuda::symbol(nests[i], i));
    for (const Unit& unit : all) {
        image.format = unit.format;
        const auto bytes = std::as_bytes(std::span(unit.code));
        image.bytes.insert(image.bytes.end(), bytes.begin(), bytes.end());
        image.parts.push_back({.bytes_end = image.bytes.size(), .symbols_end = unit.last});
        if (!image.log.empty()) image.log += '\n';
        image.log += unit.log;
        add_resources(image, unit, nests);
    }
    return image;
}

std::string emit_ptx(std::span<const Nest> nests, const Target& target) {
    RICCI_ASSERT(target.is_gpu(), "CUDA kernels are for a GPU");
    Unit unit{.first = 0, .last = nests.size()};
    Program program(nvrtc(), codegen::cuda::emit_text(nests));
    compile_ptx(unit, program, nests, target.gpu.compute_capability);
    return unit.code.substr(0, unit.code.find('\0'));
}

std::string compiler_version() {
    int major = 0;
    int minor = 0;
    const int result = nvrtc().nvrtcVersion(&major, &minor);
    if (result != 0)
        throw Error({.kind = ErrorKind::device,
                     .message = format("NVRTC does not tell its version: {}",
                                       nvrtc().nvrtcGetErrorString(result))});
    return format("ricci-cuda-{} nvrtc-{}.{}", code_generation_version, major, minor);
}

}  // namespace ricci::cuda
